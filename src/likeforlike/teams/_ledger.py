"""The ledger: what was answered and what it cost, in a file that only grows.

Every line is JSON and carries the SHA-256 of the line before it, so that no line can be changed or
taken out of the middle unseen. A cost is booked and forced to the disk *before* noise is drawn: a
process that is killed may lose budget and never gains any. The file is locked while a line is
added, not while noise is drawn: two processes that ask the same at the same time both pay, and get
one answer. The lock is on an open file and ends with the process, however it ends. A last line that
was cut short had answered nothing, and is taken back. Restoring an old copy of the file brings its
budget back; the modelers' receipts tell (`Ledger.holds`).
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

from likeforlike.errors import InputError
from likeforlike.teams._files import check_unique, texts
from likeforlike.teams._noise import Cost, as_fraction, check_delta, read_fraction

if sys.platform == "win32":
    import msvcrt
    import time

    # A byte far behind the end: what is locked there cannot be read, and it is not read.
    _FAR = 1 << 40

    @contextmanager
    def lock_file(file: int) -> Iterator[None]:
        """Wait until no other process has the file locked, and lock it."""
        while True:
            os.lseek(file, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                break
            except OSError:
                time.sleep(0.05)
        try:
            yield
        finally:
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    @contextmanager
    def lock_file(file: int) -> Iterator[None]:
        """Wait until no other process has the file locked, and lock it."""
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


_FORMAT = "likeforlike ledger 1"
# Only its owner may read it: what was asked is private.
_MODE = 0o600

# Amounts of a budget that are rounding only, as a share of it.
_ROUNDING = 1e-8

Entry = dict[str, Any]


class OverBudget(InputError):  # noqa: N818
    """A request costs more than is left in the ledger.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.teams import Custodian, Ledger, OverBudget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=0.5, groups=["f", "m"])
    ...     custodian = Custodian({1: "f", 2: "m"}, ledger)
    ...     try:
    ...         custodian.randomize([1, 2], epsilon=1.0)
    ...     except OverBudget as error:
    ...         print(error)
    the answer would bring the total to epsilon = 1, and the budget is 0.5, of which 0.5 is left.
    """


class AlteredLedger(InputError):  # noqa: N818
    """The history in a ledger is not what was written there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likeforlike.teams import Ledger
    >>> from likeforlike.teams._ledger import AlteredLedger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.ledger"
    ...     ledger = Ledger(path, epsilon=1.0, groups=["f", "m"])
    ...     _ = path.write_text(path.read_text().replace('"epsilon": "1"', '"epsilon": "9"'))
    ...     try:
    ...         ledger.left
    ...     except AlteredLedger:
    ...         print("the file was changed")
    the file was changed
    """


class Receipt(TypedDict):
    """What an answer leaves with those who asked: which line of the ledger, and its SHA-256.

    Attributes
    ----------
    entry : number of the line.
    hash : SHA-256 of the line, and so of all lines before it.
    """

    entry: int
    hash: str


class Ledger:
    """Budget and history of a custodian, in a file.

    Parameters
    ----------
    path : of the file; made if it is not there, readable by its owner only.
    epsilon : the whole budget, > 0; needed for a new ledger, and checked for one that is there.
    delta : δ of the budget; by default 1e-6 for a new ledger.
    groups : names of all groups that answers are about, two or more, in the order in which releases
        name them; needed for a new ledger, and checked for one that is there. Declare them by what
        there could be, not by what the table happens to hold.
    about : what else the first line should say, as plain values.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.teams import Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=3.0, groups=["f", "m"])
    ...     ledger.spent, ledger.left
    (0.0, 3.0)
    """

    def __init__(
        self,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        groups: Sequence[Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.path: Path = Path(path)
        self._first: str | None = None
        declared = None if groups is None else check_groups(groups)
        budget = None if epsilon is None else as_fraction(epsilon, "epsilon")
        if delta is not None:
            check_delta(delta)
        if budget is None and not self.path.exists():
            raise InputError(f"{self.path} does not exist; say the budget epsilon to open it.")
        if declared is None and not self.path.exists():
            raise InputError(f"{self.path} does not exist; declare the groups to open it.")
        with self._open_entries(create=budget is not None) as (file, entries):
            if not entries:
                if budget is None or declared is None:
                    raise InputError(
                        f"{self.path} is empty; say the budget epsilon and the groups to open it."
                    )
                chosen = 1e-6 if delta is None else float(delta)
                opening = _opening(budget, chosen, declared, about or {})
                entries.append(self._append(file, entries, opening, "nothing was opened"))
            self._check_opening(entries[0], budget, delta, declared)
        first = entries[0]
        self._first = first["hash"]
        self.epsilon: float = float(Fraction(first["epsilon"]))
        self.delta: float = float(first["delta"])
        self.groups: tuple[str, ...] = tuple(first["groups"])
        self.about: dict[str, Any] = first["about"]

    @property
    def spent(self) -> float:
        """ε of everything booked so far, answered or not."""
        return self._cost().total(self.delta)

    @property
    def left(self) -> float:
        """ε that may still be spent on counts; sums together cost less than one by one."""
        return _remaining(self.epsilon, self.spent)

    def entries(self) -> list[Entry]:
        """All lines, checked, the opening first; answers are among them."""
        with self._open_entries() as (_, entries):
            return entries

    def holds(self, receipt: Receipt) -> bool:
        """Whether an answer with a receipt is in this history.

        If not, an older copy of the ledger was put in its place, and its budget is not to be
        trusted.
        """
        check_receipt(receipt)
        entries, number = self.entries(), receipt["entry"]
        return 0 <= number < len(entries) and entries[number]["hash"] == receipt["hash"]

    def answer(
        self, request: str, kind: str, cost: Cost, make: Callable[[], Any]
    ) -> tuple[Any, Receipt]:
        """Return the answer stored for this very request, or a new one, whose cost is booked first.

        The receipt for it comes with it.

        Parameters
        ----------
        request : SHA-256 of what is asked, with everything that matters for the answer.
        kind : of the request, for those who read the ledger.
        cost : of the answer.
        make : draws the answer, as plain values; called after the booking is on the disk, while
            others may use the ledger.
        """
        with self._open_entries() as (file, entries):
            if (stored := _find_entry(entries, request)) is not None:
                return stored
            self._check_budget(entries, cost)
            booking = {
                "kind": "booking",
                "what": kind,
                "request": request,
                "epsilon": str(cost.epsilon),
                "rho": str(cost.rho),
                "at": _now(),
            }
            self._append(file, entries, booking, "nothing was booked and nothing answered")
        value = make()
        with self._open_entries() as (file, entries):
            # Who asked the same meanwhile has got an answer; another one would reveal more.
            if (stored := _find_entry(entries, request)) is not None:
                return stored
            answer = {"kind": "answer", "request": request, "value": value}
            entry = self._append(
                file, entries, answer, "nothing was answered, but the budget for it was spent"
            )
            return entry["value"], _receipt(entry)

    def _cost(self) -> Cost:
        return _book_keeping(self.entries())

    def _check_budget(self, entries: list[Entry], cost: Cost) -> None:
        budget, before = float(Fraction(entries[0]["epsilon"])), _book_keeping(entries)
        delta = float(entries[0]["delta"])
        total = before.plus(cost).total(delta)
        # What is spent to the last bit is not beyond the budget for rounding.
        if total > budget * (1.0 + _ROUNDING):
            left = _remaining(budget, before.total(delta))
            raise OverBudget(
                f"the answer would bring the total to epsilon = {total:.6g}, and the budget is "
                f"{budget:.6g}, of which {left:.6g} is left."
            )

    def _check_opening(
        self,
        first: Entry,
        epsilon: Fraction | None,
        delta: float | None,
        groups: tuple[str, ...] | None,
    ) -> None:
        if groups is not None and tuple(first["groups"]) != groups:
            raise InputError(
                f"the ledger {self.path} was opened for the groups {first['groups']}, not "
                f"{list(groups)}; groups are not changed afterwards."
            )
        if epsilon is not None and Fraction(first["epsilon"]) != epsilon:
            raise InputError(
                f"the ledger {self.path} was opened with the budget epsilon = "
                f"{float(Fraction(first['epsilon'])):g}, not {float(epsilon):g}; a budget is not "
                "changed afterwards."
            )
        if delta is not None and float(first["delta"]) != float(delta):
            raise InputError(
                f"the ledger {self.path} was opened with delta = {first['delta']:g}, not {delta:g}."
            )

    @contextmanager
    def _open_entries(self, *, create: bool = False) -> Iterator[tuple[int, list[Entry]]]:
        """Open and lock the file, and read its entries."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            file = os.open(self.path, flags | (os.O_CREAT if create else 0), _MODE)
        except (OSError, ValueError) as error:  # a path with a null character
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"the ledger {self.path} cannot be opened: {reason}.") from error
        try:
            # A device or a pipe keeps nothing.
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InputError(f"{self.path} is not a file; a ledger must be kept in one.")
            with lock_file(file):
                try:
                    entries = self._read(file)
                except OSError as error:
                    raise InputError(
                        f"the ledger {self.path} cannot be read: {error.strerror}."
                    ) from error
                self._refuse_other(entries)
                yield file, entries
        finally:
            os.close(file)

    def _refuse_other(self, entries: list[Entry]) -> None:
        """Raise if this is not the ledger that was opened, but an empty file or another one."""
        if self._first is not None and (not entries or entries[0]["hash"] != self._first):
            raise AlteredLedger(
                f"the ledger {self.path} was emptied, or another one was put in its place; answer "
                "nothing, and restore the file."
            )

    def _read(self, file: int) -> list[Entry]:
        """All entries, with their chain checked; a last line that was cut short is taken back."""
        content = _content(file)
        *lines, rest = content.split(b"\n")
        entries: list[Entry] = []
        for number, line in enumerate(lines):
            entry = _check_entry(line, number, entries)
            if entry is None:
                raise self._alteration(number, content)
            entries.append(entry)
        if not rest:
            return entries
        whole = _check_entry(rest, len(entries), entries)
        if whole is not None:
            _write(file, b"\n")
            return [*entries, whole]
        if not entries and not _begins_as_ledger(rest):
            raise InputError(f"{self.path} is not a ledger and was left as it is.")
        os.ftruncate(file, len(content) - len(rest))
        os.fsync(file)
        return entries

    def _alteration(self, number: int, content: bytes) -> InputError:
        if _FORMAT.encode() not in content:
            return InputError(f"{self.path} is not a ledger and was left as it is.")
        return AlteredLedger(
            f"line {number + 1} of the ledger {self.path} is not what was written there; answer "
            "nothing, and restore the file from before it was changed."
        )

    def _append(self, file: int, entries: list[Entry], entry: Entry, otherwise: str) -> Entry:
        """Write an entry; when this returns it is on the disk. If it fails, say what that means."""
        before = entries[-1]["hash"] if entries else ""
        chained = {"entry": len(entries), "before": before, **entry}
        whole = {**chained, "hash": _hash(chained)}
        begin = os.fstat(file).st_size
        try:
            _write(file, json.dumps(whole, sort_keys=True).encode() + b"\n")
        except OSError as error:
            with suppress(OSError):  # what is left of the line is taken back when it is read
                os.ftruncate(file, begin)
            raise InputError(
                f"the ledger {self.path} cannot be written: {error.strerror}; {otherwise}."
            ) from error
        return whole


