"""Disparities: how differently groups are scored, overall and among equals.

The *demographic disparity* compares all scores of two groups. The *conditional demographic
disparity* in the l_p sense compares them level by level and aggregates:

    DD = d(P_0, P_1),        CDD = ( Σ_l Q(l) d(P_0^l, P_1^l)^p )^{1/p},

with P_a^l the distribution of the score of group a in level l, d a distance (`distances`) and Q a
measure over levels (`measures`). p = inf takes the worst level.

Reference: Ghassemi et al. (2025), definitions of DD and of CDD in the l_p sense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._plots import LevelFigures, axes_or_new, draw_distances
from likeforlike._settings import Measure, real
from likeforlike._text import visible
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Column, refuse_many_groups
from likeforlike.disparity._contrasts import (
    Comparison,
    Contrast,
    contrast_results,
    contrasts,
    is_barycenter,
    level_weights,
)
from likeforlike.disparity._distances import (
    Distance,
    barycenter_spread,
    check_distance,
    level_distances,
)
from likeforlike.disparity._numeric_levels import MANY_VALUES, warn_of_thin_levels
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class LevelTable:
    """What was found in each level; every column has one entry a level.

    Attributes
    ----------
    level : labels of the k levels compared.
    distance : (k,) floats, the distance between the groups.
    gap : (k,) floats, mean score of the second group minus that of the first; for a barycenter
        the highest minus the lowest group mean.
    weight : (k,) floats, Q(l).
    counts : (k, g) integers, rows of each group.
    groups : labels of the g groups.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> table = lfl.cdd_lp([0.2, 0.5], ["f", "m"], [1, 1]).by_level
    >>> list(table)
    [{'level': 1, 'distance': 0.3, 'gap': 0.3, 'weight': 1.0, 'rows f': 1, 'rows m': 1}]
    """

    level: tuple[Hashable, ...]
    distance: FloatArray
    gap: FloatArray
    weight: FloatArray
    counts: IntArray
    groups: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.level)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self.to_dict()
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists, ready for any dataframe constructor."""
        rows = {f"rows {group}": self.counts[:, g].tolist() for g, group in enumerate(self.groups)}
        return {
            "level": list(self.level),
            "distance": self.distance.tolist(),
            "gap": self.gap.tolist(),
            "weight": self.weight.tolist(),
            **rows,
        }


