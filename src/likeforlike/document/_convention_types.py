"""Parts of the document with figures by convention."""

from __future__ import annotations

from typing import TypedDict

from likeforlike.document._kinds import Amount, Count, Interval, Pair, Probability


class ConventionalPart(TypedDict):
    """Figures of two groups in one level, or of everybody.

    Attributes
    ----------
    name : of the level.
    rows : of each group.
    mean : of each group; of decisions it is their rate.
    median : of each group.
    gap : mean of the group asked about minus that of the other.
    ratio : mean of the group asked about over that of the other; null where it cannot be had.
    ratio_interval : lower and upper end; null where the data give none.
    smd : the gap in standard deviations of both groups together; null if nothing varies.
    """

    name: str
    rows: dict[str, Count]
    mean: dict[str, float]
    median: dict[str, float]
    gap: float
    ratio: Amount | None
    ratio_interval: Interval | None
    smd: float | None


class MantelHaenszelPart(TypedDict):
    """The common odds ratio of all levels, and the test that there is none.

    Attributes
    ----------
    odds_ratio : null for scores that are no decisions, and where it cannot be had.
    interval : lower and upper end; null where there is none.
    statistic : chi-squared with one degree of freedom; for scores that of mean scores.
    p_value : null if nothing varies.
    """

    odds_ratio: Amount | None
    interval: Interval | None
    statistic: Amount
    p_value: Probability | None


class BreslowDayPart(TypedDict):
    """Whether one odds ratio holds in all levels.

    Attributes
    ----------
    statistic : chi-squared.
    degrees : of freedom.
    p_value : of the same odds ratio in all levels.
    """

    statistic: Amount
    degrees: Count
    p_value: Probability


class VanElterenPart(TypedDict):
    """A rank test within levels.

    Attributes
    ----------
    z : positive if the group asked about ranks higher.
    p_value : two-sided; null if no level can tell.
    """

    z: float
    p_value: Probability | None


class ConventionsPart(TypedDict):
    """Figures by convention of two groups.

    Attributes
    ----------
    groups : the group asked about and the one it is set beside: gaps are the first minus the
        second, ratios the first over the second.
    columns : the sensitive columns that the groups are values of.
    decisions : whether all scores are 0 or 1, so that means are rates.
    confidence : of each interval by itself.
    overall : figures of everybody, whatever their level.
    levels : figures of every level where both groups occur, in the order of the contrast.
    mantel_haenszel : null with weights or clusters.
    breslow_day : null for scores that are no decisions, and where fewer than two levels can differ.
    van_elteren : null with weights or clusters.
    wachter : conditional demographic disparity; null for scores that are no decisions.
    """

    groups: Pair
    columns: list[str]
    decisions: bool
    confidence: Probability
    overall: ConventionalPart
    levels: list[ConventionalPart]
    mantel_haenszel: MantelHaenszelPart | None
    breslow_day: BreslowDayPart | None
    van_elteren: VanElterenPart | None
    wachter: float | None


class CategoryPart(TypedDict):
    """A line of the summary of New York City's Local Law 144.

    Attributes
    ----------
    columns : the sensitive columns that the category is a value of.
    category : its name; null for those whose category is unknown.
    rows : how many were assessed.
    share : of all who were assessed.
    rate : share that was selected, or scored above the median of all; null if unknown.
    ratio : the rate over the highest rate; null for small and unknown categories.
    small : whether the share is below 2%.
    """

    columns: list[str]
    category: str | None
    rows: Count
    share: Probability
    rate: Probability | None
    ratio: Amount | None
    small: bool
