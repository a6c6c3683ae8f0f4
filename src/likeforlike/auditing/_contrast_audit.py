"""Examine one contrast: everything an audit says about two groups.

Figures with fewer digits: enough that nothing is lost, and so few that no row shows in them.

An average that is known to all its digits can be taken apart: who knows all rows but one has
the last. An average rounded to half its standard error cannot, and says as much as before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike._settings import Adjustment, Measure
from likeforlike.auditing._smooth import CarriedContrast, describe
from likeforlike.auditing._tables import TableCells
from likeforlike.disparity import (
    Cells,
    Contrast,
    Disparity,
    NestedDisparity,
    contrast_disparity,
    contrast_nested,
    level_ground,
    level_weights,
)
from likeforlike.document import Distribution, LevelAudit, Settings, Smooth
from likeforlike.errors import InputError
from likeforlike.inference import (
    Certificate,
    DesignTest,
    DistanceEstimate,
    Gap,
    HeadlineTest,
    LevelGaps,
    Paradox,
    adjust,
    certificate,
    compare_gaps,
    contrast_test,
    estimate_distance,
    level_gaps,
    signed_gap,
    take_sample,
)

if TYPE_CHECKING:
    from likeforlike.auditing._comparisons import Chosen

_STEPS = (1.0, 2.0, 5.0, 10.0)


def coarse_count(rows: float, limit: int) -> int:
    """Rows, to the nearest multiple of the limit; halves go up."""
    return limit * math.floor(rows / limit + 0.5)


def coarse_share(share: float, rows: float, limit: int) -> float:
    """A share of rows, to the nearest that rows rounded to the limit could give."""
    step = limit / max(coarse_count(rows, limit), limit)
    return min(round(step * math.floor(share / step + 0.5), 4), 1.0)


def significant(value: float, digits: int = 2) -> float:
    """A number to some significant digits."""
    return float(f"{value:.{digits - 1}e}")


def coarse_p(p_value: float) -> float:
    """A p-value to two digits, rounded up: it may look like less evidence, never like more."""
    if not 0.0 < p_value < 1.0:
        return p_value
    step = 10.0 ** (math.floor(math.log10(p_value)) - 1)
    # What is written with two digits already stays as it is, whatever its last bit says.
    return min(significant(step * math.ceil(p_value / step * (1.0 - 1e-12))), 1.0)


def round_step(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to a size; 0 where there is none."""
    if not 0.0 < size < math.inf:
        return 0.0
    power = math.floor(math.log10(size))
    lift = 30 if power < -290 else 0  # powers of ten end before numbers do
    leading = size * 10.0**lift / 10.0 ** (power + lift)
    fits = [step for step in _STEPS if step <= leading * (1.0 + 1e-12)]
    return float(f"{max(fits, default=0.0):.0f}e{power}")


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of a step, which figures are rounded to.

    Attributes
    ----------
    step : 1, 2 or 5 times a power of ten; 0 leaves two significant digits.
    """

    step: float

    def nearest(self, value: float) -> float:
        """The multiple next to a value."""
        return self._multiple(value, lambda times: math.floor(times + 0.5))

    def below(self, value: float) -> float:
        """The highest multiple that is not above a value."""
        return self._multiple(value, lambda times: math.floor(times + 1e-9))

    def above(self, value: float) -> float:
        """The lowest multiple that is not below a value."""
        return self._multiple(value, lambda times: math.ceil(times - 1e-9))

    def _multiple(self, value: float, whole: Callable[[float], int]) -> float:
        times = value / self.step if self.step else math.inf
        if not math.isfinite(times):
            return significant(value)
        # As a decimal number: 3 x 0.1 would show what binary digits leave.
        return float(f"{whole(times) * self.step:.15g}")


def noise_grid(noise: float, figures: Sequence[float]) -> Grid:
    """Half the noise; of figures without any, a tenth of the largest."""
    if 0.0 < noise < math.inf:
        return Grid(round_step(noise / 2.0))
    return Grid(round_step(max(map(abs, figures), default=0.0) / 10.0))


# The plan between levels is a problem of size K x K; beyond this its split is not computed.
_NESTED_LEVELS = 500
_SHOWN_LEVELS = 6
_HISTOGRAM_BINS = 24


@dataclass(frozen=True, slots=True)
class Examination:
    """Two groups compared.

    Attributes
    ----------
    groups : their labels; a positive gap means that the second scores higher.
    unconditional, conditional : plug-in W_1, of all rows and among equals.
    nested : the bi-causal distance and its split (`None` beyond 500 levels, and for scores whose
        squares cannot be held).
    gap : the signed gap among equals, with its interval.
    test, estimate : `None` if no resampling was asked for.
    p_value : of the test, adjusted if there are several contrasts.
    certificate : finite-sample bounds on the conditional W_1; `None` without a range of scores.
    paradox : "masked" if the overall gap is less than half of that among equals, "reversed" if it
        has the opposite sign, both beyond doubt; else "none".
    levels : ranked by contribution, thin ones last.
    coverage : share of each group that is compared: in levels where both occur, and without a
        missing value.
    thin_share : share of each group in levels with a cell of fewer than `min_cell` rows.
    excluded : levels that lack a group: {name: {group: rows}}.
    distributions : scores in the levels that contribute most.
    columns : the sensitive columns that the groups are values of; several if they are crossed.
    reference : the group that the other is compared with, if one was chosen.
    smooth : how the groups were compared along numbers; `None` without any.
    compared_gap : between all who are compared, whatever their level: what a paradox is about;
        `None` if it is not known.
    """

    groups: tuple[str, str]
    unconditional: Disparity
    conditional: Disparity
    nested: NestedDisparity | None
    gap: Gap
    test: HeadlineTest | DesignTest | None
    estimate: DistanceEstimate | None
    p_value: float | None
    certificate: Certificate | None
    paradox: Paradox
    levels: tuple[LevelAudit, ...]
    coverage: dict[str, float]
    thin_share: dict[str, float]
    excluded: dict[str, dict[str, int]]
    distributions: tuple[Distribution, ...]
    columns: tuple[str, ...] = ()
    reference: str | None = None
    smooth: Smooth | None = None
    compared_gap: float | None = None


class Between(NamedTuple):
    """What is known between two groups that were each compared with a third, for a verdict.

    Attributes
    ----------
    groups, columns, coverage : as of a `Examination`.
    gap, estimate : with intervals that hold together with those of all other pairs; nothing was
        tested.
    """

    groups: tuple[str, str]
    columns: tuple[str, ...]
    gap: Gap
    estimate: DistanceEstimate | None
    coverage: dict[str, float]

    def without_lower_end(self) -> Between:
        """The same with a distance that may be 0."""
        if self.estimate is None:
            return self
        interval = (0.0, self.estimate.interval[1])
        return self._replace(estimate=replace(self.estimate, interval=interval))


def look_between(
    chosen: Chosen,
    table: TableCells,
    settings: Settings,
    *,
    carried: CarriedContrast | None = None,
    family: int,
) -> Between:
    """Estimate gap and distance of two groups, and nothing else."""
    contrast = chosen.contrast.narrow() if carried is None else carried.refined
    conditional = contrast_disparity(contrast, measure=_own_levels(settings.measure, contrast))
    weights = conditional.by_level.weight
    confidence = 1.0 - (1.0 - settings.confidence) / family
    low, high = (str(group) for group in contrast.groups)
    sample, distance = take_sample(contrast), None
    if settings.permutations:
        seed = settings.random_state + 1
        distance = estimate_distance(sample, weights, confidence=confidence, random_state=seed)
    return Between(
        groups=(low, high),
        columns=chosen.columns,
        gap=signed_gap(sample, weights, confidence=confidence),
        estimate=distance,
        coverage=_coverage(conditional, table, chosen.columns),
    )


class PercentBase(NamedTuple):
    """What a percentage is taken of.

    Attributes
    ----------
    size : of 100%, in units of the score.
    group : whose mean that is; `None` of decisions and rates, where percentages are points.
    """

    size: float
    group: str | None = None


def percent_base(cells: Cells, contrast: Examination | Between, settings: Settings) -> PercentBase:
    """What a percentage is taken of: points of rates, else the mean of one group.

    The group is the reference, or the larger one, and its rows are those in levels where both
    groups occur. Where others read the audit, its mean is rounded as all averages are.
    """
    if settings.unit == "%":
        return PercentBase(100.0)
    low, high = settings.score_range or cells.ends
    if low >= 0.0 and high <= 1.0:
        return PercentBase(1.0)
    places = [[str(group) for group in cells.groups].index(name) for name in contrast.groups]
    both = (cells.counts[:, places] > 0).all(axis=1)
    rows = cells.counts[both][:, places].sum(axis=0)
    reference = contrast.reference if isinstance(contrast, Examination) else None
    name = reference if reference in contrast.groups else contrast.groups[int(rows.argmax())]
    place = places[contrast.groups.index(name)]
    atoms = cells.atoms
    taken = np.zeros(cells.counts.shape, np.bool_)
    taken[both, place] = True
    kept = np.repeat(taken.ravel(), np.diff(atoms.offsets))
    values, mass = atoms.values[kept], atoms.mass[kept]
    mean = float(np.average(values, weights=mass))
    spread = math.sqrt(float(np.average((values - mean) ** 2, weights=mass)))
    error = spread / math.sqrt(float(rows[contrast.groups.index(name)]))
    negative = float(mass[values < 0.0].sum() / mass.sum())
    if mean <= 2.0 * error or negative > 0.05:
        raise InputError(
            f"threshold cannot be a percentage: the mean score of {name} is not clearly positive "
            "or scores below 0 are many, so that a share of it says nothing; give the threshold in "
            "units of the score."
        )
    if settings.suppress_below is not None:
        mean = noise_grid(error, (mean,)).nearest(mean)
    return PercentBase(mean, name)


def examine(
    chosen: Chosen,
    table: TableCells,
    settings: Settings,
    *,
    carried: CarriedContrast | None = None,
    family: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Examination:
    """Measure, test and describe one contrast; the intervals of a family hold together.

    Scores that were carried along a number are tested as they were carried for a test; everything
    else is about `contrast`.
    """
    contrast = chosen.contrast.narrow() if carried is None else carried.refined
    conditional = contrast_disparity(contrast, measure=_own_levels(settings.measure, contrast))
    weights = conditional.by_level.weight
    confidence = 1.0 - (1.0 - settings.confidence) / family
    test, distance = None, None
    if settings.permutations:
        test = contrast_test(
            contrast if carried is None else carried.tested,
            weights,
            permutations=settings.permutations,
            random_state=settings.random_state,
            contrasts=family,
            progress=progress,
        )
    sample = take_sample(contrast)
    if settings.permutations:
        distance = estimate_distance(
            sample,
            weights,
            confidence=confidence,
            random_state=settings.random_state + 1,
            progress=progress,
        )
    gaps = compare_gaps(sample, weights, confidence=confidence)
    names = _level_names(table, contrast.cells, carried)
    by_level = level_gaps(sample, confidence=settings.confidence)
    del sample  # of many rows it would stay next to those of all levels
    levels = _level_audits(contrast, conditional, test, by_level, names, settings)
    low, high = (str(group) for group in contrast.groups)
    return Examination(
        groups=(low, high),
        unconditional=contrast_disparity(
            (contrast if carried is None else carried.together).pool_levels()
        ),
        conditional=conditional,
        nested=_nested(contrast) if carried is None else None,
        gap=gaps.conditional,
        test=test,
        estimate=distance,
        p_value=None if test is None else test.p_value,
        certificate=_certificate(contrast, conditional, settings),
        paradox=gaps.kind if len(weights) > 1 and test is not None else "none",
        levels=levels,
        coverage=_coverage(conditional, table, chosen.columns),
        thin_share=_thin_share(contrast, settings.min_cell),
        excluded={
            names[level]: {str(group): rows for group, rows in counts.items()}
            for level, counts in conditional.excluded.items()
        },
        distributions=_distributions(contrast, levels),
        columns=chosen.columns,
        reference=chosen.reference,
        smooth=None
        if carried is None
        else _smooth(carried, gaps.conditional, distance, settings, confidence),
        compared_gap=gaps.overall.value,
    )


def _smooth(
    carried: CarriedContrast,
    gap: Gap,
    distance: DistanceEstimate | None,
    settings: Settings,
    confidence: float,
) -> Smooth:
    """What ten bins would have said, compared with the carry."""
    binned, own = None, None
    if carried.binned.support.any():
        weights = level_weights(carried.binned, settings.measure)
        own = signed_gap(carried.binned, weights, confidence=confidence).value
        if distance is not None:
            binned = estimate_distance(
                carried.binned,
                weights,
                confidence=confidence,
                random_state=settings.random_state + 1,
            ).value
    return describe(
        carried,
        distances=(binned, None if distance is None else distance.value),
        gaps=(own, gap.value),
        seed=settings.random_state,
        tested=distance is not None,
    )


def _own_levels(measure: Measure, contrast: Contrast) -> Measure:
    """A given measure without the levels that hold neither of these groups."""
    if isinstance(measure, str):
        return measure
    there = set(contrast.cells.levels)
    return {level: weight for level, weight in measure.items() if level in there}


def _certificate(
    contrast: Contrast, conditional: Disparity, settings: Settings
) -> Certificate | None:
    if settings.score_range is None:
        return None
    return certificate(
        contrast,
        conditional.by_level.weight,
        score_range=settings.score_range,
        confidence=settings.confidence,
    )


def _coverage(
    conditional: Disparity, table: TableCells, columns: tuple[str, ...]
) -> dict[str, float]:
    """The share of each group that is compared; rows lost for missing values are not."""
    kept = {lost.group: 1.0 - lost.share for lost in table.lost if lost.columns == columns}
    return {
        str(group): share * kept.get(str(group), 1.0)
        for group, share in conditional.coverage.items()
    }


def _nested(contrast: Contrast) -> NestedDisparity | None:
    levels = contrast.cells.levels
    if len(levels) > _NESTED_LEVELS:
        return None
    nested = contrast_nested(contrast, level_ground("discrete", levels, 2.0))
    held = np.isfinite(nested.value) and (nested.value > 0.0 or nested.root == 0.0)
    return nested if held else None


def _level_names(
    table: TableCells, cells: Cells, carried: CarriedContrast | None
) -> dict[Hashable, str]:
    if carried is not None:
        return {level: str(level) for level in cells.levels}
    names = dict(zip(table.cells.levels, table.level_names, strict=True))
    return {level: names[level] for level in cells.levels}


def _level_audits(
    contrast: Contrast,
    conditional: Disparity,
    test: HeadlineTest | DesignTest | None,
    gaps: LevelGaps,
    names: Mapping[Hashable, str],
    settings: Settings,
) -> tuple[LevelAudit, ...]:
    by_level = conditional.by_level
    # In units of the largest, whose square may not be held.
    paid = by_level.weight * (by_level.distance / (by_level.distance.max() or 1.0)) ** 2
    contribution = paid / paid.sum() if paid.sum() > 0.0 else np.zeros(paid.size)
    thin: npt.NDArray[np.bool_] = np.any(by_level.counts < settings.min_cell, axis=1)
    groups = [str(group) for group in contrast.groups]
    chance = test.level_null_distance if isinstance(test, HeadlineTest) else None
    adjusted = None if test is None else _adjusted(test, settings.adjustment)

    def entry(k: int) -> LevelAudit:
        return LevelAudit(
            level=by_level.level[k],
            name=names[by_level.level[k]],
            rows=dict(zip(groups, by_level.counts[k].tolist(), strict=True)),
            weight=float(by_level.weight[k]),
            distance=float(by_level.distance[k]),
            null_distance=_at(chance, k),
            gap=float(by_level.gap[k]),
            gap_interval=_level_interval(gaps, k),
            contribution=float(contribution[k]),
            p_value=_at(None if test is None else test.level_p_values, k),
            p_adjusted=_at(adjusted, k),
            thin=bool(thin[k]),
        )

    # The largest differences of tiny cells are mostly chance, so thin levels come last.
    ranking = np.lexsort((-contribution, thin))
    return tuple(entry(int(k)) for k in ranking)


def _adjusted(test: HeadlineTest | DesignTest, adjustment: Adjustment) -> FloatArray:
    """p-values of the levels, adjusted for their number: by step-down unless asked otherwise."""
    if adjustment == "step-down":
        return test.level_adjusted
    return adjust(test.level_p_values, adjustment)


def _at(values: FloatArray | None, k: int) -> float | None:
    return None if values is None else float(values[k])


def _level_interval(gaps: LevelGaps, k: int) -> tuple[float, float] | None:
    low, high = float(gaps.low[k]), float(gaps.high[k])
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _thin_share(contrast: Contrast, min_cell: int) -> dict[str, float]:
    thin = contrast.support & (contrast.counts < min_cell).any(axis=1)
    shares = contrast.shares[thin].sum(axis=0)
    return dict(zip(map(str, contrast.groups), shares.tolist(), strict=True))


def _distributions(contrast: Contrast, levels: tuple[LevelAudit, ...]) -> tuple[Distribution, ...]:
    """Histograms of the levels that contribute most, over the range of all scores."""
    cells, scale = contrast.cells.scaled()
    low, high = float(cells.atoms.values.min()), float(cells.atoms.values.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _HISTOGRAM_BINS + 1)
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for entry in levels[:_SHOWN_LEVELS]:
        shares = {}
        for g, group in zip(contrast.positions, contrast.groups, strict=True):
            segment = position[entry.level] * len(cells.groups) + g
            part = slice(cells.atoms.offsets[segment], cells.atoms.offsets[segment + 1])
            counted, _ = np.histogram(
                cells.atoms.values[part], bins=edges, weights=cells.atoms.mass[part]
            )
            shares[str(group)] = tuple((counted / counted.sum()).tolist())
        shown.append(Distribution(entry.name, tuple(scale.outward(edges).tolist()), shares))
    return tuple(shown)
