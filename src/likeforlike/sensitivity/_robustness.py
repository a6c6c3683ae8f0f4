"""How strong an omitted legitimate feature must be to move the signed gap to nothing.

Let an omitted U be legitimate too. Among people who are equal in U as well, the gap differs from Δ
by at most (Chernozhukov and others 2022)

    B = σ ν √(η_Y η_D / (1 - η_D)),
    σ² = E Var(score | A, L),    ν² = Σ_l Q(l)² / (p_l π_l (1 - π_l)),

p_l the share of the rows in level l, π_l that of the second group there. η_Y is the share that U
explains of what is left of the score, given A and L; η_D = 1 - ν² / ν_U² is what U adds to how
unevenly the groups are spread, ν_U with U among the levels. The *robustness value* is the η = η_Y =
η_D with B = |Δ|: with f = |Δ| / (σ ν) it is ½ (√(f⁴ + 4 f²) - f²). With the end of the interval
nearer to 0 in the place of Δ it is the strength that makes the interval hold 0.

A legitimate column is a *benchmark*: it is left out, and the η_Y and η_D are computed that it has
for what remains. σ² and ν² of the levels without it come from the same cells, merged. Single rows
have no variance; σ² is that of the others.

References: Chernozhukov, Cinelli, Newey, Sharma and Syrgkanis (2022), *Long story short: omitted
variable bias in causal machine learning*; Cinelli and Hazlett (2020), *Making sense of
sensitivity*.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference import Gap, take_sample
from likeforlike.sensitivity._hidden_bias import LARGEST_ODDS, amplify, hidden_bias
from likeforlike.transport import sum_parts

CellMoments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Mass, rows, mean and variance of a row of each cell, 2 * level + side; shape (2k,) each."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A legitimate column, as strong as an omitted feature might be.

    Attributes
    ----------
    column : its name.
    outcome, group : η_Y and η_D that it has if it is left out.
    gap : the signed gap without it, of the same rows.
    multiple : how many times as strong an omitted feature would have to be to bring the gap to the
        threshold, both η being multiplied; null if no multiple does, or none is needed.
    interval_multiple : the same for the nearer end of the interval of the gap.
    """

    column: str
    outcome: float
    group: float
    gap: float
    multiple: float | None
    interval_multiple: float | None


