"""Quantile maps along a number: move values from one position to another as the distribution moves.

A value s at position u becomes Q(F(s | u) | c) at position c, with F the distribution of values
given the position and Q its quantiles, fitted by local lines to all lines together. What a value
has in common with others at its position is exchanged; its rank among them stays. Values that are
mapped to the same position, such as the center of a window, can be compared there.

Many different values: s = m(u) + σ(u) z. Mean and scale are curves, and the distribution of z is a
table on 49 nodes, smoothed with a width of at least .1. At most 64 different values: the table is
on the values themselves, and a seeded uniform number selects a position inside the step of a value
(Ferguson, 1967); the result is one of the values again.

Groups are not looked at: one map serves all lines, and labels stay as exchangeable inside a window
as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._grid import Grid, GridPosition, Windows
from likeforlike.smoothing._local_linear import Bandwidth, select_bandwidth
from likeforlike.transport import compiled, run_in_threads

MOST_VALUES = 64
"""Up to this many different values are mapped to values, not between them."""

_NODES = 49
_LEAST_SCALE_WIDTH, _LEAST_CDF_WIDTH = 0.05, 0.1
_LEAST_VARIANCE = 1e-2
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class LocationScaleMap:
    """The map of many different values: z = (s - m) / σ and the distribution of z.

    Attributes
    ----------
    cells : the cells it was fitted on.
    mean, scale : (m,) floats, curves over the cells.
    nodes : (q,) increasing floats.
    cdf : (m, q) floats, F(node | cell), increasing.
    choice : the smoother of the mean.
    """

    cells: Grid
    mean: FloatArray
    scale: FloatArray
    nodes: FloatArray
    cdf: FloatArray
    choice: Bandwidth

    def standard(self, values: FloatArray, place: GridPosition) -> FloatArray:
        """Standardize values at these places to z."""
        z: FloatArray = (values - place.read(self.mean)) / place.read(self.scale)
        return z

    def move(self, values: FloatArray, start: GridPosition, end: GridPosition) -> FloatArray:
        """Map values from places to places; (n,) each."""
        z, moved = self.standard(values, start), np.empty(values.size)

        def move_part(first: int, last: int) -> None:
            """Map the lines first, ..., last - 1."""
            part = slice(first, last)
            _move(z[part], *start.of(part), *end.of(part), self.nodes, self.cdf, moved[part])

        run_in_threads(move_part, np.ones(values.size, np.int64))
        return np.asarray(end.read(self.mean) + end.read(self.scale) * moved)

    def rest(self, values: FloatArray, place: GridPosition) -> FloatArray:
        """Compute 1{z <= node} - F(node | place) for each line and node, (n, q)."""
        below = self.standard(values, place)[:, None] <= self.nodes[None, :]
        rest: FloatArray = below - interpolate_cdf(self.cdf, place)
        return rest


@dataclass(frozen=True, slots=True)
class DiscreteMap:
    """The map of few different values, such as decisions and ratings.

    Attributes
    ----------
    cells : the cells it was fitted on.
    values : (k,) increasing floats.
    cdf : (m, k) floats, F(value | cell), increasing to 1.
    choice : its smoother.
    """

    cells: Grid
    values: FloatArray
    cdf: FloatArray
    choice: Bandwidth

    def move(
        self, values: FloatArray, start: GridPosition, end: GridPosition, uniform: FloatArray
    ) -> FloatArray:
        """Map values from places to places; `uniform` (n,) in [0, 1) is the position in a step."""
        moved = np.empty(values.size, np.int64)
        _move_values(np.searchsorted(self.values, values), *start, *end, self.cdf, uniform, moved)
        return self.values[moved]

    def chances(self, values: FloatArray, start: GridPosition, end: GridPosition) -> FloatArray:
        """Compute the probability that a value becomes each of the values, (n, k).

        A value outside the distribution at its start stays as it is.
        """
        code = np.searchsorted(self.values, values)
        at_start, at_end = interpolate_cdf(self.cdf, start), interpolate_cdf(self.cdf, end)
        lines = np.arange(code.size)
        high = at_start[lines, code]
        low = np.where(code > 0, at_start[lines, np.maximum(code - 1, 0)], 0.0)
        reached = np.diff(
            np.clip(at_end, low[:, None], high[:, None]), axis=1, prepend=low[:, None]
        )
        room = high > low
        share = reached / np.where(room, high - low, 1.0)[:, None]
        same = np.arange(self.values.size) == code[:, None]
        chances: FloatArray = np.where(room[:, None], share, same)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def rest(self, values: FloatArray, place: GridPosition) -> FloatArray:
        """Compute 1{s <= value} - F(value | place) for all values but the last, (n, k - 1)."""
        below = values[:, None] <= self.values[None, :-1]
        rest: FloatArray = below - interpolate_cdf(self.cdf[:, :-1], place)
        return rest


def interpolate_cdf(cdf: FloatArray, place: GridPosition) -> FloatArray:
    """Interpolate a table of cdfs (m, k) at these places, (n, k)."""
    share = place.share[:, None]
    at: FloatArray = cdf[place.below] * (1.0 - share) + cdf[place.above] * share
    return at


def fit_quantile_map(cells: Grid, values: FloatArray) -> LocationScaleMap | DiscreteMap:
    """Fit the map of values (n,) to the lines that the cells were made of."""
    distinct = few_values(values)
    return (
        fit_location_scale_map(cells, values)
        if distinct is None
        else value_carry(cells, values, distinct)
    )


def few_values(values: FloatArray) -> FloatArray | None:
    """Return the different values if there are few, or `None`."""
    # The first rows of most columns have many, and no sort is needed.
    if np.unique(values[: 4 * MOST_VALUES]).size > MOST_VALUES:
        return None
    distinct = np.unique(values)
    return distinct if distinct.size <= MOST_VALUES else None


def fit_location_scale_map(cells: Grid, values: FloatArray) -> LocationScaleMap:
    """Fit the map of many different values."""
    means = cells.mean(values)
    choice = select_bandwidth(cells, means, cells.variance(values))
    mean = choice.smooth(cells, means)
    place = cells.own_places
    rest = values - place.read(mean)
    square = cells.mean(rest * rest)
    wide = select_bandwidth(cells, square, cells.variance(rest * rest))
    wide = wide.at_least(_LEAST_SCALE_WIDTH, still=cells.still)
    least = _LEAST_VARIANCE * float(cells.total @ square) / float(cells.total.sum())
    scale = np.sqrt(np.maximum(wide.smooth(cells, square), least or 1.0))
    z = rest / place.read(scale)
    nodes = _nodes(z, cells.rows)
    steps = cells.means_of_steps(np.searchsorted(nodes, z), nodes.size + 1)[:, :-1]
    cdf = wide.at_least(_LEAST_CDF_WIDTH, still=cells.still).smooth(cells, steps)
    # A tiny slope makes every share invertible.
    slope = 1e-9 * np.arange(nodes.size)
    cdf = np.maximum.accumulate(np.clip(cdf, _EDGE, 1.0 - _EDGE), axis=1) + slope
    return LocationScaleMap(cells, mean, scale, nodes, cdf, choice)


def _nodes(z: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the values of z at 49 ranks between 0 and 1."""
    if (rows == 1.0).all():
        places = np.ceil(np.linspace(0.0, 1.0, _NODES + 2)[1:-1] * z.size).astype(np.int64) - 1
        return np.unique(np.sort(z)[places])
    order = np.argsort(z)
    cumulative = np.cumsum(rows[order])
    wanted = np.linspace(0.0, 1.0, _NODES + 2)[1:-1] * cumulative[-1]
    return np.unique(z[order][np.searchsorted(cumulative, wanted)])


