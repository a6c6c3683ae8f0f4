"""Deciles: a number cut into ten levels at the quantiles of its own values."""

from __future__ import annotations

import numpy as np
import polars as pl

from likeforlike._arrays import FloatArray


def decile_edges(column: pl.Series) -> FloatArray:
    """Inner edges of the deciles, shape (9,): quantiles 0.1, ..., 0.9, linear between values."""
    edges: FloatArray = np.quantile(column.to_numpy(), np.arange(1, 10) / 10)
    return edges


def deciles(column: pl.Series) -> pl.Series:
    """The decile of every value, 0..9: how many inner edges lie below it.

    A value equal to an edge belongs to the decile below, so ties stay together and deciles of tied
    values are of unequal size.
    """
    places = np.searchsorted(decile_edges(column), column.to_numpy(), side="left")
    return pl.Series(f"{column.name}_decile", places.astype(np.int64))