@dataclass(frozen=True, slots=True)
class AdjustedGap:
    """The signed gap if a feature of a given strength was omitted.

    Attributes
    ----------
    outcome, group : η_Y and η_D of the feature.
    bias : the most by which it can move the gap.
    interval : of the gap among those who are equal in that feature, too; null if the gap has none.
    verdict : of the interval against the threshold; null without a threshold.
    """

    outcome: float
    group: float
    bias: float
    interval: tuple[float, float] | None
    verdict: Literal["pass", "fail", "investigate"] | None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What an omitted legitimate feature would have to be like to explain a gap away.

    Attributes
    ----------
    groups : a positive gap means that the second scores higher.
    columns, legitimate : sensitive columns of the groups, and who counts as equal.
    gap, interval : the signed gap and its interval; null where the data give none.
    confidence : of the interval; 1 minus it is the significance of Γ.
    threshold : the size of a gap that is allowed.
    gap_odds, rank_odds : Γ of the gap and of the ranks, at most 1,000; null if not even Γ = 1 is
        rejected, or with a reason.
    reason : why Γ does not exist, or null.
    scale : σ ν, what strengths are multiplied by.
    robustness : the robustness value of the gap; 0 if it does not exceed the threshold.
    interval_robustness : that of its interval; null where there is none.
    benchmarks : every legitimate column, the strongest first.
    adjusted : the gap for the strength that was asked about; null if none was.
    """

    groups: tuple[str, str]
    columns: tuple[str, ...]
    legitimate: tuple[str, ...]
    gap: float
    interval: tuple[float, float] | None
    confidence: float
    threshold: float
    gap_odds: float | None
    rank_odds: float | None
    reason: str | None
    scale: float
    robustness: float
    interval_robustness: float | None
    benchmarks: tuple[Benchmark, ...]
    adjusted: AdjustedGap | None

    @property
    def odds(self) -> float | None:
        """Γ, the larger of both: either test still rejects up to its own."""
        return max((each for each in (self.gap_odds, self.rank_odds) if each), default=None)

    @property
    def sentences(self) -> list[str]:
        """Describe the figures in words."""
        return list(_sentences(self))

    def __str__(self) -> str:
        """Return the figures in words, one sentence per line."""
        return "\n".join([f"{self.groups[1]} against {self.groups[0]}:", *self.sentences])


def _sentences(found: Sensitivity) -> Sequence[str]:
    equal = " and ".join(found.legitimate)
    among = f" among people with equal {equal}" if equal else ""
    odds, words = found.odds, []
    if found.reason is not None:
        words.append(f"There is no Γ: {found.reason}")
    elif odds is None:
        words.append("The tests of gap and ranks do not reject; there is nothing to explain away.")
    else:
        bound = "more than " if odds >= LARGEST_ODDS else ""
        words.append(
            f"To explain this away, an omitted feature would have to be {bound}{odds:.3g} times as "
            f"common (in odds) in one group as in the other{among}, and decide the score (Γ)."
        )
        words += [
            f"As much would come of one that is {group:.3g} times as common in one group and "
            f"multiplies the odds of scoring higher by {outcome:.3g}."
            for group, outcome in amplify(odds)[1:2]
        ]
    to = "the gap to 0" if not found.threshold else f"the gap to {found.threshold:g}"
    ends = found.interval_robustness
    also = "" if ends is None else f"; {100 * ends:.2g}% would let its interval reach that"
    words.append(
        f"To bring {to}, an omitted feature would have to explain {100 * found.robustness:.2g}% of "
        f"what is left of the score and of what sets the groups apart (robustness value){also}."
    )
    for each in found.benchmarks:
        bar = f"{each.column}, left out, would have had {100 * each.outcome:.2g}% and "
        bar += f"{100 * each.group:.2g}%"
        if each.multiple is not None:
            bar += f"; an omitted feature would have to be {each.multiple:.2g} times as strong"
        words.append(bar + ".")
    if found.adjusted is not None:
        given = found.adjusted
        span = "has no interval"
        if given.interval is not None:
            span = f"lies between {given.interval[0]:.4g} and {given.interval[1]:.4g}"
        words.append(
            f"With an omitted feature of {100 * given.outcome:.2g}% and {100 * given.group:.2g}% "
            f"the gap moves by {given.bias:.3g} at most, and {span}."
        )
    return words


def robustness_value(strength: float) -> float:
    """Return the η = η_Y = η_D that moves a gap of `strength` = |Δ| / (σ ν) to 0."""
    # ½ (√(f⁴ + 4 f²) - f²), without a difference of large numbers.
    return 2.0 * strength / (math.sqrt(strength**2 + 4.0) + strength) if strength > 0.0 else 0.0


def largest_bias(scale: float, outcome: float, group: float) -> float:
    """Return σ ν √(η_Y η_D / (1 - η_D)), the most by which an omitted feature moves the gap."""
    return scale * math.sqrt(outcome * group / (1.0 - group))


def strength_multiple(strength: float, outcome: float, group: float) -> float | None:
    """Return the factor c with c η_Y c η_D / (1 - c η_D) = f², at most 1 / η_Y for η_Y."""
    if not (strength > 0.0 and outcome > 0.0 and group > 0.0):
        return None
    squared, product = strength**2, outcome * group
    factor = (math.sqrt((squared * group) ** 2 + 4.0 * product * squared) - squared * group) / (
        2.0 * product
    )
    return factor if factor * outcome <= 1.0 else squared / (group * (1.0 + squared))


def cell_moments(contrast: Contrast) -> CellMoments:
    """Compute mass, rows, means and variances of the cells of two groups where they meet."""
    sample = take_sample(contrast)
    means = sample.scores.means
    around = sum_parts(
        sample.cell, sample.mass * (sample.values - means[sample.cell]) ** 2, means.size
    )
    if sample.inside is not None:
        around = around + sum_parts(sample.cell, sample.mass * sample.inside[0], means.size)
    effective = sample.rows
    if sample.weighted:
        squares = sum_parts(sample.cell, sample.mass**2 / sample.counts, means.size)
        effective = sample.totals**2 / squares
    known = effective > 1.0 + 1e-9
    variance = np.full(means.size, np.nan)
    variance[known] = (around / sample.totals * effective / np.maximum(effective - 1.0, 1e-9))[
        known
    ]
    size = sample.to_units(1.0)
    return sample.totals, effective, means * size, variance * size**2


def spread_and_imbalance(moments: CellMoments, measure: FloatArray) -> tuple[float, float]:
    """Return σ² and ν² of levels with Q(l)."""
    mass, _, _, variance = moments
    known = np.isfinite(variance)
    spread = float(mass[known] @ variance[known] / mass[known].sum()) if known.any() else 0.0
    by_level = mass.reshape(-1, 2)
    against = by_level.sum(axis=1) / by_level.prod(axis=1)
    return spread, float(mass.sum() * (measure**2 @ against))


def merge_moments(moments: CellMoments, part: IntArray) -> CellMoments:
    """Merge levels; `part` (k,) says into which."""
    mass, rows, mean, variance = moments
    cell = np.repeat(2 * part, 2) + np.tile([0, 1], part.size)
    size = 2 * (int(part.max()) + 1)
    whole, together = sum_parts(cell, mass, size), sum_parts(cell, rows, size)
    means = sum_parts(cell, mass * mean, size) / whole
    inside = np.where(
        rows > 1.0, np.nan_to_num(variance) * (rows - 1.0) / np.maximum(rows, 1.0), 0.0
    )
    around = sum_parts(cell, mass * (inside + (mean - means[cell]) ** 2), size) / whole
    merged = np.full(size, np.nan)
    known = together > 1.0 + 1e-9
    merged[known] = (around * together / np.maximum(together - 1.0, 1e-9))[known]
    return whole, together, means, merged


def level_parts(
    levels: Sequence[Hashable], columns: Sequence[str], kept: Sequence[str]
) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return the number of each level by its values in some columns, and the labels."""
    places = [columns.index(column) for column in kept]
    numbers: dict[Hashable, int] = {}
    codes = []
    for level in levels:
        values = level if isinstance(level, tuple) and len(columns) > 1 else (level,)
        label: Hashable = tuple(values[place] for place in places)
        if len(places) < 2:
            label = values[places[0]] if places else "all"
        codes.append(numbers.setdefault(label, len(numbers)))
    return np.array(codes, np.int64), tuple(numbers)


