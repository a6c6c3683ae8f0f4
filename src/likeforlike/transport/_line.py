"""Transport on the line: cost, gradient and plan of two samples, and maps to barycenters.

On the line the optimal plan keeps the order, for every order p >= 1: the lowest goes to the lowest.
`_sweeps` has the formulas of cost and gradient; here two samples are sorted for it.

The barycenter of distributions P_a with shares π_a (they sum to one) has the mean of their quantile
functions, Q(u) = Σ_a π_a Q_a(u), a step function with as many *pieces* as the P_a have different
cumulative masses. A row of P_a holds an interval [low, high] of probability, and is carried to the
mean of Q over it:

    T = 1 / (high - low) ∫_low^high Q(u) du.

No other values of the rows, each with its mass, come closer to the barycenter in W_2, and they
have its mean exactly. Rows of equal value share the interval of their atom between them. A value
x between two neighboring atoms, of which the lower ends at probability c, takes the interval
[c - (1 - θ) δ_below, c + θ δ_above], where θ in (0, 1) is the way from one to the other and δ the
mass of the smallest row of an atom: T rises without jumps from atom to atom where rows are not
tied, and never falls anywhere. Values beyond the range are carried where its ends are.

References: Santambrogio (2015), *Optimal Transport for Applied Mathematicians*, chapter 2; Agueh
and Carlier (2011), *Barycenters in the Wasserstein space*, section 6.1.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Atoms, SortedRows, atom_codes, merge_ties, moderate_weights
from likeforlike.transport._jit import compiled
from likeforlike.transport._sorting import sort_rows
from likeforlike.transport._sweeps import pair_costs, pair_gradient, row_gradient
from likeforlike.transport._threads import run_in_threads


class Plan(NamedTuple):
    """A transport plan as a list of moves: `mass[k]` goes from `source[k]` to `target[k]`.

    Attributes
    ----------
    source, target : (m,) integers, positions in the two samples.
    mass : (m,) positive floats that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import plan
    >>> plan(np.array([0.0, 1.0]), np.array([2.0, 3.0])).mass
    array([0.5, 0.5])
    """

    source: IntArray
    target: IntArray
    mass: FloatArray


def monotone_plan(a: FloatArray, b: FloatArray) -> Plan:
    """Find the monotone plan between masses a and b, whose values rise."""
    below_a, below_b = np.cumsum(a), np.cumsum(b)
    # Scaled by the other side's total: equal shares meet exactly.
    ends_a, ends_b = below_a * below_b[-1], below_b * below_a[-1]
    ends = np.union1d(ends_a, ends_b)
    mass = np.diff(ends, prepend=0.0) / ends[-1]
    return Plan(np.searchsorted(ends_a, ends), np.searchsorted(ends_b, ends), mass)


def _two_samples(
    x: FloatArray, y: FloatArray, x_mass: FloatArray | None, y_mass: FloatArray | None
) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """Stack two samples: values, segments 0 and 1, masses (or `None` when every row counts one)."""
    values = np.concatenate([x, y])
    segments = np.repeat(np.arange(2), [x.size, y.size])
    if x_mass is None and y_mass is None:
        return values, segments, None
    parts = [np.ones(x.size) if x_mass is None else x_mass]
    parts.append(np.ones(y.size) if y_mass is None else y_mass)
    return values, segments, np.concatenate([moderate_weights(part) for part in parts])


_LEFT, _RIGHT = np.array([0]), np.array([1])


def cost(
    x: FloatArray,
    y: FloatArray,
    *,
    order: float = 2.0,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> float:
    """Compute the transport cost W_p^p between two weighted samples on the line.

    Parameters
    ----------
    x, y : (n,) and (m,) finite floats, neither empty.
    order : p >= 1, any real number.
    x_mass, y_mass : (n,) and (m,) positive floats, scaled to sum to one; `None` means equal.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import cost
    >>> cost(np.array([0.0, 1.0]), np.array([2.0, 3.0]), order=2)
    4.0
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    atoms = merge_ties(sort_rows(values, segments, 2), mass)
    return float(pair_costs(atoms, _LEFT, _RIGHT, order)[0])


