"""Several numbers and a category as columns of a linear model: hat functions and their products.

Every number has hat functions at nine of its quantiles and a straight line; every two numbers the
products of four hat functions each; every category a column, and one for its slope along each
number. Categories with many rows also have hat functions of their own at three quantiles of each
number: their curves may bend elsewhere than those of others, and with many rows a straight slope
would leave enough of that to be taken for a gap. Columns are made for some lines at a time, so that
memory does not grow with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._ranking import rank

_KNOTS, _COARSE_KNOTS, _BENT_KNOTS = 9, 4, 5
# Rarer categories have no column of their own; beyond this many numbers no products are taken.
_MOST_CATEGORIES, _MOST_IN_PAIRS = 60, 8
# Categories bend with this many rows for each column that takes, up to a number of columns.
_ROWS_A_BEND, _MOST_BENDS = 100, 120


@dataclass(frozen=True, slots=True)
class Features:
    """Ranks and numbers without tails of every line, and its category.

    Attributes
    ----------
    ranks, raw : (n, q) floats between 0 and 1.
    category : (n,) integers; 0 for rare ones.
    n_categories : how many categories have a column, the one with most rows first.
    n_bent : how many of them have hat functions of their own.
    """

    ranks: FloatArray
    raw: FloatArray
    category: IntArray
    n_categories: int
    n_bent: int

    def columns(self, some: IntArray) -> FloatArray:
        """The columns (b, p) of some lines; the first is constant."""
        ranks, raw = self.ranks[some], self.raw[some]
        numbers = range(ranks.shape[1])
        parts = [np.ones((some.size, 1))]
        parts += [hats(ranks[:, j], _KNOTS)[:, 1:] for j in numbers]
        parts.append(raw - 0.5)
        if len(numbers) <= _MOST_IN_PAIRS:
            coarse = [hats(ranks[:, j], _COARSE_KNOTS)[:, 1:] for j in numbers]
            parts += [_products(coarse[i], coarse[j]) for i, j in combinations(numbers, 2)]
        own = (self.category[some][:, None] == np.arange(1, self.n_categories + 1)).astype(float)
        parts.append(own)
        parts += [own * (ranks[:, [j]] - 0.5) for j in numbers]
        # The first and the last hat function follow from the others and the slope.
        bends = [hats(ranks[:, j], _BENT_KNOTS)[:, 1:-1] for j in numbers]
        parts += [_products(own[:, : self.n_bent], bend) for bend in bends]
        return np.concatenate(parts, axis=1)


def features(numbers: FloatArray, category: IntArray, rows: FloatArray | None = None) -> Features:
    """Features of lines with numbers (n, q) and a category (n,)."""
    one = np.zeros(numbers.shape[0], np.int64)
    ranks, raw = np.empty(numbers.shape), np.empty(numbers.shape)
    for j in range(numbers.shape[1]):
        ranking, ranks[:, j] = rank(numbers[:, j], one, 1, rows)
        raw[:, j] = ranking.raw(numbers[:, j], one)
    held = np.bincount(category)
    common = np.argsort(-held, kind="stable")[: min(_MOST_CATEGORIES, held.size - 1)]
    column = np.zeros(held.size, np.int64)
    column[common] = np.arange(1, common.size + 1)
    bent = _bent(held[common], numbers.shape[1])
    return Features(ranks, raw, column[category], common.size, bent)


def _bent(held: IntArray, n_numbers: int) -> int:
    """How many of the categories, by rows, most first, have curves of their own."""
    bends = n_numbers * (_BENT_KNOTS - 2)
    enough = int(np.count_nonzero(held >= _ROWS_A_BEND * bends))
    return min(enough, _MOST_BENDS // bends)


def hats(positions: FloatArray, knots: int) -> FloatArray:
    """Hat functions at equally spaced knots from 0 to 1, (n, knots); every row sums to one."""
    apart = np.abs(positions[:, None] * (knots - 1) - np.arange(knots))
    hat: FloatArray = np.maximum(0.0, 1.0 - apart)
    return hat


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    return (one[:, :, None] * other[:, None, :]).reshape(one.shape[0], -1)
