"""Requests: what modelers ask. Public rows only, and no group anywhere."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike.errors import InputError
from likeforlike.files import read_with_notes, write_with_notes
from likeforlike.teams import _files

GRID = 1 << 20
"""Features of sums are whole numbers of parts of 1, of which there are this many."""

# What notes in a Parquet file call it.
_KIND = "request"
# With features of at most GRID, squared norms of this many are below 2^60: 64 bits hold them.
_MOST_FEATURES = 1 << 20
# A count for each is drawn and written; more of them are not read.
_MOST_CODES = 1 << 20


@dataclass(frozen=True, eq=False)
class Request(ABC):
    """Rows by id, and what is asked about them.

    Attributes
    ----------
    ids : of the rows, as text, each once.
    """

    ids: tuple[str, ...]
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(_files.texts(self.ids, "ids")))
        if not self.ids:
            raise InputError("ids is empty; there is nothing to ask.")
        _files.check_unique(self.ids)

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return what is asked about every row, column by column."""

    @abstractmethod
    def _header(self) -> dict[str, Any]:
        """Return what else is asked, as plain values."""

    @classmethod
    @abstractmethod
    def _of(cls, header: dict[str, Any], ids: tuple[str, ...], columns: dict[str, Any]) -> Self:
        """Make the request from the header, ids and columns of a file."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is asked; answers name it."""
        known = sha256(json.dumps([self.kind, self._header(), self.ids]).encode())
        for name, column in self._columns().items():
            known.update(name.encode() + np.ascontiguousarray(column, np.dtype("<i8")).tobytes())
        return known.hexdigest()

    def write(self, path: str | Path) -> None:
        """Write the request for the custodian.

        Parameters
        ----------
        path : of a .json file, or of a .parquet file, which suits many rows.
        """
        file = Path(path)
        header = {
            "schema": "likeforlike.request",
            "schema_version": 1,
            "kind": self.kind,
            **self._header(),
        }
        if file.suffix == ".parquet":
            ids = np.array(self.ids, dtype=object)
            write_with_notes(
                file, {"id": ids, **self._columns()}, {"kind": _KIND, "header": header}
            )
            return
        if file.suffix != ".json":
            raise InputError(f"{file} must end in .json or .parquet.")
        columns = {name: column.tolist() for name, column in self._columns().items()}
        _files.write_document(file, {**header, "ids": list(self.ids), "columns": columns})

    @staticmethod
    def read(path: str | Path) -> Request:
        """Read the request in a file, whichever kind it is.

        Parameters
        ----------
        path : of a .json or .parquet file that `write` made.
        """
        file = Path(path)
        if file.suffix == ".parquet":
            columns, notes = read_with_notes(file, _KIND)
            header = _files.of_kind(notes.get("header"), "likeforlike.request", str(file))
            if "id" not in columns:
                raise InputError(f"{file} has no column 'id'.")
            ids = columns.pop("id").tolist()
        else:
            header = _files.read_document(file, "likeforlike.request")
            columns = _files.entry(header, "columns", dict)
            ids = _files.entry(header, "ids", list)
        named = tuple(_files.texts(ids, "ids"))
        for request in (CountsRequest, SumsRequest):
            if header.get("kind") == request.kind:
                return request._of(header, named, columns)
        raise InputError(f"{file} has the kind {header.get('kind')!r}; known: counts and sums.")


@dataclass(frozen=True, eq=False)
class CountsRequest(Request):
    """How many rows of each group have each code: what an audit asks.

    Attributes
    ----------
    ids : of the rows, as text, each once.
    codes : (n,) integers from 0 to n_codes - 1, such as the bin of the score in its level.
    n_codes : how many codes there are, at most 2^20.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.teams._requests import CountsRequest
    >>> CountsRequest(("a", "b"), np.array([0, 1]), 2).kind
    'counts'
    """

    codes: IntArray
    n_codes: int
    kind: ClassVar[str] = "counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_codes", _size(self.n_codes, "n_codes", _MOST_CODES))
        object.__setattr__(self, "codes", _files.whole_numbers(self.codes, "codes"))
        if self.codes.shape != (len(self.ids),):
            raise InputError(f"codes has {self.codes.size} row(s), but ids have {len(self.ids)}.")
        if not 0 <= int(self.codes.min()) <= int(self.codes.max()) < self.n_codes:
            raise InputError(f"codes must lie between 0 and {self.n_codes - 1}.")

    def _columns(self) -> dict[str, Any]:
        return {"code": self.codes}

    def _header(self) -> dict[str, Any]:
        return {"n_codes": self.n_codes}

    @classmethod
    def _of(cls, header: dict[str, Any], ids: tuple[str, ...], columns: dict[str, Any]) -> Self:
        if set(columns) != {"code"}:
            raise InputError("a request of counts has one column, 'code'.")
        return cls(ids, columns["code"], _files.entry(header, "n_codes", int))


