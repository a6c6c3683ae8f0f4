"""Mantel and Haenszel: one odds ratio for all levels, its test, and whether one will do.

Level k is a table of decisions,

    positive, negative of the group asked about:   a_k  b_k
    positive, negative of its reference:         c_k  d_k,      n_k rows in all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.classical._cell_figures import CellFigures, cell_figures, is_decision
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError
from likeforlike.inference._chi_square import chi_square_tail
from likeforlike.inference._student import normal_quantile


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """The common odds ratio of all levels and the test that there is none.

    Attributes
    ----------
    odds_ratio : Σ a d / n over Σ b c / n; `None` for scores that are no decisions, and where it
        cannot be had.
    interval : of Robins, Breslow and Greenland; `None` where there is none.
    statistic : χ² with one degree of freedom. For scores it is that of mean scores, which is the
        same for decisions.
    p_value : of an odds ratio of 1, or of equal means, in every level; `None` if nothing varies.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import mantel_haenszel
    >>> decisions = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
    >>> cells = Cells.from_rows(decisions, ["f"] * 100 + ["m"] * 100)
    >>> found = mantel_haenszel(cells, "f", "m")
    >>> round(found.odds_ratio, 3), round(found.statistic, 2)
    (0.286, 18.09)
    """

    odds_ratio: float | None
    interval: tuple[float, float] | None
    statistic: float
    p_value: float | None


@dataclass(frozen=True, slots=True)
class BreslowDay:
    """Whether one odds ratio holds in all levels.

    Attributes
    ----------
    statistic, degrees : χ² and its degrees of freedom, the levels that can differ less one.
    p_value : of the same odds ratio in all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import breslow_day
    >>> level, sex = np.repeat([0, 1], 200), np.tile(np.repeat(["f", "m"], 100), 2)
    >>> decisions = np.tile(np.arange(100), 4) < np.repeat([30, 60, 60, 30], 100)
    >>> breslow_day(Cells.from_rows(decisions, sex, level), "f", "m").p_value < 1e-8
    True
    """

    statistic: float
    degrees: int
    p_value: float


def mantel_haenszel(
    cells: Cells, group: Hashable, reference: Hashable, *, confidence: float = 0.95
) -> MantelHaenszel:
    """The common odds ratio of two groups over all levels, and the test of Mantel and Haenszel.

    Parameters
    ----------
    cells : decisions, 0 or 1, or scores, of rows without weights.
    group, reference : labels of the group asked about and of its reference. An odds
        ratio below 1 means fewer positive decisions for `group`.
    confidence : of the interval.

    References
    ----------
    Mantel and Haenszel (1959), *Statistical aspects of the analysis of data from retrospective
    studies of disease*; Robins, Breslow and Greenland (1986), *Estimators of the Mantel-Haenszel
    variance consistent in both sparse data and large-strata limiting models*.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import mantel_haenszel
    >>> cells = Cells.from_rows([1, 0, 1, 1, 1, 0], ["f", "f", "f", "m", "m", "m"])
    >>> mantel_haenszel(cells, "f", "m").odds_ratio
    1.0
    """
    asked, other = positions(cells, group, reference)
    figures = cell_figures(cells)
    ratio, interval = None, None
    if is_decision(cells):
        ratio, interval = common_odds_ratio(tables_of(figures, asked, other), confidence)
    return MantelHaenszel(ratio, interval, *mean_score_test(figures, asked, other))


def breslow_day(cells: Cells, group: Hashable, reference: Hashable) -> BreslowDay | None:
    """Test whether the odds ratio of two groups is the same in all levels.

    Parameters
    ----------
    cells : decisions, 0 or 1, of rows without weights.
    group, reference : labels of the two groups.

    Returns
    -------
    the test; `None` where fewer than two levels have decisions of both kinds, or the common odds
    ratio cannot be had.

    References
    ----------
    Breslow and Day (1980), *Statistical Methods in Cancer Research I*, section 4.4.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import breslow_day
    >>> cells = Cells.from_rows([1, 0, 1, 0] * 2, ["f", "f", "m", "m"] * 2, [1] * 4 + [2] * 4)
    >>> breslow_day(cells, "f", "m").statistic
    0.0
    """
    if not is_decision(cells):
        raise InputError("breslow_day needs decisions, scores of 0 and 1.")
    return equal_odds_test(tables_of(cell_figures(cells), *positions(cells, group, reference)))


def positions(cells: Cells, group: Hashable, other: Hashable) -> tuple[int, int]:
    """Positions of two groups among those of the cells."""
    for name in (group, other):
        if name not in cells.groups:
            raise InputError(f"groups has no {name!r}; there are {list(cells.groups)}.")
    return cells.groups.index(group), cells.groups.index(other)


class Tables(NamedTuple):
    """Decisions of two groups in every level where both occur, shape (k,) each."""

    a: FloatArray
    b: FloatArray
    c: FloatArray
    d: FloatArray


def tables_of(figures: CellFigures, asked: int, other: int) -> Tables:
    """The tables of two groups, by position; levels that lack one of them say nothing."""
    met = (figures.rows[:, [asked, other]] > 0).all(axis=1)
    positive = np.rint(figures.positive[met])
    rows = figures.rows[met].astype(np.float64)
    a, c = positive[:, asked], positive[:, other]
    return Tables(a, rows[:, asked] - a, c, rows[:, other] - c)


def common_odds_ratio(
    tables: Tables, confidence: float
) -> tuple[float | None, tuple[float, float] | None]:
    """The odds ratio of Mantel and Haenszel and the interval of Robins, Breslow and Greenland."""
    a, b, c, d = tables
    n = a + b + c + d
    agree, differ = (a + d) / n, (b + c) / n
    for_it, against = a * d / n, b * c / n
    r, s = float(for_it.sum()), float(against.sum())
    if s == 0.0:
        return None, None
    if r == 0.0:
        return 0.0, None
    variance = 0.5 * (
        float((agree * for_it).sum()) / r**2
        + float((agree * against + differ * for_it).sum()) / (r * s)
        + float((differ * against).sum()) / s**2
    )
    reach = normal_quantile(0.5 + 0.5 * confidence) * math.sqrt(variance)
    return r / s, (r / s * math.exp(-reach), r / s * math.exp(reach))


def mean_score_test(figures: CellFigures, asked: int, other: int) -> tuple[float, float | None]:
    """χ² of equal means in every level, and its p-value, `None` if no level can tell.

    With m of the n rows of a level in the group, mean score x̄ and mean square σ² around it,

        (Σ (sum of the group - m x̄))² / Σ m (n - m) σ² / (n - 1).
    """
    own = figures.at(np.flatnonzero((figures.rows[:, [asked, other]] > 0).all(axis=1)))
    mean, deviation = own.both(asked, other)
    unit = float(deviation.max(initial=0.0))
    if unit == 0.0:
        return 0.0, None
    m, n = own.rows[:, asked], own.rows[:, [asked, other]].sum(axis=1)
    excess = float((m * ((own.mean[:, asked] - mean) / unit)).sum())
    spread = float((m * (n - m) * (deviation / unit) ** 2 / (n - 1.0)).sum())
    statistic = excess**2 / spread
    return statistic, chi_square_tail(statistic, 1)


def equal_odds_test(tables: Tables) -> BreslowDay | None:
    """The test of Breslow and Day; `None` where fewer than two levels can differ."""
    ratio, _ = common_odds_ratio(tables, 0.95)
    if not ratio:
        return None
    a, b, c, d = (each[_free(tables)] for each in tables)
    if a.size < 2:
        return None
    # What a would be with that odds ratio: the root of a quadratic, in the form that does not
    # cancel.
    square = 1.0 - ratio
    linear = ratio * ((a + b) + (a + c)) + (d - a)
    constant = -ratio * (a + b) * (a + c)
    root = np.sqrt(linear**2 - 4.0 * square * constant)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(
            linear > 0.0, -2.0 * constant / (linear + root), (root - linear) / (2.0 * square)
        )
    parts = (expected, a + c - expected, a + b - expected, d - a + expected)
    statistic = float(((a - expected) ** 2 * sum(1.0 / part for part in parts)).sum())
    return BreslowDay(statistic, a.size - 1, chi_square_tail(statistic, a.size - 1))


def _free(tables: Tables) -> BoolArray:
    """Levels with decisions of both kinds: in the others the totals leave nothing open."""
    a, b, c, d = tables
    free: BoolArray = (a + c > 0.0) & (b + d > 0.0)
    return free