@dataclass(frozen=True, slots=True)
class Disparity:
    """A measured disparity; `float(disparity)` is its value.

    It is a plug-in figure: sampling noise makes it positive even at exact parity, the more so the
    smaller the cells are.

    Attributes
    ----------
    value : the aggregated distance.
    gap : Σ_l Q(l) times the signed gap of the means (second group minus first).
    groups : labels of the groups compared; with more than two groups in the data, the contrast
        with the largest value.
    distance, order, p, measure : the settings; `measure` is "given" for a mapping.
    by_level : what was found in each level, with row counts.
    coverage : share of each group in the levels where both occur.
    excluded : levels that lack a group, with the rows of each group.
    resolution : width of the bins of the scores; 0 means exact.
    comparisons : all contrasts, when there are more than two groups.
    incomparable : contrasts whose groups never meet in a level.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> disparity = lfl.cdd_lp([0.2, 0.5, 0.1], ["f", "m", "m"], [1, 1, 2])
    >>> float(disparity), disparity.coverage, disparity.excluded
    (0.3, {'f': 1.0, 'm': 0.5}, {2: {'f': 0, 'm': 1}})
    """

    value: float
    gap: float
    groups: tuple[Hashable, ...]
    distance: Distance
    order: float
    p: float
    measure: str
    by_level: LevelTable
    coverage: dict[Hashable, float]
    excluded: dict[Hashable, dict[Hashable, int]]
    resolution: float = 0.0
    comparisons: tuple[Disparity, ...] = ()
    incomparable: tuple[tuple[Hashable, ...], ...] = ()

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        rows = ", ".join(
            f"{visible(str(group))}: {count} rows, {self.coverage[group]:.0%} compared"
            for group, count in zip(self.groups, self.by_level.counts.sum(axis=0), strict=True)
        )
        kind = (
            f"{self.distance} (order {self.order:g})"
            if self.distance == "wasserstein"
            else (self.distance)
        )
        return f"<Disparity {self.value:.6g}, {kind}, {len(self.by_level)} level(s); {rows}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distance of every level, the largest contribution to the value first.

        Needs the extra `plot`. `ax` is what to draw on; without it a figure is opened. The axes are
        returned.
        """
        levels = self.by_level
        ranking = np.argsort(-levels.weight * levels.distance, kind="stable").tolist()
        drawn = [
            LevelFigures(_level_text(levels.level[k]), float(levels.distance[k])) for k in ranking
        ]
        axes = axes_or_new(ax)
        first, second = self.groups[0], self.groups[-1]
        draw_distances(axes, drawn, label=f"distance between {first} and {second}")
        return axes


def _level_text(level: Hashable) -> str:
    return ", ".join(map(str, level)) if isinstance(level, tuple) else str(level)


def as_cells(
    scores: Column | Cells,
    sensitive_features: Column | None,
    legitimate_features: Column | None,
    sample_weight: Column | None,
) -> Cells:
    """Cells of the data arguments, which may be cells already."""
    if isinstance(scores, Cells):
        if (
            sensitive_features is not None
            or legitimate_features is not None
            or sample_weight is not None
        ):
            raise InputError("scores are Cells already, so groups, levels and weights are in them.")
        return scores
    if sensitive_features is None:
        raise InputError("groups is missing: give the sensitive feature of every row.")
    cells = Cells.from_rows(
        scores, sensitive_features, legitimate_features, sample_weight=sample_weight
    )
    refuse_many_groups(cells.groups, "groups")
    return cells


def dd(
    scores: Column | Cells,
    sensitive_features: Column | None = None,
    *,
    distance: Distance = "wasserstein",
    order: float = 1,
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
) -> Disparity:
    """Demographic disparity d(P_0, P_1): all scores of the groups, whatever their level.

    Parameters
    ----------
    scores : (n,) finite numbers, or `Cells` (whose levels are pooled).
    sensitive_features : (n,) labels of the sensitive feature.
    distance : `"wasserstein"`, `"ks"`, `"tv"` or `"mean"`.
    order : p >= 1 of the Wasserstein distance.
    comparison : for more than two groups: `"pairwise"` (the largest), `"one-vs-rest"` (the
        largest) or `"barycenter"`.
    sample_weight : (n,) numbers >= 0.

    References
    ----------
    Ghassemi et al. (2025), definition of the demographic disparity.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> float(lfl.dd([0.1, 0.3, 0.2, 0.6], ["f", "f", "m", "m"]))
    0.2
    """
    cells = as_cells(scores, sensitive_features, None, sample_weight).pool_levels()
    return cdd_lp(cells, distance=distance, order=order, comparison=comparison)


def cdd_lp(
    scores: Column | Cells,
    sensitive_features: Column | None = None,
    legitimate_features: Column | None = None,
    *,
    distance: Distance = "wasserstein",
    order: float = 1,
    p: float = 1,
    measure: Measure = "marginal",
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
) -> Disparity:
    """Conditional demographic disparity in the l_p sense, (Σ_l Q(l) d(P_0^l, P_1^l)^p)^{1/p}.

    Parameters
    ----------
    scores : (n,) finite numbers, or `Cells`, which hold groups, levels and weights already.
    sensitive_features : (n,) labels of the sensitive feature.
    legitimate_features : (n,) labels of the legitimate features; `None` means one level.
    distance : `"wasserstein"`, `"ks"`, `"tv"` or `"mean"`.
    order : p >= 1 of the Wasserstein distance.
    p : exponent of the aggregation, in [1, inf]; `math.inf` takes the worst level.
    measure : Q, `"marginal"`, `"average"`, `"uniform"`, `"overlap"` or {level: weight}.
    comparison : for more than two groups: `"pairwise"` (the largest), `"one-vs-rest"` (the
        largest) or `"barycenter"`.
    sample_weight : (n,) numbers >= 0.

    References
    ----------
    Ghassemi et al. (2025), definition of CDD in the l_p sense.

    Examples
    --------
    Equal approval rates overall, and 20 points apart at every income (the paper's Table 1):

    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans().frame
    >>> round(float(lfl.dd(loans["approved"], loans["sex"])), 12)
    0.0
    >>> round(float(lfl.cdd_lp(loans["approved"], loans["sex"], loans["income"])), 12)
    0.2
    """
    name, exponent = check_distance(distance, order), _exponent(p)
    order = real(order)
    if is_barycenter(comparison) and name != "wasserstein":
        raise InputError(f"comparison='barycenter' needs distance='wasserstein', not {distance!r}.")
    cells = as_cells(scores, sensitive_features, legitimate_features, sample_weight)
    if legitimate_features is not None and len(cells.levels) > MANY_VALUES:
        warn_of_thin_levels(cells.levels, int(cells.counts.sum()), "audit with smooth")

    def measured(contrast: Contrast) -> Disparity:
        if not is_barycenter(comparison):
            return contrast_disparity(
                contrast, distance=name, order=order, p=exponent, measure=measure
            )
        scaled, scale = cells.scaled()
        spreads = scale.size * barycenter_spread(scaled.atoms, contrast.segments(), order)
        return _aggregated(contrast, spreads, (name, order, exponent, measure))

    return _largest(cells, comparison, measured)


def contrast_disparity(
    contrast: Contrast,
    *,
    distance: Distance = "wasserstein",
    order: float = 1,
    p: float = 1,
    measure: Measure = "marginal",
) -> Disparity:
    """What `cdd_lp` measures, of a contrast that is built already."""
    name, exponent = check_distance(distance, order), _exponent(p)
    pairs = contrast.segments()
    distances = level_distances(contrast.cells, pairs[:, 0], pairs[:, 1], name, order)
    return _aggregated(contrast, distances, (name, float(order), exponent, measure))


def _aggregated(
    contrast: Contrast, distances: FloatArray, settings: tuple[Distance, float, float, Measure]
) -> Disparity:
    _, _, exponent, measure = settings
    weights = level_weights(contrast, measure)
    value = _aggregate(distances, weights, exponent)
    return _result(contrast, value, distances, weights, settings)


def tv_overlap(
    scores: Column | Cells,
    sensitive_features: Column | None = None,
    legitimate_features: Column | None = None,
    *,
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
) -> Disparity:
    """What DCFR minimizes: R_DCFR = Σ_l P(l) π_l (1 - π_l) TV(P_0^l, P_1^l).

    π_l is the share of one group in level l. The regularizer of DCFR, defined as
    E[(P(A=1 | f, L) - P(A=1 | L))_+], is exactly this: a conditional disparity in total variation
    whose weights vanish where groups are unbalanced. It is 0 at conditional parity only, and is
    the same whichever group is called 1.

    Parameters
    ----------
    scores, sensitive_features, legitimate_features, sample_weight : as for `cdd_lp`.
    comparison : `"pairwise"` or `"one-vs-rest"`, for more than two groups.

    References
    ----------
    Xu et al. (2020), *Algorithmic decision making with conditional fairness*; Ghassemi et al.
    (2025), proposition on the form of R_DCFR.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> float(lfl.disparity.tv_overlap([0, 1, 1, 1], ["f", "f", "m", "m"]))
    0.125
    """
    if is_barycenter(comparison):
        raise InputError(
            "tv_overlap compares two groups at a time; comparison='barycenter' cannot."
        )
    cells = as_cells(scores, sensitive_features, legitimate_features, sample_weight)

    def measured(contrast: Contrast) -> Disparity:
        segments = contrast.segments()
        distances = level_distances(contrast.cells, segments[:, 0], segments[:, 1], "tv", 1.0)
        mass = contrast.mass
        within = mass[contrast.support]
        weights = within[:, 0] / within.sum(axis=1) * (within[:, 1] / mass.sum())
        value = float((weights * distances).sum())
        return _result(contrast, value, distances, weights, ("tv", 1.0, 1.0, "overlap"))

    return _largest(cells, comparison, measured)


def _exponent(p: float) -> float:
    exponent = real(p)
    if math.isnan(exponent) or exponent < 1.0:
        raise InputError(
            f"p must be a number of at least 1 (math.inf for the worst level), not {p!r}."
        )
    return exponent


def _aggregate(distances: FloatArray, weights: FloatArray, p: float) -> float:
    """(Σ Q d^p)^{1/p}, scaled by the largest distance so that a large p cannot underflow."""
    counted = distances[weights > 0.0]
    largest = float(counted.max())
    if math.isinf(p) or largest == 0.0:
        return largest
    ratios = counted / largest
    mean = float((weights[weights > 0.0] * ratios**p).sum())
    return largest * math.pow(mean, 1.0 / p)


def _result(
    contrast: Contrast,
    value: float,
    distances: FloatArray,
    weights: FloatArray,
    settings: tuple[Distance, float, float, Measure],
) -> Disparity:
    distance, order, p, measure = settings
    support = contrast.support
    gap = _mean_gaps(contrast)
    # The weights of people who hardly weigh anything may all have vanished.
    counted = weights if weights.any() else level_weights(contrast, measure)
    table = LevelTable(
        level=tuple(contrast.cells.levels[k] for k in np.flatnonzero(support)),
        distance=distances,
        gap=gap,
        weight=weights,
        counts=contrast.counts[support],
        groups=contrast.groups,
    )
    return Disparity(
        value=value,
        gap=float((counted * gap).sum() / counted.sum()),
        groups=contrast.groups,
        distance=distance,
        order=order,
        p=p,
        measure=measure if isinstance(measure, str) else "given",
        by_level=table,
        coverage=contrast.coverage,
        excluded=contrast.excluded,
        resolution=contrast.cells.resolution,
    )


def _mean_gaps(contrast: Contrast) -> FloatArray:
    cells, scale = contrast.cells.scaled()
    means = cells.means[:, contrast.positions][contrast.support]
    gaps: FloatArray
    if len(contrast.positions) == 2:
        gaps = means[:, 1] - means[:, 0]
    else:
        gaps = np.nanmax(means, axis=1) - np.nanmin(means, axis=1)
    return scale.size * gaps


def _largest(
    cells: Cells, comparison: Comparison, measured: Callable[[Contrast], Disparity]
) -> Disparity:
    results = contrast_results(contrasts(cells, comparison), measured)
    return (
        results.largest
        if results.alone
        else replace(
            results.largest, comparisons=results.measured, incomparable=results.incomparable
        )
    )