def check_groups(groups: Sequence[Any]) -> tuple[str, ...]:
    """Names of groups as text: two or more, each once."""
    declared = tuple(texts(groups, "groups"))
    check_unique(declared, "groups")
    if len(declared) < 2:
        raise InputError(
            f"groups must be two or more, not {list(declared)}; declare also those that no row "
            "of the table has."
        )
    return declared


def check_receipt(receipt: object) -> None:
    """Raise unless this is the number of a line and its hash."""
    if not isinstance(receipt, Mapping) or set(receipt) != {"entry", "hash"}:
        raise InputError("the receipt must have an entry and a hash, and nothing else.")
    number = receipt["entry"]
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise InputError("the entry of a receipt must be the number of a line, 0 or more.")
    if not isinstance(receipt["hash"], str):
        raise InputError("the hash of a receipt must be text.")


def _find_entry(entries: list[Entry], request: str) -> tuple[Any, Receipt] | None:
    for entry in entries:
        if entry["kind"] == "answer" and entry["request"] == request:
            return entry["value"], _receipt(entry)
    return None


def _opening(
    epsilon: Fraction, delta: float, groups: tuple[str, ...], about: Mapping[str, Any]
) -> Entry:
    return {
        "kind": "opening",
        "format": _FORMAT,
        "epsilon": str(epsilon),
        "delta": delta,
        "groups": list(groups),
        "about": dict(about),
        # Receipts are hashes of all that came before; that must not be found out by trying.
        "salt": secrets.token_hex(32),
        "at": _now(),
    }