def value_carry(cells: Grid, values: FloatArray, distinct: FloatArray) -> DiscreteMap:
    """Fit the map of few different values, smoothed as their mean is."""
    choice = select_bandwidth(cells, cells.mean(values), cells.variance(values))
    steps = cells.means_of_steps(np.searchsorted(distinct, values), distinct.size)
    return DiscreteMap(cells, distinct, monotone_cdf(choice.smooth(cells, steps)), choice)


def monotone_cdf(cdf: FloatArray) -> FloatArray:
    """Make the rows of a table cdfs: not below 0, not decreasing, 1 at the end."""
    cdf = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0), axis=1)
    cdf[:, -1] = 1.0
    return cdf


@compiled
def _interpolate(cdf: FloatArray, below: int, above: int, share: float, k: int) -> float:
    """Interpolate column k of a table of cdfs between two rows."""
    return float((1.0 - share) * cdf[below, k] + share * cdf[above, k])


@compiled
def _first_reaching(cdf: FloatArray, below: int, above: int, share: float, wanted: float) -> int:
    """Bisect for the first column whose share is not below the one wanted."""
    low, high = 0, cdf.shape[1]
    while low < high:
        middle = (low + high) // 2
        if _interpolate(cdf, below, above, share, middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _quantile(
    cdf: FloatArray, below: int, above: int, share: float, nodes: FloatArray, wanted: float
) -> float:
    """Interpolate the quantile of a share."""
    k = _first_reaching(cdf, below, above, share, wanted)
    if k == 0:
        return float(nodes[0])
    if k == nodes.size:
        return float(nodes[k - 1])
    left = _interpolate(cdf, below, above, share, k - 1)
    right = _interpolate(cdf, below, above, share, k)
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
    """Map z: the nodes around it move to the quantiles of their shares, and z stays between them.

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
            cdf,
            there[0],
            there[1],
            there[2],
            nodes,
            _interpolate(cdf, here[0], here[1], here[2], a),
        )
        if a == b:
            moved[i] = z[i] + at_a - nodes[a]
            continue
        at_b = _quantile(
            cdf,
            there[0],
            there[1],
            there[2],
            nodes,
            _interpolate(cdf, here[0], here[1], here[2], b),
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
    """Map codes of values: a share inside the own step to the value whose step contains it."""
    for i in range(code.size):
        k = code[i]
        high = _interpolate(cdf, from_below[i], from_above[i], from_share[i], k)
        low = 0.0
        if k > 0:
            low = _interpolate(cdf, from_below[i], from_above[i], from_share[i], k - 1)
        if high <= low:
            # A value outside the smoothed distribution stays as it is.
            moved[i] = k
            continue
        share = high - (high - low) * uniform[i]
        found = _first_reaching(cdf, to_below[i], to_above[i], to_share[i], share)
        moved[i] = min(found, cdf.shape[1] - 1)


class MappedValues(NamedTuple):
    """Values at the centers of their windows.

    Attributes
    ----------
    values : (n',) floats.
    line : (n',) integers, the line of each value; a line of several rows may be split.
    rows : (n',) positive integers, rows per value.
    """

    values: FloatArray
    line: IntArray
    rows: IntArray


def map_to_centers(
    cells: Grid, windows: Windows, values: FloatArray, uniform: FloatArray
) -> tuple[LocationScaleMap | DiscreteMap, MappedValues]:
    """Map each line to the center of its window, whatever its group.

    Parameters
    ----------
    values : (n,) floats.
    uniform : (n,) floats in [0, 1), used if there are few different values.
    """
    fitted = fit_quantile_map(cells, values)
    start, end = cells.own_places, centers(cells, windows)
    if isinstance(fitted, LocationScaleMap):
        return fitted, unsplit_lines(cells, values, fitted.move(values, start, end))
    if (cells.rows == 1.0).all():
        return fitted, unsplit_lines(cells, values, fitted.move(values, start, end, uniform))
    # Draws must not depend on the order of the lines; their uniform numbers do not.
    order = np.argsort(uniform)
    rng = np.random.default_rng(int(uniform.min() * 2**53))
    chances = fitted.chances(values, start, end)
    counts = np.empty(chances.shape, np.int64)
    counts[order] = rng.multinomial(cells.rows[order].astype(np.int64), chances[order])
    line, value = np.nonzero(counts)
    return fitted, MappedValues(fitted.values[value], line, counts[line, value])


def tie_breaking_uniforms(
    cells: Grid, values: FloatArray, group: IntArray, seed: int
) -> FloatArray:
    """Draw a uniform number per line, the same whatever the order of the lines."""
    keys = [cells.mass, group, values, cells.position, cells.segment]
    if cells.cluster is not None:
        keys.insert(0, cells.cluster)
    drawn = np.empty(values.size)
    drawn[np.lexsort(keys)] = np.random.default_rng(seed).random(values.size)
    return drawn


def centers(cells: Grid, windows: Windows) -> GridPosition:
    """Locate the center of each line's window, to which the line is mapped."""
    return cells.place(windows.segment, windows.center).of(windows.of_line)


def restore_still_segments(cells: Grid, values: FloatArray, moved: FloatArray) -> FloatArray:
    """Restore the values of segments that are not smoothed, to the last bit."""
    still = cells.still
    return np.where(still[cells.segment], values, moved) if still.any() else moved


def unsplit_lines(cells: Grid, values: FloatArray, moved: FloatArray) -> MappedValues:
    """Return values (n,) as mapped, with all lines whole."""
    moved = restore_still_segments(cells, values, moved)
    return MappedValues(moved, np.arange(values.size), cells.rows.astype(np.int64))