def cost_and_gradient(
    x: FloatArray,
    y: FloatArray,
    *,
    order: float = 2.0,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray]:
    """Compute the transport cost W_p^p and its gradient with respect to x and to y.

    At ties, and for p = 1 where values of the two samples coincide, W_p^p has a kink; what is
    returned is the symmetric choice described at the head of `_sweeps`.

    Parameters
    ----------
    x, y, order, x_mass, y_mass : as for `cost`.

    Returns
    -------
    cost : W_p^p.
    grad_x, grad_y : (n,) and (m,) floats.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import cost_and_gradient
    >>> cost_and_gradient(np.array([0.0, 1.0]), np.array([2.0, 3.0]), order=2)
    (4.0, array([-2., -2.]), array([2., 2.]))
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    ordered = sort_rows(values, segments, 2)
    atoms = merge_ties(ordered, mass)
    value = float(pair_costs(atoms, _LEFT, _RIGHT, order)[0])
    by_atom = pair_gradient(atoms.packed, _LEFT, _RIGHT, np.ones(1), float(order))
    by_row = row_gradient(by_atom, atoms, ordered, mass)
    return value, by_row[: x.size], by_row[x.size :]


def plan(
    x: FloatArray,
    y: FloatArray,
    *,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> Plan:
    """Find the monotone plan between two samples; it is optimal for every order p >= 1.

    Parameters
    ----------
    x, y, x_mass, y_mass : as for `cost`.

    Returns
    -------
    At most n + m - 1 moves between rows of x and rows of y, in order of value.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import plan
    >>> plan(np.array([5.0, 1.0]), np.array([3.0]))
    Plan(source=array([1, 0]), target=array([0, 0]), mass=array([0.5, 0.5]))
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    ordered = sort_rows(values, segments, 2)
    sorted_mass = np.ones(values.size) if mass is None else mass[ordered.rows]
    moves = monotone_plan(sorted_mass[: x.size], sorted_mass[x.size :])
    rows_x, rows_y = ordered.rows[: x.size], ordered.rows[x.size :] - x.size
    return Plan(rows_x[moves.source], rows_y[moves.target], moves.mass)


class Ranks(NamedTuple):
    """Cumulative distribution functions, packed: segment s is `values[offsets[s]:offsets[s + 1]]`.

    Attributes
    ----------
    values : (m,) floats, strictly increasing inside each segment.
    ends : (m,) floats, the probability of this value or a lower one; the last of a segment is 1.
    steps : (m,) floats, the probability of the smallest row of each atom.
    offsets : (S + 1,) integers, where each of the S segments begins.
    """

    values: FloatArray
    ends: FloatArray
    steps: FloatArray
    offsets: IntArray


class Curves(NamedTuple):
    """Step functions on [0, 1], packed: curve k has the pieces begins[k], ..., stops[k] - 1.

    Attributes
    ----------
    values : floats, the value of each piece, never decreasing inside a curve.
    ends : floats, where each piece ends; it begins where the one before ends.
    sums, rests : floats, the integral up to the beginning of each piece, in two parts, because
        differences of integrals are divided by the mass of a single row.
    begins, stops : (k,) integers; places between a stop and the next beginning are not used.
    """

    values: FloatArray
    ends: FloatArray
    sums: FloatArray
    rests: FloatArray
    begins: IntArray
    stops: IntArray


@compiled
def _shares_below(mass: FloatArray, offsets: IntArray, totals: FloatArray) -> FloatArray:
    """Compute the cumulative mass of each segment, scaled to end at one."""
    ends = np.empty(mass.size)
    for s in range(totals.size):
        reached = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            reached += mass[i]
            ends[i] = reached / totals[s]
    return ends


