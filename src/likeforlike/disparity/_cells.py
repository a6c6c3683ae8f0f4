"""Cells: the sorted scores of each level and group, the first narrow waist.

A *cell* is one group inside one level. Any number of rows ends up here, either exactly (from rows)
or summarized (from counts in bins of a known width w), and everything statistical reads only this.

An engine that summarizes counts the rows of each (level, group, bin), and adds up where in the bin
they lie. A score lies at o / 2³⁰ of its bin, o = 2¹⁵ h + l with whole numbers h, l < 2¹⁵, and

    Σ o,    Σ h²,    Σ h l

are whole numbers: any order of adding, any engine and any split into summaries gives the same. They
give the mean μ and the variance s² of the rows of a bin to 1e-9 of a bin, so means of cells, gaps
and their standard errors are those of the rows. How the rows lie around μ stays open within the
bounds of `inside_bins` and `distance_bounds`. Without sums only the bin is known: each score moves
by at most w / 2, and W_1, like every gap, by at most w.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import real
from likeforlike.disparity._columns import (
    Codes,
    Column,
    attach_labels,
    compact_labels,
    concatenate_codes,
    encode,
    numbers,
    plain_label,
    same_length,
    weights,
)
from likeforlike.errors import InputError
from likeforlike.files import read_with_notes, write_with_notes
from likeforlike.transport import (
    HIGHEST_ORDER,
    Atoms,
    Scale,
    SortedRows,
    atom_codes,
    choose_scale,
    compiled,
    merge_segments,
    merge_ties,
    moderate_weights,
    segment_counts,
    segment_means,
    sort_cells,
    weight_factor,
)

HALF_BITS = 15
"""Bits of each of the two whole numbers that locate a score in its bin."""

_HALF = 2.0**HALF_BITS
# Differences of cdfs that are rounding only.
_ROUNDING = 1e-12


def _mean_inside(counts: IntArray, sums: IntArray) -> FloatArray:
    """Return the mean position of the rows of each atom in their bin, as a share of its width."""
    inside: FloatArray = sums[:, 0] / counts / _HALF**2
    return inside


def _bin_numbers(
    places: FloatArray, counts: IntArray, sums: IntArray, resolution: float
) -> FloatArray:
    """Return the number of the bin of each atom, floor(score / width), from its mean score."""
    bins: FloatArray = np.rint(places / resolution - _mean_inside(counts, sums))
    return bins


def inside_bins(
    counts: IntArray, sums: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what is known of the rows of each atom around their mean, in widths of a bin.

    For scores in [a, b], b - a = w, with mean μ and variance s²,

        E|x - μ| <= min(2 (μ - a)(b - μ) / w, s)    (the chord of |x - μ| over [a, b]; Jensen),
        s² (s² / (μ - a) - (μ - a)) <= E(x - μ)³ <= s² ((b - μ) - s² / (b - μ)),

    the second line from E (x - a)(x - c)² >= 0 and E (b - x)(x - c)² >= 0 with the best c.

    Returns
    -------
    variance : (m,) floats, mean of (x - μ)², 1e-9 too small at most; 0 where all rows have one
        score.
    third, doubt : (m,) floats, the mean of (x - μ)³ lies within third ± doubt.
    deviation : (m,) floats, the mean of |x - μ| is at most this.
    """
    mean = _mean_inside(counts, sums)
    square = (sums[:, 1] / counts + 2.0 * sums[:, 2] / counts / _HALF) / _HALF**2
    # Squares of the lower halves, which are not added up, are between 0 and 2^-30.
    place = sums[:, 0] // counts
    high, low = place >> HALF_BITS, place & (2**HALF_BITS - 1)
    equal_rows = np.stack([place, high * high, high * low], axis=1) * counts[:, None]
    unknown = np.where((equal_rows == sums).all(axis=1), 0.0, 1.0 / _HALF**2)
    below, above = mean, 1.0 - mean
    # At most the product (Bhatia and Davis), but for rounding.
    variance = np.minimum(np.maximum(square - mean**2, 0.0), below * above)
    variance[unknown == 0.0] = 0.0
    least = variance * (variance / np.where(variance > 0.0, below, 1.0) - below)
    most = variance * (above - variance / above)
    deviation = np.minimum(2.0 * below * above, np.sqrt(variance + unknown))
    deviation[unknown == 0.0] = 0.0
    return variance, 0.5 * (least + most), 0.5 * np.abs(most - least), deviation


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
    """Compute the two bounds of each level, shape (k, 2)."""
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
    """Bound W_1 of the rows behind the counts in each level, from below and above. Shape (k, 2).

    With H = F_0 - F_1, W_1 is the sum of ∫ |H| over bins and over the stretches between them, where
    H is constant and known. In a bin [a, b] of masses p_0, p_1 and means μ_0, μ_1,

        I = ∫ H = H(a) w + p_0 (b - μ_0) - p_1 (b - μ_1)

    is known exactly, and |I| <= ∫ |H|. H cannot change its sign if H(a) >= p_1 or H(a) <= -p_0, and
    then ∫ |H| = |I|. Elsewhere ∫ |H| is at most the least of

    - ∫ |H'| + p_0 E|x_0 - μ_0| + p_1 E|x_1 - μ_1|, with H' for rows at their means: the triangle
      inequality for W_1, in which ∫ |F - F'| = p E|x - μ|;
    - w max(H(a) + p_0, p_1 - H(a)), since H lies between H(a) - p_1 and H(a) + p_0;
    - |I| + 2 ∫ H₋ for I >= 0, and H₋ <= (-H(a))₊ + p_1 F_1 and H₋ <= (-H(b))₊ + p_0 (1 - F_0) with
      F the cdfs inside the bin, so ∫ H₋ <= w (-H(a))₊ + p_1 (b - μ_1) and
      ∫ H₋ <= w (-H(b))₊ + p_0 (μ_0 - a); for I < 0 the same with the groups exchanged.

    Parameters
    ----------
    places : (m,) floats, mean score of each atom; cell after cell, sorted.
    mass, counts : (m,) weight and rows of each atom.
    offsets : (S + 1,) integers, where each cell begins.
    pairs : (k, 2) integers, the cells of the two groups in every level.
    sums : (m, 3) integers, what is known inside the bins.
    resolution : w.
    """
    bins = _bin_numbers(places, counts, sums, resolution)
    deviation = inside_bins(counts, sums)[3] * resolution
    return _bounds(places, bins, deviation, mass, offsets, pairs, resolution)


