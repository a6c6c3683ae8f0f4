"""The custodian: holds the groups of a table, and answers with noise, through the ledger only.

The one primitive is a noisy sum over public rows, Σ_i 1{A_i = a} φ_i + noise, with φ chosen by the
modelers. Only A is private. If one person's group were another,

- counts (φ is a code, one-hot) would change by at most m in L1, where m is the most rows of one
  person: discrete Laplace noise of scale m / ε makes them ε-differentially private;
- sums would change by at most the largest norm S of what one person's rows add up to: discrete
  Gaussian noise of variance S² / (2 ρ) makes them ρ-zCDP.

For more than two groups a change takes from one and gives to another: 2 m, and √2 S. S and m are
found here, in whole numbers, from what was asked and which rows belong to one person, never from A.
Which groups there are is declared in the ledger and never found from A either: a name that only
appears because one person has it would show which person that is.

Whatever can fail is done before the cost is booked; after that, only noise is drawn. The ledger
remembers which file holds A, and a later session must use the same table. The columns of the file
are read by name, and no row may lack a value.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import shlex
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike.disparity import Column
from likeforlike.errors import InputError
from likeforlike.files import (
    CsvOptions,
    TextTable,
    column_key,
    find_column,
    open_file,
    read_texts,
    readable,
)
from likeforlike.teams._files import check_unique, texts, whole_numbers
from likeforlike.teams._ledger import AlteredLedger, Ledger, Receipt, check_groups
from likeforlike.teams._noise import (
    Cost,
    answer_epsilon,
    discrete_gaussian,
    discrete_laplace,
    keep_threshold,
    laplace_variance,
    randomize_codes,
    rho_of,
)
from likeforlike.teams._releases import Noise, Release, ReleaseKind
from likeforlike.teams._requests import (
    GRID,
    CountsRequest,
    Request,
    SumsRequest,
    file_digest,
    sum_squares,
)

if TYPE_CHECKING:
    import polars as pl

# Rows are at most 2^20 long, so the square of what these add up to is below 2^60: 64 bits hold it.
_MOST_ROWS_OF_A_PERSON = 1000


class Custodian:
    """Those who hold A, and answer questions about it without showing it.

    Parameters
    ----------
    groups : {id of a row: its group}, a group that the ledger declares; ids and groups are compared
        as text.
    ledger : the budget, the groups that answers are about, and everything that was answered.
    people : {id of a row: whose it is}, if people have several rows; their group must be the same
        in all of them. Without it every row is another person.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.teams import Custodian, Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=3.0, groups=["f", "m"])
    ...     custodian = Custodian({"ann": "f", "bo": "m", "cy": "m"}, ledger)
    ...     file = custodian.randomize(["ann", "bo", "cy"], epsilon=1.0)
    ...     custodian.groups, file.values.shape, round(ledger.left, 6)
    (('f', 'm'), (3,), 2.0)
    """

    def __init__(
        self,
        groups: Mapping[Any, Hashable],
        ledger: Ledger,
        people: Mapping[Any, Hashable] | None = None,
    ) -> None:
        ids = texts(list(groups), "ids")
        labels = texts(list(groups.values()), "groups")
        whose = None if people is None else _whose(people, ids)
        self.groups: tuple[str, ...] = ledger.groups
        self._codes, self._persons = encode_rows(ids, labels, whose, self.groups)
        self._row = {each: k for k, each in enumerate(ids)}
        self.ledger: Ledger = ledger

    @classmethod
    def of_columns(
        cls, ids: Column, sensitive_features: Column, ledger: Ledger, people: Column | None = None
    ) -> Custodian:
        """Make a custodian from columns of ids, groups and, if rows repeat people, of people.

        Parameters
        ----------
        ids, sensitive_features : (n,) each.
        ledger : the budget.
        people : (n,), or `None`.
        """
        named = texts(ids, "ids")
        check_unique(named)
        held = dict(zip(named, texts(sensitive_features, "groups"), strict=True))
        whose = None if people is None else dict(zip(named, texts(people, "people"), strict=True))
        return cls(held, ledger, whose)

    def answer(self, request: Request, *, epsilon: float) -> Release:
        """Answer a request, whichever kind it is.

        Parameters
        ----------
        request : of counts or of sums.
        epsilon : what the answer may tell about one person, > 0.
        """
        if isinstance(request, CountsRequest):
            return self.counts(request, epsilon=epsilon)
        if isinstance(request, SumsRequest):
            return self.sums(request, epsilon=epsilon)
        raise InputError(f"request must be one of counts or sums, not {type(request).__name__}.")

    def counts(self, request: CountsRequest, *, epsilon: float) -> Release:
        """How many rows of each group have each code, with discrete Laplace noise.

        Parameters
        ----------
        request : made by `audit_plan`, or by hand.
        epsilon : what the answer may tell about one person, > 0.
        """
        exact, (groups, _, most) = answer_epsilon(epsilon), self._rows(request.ids)
        scale = Fraction(most * self._groups_per_person) / exact
        cells = groups * request.n_codes + request.codes
        counted = np.bincount(cells, minlength=len(self.groups) * request.n_codes)
        released = counted.reshape(len(self.groups), -1)[self._answer_groups].tolist()

        def make() -> list[list[int]]:
            return [[n + discrete_laplace(scale) for n in row] for row in released]

        noise: Noise = {
            "law": "discrete Laplace",
            "scale": str(scale),
            "variance": laplace_variance(scale),
        }
        stored, receipt = self._answer("counts", request.digest, exact, Cost(epsilon=exact), make)
        shape = (len(released), request.n_codes)
        values = self._whole(stored, shape)
        return self._release("counts", request.digest, values, receipt, exact, 0.0, noise, most)

    def sums(self, request: SumsRequest, *, epsilon: float) -> Release:
        """Sum features over the rows of each group, with discrete Gaussian noise.

        Parameters
        ----------
        request : made by `soft_groups.request`, or by hand.
        epsilon : what the answer may tell about one person at the ledger's δ, > 0, if it were the
            only one of its kind; several cost less than one by one.
        """
        exact, (groups, persons, most) = answer_epsilon(epsilon), self._rows(request.ids)
        rho = rho_of(exact, self.ledger.delta)
        # In parts of the grid. Two groups: A_i moves one sum. More: it leaves one for another.
        squared = _largest_square(request.features, persons, most) * self._groups_per_person
        if not squared:
            raise InputError(
                "features add up to 0 for every person; there is nothing to sum. Ask about "
                "features that are not 0 everywhere."
            )
        variance = Fraction(squared) / (2 * rho)
        summed = [
            request.features[groups == group].sum(axis=0).tolist()
            for group in range(len(self.groups))[self._answer_groups]
        ]

        def make() -> list[list[int]]:
            return [[n + discrete_gaussian(variance) for n in row] for row in summed]

        noise: Noise = {
            "law": "discrete Gaussian",
            "scale": None,
            "variance": float(variance / GRID**2),
        }
        stored, receipt = self._answer("sums", request.digest, exact, Cost(rho=rho), make)
        values = self._whole(stored, (len(summed), request.features.shape[1]))
        delta = self.ledger.delta
        return self._release("sums", request.digest, values, receipt, exact, delta, noise, most)

    def randomize(self, ids: Column, *, epsilon: float) -> Release:
        """Draw a group for every row by randomized response: a file that may be published once.

        A person keeps the true group with probability e^ε / (e^ε + G - 1), in all rows, and else
        gets one of the others.

        Parameters
        ----------
        ids : (n,) of the rows, each once.
        epsilon : what the file may tell about one person, > 0.
        """
        exact, named = answer_epsilon(epsilon), tuple(texts(ids, "ids"))
        check_unique(named)
        (groups, persons, most), many = self._rows(named), len(self.groups)
        asked = file_digest(named)
        _, first, person = np.unique(persons, return_index=True, return_inverse=True)

        def make() -> str:
            drawn = randomize_codes(groups[first], exact, many)[person]
            return base64.b64encode(zlib.compress(drawn.astype("<u4").tobytes())).decode()

        kept = Fraction(keep_threshold(exact, many), 1 << 64)
        noise: Noise = {
            "law": "randomized response",
            "scale": f"{float(kept):.12g}",
            "variance": None,
        }
        stored, receipt = self._answer("groups", asked, exact, Cost(epsilon=exact), make)
        try:
            codes = np.frombuffer(zlib.decompress(base64.b64decode(stored)), "<u4")
        except (TypeError, ValueError, binascii.Error, zlib.error) as error:
            raise self._strange() from error
        if codes.max(initial=0) >= many:
            raise self._strange()
        values = self._whole(codes, (len(named),))
        return self._release("groups", asked, values, receipt, exact, 0.0, noise, most)

    @property
    def _answer_groups(self) -> slice:
        """Groups that are counted: with two of them, the first is the public rest."""
        return slice(1, None) if len(self.groups) == 2 else slice(None)

    @property
    def _groups_per_person(self) -> int:
        """In how many released groups one person's change shows: in both, or in the second."""
        return 1 if len(self.groups) == 2 else 2

    def _rows(self, ids: tuple[str, ...]) -> tuple[IntArray, IntArray, int]:
        """Return groups and persons (n,) of rows, and how many rows one person has at most."""
        if not ids:
            raise InputError("ids is empty; there is nothing to ask.")
        places = [self._row.get(each, -1) for each in ids]
        unknown = next((each for each, k in zip(ids, places, strict=True) if k < 0), None)
        if unknown is not None:
            raise InputError(
                f"the custodian knows no row {unknown!r}; ask about rows that are held here."
            )
        at = np.array(places, np.int64)
        persons = self._persons[at]
        most = int(np.unique(persons, return_counts=True)[1].max())
        if most > _MOST_ROWS_OF_A_PERSON:
            raise InputError(
                f"a person has {most} of the rows asked about; at most {_MOST_ROWS_OF_A_PERSON} "
                "are possible, and far fewer are useful: noise grows with them."
            )
        return self._codes[at], persons, most

    def _answer(
        self,
        kind: ReleaseKind,
        digest: str,
        epsilon: Fraction,
        cost: Cost,
        make: Callable[[], Any],
    ) -> tuple[Any, Receipt]:
        # The same question at another ε is another question.
        key = sha256(f"{kind} {digest} {epsilon}".encode()).hexdigest()
        return self.ledger.answer(key, kind, cost, make)

    def _whole(self, stored: object, shape: tuple[int, ...]) -> IntArray:
        """Return an answer as it was stored, which is of this shape unless the file was changed."""
        try:
            values = whole_numbers(stored, "the stored answer")
        except InputError as error:
            raise self._strange() from error
        if values.shape != shape:
            raise self._strange()
        return values

    def _strange(self) -> AlteredLedger:
        return AlteredLedger(
            f"the answer stored in the ledger {self.ledger.path} does not fit the request; answer "
            "nothing, and restore the file from before it was changed."
        )

    def _release(
        self,
        kind: ReleaseKind,
        digest: str,
        values: IntArray,
        receipt: Receipt,
        epsilon: Fraction,
        delta: float,
        noise: Noise,
        most: int,
    ) -> Release:
        return Release(
            kind=kind,
            request=digest,
            groups=self.groups,
            values=values,
            epsilon=float(epsilon),
            delta=delta,
            noise=noise,
            rows_per_person=most,
            receipt=receipt,
        )


