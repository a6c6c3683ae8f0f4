"""Groups compared along a number: lines of all groups are mapped to the centers of windows.

Audits, limits and repairs take the same steps: check how groups overlap (`_overlap`), split curves
at jumps (`Cuts`), form windows, restrict the smoothers to those that leave enough of the group,
and map scores to the centers of the windows (`_carry`).

A test needs no more. For estimates, gaps are subtracted first, the rest is mapped, and they are
added again (`map_with_gaps`): the mean that all lines have in common contains P(A | L) times the
gap, so a gap shrinks where P(A | L) is steep, and vanishes where the curve follows numbers that
belong to one group each.

At a jump a curve over the cells breaks, which no smoother follows. Lines are fitted to the left and
to the right of each boundary between two cells. At a jump their difference is as large in a narrow
neighborhood as in a wide one; where a curve only bends, it falls to a quarter when the neighborhood
is half as wide.

The more rows, the more precise a curve must be. Segments are therefore split at jumps that are
beyond doubt, and curves begin anew behind them. The position is searched among the numbers of the
cells around the jump: where a step reduces the squares that a straight line leaves most, by

    (Σ_{x > t} ỹ)² / Σ r_t²,

with ỹ and r_t the residuals of the scores and of the step 1{x > t} from their lines in rank. Groups
are not looked at, so labels stay as exchangeable as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._carry import (
    DiscreteMap,
    LocationScaleMap,
    MappedValues,
    centers,
    few_values,
    fit_location_scale_map,
    map_to_centers,
    monotone_cdf,
    restore_still_segments,
    tie_breaking_uniforms,
    unsplit_lines,
)
from likeforlike.smoothing._grid import (
    Grid,
    Windows,
    group_sums,
    joint_codes,
    make_grid,
    windows,
)
from likeforlike.smoothing._local_linear import Bandwidth, select_bandwidth
from likeforlike.smoothing._overlap import (
    REASONS,
    Overlap,
    arrange_cells,
    comparable_windows,
    find_overlap,
    remaining_share,
    restrict_smoothers,
)
from likeforlike.transport import compiled

_WIDE, _NARROW = 0.10, 0.05
# In standard errors; as a share of the difference in the wide neighborhood; in steps of the lines.
_CLEAR, _KEPT, _STEPS = 4.5, 0.7, 3.0
_FEWEST = 4
_LEAST_ERROR = 1e-12


def detect_jumps(cells: Grid, values: FloatArray, clear: float = _CLEAR) -> IntArray:
    """Detect the cells behind which the mean of values (n,) given the number jumps.

    Parameters
    ----------
    clear : least size of a jump in standard errors.
    """
    # Segments that are not smoothed cannot miss a jump.
    there = np.flatnonzero(~cells.still[cells.of_segment])
    if not there.size:
        return there
    means, error = cells.mean(values), cells.variance(values) / cells.effective
    # Cells are not infinitely fine: values always have some noise inside them.
    error = np.maximum(error, _LEAST_ERROR * (float(np.ptp(values)) or 1.0) ** 2)
    segment, center = cells.of_segment[there], cells.center[there]
    offsets = np.r_[0, np.cumsum(np.bincount(segment))]
    wide, narrow = np.zeros((there.size, 3)), np.zeros((there.size, 3))
    _measure_breaks(center, means[there], error[there], offsets, _WIDE, wide)
    _measure_breaks(center, means[there], error[there], offsets, _NARROW, narrow)
    size, clarity, step = narrow.T
    found = (clarity > clear) & (np.abs(size) > _STEPS * step)
    found &= (np.abs(size) > _KEPT * np.abs(wide[:, 0])) & (size * wide[:, 0] > 0.0)
    # Neighbors of a jump look like one as well; it lies where it is clearest within the wide width.
    shown = np.where(found, clarity, 0.0)
    key = 2.0 * segment + center
    first, last = np.searchsorted(key, key - _WIDE), np.searchsorted(key, key + _WIDE)
    # With at most 200 cells per segment a table of neighbors is small.
    reach = int((last - first).max())
    near = np.minimum(first[:, None] + np.arange(reach), last[:, None] - 1)
    largest: BoolArray = found & (shown >= shown[near].max(axis=1))
    return there[largest]


@compiled
def _side(
    center: FloatArray,
    means: FloatArray,
    error: FloatArray,
    first: int,
    last: int,
    at: float,
    width: float,
) -> tuple[float, float, float]:
    """Fit a line to cells nearer than a width: value, slope, variance (< 0 if too few)."""
    s0, s1, s2, many = 0.0, 0.0, 0.0, 0
    for j in range(first, last + 1):
        d = center[j] - at
        if abs(d) < width:
            k = (1.0 - (d / width) ** 2) / error[j]
            s0 += k
            s1 += k * d
            s2 += k * d * d
            many += 1
    whole = s0 * s2 - s1 * s1
    if many < _FEWEST or whole <= 1e-9 * s0 * s2:
        return 0.0, 0.0, -1.0
    value, slope, variance = 0.0, 0.0, 0.0
    for j in range(first, last + 1):
        d = center[j] - at
        if abs(d) < width:
            k = (1.0 - (d / width) ** 2) / error[j]
            part = k * (s2 - d * s1) / whole
            value += part * means[j]
            slope += k * (s0 * d - s1) / whole * means[j]
            variance += part * part * error[j]
    return value, slope, variance


@compiled
def _measure_breaks(
    center: FloatArray,
    means: FloatArray,
    error: FloatArray,
    offsets: IntArray,
    width: float,
    breaks: FloatArray,
) -> None:
    """Write the difference of the lines behind each cell, in standard errors, and their step."""
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(first, last):
            at = (center[i] + center[i + 1]) / 2.0
            left, up_left, of_left = _side(center, means, error, first, i, at, width)
            right, up_right, of_right = _side(center, means, error, i + 1, last, at, width)
            if of_left >= 0.0 and of_right >= 0.0:
                breaks[i, 0] = right - left
                breaks[i, 1] = abs(right - left) / (of_left + of_right) ** 0.5
                breaks[i, 2] = max(abs(up_left), abs(up_right)) * (center[i + 1] - center[i])


# In standard errors; a warning comes long before.
_BEYOND_DOUBT = 8.0
# Cells on both sides among whose numbers a jump is searched.
_AROUND = 2
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Cuts:
    """Segments that are split where scores jump.

    Attributes
    ----------
    segment : (n,) integers, the part of each line, increasing with the number inside a segment.
    origin : (S,) integers, the segment of each part.
    numbers : (c,) floats, the last number before each cut.
    """

    segment: IntArray
    origin: IntArray
    numbers: FloatArray

    @classmethod
    def without_cuts(cls, segment: IntArray) -> Self:
        """Leave segments as they are."""
        return cls(segment, np.arange(int(segment.max()) + 1), np.zeros(0))

    @classmethod
    def at_jumps(cls, cells: Grid, numbers: FloatArray, values: FloatArray) -> Self:
        """Split segments where values (n,) jump along the numbers (n,) beyond doubt."""
        behind = detect_jumps(cells, values, _BEYOND_DOUBT)
        if not behind.size:
            return cls.without_cuts(cells.segment)
        cut_segments = cells.of_segment[behind]
        edges = np.array([_edge(cells, numbers, values, int(cell)) for cell in behind])
        part = cells.segment + np.searchsorted(cut_segments, cells.segment)
        for segment, edge in zip(cut_segments, edges, strict=True):
            part += (cells.segment == segment) & (numbers > edge)
        size = cells.offsets.size - 1
        origin = np.repeat(np.arange(size), 1 + np.bincount(cut_segments, minlength=size))
        return cls(part, origin, edges)

    def share_windows(self, wanted: int | None, rows: FloatArray) -> IntArray | None:
        """Divide the windows that each segment is to have among its parts, at least one each."""
        if wanted is None:
            return None
        held = group_sums(self.segment, rows)
        share = held / group_sums(self.origin, held)[self.origin]
        return np.maximum(1, np.round(wanted * share)).astype(np.int64)


def _edge(cells: Grid, numbers: FloatArray, values: FloatArray, behind: int) -> float:
    """Find the last number before the jump that lies near the end of a cell."""
    segment = cells.of_segment[behind]
    first = max(behind + 1 - _AROUND, int(cells.offsets[segment]))
    last = min(behind + _AROUND, int(cells.offsets[segment + 1]) - 1)
    near = np.flatnonzero((cells.cell >= first) & (cells.cell <= last))
    near = near[np.argsort(numbers[near], kind="stable")]
    mass, x = cells.mass[near] / cells.mass[near].sum(), numbers[near]
    away = cells.position[near] - mass @ cells.position[near]
    spread = float(mass @ away**2)
    rest = values[near] - mass @ values[near]
    rest -= away * float(mass @ (away * rest)) / spread
    right = np.cumsum(mass[::-1])[::-1]
    moment = np.cumsum((mass * away)[::-1])[::-1]
    explained = np.cumsum((mass * rest)[::-1])[::-1]
    room = right - right**2 - moment**2 / spread
    new = np.r_[False, np.diff(x) > 0.0] & (room > _NOTHING)
    gain = np.where(new, explained**2 / np.where(new, room, 1.0), -1.0)
    return float(x[int(np.argmax(gain)) - 1])


# No gap is taken as more precise than this share of the mean variance.
_BEST_KNOWN = 1e-3


def shrink_gaps(gaps: FloatArray, noise: FloatArray) -> FloatArray:
    """Shrink the gaps of K windows to their mean by empirical Bayes, each of q columns by itself.

    A gap d_j between few rows is mostly noise. Subtracted from many rows next to them it would bend
    the common curve, and the bend would come back as more gap. Therefore each becomes

        d_j' = d̄ + τ² / (τ² + v_j) (d_j - d̄),      d̄ = Σ p_j d_j / Σ p_j,      p_j = 1 / v_j,

    with v_j the variance of d_j, and τ² how much more than that the gaps differ. If they are all
    alike, hardly any noise is left; if they change along the number, they stay.

    Parameters
    ----------
    gaps : (K, q) floats, d_j.
    noise : (K, q) floats, v_j; infinite where no gap is known, which then is the mean.

    References
    ----------
    DerSimonian and Laird (1986), *Meta-analysis in clinical trials* (τ²); Morris (1983),
    *Parametric empirical Bayes inference*.
    """
    known = np.isfinite(noise)
    number = known.sum(axis=0)
    usual = np.where(known, noise, 0.0).sum(axis=0) / np.maximum(number, 1)
    least = np.where(usual > 0.0, _BEST_KNOWN * usual, 1.0)
    noise = np.maximum(noise, least)
    precision = 1.0 / noise
    whole = np.maximum(precision.sum(axis=0), np.finfo(float).tiny)
    mean = (precision * gaps).sum(axis=0) / whole
    apart = np.where(known, gaps - mean, 0.0)
    room = whole - (precision**2).sum(axis=0) / whole
    excess = (precision * apart**2).sum(axis=0) - (number - 1)
    more = np.where(number > 1, np.maximum(excess, 0.0) / np.where(number > 1, room, 1.0), 0.0)
    kept: FloatArray = mean + more / (more + noise) * apart
    return np.where(usual > 0.0, kept, np.where(known, gaps, mean))


# Sums of masses are off by rounding, which must not lose a row.
_ROUNDING = 1e-9
# With fewer rows the noise of a draw is worse than the bias of rounding.
_FEW = 20.0
# Tables are made for this many lines at a time.
_AT_A_TIME = 65_536


def systematic_sample(
    block: IntArray,
    order: IntArray,
    mass: FloatArray,
    rows: FloatArray,
    lot: FloatArray,
    due: FloatArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Assign k values to the rows of lines so that each block has as much of each value as is due.

    Random values for each line would vary the share of a value in a block by more than the data do.
    Therefore the rows of a block are cut, one after the other, where the mass is reached that is
    due at or below each value, with one random number per block for where the rounding begins. The
    sum is off by less than a row, for any number of rows and values, and right on average. In a
    block of few rows, where one row is much, it is the nearest row.

    Parameters
    ----------
    block : (n,) integers, within which the mass at each value is to be what is due.
    order : (n,) integers, the lines as they are cut: block after block, by increasing value.
    mass, rows : (n,) positive floats, weight and number of rows of each line.
    lot : (n,) floats in [0, 1); the random number of a block is the fraction of their sum.
    due : (B, k) floats, mass at or below each value that each block should have.

    Returns
    -------
    line, value, rows : (m,) integers each, sorted by line: the number of rows, at least one, of
        this line that have this value.

    References
    ----------
    Madow and Madow (1944), *On the theory of systematic sampling*.
    """
    sorted_block, sorted_mass = block[order], mass[order]
    first = np.flatnonzero(np.r_[True, np.diff(sorted_block) > 0])
    begin = np.repeat(first, np.diff(np.r_[first, block.size]))
    reached = np.cumsum(sorted_mass) - sorted_mass
    before = np.empty(mass.size)  # mass of the lines before each one in its block
    before[order] = reached - reached[begin]
    offset = np.remainder(np.bincount(block, lot), 1.0)
    offset = np.where(np.bincount(block, rows) < _FEW, 0.5, offset)[block]
    row_mass = mass / rows
    assigned = []
    for start in range(0, before.size, _AT_A_TIME):
        some = np.arange(start, min(start + _AT_A_TIME, before.size))
        many = rows[some, None]
        room = (due[block[some]] - before[some, None]) / row_mass[some, None]
        through = np.clip(np.ceil(room - offset[some, None] - _ROUNDING * many), 0.0, many)
        through[:, -1] = many[:, 0]
        counts = np.diff(through, axis=1, prepend=0.0).astype(np.int64)
        line, value = np.nonzero(counts)
        assigned.append((some[line], value, counts[line, value]))
    lines, values, counted = (np.concatenate(column) for column in zip(*assigned, strict=True))
    return lines, values, counted