_KIND = "cells"
# Increased when older versions cannot read a file any more; the second has sums inside bins.
_FORMAT, _FORMAT_WITH_SUMS = 1, 2
# Names of the columns of `sums` in a file.
_SUMS = ("sum", "squares", "products")
# Numbers of rows are added up as floats and as 64-bit integers, both exact up to here.
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
    cluster : (m,) integers, the cluster of each row (person, household, school); tied rows then
        stay apart. `None` means that rows are independent.
    cluster_labels : labels of the clusters; `cluster_labels[cluster[i]]` is that of atom i.
    sums : (m, 3) integers, sums of positions inside each bin; atoms then stand at the mean of their
        rows. `None` if scores are exact, or no sums are known: atoms then stand in the middle of
        their bin.

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
        """Sort rows into cells, exactly and in O(n).

        Parameters
        ----------
        scores : (n,) finite numbers.
        sensitive_features : (n,) labels of the sensitive feature.
        legitimate_features : (n,) labels of the legitimate features; `None` means one level.
        sample_weight : (n,) numbers >= 0; rows of weight 0 are left out.
        cluster : (n,) labels of what rows have in common (a person with several rows, a
            household); `None` means that rows are independent.
        """
        values = numbers(scores, "scores")
        level, group = _encode_cells(legitimate_features, sensitive_features, values.size)
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
        """Make cells of a table of counts, such as a database returns for `group by`.

        Parameters
        ----------
        levels, groups : (m,) labels; `levels=None` means one level.
        values : (m,) finite numbers, exact scores or the middles of bins.
        counts : (m,) whole numbers >= 0, rows per line.
        mass : (m,) numbers >= 0, the sum of the sample weights of those rows; `None` means the
            counts.
        resolution : the width h of the bins. Rounding moves each score by at most h / 2, so every
            gap and every Wasserstein distance moves by at most h; intervals allow for it.
        """
        value = numbers(values, "values")
        level, group = _encode_cells(levels, groups, value.size)
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
        """Make cells of lines whose levels and groups are numbered already.

        Parameters
        ----------
        level, group : codes and labels; `level=None` means one level. Labels keep their order.
        values : (m,) finite floats.
        sample_weight : (m,) numbers >= 0, for lines that are rows.
        counts : (m,) integers, for lines that stand for several rows.
        cluster : codes and labels of what rows have in common, for lines that are rows.
        resolution : as for `from_counts`.
        sums : (m, 3) integers, sums of positions inside bins; the values are then their middles.
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
        totals = self.scaled()[0].atoms.totals
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
        bins = _bin_numbers(self.atoms.values, self.atoms.counts, self.sums, self.resolution)
        middles: FloatArray = (bins + 0.5) * self.resolution
        return middles

    @property
    def rounded(self) -> Atoms:
        """The atoms in the middles of their bins, as a test that permutes groups needs them."""
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

    def scaled(self, order: float = 2.0) -> tuple[Cells, Scale]:
        """Scale scores and weights so that costs of this order are finite, and return the scale.

        The cells are returned as they are if their costs are finite already.
        """
        if order not in self._in_scale:
            moderate = weight_factor(float(self.atoms.totals.max())) == 1.0
            self._in_scale[order] = moderate and choose_scale(*self.ends, order) == Scale()
        return (self, Scale()) if self._in_scale[order] else self._moderate

    @cached_property
    def _in_scale(self) -> dict[float, bool]:
        """Whether costs of an order are finite without scaling, for the orders asked for so far."""
        return {}

    @cached_property
    def _moderate(self) -> tuple[Cells, Scale]:
        """The cells for costs of any order, and their scale."""
        scale = choose_scale(*self.ends, HIGHEST_ORDER)
        values, mass = scale.inward(self.atoms.values), moderate_weights(self.atoms.mass)
        atoms = replace(self.atoms, values=values, mass_kept=mass)
        return replace(self, atoms=atoms, sums=None), scale

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of scores, levels and groups, whatever the order of rows and the engine."""
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

        One line per atom: codes of its level and group, its value (the middle of its bin), rows,
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
        write_with_notes(path, columns, notes)

    @classmethod
    def read(cls, path: str | Path) -> Cells:
        """Read cells that `write` or `likeforlike summarize` wrote to `path`.

        A file that was damaged or edited is refused: its fingerprint must be that of its lines.
        """
        return cls.read_about(path)[0]

    @classmethod
    def read_about(cls, path: str | Path) -> tuple[Cells, dict[str, Any]]:
        """Read cells from `path`, and the plain values that were written with them."""
        columns, notes = read_with_notes(path, _KIND)
        if notes.get("format") not in (_FORMAT, _FORMAT_WITH_SUMS):
            raise InputError(
                f"{path} has format {notes.get('format')!r}, and this version reads {_FORMAT} and "
                f"{_FORMAT_WITH_SUMS}; use the version of likeforlike that wrote it, or summarize "
                "again."
            )
        try:
            cells = _decode_cells(columns, notes)
            about: dict[str, Any] = dict(notes["about"])
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise InputError(f"{path} is damaged: {error}.") from error
        if cells.fingerprint != notes.get("fingerprint"):
            raise InputError(f"{path} was damaged or edited: its fingerprint is another one.")
        return cells, about

    def segments(self, group: int) -> IntArray:
        """Return the segments of one group (by position), level after level, shape (K,)."""
        return np.arange(len(self.levels)) * len(self.groups) + group

    def merge(self, *others: Cells) -> Cells:
        """Merge the rows of several cells, whose levels and groups need not agree.

        Rows with the same cluster label belong to the same cluster.

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
        levels, groups = zip(*(cells._lines() for cells in parts), strict=True)
        clusters = [codes for cells in parts if (codes := cells._clusters()) is not None]
        sums = [cells.sums for cells in parts if cells.sums is not None]
        return _collect(
            concatenate_codes(levels, "levels"),
            concatenate_codes(groups, "groups"),
            np.concatenate([cells.middles for cells in parts]),
            np.concatenate([cells.atoms.mass for cells in parts]),
            np.concatenate([cells.atoms.counts for cells in parts]),
            resolution=self.resolution,
            weighted=any(cells.weighted for cells in parts),
            cluster=concatenate_codes(clusters, "cluster") if clusters else None,
            sums=np.concatenate(sums) if len(sums) == len(parts) else None,
        )

    def with_scores(self, values: FloatArray, *, spent: bool = False) -> Cells:
        """Give each atom its new score in `values` (m,); scores may be tied then.

        `spent` says that `values` may be overwritten, which saves a copy.
        """
        alike = self.atoms.mass_kept.strides == (0,)
        if not self.weighted and self.cluster is None and alike:
            values = np.add(values, 0.0, out=values if spent else None)  # turns -0 into 0
            for low, high in pairwise(self.atoms.offsets.tolist()):
                values[low:high].sort()
            rows = SortedRows(np.empty(0, np.int64), values, self.atoms.offsets)
            return Cells(self.levels, self.groups, merge_ties(rows, spent=True))
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
        """Merge groups: each takes its new name, and groups without one are dropped.

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
        return self._select(stays[group.codes], level, Codes(code[group.codes], renamed.labels))

    def at_levels(self, kept: BoolArray) -> Cells:
        """Keep some of the levels, for which `kept` (K,) is true."""
        level, group = self._lines()
        return self._select(kept[level.codes], level, group)

    def _select(self, kept: BoolArray, level: Codes, group: Codes) -> Cells:
        """Keep some atoms, whose levels and groups may have new names."""
        return _collect(
            compact_labels(Codes(level.codes[kept], level.labels)),
            compact_labels(Codes(group.codes[kept], group.labels)),
            self.middles[kept],
            self.atoms.mass[kept],
            self.atoms.counts[kept],
            resolution=self.resolution,
            weighted=self.weighted,
            cluster=self._clusters(kept),
            sums=None if self.sums is None else self.sums[kept],
        )

    def pool_levels(self) -> Cells:
        """Merge all levels into one, "all"."""
        if len(self.levels) == 1:
            return self
        atoms = self.atoms
        apart = self.weighted or self.cluster is not None or self.sums is not None
        if not apart and int(self.counts.sum()) == atoms.values.size:
            by_group = np.arange(len(self.levels) * len(self.groups)).reshape(self.counts.shape).T
            rows = merge_segments(atoms.values, atoms.offsets, by_group)
            return Cells(("all",), self.groups, merge_ties(rows, spent=True), self.resolution)
        if not apart and atoms.counts_alone:
            # Rows are not many more, and need less memory than codes of where they are from.
            rows = _expand_groups(atoms, self.counts)
            return Cells(("all",), self.groups, merge_ties(rows, spent=True), self.resolution)
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

    def _lines(self) -> tuple[Codes, Codes]:
        """Return the level and the group of every atom."""
        n_levels, n_groups = len(self.levels), len(self.groups)
        sizes = np.diff(self.atoms.offsets)
        level = np.repeat(np.repeat(np.arange(n_levels), n_groups), sizes)
        return Codes(level, self.levels), self._group_lines()

    def _group_lines(self) -> Codes:
        """Return the group of every atom."""
        group = np.tile(np.arange(len(self.groups)), len(self.levels))
        return Codes(np.repeat(group, np.diff(self.atoms.offsets)), self.groups)

    def _clusters(self, kept: BoolArray | None = None) -> Codes | None:
        """Return the cluster of every atom, or of those that are kept."""
        if self.cluster is None:
            return None
        codes = self.cluster if kept is None else self.cluster[kept]
        return Codes(codes, self.cluster_labels)


