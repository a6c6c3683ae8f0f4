"""The ledger: what was answered and what it cost, in a file that only grows.

Every line is JSON and carries the SHA-256 of the line before it, so that no line can be changed or
taken out of the middle unseen. A cost is booked and forced to the disk *before* noise is drawn: a
process that is killed may lose budget and never gains any. A last line that was cut short had told
nobody anything, and is taken back. Whoever restores an old copy of the file gets its budget back;
the modellers' receipts tell (`Ledger.holds`).
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

from likeforlike.errors import InputError
from likeforlike.teams._accounting import Cost, as_fraction, check_delta
from likeforlike.teams._lock import locked

_FORMAT = "likeforlike ledger 1"
# Only its owner may read it: what was asked is nobody else's business.
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
    ...     custodian = Custodian({1: "f", 2: "m"}, Ledger(f"{folder}/a.ledger", epsilon=0.5))
    ...     try:
    ...         custodian.randomise([1, 2], epsilon=1.0)
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
    >>> from likeforlike.teams import AlteredLedger, Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.ledger"
    ...     ledger = Ledger(path, epsilon=1.0)
    ...     _ = path.write_text(path.read_text().replace('"epsilon": "1"', '"epsilon": "9"'))
    ...     try:
    ...         ledger.left
    ...     except AlteredLedger:
    ...         print("somebody changed it")
    somebody changed it
    """


class Receipt(TypedDict):
    """What an answer leaves with those who asked: which line of the ledger, and its SHA-256.

    Attributes
    ----------
    entry : number of the line.
    hash : SHA-256 of the line, and so of all lines before it.

    Examples
    --------
    >>> from likeforlike.teams import Receipt
    >>> Receipt(entry=2, hash="0" * 64)["entry"]
    2
    """

    entry: int
    hash: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A stored answer, the receipt for it, and whether it was there before."""

    value: Any
    receipt: Receipt
    replayed: bool


class Ledger:
    """Budget and history of a custodian, in a file.

    Parameters
    ----------
    path : of the file; made if it is not there, readable by its owner only.
    epsilon : the whole budget, > 0; needed for a new ledger, and checked for one that is there.
    delta : δ of the budget; by default 1e-6 for a new ledger.
    about : what else the first line should say, as plain values.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.teams import Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=3.0)
    ...     ledger.spent, ledger.left
    (0.0, 3.0)
    """

    def __init__(
        self,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.path: Path = Path(path)
        budget = None if epsilon is None else as_fraction(epsilon, "epsilon")
        if delta is not None:
            check_delta(delta)
        if budget is None and not self.path.exists():
            raise InputError(f"{self.path} does not exist; say the budget epsilon to open it.")
        with self._opened(create=budget is not None) as (file, entries):
            if not entries and budget is not None:
                chosen = 1e-6 if delta is None else float(delta)
                opening = _opening(budget, chosen, about or {})
                entries.append(self._append(file, entries, opening))
            elif not entries:
                raise InputError(f"{self.path} is empty; say the budget epsilon to open it.")
            self._check_opening(entries[0], budget, delta)
        first = entries[0]
        self.epsilon: float = float(Fraction(first["epsilon"]))
        self.delta: float = float(first["delta"])
        self.about: dict[str, Any] = first["about"]

    @property
    def spent(self) -> float:
        """ε of everything booked so far, answered or not."""
        return self._cost().total(self.delta)

    @property
    def left(self) -> float:
        """ε that may still be spent on counts; sums together cost less than one by one."""
        return _left(self.epsilon, self.spent)

    def entries(self) -> list[Entry]:
        """All lines, checked, the opening first; answers are among them."""
        with self._opened() as (_, entries):
            return entries

    def holds(self, receipt: Receipt) -> bool:
        """Whether an answer that somebody has a receipt for is in this history.

        If not, an older copy of the ledger was put in its place, and its budget is not to be
        trusted.
        """
        entries, number = self.entries(), receipt["entry"]
        return 0 <= number < len(entries) and entries[number]["hash"] == receipt["hash"]

    def answer(self, request: str, kind: str, cost: Cost, make: Callable[[], Any]) -> Answered:
        """The answer stored for this very request, or a new one, whose cost is booked first.

        Parameters
        ----------
        request : SHA-256 of what is asked, with everything that matters for the answer.
        kind : of the request, for those who read the ledger.
        cost : of the answer.
        make : draws the answer, as plain values; called after the booking is on the disk.
        """
        with self._opened() as (file, entries):
            for entry in entries:
                if entry["kind"] == "answer" and entry["request"] == request:
                    return Answered(entry["value"], _receipt(entry), replayed=True)
            self._check_budget(entries, cost)
            booking = {
                "kind": "booking",
                "what": kind,
                "request": request,
                "epsilon": str(cost.epsilon),
                "rho": str(cost.rho),
                "at": _now(),
            }
            entries.append(self._append(file, entries, booking))
            answer = {"kind": "answer", "request": request, "value": make()}
            entry = self._append(file, entries, answer)
            return Answered(entry["value"], _receipt(entry), replayed=False)

    def _cost(self) -> Cost:
        return _booked(self.entries())

    def _check_budget(self, entries: list[Entry], cost: Cost) -> None:
        budget, before = float(Fraction(entries[0]["epsilon"])), _booked(entries)
        delta = float(entries[0]["delta"])
        total = before.plus(cost).total(delta)
        # What is spent to the last bit is not beyond the budget for rounding.
        if total > budget * (1.0 + _ROUNDING):
            left = _left(budget, before.total(delta))
            raise OverBudget(
                f"the answer would bring the total to epsilon = {total:.6g}, and the budget is "
                f"{budget:.6g}, of which {left:.6g} is left."
            )

    def _check_opening(self, first: Entry, epsilon: Fraction | None, delta: float | None) -> None:
        if first.get("format") != _FORMAT:
            raise InputError(f"{self.path} is not a ledger and was left as it is.")
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
    def _opened(self, *, create: bool = False) -> Iterator[tuple[int, list[Entry]]]:
        """The file, locked, and its entries."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            file = os.open(self.path, flags | (os.O_CREAT if create else 0), _MODE)
        except OSError as error:
            raise InputError(
                f"the ledger {self.path} cannot be opened: {error.strerror}."
            ) from error
        try:
            with locked(file):
                yield file, self._read(file)
        finally:
            os.close(file)

    def _read(self, file: int) -> list[Entry]:
        """All entries, with their chain checked; a last line that was cut short is taken back."""
        content = _content(file)
        *lines, rest = content.split(b"\n")
        entries: list[Entry] = []
        for number, line in enumerate(lines):
            entry = _checked(line, number, entries)
            if entry is None:
                raise self._altered(number, content)
            entries.append(entry)
        if not rest:
            return entries
        whole = _checked(rest, len(entries), entries)
        if whole is not None:
            _write(file, b"\n")
            return [*entries, whole]
        if not entries and not _begins_as_ledger(rest):
            raise InputError(f"{self.path} is not a ledger and was left as it is.")
        os.ftruncate(file, len(content) - len(rest))
        os.fsync(file)
        return entries

    def _altered(self, number: int, content: bytes) -> InputError:
        if _FORMAT.encode() not in content:
            return InputError(f"{self.path} is not a ledger and was left as it is.")
        return AlteredLedger(
            f"line {number + 1} of the ledger {self.path} is not what was written there; answer "
            "nothing, and restore the file from before it was changed."
        )

    def _append(self, file: int, entries: list[Entry], entry: Entry) -> Entry:
        """Write an entry; when this returns it is on the disk."""
        before = entries[-1]["hash"] if entries else ""
        chained = {"entry": len(entries), "before": before, **entry}
        whole = {**chained, "hash": _hash(chained)}
        begin = os.fstat(file).st_size
        try:
            _write(file, json.dumps(whole, sort_keys=True).encode() + b"\n")
        except OSError as error:
            os.ftruncate(file, begin)
            raise InputError(
                f"the ledger {self.path} cannot be written: {error.strerror}; nothing was answered."
            ) from error
        return whole


