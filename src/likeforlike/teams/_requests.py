"""Requests: what modellers ask. Public rows only, and no group anywhere."""

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
from likeforlike.files._parquet import read_noted, write_noted
from likeforlike.teams import _files

GRID = 1 << 20
"""Features of sums are whole numbers of parts of 1, of which there are this many."""

# What notes in a Parquet file call it.
_KIND = "request"
# Norms of what a person adds up to are compared as 64-bit integers.
_MOST_FEATURES = 1 << 20


@dataclass(frozen=True, eq=False)
class Request(ABC):
    """Rows by id, and what is asked about them.

    Attributes
    ----------
    ids : of the rows, as text, each once.

    Examples
    --------
    >>> from likeforlike.teams import CountsRequest, Request
    >>> issubclass(CountsRequest, Request)
    True
    """

    ids: tuple[str, ...]
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not self.ids:
            raise InputError("ids is empty; there is nothing to ask.")
        _files.refuse_repeated(self.ids)

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """What is asked about every row, column by column."""

    @abstractmethod
    def _header(self) -> dict[str, Any]:
        """What is asked beside that, as plain values."""

    @classmethod
    @abstractmethod
    def _of(cls, header: dict[str, Any], ids: tuple[str, ...], columns: dict[str, Any]) -> Self:
        """The request of a file."""

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
            write_noted(file, {"id": ids, **self._columns()}, {"kind": _KIND, "header": header})
            return
        if file.suffix != ".json":
            raise InputError(f"{file} must end in .json or .parquet.")
        columns = {name: column.tolist() for name, column in self._columns().items()}
        _files.write_document(file, {**header, "ids": list(self.ids), "columns": columns})

    @staticmethod
    def read(path: str | Path) -> Request:
        """The request in a file, whichever kind it is.

        Parameters
        ----------
        path : of a .json or .parquet file that `write` made.
        """
        file = Path(path)
        if file.suffix == ".parquet":
            columns, notes = read_noted(file, _KIND)
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
    n_codes : how many codes there are.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.teams import CountsRequest
    >>> CountsRequest(("a", "b"), np.array([0, 1]), 2).kind
    'counts'
    """

    codes: IntArray
    n_codes: int
    kind: ClassVar[str] = "counts"

    def __post_init__(self) -> None:
        super().__post_init__()
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
        return cls(
            ids, _files.whole_numbers(columns["code"], "code"), _files.entry(header, "n_codes", int)
        )


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
    >>> from likeforlike.teams import SumsRequest
    >>> SumsRequest(("a",), np.array([[2**20, 0]])).features.shape
    (1, 2)
    """

    features: IntArray
    kind: ClassVar[str] = "sums"

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.features.shape
        if len(shape) != 2 or shape[0] != len(self.ids) or not 0 < shape[1] <= _MOST_FEATURES:
            raise InputError(f"features must have the shape ({len(self.ids)}, d), not {shape}.")
        # Sizes first: squares of larger numbers might not be held.
        within = np.abs(self.features).max(axis=1) <= GRID
        if within.all():
            within = (self.features**2).sum(axis=1) <= GRID * GRID
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
        names = [f"f{j}" for j in range(_files.entry(header, "features", int))]
        if set(columns) != set(names) or not names:
            raise InputError("the columns of a request of sums must be f0, f1, and so on.")
        return cls(
            ids, np.column_stack([_files.whole_numbers(columns[name], name) for name in names])
        )


def file_digest(ids: tuple[str, ...]) -> str:
    """SHA-256 of the request for a file of randomised groups of these rows."""
    return sha256(json.dumps(["groups", ids]).encode()).hexdigest()