def ranks(atoms: Atoms) -> Ranks:
    """Compute the cdf of each packed distribution; neighbors of equal value are merged."""
    ordered = SortedRows(np.arange(atoms.values.size), atoms.values, atoms.offsets)
    merged = merge_ties(ordered, atoms.mass, atoms.counts)
    firsts = np.flatnonzero(np.diff(atom_codes(ordered), prepend=-1))
    smallest = np.minimum.reduceat(atoms.mass / atoms.counts, firsts)
    smallest /= np.repeat(merged.totals, np.diff(merged.offsets))
    ends = _shares_below(merged.mass, merged.offsets, merged.totals)
    return Ranks(merged.values, ends, smallest, merged.offsets)


@compiled
def _mean_curve(known: Ranks, members: IntArray, shares: FloatArray, curves: Curves, k: int) -> int:
    """Fill in curve k, the mean quantile function of the segments `members`; return its stop."""
    place, last = known.offsets[members], known.offsets[members + 1] - 1
    here, until = known.values[place], known.ends[place]
    at, reached, highest = curves.begins[k], 0.0, -np.inf
    while reached < 1.0:
        # Differences from one of them: where all agree, so does their mean, to the last bit.
        center = here[0] + (shares * (here - here[0])).sum()
        highest = max(highest, center)
        reached = until.min()
        curves.values[at], curves.ends[at] = highest, reached
        at += 1
        for g in range(members.size):
            if until[g] <= reached and place[g] < last[g]:
                place[g] += 1
                here[g], until[g] = known.values[place[g]], known.ends[place[g]]
    return int(at)


@compiled
def _integrate(curves: Curves, k: int) -> None:
    """Fill in the integrals of curve k by compensated summation (Neumaier)."""
    total, rest, reached = 0.0, 0.0, 0.0
    for at in range(curves.begins[k], curves.stops[k]):
        curves.sums[at], curves.rests[at] = total, rest
        part = (curves.ends[at] - reached) * curves.values[at]
        summed = total + part
        if abs(total) >= abs(part):
            rest += (total - summed) + part
        else:
            rest += (part - summed) + total
        total, reached = summed, curves.ends[at]


@compiled
def _mean_curves(known: Ranks, shares: FloatArray, curves: Curves, first: int, last: int) -> None:
    for k in range(first, last):
        present = np.flatnonzero(shares[k])
        if present.size:
            members = present + k * shares.shape[1]
            curves.stops[k] = _mean_curve(known, members, shares[k][present], curves, k)
            _integrate(curves, k)


def mean_curves(known: Ranks, shares: FloatArray) -> Curves:
    """Compute the mean quantile functions of k sets of G distributions, by one joint sweep each."""
    sizes = np.diff(known.offsets).reshape(shares.shape).sum(axis=1, where=shares > 0.0)
    begins = np.cumsum(sizes) - sizes
    values, ends, sums, rests = (np.empty(int(sizes.sum())) for _ in range(4))
    curves = Curves(values, ends, sums, rests, begins, begins.copy())
    run_in_threads(partial(_mean_curves, known, shares, curves), sizes)
    return curves


@compiled
def seek(numbers: FloatArray, at: int, stop: int, goal: float) -> int:
    """Find the first place from `at` on that holds `goal` or more, by exponential search. A kernel.

    `numbers` never fall between `at` and `stop`, which is returned if all are less.
    """
    stride = 1
    while at + stride <= stop and numbers[at + stride - 1] < goal:
        at += stride
        stride *= 2
    stop = min(stop, at + stride)
    while at < stop:
        middle = (at + stop) // 2
        if numbers[middle] < goal:
            at = middle + 1
        else:
            stop = middle
    return at


@compiled
def _interpolate_interval(
    known: Ranks, first: int, stop: int, atom: int, value: float
) -> tuple[float, float]:
    """Return the interval of a value that is no atom; `atom` is the next one above it."""
    if atom == first:
        return 0.0, known.steps[first]
    if atom == stop:
        return 1.0 - known.steps[stop - 1], 1.0
    below = known.values[atom - 1]
    way = (value - below) / (known.values[atom] - below)
    edge = known.ends[atom - 1]
    return edge - (1.0 - way) * known.steps[atom - 1], edge + way * known.steps[atom]