# Ridge for smoothers that follow the group entirely; as a share of the mass.
_LEAST = 1e-6
# Curves are taken to leave at least this share of the group.
_LEAST_LEFT = 0.1
_TINY = 1e-300


def map_with_gaps(
    cells: Grid,
    windows: Windows,
    values: FloatArray,
    group: IntArray,
    fitted: LocationScaleMap | DiscreteMap,
    uniform: FloatArray,
) -> MappedValues:
    """Map lines to the centers of windows with gaps subtracted before and added after.

    There are two rounds. The first subtracts the common gap, with the number partialled out,

        Δ_0 = Σ w r (s - S s) / Σ w r²,      r = A - S A,

    with S the smoother of the test's map; the second the gaps of the windows, shrunk to their mean:
    the noise of a gap between few rows must not bend the common curve. With clusters, gaps are as
    precise as their units.

    Parameters
    ----------
    group : (n,) integers from 0; gaps are those to the group with most rows.
    fitted : as returned by `map_to_centers`.

    References
    ----------
    Speckman (1988), *Kernel smoothing in partial linear models*.
    """
    rows = np.bincount(group, cells.rows)
    new_code = np.empty(rows.size, np.int64)
    new_code[np.argsort(-rows, kind="stable")] = np.arange(rows.size)
    if isinstance(fitted, LocationScaleMap):
        return _map_continuous(cells, windows, values, new_code[group], fitted)
    return _map_discrete(cells, windows, values, new_code[group], fitted, uniform)


