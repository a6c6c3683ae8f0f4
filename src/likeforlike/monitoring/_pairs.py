"""Two scores of the same rows: the interval of the difference of their distances.

D_j = (Σ_l Q(l) W_1(l)²)^½ of score j, T_j its plug-in. Neither is regular where it is 0, so that no
interval comes from an error of D_1 - D_0. Instead every pair (d_0, d_1) is asked whether T_0 and
T_1 are likely together:

    μ_j = d_j² + c_j + min(d_j² / √ν_jj, 1) (b_j - c_j),
    v_jk = (4 K_jk d_j d_k + ν_jk) / (μ_j μ_k),    r_j = 3 (T_j / μ_j)^⅓ - 3 (1 - v_jj / 9),
    misfit = rᵀ v⁻¹ r,    region: misfit - least misfit <= q² (1 + h).

c and ν are mean and covariance of Σ Q (∫ |B*|)², with the same random sign of a row for both scores
(`inference._bootstrap` has the noise of one); b_j is the bias that noise added to F_0 - F_1 as they
were seen has; K is the covariance of Σ_l Q a_jl φ_jl for mean potentials φ and several allocations
a of the distance to levels. On the edge d_0 = 0 of the region a chi-square of two degrees of
freedom would be needed for a quarter of data sets, for which h = .6 there is enough.

The interval is that of d_1 - d_0 over the region, cut to the one that follows from an interval of
each distance by Bonferroni.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference import allocate, next_bits, rademacher_sum, start_stream, t_quantile
from likeforlike.transport import compiled, iterate_blocks, sum_parts

Interval = tuple[float, float]
_BOOST, _REACH = 0.6, 2.0
_DRAWS, _BLOCK = 200, 10
# One-sided error of a level's own interval, which only says what an allocation may be.
_ALLOWED = 0.025
_GRID, _ZOOMS = 70, 3
_ROUNDING = 1e-12


class Pairs(NamedTuple):
    """Lines of two groups in k common levels, level after level, with two scores each.

    `scores` is (2, n), `side` (n,) 0 or 1, `offsets` (k + 1,), `mass` (n,) the weight of a line,
    `counts` (n,) how many rows it stands for; `cluster` is (n,) or `None`.
    """

    scores: FloatArray
    side: IntArray
    offsets: IntArray
    mass: FloatArray
    counts: IntArray
    cluster: IntArray | None

    @property
    def level(self) -> IntArray:
        """The level of each line."""
        level: IntArray = np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))
        return level


@compiled
def _measure(
    score: FloatArray,
    side: IntArray,
    share: FloatArray,
    offsets: IntArray,
    order: IntArray,
    steps: FloatArray,
    apart: FloatArray,
    potential: FloatArray,
) -> FloatArray:
    """Return W_1 of each level; fill in steps, F_0 - F_1 after each of them, and potentials."""
    found = np.zeros(offsets.size - 1)
    for level in range(found.size):
        first, end = offsets[level], offsets[level + 1]
        height, reached, slope = 0.0, 0.0, 1.0
        for place in range(first, end):
            i = order[place]
            step = score[order[place + 1]] - score[i] if place < end - 1 else 0.0
            reached += -share[i] if side[i] else share[i]
            potential[i] = height
            if reached > _ROUNDING:
                slope = 1.0
            elif reached < -_ROUNDING:
                slope = -1.0
            steps[place], apart[place] = step, reached
            found[level] += abs(reached) * step
            height += slope * step
    return found


@compiled
def _draw(  # noqa: C901, PLR0912  # a kernel is faster than calls between kernels
    side: IntArray,
    share: FloatArray,
    counts: IntArray,
    cluster: IntArray,
    n_clusters: int,
    factors: FloatArray,
    offsets: IntArray,
    orders: IntArray,
    steps: FloatArray,
    apart: FloatArray,
    measure: FloatArray,
    seed: int,
    begin: int,
    noise: FloatArray,
    plus: FloatArray,
    totals: FloatArray,
) -> None:
    """Add draws begin, begin + 1, ... to noise and plus (2, k), and fill in totals (b, 2)."""
    base = np.empty(share.size)
    signs = np.empty(n_clusters)
    for b in range(totals.shape[0]):
        state = start_stream(seed, begin + b)
        for g in range(n_clusters):
            signs[g] = 1.0 if next_bits(state) & np.uint64(1) else -1.0
        for level in range(measure.size):
            first, end = offsets[level], offsets[level + 1]
            sum_0, sum_1, bits = 0.0, 0.0, np.uint64(0)
            for i in range(first, end):
                if n_clusters:
                    sign = signs[cluster[i]]
                elif counts[i] == 1:
                    if (i - first) % 64 == 0:
                        bits = next_bits(state)
                    sign = 1.0 if bits & np.uint64(1) else -1.0
                    bits >>= np.uint64(1)
                else:
                    sign = rademacher_sum(state, counts[i]) / counts[i]
                base[i] = sign * share[i] * factors[2 * level + side[i]]
                if side[i]:
                    sum_1 += base[i]
                else:
                    sum_0 += base[i]
            for i in range(first, end):
                base[i] -= share[i] * (sum_1 if side[i] else sum_0)
            for j in range(2):
                height, area, up, down = 0.0, 0.0, 0.0, 0.0
                for place in range(first, end):
                    height += base[orders[j, place]]
                    step, seen = steps[j, place], apart[j, place]
                    area += abs(height) * step
                    up += abs(seen + height) * step
                    down += abs(seen - height) * step
                noise[j, level] += area * area
                plus[j, level] += 0.5 * (up * up + down * down)
                totals[b, j] += measure[level] * area * area


class Units(NamedTuple):
    """What is counted as one: rows, or clusters inside cells.

    `cell` (u,), `share` (u,) of the weight of the cell, `counts` (u,), `of_line` (n,) or `None` if
    lines are units, `cluster` (u,) or `None`; `numbers` and `effective` are (2k,).
    """

    cell: IntArray
    share: FloatArray
    counts: IntArray
    of_line: IntArray | None
    cluster: IntArray | None
    numbers: FloatArray
    effective: FloatArray


def count_units(pairs: Pairs) -> Units:
    """Find the units of each cell."""
    cell, n_cells = 2 * pairs.level + pairs.side, 2 * (pairs.offsets.size - 1)
    share = pairs.mass / sum_parts(cell, pairs.mass, n_cells)[cell]
    if pairs.cluster is None:
        of_line, cluster, counts, share = None, None, pairs.counts, share / pairs.counts
    else:
        width = int(pairs.cluster.max()) + 1
        keys, of_line = np.unique(cell * width + pairs.cluster, return_inverse=True)
        share = sum_parts(of_line, share, keys.size)
        cell, cluster = np.divmod(keys, width)
        counts = np.ones(keys.size, np.int64)
    numbers = sum_parts(cell, counts.astype(np.float64), n_cells)
    effective = 1.0 / sum_parts(cell, counts * share**2, n_cells)
    return Units(cell, share, counts, of_line, cluster, numbers, effective)


def _residuals(pairs: Pairs, units: Units, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far deleting each unit moves the mean of its cell, (2, u), and means (2, 2k)."""
    cell, n_cells = 2 * pairs.level + pairs.side, units.numbers.size
    share = pairs.mass / sum_parts(cell, pairs.mass, n_cells)[cell]
    root = np.sqrt(np.maximum(units.numbers - 1.0, 0.0) / units.numbers)[units.cell]
    factor = root / np.maximum(1.0 - units.share, 1e-9)
    means = np.stack([sum_parts(cell, share * each, n_cells) for each in values])
    moved = share / pairs.counts * (values - means[:, cell])
    if units.of_line is not None:
        moved = np.stack([sum_parts(units.of_line, each, units.cell.size) for each in moved])
    return moved * factor, means


