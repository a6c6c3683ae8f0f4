"""Disparities: how differently groups are scored, overall and conditionally on legitimate features.

The *demographic disparity* compares all scores of two groups. The *conditional demographic
disparity* in the l_p sense compares them level by level and aggregates:

    DD = d(P_0, P_1),        CDD = ( Σ_l Q(l) d(P_0^l, P_1^l)^p )^{1/p},

with P_a^l the distribution of the score of group a in level l, d a distance (`_distances`) and Q a
measure over levels (`_contrasts`). p = inf takes the worst level.

Reference: Ghassemi et al. (2025), definitions of DD and of CDD in the l_p sense.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._plots import LevelFigures, axes_or_new, draw_distances
from likeforlike._settings import Measure, is_one_of, real
from likeforlike._text import visible
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Column, refuse_many_groups
from likeforlike.disparity._contrasts import (
    Comparison,
    Contrast,
    level_weights,
    split_contrasts,
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

_Settings: TypeAlias = tuple[Distance, float, float, Measure]
"""Distance, order, p and measure."""


@dataclass(frozen=True, slots=True)
class LevelTable:
    """Figures of each level; every column has one entry per level.

    Attributes
    ----------
    level : labels of the k levels compared.
    distance : (k,) floats, the distance between the groups.
    gap : (k,) floats, mean score of the second group minus that of the first; for a barycenter
        the highest minus the lowest group mean.
    weight : (k,) floats, Q(l).
    counts : (k, g) integers, rows of each group.
    groups : labels of the g groups.
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
        """Return the columns as lists, for any dataframe constructor."""
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
    by_level : the figures of each level, with row counts.
    coverage : share of each group in the levels where both occur.
    excluded : levels that lack a group, with the rows of each group.
    resolution : width of the bins of the scores; 0 means exact.
    comparisons : all contrasts, when there are more than two groups.
    incomparable : contrasts whose groups never meet in a level.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> disparity = lfl.cdd_lp([0.2, 0.5, 0.1], ["f", "m", "m"], [1, 1, 2])
    >>> list(disparity.by_level)
    [{'level': 1, 'distance': 0.3, 'gap': 0.3, 'weight': 1.0, 'rows f': 1, 'rows m': 1}]
    >>> disparity.coverage, disparity.excluded
    ({'f': 1.0, 'm': 0.5}, {2: {'f': 0, 'm': 1}})
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
        kind = f"{self.distance} (order {self.order:g})"
        kind = kind if self.distance == "wasserstein" else self.distance
        return f"<Disparity {self.value:.6g}, {kind}, {len(self.by_level)} level(s); {rows}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distance of each level, the largest contribution to the value first.

        Needs the extra `plot`. Draws on `ax`, or on a new figure, and returns the axes.
        """
        levels = self.by_level
        ranking = np.argsort(-levels.weight * levels.distance, kind="stable").tolist()
        texts = [
            ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
            for label in levels.level
        ]
        drawn = [LevelFigures(texts[k], float(levels.distance[k])) for k in ranking]
        axes = axes_or_new(ax)
        first, second = self.groups[0], self.groups[-1]
        draw_distances(axes, drawn, label=f"distance between {first} and {second}")
        return axes


def as_cells(
    scores: Column | Cells,
    sensitive_features: Column | None,
    legitimate_features: Column | None,
    sample_weight: Column | None,
) -> Cells:
    """Make cells of the data arguments, which may be cells already."""
    if isinstance(scores, Cells):
        columns = sensitive_features, legitimate_features, sample_weight
        if any(column is not None for column in columns):
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
    """Compute the demographic disparity d(P_0, P_1) of all scores, whatever their level.

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
    """Compute CDD in the l_p sense, (Σ_l Q(l) d(P_0^l, P_1^l)^p)^{1/p}.

    The conditional demographic disparity compares groups within levels only.

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
    distance, order, p = check_distance(distance, order), real(order), _check_p(p)
    barycenter = is_one_of(comparison, ["barycenter"])
    if barycenter and distance != "wasserstein":
        raise InputError(f"comparison='barycenter' needs distance='wasserstein', not {distance!r}.")
    cells = as_cells(scores, sensitive_features, legitimate_features, sample_weight)
    if legitimate_features is not None and len(cells.levels) > MANY_VALUES:
        warn_of_thin_levels(cells.levels, int(cells.counts.sum()), "audit with smooth")
    compared, incomparable = split_contrasts(cells, comparison)
    results = []
    for contrast in compared:
        segments = contrast.segments()
        if barycenter:
            scaled, scale = cells.scaled()
            distances = scale.size * barycenter_spread(scaled.atoms, segments, order)
        else:
            left, right = segments.T
            distances = level_distances(contrast.cells, left, right, distance, order)
        weights = level_weights(contrast, measure)
        value = _aggregate(distances, weights, p)
        settings = distance, order, p, measure
        results.append(_disparity(contrast, value, distances, weights, settings))
    return _largest(results, incomparable)


def contrast_cdd_lp(
    contrast: Contrast,
    *,
    distance: Distance = "wasserstein",
    order: float = 1,
    p: float = 1,
    measure: Measure = "marginal",
) -> Disparity:
    """Measure a single contrast of two groups as `cdd_lp` does."""
    distance, p = check_distance(distance, order), _check_p(p)
    left, right = contrast.segments().T
    distances = level_distances(contrast.cells, left, right, distance, order)
    weights = level_weights(contrast, measure)
    value = _aggregate(distances, weights, p)
    return _disparity(contrast, value, distances, weights, (distance, float(order), p, measure))


def tv_overlap(
    scores: Column | Cells,
    sensitive_features: Column | None = None,
    legitimate_features: Column | None = None,
    *,
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
) -> Disparity:
    """Compute what DCFR minimizes, R_DCFR = Σ_l P(l) π_l (1 - π_l) TV(P_0^l, P_1^l).

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
    if is_one_of(comparison, ["barycenter"]):
        raise InputError(
            "tv_overlap compares two groups at a time; comparison='barycenter' cannot."
        )
    cells = as_cells(scores, sensitive_features, legitimate_features, sample_weight)
    compared, incomparable = split_contrasts(cells, comparison)
    results = []
    for contrast in compared:
        left, right = contrast.segments().T
        distances = level_distances(contrast.cells, left, right, "tv", 1.0)
        mass = contrast.mass
        within = mass[contrast.support]
        weights = within[:, 0] / within.sum(axis=1) * (within[:, 1] / mass.sum())
        value = float((weights * distances).sum())
        settings: _Settings = ("tv", 1.0, 1.0, "overlap")
        results.append(_disparity(contrast, value, distances, weights, settings))
    return _largest(results, incomparable)