def _encode_cells(levels: Column | None, groups: Column, size: int) -> tuple[Codes, Codes]:
    """Return the codes of the levels and groups of lines."""
    group = encode(groups, "groups")
    same_length(size, group.codes.size, "groups")
    if levels is None:
        return _one_level(size), group
    level = encode(levels, "levels")
    same_length(size, level.codes.size, "levels")
    return level, group


def _row_counts(counts: Column, size: int) -> FloatArray:
    """Check numbers of rows."""
    count = weights(counts, "counts", size)
    if (count != np.floor(count)).any():
        raise InputError("counts must be whole numbers; pass sums of weights as mass.")
    # The largest alone may overflow a sum.
    if float(count.max()) > _MOST_ROWS or float(count.sum()) > _MOST_ROWS:
        raise InputError(
            f"counts go up to {count.max():g}, but more than {_MOST_ROWS:.0g} rows in all cannot "
            "be counted exactly; pass sums of weights as mass, with smaller counts."
        )
    return count


def _summable(mass: FloatArray) -> FloatArray:
    """Check that the sum of masses does not overflow."""
    with np.errstate(over="ignore"):
        if np.isfinite(mass.sum()):
            return mass
    raise InputError("mass adds up to more than a number can hold; divide it by the largest.")


def _expand_groups(atoms: Atoms, counts: IntArray) -> SortedRows:
    """Return the rows of each group in order, from atoms of cells with (K, G) rows."""
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
    """Return the codes of the single level "all"."""
    return Codes(np.zeros(size, np.int64), ("all",))


