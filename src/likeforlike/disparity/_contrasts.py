"""Contrasts: which groups are compared with which, and where they can be.

Groups are only compared in levels where they meet. A `Contrast` knows those levels (its
*support*) and how much of each group lies in them (its *coverage*).

Measures Q(L): how much each level counts when level-wise distances become one number.

With p_a(l) = P(L = l | A = a), on the levels where the groups meet and scaled to sum to one:

- `"marginal"`: Q(l) ∝ P(L = l), every row counts the same;
- `"average"`: Q(l) ∝ mean of p_a(l) over groups, every group counts the same;
- `"uniform"`: Q(l) = 1 / K, every level counts the same, however small;
- `"overlap"`: Q(l) ∝ min of p_a(l) over groups, levels count by how well they compare;
- a mapping {level: weight} of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Generic, Literal, SupportsFloat, TypeVar, get_args

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import MEASURES, Measure, is_one_of, real
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError
from likeforlike.transport import moderate, weight_factor

T = TypeVar("T", bound=SupportsFloat)

Comparison = Literal["pairwise", "one-vs-rest", "barycenter"]
"""How more than two groups are compared. With two groups the first two say the same.

Examples
--------
>>> import likeforlike as lfl
>>> lfl.dd([0.0, 1.0, 1.0], ["a", "b", "c"], comparison="one-vs-rest").groups
('a', 'not a')
"""


@dataclass(frozen=True)
class Contrast:
    """Some groups of the cells, to be compared inside levels.

    Attributes
    ----------
    cells : the sorted scores.
    positions : which of the G groups of the cells take part; two, or more for a barycenter.

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
        """Labels of the groups compared."""
        return tuple(self.cells.groups[g] for g in self.positions)

    @property
    def counts(self) -> IntArray:
        """Rows of each level and compared group, shape (K, g)."""
        return self.cells.counts[:, self.positions]

    @property
    def mass(self) -> FloatArray:
        """Weight of each level and compared group, shape (K, g), in moderate units."""
        return moderate(self.cells.mass[:, self.positions])

    @cached_property
    def support(self) -> BoolArray:
        """Levels where at least two of the groups occur, shape (K,)."""
        met: BoolArray = (self.counts > 0).sum(axis=1) >= 2
        return met

    @cached_property
    def shares(self) -> FloatArray:
        """p_a(l) = P(L = l | A = a) for every level and compared group, shape (K, g)."""
        # A group may weigh so little next to another that its own shares would be lost.
        mass = self.mass * [weight_factor(most) for most in self.mass.max(axis=0).tolist()]
        shares: FloatArray = mass / mass.sum(axis=0)
        return shares

    @property
    def coverage(self) -> dict[Hashable, float]:
        """Share of each group that lies in the support."""
        held = self.shares[self.support].sum(axis=0)
        return dict(zip(self.groups, held.tolist(), strict=True))

    @property
    def excluded(self) -> dict[Hashable, dict[Hashable, int]]:
        """Levels outside the support that hold anybody, with the rows of each group."""
        counts = self.counts
        outside = np.flatnonzero(~self.support & (counts.sum(axis=1) > 0))
        return {
            self.cells.levels[k]: dict(zip(self.groups, counts[k].tolist(), strict=True))
            for k in outside
        }

    def segments(self) -> IntArray:
        """Segments of the compared groups in the supported levels, shape (k, g)."""
        columns = [self.cells.segments(g) for g in self.positions]
        return np.stack(columns, axis=1)[self.support]

    def narrow(self) -> Contrast:
        """The same groups in cells that hold no other group, in the order of their labels.

        Statistics that read all scores of the cells then read those of the groups compared.
        """
        if len(self.positions) == len(self.cells.groups):
            return self
        cells = self.cells.regroup({group: group for group in self.groups})
        return Contrast(cells, tuple(range(len(cells.groups))))

    def supported(self) -> Contrast:
        """The same groups in the levels where they meet, and in no other."""
        return Contrast(self.cells.at_levels(self.support), self.positions)

    def pool_levels(self) -> Contrast:
        """The same groups with all levels thrown together."""
        return Contrast(self.cells.pool_levels(), self.positions)


def is_barycenter(comparison: object) -> bool:
    """Whether all groups are compared at once."""
    return is_one_of(comparison, ["barycenter"])


