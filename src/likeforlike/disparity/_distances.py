"""Distances between two groups inside each level.

With F_0, F_1 the cumulative distribution functions of the scores of the two groups in a level:

- `"wasserstein"`: W_p = (∫ |F_0^{-1} - F_1^{-1}|^p)^{1/p}, in units of the score;
- `"ks"`: max |F_0 - F_1|, Kolmogorov-Smirnov;
- `"tv"`: ½ Σ_x |P_0(x) - P_1(x)|, total variation, which for scores without ties is 1;
- `"mean"`: |E_0 f - E_1 f|, all that most tools look at.

More than two groups are compared with their barycenter, by `barycenter_spread`.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, cast, get_args

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import is_one_of, real
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError
from likeforlike.transport import (
    HIGHEST_ORDER,
    Atoms,
    PackedAtoms,
    balance_totals,
    compiled,
    pair_distances,
    pair_sizes,
    run_in_threads,
)

Distance = Literal["wasserstein", "ks", "tv", "mean"]
"""How two distributions of scores are compared.

Examples
--------
>>> import likeforlike as lfl
>>> float(lfl.dd([0.0, 1.0, 0.5, 0.5], ["f", "f", "m", "m"], distance="mean"))
0.0
>>> float(lfl.dd([0.0, 1.0, 0.5, 0.5], ["f", "f", "m", "m"], distance="ks"))
0.5
"""

_DISTANCES = get_args(Distance)


def check_distance(distance: str, order: float) -> Distance:
    """Check the name of a distance and its order."""
    if not is_one_of(distance, _DISTANCES):
        raise InputError(f"distance must be one of {_DISTANCES}, not {distance!r}.")
    if not 1.0 <= real(order) < np.inf:
        raise InputError(f"order must be a finite number of at least 1, not {order!r}.")
    return cast("Distance", distance)


def check_cost_order(order: float) -> float:
    """Check the order of a cost W_p^p, which underflows at a high order."""
    check_distance("wasserstein", order)
    if real(order) > HIGHEST_ORDER:
        raise InputError(
            f"order must be at most {HIGHEST_ORDER:g} for costs that are not rooted, not {order!r}."
        )
    return real(order)


@compiled
def _pair_contrasts(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    ks: FloatArray,
    tv: FloatArray,
    first: int,
    last: int,
) -> None:
    """Write the largest gap of the cdfs, and half the sum of gaps of the masses."""
    values, mass, offsets, totals = packed
    for k in range(first, last):
        i, last_i = offsets[left[k]], offsets[left[k] + 1]
        j, last_j = offsets[right[k]], offsets[right[k] + 1]
        total_i, total_j = totals[left[k]], totals[right[k]]
        times_i, times_j = balance_totals(total_i, total_j)
        sum_i, sum_j, widest, apart = 0.0, 0.0, 0.0, 0.0
        while i < last_i and j < last_j:
            at = min(values[i], values[j])
            here_i, here_j = 0.0, 0.0
            while i < last_i and values[i] == at:
                here_i += mass[i]
                i += 1
            while j < last_j and values[j] == at:
                here_j += mass[j]
                j += 1
            # Scaled by the other side's total: whole numbers stay exact, parity gives 0.
            here_i *= times_j
            here_j *= times_i
            sum_i += here_i
            sum_j += here_j
            widest = max(widest, abs(sum_i - sum_j))
            apart += abs(here_i - here_j)
        # Past the end of one side the distribution functions only come together again.
        whole = total_i * times_j
        rest = (whole - sum_i if i < last_i else 0.0) + (whole - sum_j if j < last_j else 0.0)
        ks[k] = widest / whole
        tv[k] = 0.5 * (apart + rest) / whole


def level_distances(
    cells: Cells, left: IntArray, right: IntArray, distance: Distance, order: float
) -> FloatArray:
    """Compute the distance between segments `left[k]` and `right[k]` of the cells, for each k."""
    scaled, scale = cells.scaled()
    atoms = scaled.atoms
    distances: FloatArray
    if distance == "mean":
        means = scaled.means.ravel()
        distances = scale.size * np.abs(means[left] - means[right])
        return distances
    if distance == "wasserstein":
        distances = scale.size * pair_distances(atoms, left, right, order)
        return distances
    ks, tv = np.empty(left.size), np.empty(left.size)
    # Scores that are nearly equal may be so on another scale, so these two take them as they are.
    packed = atoms.packed._replace(values=cells.middles)
    sweeps = partial(_pair_contrasts, packed, left, right, ks, tv)
    run_in_threads(sweeps, pair_sizes(atoms, left, right))
    return ks if distance == "ks" else tv


@compiled
def _find_median(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted median of the values."""
    order = np.argsort(values)
    half = 0.5 * weight.sum()
    below = 0.0
    for k in order:
        below += weight[k]
        if below >= half:
            return float(values[k])
    return float(values[order[-1]])


@compiled
def _barycenter_cost(packed: PackedAtoms, members: IntArray, order: float) -> float:
    """Compute Σ_a ω_a W_p^p(P_a, barycenter) of the segments in `members` in one joint sweep."""
    values, mass, offsets, _ = packed
    totals = np.empty(members.size)
    place = np.empty(members.size, np.int64)
    ends = np.empty(members.size)
    here = np.empty(members.size)
    for g in range(members.size):
        first = offsets[members[g]]
        totals[g] = packed.totals[members[g]]
        place[g] = first
        ends[g] = mass[first] / totals[g]
        here[g] = values[first]
    shares = totals / totals.sum()
    reached, spread = 0.0, 0.0
    while reached < 1.0:
        end = min(1.0, ends.min())
        center = (shares * here).sum() if order == 2.0 else _find_median(here, shares)
        spread += (end - reached) * (shares * np.abs(here - center) ** order).sum()
        reached = end
        for g in range(members.size):
            if ends[g] <= end:
                place[g] += 1
                if place[g] < offsets[members[g] + 1]:
                    ends[g] += mass[place[g]] / totals[g]
                    here[g] = values[place[g]]
                else:
                    ends[g] = np.inf
        if ends.min() == np.inf:
            break
    return spread


@compiled
def _barycenter_costs(packed: PackedAtoms, members: IntArray, order: float) -> FloatArray:
    """Compute the cost of the non-empty segments in each row of `members`."""
    costs = np.empty(members.shape[0])
    for k in range(members.shape[0]):
        filled = packed.offsets[members[k] + 1] > packed.offsets[members[k]]
        costs[k] = _barycenter_cost(packed, members[k][filled], order)
    return costs


def barycenter_spread(atoms: Atoms, members: IntArray, order: float) -> FloatArray:
    """Compute the spread of distributions around their barycenter, (Σ_a ω_a W_p^p(P_a, B))^{1/p}.

    ω_a is the share of the mass that belongs to member a. The barycenter B has the weighted mean of
    the quantile functions (p = 2) or their weighted median (p = 1) as quantile function. For
    p = 2 this is sqrt(½ Σ_{ab} ω_a ω_b W_2²(P_a, P_b)).
    """
    if order not in (1, 2):
        raise InputError(f"the barycenter has order 1 or 2, not {order!r}.")
    costs = _barycenter_costs(atoms.packed, members, float(order))
    spreads: FloatArray = costs ** (1.0 / order)
    return spreads
