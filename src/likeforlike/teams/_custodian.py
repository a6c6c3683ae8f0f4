"""The custodian: holds the groups, and answers with noise, through the ledger only.

The one primitive is a noisy sum over public rows, Σ_i 1{A_i = a} φ_i + noise, with φ chosen by the
modellers. Only A is private. If one person's group were another,

- counts (φ is a code, one-hot) would change by at most m in L1, where m is the most rows of one
  person: discrete Laplace noise of scale m / ε makes them ε-differentially private;
- sums would change by at most the largest norm S of what one person's rows add up to: discrete
  Gaussian noise of variance S² / (2 ρ) makes them ρ-zCDP.

For more than two groups a change takes from one and gives to another: 2 m, and √2 S. S and m are
found here, in whole numbers, from what was asked and who the rows belong to, never from A.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError
from likeforlike.teams._accounting import Cost, as_fraction, rho_of
from likeforlike.teams._documents import Noise
from likeforlike.teams._files import refuse_repeated, texts
from likeforlike.teams._ledger import Answered, Ledger
from likeforlike.teams._releases import Release, ReleaseKind
from likeforlike.teams._requests import (
    GRID,
    CountsRequest,
    Request,
    SumsRequest,
    file_digest,
)
from likeforlike.teams._samplers import (
    discrete_gaussian,
    discrete_laplace,
    keep_threshold,
    laplace_variance,
    randomised,
)

# Squares of what a person's rows add up to are held as 64-bit integers.
_MOST_ROWS_OF_A_PERSON = 1000


class _Rows(NamedTuple):
    """Rows that were asked about: their groups and persons (n,), and rows of one person at most."""

    groups: IntArray
    persons: IntArray
    most: int


class Custodian:
    """Those who hold A, and answer questions about it without showing it.

    Parameters
    ----------
    groups : {id of a row: its group}; ids are compared as text.
    ledger : the budget, and everything that was answered.
    people : {id of a row: whose it is}, if people have several rows; their group must be the same
        in all of them. Without it every row is somebody else.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.teams import Custodian, Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=3.0)
    ...     custodian = Custodian({"ann": "f", "bo": "m", "cy": "m"}, ledger)
    ...     file = custodian.randomise(["ann", "bo", "cy"], epsilon=1.0)
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
        refuse_repeated(ids)
        labels = texts(list(groups.values()), "groups")
        self.groups: tuple[str, ...] = tuple(sorted(set(labels)))
        if len(self.groups) < 2:
            raise InputError("groups has a single value; there is nothing to compare, or to hide.")
        code = {label: k for k, label in enumerate(self.groups)}
        self._row = {each: k for k, each in enumerate(ids)}
        self._codes = np.fromiter(map(code.__getitem__, labels), np.int64, len(labels))
        self._persons = self._whose(people, ids)
        self.ledger: Ledger = ledger

    @classmethod
    def of_columns(
        cls, ids: Column, groups: Column, ledger: Ledger, people: Column | None = None
    ) -> Custodian:
        """The custodian of a table: columns of ids, groups and, if rows repeat people, of people.

        Parameters
        ----------
        ids, groups : (n,) each.
        ledger : the budget.
        people : (n,), or `None`.
        """
        named = texts(ids, "ids")
        refuse_repeated(named)
        held = dict(zip(named, texts(groups, "groups"), strict=True))
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
        exact, rows = as_fraction(epsilon, "epsilon"), self._rows(request.ids)
        scale = Fraction(rows.most * self._released_twice) / exact

        def make() -> list[list[int]]:
            cells = rows.groups * request.n_codes + request.codes
            counted = np.bincount(cells, minlength=len(self.groups) * request.n_codes)
            released = counted.reshape(len(self.groups), -1)[self._released]
            return [[int(n) + discrete_laplace(scale) for n in row] for row in released]

        noise: Noise = {
            "law": "discrete Laplace",
            "scale": str(scale),
            "variance": laplace_variance(scale),
        }
        answered = self._answered("counts", request.digest, exact, Cost(epsilon=exact), make)
        return self._release("counts", request.digest, answered, exact, 0.0, noise, rows.most)

    def sums(self, request: SumsRequest, *, epsilon: float) -> Release:
        """Sums of features over the rows of each group, with discrete Gaussian noise.

        Parameters
        ----------
        request : made by `soft_groups.request`, or by hand.
        epsilon : what the answer may tell about one person at the ledger's δ, > 0, if it were the
            only one of its kind; several cost less than one by one.
        """
        exact, rows = as_fraction(epsilon, "epsilon"), self._rows(request.ids)
        rho = rho_of(exact, self.ledger.delta)
        # In parts of the grid. Two groups: A_i moves one sum. More: it leaves one for another.
        squared = _largest_square(request.features, rows) * self._released_twice
        variance = Fraction(squared) / (2 * rho)

        def make() -> list[list[int]]:
            found = []
            for group in range(len(self.groups))[self._released]:
                summed = request.features[rows.groups == group].sum(axis=0)
                found.append([int(n) + discrete_gaussian(variance) for n in summed])
            return found

        noise: Noise = {
            "law": "discrete Gaussian",
            "scale": None,
            "variance": float(variance / GRID**2),
        }
        answered = self._answered("sums", request.digest, exact, Cost(rho=rho), make)
        delta = self.ledger.delta
        return self._release("sums", request.digest, answered, exact, delta, noise, rows.most)

    def randomise(self, ids: Column, *, epsilon: float) -> Release:
        """A group for every row by randomised response: a file that may be published once.

        A person keeps the true group with probability e^ε / (e^ε + G - 1), in all rows, and else
        gets one of the others.

        Parameters
        ----------
        ids : (n,) of the rows, each once.
        epsilon : what the file may tell about one person, > 0.
        """
        exact, named = as_fraction(epsilon, "epsilon"), tuple(texts(ids, "ids"))
        refuse_repeated(named)
        rows, many = self._rows(named), len(self.groups)
        asked = file_digest(named)

        def make() -> str:
            _, first, person = np.unique(rows.persons, return_index=True, return_inverse=True)
            drawn = randomised(rows.groups[first], exact, many)[person]
            return base64.b64encode(zlib.compress(drawn.astype("<u4").tobytes())).decode()

        kept = Fraction(keep_threshold(exact, many), 1 << 64)
        noise: Noise = {
            "law": "randomised response",
            "scale": f"{float(kept):.12g}",
            "variance": None,
        }
        answered = self._answered("groups", asked, exact, Cost(epsilon=exact), make)
        codes = np.frombuffer(zlib.decompress(base64.b64decode(answered.value)), "<u4")
        unpacked = Answered(codes.astype(np.int64), answered.receipt, answered.replayed)
        return self._release("groups", asked, unpacked, exact, 0.0, noise, rows.most)

    @property
    def _released(self) -> slice:
        """Groups that are counted: with two of them, the first is the public rest."""
        return slice(1, None) if len(self.groups) == 2 else slice(None)

    @property
    def _released_twice(self) -> int:
        """In how many released groups one person's change shows: in both, or in the second."""
        return 1 if len(self.groups) == 2 else 2

    def _rows(self, ids: tuple[str, ...]) -> _Rows:
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
        return _Rows(self._codes[at], persons, most)

    def _whose(self, people: Mapping[Any, Hashable] | None, ids: list[str]) -> IntArray:
        if people is None:
            return np.arange(len(ids))
        named = dict(
            zip(texts(list(people), "people"), texts(list(people.values()), "people"), strict=True)
        )
        lacking = next((each for each in ids if each not in named), None)
        if lacking is not None:
            raise InputError(f"people does not say whose row {lacking!r} is.")
        number: dict[str, int] = {}
        persons = [number.setdefault(named[each], len(number)) for each in ids]
        of_person = np.array(persons, np.int64)
        _refuse_two_groups(of_person, self._codes)
        return of_person

    def _answered(
        self,
        kind: ReleaseKind,
        digest: str,
        epsilon: Fraction,
        cost: Cost,
        make: Callable[[], Any],
    ) -> Answered:
        # The same question at another ε is another question.
        key = sha256(f"{kind} {digest} {epsilon}".encode()).hexdigest()
        return self.ledger.answer(key, kind, cost, make)

    def _release(
        self,
        kind: ReleaseKind,
        digest: str,
        answered: Answered,
        epsilon: Fraction,
        delta: float,
        noise: Noise,
        most: int,
    ) -> Release:
        return Release(
            kind=kind,
            request=digest,
            groups=self.groups,
            values=np.asarray(answered.value, np.int64),
            epsilon=float(epsilon),
            delta=delta,
            noise=noise,
            rows_per_person=most,
            receipt=answered.receipt,
        )


def _largest_square(features: IntArray, rows: _Rows) -> int:
    """The largest squared norm of what the rows of one person add up to, in parts of the grid."""
    if rows.most == 1:
        return int((features**2).sum(axis=1).max())
    _, person = np.unique(rows.persons, return_inverse=True)
    order = np.argsort(person, kind="stable")
    begins = np.flatnonzero(np.diff(person[order], prepend=-1))
    summed = np.add.reduceat(features[order], begins, axis=0)
    return int((summed**2).sum(axis=1).max())


def _refuse_two_groups(persons: IntArray, codes: IntArray) -> None:
    """Raise if rows of one person have different groups, without saying which."""
    order = np.argsort(persons, kind="stable")
    same_person = np.diff(persons[order]) == 0
    if (same_person & (np.diff(codes[order]) != 0)).any():
        raise InputError(
            "a person has rows with different groups; give every person one group, in all rows."
        )