def contrasts(cells: Cells, comparison: Comparison) -> list[Contrast]:
    """List the contrasts of a comparison; those whose groups never meet are left in.

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
    if not is_one_of(comparison, get_args(Comparison)):
        raise InputError(f"comparison must be one of {get_args(Comparison)}, not {comparison!r}.")
    if comparison == "barycenter":
        return [Contrast(cells, tuple(range(len(cells.groups))))]
    if comparison == "pairwise" or len(cells.groups) == 2:
        return [Contrast(cells, pair) for pair in combinations(range(len(cells.groups)), 2)]
    return [_one_against_rest(cells, group) for group in cells.groups]


def _one_against_rest(cells: Cells, group: Hashable) -> Contrast:
    rest = f"not {group}"
    merged = cells.regroup({name: group if name == group else rest for name in cells.groups})
    return Contrast(merged, (merged.groups.index(group), merged.groups.index(rest)))


@dataclass(frozen=True, slots=True)
class ContrastResults(Generic[T]):
    """Results of all contrasts of a comparison.

    Attributes
    ----------
    largest : the result with the largest value.
    measured : all results, in the order of the contrasts.
    incomparable : groups of the contrasts that never meet in a level.
    """

    largest: T
    measured: tuple[T, ...]
    incomparable: tuple[tuple[Hashable, ...], ...]

    @property
    def alone(self) -> bool:
        """Whether there was only one contrast to begin with."""
        return len(self.measured) + len(self.incomparable) == 1


def contrast_results(
    candidates: list[Contrast],
    measured: Callable[[Contrast], T],
    size: Callable[[T], float] = float,
) -> ContrastResults[T]:
    """Measure every contrast whose groups meet in a level, and find the largest by its size."""
    met = [contrast for contrast in candidates if contrast.support.any()]
    if not met:
        raise InputError(
            f"no level holds two of the groups {list(candidates[0].groups)}, so nothing can be "
            "compared; use coarser levels in legitimate_features (--legitimate)."
        )
    results = tuple(measured(contrast) for contrast in met)
    apart = tuple(contrast.groups for contrast in candidates if not contrast.support.any())
    return ContrastResults(max(results, key=size), results, apart)


_LEAST = float(np.nextafter(0.0, 1.0))


def level_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    """Q(l) on the levels where the groups meet, summing to one. Shape (k,).

    Parameters
    ----------
    contrast : the groups compared.
    measure : a name, or a weight for each level.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts, level_weights
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3, 0.4], ["f", "m", "f", "m"], [0, 0, 1, 1])
    >>> level_weights(contrasts(cells, "pairwise")[0], "uniform")
    array([0.5, 0.5])
    """
    raw = moderate(_raw_weights(contrast, measure))
    total = raw.sum()
    if not total > 0.0:
        raise InputError("measure gives weight 0 to every level where the groups meet.")
    # A level that counts at all does not become one that does not: the worst may be looked for.
    weights: FloatArray = np.where(raw > 0.0, np.maximum(raw / total, _LEAST), 0.0)
    return weights


def _raw_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    support = contrast.support
    weights: FloatArray
    if isinstance(measure, Mapping):
        return _given_weights(contrast, measure)
    _check_name(measure)
    if measure == "marginal":
        weights = contrast.mass[support].sum(axis=1)
    elif measure == "average":
        weights = contrast.shares[support].mean(axis=1)
    elif measure == "uniform":
        weights = np.ones(int(support.sum()))
    else:
        weights = contrast.shares[support].min(axis=1)
    return weights


def _check_name(measure: object) -> None:
    if not is_one_of(measure, MEASURES):
        raise InputError(
            f"measure must be one of {MEASURES} or a mapping from level to weight, not {measure!r}."
        )


def check_measure(cells: Cells, measure: Measure) -> None:
    """Refuse a measure that is none, and a given one that names a level which no row has."""
    if not isinstance(measure, Mapping):
        _check_name(measure)
        return
    known = set(cells.levels)
    unknown = [level for level in measure if level not in known]
    if unknown:
        shown = list(cells.levels[:10])
        raise InputError(f"measure names the level {unknown[0]!r}, which no row has; e.g. {shown}.")


def _given_weights(contrast: Contrast, measure: Mapping[Hashable, float]) -> FloatArray:
    check_measure(contrast.cells, measure)
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
