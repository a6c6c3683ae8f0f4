"""Cells: the sorted scores of every level and group, the first narrow waist.

A *cell* is one group inside one level. A hundred rows or ten billion end up here, either exactly
(from rows) or summarized (from counts in bins of a known width), and everything statistical reads
only this.

Scores that were rounded to bins: what sums inside the bins still tell, and what they leave open.

An engine counts the rows of each (level, group, bin of width w), and adds up where in the bin they
lie. A score x lies at o / 2³⁰ of its bin, o = 2¹⁵ h + l with whole numbers h, l < 2¹⁵, and

    Σ o,    Σ h²,    Σ h l

are whole numbers: any order of adding, any engine and any split into summaries gives the same. They
give the mean μ and the variance s² of the rows of a bin to 1e-9 of a bin, so means of cells, gaps
and their standard errors are those of the rows. What is left open is how the rows lie around μ.
Three things are known of that, for scores in [a, b], b - a = w:

    E|x - μ| <= min(2 (μ - a)(b - μ) / w, s)    (the chord of |x - μ| over [a, b]; Jensen),
    s² (s² / (μ - a) - (μ - a)) <= E(x - μ)³ <= s² ((b - μ) - s² / (b - μ)),

the second line from E (x - a)(x - c)² >= 0 and E (b - x)(x - c)² >= 0 with the c that says most.

**W_1 of a level.** With H = F_0 - F_1, W_1 is the sum of ∫ |H| over bins and over the stretches
between them, where H is constant and known. In a bin of masses p_0, p_1 and means μ_0, μ_1,

    I = ∫ H = H(a) w + p_0 (b - μ_0) - p_1 (b - μ_1)

is known exactly, and |I| <= ∫ |H|. No order of the rows makes H change its sign if H(a) >= p_1 or
H(a) <= -p_0, and then ∫ |H| = |I|. Elsewhere ∫ |H| is at most the least of

- ∫ |H'| + p_0 E|x_0 - μ_0| + p_1 E|x_1 - μ_1|, with H' for rows at their means: the triangle
  inequality for W_1, in which ∫ |F - F'| = p E|x - μ|;
- w max(H(a) + p_0, p_1 - H(a)), since H lies between H(a) - p_1 and H(a) + p_0;
- |I| + 2 ∫ H₋ for I >= 0, and H₋ <= (-H(a))₊ + p_1 F_1 and H₋ <= (-H(b))₊ + p_0 (1 - F_0) with F
  the distribution functions inside the bin, so ∫ H₋ <= w (-H(a))₊ + p_1 (b - μ_1) and
  ∫ H₋ <= w (-H(b))₊ + p_0 (μ_0 - a); for I < 0 the same with the groups exchanged.

Where groups are shifted against each other the two bounds meet in all bins but those where the
order may change. Without sums nothing is known but the bin: every score moves by at most w / 2, and
W_1, like every gap, by at most w.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import real
from likeforlike.disparity._columns import (
    Codes,
    Column,
    encode,
    joined,
    labeled,
    numbers,
    plain_label,
    same_length,
    used,
    weights,
)
from likeforlike.errors import InputError
from likeforlike.files import read_noted, write_noted
from likeforlike.transport import (
    HIGHEST_ORDER,
    Atoms,
    Scale,
    SortedRows,
    atom_of_rows,
    atoms_of_rows,
    compiled,
    join_segments,
    moderate,
    scale_of,
    segment_counts,
    segment_means,
    sort_rows,
    weight_factor,
)

HALF_BITS = 15
"""Bits of each of the two whole numbers that say where in its bin a score lies."""

_HALF = 2.0**HALF_BITS
# Differences of distribution functions that are rounding only.
_ROUNDING = 1e-12


def _mean_inside(counts: IntArray, sums: IntArray) -> FloatArray:
    """Where in their bin the rows of each atom lie on average, as a share of its width. (m,)."""
    inside: FloatArray = sums[:, 0] / counts / _HALF**2
    return inside


def bin_places(
    middles: FloatArray, counts: IntArray, sums: IntArray, resolution: float
) -> FloatArray:
    """The mean score of every atom, from the middle of its bin. Shape (m,)."""
    bins = np.rint(middles / resolution - 0.5)
    places: FloatArray = (bins + _mean_inside(counts, sums)) * resolution
    return places


def bin_numbers(
    places: FloatArray, counts: IntArray, sums: IntArray, resolution: float
) -> FloatArray:
    """The number of the bin of every atom, from its mean score: floor(score / width). (m,)."""
    bins: FloatArray = np.rint(places / resolution - _mean_inside(counts, sums))
    return bins


def inside_bins(
    counts: IntArray, sums: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """What is known of the rows of each atom around their mean, in widths of a bin. (m,) each.

    Returns
    -------
    variance : mean of (x - μ)², 1e-9 too small at most; 0 where all rows have one score.
    third, doubt : the mean of (x - μ)³ lies within third ± doubt.
    deviation : the mean of |x - μ| is at most this.
    """
    mean = _mean_inside(counts, sums)
    square = (sums[:, 1] / counts + 2.0 * sums[:, 2] / counts / _HALF) / _HALF**2
    # Squares of the lower halves, which are not added up, are between 0 and 2^-30.
    unknown = np.where(_one_score(counts, sums), 0.0, 1.0 / _HALF**2)
    below, above = mean, 1.0 - mean
    # At most the product (Bhatia and Davis), but for rounding.
    variance = np.minimum(np.maximum(square - mean**2, 0.0), below * above)
    variance[unknown == 0.0] = 0.0
    least = variance * (variance / np.where(variance > 0.0, below, 1.0) - below)
    most = variance * (above - variance / above)
    deviation = np.minimum(2.0 * below * above, np.sqrt(variance + unknown))
    deviation[unknown == 0.0] = 0.0
    return variance, 0.5 * (least + most), 0.5 * np.abs(most - least), deviation


def _one_score(counts: IntArray, sums: IntArray) -> BoolArray:
    """Whether all rows of an atom have one score: the sums are those of equal rows. (m,)."""
    place = sums[:, 0] // counts
    high, low = place >> HALF_BITS, place & (2**HALF_BITS - 1)
    alike = np.stack([place, high * high, high * low], axis=1) * counts[:, None]
    one: BoolArray = (alike == sums).all(axis=1)
    return one


@compiled
def _bounds(
    places: FloatArray,
    bins: FloatArray,
    deviation: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    width: float,
) -> FloatArray:
    """The two bounds of each level, shape (k, 2). See the top of the file."""
    found = np.zeros((pairs.shape[0], 2))
    for level in range(pairs.shape[0]):
        i, end_i = offsets[pairs[level, 0]], offsets[pairs[level, 0] + 1]
        j, end_j = offsets[pairs[level, 1]], offsets[pairs[level, 1] + 1]
        total_0, total_1 = mass[i:end_i].sum(), mass[j:end_j].sum()
        height, last = 0.0, np.inf
        while i < end_i or j < end_j:
            here = bins[i] if i < end_i else np.inf
            if j < end_j:
                here = min(here, bins[j])
            if last < here - 1.0:
                between = abs(height) * (here - 1.0 - last) * width
                found[level, 0] += between
                found[level, 1] += between
            p_0, p_1, at_0, at_1, doubt = 0.0, 0.0, 0.0, 0.0, 0.0
            if i < end_i and bins[i] == here:
                p_0, at_0 = mass[i] / total_0, places[i] - here * width
                doubt += p_0 * deviation[i]
                i += 1
            if j < end_j and bins[j] == here:
                p_1, at_1 = mass[j] / total_1, places[j] - here * width
                doubt += p_1 * deviation[j]
                j += 1
            after = height + p_0 - p_1
            area = height * width + p_0 * (width - at_0) - p_1 * (width - at_1)
            most = abs(area)
            if height - p_1 < -_ROUNDING and height + p_0 > _ROUNDING:
                # Rows at their means.
                one = at_0 if p_0 > 0.0 else at_1
                two = at_1 if p_1 > 0.0 else at_0
                middle = height + p_0 if one <= two else height - p_1
                first, second = min(one, two), max(one, two)
                seen = abs(height) * first + abs(middle) * (second - first)
                seen += abs(after) * (width - second)
                if area >= 0.0:
                    left = max(-height, 0.0) * width + p_1 * (width - at_1)
                    right = max(-after, 0.0) * width + p_0 * at_0
                else:
                    left = max(height, 0.0) * width + p_0 * (width - at_0)
                    right = max(after, 0.0) * width + p_1 * at_1
                highest = max(height + p_0, p_1 - height) * width
                most = min(seen + doubt, highest, abs(area) + 2.0 * min(left, right))
            found[level, 0] += abs(area)
            found[level, 1] += max(most, abs(area))
            height, last = after, here
    return found


def distance_bounds(
    places: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    pairs: IntArray,
    sums: IntArray,
    resolution: float,
) -> FloatArray:
    """Bounds between which W_1 of the rows behind the counts lies in each level. Shape (k, 2).

    Parameters
    ----------
    places : (m,) floats, mean score of each atom; cell after cell, sorted.
    mass, counts : (m,) weight and rows of each atom.
    offsets : (S + 1,) integers, where each cell begins.
    pairs : (k, 2) integers, the cells of the two groups in every level.
    sums : (m, 3) integers, what is known inside the bins.
    resolution : w.
    """
    bins = bin_numbers(places, counts, sums, resolution)
    deviation = inside_bins(counts, sums)[3] * resolution
    return _bounds(places, bins, deviation, mass, offsets, pairs, resolution)


_KIND = "cells"
# Rises when older versions could not read a file any more; the second has sums inside bins.
_FORMAT, _FORMAT_WITH_SUMS = 1, 2
# What the columns of `sums` are called in a file.
_SUMS = ("sum", "squares", "products")
# Numbers of rows are added up as floats and as 64-bit integers; both hold them exactly up to here.
_MOST_ROWS = 2.0**53
# How many counts are hashed at a time.
_AT_ONCE = 100_000


@dataclass(frozen=True)
class Cells:
    """Sorted scores of each (level, group), with ties merged unless rows have weights or clusters.

    Attributes
    ----------
    levels : labels of the K levels.
    groups : labels of the G groups.
    atoms : K x G packed distributions; level k and group g is segment k * G + g. Some may be
        empty.
    resolution : width of the bins the scores were rounded to; 0 means exact.
    weighted : whether each row has a weight of its own; tied rows then stay apart.
    cluster : (m,) integers, to whom each row belongs, where several rows may belong to one person
        (household, school); tied rows then stay apart. `None` means that rows are independent.
    cluster_labels : what the clusters are called; `cluster_labels[cluster[i]]` is that of atom i.
    sums : (m, 3) integers, what is known of the scores inside each bin (`_rounding`); atoms then
        stand at the mean of their rows. `None` if scores are exact, or nothing is known: atoms then
        stand in the middle of their bin.

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
    cluster: IntArray | None = None
    cluster_labels: tuple[Hashable, ...] = ()
    sums: IntArray | None = None

    @classmethod
    def from_rows(
        cls,
        scores: Column,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        *,
        sample_weight: Column | None = None,
        cluster: Column | None = None,
    ) -> Cells:
        """Cells of rows, exactly: one sort, O(n).

        Parameters
        ----------
        scores : (n,) finite numbers.
        sensitive_features : (n,) labels of the sensitive feature.
        legitimate_features : (n,) labels of the legitimate features; `None` means one level.
        sample_weight : (n,) numbers >= 0; rows of weight 0 are left out.
        cluster : (n,) labels of what rows have in common (a person with several rows, a
            household); `None` means that every row is one of its own.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> twice = Cells.from_rows([0.2, 0.2, 0.9], ["f", "f", "m"], cluster=["Ann", "Ann", "Bo"])
        >>> twice.cluster, twice.cluster_labels
        (array([0, 0, 1]), ('Ann', 'Bo'))
        """
        values = numbers(scores, "scores")
        group = encode(sensitive_features, "groups")
        same_length(values.size, group.codes.size, "groups")
        level = (
            _one_level(values.size)
            if legitimate_features is None
            else encode(legitimate_features, "levels")
        )
        same_length(values.size, level.codes.size, "levels")
        clusters = None if cluster is None else encode(cluster, "cluster")
        return cls.from_codes(level, group, values, sample_weight=sample_weight, cluster=clusters)

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
        resolution : the width h of the bins. Rounding moves each score by at most h / 2, so every
            gap and every Wasserstein distance moves by at most h; intervals allow for it.

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
        count = _row_counts(counts, value.size)
        if not 0.0 <= real(resolution) < np.inf:
            raise InputError(f"resolution must be 0 or more, not {resolution}.")
        amount = count if mass is None else _summable(weights(mass, "mass", value.size))
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
        cluster: Codes | None = None,
        resolution: float = 0.0,
        sums: IntArray | None = None,
    ) -> Cells:
        """Cells of lines whose levels and groups are numbered already.

        Parameters
        ----------
        level, group : codes and labels; `level=None` means one level. Labels keep their order.
        values : (m,) finite floats.
        sample_weight : (m,) numbers >= 0, for lines that are rows.
        counts : (m,) integers, for lines that stand for several rows.
        cluster : codes and labels of what rows have in common, for lines that are rows.
        resolution : as for `from_counts`.
        sums : (m, 3) integers, what is known inside bins; the values are then their middles.
        """
        level = _one_level(values.size) if level is None else level
        if cluster is not None:
            same_length(values.size, cluster.codes.size, "cluster")
            if counts is not None:
                raise InputError(
                    "counts cannot say which row belongs to which cluster; pass rows, or leave "
                    "cluster out."
                )
        if sample_weight is not None:
            mass = weights(sample_weight, "sample_weight", values.size)
            return _collect(level, group, values, mass, weighted=True, cluster=cluster)
        if counts is None:
            return _collect(level, group, values, cluster=cluster)
        mass = counts.astype(np.float64)
        return _collect(level, group, values, mass, counts, resolution=resolution, sums=sums)

    @cached_property
    def counts(self) -> IntArray:
        """Rows in each cell, shape (K, G)."""
        return segment_counts(self.atoms).reshape(len(self.levels), len(self.groups))

    @cached_property
    def mass(self) -> FloatArray:
        """Total weight of each cell, shape (K, G), in moderate units (`scaled`)."""
        totals = self.scaled().cells.atoms.totals
        return totals.reshape(len(self.levels), len(self.groups))

    @cached_property
    def means(self) -> FloatArray:
        """Mean score of each cell, shape (K, G); NaN where a cell is empty."""
        cells, scale = self.scaled()
        return scale.outward(segment_means(cells.atoms).reshape(self.counts.shape))

    @cached_property
    def middles(self) -> FloatArray:
        """The middle of the bin of every atom, shape (m,): the score as it was rounded.

        Rows of one bin are tied here, whatever their group, as a permutation of groups needs it.
        """
        if self.sums is None:
            return self.atoms.values
        bins = bin_numbers(self.atoms.values, self.atoms.counts, self.sums, self.resolution)
        middles: FloatArray = (bins + 0.5) * self.resolution
        return middles

    @property
    def rounded(self) -> Atoms:
        """The atoms in the middles of their bins: what a test that permutes groups looks at."""
        return self.atoms if self.sums is None else replace(self.atoms, values=self.middles)

    @property
    def reach(self) -> float:
        """R, the largest difference between two scores."""
        lowest, highest = self.ends
        return highest - lowest

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return float(self.atoms.values.min()), float(self.atoms.values.max())

    def scaled(self, order: float = 2.0) -> ScaledCells:
        """The same cells with scores and weights of a size that costs of this order can carry.

        These very cells where that is so already.
        """
        return ScaledCells(self, Scale()) if self._is_moderate(order) else self._scaled

    def _is_moderate(self, order: float) -> bool:
        largest = float(self.atoms.totals.max())
        return weight_factor(largest) == 1.0 and scale_of(*self.ends, order) == Scale()

    @cached_property
    def _scaled(self) -> ScaledCells:
        scale = scale_of(*self.ends, HIGHEST_ORDER)
        values, mass = scale.inward(self.atoms.values), moderate(self.atoms.mass)
        return ScaledCells(
            replace(self, atoms=replace(self.atoms, values=values, mass_kept=mass), sums=None),
            scale,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of scores, levels and groups; neither the order of rows nor the engine counts."""
        digest = hashlib.sha256(repr((self.levels, self.groups, self.resolution)).encode())
        atoms = self.atoms
        digest.update(atoms.offsets.data)
        digest.update(atoms.values.data)
        if (atoms.counts_kept != 1).any():
            for first in range(0, atoms.values.size, _AT_ONCE):
                part = atoms.counts_kept[first : first + _AT_ONCE]
                digest.update(part.astype(np.int64).data)
        if self.weighted:
            digest.update(atoms.mass.data)
        if self.sums is not None:
            digest.update(self.sums.data)
        return digest.hexdigest()

    def write(self, path: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
        """Write these cells to a Parquet file, whole or not at all.

        One line an atom: numbers of its level and group, its value (the middle of its bin), rows,
        mass, and sums inside bins where they are known. Labels, resolution and fingerprint are in
        the notes of the file.

        Parameters
        ----------
        path : of the file.
        about : plain values to keep with them, such as {"roles": {"score": "approved"}}.

        Examples
        --------
        >>> import tempfile
        >>> from likeforlike import Cells
        >>> cells = Cells.from_rows([0.1, 0.9], ["f", "m"])
        >>> file = f"{tempfile.mkdtemp()}/monday.cells"
        >>> cells.write(file)
        >>> Cells.read(file).fingerprint == cells.fingerprint
        True
        """
        level, group = self._lines()
        columns = {
            "level": level.codes,
            "group": group.codes,
            "value": self.middles,
            "rows": self.atoms.counts,
            "mass": self.atoms.mass,
        }
        if self.sums is not None:
            columns |= dict(zip(_SUMS, self.sums.T, strict=True))
        if self.cluster is not None:
            columns["cluster"] = self.cluster
        notes = {
            "kind": _KIND,
            "format": _FORMAT if self.sums is None else _FORMAT_WITH_SUMS,
            "levels": [plain_label(label) for label in self.levels],
            "groups": [plain_label(label) for label in self.groups],
            "clusters": [plain_label(label) for label in self.cluster_labels],
            "resolution": self.resolution,
            "weighted": self.weighted,
            "fingerprint": self.fingerprint,
            "about": dict(about or {}),
        }
        write_noted(path, columns, notes)

    @classmethod
    def read(cls, path: str | Path) -> Cells:
        """Read cells that `write` or `likeforlike summarize` wrote.

        A file that was damaged or edited is refused: its fingerprint must be that of its lines.

        Parameters
        ----------
        path : of the file.
        """
        return cls.read_about(path)[0]

    @classmethod
    def read_about(cls, path: str | Path) -> tuple[Cells, dict[str, Any]]:
        """Cells of a file, and what was written with them.

        Parameters
        ----------
        path : of the file.
        """
        columns, notes = read_noted(path, _KIND)
        if notes.get("format") not in (_FORMAT, _FORMAT_WITH_SUMS):
            raise InputError(
                f"{path} has format {notes.get('format')!r}, and this version reads {_FORMAT} and "
                f"{_FORMAT_WITH_SUMS}; use the version of likeforlike that wrote it, or summarize "
                "again."
            )
        try:
            cells = _of_lines(columns, notes)
            about: dict[str, Any] = dict(notes["about"])
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(f"{path} is damaged: {error}.") from error
        if cells.fingerprint != notes.get("fingerprint"):
            raise InputError(f"{path} was damaged or edited: its fingerprint is another one.")
        return cells, about

    def segments(self, group: int) -> IntArray:
        """Segments of one group (by position), level after level, shape (K,)."""
        return np.arange(len(self.levels)) * len(self.groups) + group

    def merge(self, *others: Cells) -> Cells:
        """Cells of these rows and of those of others. Levels and groups need not agree.

        Rows that have the same cluster label belong to the same cluster, whichever cells hold them.

        Examples
        --------
        >>> from likeforlike import Cells
        >>> monday = Cells.from_rows([0.1, 0.9], ["f", "m"])
        >>> tuesday = Cells.from_rows([0.1, 0.4], ["f", "m"])
        >>> monday.merge(tuesday).counts
        array([[2, 2]])
        """
        parts = (self, *others)
        for other in others:
            self._refuse_other_kind(other)
        level, group = (
            joined(parts, name)
            for parts, name in zip(
                zip(*(cells._lines() for cells in parts), strict=True),
                ("levels", "groups"),
                strict=True,
            )
        )
        clusters = [codes for cells in parts if (codes := cells._clusters()) is not None]
        return _collect(
            level,
            group,
            np.concatenate([cells.middles for cells in parts]),
            np.concatenate([cells.atoms.mass for cells in parts]),
            np.concatenate([cells.atoms.counts for cells in parts]),
            resolution=self.resolution,
            weighted=any(cells.weighted for cells in parts),
            cluster=joined(clusters, "cluster") if clusters else None,
            sums=_joined_sums(parts),
        )

    def _refuse_other_kind(self, other: Cells) -> None:
        """Refuse to merge what was not summarized alike."""
        if self.resolution != other.resolution:
            raise InputError(
                f"cells of resolution {self.resolution} and {other.resolution} do not merge; "
                "summarize both with the same bins."
            )
        if (self.cluster is None) != (other.cluster is None):
            raise InputError(
                "cells with clusters and cells without do not merge; name the cluster of every "
                "row of both."
            )

    def with_scores(self, values: FloatArray) -> Cells:
        """Cells of the same rows with other scores, which may be tied now.

        Parameters
        ----------
        values : (m,) floats, the new score of every atom.

        Examples
        --------
        >>> import numpy as np
        >>> from likeforlike import Cells
        >>> cells = Cells.from_rows([1.0, 2.0, 3.0], ["f", "f", "m"])
        >>> cells.with_scores(np.ones(3)).atoms.counts
        array([2, 1])
        """
        alike = self.atoms.mass_kept.strides == (0,)
        if not self.weighted and self.cluster is None and alike:
            values = values + 0.0  # turns -0 into 0
            for low, high in pairwise(self.atoms.offsets.tolist()):
                values[low:high].sort()
            rows = SortedRows(np.empty(0, np.int64), values, self.atoms.offsets)
            return Cells(self.levels, self.groups, atoms_of_rows(rows, spent=True))
        level, group = self._lines()
        return _collect(
            level,
            group,
            values,
            self.atoms.mass,
            self.atoms.counts,
            weighted=self.weighted,
            cluster=self._clusters(),
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
        stays = np.array([name in names for name in self.groups])
        renamed = encode([names[name] for name in self.groups if name in names], "groups")
        code = np.zeros(len(self.groups), np.int64)
        code[stays] = renamed.codes
        return self._taken(stays[group.codes], level, Codes(code[group.codes], renamed.labels))

    def at_levels(self, kept: BoolArray) -> Cells:
        """Cells of some of the levels.

        Parameters
        ----------
        kept : (K,) truth values, which of them.

        Examples
        --------
        >>> import numpy as np
        >>> from likeforlike import Cells
        >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["f", "m", "m"], [1, 1, 2])
        >>> cells.at_levels(np.array([True, False])).counts
        array([[1, 1]])
        """
        level, group = self._lines()
        return self._taken(kept[level.codes], level, group)

    def _taken(self, kept: BoolArray, level: Codes, group: Codes) -> Cells:
        """Cells of the atoms that are kept, whose levels and groups may have new names."""
        return _collect(
            used(Codes(level.codes[kept], level.labels)),
            used(Codes(group.codes[kept], group.labels)),
            self.middles[kept],
            self.atoms.mass[kept],
            self.atoms.counts[kept],
            resolution=self.resolution,
            weighted=self.weighted,
            cluster=self._clusters(kept),
            sums=None if self.sums is None else self.sums[kept],
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
        apart = self.weighted or self.cluster is not None or self.sums is not None
        if not apart and self._atoms_are_rows:
            of_group = np.arange(len(self.levels) * len(self.groups)).reshape(self.counts.shape).T
            joined = join_segments(atoms.values, atoms.offsets, of_group)
            pooled = atoms_of_rows(joined, spent=True)
            return Cells(("all",), self.groups, pooled, self.resolution)
        if not apart and atoms.counts_alone:
            # Rows are nearly as many, and take less room than what says where they are from.
            rows = _rows_of_groups(atoms, self.counts)
            return Cells(("all",), self.groups, atoms_of_rows(rows, spent=True), self.resolution)
        return _collect(
            _one_level(atoms.values.size),
            self._group_lines(),
            self.middles,
            atoms.mass,
            atoms.counts,
            resolution=self.resolution,
            weighted=self.weighted,
            cluster=self._clusters(),
            sums=self.sums,
        )

    @property
    def _atoms_are_rows(self) -> bool:
        return int(self.counts.sum()) == self.atoms.values.size

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

    def _clusters(self, kept: BoolArray | None = None) -> Codes | None:
        """Cluster of every atom, or of those that are kept."""
        if self.cluster is None:
            return None
        codes = self.cluster if kept is None else self.cluster[kept]
        return Codes(codes, self.cluster_labels)


class ScaledCells(NamedTuple):
    """Cells with scores and weights of moderate size, and the scale of the scores."""

    cells: Cells
    scale: Scale


def _row_counts(counts: Column, size: int) -> FloatArray:
    """Numbers of rows, checked."""
    count = weights(counts, "counts", size)
    if (count != np.floor(count)).any():
        raise InputError("counts must be whole numbers; pass sums of weights as mass.")
    # Before anything is added up: the largest may be all that a sum can hold.
    if float(count.max()) > _MOST_ROWS or float(count.sum()) > _MOST_ROWS:
        raise InputError(
            f"counts go up to {count.max():g}, but more than {_MOST_ROWS:.0g} rows in all cannot "
            "be counted exactly; pass sums of weights as mass, with smaller counts."
        )
    return count


def _summable(mass: FloatArray) -> FloatArray:
    """Mass whose sums can be held."""
    with np.errstate(over="ignore"):
        if np.isfinite(mass.sum()):
            return mass
    raise InputError("mass adds up to more than a number can hold; divide it by the largest.")


def _rows_of_groups(atoms: Atoms, counts: IntArray) -> SortedRows:
    """The rows of every group in order, from atoms of cells with (K, G) rows."""
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    rows, place = np.empty(int(offsets[-1])), 0
    for segment in np.arange(counts.size).reshape(counts.shape).T.ravel().tolist():
        part = slice(*atoms.offsets[segment : segment + 2])
        size = int(counts.ravel()[segment])
        rows[place : place + size] = np.repeat(atoms.values[part], atoms.counts_kept[part])
        place += size
    for low, high in pairwise(offsets.tolist()):
        rows[low:high].sort()
    return SortedRows(np.empty(0, np.int64), rows, offsets)


def _one_level(size: int) -> Codes:
    return Codes(np.zeros(size, np.int64), ("all",))


def _of_lines(columns: Mapping[str, Any], notes: Mapping[str, Any]) -> Cells:
    """Cells of the lines of a file, checked."""
    value = numbers(columns["value"], "value")
    counts = _row_counts(columns["rows"], value.size)
    clusters = notes["clusters"]
    return _collect(
        labeled(columns["level"], notes["levels"], "level"),
        labeled(columns["group"], notes["groups"], "group"),
        value,
        _summable(weights(columns["mass"], "mass", value.size)),
        counts.astype(np.int64),
        resolution=float(notes["resolution"]),
        weighted=bool(notes["weighted"]),
        cluster=labeled(columns["cluster"], clusters, "cluster") if clusters else None,
        sums=np.stack([columns[name] for name in _SUMS], axis=1).astype(np.int64)
        if notes["format"] == _FORMAT_WITH_SUMS
        else None,
    )


def _joined_sums(parts: Sequence[Cells]) -> IntArray | None:
    """Sums inside the bins of all atoms; `None` unless all parts have them."""
    sums = [cells.sums for cells in parts if cells.sums is not None]
    return np.concatenate(sums) if len(sums) == len(parts) else None


def _collect(
    level: Codes,
    group: Codes,
    values: FloatArray,
    mass: FloatArray | None = None,
    counts: IntArray | None = None,
    *,
    resolution: float = 0.0,
    weighted: bool = False,
    cluster: Codes | None = None,
    sums: IntArray | None = None,
) -> Cells:
    """Sort lines into cells. No mass means one each; no counts means a row each.

    With sums the values are the middles of bins, and atoms are put at the means of their rows.
    """
    kept = _order_of_ties(mass, cluster, weighted=weighted)
    if kept is not None:
        level = Codes(level.codes[kept], level.labels)
        group = Codes(group.codes[kept], group.labels)
        values = values[kept]
        mass = None if mass is None else mass[kept]
        counts = None if counts is None else counts[kept]
        sums = None if sums is None else sums[kept]
        cluster = None if cluster is None else used(Codes(cluster.codes[kept], cluster.labels))
        level, group = used(level), used(group)
    n_groups = len(group.labels)
    # One level needs no arithmetic on a million codes.
    segments = group.codes.astype(np.int64, copy=False)
    if len(level.labels) > 1:
        segments = level.codes.astype(np.int64)
        segments *= n_groups
        segments += group.codes
    n_segments = len(level.labels) * n_groups
    carried = mass is not None or cluster is not None
    ordered = sort_rows(values, segments, n_segments, with_rows=carried)
    del segments
    merge = not weighted and cluster is None
    atoms = atoms_of_rows(ordered, mass, counts, merge=merge, spent=not carried)
    if sums is not None:
        begins = np.flatnonzero(np.diff(atom_of_rows(ordered), prepend=-1))
        sums = np.add.reduceat(sums[ordered.rows], begins, axis=0)
        places = bin_places(atoms.values, atoms.counts, sums, resolution)
        atoms = replace(atoms, values=places)
        return Cells(level.labels, group.labels, atoms, resolution, sums=sums)
    if cluster is None:
        return Cells(level.labels, group.labels, atoms, resolution, weighted)
    return Cells(
        level.labels,
        group.labels,
        atoms,
        resolution,
        weighted,
        cluster.codes[ordered.rows],
        cluster.labels,
    )


def _order_of_ties(
    mass: FloatArray | None, cluster: Codes | None, *, weighted: bool
) -> IntArray | None:
    """Lines that count, in an order that does not depend on theirs; `None` means all, as they are.

    Tied rows that stay apart are put in order of weight, then of cluster: no sum may depend on the
    order rows come in.
    """
    if mass is None:
        return None if cluster is None else np.argsort(cluster.codes, kind="stable")
    if not weighted and cluster is None and mass.all():
        return None
    kept = np.flatnonzero(mass)
    if cluster is not None:
        return kept[np.lexsort((cluster.codes[kept], mass[kept]))]
    return kept[np.argsort(mass[kept], kind="stable")] if weighted else kept