def _opening(epsilon: Fraction, delta: float, about: Mapping[str, Any]) -> Entry:
    return {
        "kind": "opening",
        "format": _FORMAT,
        "epsilon": str(epsilon),
        "delta": delta,
        "about": dict(about),
        # Receipts are hashes of all that came before; nobody shall find that out by trying.
        "salt": secrets.token_hex(32),
        "at": _now(),
    }


def _left(budget: float, spent: float) -> float:
    left = budget - spent
    return left if left > _ROUNDING * budget else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _booked(entries: list[Entry]) -> Cost:
    booked = Cost()
    for entry in entries:
        if entry["kind"] == "booking":
            booked = booked.plus(Cost(Fraction(entry["epsilon"]), Fraction(entry["rho"])))
    return booked


def _receipt(entry: Entry) -> Receipt:
    return {"entry": entry["entry"], "hash": entry["hash"]}


def _hash(entry: Mapping[str, Any]) -> str:
    return sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _checked(line: bytes, number: int, entries: list[Entry]) -> Entry | None:
    """An entry that is whole and continues those before it; else `None`."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or "hash" not in entry:
        return None
    said = {name: value for name, value in entry.items() if name != "hash"}
    before = entries[-1]["hash"] if entries else ""
    chained = said.get("entry") == number and said.get("before") == before
    return entry if chained and entry["hash"] == _hash(said) else None


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
