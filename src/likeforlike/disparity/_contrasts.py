"""Contrasts: which groups are compared, and how much each level counts.

Groups are only compared in levels that they share. A `Contrast` knows those levels (its *support*)
and how much of each group lies in them (its *coverage*). A measure Q(L) weighs the levels when
their distances become one number. With p_a(l) = P(L = l | A = a), restricted to the support and
normalized to sum to one:

- `"marginal"`: Q(l) ∝ P(L = l), every row counts the same;
- `"average"`: Q(l) ∝ mean of p_a(l) over groups, every group counts the same;
- `"uniform"`: Q(l) = 1 / K, every level counts the same, however small;
- `"overlap"`: Q(l) ∝ min of p_a(l) over groups, levels count by how well they compare;
- a mapping {level: weight} of your own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from typing import Literal, get_args

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import MEASURES, Measure, is_one_of, real
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError
from likeforlike.transport import moderate_weights, weight_factor

_SMALLEST_WEIGHT = float(np.nextafter(0.0, 1.0))

Comparison = Literal["pairwise", "one-vs-rest", "barycenter"]
"""How more than two groups are compared. With two groups the first two say the same.

Examples
--------
>>> import likeforlike as lfl
>>> lfl.dd([0.0, 1.0, 1.0], ["a", "b", "c"], comparison="one-vs-rest").groups
('a', 'not a')
"""

_COMPARISONS = get_args(Comparison)


@dataclass(frozen=True)
class Contrast:
    """Groups that are compared within the levels they share.

    Attributes
    ----------
    cells : the sorted scores.
    positions : positions of the g compared groups in `cells.groups`; two, or more for a barycenter.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import Contrast
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["f", "m", "m"], ["low", "low", "high"])
    >>> contrast = Contrast(cells, (0, 1))
    >>> contrast.groups, contrast.coverage, contrast.excluded
    (('f', 'm'), {'f': 1.0, 'm': 0.5}, {'high': {'f': 0, 'm': 1}})
    """

    cells: Cells
    positions: tuple[int, ...]

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Labels of the compared groups."""
        return tuple(map(self.cells.groups.__getitem__, self.positions))

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each level and compared group, shape (K, g)."""
        return self.cells.counts[:, self.positions]

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of each level and compared group, shape (K, g), in moderate units."""
        return moderate_weights(self.cells.mass[:, self.positions])

    @cached_property
    def support(self) -> BoolArray:
        """Levels that contain at least two of the groups, shape (K,)."""
        shared: BoolArray = (self.counts > 0).sum(axis=1) >= 2
        return shared

    @cached_property
    def shares(self) -> FloatArray:
        """p_a(l) = P(L = l | A = a) for every level and compared group, shape (K, g)."""
        # A group may weigh so little next to another that its own shares would be lost.
        mass = self.mass * list(map(weight_factor, self.mass.max(axis=0).tolist()))
        shares: FloatArray = mass / mass.sum(axis=0)
        return shares

    @property
    def coverage(self) -> dict[Hashable, float]:
        """Share of each group that lies in the support."""
        covered = self.shares[self.support].sum(axis=0)
        return dict(zip(self.groups, covered.tolist(), strict=True))

    @property
    def excluded(self) -> dict[Hashable, dict[Hashable, int]]:
        """Levels outside the support that are not empty, with the rows of each group."""
        outside = ~self.support & self.counts.any(axis=1)
        excluded = {}
        for level, counts in zip(
            compress(self.cells.levels, outside), self.counts[outside].tolist(), strict=True
        ):
            excluded[level] = dict(zip(self.groups, counts, strict=True))
        return excluded

    def segments(self) -> IntArray:
        """Return the segments of the compared groups in the levels of the support, shape (k, g)."""
        first = np.flatnonzero(self.support) * len(self.cells.groups)
        segments: IntArray = first[:, None] + np.array(self.positions)
        return segments

    def narrow(self) -> Contrast:
        """Drop all other groups from the cells, for statistics that read all scores of the cells.

        The groups come in the order of their labels.
        """
        if len(self.positions) == len(self.cells.groups):
            return self
        cells = self.cells.regroup({group: group for group in self.groups})
        return Contrast(cells, tuple(range(len(cells.groups))))

    def supported(self) -> Contrast:
        """Drop the levels outside the support from the cells."""
        return Contrast(self.cells.at_levels(self.support), self.positions)

    def pool_levels(self) -> Contrast:
        """Merge all levels into one."""
        return Contrast(self.cells.pool_levels(), self.positions)