@compiled
def _split_interval(
    low: float, high: float, step: float, mass: FloatArray, lows: FloatArray, highs: FloatArray
) -> None:
    """Split the interval of an atom among tied rows by their mass, evenly if they have none."""
    whole = mass.sum()
    even = whole <= 0.0
    if even:
        whole = float(lows.size)
    # No nearer to the neighbors than the smallest row of the atom came, so that tied rows stay in
    # order with values between the atoms.
    latest, soonest = max(low, high - step), min(high, low + step)
    done = 0.0
    for row in range(lows.size):
        lows[row] = min(low + done / whole * (high - low), latest)
        done += 1.0 if even else mass[row]
        highs[row] = max(min(low + done / whole * (high - low), high), soonest)


@compiled
def _intervals(
    values: FloatArray,
    mass: FloatArray,
    known: Ranks,
    segment: int,
    lows: FloatArray,
    highs: FloatArray,
) -> None:
    """Fill in the interval of probability that each of the sorted values takes in a segment."""
    first, stop = known.offsets[segment], known.offsets[segment + 1]
    atom, start = first, 0
    while start < values.size:
        behind = start + 1
        while behind < values.size and values[behind] == values[start]:
            behind += 1
        atom = seek(known.values, atom, stop, values[start])
        if atom < stop and known.values[atom] == values[start]:
            low = known.ends[atom - 1] if atom > first else 0.0
            high, step = known.ends[atom], known.steps[atom]
            tied = slice(start, behind)
            _split_interval(low, high, step, mass[tied], lows[tied], highs[tied])
        else:
            low, high = _interpolate_interval(known, first, stop, atom, values[start])
            lows[start:behind] = low
            highs[start:behind] = high
        start = behind


@compiled
def _mean(curves: Curves, i: int, j: int, low: float, high: float) -> float:
    """Return the mean of a curve over [low, high], which begins in piece i and ends in piece j."""
    bottom = curves.values[i]
    if j <= i:
        return float(bottom)
    top, since, until = curves.values[j], curves.ends[i], curves.ends[j - 1]
    between = (curves.sums[j] - curves.sums[i + 1]) + (curves.rests[j] - curves.rests[i + 1])
    above = between - bottom * (until - since) + (top - bottom) * (high - until)
    return float(min(max(bottom + above / (high - low), bottom), top))


@compiled
def _carry(
    ordered: SortedRows,
    mass: FloatArray,
    known: Ranks,
    curves: Curves,
    segments: IntArray,
    chosen: IntArray,
    carried: FloatArray,
    first: int,
    last: int,
) -> None:
    for s in range(first, last):
        rows = slice(ordered.offsets[s], ordered.offsets[s + 1])
        values = ordered.values[rows]
        lows, highs = np.empty(values.size), np.empty(values.size)
        _intervals(values, mass[rows], known, segments[s], lows, highs)
        i, stop, highest = curves.begins[chosen[s]], curves.stops[chosen[s]], -np.inf
        for row in range(lows.size):
            i = seek(curves.ends, i, stop, lows[row])
            if curves.ends[i] == lows[row] and i + 1 < stop:
                i += 1
            j = seek(curves.ends, i, stop, min(highs[row], 1.0))
            # Only rounding could break the order of means of a curve that never falls.
            highest = max(highest, _mean(curves, i, j, lows[row], highs[row]))
            carried[ordered.offsets[s] + row] = highest


def carry(
    ordered: SortedRows,
    known: Ranks,
    curves: Curves,
    segments: IntArray,
    chosen: IntArray,
    mass: FloatArray | None = None,
) -> FloatArray:
    """Carry rows from distributions to curves, in order of value: O(log n) per row at most."""
    sorted_mass = np.zeros(ordered.values.size) if mass is None else mass[ordered.rows]
    in_order = np.empty(ordered.values.size)
    work = partial(_carry, ordered, sorted_mass, known, curves, segments, chosen, in_order)
    run_in_threads(work, np.diff(ordered.offsets))
    carried = np.empty(in_order.size)
    carried[ordered.rows] = in_order
    return carried
