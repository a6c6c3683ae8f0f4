"""All conventional figures of one contrast, from its cells, and notes on where each misleads.

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
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.classical._cell_figures import CellFigures, cell_figures, is_decision, is_plain
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


@dataclass(frozen=True, slots=True)
class LevelConventions:
    """Figures of two groups in one level, or in all.

    Attributes
    ----------
    level : its label; "all" for all levels together.
    rows : of the group asked about and of its reference.
    mean, median : of both; the mean of decisions is their rate.
    gap : mean of the group minus that of the other.
    ratio : mean of the group over that of the other; `None` for means below 0, or of 0 below.
    ratio_interval : from the variance of its logarithm (Katz for rates); `None` where there is
        none, and with weights or clusters.
    smd : the gap over the standard deviation of both groups together; `None` if that is 0.
    """

    level: Hashable
    rows: tuple[int, int]
    mean: tuple[float, float]
    median: tuple[float, float]
    gap: float
    ratio: float | None
    ratio_interval: tuple[float, float] | None
    smd: float | None


@dataclass(frozen=True, slots=True)
class Conventions:
    """Conventional figures of two groups, next to the transport estimate.

    Attributes
    ----------
    group, reference : labels of the group asked about and of its reference: gaps are the
        first minus the second, ratios the first over the second.
    decisions : whether all scores are 0 or 1, so that means are rates.
    levels : figures of every level where both occur, in the order of the cells.
    overall : the same of all rows, whatever their level.
    mantel_haenszel, van_elteren : tests within levels; `None` with weights or clusters, which
        they ignore.
    breslow_day : test of one odds ratio for all levels; of decisions only.
    wachter : Wachter's CDD; of decisions only.
    confidence : of each interval by itself.
    """

    group: Hashable
    reference: Hashable
    decisions: bool
    levels: tuple[LevelConventions, ...]
    overall: LevelConventions
    mantel_haenszel: MantelHaenszel | None
    breslow_day: BreslowDay | None
    van_elteren: VanElteren | None
    wachter: float | None
    confidence: float


def conventions(
    cells: Cells, group: Hashable, reference: Hashable, *, confidence: float = 0.95
) -> Conventions:
    """Compute the conventional figures of two groups.

    Parameters
    ----------
    cells : sorted scores of the two groups, and perhaps of others.
    group, reference : labels of the group asked about and of its reference.
    confidence : of each interval by itself.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import conventions
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans(1000).frame
    >>> cells = Cells.from_rows(loans["approved"], loans["sex"], loans["income"])
    >>> found = conventions(cells, "male", "female")
    >>> found.group, found.reference, round(found.overall.ratio, 3)
    ('male', 'female', 1.0)
    >>> round(found.mantel_haenszel.odds_ratio, 3), round(found.wachter, 3)
    (2.442, -0.133)
    """
    asked, other = locate_groups(cells, group, reference)
    figures, pooled = cell_figures(cells), cell_figures(cells.pool_levels())
    plain, decisions = is_plain(cells), is_decision(cells)
    tables = tabulate_decisions(figures, asked, other) if decisions and plain else None
    ratio, interval = (None, None) if tables is None else common_odds_ratio(tables, confidence)
    met = np.flatnonzero((figures.rows[:, [asked, other]] > 0).all(axis=1))
    kinds = (asked, other, decisions, plain, confidence)
    return Conventions(
        group=group,
        reference=reference,
        decisions=decisions,
        levels=_entries(figures.select(met), cells, met, *kinds),
        overall=_entries(pooled, cells.pool_levels(), np.zeros(1, np.int64), *kinds)[0],
        mantel_haenszel=MantelHaenszel(ratio, interval, *mean_score_test(figures, asked, other))
        if plain
        else None,
        breslow_day=None if tables is None else breslow_day_test(tables),
        van_elteren=van_elteren(cells, group, reference) if plain else None,
        wachter=wachter_disparity(figures, asked, other) if decisions else None,
        confidence=confidence,
    )


def _entries(
    figures: CellFigures,
    cells: Cells,
    places: IntArray,
    asked: int,
    other: int,
    decisions: bool,
    plain: bool,
    confidence: float,
) -> tuple[LevelConventions, ...]:
    """Compute figures of each level in which both groups occur."""
    both = [asked, other]
    rows, mean, median = figures.rows[:, both], figures.mean[:, both], figures.median[:, both]
    gap = mean[:, 0] - mean[:, 1]
    _, deviation = figures.pool_groups(asked, other)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        smd = gap / deviation
        ratio = np.where(
            (mean >= 0.0).all(axis=1) & (mean[:, 1] > 0.0), mean[:, 0] / mean[:, 1], np.nan
        )
        error = _log_error(figures, both, decisions)
        reach = np.exp(normal_quantile(0.5 + 0.5 * confidence) * error)
        low, high = ratio / reach, ratio * reach
    known = np.isfinite(low) & np.isfinite(high) & (ratio > 0.0) & plain
    columns = (rows, mean, median, gap, ratio, low, high, known, smd)
    return tuple(
        LevelConventions(
            level=cells.levels[place],
            rows=(r[0], r[1]),
            mean=(m[0], m[1]),
            median=(d[0], d[1]),
            gap=g,
            ratio=_finite(q),
            ratio_interval=(lo, hi) if k else None,
            smd=_finite(s),
        )
        for place, r, m, d, g, q, lo, hi, k, s in zip(
            places.tolist(), *(column.tolist() for column in columns), strict=True
        )
    )


def _log_error(figures: CellFigures, both: list[int], decisions: bool) -> FloatArray:
    """Compute the standard error of the logarithm of the ratio of two means.

    Σ s² / (n x̄²) over both groups; s² with n - 1 for scores, with n for rates, which is Katz's
    (1 - p) / (n p).
    """
    rows = figures.rows[:, both].astype(np.float64)
    free = rows if decisions else rows - 1.0
    relative = figures.deviation[:, both] / figures.mean[:, both]
    error: FloatArray = np.sqrt((relative**2 / free).sum(axis=1))
    return error


def _finite(value: float) -> float | None:
    """Return a finite value, else `None`."""
    return value if math.isfinite(value) else None


class Note(NamedTuple):
    """What to know before quoting a figure.

    Attributes
    ----------
    title : what it is called.
    says : what it tells.
    misleads : where it misleads.
    """

    title: str
    says: str
    misleads: str


_WORDS = (
    (
        "gap",
        "Signed gap",
        "Mean (or rate) of one group minus that of the other.",
        "Gaps of opposite sign cancel, and means hide what happens in the tails.",
    ),
    (
        "ratio",
        "Impact ratio",
        "Mean (or rate) of one group divided by that of the other; 0.8 is the four-fifths rule.",
        (
            "Small rates make large ratios of small gaps, and turning refusals into approvals "
            "turns the ratio into another one."
        ),
    ),
    (
        "smd",
        "Standardized mean difference",
        "The gap in standard deviations of both groups together.",
        "It shrinks when scores spread more, for whatever reason, and says nothing but means.",
    ),
    (
        "mantel_haenszel",
        "Mantel-Haenszel",
        "One odds ratio for all levels, and a test that it is 1; for scores a test of equal means.",
        (
            "Levels that point in opposite directions cancel; odds ratios look larger than ratios"
            " of rates."
        ),
    ),
    (
        "breslow_day",
        "Breslow-Day",
        "Whether one odds ratio will do for all levels.",
        "Small levels hide differences: it needs several rows of each kind in every level.",
    ),
    (
        "van_elteren",
        "Van Elteren",
        "Whether one group ranks higher within levels, whatever the scale of the scores.",
        "Blind to differences that cancel, within a level or between levels; no size, only a sign.",
    ),
    (
        "wachter",
        "Wachter's CDD",
        "The group's share of those refused minus its share of those accepted, within levels.",
        "It depends on how large the group is, so it does not compare across groups or years.",
    ),
    (
        "transport",
        "Transport",
        "How far scores would have to move within levels for both groups to be scored alike.",
        "It has no direction; read it together with the signed gap.",
    ),
)

NOTES: dict[str, Note] = {name: Note(*words) for name, *words in _WORDS}
"""What to know about each convention, by its name in the document.

Examples
--------
>>> from likeforlike.classical import NOTES
>>> NOTES["wachter"].title
"Wachter's CDD"
"""
