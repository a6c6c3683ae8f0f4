"""Squared distances between laws that are spread over the steps of their scale.

Scores with few distinct values (decisions, ratings, rounded figures) make W_2² behave like an
absolute value: moving a little mass by one step costs in proportion to the mass, so its bias does
not follow the rule that removes it elsewhere. Spread evenly over the step it stands for, each
score makes the quantile functions continuous and W_2² a smooth, quadratic quantity again:

    ∫ (Q_0 - Q_1)² dt = Σ_k m_k (d_k² + d_k d_{k+1} + d_{k+1}²) / 3,

with Q piecewise linear and d its differences at the ends of each piece. The steps come from all
scores of the data, so for continuous scores they are as narrow as the data are dense, and nothing
changes. Scores with two values only are described by their mean: there the squared gap of the
means is taken, in units of a difference of rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike.transport.atoms import FloatArray
from likeforlike.transport.compiled import compiled

__all__ = ["Steps", "squared_distance", "steps_of"]


class Steps(NamedTuple):
    """The step of the scale that each atom stands for.

    Attributes
    ----------
    low, high : (m,) floats, its ends.
    two_valued : whether the whole scale has only two values.
    """

    low: FloatArray
    high: FloatArray
    two_valued: bool


def steps_of(values: FloatArray, scale: FloatArray | None = None) -> Steps:
    """Steps of a scale: from halfway to the next lower value to halfway to the next higher one.

    No value reaches further than the median distance of neighbours, so that a lonely score far
    away does not stretch the step before it.

    Parameters
    ----------
    values : (m,) floats, in any order.
    scale : all values that occur, each of `values` among them; `None` means these.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.inference.spread import steps_of
    >>> steps_of(np.array([1.0, 3.0, 4.0]))
    Steps(low=array([0. , 2. , 3.5]), high=array([2. , 3.5, 4.5]), two_valued=False)
    """
    scale = np.unique(values if scale is None else scale)
    if scale.size == 1:
        return Steps(values.copy(), values.copy(), two_valued=False)
    place = np.searchsorted(scale, values)
    between = np.diff(scale)
    half = np.minimum(0.5 * between, np.median(between))
    low = scale - np.concatenate([half[:1], half])
    high = scale + np.concatenate([half, half[-1:]])
    return Steps(low[place], high[place], two_valued=scale.size == 2)


@compiled
def _mean(low: FloatArray, high: FloatArray, mass: FloatArray) -> float:
    total, moment = 0.0, 0.0
    for i in range(mass.size):
        total += mass[i]
        moment += mass[i] * 0.5 * (low[i] + high[i])
    return moment / total


@compiled
def squared_distance(
    low_u: FloatArray,
    high_u: FloatArray,
    a: FloatArray,
    low_v: FloatArray,
    high_v: FloatArray,
    b: FloatArray,
    two_valued: bool,
) -> float:
    """∫ (Q_0 - Q_1)² between two spread laws, or the squared gap of means of two-valued ones."""
    if two_valued:
        gap = _mean(low_u, high_u, a) - _mean(low_v, high_v, b)
        return gap * gap
    total_u, total_v = a.sum(), b.sum()
    i, j = 0, 0
    begin_u, begin_v, reached, cost = 0.0, 0.0, 0.0, 0.0
    while i < a.size and j < b.size:
        long_u, long_v = a[i] * total_v, b[j] * total_u
        end_u, end_v = begin_u + long_u, begin_v + long_v
        end = min(end_u, end_v)
        step_u, step_v = (high_u[i] - low_u[i]) / long_u, (high_v[j] - low_v[j]) / long_v
        first = low_u[i] + step_u * (reached - begin_u) - low_v[j] - step_v * (reached - begin_v)
        last = low_u[i] + step_u * (end - begin_u) - low_v[j] - step_v * (end - begin_v)
        cost += (end - reached) * (first * first + first * last + last * last) / 3.0
        reached = end
        if end_u <= end_v:
            i += 1
            begin_u = end_u
        if end_v <= end_u:
            j += 1
            begin_v = end_v
    return float(cost / (total_u * total_v))
