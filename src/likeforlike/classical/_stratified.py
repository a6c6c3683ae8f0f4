"""Classical statistics stratified by level, for two groups.

Mantel and Haenszel: level k is a table of decisions,

    positive, negative of the group asked about:   a_k  b_k
    positive, negative of its reference:           c_k  d_k,      n_k rows in all.

Van Elteren adds up Wilcoxon's rank sums: with W the sum of the mid-ranks of a group of m among the
n rows of a level,

    Σ (W - m (n + 1) / 2) / (n + 1)

is compared with its permutation variance, ties included. The weights 1 / (n + 1) are the best ones
where the groups are shifted by the same amount in each level.

Conditional demographic disparity of Wachter, Mittelstadt and Russell: the share of the group among
refused rows less its share among accepted ones, averaged over the levels by their rows,

    CDD = Σ_l n_l / n (refused of the group / refused - accepted of the group / accepted).

A level without refused, or accepted, rows has 0 in the place of that share, as in Amazon's
SageMaker Clarify.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.classical._cell_figures import CellFigures, cell_figures, is_decision
from likeforlike.disparity import Cells, Contrast
from likeforlike.errors import InputError
from likeforlike.inference import atoms_of_contrast, chi_square_tail, normal_quantile
from likeforlike.transport import sort_rows


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """The common odds ratio of all levels and the test that it is 1.

    Attributes
    ----------
    odds_ratio : Σ a d / n over Σ b c / n; `None` for scores that are no decisions, and where it
        cannot be had.
    interval : of Robins, Breslow and Greenland; `None` where there is none.
    statistic : χ² with one degree of freedom. For scores it is that of mean scores, which is the
        same for decisions.
    p_value : of an odds ratio of 1, or of equal means, in every level; `None` if nothing varies.
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
    """

    statistic: float
    degrees: int
    p_value: float


def mantel_haenszel(
    cells: Cells, group: Hashable, reference: Hashable, *, confidence: float = 0.95
) -> MantelHaenszel:
    """Estimate the common odds ratio of two groups over all levels, with the test that it is 1.

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
    >>> decisions = [1] * 30 + [0] * 70 + [1] * 60 + [0] * 40
    >>> cells = Cells.from_rows(decisions, ["f"] * 100 + ["m"] * 100)
    >>> found = mantel_haenszel(cells, "f", "m")
    >>> round(found.odds_ratio, 3), round(found.statistic, 2)
    (0.286, 18.09)
    """
    asked, other = locate_groups(cells, group, reference)
    figures = cell_figures(cells)
    ratio, interval = None, None
    if is_decision(cells):
        ratio, interval = common_odds_ratio(tabulate_decisions(figures, asked, other), confidence)
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
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import breslow_day
    >>> level, sex = np.repeat([0, 1], 200), np.tile(np.repeat(["f", "m"], 100), 2)
    >>> decisions = np.tile(np.arange(100), 4) < np.repeat([30, 60, 60, 30], 100)
    >>> breslow_day(Cells.from_rows(decisions, sex, level), "f", "m").p_value < 1e-8
    True
    """
    if not is_decision(cells):
        raise InputError("breslow_day needs decisions, scores of 0 and 1.")
    return breslow_day_test(
        tabulate_decisions(cell_figures(cells), *locate_groups(cells, group, reference))
    )


def locate_groups(cells: Cells, group: Hashable, other: Hashable) -> tuple[int, int]:
    """Locate two groups among those of the cells."""
    for name in (group, other):
        if name not in cells.groups:
            raise InputError(f"groups has no {name!r}; there are {list(cells.groups)}.")
    return cells.groups.index(group), cells.groups.index(other)


