"""Deciles: a number cut into ten levels at the quantiles of its own values."""

from __future__ import annotations

import numpy as np
import polars as pl

from likeforlike.transport.atoms import FloatArray

__all__ = ["decile_edges", "deciles"]


def decile_edges(column: pl.Series) -> FloatArray:
    """Inner edges of the deciles, shape (9,): quantiles 0.1, ..., 0.9, linear between values.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.datasets.deciles import decile_edges
    >>> decile_edges(pl.Series(range(101)))
    array([10., 20., 30., 40., 50., 60., 70., 80., 90.])
    """
    edges: FloatArray = np.quantile(column.to_numpy(), np.arange(1, 10) / 10)
    return edges


def deciles(column: pl.Series) -> pl.Series:
    """The decile of every value, 0..9: how many inner edges lie below it.

    A value equal to an edge belongs to the decile below, so ties stay together and deciles of tied
    values are of unequal size.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.datasets.deciles import deciles
    >>> found = deciles(pl.Series("income", range(101)))
    >>> found.name, found[10], found[11], found[100]
    ('income_decile', 0, 1, 9)
    """
    places = np.searchsorted(decile_edges(column), column.to_numpy(), side="left")
    return pl.Series(f"{column.name}_decile", places.astype(np.int64))
