"""Cells: the sorted scores of every level and group, the first narrow waist.

A *cell* is one group inside one level. A hundred rows or ten billion end up here, either exactly
(from rows) or summarised (from counts in bins of a known width), and everything statistical reads
only this.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likeforlike.columns import Codes, Column, encode, numbers, same_length, weights
from likeforlike.errors import InputError
from likeforlike.transport.atoms import (
    Atoms,
    FloatArray,
    IntArray,
    atoms_of_rows,
    segment_counts,
    segment_means,
)
from likeforlike.transport.sorting import join_segments, sort_rows

__all__ = ["Cells"]


@dataclass(frozen=True)
class Cells:
    """Sorted scores of each (level, group), with ties merged unless rows have weights.

    Attributes
    ----------
    levels : labels of the K levels.
    groups : labels of the G groups.
    atoms : K x G packed distributions; level k and group g is segment k * G + g. Some may be
        empty.
    resolution : width of the bins the scores were rounded to; 0 means exact.
    weighted : whether each row has a weight of its own; tied rows then stay apart.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> cells = Cells.from_rows([0.2, 0.4, 0.4, 0.9], ["m", "f", "f", "m"], [1, 1, 1, 2])
    >>> cells.levels, cells.groups
    ((1, 2), ('f', 'm'))
    >>> cells.counts
    array([[2, 1],
           [0, 1]])
    """

    levels: tuple[Hashable, ...]
    groups: tuple[Hashable, ...]
    atoms: Atoms
    resolution: float = 0.0
    weighted: bool = False

    @classmethod
    def from_rows(
        cls,
        scores: Column,
        groups: Column,
        levels: Column | None = None,
        *,
        sample_weight: Column | None = None,
    ) -> Cells:
        """Cells of rows, exactly: one sort, O(n).

        Parameters
        ----------
        scores : (n,) finite numbers.
        groups : (n,) labels of the sensitive feature.
        levels : (n,) labels of the legitimate features; `None` means one level.
        sample_weight : (n,) numbers >= 0; rows of weight 0 are left out.
        """
        values = numbers(scores, "scores")
        group = encode(groups, "groups")
        same_length(values.size, group.codes.size, "groups")
        level = _one_level(values.size) if levels is None else encode(levels, "levels")
        same_length(values.size, level.codes.size, "levels")
        if sample_weight is None:
            return _collect(level, group, values)
        mass = weights(sample_weight, "sample_weight", values.size)
        return _collect(level, group, values, mass, weighted=True)

    @classmethod
    def from_counts(
        cls,
        levels: Column | None,
        groups: Column,
        values: Column,
        counts: Column,
        *,
        mass: Column | None = None,
        resolution: float = 0.0,
    ) -> Cells:
        """Cells of a table of counts: what a database returns for `group by`.

        Parameters
        ----------
        levels, groups : (m,) labels; `levels=None` means one level.
        values : (m,) finite numbers, exact scores or the middles of bins.
        counts : (m,) whole numbers >= 0, how many rows each line stands for.
        mass : (m,) numbers >= 0, the sum of the sample weights of those rows; `None` means the
            counts.
        resolution : the width h of the bins. Rounding moves each score by at most h / 2, so
            every Wasserstein distance moves by at most h.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> Cells.from_counts(None, ["f", "m"], [0.5, 0.5], [10, 30]).counts
        array([[10, 30]])
        """
        value = numbers(values, "values")
        group = encode(groups, "groups")
        same_length(value.size, group.codes.size, "groups")
        level = _one_level(value.size) if levels is None else encode(levels, "levels")
        same_length(value.size, level.codes.size, "levels")
        count = weights(counts, "counts", value.size)
        if (count != np.floor(count)).any():
            raise InputError("counts must be whole numbers; pass sums of weights as mass.")
        if not (np.isfinite(resolution) and resolution >= 0.0):
            raise InputError(f"resolution must be 0 or more, not {resolution}.")
        amount = count if mass is None else weights(mass, "mass", value.size)
        return _collect(
            level, group, value, amount, count.astype(np.int64), resolution=float(resolution)
        )

    @classmethod
    def from_codes(
        cls,
        level: Codes | None,
        group: Codes,
        values: FloatArray,
        *,
        sample_weight: Column | None = None,
        counts: IntArray | None = None,
        resolution: float = 0.0,
    ) -> Cells:
        """Cells of lines whose levels and groups are numbered already.

        Parameters
        ----------
        level, group : codes and labels; `level=None` means one level. Labels keep their order.
        values : (m,) finite floats.
        sample_weight : (m,) numbers >= 0, for lines that are rows.
        counts : (m,) integers, for lines that stand for several rows.
        resolution : as for `from_counts`.
        """
        level = _one_level(values.size) if level is None else level
        if sample_weight is not None:
            mass = weights(sample_weight, "sample_weight", values.size)
            return _collect(level, group, values, mass, weighted=True)
        if counts is None:
            return _collect(level, group, values)
        mass = counts.astype(np.float64)
        return _collect(level, group, values, mass, counts, resolution=resolution)

    @cached_property
    def counts(self) -> IntArray:
        """Rows in each cell, shape (K, G)."""
        return segment_counts(self.atoms).reshape(len(self.levels), len(self.groups))

    @cached_property
    def mass(self) -> FloatArray:
        """Total weight of each cell, shape (K, G)."""
        return self.atoms.totals.reshape(len(self.levels), len(self.groups))

    @cached_property
    def means(self) -> FloatArray:
        """Mean score of each cell, shape (K, G); NaN where a cell is empty."""
        return segment_means(self.atoms).reshape(len(self.levels), len(self.groups))

    @property
    def reach(self) -> float:
        """R, the largest difference between two scores."""
        return float(self.atoms.values.max() - self.atoms.values.min())

    def segments(self, group: int) -> IntArray:
        """Segments of one group (by position), level after level, shape (K,)."""
        return np.arange(len(self.levels)) * len(self.groups) + group

    def merge(self, other: Cells) -> Cells:
        """Cells of these rows and of those of `other`. Levels and groups need not agree.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> monday = Cells.from_rows([0.1, 0.9], ["f", "m"])
        >>> tuesday = Cells.from_rows([0.1, 0.4], ["f", "m"])
        >>> monday.merge(tuesday).counts
        array([[2, 2]])
        """
        if self.resolution != other.resolution:
            raise InputError(
                f"cells of resolution {self.resolution} and {other.resolution} do not merge; "
                "summarise both with the same bins."
            )
        level, group = (
            _joined(mine, theirs, name)
            for mine, theirs, name in zip(
                self._lines(), other._lines(), ("levels", "groups"), strict=True
            )
        )
        atoms, others = self.atoms, other.atoms
        return _collect(
            level,
            group,
            np.concatenate([atoms.values, others.values]),
            np.concatenate([atoms.mass, others.mass]),
            np.concatenate([atoms.counts, others.counts]),
            resolution=self.resolution,
            weighted=self.weighted or other.weighted,
        )

    def regroup(self, names: dict[Hashable, Hashable]) -> Cells:
        """Cells of coarser groups: each group takes its new name, groups left out disappear.

        Parameters
        ----------
        names : {group: its new name}.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["a", "b", "c"])
        >>> cells.regroup({"a": "a", "b": "rest", "c": "rest"}).counts
        array([[1, 2]])
        """
        unknown = [name for name in names if name not in self.groups]
        if unknown:
            raise InputError(f"groups has no {unknown[0]!r}; there are {list(self.groups)}.")
        level, group = self._lines()
        kept = np.array([name in names for name in self.groups])[group.codes]
        renamed = encode([names.get(name, name) for name in self.groups], "groups")
        return _collect(
            _used(Codes(level.codes[kept], level.labels)),
            _used(Codes(renamed.codes[group.codes[kept]], renamed.labels)),
            self.atoms.values[kept],
            self.atoms.mass[kept],
            self.atoms.counts[kept],
            resolution=self.resolution,
            weighted=self.weighted,
        )

    def pool_levels(self) -> Cells:
        """Cells of the same rows with all levels thrown together.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> Cells.from_rows([0.1, 0.2], ["f", "m"], [1, 2]).pool_levels().counts
        array([[1, 1]])
        """
        if len(self.levels) == 1:
            return self
        atoms = self.atoms
        if not self.weighted and int(self.counts.sum()) == atoms.values.size:
            # Every atom is a row. If all their scores differ, mass and counts stay as they are.
            of_group = np.arange(len(self.levels) * len(self.groups)).reshape(self.counts.shape).T
            joined = join_segments(atoms.values, atoms.offsets, of_group)
            pooled = atoms_of_rows(joined, ones=(atoms.mass, atoms.counts))
            return Cells(("all",), self.groups, pooled, self.resolution)
        return _collect(
            _one_level(atoms.values.size),
            self._group_lines(),
            atoms.values,
            atoms.mass,
            atoms.counts,
            resolution=self.resolution,
            weighted=self.weighted,
        )

    def _lines(self) -> tuple[Codes, Codes]:
        """Level and group of every atom."""
        n_levels, n_groups = len(self.levels), len(self.groups)
        sizes = np.diff(self.atoms.offsets)
        level = np.repeat(np.repeat(np.arange(n_levels), n_groups), sizes)
        return Codes(level, self.levels), self._group_lines()

    def _group_lines(self) -> Codes:
        """Group of every atom."""
        group = np.tile(np.arange(len(self.groups)), len(self.levels))
        return Codes(np.repeat(group, np.diff(self.atoms.offsets)), self.groups)


def _one_level(size: int) -> Codes:
    return Codes(np.zeros(size, np.int64), ("all",))


def _joined(mine: Codes, theirs: Codes, name: str) -> Codes:
    """Both columns below each other, numbered by one set of labels."""
    together = encode([*mine.labels, *theirs.labels], name)
    of_mine, of_theirs = np.split(together.codes, [len(mine.labels)])
    codes = np.concatenate([of_mine[mine.codes], of_theirs[theirs.codes]])
    return Codes(codes, together.labels)


def _used(column: Codes) -> Codes:
    """Forget the labels that no row has."""
    present = np.bincount(column.codes, minlength=len(column.labels)) > 0
    if present.all():
        return column
    labels = tuple(column.labels[k] for k in np.flatnonzero(present))
    return Codes((np.cumsum(present) - 1)[column.codes], labels)


def _collect(
    level: Codes,
    group: Codes,
    values: FloatArray,
    mass: FloatArray | None = None,
    counts: IntArray | None = None,
    *,
    resolution: float = 0.0,
    weighted: bool = False,
) -> Cells:
    """Sort lines into cells. No mass means one each; no counts means a row each."""
    if mass is not None and (weighted or not mass.all()):
        kept = np.flatnonzero(mass)
        if weighted:
            # Tied rows in order of weight: no sum may depend on the order rows come in.
            kept = kept[np.argsort(mass[kept], kind="stable")]
        level = Codes(level.codes[kept], level.labels)
        group = Codes(group.codes[kept], group.labels)
        values, mass = values[kept], mass[kept]
        counts = None if counts is None else counts[kept]
        level, group = _used(level), _used(group)
    n_groups = len(group.labels)
    # One level needs no arithmetic on a million codes.
    segments = group.codes
    if len(level.labels) > 1:
        segments = level.codes * n_groups
        segments += group.codes
    n_segments = len(level.labels) * n_groups
    ordered = sort_rows(values, segments, n_segments, with_rows=mass is not None)
    atoms = atoms_of_rows(ordered, mass, counts, merge=not weighted)
    return Cells(level.labels, group.labels, atoms, resolution, weighted)
