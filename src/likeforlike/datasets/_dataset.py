"""A table, the roles of its columns, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike.datasets._inputs import Encoding, Inputs, input_matrix
from likeforlike.errors import InputError
from likeforlike.files._columns import find_column


@dataclass(frozen=True, slots=True)
class DataProvenance:
    """Where data come from, and on what terms.

    Attributes
    ----------
    origin : page or module they come from.
    license : on what terms they may be used.
    citation : how to cite them.
    sha256 : {file: checksum} of every file that was read; empty for data made by a formula.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> load_loans().provenance.citation
    'Ghassemi et al. (2025), Table 1'
    """

    origin: str
    license: str
    citation: str
    sha256: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table and the roles of its columns.

    Attributes
    ----------
    frame : the table, one row a person.
    features : columns a model may use; the sensitive column is not among them.
    target : column Y to be predicted.
    sensitive : column A whose values are the groups.
    legitimate : columns L whose combinations are the levels.
    task : whether the target is a class or a number.
    provenance : where the table comes from; `None` if not given.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans()
    >>> loans.sensitive, loans.legitimate, loans.frame.shape
    ('sex', ('income',), (200, 3))
    >>> loans.groups[0], loans.levels[0], int(loans.targets[0])
    ('male', 'high', 1)
    """

    frame: pl.DataFrame
    features: tuple[str, ...]
    target: str
    sensitive: str
    legitimate: tuple[str, ...]
    task: Literal["classification", "regression"]
    provenance: DataProvenance | None = None

    def __post_init__(self) -> None:
        for column in (*self.features, self.target, self.sensitive, *self.legitimate):
            find_column(column, self.frame.columns)
        if self.target in self.features:
            raise InputError(f"the target {self.target!r} must not be among the features.")

    @property
    def groups(self) -> npt.NDArray[Any]:
        """The group of every row, shape (n,)."""
        return self.frame[self.sensitive].to_numpy()

    @property
    def levels(self) -> npt.NDArray[Any]:
        """The level of every row, shape (n,).

        The value of the legitimate column; with several, the tuple of their values; with none, 0.
        """
        if len(self.legitimate) == 1:
            return self.frame[self.legitimate[0]].to_numpy()
        if not self.legitimate:
            return np.zeros(self.frame.height, dtype=np.int64)
        combined = np.empty(self.frame.height, dtype=object)
        combined[:] = self.frame[list(self.legitimate)].rows()
        return combined

    @property
    def targets(self) -> npt.NDArray[Any]:
        """The target of every row, shape (n,): 0 or 1, or a number."""
        return self.frame[self.target].to_numpy()

    def inputs(self, encoding: Encoding = "one-hot", *, with_sensitive: bool = False) -> Inputs:
        """The features as a matrix for a model, with the names of its columns.

        Numbers, ordered levels such as deciles among them, stay what they are. Text and booleans,
        and so levels that have names, become one column a value, or with `"integer"` the rank of
        the value in sorted order.

        Parameters
        ----------
        encoding : of nominal columns: `"one-hot"`, or `"integer"` as in the paper.
        with_sensitive : also give the model the sensitive column, as the last one.

        Examples
        --------
        >>> from likeforlike.datasets import load_loans, make_loans
        >>> load_loans().inputs().names
        ('income=high', 'income=low', 'income=medium')
        >>> matrix, names = make_loans(50).inputs("integer", with_sensitive=True)
        >>> matrix.shape, names
        ((50, 5), ('income', 'debt', 'history', 'tenure', 'sex'))
        """
        last = (self.sensitive,) if with_sensitive else ()
        columns = tuple(dict.fromkeys((*self.features, *last)))
        return input_matrix(self.frame, columns, encoding)