def _decode_cells(columns: Mapping[str, Any], notes: Mapping[str, Any]) -> Cells:
    """Check the lines of a file and make cells of them."""
    value = numbers(columns["value"], "value")
    counts = _row_counts(columns["rows"], value.size)
    clusters = notes["clusters"]
    return _collect(
        attach_labels(columns["level"], notes["levels"], "level"),
        attach_labels(columns["group"], notes["groups"], "group"),
        value,
        _summable(weights(columns["mass"], "mass", value.size)),
        counts.astype(np.int64),
        resolution=float(notes["resolution"]),
        weighted=bool(notes["weighted"]),
        cluster=attach_labels(columns["cluster"], clusters, "cluster") if clusters else None,
        sums=np.stack([columns[name] for name in _SUMS], axis=1).astype(np.int64)
        if notes["format"] == _FORMAT_WITH_SUMS
        else None,
    )


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
    kept = _tie_order(mass, cluster, weighted=weighted)
    if kept is not None:
        level = Codes(level.codes[kept], level.labels)
        group = Codes(group.codes[kept], group.labels)
        values = values[kept]
        mass = None if mass is None else mass[kept]
        counts = None if counts is None else counts[kept]
        sums = None if sums is None else sums[kept]
        if cluster is not None:
            cluster = compact_labels(Codes(cluster.codes[kept], cluster.labels))
        level, group = compact_labels(level), compact_labels(group)
    shape = len(level.labels), len(group.labels)
    carried = mass is not None or cluster is not None
    ordered = sort_cells(values, level.codes, group.codes, shape, with_rows=carried)
    merge = not weighted and cluster is None
    atoms = merge_ties(ordered, mass, counts, merge=merge, spent=not carried)
    if sums is not None:
        begins = np.flatnonzero(np.diff(atom_codes(ordered), prepend=-1))
        sums = np.add.reduceat(sums[ordered.rows], begins, axis=0)
        bins = np.rint(atoms.values / resolution - 0.5)
        places = (bins + _mean_inside(atoms.counts, sums)) * resolution
        atoms = replace(atoms, values=places)
    names = level.labels, group.labels
    if cluster is None:
        return Cells(*names, atoms, resolution, weighted, sums=sums)
    members = cluster.codes[ordered.rows]
    return Cells(*names, atoms, resolution, weighted, members, cluster.labels, sums)


def _tie_order(
    mass: FloatArray | None, cluster: Codes | None, *, weighted: bool
) -> IntArray | None:
    """Order the lines of positive mass so that no sum depends on the order of rows.

    Tied rows that stay apart are put in order of weight, then of cluster. `None` means all lines,
    as they are.
    """
    if mass is None:
        return None if cluster is None else np.argsort(cluster.codes, kind="stable")
    if not weighted and cluster is None and mass.all():
        return None
    kept = np.flatnonzero(mass)
    if cluster is not None:
        return kept[np.lexsort((cluster.codes[kept], mass[kept]))]
    return kept[np.argsort(mass[kept], kind="stable")] if weighted else kept
