"""Releases: what the custodian answers, with the noise that is in it and a receipt.

The documents below give the type of every entry of requests and releases as JSON, and their schemas
are made of these types. A request in a Parquet file has the same entries: `ids` and `columns` as
columns of the table, and all others in its notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike._settings import is_one_of, real
from likeforlike.document import Amount, Count, Limits
from likeforlike.errors import InputError
from likeforlike.teams import _files
from likeforlike.teams._ledger import Receipt, check_groups, check_receipt
from likeforlike.teams._noise import read_fraction

REQUEST_FILE, RELEASE_FILE = "likeforlike.request.schema.json", "likeforlike.release.schema.json"
"""Their names in the package; `tools/schema.py` writes them."""


Ids = Annotated[list[str], Limits(1)]
Names = Annotated[list[str], Limits(2)]
Positive = Annotated[int, Limits(1)]


class CodeColumn(TypedDict):
    """What is asked about every row of a request of counts.

    code : of every row, from 0 to n_codes - 1.
    """

    code: list[Count]


class CountsRequestDocument(TypedDict):
    """How many rows of each group have each code.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : how many rows of each group have each code.
    n_codes : how many codes there are.
    ids : of the rows, as text, each once.
    columns : what is asked about every row, in the order of the ids.
    """

    schema: Literal["likeforlike.request"]
    schema_version: Literal[1]
    kind: Literal["counts"]
    n_codes: Positive
    ids: Ids
    columns: CodeColumn


class SumsRequestDocument(TypedDict):
    """Sums of public features over the rows of each group.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : sums of features over the rows of each group.
    grid : features are whole numbers of parts of 1, of which there are this many.
    features : how many features there are.
    ids : of the rows, as text, each once.
    columns : the features f0, f1, and so on, in the order of the ids; the norm of a row is at most
        1.
    """

    schema: Literal["likeforlike.request"]
    schema_version: Literal[1]
    kind: Literal["sums"]
    grid: Literal[1048576]
    features: Positive
    ids: Ids
    columns: dict[str, list[int]]


NoiseLaw = Literal["discrete Laplace", "discrete Gaussian", "randomized response"]


class Noise(TypedDict):
    """The distribution of the noise in a release.

    Attributes
    ----------
    law : its name: "discrete Laplace", "discrete Gaussian" or "randomized response".
    scale : of a discrete Laplace distribution, as a fraction; for randomized response the
        probability with which a label is kept; null for a discrete Gaussian.
    variance : of every value, in its unit; null for randomized response.
    """

    law: NoiseLaw
    scale: str | None
    variance: Amount | None


class TableReleaseDocument(TypedDict):
    """Noisy counts or sums.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : whether counts or sums were asked for.
    request : SHA-256 of the request it answers.
    groups : names of all groups, as the custodian declared them.
    values : a list for every group in the answer, with a number for every code or feature. Of
        two groups only the second is: what the first has is the public rest. Sums are in parts of
        the grid.
    epsilon : what this answer may tell about one person.
    delta : of that ε; 0 for counts.
    noise : its distribution.
    rows_per_person : the most rows of one person that were asked about; noise is so much larger.
    receipt : the line of the ledger.
    """

    schema: Literal["likeforlike.release"]
    schema_version: Literal[1]
    kind: Literal["counts", "sums"]
    request: str
    groups: Names
    values: Annotated[list[list[int]], Limits(1)]
    epsilon: Amount
    delta: Amount
    noise: Noise
    rows_per_person: Positive
    receipt: Receipt


class GroupsReleaseDocument(TypedDict):
    """A randomized group for every row.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : a group for every row.
    request : SHA-256 of the ids that were asked about.
    groups : names of all groups, as the custodian declared them.
    values : for every id, in the order they were sent in, the place of a group among the names.
    epsilon : what this answer may tell about one person.
    delta : always 0 for such a file.
    noise : the probability with which a group is the true one.
    rows_per_person : the most rows of one person that were asked about; all are treated alike.
    receipt : the line of the ledger.
    """

    schema: Literal["likeforlike.release"]
    schema_version: Literal[1]
    kind: Literal["groups"]
    request: str
    groups: Names
    values: Annotated[list[Count], Limits(1)]
    epsilon: Amount
    delta: Amount
    noise: Noise
    rows_per_person: Positive
    receipt: Receipt


def request_schema() -> str:
    """Return the JSON schema (draft 2020-12) of what modelers send to a custodian.

    Examples
    --------
    >>> import json
    >>> from likeforlike.teams import request_schema
    >>> len(json.loads(request_schema())["oneOf"])
    2
    """
    return _text(REQUEST_FILE)


def release_schema() -> str:
    """Return the JSON schema (draft 2020-12) of what a custodian answers.

    Examples
    --------
    >>> import json
    >>> from likeforlike.teams import release_schema
    >>> json.loads(release_schema())["$defs"]["Receipt"]["required"]
    ['entry', 'hash']
    """
    return _text(RELEASE_FILE)


def _text(name: str) -> str:
    return (resources.files("likeforlike.teams") / name).read_text("utf-8")


ReleaseKind = Literal["counts", "sums", "groups"]
"""What a release holds: noisy counts, noisy sums, or a randomized group for every row."""

_KINDS: tuple[ReleaseKind, ...] = get_args(ReleaseKind)
# Wider noise than any custodian adds; squares of it are far from what a float holds.
_WIDEST = 1e15


@dataclass(frozen=True, eq=False)
class Release:
    """An answer of the custodian. It may be shown to anybody.

    Attributes
    ----------
    kind : "counts", "sums" or "groups".
    request : SHA-256 of the request it answers.
    groups : names of all groups, as the custodian declared them. With two of them, values are about
        the second: what the first has is the public rest.
    values : integers. Counts (g, codes) or sums (g, d) with g = 1 for two groups, else one row a
        group; groups (n,), a code for every row.
    epsilon, delta : what this answer may tell about one person.
    noise : its distribution.
    rows_per_person : the most rows of one person that were asked about; noise is so much larger.
    receipt : the line of the ledger. Keep it: it shows whether an old ledger was put back.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from likeforlike.teams import Custodian, Ledger
    >>> from likeforlike.teams._requests import CountsRequest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["f", "m"])
    ...     custodian = Custodian({1: "f", 2: "m"}, ledger)
    ...     asked = CountsRequest(("1", "2"), np.array([0, 0]), 1)
    ...     release = custodian.counts(asked, epsilon=0.5)
    >>> release.groups, release.values.shape, release.noise["scale"]
    (('f', 'm'), (1, 1), '2')
    """

    kind: ReleaseKind
    request: str
    groups: tuple[str, ...]
    values: IntArray
    epsilon: float
    delta: float
    noise: Noise
    rows_per_person: int
    receipt: Receipt

    def __post_init__(self) -> None:
        if not is_one_of(self.kind, _KINDS):
            raise InputError(f"the release has the kind {self.kind!r}; known: {_KINDS}.")
        object.__setattr__(self, "groups", check_groups(self.groups))
        object.__setattr__(self, "values", _files.whole_numbers(self.values, "values"))
        if self.values.ndim != (1 if self.kind == "groups" else 2) or not self.values.size:
            raise InputError(f"values of {self.kind} cannot have the shape {self.values.shape}.")
        for name in ("epsilon", "delta"):
            amount = getattr(self, name)
            if isinstance(amount, bool) or not 0.0 <= real(amount) < np.inf:
                raise InputError(f"the release has no valid {name!r}; it must be a number >= 0.")
            object.__setattr__(self, name, float(amount))
        if isinstance(self.rows_per_person, bool) or not isinstance(self.rows_per_person, int):
            raise InputError("the release has no valid 'rows_per_person'.")
        if not 1 <= self.rows_per_person <= _WIDEST:
            raise InputError("the release has no valid 'rows_per_person'; it must be 1 or more.")
        _check_noise(self.noise)
        check_receipt(self.receipt)

    def write(self, path: str | Path) -> None:
        """Write the release for the modelers.

        Parameters
        ----------
        path : of a JSON file.
        """
        _files.write_document(
            path,
            {
                "schema": "likeforlike.release",
                "schema_version": 1,
                "kind": self.kind,
                "request": self.request,
                "groups": list(self.groups),
                "values": self.values.tolist(),
                "epsilon": self.epsilon,
                "delta": self.delta,
                "noise": self.noise,
                "rows_per_person": self.rows_per_person,
                "receipt": self.receipt,
            },
        )

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """Read the release in a file.

        Parameters
        ----------
        path : of a JSON file that `write` made.
        """
        document = _files.read_document(path, "likeforlike.release")
        types: dict[str, type | tuple[type, ...]] = {
            "kind": str,
            "request": str,
            "groups": list,
            "values": list,
            "epsilon": (int, float),
            "delta": (int, float),
            "noise": dict,
            "rows_per_person": int,
            "receipt": dict,
        }
        return cls(**{name: _files.entry(document, name, kind) for name, kind in types.items()})

    def check(self, kind: ReleaseKind, request: str) -> None:
        """Raise unless this answers a request of this kind and content."""
        if self.kind != kind:
            raise InputError(f"the release holds {self.kind}, and {kind} were asked for.")
        if self.request != request:
            raise InputError(
                "the release answers another request: the rows, scores or levels are not those "
                "that were sent to the custodian."
            )


def _check_noise(noise: Any) -> None:  # noqa: ANN401
    """Raise unless a distribution is named, with a width that it can have."""
    if not isinstance(noise, dict) or set(noise) != {"law", "scale", "variance"}:
        raise InputError("the release does not say what noise is in it.")
    name, scale, variance = noise["law"], noise["scale"], noise["variance"]
    if not is_one_of(name, get_args(NoiseLaw)):
        raise InputError(f"the release has noise of an unknown distribution, {str(name)[:40]!r}.")
    if name == "discrete Laplace":
        width = read_fraction(scale)
        fits = width is not None and 0 < width <= _WIDEST
    elif name == "randomized response":
        fits = isinstance(scale, str) and len(scale) < 40 and 0.0 < _number(scale) <= 1.0
    else:
        fits = scale is None
    if not fits:
        raise InputError(f"the release has no valid scale of {name} noise: {str(scale)[:40]!r}.")
    if name == "randomized response":
        fits = variance is None
    else:
        fits = not isinstance(variance, bool) and 0.0 <= real(variance) <= _WIDEST**2
    if not fits:
        raise InputError(f"the release has no valid variance of its noise: {str(variance)[:40]!r}.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
