"""The carry: move values along a number as their distribution moves, from one position to another.

A value s at position u becomes Q(F(s | u) | c) at position c, with F the distribution of values
given the position and Q its quantiles, fitted by local lines to all lines together. What a value
has in common with others at its position is exchanged; its rank among them stays. Who is
carried to the same position can be compared there.

Many different values: s = m(u) + σ(u) z. Mean and scale are curves, and the distribution of z is a
table on 49 nodes, smoothed with a width of at least .1. At most 64 different values: the table is
on the values themselves, and a seeded uniform number says where inside its step a value lies
(Ferguson, 1967); what comes out is one of the values again.

Lines carried to the centers of their windows, as a test needs them.

Groups are not looked at: the carry is one of all lines together, and labels stay as exchangeable
inside a window as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._grid import FineCells, Place, Windows
from likeforlike.smoothing._local_linear import Choice, choose, smoothed
from likeforlike.transport import compiled, in_parts

MOST_VALUES = 64
"""Up to this many different values are carried to values, not between them."""

_NODES = 49
_LEAST_SCALE_WIDTH, _LEAST_CDF_WIDTH = 0.05, 0.1
_LEAST_VARIANCE = 1e-2
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class ScaleCarry:
    """The carry of many different values: z = (s - m) / σ and the distribution of z.

    Attributes
    ----------
    cells : what it was fitted on.
    mean, scale : (m,) floats, curves over the cells.
    nodes : (q,) rising floats.
    cdf : (m, q) floats, F(node | cell), rising.
    choice : how the mean was smoothed.
    """

    cells: FineCells
    mean: FloatArray
    scale: FloatArray
    nodes: FloatArray
    cdf: FloatArray
    choice: Choice

    def standard(self, values: FloatArray, place: Place) -> FloatArray:
        """z of values at these places."""
        z: FloatArray = (values - place.read(self.mean)) / place.read(self.scale)
        return z

    def move(self, values: FloatArray, start: Place, end: Place) -> FloatArray:
        """Carry values from places to places; (n,) each."""
        z, brought = self.standard(values, start), np.empty(values.size)

        def part(first: int, last: int) -> None:
            at = slice(first, last)
            _move(z[at], *start.of(at), *end.of(at), self.nodes, self.cdf, brought[at])

        in_parts(part, np.ones(values.size, np.int64))
        moved: FloatArray = end.read(self.mean) + end.read(self.scale) * brought
        return moved

    def rest(self, values: FloatArray, place: Place) -> FloatArray:
        """1{z <= node} - F(node | place) for every line and node, (n, q)."""
        below = self.standard(values, place)[:, None] <= self.nodes[None, :]
        rest: FloatArray = below - cdf_at(self.cdf, place)
        return rest


@dataclass(frozen=True, slots=True)
class ValueCarry:
    """The carry of few different values, such as decisions and ratings.

    Attributes
    ----------
    cells : what it was fitted on.
    values : (k,) rising floats.
    cdf : (m, k) floats, F(value | cell), rising to 1.
    choice : how it was smoothed.
    """

    cells: FineCells
    values: FloatArray
    cdf: FloatArray
    choice: Choice

    def move(self, values: FloatArray, start: Place, end: Place, uniform: FloatArray) -> FloatArray:
        """Carry values from places to places; `uniform` (n,) in [0, 1) says where in its step."""
        moved = np.empty(values.size, np.int64)
        _move_values(np.searchsorted(self.values, values), *start, *end, self.cdf, uniform, moved)
        return self.values[moved]

    def chances(self, values: FloatArray, start: Place, end: Place) -> FloatArray:
        """The chance that a value becomes each of the values, (n, k)."""
        code = np.searchsorted(self.values, values)
        return step_chances(code, cdf_at(self.cdf, start), cdf_at(self.cdf, end))

    def rest(self, values: FloatArray, place: Place) -> FloatArray:
        """1{s <= value} - F(value | place) for all values but the last, (n, k - 1)."""
        below = values[:, None] <= self.values[None, :-1]
        rest: FloatArray = below - cdf_at(self.cdf[:, :-1], place)
        return rest


def cdf_at(cdf: FloatArray, place: Place) -> FloatArray:
    """Rows of a table of distribution functions at these places, (n, k)."""
    share = place.share[:, None]
    at: FloatArray = cdf[place.below] * (1.0 - share) + cdf[place.above] * share
    return at


def step_chances(code: IntArray, at_start: FloatArray, at_end: FloatArray) -> FloatArray:
    """How the step of a value in one distribution is spread over another, (n, k).

    A value outside the first distribution stays what it is.
    """
    lines, k = np.arange(code.size), at_start.shape[1]
    high = at_start[lines, code]
    low = np.where(code > 0, at_start[lines, np.maximum(code - 1, 0)], 0.0)
    reached = np.diff(np.clip(at_end, low[:, None], high[:, None]), axis=1, prepend=low[:, None])
    room = high > low
    spread = reached / np.where(room, high - low, 1.0)[:, None]
    chances: FloatArray = np.where(room[:, None], spread, np.arange(k) == code[:, None])
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def fit_carry(cells: FineCells, values: FloatArray) -> ScaleCarry | ValueCarry:
    """Fit the carry of values (n,) to the lines the cells were made of."""
    distinct = few_values(values)
    return scale_carry(cells, values) if distinct is None else value_carry(cells, values, distinct)


def few_values(values: FloatArray) -> FloatArray | None:
    """The different values, if there are few; `None` if there are many."""
    # A glance at the first rows spares most columns the sort.
    if np.unique(values[: 4 * MOST_VALUES]).size > MOST_VALUES:
        return None
    distinct = np.unique(values)
    return distinct if distinct.size <= MOST_VALUES else None


def scale_carry(cells: FineCells, values: FloatArray) -> ScaleCarry:
    """Fit the carry of many different values."""
    choice = choose(cells, cells.mean(values), cells.variance(values))
    mean = smoothed(cells, cells.mean(values), choice)
    place = cells.own_places
    rest = values - place.read(mean)
    square = cells.mean(rest * rest)
    wide = choose(cells, square, cells.variance(rest * rest))
    wide = wide.at_least(_LEAST_SCALE_WIDTH, still=cells.still)
    least = _LEAST_VARIANCE * float(cells.total @ square) / float(cells.total.sum())
    scale = np.sqrt(np.maximum(smoothed(cells, square, wide), least or 1.0))
    z = rest / place.read(scale)
    nodes = _nodes(z, cells.rows)
    steps = cells.means_of_steps(np.searchsorted(nodes, z), nodes.size + 1)[:, :-1]
    cdf = _rising(smoothed(cells, steps, wide.at_least(_LEAST_CDF_WIDTH, still=cells.still)))
    return ScaleCarry(cells, mean, scale, nodes, cdf, choice)


def _nodes(z: FloatArray, rows: FloatArray) -> FloatArray:
    """Values of z at 49 ranks between 0 and 1."""
    if (rows == 1.0).all():
        places = np.ceil(np.linspace(0.0, 1.0, _NODES + 2)[1:-1] * z.size).astype(np.int64) - 1
        return np.unique(np.sort(z)[places])
    order = np.argsort(z)
    cumulative = np.cumsum(rows[order])
    wanted = np.linspace(0.0, 1.0, _NODES + 2)[1:-1] * cumulative[-1]
    return np.unique(z[order][np.searchsorted(cumulative, wanted)])


def _rising(cdf: FloatArray) -> FloatArray:
    inside = np.clip(cdf, _EDGE, 1.0 - _EDGE)
    # A slope of next to nothing lets every share be found.
    slope = 1e-9 * np.arange(cdf.shape[1])
    rising: FloatArray = np.maximum.accumulate(inside, axis=1) + slope
    return rising


def value_carry(cells: FineCells, values: FloatArray, distinct: FloatArray) -> ValueCarry:
    """Fit the carry of few different values, smoothed as their mean is."""
    choice = choose(cells, cells.mean(values), cells.variance(values))
    steps = cells.means_of_steps(np.searchsorted(distinct, values), distinct.size)
    return ValueCarry(cells, distinct, rising_to_one(smoothed(cells, steps, choice)), choice)


def rising_to_one(cdf: FloatArray) -> FloatArray:
    """Distribution functions in rows: not below 0, never falling, 1 at the end."""
    cdf = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0), axis=1)
    cdf[:, -1] = 1.0
    return cdf


@compiled
def _at(cdf: FloatArray, below: int, above: int, share: float, k: int) -> float:
    return float((1.0 - share) * cdf[below, k] + share * cdf[above, k])


@compiled
def _first_reaching(cdf: FloatArray, below: int, above: int, share: float, wanted: float) -> int:
    """The first column whose share is not below the one wanted; their number if there is none."""
    low, high = 0, cdf.shape[1]
    while low < high:
        middle = (low + high) // 2
        if _at(cdf, below, above, share, middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _quantile(
    cdf: FloatArray, below: int, above: int, share: float, nodes: FloatArray, wanted: float
) -> float:
    k = _first_reaching(cdf, below, above, share, wanted)
    if k == 0:
        return float(nodes[0])
    if k == nodes.size:
        return float(nodes[k - 1])
    left = _at(cdf, below, above, share, k - 1)
    right = _at(cdf, below, above, share, k)
    return float(nodes[k - 1] + (nodes[k] - nodes[k - 1]) * (wanted - left) / (right - left))


@compiled
def _move(
    z: FloatArray,
    from_below: IntArray,
    from_above: IntArray,
    from_share: FloatArray,
    to_below: IntArray,
    to_above: IntArray,
    to_share: FloatArray,
    nodes: FloatArray,
    cdf: FloatArray,
    moved: FloatArray,
) -> None:
    """Carry z: both nodes around it go to the quantiles of their shares, and z keeps its part.

    Beyond the outermost nodes z moves as much as they do.
    """
    last = nodes.size - 1
    for i in range(z.size):
        low, high = 0, nodes.size
        while low < high:
            middle = (low + high) // 2
            if nodes[middle] < z[i]:
                low = middle + 1
            else:
                high = middle
        a, b = max(low - 1, 0), min(low, last)
        here = (from_below[i], from_above[i], from_share[i])
        there = (to_below[i], to_above[i], to_share[i])
        at_a = _quantile(
            cdf, there[0], there[1], there[2], nodes, _at(cdf, here[0], here[1], here[2], a)
        )
        if a == b:
            moved[i] = z[i] + at_a - nodes[a]
            continue
        at_b = _quantile(
            cdf, there[0], there[1], there[2], nodes, _at(cdf, here[0], here[1], here[2], b)
        )
        moved[i] = at_a + (z[i] - nodes[a]) / (nodes[b] - nodes[a]) * (at_b - at_a)


@compiled
def _move_values(
    code: IntArray,
    from_below: IntArray,
    from_above: IntArray,
    from_share: FloatArray,
    to_below: IntArray,
    to_above: IntArray,
    to_share: FloatArray,
    cdf: FloatArray,
    uniform: FloatArray,
    moved: IntArray,
) -> None:
    """Carry numbers of values: a share inside the own step, and the value whose step holds it."""
    for i in range(code.size):
        k = code[i]
        high = _at(cdf, from_below[i], from_above[i], from_share[i], k)
        low = 0.0
        if k > 0:
            low = _at(cdf, from_below[i], from_above[i], from_share[i], k - 1)
        if high <= low:
            # A value outside the smoothed distribution stays what it is.
            moved[i] = k
            continue
        share = high - (high - low) * uniform[i]
        found = _first_reaching(cdf, to_below[i], to_above[i], to_share[i], share)
        moved[i] = min(found, cdf.shape[1] - 1)


class Carried(NamedTuple):
    """Values at the centers of their windows.

    Attributes
    ----------
    values : (n',) floats.
    line : (n',) integers, the line that each comes from; a line of several rows with few different
        values may be split.
    rows : (n',) positive integers, how many rows each stands for.
    """

    values: FloatArray
    line: IntArray
    rows: IntArray


def carry(
    cells: FineCells, windows: Windows, values: FloatArray, uniform: FloatArray
) -> tuple[ScaleCarry | ValueCarry, Carried]:
    """Carry every line to the center of its window, whatever its group.

    Parameters
    ----------
    values : (n,) floats.
    uniform : (n,) floats in [0, 1), used where there are few different values (`uniforms`).
    """
    fitted = fit_carry(cells, values)
    start, end = cells.own_places, centers(cells, windows)
    if isinstance(fitted, ScaleCarry):
        return fitted, whole(cells, kept_still(cells, values, fitted.move(values, start, end)))
    if are_rows(cells):
        moved = fitted.move(values, start, end, uniform)
        return fitted, whole(cells, kept_still(cells, values, moved))
    return fitted, _split(cells, fitted.values, fitted.chances(values, start, end), uniform)


def uniforms(cells: FineCells, values: FloatArray, group: IntArray, seed: int) -> FloatArray:
    """A uniform number for every line, the same whatever order lines come in."""
    keys = [cells.mass, group, values, cells.position, cells.segment]
    if cells.cluster is not None:
        keys.insert(0, cells.cluster)
    drawn = np.empty(values.size)
    drawn[np.lexsort(keys)] = np.random.default_rng(seed).random(values.size)
    return drawn


def centers(cells: FineCells, windows: Windows) -> Place:
    """The place of every line's window, where the line is carried to."""
    of_window = cells.place(windows.segment, windows.center)
    return of_window.of(windows.of_line)


def kept_still(cells: FineCells, values: FloatArray, moved: FloatArray) -> FloatArray:
    """Values moved, and those of segments that are not smoothed as they were, to the last bit."""
    still = cells.still
    return np.where(still[cells.segment], values, moved) if still.any() else moved


def are_rows(cells: FineCells) -> bool:
    """Whether every line is a row."""
    return bool((cells.rows == 1.0).all())


def whole(cells: FineCells, values: FloatArray) -> Carried:
    """Lines that were not split."""
    return Carried(values, np.arange(values.size), cells.rows.astype(np.int64))


def _split(
    cells: FineCells, distinct: FloatArray, chances: FloatArray, uniform: FloatArray
) -> Carried:
    """Rows of every line assigned to the values, by chances (n, k) and a seeded draw."""
    # The draws must not depend on the order of the lines; their uniform numbers do not.
    order = np.argsort(uniform)
    rng = np.random.default_rng(int(uniform.min() * 2**53))
    counts = np.empty(chances.shape, np.int64)
    counts[order] = rng.multinomial(cells.rows[order].astype(np.int64), chances[order])
    line, value = np.nonzero(counts)
    return Carried(distinct[value], line, counts[line, value])