def _map_continuous(
    cells: Grid,
    windows: Windows,
    values: FloatArray,
    group: IntArray,
    fitted: LocationScaleMap,
) -> MappedValues:
    """Map many different values, with gaps of their means."""
    table = _GapTable.from_lines(cells, windows, group)
    common = common_gaps(cells, values, group, fitted.choice)
    moved = _map_without(cells, windows, values, common[group])
    means = table.mean(moved)
    rest = table.average_in_units(moved - means[windows.of_line, group])
    spread = table.pool(table.mean(rest * rest)[:, :, None])
    gaps = table.shrink_gaps(means[:, :, None], spread)
    moved = _map_without(cells, windows, values, gaps[windows.of_line, group, 0])
    if (held := cells.held) is not None and held.any():
        mean = table.mean(moved)[windows.of_line, group]
        factor = np.where(held, _residual_factor(cells, windows, group, fitted.choice), 1.0)
        factor = factor[cells.segment]
        moved = np.where(factor > 1.0, mean + factor * (moved - mean), moved)
    return unsplit_lines(cells, values, moved)


def _map_without(cells: Grid, windows: Windows, values: FloatArray, gap: FloatArray) -> FloatArray:
    """Map values (n,) without a gap (n,), which is added again."""
    rest = values - gap
    moved = (
        fit_location_scale_map(cells, rest).move(rest, cells.own_places, centers(cells, windows))
        + gap
    )
    return restore_still_segments(cells, values, moved)


