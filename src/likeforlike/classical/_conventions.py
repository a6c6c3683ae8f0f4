"""All conventional figures of one contrast, from its cells, and notes on where each misleads."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.classical._cell_figures import CellFigures, cell_figures, is_decision, is_plain
from likeforlike.classical._stratified import (
    BreslowDay,
    MantelHaenszel,
    VanElteren,
    breslow_day_test,
    common_odds_ratio,
    locate_groups,
    mean_score_test,
    tabulate_decisions,
    van_elteren,
    wachter_disparity,
)
from likeforlike.disparity import Cells
from likeforlike.inference import normal_quantile


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