def _check_p(p: float) -> float:
    """Check the exponent of the aggregation."""
    exponent = real(p)
    if math.isnan(exponent) or exponent < 1.0:
        raise InputError(
            f"p must be a number of at least 1 (math.inf for the worst level), not {p!r}."
        )
    return exponent


def _aggregate(distances: FloatArray, weights: FloatArray, p: float) -> float:
    """Compute (Σ Q d^p)^{1/p}, relative to the largest distance so that no power underflows."""
    positive = weights > 0.0
    counted = distances[positive]
    largest = float(counted.max())
    if math.isinf(p) or largest == 0.0:
        return largest
    mean = float((weights[positive] * (counted / largest) ** p).sum())
    return largest * math.pow(mean, 1.0 / p)


def _disparity(
    contrast: Contrast,
    value: float,
    distances: FloatArray,
    weights: FloatArray,
    settings: _Settings,
) -> Disparity:
    """Put together a result with the gaps of the means in each level."""
    distance, order, p, measure = settings
    support = contrast.support
    cells, scale = contrast.cells.scaled()
    means = cells.means[:, contrast.positions][support]
    gap: FloatArray = means[:, 1] - means[:, 0]
    if len(contrast.positions) > 2:
        gap = np.nanmax(means, axis=1) - np.nanmin(means, axis=1)
    gap = scale.size * gap
    # Weights of rows that weigh next to nothing may all have underflowed.
    counted = weights if weights.any() else level_weights(contrast, measure)
    return Disparity(
        value=value,
        gap=float((counted * gap).sum() / counted.sum()),
        groups=contrast.groups,
        distance=distance,
        order=order,
        p=p,
        measure=measure if isinstance(measure, str) else "given",
        by_level=LevelTable(
            level=tuple(compress(contrast.cells.levels, support)),
            distance=distances,
            gap=gap,
            weight=weights,
            counts=contrast.counts[support],
            groups=contrast.groups,
        ),
        coverage=contrast.coverage,
        excluded=contrast.excluded,
        resolution=contrast.cells.resolution,
    )


def _largest(results: list[Disparity], incomparable: tuple[tuple[Hashable, ...], ...]) -> Disparity:
    """Return the largest disparity, which lists the others if there are several contrasts."""
    largest = max(results, key=attrgetter("value"))
    if len(results) + len(incomparable) == 1:
        return largest
    return replace(largest, comparisons=tuple(results), incomparable=incomparable)