@dataclass(frozen=True, eq=False)
class SumsRequest(Request):
    """Sums of public features over the rows of each group: what soft groups are made of.

    Attributes
    ----------
    ids : of the rows, as text, each once.
    features : (n, d) integers, features in parts of 1 / 2^20; the norm of a row is at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.teams._requests import SumsRequest
    >>> SumsRequest(("a",), np.array([[2**20, 0]])).features.shape
    (1, 2)
    """

    features: IntArray
    kind: ClassVar[str] = "sums"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "features", _files.whole_numbers(self.features, "features"))
        shape = self.features.shape
        if len(shape) != 2 or shape[0] != len(self.ids) or not 0 < shape[1] <= _MOST_FEATURES:
            raise InputError(
                f"features must have the shape ({len(self.ids)}, d) with d from 1 to "
                f"{_MOST_FEATURES}, not {shape}."
            )
        # Ranges first, by comparing only: there are numbers whose squares, or whose sizes without
        # a sign, 64 bits do not hold.
        within = ((self.features >= -GRID) & (self.features <= GRID)).all(axis=1)
        if within.all():
            within = sum_squares(self.features) <= GRID * GRID
        if not within.all():
            row = int(np.argmin(within))
            raise InputError(
                f"features of row {row} have a norm above 1; scale or clip them, so that no row "
                "can be singled out by its size."
            )

    def _columns(self) -> dict[str, Any]:
        return {f"f{j}": column for j, column in enumerate(self.features.T)}

    def _header(self) -> dict[str, Any]:
        return {"grid": GRID, "features": self.features.shape[1]}

    @classmethod
    def _of(cls, header: dict[str, Any], ids: tuple[str, ...], columns: dict[str, Any]) -> Self:
        if header.get("grid") != GRID:
            raise InputError(f"the grid of features must be {GRID}, not {header.get('grid')!r}.")
        # By what is there, not by what is said: a number costs nothing to write.
        names = [f"f{j}" for j in range(len(columns))]
        many = _size(_files.entry(header, "features", int), "features", _MOST_FEATURES)
        if many != len(names) or set(columns) != set(names):
            raise InputError(
                f"the request has {len(columns)} column(s) and says {many}; they must be f0, f1, "
                "and so on."
            )
        whole = [_files.whole_numbers(columns[name], name) for name in names]
        for name, column in zip(names, whole, strict=True):
            if column.shape != (len(ids),):
                raise InputError(
                    f"{name} must have a number for each of {len(ids)} row(s), not the shape "
                    f"{column.shape}."
                )
        return cls(ids, np.column_stack(whole))


def sum_squares(features: IntArray) -> IntArray:
    """Squared norms of rows (n, d) whose norms are known to be below 2^31, in whole numbers."""
    squares: IntArray = np.einsum("ij,ij->i", features, features)
    return squares


def _size(number: object, name: str, most: int) -> int:
    """Return a size from 1 to `most`, checked before anything of that size is made."""
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | np.integer):
        raise InputError(f"{name} must be a whole number, not {type(number).__name__}.")
    if not 1 <= number <= most:
        shown = str(number) if abs(int(number)) < 10**20 else "a number of many digits"
        raise InputError(f"{name} must lie between 1 and {most}, not {shown}; ask for fewer.")
    return int(number)


def file_digest(ids: tuple[str, ...]) -> str:
    """SHA-256 of the request for a file of randomized groups of these rows."""
    return sha256(json.dumps(["groups", ids]).encode()).hexdigest()
