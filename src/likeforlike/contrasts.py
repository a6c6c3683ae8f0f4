"""Contrasts: which groups are compared with which, and where they can be.

Groups are only compared in levels where they meet. A `Contrast` knows those levels (its
*support*) and how much of each group lies in them (its *coverage*).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Generic, Literal, SupportsFloat, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from likeforlike.cells import Cells
from likeforlike.errors import InputError
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Comparison", "Contrast", "MeasuredContrasts", "contrasts", "measure_contrasts"]

T = TypeVar("T", bound=SupportsFloat)

Comparison = Literal["pairwise", "one-vs-rest", "barycentre"]
"""How more than two groups are compared. With two groups the first two say the same."""


@dataclass(frozen=True)
class Contrast:
    """Some groups of the cells, to be compared inside levels.

    Attributes
    ----------
    cells : the sorted scores.
    positions : which of the G groups of the cells take part; two, or more for a barycentre.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import Contrast
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
        """Weight of each level and compared group, shape (K, g)."""
        return self.cells.mass[:, self.positions]

    @cached_property
    def support(self) -> npt.NDArray[np.bool_]:
        """Levels where at least two of the groups occur, shape (K,)."""
        met: npt.NDArray[np.bool_] = (self.counts > 0).sum(axis=1) >= 2
        return met

    @cached_property
    def shares(self) -> FloatArray:
        """p_a(l) = P(L = l | A = a) for every level and compared group, shape (K, g)."""
        shares: FloatArray = self.mass / self.mass.sum(axis=0)
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


def contrasts(cells: Cells, comparison: Comparison) -> list[Contrast]:
    """List the contrasts of a comparison; those whose groups never meet are left in.

    - `"pairwise"`: every two groups;
    - `"one-vs-rest"`: every group against all others together;
    - `"barycentre"`: all groups at once.

    Parameters
    ----------
    cells : sorted scores of at least two groups.
    comparison : see above.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["a", "b", "c"])
    >>> [c.groups for c in contrasts(cells, "pairwise")]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    if len(cells.groups) < 2:
        raise InputError(
            f"groups has the single value {cells.groups[0]!r}; comparing needs at least two."
        )
    if comparison not in get_args(Comparison):
        raise InputError(f"comparison must be one of {get_args(Comparison)}, not {comparison!r}.")
    if comparison == "barycentre":
        return [Contrast(cells, tuple(range(len(cells.groups))))]
    if comparison == "pairwise" or len(cells.groups) == 2:
        return [Contrast(cells, pair) for pair in combinations(range(len(cells.groups)), 2)]
    return [_one_against_rest(cells, group) for group in cells.groups]


def _one_against_rest(cells: Cells, group: Hashable) -> Contrast:
    rest = f"not {group}"
    merged = cells.regroup({name: group if name == group else rest for name in cells.groups})
    return Contrast(merged, (merged.groups.index(group), merged.groups.index(rest)))


@dataclass(frozen=True, slots=True)
class MeasuredContrasts(Generic[T]):
    """Results of all contrasts of a comparison.

    Attributes
    ----------
    largest : the result with the largest value.
    measured : all results, in the order of the contrasts.
    incomparable : groups of the contrasts that never meet in a level.

    Examples
    --------
    >>> from likeforlike.contrasts import MeasuredContrasts
    >>> found = MeasuredContrasts(0.3, measured=(0.1, 0.3), incomparable=(("a", "d"),))
    >>> found.largest, found.alone
    (0.3, False)
    """

    largest: T
    measured: tuple[T, ...]
    incomparable: tuple[tuple[Hashable, ...], ...]

    @property
    def alone(self) -> bool:
        """Whether there was only one contrast to begin with."""
        return len(self.measured) + len(self.incomparable) == 1


def measure_contrasts(
    candidates: list[Contrast], measured: Callable[[Contrast], T]
) -> MeasuredContrasts[T]:
    """Measure every contrast whose groups meet in a level, and find the largest.

    Parameters
    ----------
    candidates : the contrasts of a comparison.
    measured : from a contrast to a result that has a float value.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts, measure_contrasts
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["a", "b", "c"])
    >>> measure_contrasts(contrasts(cells, "pairwise"), lambda c: c.coverage["c"] if (
    ...     "c" in c.groups) else 0.0).measured
    (0.0, 1.0, 1.0)
    """
    met = [contrast for contrast in candidates if contrast.support.any()]
    if not met:
        raise InputError(
            f"no level holds two of the groups {list(candidates[0].groups)}, so nothing can be "
            "compared; use coarser levels."
        )
    results = tuple(measured(contrast) for contrast in met)
    apart = tuple(contrast.groups for contrast in candidates if not contrast.support.any())
    return MeasuredContrasts(max(results, key=float), results, apart)