def _remaining(budget: float, spent: float) -> float:
    left = budget - spent
    return left if left > _ROUNDING * budget else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _book_keeping(entries: list[Entry]) -> Cost:
    booked = Cost()
    for entry in entries:
        if entry["kind"] == "booking":
            booked = booked.plus(Cost(Fraction(entry["epsilon"]), Fraction(entry["rho"])))
    return booked


def _receipt(entry: Entry) -> Receipt:
    return {"entry": entry["entry"], "hash": entry["hash"]}


def _hash(entry: Mapping[str, Any]) -> str:
    return sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _check_entry(line: bytes, number: int, entries: list[Entry]) -> Entry | None:
    """Return an entry that is whole and continues those before it; else `None`."""
    try:
        entry = json.loads(line)
        if not isinstance(entry, dict) or "hash" not in entry:
            return None
        said = {name: value for name, value in entry.items() if name != "hash"}
        same = entry["hash"] == _hash(said)
    except (ValueError, RecursionError):
        return None
    before = entries[-1]["hash"] if entries else ""
    chained = said.get("entry") == number and said.get("before") == before
    return entry if same and chained and _is_sound(entry, first=number == 0) else None


def _is_sound(entry: Entry, *, first: bool) -> bool:
    """Whether a line says what such a line says; others can make hashes, too."""
    kind, amounts = entry.get("kind"), [read_fraction(entry.get(k)) for k in ("epsilon", "rho")]
    if first:
        groups, delta = entry.get("groups"), entry.get("delta")
        return (
            kind == "opening"
            and entry.get("format") == _FORMAT
            and bool(amounts[0])
            and isinstance(delta, float)
            and 0.0 < delta < 1.0
            and isinstance(entry.get("about"), dict)
            and isinstance(groups, list)
            and len(groups) == len(set(map(str, groups))) >= 2
            and all(isinstance(group, str) for group in groups)
        )
    if not isinstance(entry.get("request"), str):
        return False
    if kind == "booking":
        words = all(isinstance(entry.get(name), str) for name in ("what", "at"))
        return words and None not in amounts and any(amounts)
    return kind == "answer" and "value" in entry


def _begins_as_ledger(rest: bytes) -> bool:
    """Whether this is the beginning of a first line of ours, which was cut short."""
    return rest.startswith(b'{"about": {')


def _content(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)
