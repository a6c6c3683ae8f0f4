"""A table and the roles of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

__all__ = ["Dataset"]


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

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans()
    >>> loans.sensitive, loans.legitimate, loans.frame.shape
    ('sex', ('income',), (200, 3))
    """

    frame: pl.DataFrame
    features: tuple[str, ...]
    target: str
    sensitive: str
    legitimate: tuple[str, ...]
    task: Literal["classification", "regression"]
