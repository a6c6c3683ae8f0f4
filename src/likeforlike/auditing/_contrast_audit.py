"""Everything an audit says about two groups: disparities, test, intervals, levels.

`audit_contrast` shows the steps: disparity among equals, parity test, distance with an interval,
signed gaps (Simpson's paradox), the levels by contribution. Scores that were mapped along a number
are tested as they were mapped for the test; everything else is about scores mapped with the gaps
of their windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import Measure
from likeforlike.auditing._comparisons import Chosen
from likeforlike.auditing._smooth import SmoothContrast, describe
from likeforlike.auditing._tables import TableCells
from likeforlike.disparity import (
    Contrast,
    Disparity,
    NestedDisparity,
    contrast_cdd_lp,
    contrast_cdd_wass,
    level_ground,
    level_weights,
)
from likeforlike.document import Distribution, LevelAudit, Settings, Smooth
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
    conditional_parity_test,
    estimate_distance,
    level_gaps,
    signed_gap,
    take_sample,
)

# The plan between levels is a problem of size K x K; beyond this its split is not computed.
_NESTED_LEVELS = 500
SHOWN_LEVELS = 6
"""How many levels have a histogram."""

_HISTOGRAM_BINS = 24


@dataclass(frozen=True, slots=True)
class Examination:
    """Two groups compared, with all that was computed; `ContrastAudit` is what readers see of it.

    Attributes
    ----------
    groups : their labels; a positive gap means that the second scores higher.
    unconditional, conditional : plug-in W_1, of all rows and among equals.
    nested : the bi-causal distance and its split (`None` beyond 500 levels, and for scores whose
        squares overflow).
    gap : the signed gap among equals, with its interval.
    test, estimate : `None` if no resampling was asked for.
    p_value : of the test, adjusted if there are several contrasts.
    coverage : share of each group that is compared: in levels where both occur, and without a
        missing value.
    excluded : levels that lack a group: {name: {group: rows}}.
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
    groups, columns, coverage : as of an `Examination`.
    gap, estimate : with intervals that hold together with those of all other pairs; nothing was
        tested.
    """

    groups: tuple[str, str]
    columns: tuple[str, ...]
    gap: Gap
    estimate: DistanceEstimate | None
    coverage: dict[str, float]


def audit_contrast(
    chosen: Chosen,
    table: TableCells,
    settings: Settings,
    *,
    mapping: SmoothContrast | None = None,
    family: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Examination:
    """Measure, test and describe one contrast; the intervals of a family hold together."""
    pair, columns, reference = chosen
    contrast = pair.narrow() if mapping is None else mapping.for_estimates
    conditional = contrast_cdd_lp(contrast, measure=own_measure(settings.measure, contrast))
    weights = conditional.by_level.weight
    confidence = 1.0 - (1.0 - settings.confidence) / family
    test, distance = None, None
    if settings.permutations:
        test = conditional_parity_test(
            contrast if mapping is None else mapping.for_test,
            weights,
            permutations=settings.permutations,
            random_state=settings.random_state,
            contrasts=family,
            progress=progress,
        )
        distance = estimate_distance(
            contrast,
            weights,
            confidence=confidence,
            random_state=settings.random_state + 1,
            progress=progress,
        )
    sample = take_sample(contrast)
    gaps = compare_gaps(sample, weights, confidence=confidence)
    by_level = level_gaps(sample, confidence=settings.confidence)
    del sample  # of many rows it would stay next to those of all levels
    names = {level: str(level) for level in contrast.cells.levels}
    if mapping is None:
        names = dict(zip(table.cells.levels, table.level_names, strict=True))
    levels = _audit_levels(contrast, conditional, test, by_level, names, settings)
    thin = contrast.support & (contrast.counts < settings.min_cell).any(axis=1)
    low, high = (str(group) for group in contrast.groups)
    return Examination(
        groups=(low, high),
        unconditional=contrast_cdd_lp(
            (contrast if mapping is None else mapping.together).pool_levels()
        ),
        conditional=conditional,
        nested=None if mapping is not None else _bicausal_distance(contrast),
        gap=gaps.conditional,
        test=test,
        estimate=distance,
        p_value=None if test is None else test.p_value,
        certificate=None
        if settings.score_range is None
        else certificate(
            contrast, weights, score_range=settings.score_range, confidence=settings.confidence
        ),
        paradox=gaps.kind if len(weights) > 1 and test is not None else "none",
        levels=levels,
        coverage=_coverage(conditional, table, columns),
        thin_share=dict(zip((low, high), contrast.shares[thin].sum(axis=0).tolist(), strict=True)),
        excluded={
            names[level]: {str(group): rows for group, rows in counts.items()}
            for level, counts in conditional.excluded.items()
        },
        distributions=_histograms(contrast, levels),
        columns=columns,
        reference=reference,
        smooth=None
        if mapping is None
        else _describe_mapping(mapping, gaps.conditional, distance, settings, confidence),
        compared_gap=gaps.overall.value,
    )


def estimate_between(
    chosen: Chosen,
    table: TableCells,
    settings: Settings,
    *,
    mapping: SmoothContrast | None = None,
    family: int,
) -> Between:
    """Estimate gap and distance of two groups, and nothing else."""
    pair, columns, _ = chosen
    contrast = pair.narrow() if mapping is None else mapping.for_estimates
    conditional = contrast_cdd_lp(contrast, measure=own_measure(settings.measure, contrast))
    weights = conditional.by_level.weight
    confidence = 1.0 - (1.0 - settings.confidence) / family
    low, high = (str(group) for group in contrast.groups)
    distance = None
    if settings.permutations:
        seed = settings.random_state + 1
        distance = estimate_distance(contrast, weights, confidence=confidence, random_state=seed)
    gap = signed_gap(contrast, weights, confidence=confidence)
    coverage = _coverage(conditional, table, columns)
    return Between((low, high), columns, gap, distance, coverage)


def own_measure(measure: Measure, contrast: Contrast) -> Measure:
    """Leave levels that hold neither of these groups out of a given measure."""
    if isinstance(measure, str):
        return measure
    there = set(contrast.cells.levels)
    return {level: weight for level, weight in measure.items() if level in there}


def _coverage(
    conditional: Disparity, table: TableCells, columns: tuple[str, ...]
) -> dict[str, float]:
    """Compute the share of each group that is compared; rows lost for missing values are not."""
    kept = {lost.group: 1.0 - lost.share for lost in table.lost if lost.columns == columns}
    return {
        str(group): share * kept.get(str(group), 1.0)
        for group, share in conditional.coverage.items()
    }


def _bicausal_distance(contrast: Contrast) -> NestedDisparity | None:
    """Compute the bi-causal distance, unless it would take too long or overflow."""
    levels = contrast.cells.levels
    if len(levels) > _NESTED_LEVELS:
        return None
    nested = contrast_cdd_wass(contrast, level_ground("discrete", levels, 2.0))
    fits = np.isfinite(nested.value) and (nested.value > 0.0 or nested.root == 0.0)
    return nested if fits else None


def _describe_mapping(
    mapping: SmoothContrast,
    gap: Gap,
    distance: DistanceEstimate | None,
    settings: Settings,
    confidence: float,
) -> Smooth:
    """Describe the mapping along numbers, compared with what ten bins would have said."""
    binned, own = None, None
    bins = mapping.in_bins()
    if bins.support.any():
        weights = level_weights(bins, settings.measure)
        own = signed_gap(bins, weights, confidence=confidence).value
        if distance is not None:
            seed = settings.random_state + 1
            binned = estimate_distance(
                bins, weights, confidence=confidence, random_state=seed
            ).value
    return describe(
        mapping,
        distances=(binned, None if distance is None else distance.value),
        gaps=(own, gap.value),
        seed=settings.random_state,
        tested=distance is not None,
    )


def _audit_levels(
    contrast: Contrast,
    conditional: Disparity,
    test: HeadlineTest | DesignTest | None,
    gaps: LevelGaps,
    names: Mapping[Hashable, str],
    settings: Settings,
) -> tuple[LevelAudit, ...]:
    """Describe the levels in order of their contribution, thin ones last."""
    by_level = conditional.by_level
    # In units of the largest, whose square may overflow.
    paid = by_level.weight * (by_level.distance / (by_level.distance.max() or 1.0)) ** 2
    contribution = paid / paid.sum() if paid.sum() > 0.0 else np.zeros(paid.size)
    thin = np.any(by_level.counts < settings.min_cell, axis=1)
    groups = [str(group) for group in contrast.groups]
    chance = test.level_null_distance if isinstance(test, HeadlineTest) else None
    p_values, adjusted = None, None
    if test is not None:
        p_values, adjusted = test.level_p_values, test.level_adjusted
        if settings.adjustment != "step-down":
            adjusted = adjust(p_values, settings.adjustment)

    def value(values: FloatArray | None, k: int) -> float | None:
        return None if values is None else float(values[k])

    # The largest differences of tiny cells are mostly chance, so thin levels come last.
    return tuple(
        LevelAudit(
            level=by_level.level[k],
            name=names[by_level.level[k]],
            rows=dict(zip(groups, by_level.counts[k].tolist(), strict=True)),
            weight=float(by_level.weight[k]),
            distance=float(by_level.distance[k]),
            null_distance=value(chance, k),
            gap=float(by_level.gap[k]),
            gap_interval=(float(gaps.low[k]), float(gaps.high[k]))
            if math.isfinite(gaps.low[k]) and math.isfinite(gaps.high[k])
            else None,
            contribution=float(contribution[k]),
            p_value=value(p_values, k),
            p_adjusted=value(adjusted, k),
            thin=bool(thin[k]),
        )
        for k in np.lexsort((-contribution, thin)).tolist()
    )


def _histograms(contrast: Contrast, levels: tuple[LevelAudit, ...]) -> tuple[Distribution, ...]:
    """Count scores in the levels that contribute most, over the range of all scores."""
    cells, scale = contrast.cells.scaled()
    atoms = cells.atoms
    low, high = float(atoms.values.min()), float(atoms.values.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _HISTOGRAM_BINS + 1)
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for entry in levels[:SHOWN_LEVELS]:
        shares = {}
        for g, group in zip(contrast.positions, contrast.groups, strict=True):
            segment = position[entry.level] * len(cells.groups) + g
            part = slice(atoms.offsets[segment], atoms.offsets[segment + 1])
            mass = atoms.mass_kept[part].astype(np.float64)
            held, _ = np.histogram(atoms.values[part], bins=edges, weights=mass)
            shares[str(group)] = tuple((held / held.sum()).tolist())
        shown.append(Distribution(entry.name, tuple(scale.outward(edges).tolist()), shares))
    return tuple(shown)
