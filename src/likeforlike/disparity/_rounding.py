"""Scores that were rounded to bins: what sums inside the bins still tell, and what they leave open.

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

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.transport._compiled import compiled

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