def _residual_factor(
    cells: Grid, windows: Windows, group: IntArray, choice: Bandwidth
) -> FloatArray:
    """Compute by how much residuals are too small in each segment, (S,).

    Where groups do not mix along the number (`_overlap`), the curve takes a part of the group and
    of the degrees of freedom. The variance of Δ_0 is σ² / Σ r²; residuals are multiplied by the
    root of (U - 1) / (U - tr S) / φ(S), with U units.
    """
    left = np.clip(remaining_share(cells, windows.of_line, group, choice), _LEAST_LEFT, 1.0)
    leverage = choice.fit(cells, cells.center)[1]
    used, units = np.add.reduceat(leverage, cells.offsets[:-1]), cells.units
    factor = np.maximum(units - 1.0, 1.0) / np.maximum(units - used, 1.0) / left
    return np.asarray(np.sqrt(np.maximum(factor, 1.0)))


def _map_discrete(
    cells: Grid,
    windows: Windows,
    values: FloatArray,
    group: IntArray,
    fitted: DiscreteMap,
    uniform: FloatArray,
) -> MappedValues:
    """Map few different values, with gaps of the cdf F at each value v.

    At or below v a group gets Σ (1{s <= v} - F(v | L) + F(v | window)) rows of a window: residuals
    from the curve stay with the group. Values are assigned by systematic sampling: a draw for each
    row would add noise that no estimate removes again.
    """
    code, k = np.searchsorted(fitted.values, values), fitted.values.size
    table = _GapTable.from_lines(cells, windows, group)
    own = cells.means_of_steps(code, k)
    share = np.stack([cells.mean(group == g) for g in range(table.rows.shape[1])], axis=1)
    common = _common_steps(cells, code, own, group, fitted.choice)
    choice = fitted.choice
    if cells.held is not None and cells.held.any():
        # Where groups do not mix, the smoother is selected for values without their common gap.
        steps = np.diff(common, axis=1, prepend=0.0)
        rest = values - (steps @ fitted.values)[group]
        choice = select_bandwidth(cells, cells.mean(rest), cells.variance(rest))
    cdf = choice.smooth(cells, own - share @ common)
    rest = values - table.mean(values).ravel()[table.code]
    # Share of the variance of rows that the rows of a unit have in common.
    within = table.average_in_units(rest)
    alike = float(cells.mass @ within**2) / max(float(cells.mass @ rest**2), _TINY)
    means = _window_cdfs(cells, table, code, cdf)
    overall = table.pool(means)
    gaps = table.shrink_gaps(means, overall * (1.0 - overall) * alike)
    # The rest of 1{s <= v} in a cell without the gaps of its groups.
    left = own - np.einsum("mg,mgk->mk", share, gaps[windows.of_cell])
    means = _window_cdfs(cells, table, code, choice.smooth(cells, left))
    due = monotone_cdf(means.reshape(-1, k)) * table.total.reshape(-1, 1)
    order = np.lexsort((uniform, code, table.code))
    line, value, rows = systematic_sample(table.code, order, cells.mass, cells.rows, uniform, due)
    return MappedValues(fitted.values[value], line, rows)


