"""Atoms: many distributions on the line, packed one after the other, and their scale.

Once rows are sorted (`_sorting`), equal values of a segment merge into one *atom* that carries
their mass. From then on transport between any two segments is a single sweep.

Powers of scores and products of weights leave the range of floating-point numbers long before the
scores and weights themselves do, and means of scores far from 0 lose the digits in which people
differ. Statistics are therefore taken of

    (score - origin) / size,

with `size` the power of two next to the reach of the scores and `origin` the lowest of them where
all are far from 0, and of weights divided by a power of two. Both steps are exact in floating
point: dividing by a power of two is, and so is the difference of two numbers that are at most a
factor of two apart (Sterbenz, 1974, *Floating-Point Computation*). Scores and weights of moderate
size are left as they are. This module is the one place for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray, Number, plain
from likeforlike.errors import InputError
from likeforlike.transport._jit import compiled


class SortedRows(NamedTuple):
    """Rows in order of (segment, value): what a sort returns.

    Attributes
    ----------
    rows : (n,) integers, the original row at each sorted position; ties keep their order.
        Empty when they were not asked for.
    values : (n,) floats, the value at each sorted position.
    offsets : (S + 1,) integers, where each of the S segments begins.
    """

    rows: IntArray
    values: FloatArray
    offsets: IntArray


# Up to this many atoms, mass in the form that kernels take is cached: converting it again costs
# more than a sweep. For more atoms it would fill the memory.
_KEPT = 1_000_000
# Block size of passes over arrays of which no whole copy fits the memory.
_AT_ONCE = 100_000
_MOST_SMALL = 65_535
_ONE_ROW, _ONE_COUNT = np.float64(1.0), np.int64(1)


class PackedAtoms(NamedTuple):
    """Atoms as kernels take them: values (m,), mass (m,), offsets (S + 1,) and totals (S,)."""

    values: FloatArray
    mass: FloatArray
    offsets: IntArray
    totals: FloatArray


@dataclass(frozen=True)
class Atoms:
    """Distributions on the line, packed: segment s is `values[offsets[s]:offsets[s + 1]]`.

    Attributes
    ----------
    values : (m,) floats, increasing inside each segment; where every row keeps a weight of its
        own, equal values may follow each other.
    mass_kept : `mass` as stored: (m,) positive floats, or for very many atoms of a few rows each
        16-bit integers; a segment need not sum to one.
    counts_kept : `counts` as stored: (m,) integers, the number of rows of each atom.
    offsets : (S + 1,) integers, where each of the S segments begins.

    Where every atom is a row without a weight, mass and counts are a single 1 each, broadcast to
    (m,) (stride 0) and read-only. Kernels take them `plain`.
    """

    values: FloatArray
    mass_kept: FloatArray
    counts_kept: IntArray
    offsets: IntArray

    @property
    def mass(self) -> FloatArray:
        """Mass (m,) as floats."""
        return self.mass_kept.astype(np.float64, copy=False)

    @property
    def counts(self) -> IntArray:
        """Number of rows (m,) of each atom."""
        return self.counts_kept.astype(np.int64, copy=False)

    @property
    def counts_alone(self) -> bool:
        """Whether mass and counts are the same small integers."""
        mass: object = self.mass_kept
        return mass is self.counts_kept

    @property
    def packed(self) -> PackedAtoms:
        """Values (m,), mass (m,), offsets (S + 1,) and totals (S,): all that transport reads."""
        mass = self._plain_mass if self.values.size <= _KEPT else plain(self.mass)
        return PackedAtoms(self.values, mass, self.offsets, self.totals)

    @property
    def light(self) -> PackedAtoms:
        """The same for kernels that also take mass as small integers, for very many atoms."""
        if self.mass_kept.strides == (0,) and self.values.size > _KEPT:
            mass = np.ones(self.values.size, np.uint8)
            return PackedAtoms(self.values, mass, self.offsets, self.totals)  # type: ignore[arg-type]
        if self.counts_alone:
            return PackedAtoms(self.values, self.mass_kept, self.offsets, self.totals)
        return self.packed

    @cached_property
    def _plain_mass(self) -> FloatArray:
        """Mass (m,) as kernels take it."""
        return plain(self.mass)

    @cached_property
    def totals(self) -> FloatArray:
        """Mass of each segment, shape (S,), summed from the left as sweeps do; 0 if empty."""
        if self.mass_kept.strides == (0,):  # ones add up to their number, exactly
            return np.diff(self.offsets).astype(np.float64)
        if self.counts_alone:  # sums of whole numbers are exact
            return segment_counts(self).astype(np.float64)
        return segment_sums(plain(self.mass), np.empty(0), self.offsets)


def _begins(values: FloatArray, offsets: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether an atom begins at each sorted position."""
    begins = np.ones(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    firsts = offsets[:-1]
    begins[firsts[firsts < values.size]] = True
    return begins


def atom_codes(ordered: SortedRows) -> IntArray:
    """Return the atom that each sorted position belongs to, shape (n,)."""
    atom_of: IntArray = np.cumsum(_begins(ordered.values, ordered.offsets)) - 1
    return atom_of


def _repeat_one(one: Number, size: int) -> npt.NDArray[Number]:
    """Return a number as an array without strides, read-only; `np.broadcast_to` takes ten times."""
    return np.ndarray(size, one.dtype, one.tobytes(), 0, (0,))


def merge_ties(
    ordered: SortedRows,
    mass: FloatArray | None = None,
    counts: IntArray | None = None,
    *,
    merge: bool = True,
    spent: bool = False,
) -> Atoms:
    """Merge sorted rows into atoms, m <= n of them; `spent` rows may be overwritten."""
    values = ordered.values
    sorted_mass = None if mass is None else mass[ordered.rows]
    sorted_counts = None if counts is None else counts[ordered.rows]
    begins = _begins(values, ordered.offsets) if merge else None
    n_atoms = values.size if begins is None else int(np.count_nonzero(begins))
    if begins is None or n_atoms == values.size:  # every row is an atom, and nothing is copied
        return Atoms(
            values,
            _repeat_one(_ONE_ROW, n_atoms) if sorted_mass is None else sorted_mass,
            _repeat_one(_ONE_COUNT, n_atoms) if sorted_counts is None else sorted_counts,
            ordered.offsets,
        )
    if mass is None and counts is None and n_atoms > _KEPT:
        offsets, few = _small_counts(begins, ordered.offsets)
        if few is not None:
            kept = _compact(values, begins) if spent else values[begins]
            return Atoms(kept, few, few, offsets)  # type: ignore[arg-type]
    firsts = np.flatnonzero(begins)
    rows = np.diff(firsts, append=values.size)
    if sorted_mass is None:
        summed = rows.astype(np.float64)
    else:
        summed = sum_parts(np.cumsum(begins) - 1, sorted_mass, n_atoms)
    summed_counts = rows if sorted_counts is None else np.add.reduceat(sorted_counts, firsts)
    offsets = np.searchsorted(firsts, ordered.offsets)
    return Atoms(values[firsts], summed, summed_counts, offsets)


def _compact(values: FloatArray, kept: npt.NDArray[np.bool_]) -> FloatArray:
    """Select the `kept` values in place, or as a copy if that halves the memory."""
    size = 0
    for first in range(0, values.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        here = values[part][kept[part]]
        values[size : size + here.size] = here
        size += here.size
    return values[:size] if 2 * size > values.size else values[:size].copy()


def _small_counts(
    begins: npt.NDArray[np.bool_], offsets: IntArray
) -> tuple[IntArray, npt.NDArray[np.uint16] | None]:
    """Return where segments begin among atoms, and the counts of atoms if 16 bits suffice."""
    new_offsets = np.zeros(offsets.size, np.int64)
    rows = np.empty(int(np.count_nonzero(begins)), np.uint16)
    seen, previous = 0, 0
    for first in range(0, begins.size, _AT_ONCE):
        here = np.flatnonzero(begins[first : first + _AT_ONCE]) + first
        inside = slice(*np.searchsorted(offsets, [first, first + _AT_ONCE]))
        new_offsets[inside] = seen + np.searchsorted(here, offsets[inside])
        each = np.diff(here, prepend=previous)[int(first == 0) :]
        if each.size and each.max() > _MOST_SMALL:
            return offsets, None
        known = slice(max(seen - 1, 0), max(seen - 1, 0) + each.size)
        rows[known] = each
        seen, previous = seen + here.size, int(here[-1]) if here.size else previous
    rows[-1:] = min(begins.size - previous, _MOST_SMALL)
    new_offsets[offsets == begins.size] = seen
    return new_offsets, rows if begins.size - previous <= _MOST_SMALL else None


def sum_parts(part: IntArray, amounts: FloatArray, n_parts: int) -> FloatArray:
    """Sum the amounts of each part, from left to right as sweeps do."""
    return np.bincount(part, amounts, n_parts).astype(np.float64, copy=False)


@compiled
def segment_sums(mass: FloatArray, values: FloatArray, offsets: IntArray) -> FloatArray:
    """Sum mass * value of each segment; empty `values` mean one each. A kernel."""
    sums = np.zeros(offsets.size - 1)
    for s in range(sums.size):
        for i in range(offsets[s], offsets[s + 1]):
            sums[s] += mass[i] * values[i] if values.size else mass[i]
    return sums


def run_sums(amounts: npt.NDArray[Number], begins: IntArray) -> npt.NDArray[Number]:
    """Sum amounts from each place to the next, without a copy of small integers."""
    if amounts.dtype != np.uint16:
        return np.add.reduceat(amounts, begins)
    ends = [*begins[1:].tolist(), amounts.size]
    sums = [amounts[low:high].sum() for low, high in zip(begins.tolist(), ends, strict=True)]
    return np.array(sums)


def segment_counts(atoms: Atoms) -> IntArray:
    """Count the rows of each of the S segments."""
    if atoms.counts_kept.strides == (0,):
        return np.diff(atoms.offsets)
    rows = np.zeros(atoms.offsets.size - 1, np.int64)
    filled = atoms.offsets[:-1] < atoms.offsets[1:]
    if filled.any():
        rows[filled] = run_sums(atoms.counts_kept, atoms.offsets[:-1][filled])
    return rows


def segment_means(atoms: Atoms) -> FloatArray:
    """Compute the mean value of each of the S segments; NaN for an empty one."""
    if atoms.mass_kept.strides == (0,):  # a mass of 1 changes no product
        sums = segment_sums(atoms.values, np.empty(0), atoms.offsets)
    else:
        sums = segment_sums(plain(atoms.mass_kept), atoms.values, atoms.offsets)
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums / atoms.totals
    return means


# Costs of order p and the largest weight lie between 2^-400 and 2^400: products of two of them, and
# sums over all rows, are then safe.
_MODERATE = 400.0
# Scores this many times their reach away from 0, which loses ten binary digits, are moved.
_FAR = 1024.0
HIGHEST_ORDER = 32.0
"""Of costs W_p^p: groups that are 1e-9 of the reach apart still have a cost above underflow."""


class Scale(NamedTuple):
    """How scores were scaled: score = origin + size * scaled score, with size a power of two."""

    origin: float = 0.0
    size: float = 1.0

    def inward(self, scores: FloatArray) -> FloatArray:
        """Scale scores; those out of range become infinite."""
        if self == Scale():
            return scores
        with np.errstate(over="ignore"):
            scaled: FloatArray = (scores - self.origin) / self.size
        return scaled

    def outward(self, scaled: FloatArray) -> FloatArray:
        """Convert scaled scores back."""
        if self == Scale():
            return scaled
        scores: FloatArray = self.origin + self.size * scaled
        return scores

    def powered(self, cost: float, order: float) -> float:
        """Compute cost * size^order, the cost of scores from that of scaled ones; it may be inf."""
        return cost if self.size == 1.0 else float(rescale_cost(np.array(cost), self.size, order))


def rescale_cost(costs: FloatArray, size: float, order: float) -> FloatArray:
    """Compute costs * size^order in two steps, because the power may overflow; 0 and inf stay."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        half = np.float64(size) ** (order / 2.0)
        same = (costs == 0.0) | np.isinf(costs)
        grown: FloatArray = np.where(same, costs, costs * half * half)
    return grown


def is_moderate(reach: float, order: float) -> bool:
    """Return whether costs of this order do not overflow for scores of this reach."""
    return reach == 0.0 or abs(math.log2(reach)) * order <= _MODERATE


def choose_scale(lowest: float, highest: float, order: float) -> Scale:
    """Choose the scale of scores between these ends; `Scale()` if they need none."""
    reach = highest - lowest
    if math.isinf(reach):
        raise InputError(
            f"scores reach from {lowest:g} to {highest:g}, and floating-point numbers cannot say "
            "how far that is; divide the scores by 10."
        )
    apart = min(abs(lowest), abs(highest)) if (lowest > 0.0) == (highest > 0.0) else 0.0
    if apart / _FAR > reach:
        return Scale(lowest, _floor_to_power_of_two(reach))
    if is_moderate(reach, order):
        return Scale()
    return Scale(0.0, _floor_to_power_of_two(max(abs(lowest), abs(highest))))


def _floor_to_power_of_two(extent: float) -> float:
    """Return the largest power of two up to a positive number; ½ for 0."""
    return math.ldexp(1.0, math.frexp(extent)[1] - 1)


def weight_factor(largest: float) -> float:
    """Return the power of two that brings weights, or sums of them, to a moderate size."""
    limit = 2.0**_MODERATE
    if largest == 0.0 or 1.0 / limit <= largest <= limit:
        return 1.0
    # The largest is infinite where a sum overflowed.
    exponent = 1024 if math.isinf(largest) else math.frexp(largest)[1]
    return math.ldexp(1.0, min(int(_MODERATE) - exponent, 1023))


def moderate_weights(weights: FloatArray) -> FloatArray:
    """Scale weights to a moderate size by a power of two, where they are not."""
    factor = weight_factor(float(weights.max(initial=0.0)))
    if factor == 1.0:
        return weights
    scaled: FloatArray = weights * factor
    lost = weights[(weights > 0.0) & (scaled == 0.0)]
    if lost.size:
        raise InputError(
            f"weights reach from {lost.min():g} to {weights.max():g}, too far apart to be "
            "compared; leave the smallest out, or make the largest smaller."
        )
    return scaled


def normalize_weights(weights: FloatArray) -> FloatArray:
    """Divide weights by the power of two next to the largest, which makes them 0 to 2."""
    scaled: FloatArray = weights / _floor_to_power_of_two(float(weights.max()))
    return scaled


def means_and_spreads(values: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute weighted means and standard deviations of columns of any size; shares sum to one.

    A column that is constant up to rounding has the spread 0.
    """
    sizes = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)
    scaled = values / sizes
    means = share @ scaled
    spreads = np.sqrt(share @ (scaled - means) ** 2)
    spreads = np.where(spreads <= 1e-12 * np.abs(means), 0.0, spreads)
    return means * sizes, spreads * sizes


@compiled
def balance_totals(total_u: float, total_v: float) -> tuple[float, float]:
    """Scale the totals of two sides so that no product with a mass of the other side overflows.

    A kernel. Sides of moderate size stay as they are; else such products are at most 4.
    """
    whole = total_u * total_v
    if 1e-200 < whole < 1e200:
        return total_u, total_v
    # 2^1024 overflows, and so little mass does not matter.
    exponent_u = min(max(math.frexp(total_u)[1], -1000), 1000)
    exponent_v = min(max(math.frexp(total_v)[1], -1000), 1000)
    # First the side's own exponent, then that of the other: their sum may be out of range.
    return (
        math.ldexp(math.ldexp(total_u, -exponent_u), -exponent_v),
        math.ldexp(math.ldexp(total_v, -exponent_v), -exponent_u),
    )