Tables = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""a, b, c and d of each level where both groups occur, shape (k,) each."""


def tabulate_decisions(figures: CellFigures, asked: int, other: int) -> Tables:
    """Tabulate the decisions of two groups, by position, in the levels where both occur."""
    met = (figures.rows[:, [asked, other]] > 0).all(axis=1)
    positive = np.rint(figures.positive[met])
    rows = figures.rows[met].astype(np.float64)
    a, c = positive[:, asked], positive[:, other]
    return a, rows[:, asked] - a, c, rows[:, other] - c


def common_odds_ratio(
    tables: Tables, confidence: float
) -> tuple[float | None, tuple[float, float] | None]:
    """Compute the odds ratio of Mantel and Haenszel with the interval of Robins et al."""
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
    """Compute χ² of equal means in each level, and its p-value, `None` if nothing varies.

    With m of the n rows of a level in the group, mean score x̄ and mean square σ² around it,

        (Σ (sum of the group - m x̄))² / Σ m (n - m) σ² / (n - 1).
    """
    own = figures.select(np.flatnonzero((figures.rows[:, [asked, other]] > 0).all(axis=1)))
    mean, deviation = own.pool_groups(asked, other)
    unit = float(deviation.max(initial=0.0))
    if unit == 0.0:
        return 0.0, None
    m, n = own.rows[:, asked], own.rows[:, [asked, other]].sum(axis=1)
    excess = float((m * ((own.mean[:, asked] - mean) / unit)).sum())
    spread = float((m * (n - m) * (deviation / unit) ** 2 / (n - 1.0)).sum())
    statistic = excess**2 / spread
    return statistic, chi_square_tail(statistic, 1)


def breslow_day_test(tables: Tables) -> BreslowDay | None:
    """Test for one odds ratio; `None` where fewer than two levels can differ."""
    ratio, _ = common_odds_ratio(tables, 0.95)
    if not ratio:
        return None
    a, b, c, d = tables
    # In levels with decisions of one kind only the totals leave nothing open.
    free = (a + c > 0.0) & (b + d > 0.0)
    a, b, c, d = (each[free] for each in tables)
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


@dataclass(frozen=True, slots=True)
class VanElteren:
    """A rank test within levels.

    Attributes
    ----------
    z : standard normal at parity; positive if the group asked about ranks higher.
    p_value : two-sided; `None` if nothing varies.
    """

    z: float
    p_value: float | None


def van_elteren(cells: Cells, group: Hashable, reference: Hashable) -> VanElteren:
    """Test whether one of two groups ranks higher within levels.

    Parameters
    ----------
    cells : scores of rows without weights.
    group, reference : labels of the group asked about and of its reference.

    References
    ----------
    van Elteren (1960), *On the combination of independent two-sample tests of Wilcoxon*.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import van_elteren
    >>> cells = Cells.from_rows([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ["f", "f", "f", "m", "m", "m"])
    >>> found = van_elteren(cells, "f", "m")
    >>> round(found.z, 3), round(found.p_value, 4)
    (-1.964, 0.0495)
    """
    contrast = Contrast(cells, locate_groups(cells, group, reference))
    if not contrast.support.any():
        return VanElteren(0.0, None)
    place, level, of = atoms_of_contrast(contrast)
    ordered = sort_rows(cells.middles[place], level, int(contrast.support.sum()))
    rows = cells.atoms.counts[place][ordered.rows].astype(np.float64)
    first = of[ordered.rows] == 0
    level = level[ordered.rows]
    # Equal scores of both groups share a rank.
    new = np.concatenate([[True], (np.diff(ordered.values) != 0.0) | (np.diff(level) != 0)])
    tie = np.cumsum(new) - 1
    tied = np.bincount(tie, rows)
    n = np.bincount(level, rows)
    before = np.cumsum(tied) - tied - (np.cumsum(n) - n)[level[new]]
    # Mid-rank less its mean.
    rank = (before + 0.5 * (tied + 1.0) - 0.5 * (n[level[new]] + 1.0))[tie]
    m = np.bincount(level, rows * first)
    square = np.bincount(level, rows * rank**2)
    weight = 1.0 / (n + 1.0)
    excess = float((weight * np.bincount(level, rows * first * rank)).sum())
    variance = float((weight**2 * m * (n - m) * square / (n * (n - 1.0))).sum())
    if variance <= 0.0:
        return VanElteren(0.0, None)
    z = excess / math.sqrt(variance)
    return VanElteren(z, math.erfc(abs(z) / math.sqrt(2.0)))


def wachter_cdd(cells: Cells, group: Hashable, reference: Hashable) -> float | None:
    """Compute Wachter's CDD of a group, among its rows and those of its reference.

    Parameters
    ----------
    cells : decisions, 0 or 1.
    group, reference : labels of the group asked about and of the other.

    Returns
    -------
    between -1 and 1; positive if the group has more of those refused than of those accepted.
    `None` if no row, or every row, was accepted.

    References
    ----------
    Wachter, Mittelstadt and Russell (2021), *Why fairness cannot be automated: bridging the gap
    between EU non-discrimination law and AI*.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import wachter_cdd
    >>> cells = Cells.from_rows([0, 0, 1, 0, 1, 1], ["f", "f", "f", "m", "m", "m"])
    >>> round(wachter_cdd(cells, "f", "m"), 3)
    0.333
    """
    if not is_decision(cells):
        raise InputError("wachter_cdd needs decisions, scores of 0 and 1.")
    return wachter_disparity(cell_figures(cells), *locate_groups(cells, group, reference))


def wachter_disparity(figures: CellFigures, asked: int, other: int) -> float | None:
    """Compute Wachter's CDD from figures of cells, of groups by position."""
    accepted, mass = figures.positive, np.where(figures.rows > 0, figures.mass, 0.0)
    refused = mass - accepted
    both = [asked, other]
    if not accepted[:, both].sum() > 0.0 or not refused[:, both].sum() > 0.0:
        return None
    shares = []
    for amount in (refused, accepted):
        whole = amount[:, both].sum(axis=1)
        shares.append(np.divide(amount[:, asked], whole, out=np.zeros(whole.size), where=whole > 0))
    weight = mass[:, both].sum(axis=1)
    return float(weight @ (shares[0] - shares[1]) / weight.sum())