def common_gaps(
    cells: Grid, values: FloatArray, of_group: IntArray, choice: Bandwidth
) -> FloatArray:
    """Compute Δ_0 of values (n,) between each group and group 0, (g,); that of group 0 is 0."""
    rests, gram = _group_residuals(cells, of_group, choice)
    curve = cells.own_places.read(choice.smooth(cells, cells.mean(values)))
    gaps: FloatArray = np.r_[0.0, np.linalg.solve(gram, rests @ (values - curve))]
    return gaps


def _common_steps(
    cells: Grid, code: IntArray, own: FloatArray, group: IntArray, choice: Bandwidth
) -> FloatArray:
    """Compute Δ_0 of 1{s <= v} for each value v, (g, k)."""
    rests, gram = _group_residuals(cells, group, choice)
    k, place = own.shape[1], cells.own_places
    below = np.stack([np.cumsum(group_sums(code, rest, k)) for rest in rests])
    # Σ r (S F)(L) over lines as a sum over cells.
    pulled = np.stack(
        [
            group_sums(place.below, rest * (1.0 - place.share), own.shape[0])
            + group_sums(place.above, rest * place.share, own.shape[0])
            for rest in rests
        ]
    )
    gaps = np.linalg.solve(gram, below - pulled @ choice.smooth(cells, own))
    return np.concatenate([np.zeros((1, k)), gaps])