def contrasts(cells: Cells, comparison: Comparison) -> list[Contrast]:
    """List the contrasts of a comparison, whether or not their groups share a level.

    - `"pairwise"`: every two groups;
    - `"one-vs-rest"`: every group against all others together;
    - `"barycenter"`: all groups at once.

    Parameters
    ----------
    cells : sorted scores of at least two groups.
    comparison : see above.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["a", "b", "c"])
    >>> [c.groups for c in contrasts(cells, "pairwise")]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    if len(cells.groups) < 2:
        raise InputError(
            f"groups has the single value {cells.groups[0]!r}; a comparison needs at least two."
        )
    if not is_one_of(comparison, _COMPARISONS):
        raise InputError(f"comparison must be one of {_COMPARISONS}, not {comparison!r}.")
    if comparison == "barycenter":
        return [Contrast(cells, tuple(range(len(cells.groups))))]
    if comparison == "pairwise" or len(cells.groups) == 2:
        return [Contrast(cells, pair) for pair in combinations(range(len(cells.groups)), 2)]
    results = []
    for group in cells.groups:
        rest = f"not {group}"
        merged = cells.regroup({name: group if name == group else rest for name in cells.groups})
        results.append(Contrast(merged, (merged.groups.index(group), merged.groups.index(rest))))
    return results


def split_contrasts(
    cells: Cells, comparison: Comparison
) -> tuple[list[Contrast], tuple[tuple[Hashable, ...], ...]]:
    """Return the contrasts whose groups share a level, and the groups of the others."""
    compared, apart = [], []
    for contrast in contrasts(cells, comparison):
        if contrast.support.any():
            compared.append(contrast)
        else:
            apart.append(contrast.groups)
    if not compared:
        raise InputError(
            f"no level holds two of the groups {list(apart[0])}, so nothing can be compared; use "
            "coarser levels in legitimate_features (--legitimate)."
        )
    return compared, tuple(apart)


def level_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    """Compute Q(l) on the levels that the groups share, shape (k,); the weights sum to one.

    Parameters
    ----------
    contrast : the groups compared.
    measure : a name, or a weight for each level.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts, level_weights
    >>> cells = Cells.from_rows([1, 2, 3, 4, 5], list("fmfmm"), list("aabbb"))
    >>> level_weights(contrasts(cells, "pairwise")[0], "marginal")
    array([0.4, 0.6])
    """
    check_measure(contrast.cells, measure)
    support = contrast.support
    if isinstance(measure, Mapping):
        raw = _look_up_weights(contrast, measure)
    elif measure == "marginal":
        raw = contrast.mass[support].sum(axis=1)
    elif measure == "average":
        raw = contrast.shares[support].mean(axis=1)
    elif measure == "uniform":
        raw = np.ones(int(support.sum()))
    else:
        raw = contrast.shares[support].min(axis=1)
    raw = moderate_weights(raw)
    total = raw.sum()
    if not total > 0.0:
        raise InputError("measure gives weight 0 to every level where the groups meet.")
    # The weight of a level that counts must not round to 0: the worst level may be asked for.
    weights: FloatArray = np.where(raw > 0.0, np.maximum(raw / total, _SMALLEST_WEIGHT), 0.0)
    return weights


def check_measure(cells: Cells, measure: Measure) -> None:
    """Check the name of a measure, or that a mapping names levels of the cells only."""
    if isinstance(measure, Mapping):
        known = set(cells.levels)
        unknown = [level for level in measure if level not in known]
        if unknown:
            raise InputError(
                f"measure names the level {unknown[0]!r}, which no row has; e.g. "
                f"{list(cells.levels[:10])}."
            )
    elif not is_one_of(measure, MEASURES):
        raise InputError(
            f"measure must be one of {MEASURES} or a mapping from level to weight, not {measure!r}."
        )


def _look_up_weights(contrast: Contrast, measure: Mapping[Hashable, float]) -> FloatArray:
    """Look up the weights of the levels of the support, and check them."""
    levels = contrast.cells.levels
    compared = [levels[k] for k in np.flatnonzero(contrast.support)]
    absent = [level for level in compared if level not in measure]
    if absent:
        raise InputError(
            f"measure has no weight for level {absent[0]!r}; give it 0 to leave it out."
        )
    weights = np.array([real(measure[level]) for level in compared])
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    if bad.any():
        level = compared[int(np.argmax(bad))]
        raise InputError(
            f"measure gives level {level!r} the weight {measure[level]!r}; weights must be finite "
            "numbers of 0 or more."
        )
    return weights