def _covariance(units: Units, residuals: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the covariance (2, 2) of Σ_l weights_jl (m_1 - m_0)_jl; the weights are (2, k)."""
    level, side = np.divmod(units.cell, 2)
    parts = weights[:, level] * residuals * np.where(side == 1, 1.0, -1.0)
    if units.cluster is not None:
        size = int(units.cluster.max()) + 1
        parts = np.stack([sum_parts(units.cluster, each, size) for each in parts])
        return np.asarray(parts @ parts.T)
    return np.asarray((parts * units.counts) @ parts.T)


class Moments(NamedTuple):
    """What the misfit is made of, in units of the scores; see the top of this file.

    `total`, `noise`, `bias` (T, c, b) are (2,), `slopes` (K) a list of (2, 2), `spread` (ν) is
    (2, 2), `df` their degrees of freedom.
    """

    total: FloatArray
    noise: FloatArray
    bias: FloatArray
    slopes: list[FloatArray]
    spread: FloatArray
    df: float


def estimate_moments(pairs: Pairs, measure: FloatArray, *, seed: int) -> Moments:
    """Measure both scores, and draw their noise with the same signs."""
    units, (_, n) = count_units(pairs), pairs.scores.shape
    k, n_cells = measure.size, 2 * measure.size
    cell = 2 * pairs.level + pairs.side
    share = pairs.mass / sum_parts(cell, pairs.mass, n_cells)[cell]
    orders = np.stack([np.lexsort((score, pairs.level)) for score in pairs.scores])
    steps, apart = np.empty((2, n)), np.empty((2, n))
    potential, distances = np.empty((2, n)), np.empty((2, k))
    for j in range(2):
        distances[j] = _measure(
            pairs.scores[j], pairs.side, share, pairs.offsets, orders[j], steps[j], apart[j],
            potential[j],
        )  # fmt: skip
    factors = 1.0 / np.sqrt(np.maximum(1.0 - 1.0 / units.effective, 1e-9))
    factors[units.numbers < 2.0] = 0.0
    factors[1::2] *= -1.0
    cluster = np.empty(0, np.int64) if pairs.cluster is None else pairs.cluster
    n_clusters = 0 if pairs.cluster is None else int(cluster.max()) + 1
    drawn = (pairs.side, share, pairs.counts, cluster, n_clusters, factors, pairs.offsets)

    def draw(begin: int, end: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        noise, plus = np.zeros((2, k)), np.zeros((2, k))
        totals = np.zeros((end - begin, 2))
        _draw(*drawn, orders, steps, apart, measure, seed, begin, noise, plus, totals)
        return noise, plus, totals

    blocks = list(iterate_blocks(draw, _DRAWS, _BLOCK))
    noise = np.sum([each[0] for each in blocks], axis=0) / _DRAWS
    plus = np.sum([each[1] for each in blocks], axis=0) / _DRAWS
    totals = np.concatenate([each[2] for each in blocks])
    bias = (plus - distances**2) @ measure
    freedom = np.maximum(2.0 * units.effective.reshape(-1, 2).min(axis=1) - 2.0, 1.0)
    slopes, df = _slopes(pairs, units, measure, potential, distances, noise, bias, totals, freedom)
    weight = (measure * noise) ** 2
    more = 1.0 + weight @ (2.0 / freedom) / np.maximum(weight.sum(axis=1), 1e-300)
    spread = np.cov(totals.T, ddof=1) * np.sqrt(np.outer(more, more))
    np.fill_diagonal(spread, np.maximum(np.diag(spread), 1e-30))
    return Moments(distances**2 @ measure, totals.mean(axis=0), bias, slopes, spread, df)


def _slopes(
    pairs: Pairs,
    units: Units,
    measure: FloatArray,
    potential: FloatArray,
    distances: FloatArray,
    noise: FloatArray,
    bias: FloatArray,
    totals: FloatArray,
    freedom: FloatArray,
) -> tuple[list[FloatArray], float]:
    """Return K for several allocations of the distances to levels, and degrees of freedom."""
    by_score, means = _residuals(pairs, units, pairs.scores)
    by_potential, _ = _residuals(pairs, units, potential)
    k, level = measure.size, units.cell // 2

    def square(each: FloatArray) -> FloatArray:
        return np.stack([sum_parts(level, units.counts * one**2, k) for one in each])

    more = np.zeros((2, k))
    signs = np.where(means[:, 1::2] >= means[:, ::2], 1.0, -1.0)
    for j, score in enumerate(pairs.scores):
        if not np.isin(score, (0.0, 1.0)).all():
            continue
        # Decisions: not below Agresti and Caffo's variance, and the potential is ± the score.
        rate = (means[j] * units.effective + 1.0) / (units.effective + 2.0)
        least = (rate * (1.0 - rate) / (units.effective + 2.0)).reshape(-1, 2).sum(axis=1)
        own = square(by_score)[j]
        factor = np.clip(np.sqrt(np.maximum(least / np.maximum(own, 1e-12), 1.0)), 1.0, 1e3)
        by_score[j] *= factor[level]
        by_potential[j] = by_score[j] * signs[j, level]
        more[j] = np.maximum(least - own * factor**2, 0.0)

    def covariance(residuals: FloatArray, allocation: FloatArray) -> FloatArray:
        found = _covariance(units, residuals, measure * allocation)
        added = (measure * allocation) ** 2 * more
        return np.asarray(found + np.diag(added.sum(axis=1)))

    excess = np.maximum(distances**2 - noise, 0.0)
    whole = (excess @ measure)[:, None]
    seems = np.where(whole > 0.0, np.sqrt(excess / np.where(whole > 0.0, whole, 1.0)), 1.0)
    slopes = [
        covariance(by_potential, np.ones((2, k))),
        covariance(by_score, signs),
        covariance(by_potential, seems),
    ]
    variances = square(by_potential) + more
    if k > 1:
        worst = _worst_allocation(
            units, measure, np.maximum(variances, square(by_score) + more), distances, noise,
            distances**2 @ measure - bias, slopes[2], np.cov(totals.T, ddof=1), freedom,
        )  # fmt: skip
        allocation, likely = worst
        factor = np.sqrt(likely / np.where(variances > 0.0, variances, 1.0)).clip(0.0, 1e3)
        far = covariance(by_potential * factor[:, level], allocation)
        if any(far[j, j] > 1.1 * max(each[j, j] for each in slopes) for j in range(2)):
            slopes.append(far)
    part = (measure * seems) ** 2 * variances
    df = part.sum(axis=1) ** 2 / np.maximum((part**2 / (freedom + 2.0)).sum(axis=1), 1e-300)
    known = float(np.maximum(df, 2.0).min())
    if units.cluster is not None:
        laid = sum_parts(units.cluster, measure[level] * units.share, int(units.cluster.max()) + 1)
        known = min(known, max(float((laid**2).sum() ** 2 / (laid**4).sum()) - 2.0, 2.0))
    return slopes, known


def _shrink(values: FloatArray, df: FloatArray, weight: FloatArray) -> FloatArray:
    """Shrink variances of units by level to their mean, as far as they differ by chance only."""
    mean = float(weight @ values / weight.sum())
    if not mean > 0.0:
        return values
    seen = float(weight @ (values / mean - 1.0) ** 2 / weight.sum())
    true = max(seen - float(weight @ (2.0 / df) / weight.sum()), 0.0)
    shrunk: FloatArray = mean + true / (true + 2.0 / df) * (values - mean)
    return shrunk


def _worst_allocation(
    units: Units,
    measure: FloatArray,
    variances: FloatArray,
    distances: FloatArray,
    noise: FloatArray,
    squares: FloatArray,
    slope: FloatArray,
    spread: FloatArray,
    freedom: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the allocations (2, k) of largest variance that levels allow, and their variances.

    One order of levels for both scores: orders of their own would undo the pairing.
    """
    unit = (1.0 / units.effective).reshape(-1, 2).sum(axis=1)
    likely = np.stack([unit * _shrink(each / unit, freedom, measure) for each in variances])
    rate = measure * (likely / np.maximum(likely @ measure, 1e-300)[:, None]).mean(axis=0)
    quantile, allocation = t_quantile(1.0 - _ALLOWED, freedom), np.empty(variances.shape)
    for j in range(2):
        reach = quantile * np.sqrt(np.maximum(variances[j], likely[j]))
        square = max(float(squares[j]), 0.0)
        square += 2.0 * math.sqrt(max(4.0 * slope[j, j] * square + spread[j, j], 1e-300))
        low = np.maximum(distances[j] - np.sqrt(noise[j]) - reach, 0.0)
        x = allocate(rate, measure * low**2, measure * (distances[j] + reach) ** 2, square)
        allocation[j] = np.sqrt(x / measure / square)
    return allocation, likely


def _misfit(d0: FloatArray, d1: FloatArray, moments: Moments, slope: FloatArray) -> FloatArray:
    """Return how far (T_0, T_1) are from what distances (d0, d1) would give, in their shape."""
    mean: list[FloatArray] = []
    for j, d in enumerate((d0, d1)):
        away = np.minimum(d * d / math.sqrt(moments.spread[j, j]), 1.0)
        mean.append(d * d + moments.noise[j] + away * (moments.bias[j] - moments.noise[j]))
        mean[j] = np.maximum(mean[j], 1e-30)
    v = [
        (4.0 * slope[j, k] * (d0, d1)[j] * (d0, d1)[k] + moments.spread[j, k]) / (mean[j] * mean[k])
        for j, k in ((0, 0), (1, 1), (0, 1))
    ]
    limit = 0.999 * np.sqrt(v[0] * v[1])
    shared = np.clip(v[2], -limit, limit)
    root = [3.0 * np.cbrt(moments.total[j] / mean[j]) - 3.0 + v[j] / 3.0 for j in range(2)]
    quadratic = root[0] ** 2 * v[1] - 2.0 * root[0] * root[1] * shared + root[1] ** 2 * v[0]
    misfit: FloatArray = quadratic / (v[0] * v[1] - shared * shared)
    return misfit


def difference_limits(moments: Moments, confidence: float) -> Interval:
    """Return the ends of D_1 - D_0 over all pairs of distances that are likely enough."""
    q = float(t_quantile(0.5 + confidence / 2.0, moments.df))
    spread, low, high = moments.spread, math.inf, -math.inf
    top = [
        math.sqrt(max(float(moments.total[j] - moments.bias[j]), 0.0) + moments.noise[j])
        + 3.0 * q * math.sqrt(max(float(each[j, j]) for each in moments.slopes))
        + 2.0 * math.sqrt(q * math.sqrt(spread[j, j]))
        for j in range(2)
    ]
    axes = [np.linspace(0.0, each, _GRID) for each in top]
    whole = axes[0][:, None], axes[1][None]

    def around(point: list[float], step: list[float], reach: float, size: int) -> list[FloatArray]:
        ends = [
            np.maximum(point[j] + step[j] * np.linspace(-reach, reach, size), 0.0) for j in range(2)
        ]
        return [ends[0][:, None], ends[1][None]]

    def at(grid: tuple[FloatArray, ...] | list[FloatArray], values: FloatArray) -> list[float]:
        i = np.unravel_index(int(values.argmin()), values.shape)
        return [float(grid[0][i[0], 0]), float(grid[1][0, i[1]])]

    def critical(grid: tuple[FloatArray, ...] | list[FloatArray], own: int) -> FloatArray:
        # The end that would be too near is the one of the score whose distance is near 0.
        near = 1.0 - grid[own] ** 2 / (_REACH * math.sqrt(spread[own, own]))
        return np.asarray(q * q * (1.0 + _BOOST * np.clip(near, 0.0, 1.0)))

    for slope in moments.slopes:
        found = _misfit(*whole, moments, slope)
        point, step, least = at(whole, found), [each / (_GRID - 1) for each in top], found.min()
        for _ in range(_ZOOMS):
            grid = around(point, step, 1.0, 13)
            near = _misfit(grid[0], grid[1], moments, slope)
            least, point, step = min(least, near.min()), at(grid, near), [s / 5.0 for s in step]
        best = point[1] - point[0]
        for own, sign in ((1, 1.0), (0, -1.0)):
            allowed = found <= least + critical(whole, own)
            ends = np.where(allowed, sign * (whole[1] - whole[0]), np.inf)
            end = min(float(ends.min()), sign * best)
            point = at(whole, ends) if allowed.any() else point
            step = [each / (_GRID - 1) for each in top]
            for _ in range(_ZOOMS):
                grid = around(point, step, 2.0, 17)
                allowed = _misfit(grid[0], grid[1], moments, slope) <= least + critical(grid, own)
                ends = np.where(allowed, sign * (grid[1] - grid[0]), np.inf)
                if ends.min() < end:
                    end, point = float(ends.min()), at(grid, ends)
                step = [each / 5.0 for each in step]
            low, high = (min(low, end), high) if sign > 0.0 else (low, max(high, -end))
    return low, high


def size_limits(difference: Interval, total: Interval) -> Interval:
    """Return the ends of |Δ_1| - |Δ_0| given intervals of Δ_1 - Δ_0 and of Δ_1 + Δ_0.

    It is clip(difference sign(total), -|total|, |total|), monotone in each, so corners decide.
    """
    corners = [
        min(max(math.copysign(d, d * s), -abs(s)), abs(s)) if s else 0.0
        for d in difference
        for s in total
    ]
    return min(corners), max(corners)