def sensitivity(
    contrast: Contrast,
    measure: FloatArray,
    gap: Gap,
    *,
    columns: tuple[str, ...],
    legitimate: tuple[str, ...],
    threshold: float = 0.0,
    strength: tuple[float, float] | str | None = None,
) -> Sensitivity:
    """Compute what an omitted feature would have to be like to explain a gap away.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    gap : the signed gap of the contrast by this measure.
    columns : sensitive columns of the groups.
    legitimate : columns whose values make the label of a level.
    threshold : the size of a gap that is allowed.
    strength : η_Y and η_D of an omitted feature that is asked about, or the column that it is as
        strong as.
    """
    moments = cell_moments(contrast)
    spread, imbalance = spread_and_imbalance(moments, measure)
    scale = math.sqrt(spread * imbalance)
    known = gap.method != "none" and np.isfinite(gap.interval).all()
    interval = gap.interval if known else None
    beyond = max(abs(gap.value) - threshold, 0.0)
    nearer = (
        None if interval is None else max(interval[0] - threshold, -interval[1] - threshold, 0.0)
    )

    def relative(amount: float) -> float:
        return amount / scale if scale > 0.0 else 0.0

    labels = [
        level
        for level, shared in zip(contrast.cells.levels, contrast.support, strict=True)
        if shared
    ]
    benchmarks = []
    for column in legitimate:
        part, _ = level_parts(labels, legitimate, [each for each in legitimate if each != column])
        short, weight = merge_moments(moments, part), sum_parts(part, measure, part.max() + 1)
        wide, even = spread_and_imbalance(short, weight)
        outcome = max(1.0 - spread / wide, 0.0) if wide > 0.0 else 0.0
        group = max(1.0 - even / imbalance, 0.0)
        benchmarks.append(
            Benchmark(
                column,
                outcome,
                group,
                float(weight @ (short[2][1::2] - short[2][::2])),
                strength_multiple(relative(beyond), outcome, group),
                None if nearer is None else strength_multiple(relative(nearer), outcome, group),
            )
        )
    benchmarks.sort(key=lambda each: -each.outcome * each.group)
    if isinstance(strength, str):
        if strength not in legitimate:
            raise InputError(
                f"strength must name one of the legitimate columns {list(legitimate)}, not "
                f"{strength!r}."
            )
        like = next(each for each in benchmarks if each.column == strength)
        strength = (like.outcome, like.group)
    gap_odds, rank_odds, reason = hidden_bias(contrast, measure, 1.0 - gap.confidence)
    return Sensitivity(
        groups=(str(contrast.groups[0]), str(contrast.groups[1])),
        columns=columns,
        legitimate=legitimate,
        gap=gap.value,
        interval=interval,
        confidence=gap.confidence,
        threshold=threshold,
        gap_odds=gap_odds,
        rank_odds=rank_odds,
        reason=reason,
        scale=scale,
        robustness=robustness_value(relative(beyond)),
        interval_robustness=None if nearer is None else robustness_value(relative(nearer)),
        benchmarks=tuple(benchmarks),
        adjusted=None
        if strength is None
        else adjust_gap(interval, scale, check_strength(strength), threshold),
    )


def check_strength(strength: object) -> tuple[float, float]:
    """Return η_Y and η_D as two numbers in [0, 1), or refuse them."""
    if isinstance(strength, tuple | list) and len(strength) == 2:
        try:
            outcome, group = (float(each) for each in strength)
        except (TypeError, ValueError):
            outcome = group = -1.0
        if 0.0 <= outcome <= 1.0 and 0.0 <= group < 1.0:
            return outcome, group
    raise InputError(
        "strength must be two shares of an omitted feature, (of the score, of the group), such as "
        f"(0.05, 0.02), not {strength!r}."
    )


def adjust_gap(
    interval: tuple[float, float] | None,
    scale: float,
    strength: tuple[float, float],
    threshold: float,
) -> AdjustedGap:
    """Widen the interval of a gap by what an omitted feature of this strength can do."""
    bias = largest_bias(scale, *strength)
    if interval is None:
        return AdjustedGap(*strength, bias, None, "investigate" if threshold else None)
    low, high = interval[0] - bias, interval[1] + bias
    verdict: Literal["pass", "fail", "investigate"] = "investigate"
    if max(low, -high) > threshold:
        verdict = "fail"
    elif max(-low, high) <= threshold:
        verdict = "pass"
    return AdjustedGap(*strength, bias, (low, high), verdict if threshold else None)