def _group_residuals(
    cells: Grid, group: IntArray, choice: Bandwidth
) -> tuple[FloatArray, FloatArray]:
    """Compute w r of each group but group 0, (g - 1, n), and Σ w r r', (g - 1, g - 1)."""
    place, n_groups = cells.own_places, int(group.max()) + 1
    members = [(group == g).astype(np.float64) for g in range(1, n_groups)]
    rests = np.empty((n_groups - 1, group.size))
    for rest, member in zip(rests, members, strict=True):
        rest[:] = member - place.read(choice.smooth(cells, cells.mean(member)))
    weighted = rests * cells.mass
    gram = weighted @ rests.T
    gram[np.diag_indices_from(gram)] += _LEAST * float(cells.mass.sum())
    return weighted, gram


def _window_cdfs(cells: Grid, table: _GapTable, code: IntArray, cdf: FloatArray) -> FloatArray:
    """Average 1{s <= v} - F(v | L) + F(v | window) in each window and group, (K, g, k).

    F(v | window) is the mean of F(v | L) in the groups, and that of the group with fewest rows
    counts most: few rows should move least, since they can only move by a whole row.
    """
    place = cells.own_places
    few = np.where(table.rows > 0.0, 1.0 / np.maximum(table.effective, 1.0), 0.0)
    few /= few.sum(axis=1, keepdims=True)
    means = np.empty((*table.rows.shape, cdf.shape[1]))
    for v in range(cdf.shape[1]):
        curve = table.mean(place.read(cdf[:, v]))
        beyond = table.mean((code <= v).astype(np.float64)) - curve
        means[:, :, v] = beyond + (few * curve).sum(axis=1, keepdims=True)
    return means