def encode_rows(
    ids: list[str], labels: list[str], whose: list[str] | None, groups: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """Codes of the groups and numbers of the persons of rows (n,); raise if a table is not fit."""
    check_unique(ids)
    code = {label: k for k, label in enumerate(groups)}
    strange = sorted(set(labels) - set(code))
    if strange:
        raise InputError(
            f"the sensitive column holds {strange}, and the groups declared are {list(groups)}; "
            "declare every group when the ledger is made, or give those rows a declared group."
        )
    codes = np.fromiter(map(code.__getitem__, labels), np.int64, len(labels))
    if whose is None:
        return codes, np.arange(len(ids))
    number: dict[str, int] = {}
    persons = np.array([number.setdefault(each, len(number)) for each in whose], np.int64)
    _refuse_two_groups(persons, codes)
    return codes, persons


def _whose(people: Mapping[Any, Hashable], ids: list[str]) -> list[str]:
    """Who each row belongs to."""
    named = dict(
        zip(texts(list(people), "people"), texts(list(people.values()), "people"), strict=True)
    )
    lacking = next((each for each in ids if each not in named), None)
    if lacking is not None:
        raise InputError(f"people does not say whose row {lacking!r} is.")
    return [named[each] for each in ids]


def _largest_square(features: IntArray, persons: IntArray, most: int) -> int:
    """Return the largest squared norm of the sum of one person's rows, in parts of the grid."""
    if most == 1:
        return int(sum_squares(features).max())
    _, person = np.unique(persons, return_inverse=True)
    order = np.argsort(person, kind="stable")
    begins = np.flatnonzero(np.diff(person[order], prepend=-1))
    return int(sum_squares(np.add.reduceat(features[order], begins, axis=0)).max())


def _refuse_two_groups(persons: IntArray, codes: IntArray) -> None:
    """Raise if rows of one person have different groups, without saying which."""
    order = np.argsort(persons, kind="stable")
    same_person = np.diff(persons[order]) == 0
    if (same_person & (np.diff(codes[order]) != 0)).any():
        raise InputError(
            "a person has rows with different groups; give every person one group, in all rows."
        )


def read_columns(
    file: Path,
    names: Sequence[str],
    *,
    number: str | None = None,
    options: CsvOptions | None = None,
) -> dict[str, Any]:
    """Columns as polars series, the one that is a number as numbers, all without missing values."""
    import polars as pl

    wanted = list(dict.fromkeys(names))
    with open_file(file, "polars", options, named=wanted) as opened, readable(file):
        is_text = isinstance(opened, TextTable)
        there = opened.columns if is_text else opened.collect_schema().names()
        places = {name: find_column(name, there, str(file))[0] for name in wanted}
        table = opened.table if is_text else opened
        frame = table.select(pl.nth(k).alias(column_key(name)) for name, k in places.items())
        frame = frame.collect()
    nulls = ["", *opened.options.nulls] if is_text else []
    columns = {}
    for name in wanted:
        series = frame[column_key(name)]
        if nulls:
            series = series.set(series.str.strip_chars().is_in(nulls), None)
        if name == number and series.dtype == pl.String:
            series = _numbers(series, name, options)
        empty = series.is_null() | (series.is_nan() if series.dtype.is_float() else False)
        if empty.any():
            row = int(empty.arg_max() or 0)
            raise InputError(
                f"{name} has {int(empty.sum())} missing value(s), the first at row {row}; leave "
                "those rows out, or give them a value of their own."
            )
        columns[name] = series.alias(name)
    return columns


def _numbers(texts: pl.Series, name: str, options: CsvOptions | None) -> pl.Series:
    """Read the numbers in a column of text, also as people write them."""
    import polars as pl

    decimal = None if options is None else options.decimal
    counts = dict(texts.drop_nulls().value_counts().rows())
    read = read_texts(counts, name, decimal) if counts else None
    values = [None if read is None else read.values.get(text) for text in texts.to_list()]
    return pl.Series(values, dtype=pl.Float64)


class HeldTable(NamedTuple):
    """A file and its columns: ids of rows, groups, and people if they have several rows."""

    file: Path
    id: str
    sensitive: str
    person: str | None = None


def open_ledger(
    held: HeldTable,
    path: Path,
    epsilon: float,
    delta: float,
    groups: Sequence[str],
    options: CsvOptions | None = None,
) -> Custodian:
    """Make a ledger for a table, after the table has been read and found in order.

    Groups are declared, and not taken from the table: a release names all of them, so that a name
    must not be there only because one person has it.
    """
    if path.exists():
        raise InputError(f"{path} exists; a ledger is opened once. Choose another name.")
    columns = _columns(held, options)
    if not groups:
        found = sorted(set(columns[1]))
        repeated = " ".join(f"--group {shlex.quote(group)}" for group in found)
        raise InputError(
            f"--group must declare the groups that answers may name. {held.sensitive} holds "
            f"{', '.join(found)}: repeat them as {repeated}, and add those that might have been "
            "there."
        )
    declared = check_groups(groups)
    encode_rows(columns[0], columns[1], columns[2] if held.person else None, declared)
    salt = secrets.token_hex(16)
    about = {
        "table": str(held.file.resolve()),
        "id": held.id,
        "sensitive": held.sensitive,
        "person": held.person,
        "salt": salt,
        "digest": _digest(columns, salt),
    }
    return _custodian(columns, Ledger(path, epsilon, delta, groups=declared, about=about))


def reopen(ledger: Ledger, table: Path | None, options: CsvOptions | None = None) -> Custodian:
    """Return the custodian of a ledger, with the table that it was opened for."""
    about = ledger.about
    if not _names_a_table(about):
        raise InputError(f"the ledger {ledger.path} does not say which table it is for.")
    file = Path(about["table"]) if table is None else table
    columns = _columns(HeldTable(file, about["id"], about["sensitive"], about["person"]), options)
    if _digest(columns, about["salt"]) != about["digest"]:
        raise InputError(
            f"{file} is not the table that the ledger {ledger.path} was opened for: rows, groups "
            "or people have changed. Answers about both would tell what has changed; open a new "
            "ledger, and count what was answered before."
        )
    return _custodian(columns, ledger)


def _columns(held: HeldTable, options: CsvOptions | None) -> list[list[str]]:
    names = [name for name in (held.id, held.sensitive, held.person) if name is not None]
    return [
        list(map(str, column))
        for column in read_columns(held.file, names, options=options).values()
    ]


def _names_a_table(about: dict[str, Any]) -> bool:
    named = ("table", "id", "sensitive", "salt", "digest")
    whole = all(isinstance(about.get(name), str) for name in named)
    return whole and isinstance(about.get("person", 0), str | None)


def _custodian(columns: list[list[str]], ledger: Ledger) -> Custodian:
    people = columns[2] if len(columns) > 2 else None
    return Custodian.of_columns(columns[0], columns[1], ledger, people)


def _digest(columns: list[list[str]], salt: str) -> str:
    """Whatever the order of the rows; the salt keeps anybody from finding rows by trying."""
    rows = sorted(zip(*columns, strict=True))
    return sha256(json.dumps([salt, rows]).encode()).hexdigest()