@dataclass(frozen=True, slots=True)
class _GapTable:
    """Lines in windows and groups.

    Attributes
    ----------
    code : (n,) integers, window and group of each line.
    mass : (n,) positive floats, its weight.
    total, rows, effective : (K, g) floats, weight, rows and effective rows (Kish); units instead of
        rows, if there are clusters.
    unit : (n,) integers, the rows of a cluster in a window and group; `None` without clusters.
    """

    code: IntArray
    mass: FloatArray
    total: FloatArray
    rows: FloatArray
    effective: FloatArray
    unit: IntArray | None = None

    @classmethod
    def from_lines(cls, cells: Grid, windows: Windows, group: IntArray) -> Self:
        """Count lines in their windows and groups."""
        shape = windows.center.size, int(group.max()) + 1
        code, mass, size = windows.of_line * shape[1] + group, cells.mass, shape[0] * shape[1]
        total, unit = group_sums(code, mass, size), None
        if cells.cluster is None:
            rows = group_sums(code, cells.rows, size)
            squares = group_sums(code, mass * mass / cells.rows, size)
        else:
            unit = joint_codes(code, cells.cluster)
            unit_code = np.zeros(int(unit.max()) + 1, np.int64)
            unit_code[unit] = code
            rows = group_sums(unit_code, np.ones(unit_code.size), size)
            squares = group_sums(unit_code, group_sums(unit, mass) ** 2, size)
        effective = total**2 / np.where(squares > 0.0, squares, 1.0)
        total, rows = total.reshape(shape), rows.reshape(shape)
        return cls(code, mass, total, rows, effective.reshape(shape), unit)

    def average_in_units(self, values: FloatArray) -> FloatArray:
        """Replace values (n,) by the mean of their unit."""
        if self.unit is None:
            return values
        means = group_sums(self.unit, self.mass * values) / group_sums(self.unit, self.mass)
        return np.asarray(means[self.unit])

    def mean(self, values: FloatArray) -> FloatArray:
        """Compute the means (K, g) of values (n,); 0 without rows."""
        added = group_sums(self.code, self.mass * values, self.total.size).reshape(self.total.shape)
        mean: FloatArray = added / np.where(self.total > 0.0, self.total, 1.0)
        return mean

    def pool(self, means: FloatArray) -> FloatArray:
        """Pool the means (K, g, q) of the groups to those of all lines, (K, q)."""
        share = self.total / self.total.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("Kg,Kgq->Kq", share, means))

    def shrink_gaps(self, means: FloatArray, spread: FloatArray) -> FloatArray:
        """Compute the gaps (K, g, q) of means (K, g, q) to group 0, shrunk to their mean.

        No gap is known of a single row or unit.

        Parameters
        ----------
        spread : (K, q) floats, the variance of a row in each window.
        """
        gaps = np.zeros(means.shape)
        factor, single = 1.0 / np.maximum(self.effective, 1.0), self.rows < 2.0
        for g in range(1, means.shape[1]):
            noise = spread * (factor[:, g] + factor[:, 0])[:, None]
            noise[single[:, g] | single[:, 0]] = np.inf
            gaps[:, g] = shrink_gaps(means[:, g] - means[:, 0], noise)
        return gaps


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lines of several groups, mapped along a number.

    Attributes
    ----------
    cells, windows : fine cells and their windows.
    cuts : where segments are split, since scores jump there; the parts are the segments of cells.
    overlap : how groups overlap along the number, in each part.
    speaks : (K,) whether the groups can be compared in each window.
    scores, group : (n,) of each line.
    fitted, carried : the map, and the lines as mapped.
    uniform : (n,) uniform numbers of the lines; empty if there are many different scores.
    """

    cells: Grid
    windows: Windows
    cuts: Cuts
    overlap: Overlap
    speaks: BoolArray
    scores: FloatArray
    group: IntArray
    fitted: LocationScaleMap | DiscreteMap
    carried: MappedValues
    uniform: FloatArray

    def refined(self) -> MappedValues:
        """Map the lines again, with gaps subtracted before and added after."""
        return map_with_gaps(
            self.cells, self.windows, self.scores, self.group, self.fitted, self.uniform
        )

    def levels(self) -> tuple[IntArray, list[tuple[int, int]]]:
        """Use windows as levels: (n,) codes, and window and group of codes that are no window.

        Windows without a comparison become a level for each group.
        """
        silent = ~self.speaks[self.windows.of_line]
        if not silent.any():
            return self.windows.of_line, []
        n_groups = int(self.group.max()) + 1
        alone = self.windows.of_line * n_groups + self.group
        there, code = np.unique(alone[silent], return_inverse=True)
        level = self.windows.of_line.copy()
        level[silent] = self.speaks.size + code
        return level, [divmod(key, n_groups) for key in there.tolist()]

    def reason(self) -> str:
        """Explain why nothing can be compared, as the end of a sentence."""
        rows = np.bincount(self.cells.segment, self.cells.rows)
        apart = self.overlap.unit == "apart"
        largest = int(np.argmax(np.where(apart, rows, -1.0)))
        return REASONS[str(self.overlap.reason[largest]) if apart[largest] else "windows"]


def compare_along(
    cells: Grid,
    numbers: FloatArray,
    scores: FloatArray,
    group: IntArray,
    *,
    overlap: Overlap | None = None,
    wanted: int | None = None,
    cut: bool = True,
    exact: bool = True,
    seed: int = 0,
) -> Comparison:
    """Map scores (n,) of groups (n,) to the centers of windows along numbers (n,).

    Parameters
    ----------
    cells : fine cells of the lines along the numbers.
    overlap : how groups overlap along the number, if known already.
    wanted : windows per segment; `None` leaves it to their number of rows.
    cut : whether curves are split where scores jump.
    exact : whether the rows of a line have the same number, and not only similar ones.
    seed : seed for random tie-breaking of few different scores.
    """
    overlap = overlap or find_overlap(cells, group, scores, exact=exact)
    cells = arrange_cells(cells, overlap)
    cuts = Cuts.at_jumps(cells, numbers, scores) if cut else Cuts.without_cuts(cells.segment)
    if cuts.numbers.size:
        overlap = overlap.split(cuts.origin)
        parts = make_grid(
            numbers, cuts.segment, mass=cells.mass, rows=cells.rows, cluster=cells.cluster
        )
        cells = arrange_cells(parts, overlap)
    found = windows(cells, numbers, cuts.share_windows(wanted, cells.rows), group)
    cells, overlap = restrict_smoothers(cells, found.of_line, group, overlap)
    uniform = np.zeros(0)
    if few_values(scores) is not None:
        uniform = tie_breaking_uniforms(cells, scores, group, seed)
    fitted, carried = map_to_centers(cells, found, scores, uniform)
    speaks, overlap = comparable_windows(cells, found.of_line, group, overlap, fitted.choice)
    return Comparison(cells, found, cuts, overlap, speaks, scores, group, fitted, carried, uniform)
