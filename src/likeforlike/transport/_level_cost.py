"""Ground costs between levels, and the level cost C that keeps like compared with like."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import LevelCostWarning
from likeforlike.transport._compiled import compiled

# The bounds are strict inequalities; this much above them is safely inside.
_MARGIN = 1.005


def discrete_ground(n_levels: int) -> FloatArray:
    """Ground cost 1{l ≠ l'}: every other level is equally far. Shape (K, K).

    Parameters
    ----------
    n_levels : K.

    Examples
    --------
    >>> from likeforlike.transport._level_cost import discrete_ground
    >>> discrete_ground(2)
    array([[0., 1.],
           [1., 0.]])
    """
    return 1.0 - np.eye(n_levels)


def metric_ground(metric: FloatArray, order: float) -> FloatArray:
    """Ground cost d(l, l')^p from a metric between levels. Shape (K, K).

    Parameters
    ----------
    metric : (K, K) floats, d.
    order : p >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport._level_cost import metric_ground
    >>> metric_ground(np.array([[0.0, 3.0], [3.0, 0.0]]), 2.0)
    array([[0., 9.],
           [9., 0.]])
    """
    ground: FloatArray = metric**order
    return ground


@compiled
def _least_slack(ground: FloatArray) -> float:
    """min over l and k, m ≠ l of G(k, l) + G(l, m) - G(k, m); stops once it is not positive."""
    least = np.inf
    size = ground.shape[0]
    for middle in range(size):
        for k in range(size):
            if k == middle:
                continue
            for m in range(size):
                if m == middle:
                    continue
                slack = ground[k, middle] + ground[middle, m] - ground[k, m]
                least = min(least, slack)
        if least <= 0.0:
            return 0.0
    return least


def safe_level_cost(
    ground: FloatArray, source: FloatArray, target: FloatArray, reach: float
) -> float:
    """Bound above which the level cost C keeps like compared with like.

    The mass min(p_0(l), p_1(l)) stays in level l when no detour pays. Undoing a detour k → l → m
    (mass that leaves l while other mass enters it) saves C [G(k,l) + G(l,m) - G(k,m)] and changes
    the inner costs by at most 2 R^p, so

        C > 2 R^p / min_{k,m≠l} [G(k,l) + G(l,m) - G(k,m)]

    suffices; for the discrete metric that is C > 2 R^p. With equal shares every detour is a cycle
    and Proposition 4.2 of the paper applies: C > R^p / min_{l≠l'} G(l, l'). Metrics along which
    detours are free, such as |l - l'|^p, have no finite bound unless the shares are equal.

    Parameters
    ----------
    ground : (K, K) ground cost, zero on the diagonal.
    source, target : (K,) level shares of the two sides; zero where a side lacks the level.
    reach : R^p, the largest |f - f'|^p.

    Returns
    -------
    The bound; `inf` where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import safe_level_cost
    >>> from likeforlike.transport._level_cost import discrete_ground
    >>> shares = np.array([0.5, 0.3, 0.2])
    >>> safe_level_cost(discrete_ground(3), shares, shares[::-1].copy(), 1.0)
    2.0
    """
    if ground.shape[0] == 1:
        return 0.0
    if np.allclose(source, target, rtol=0.0, atol=1e-12):
        nearest = float(ground[~np.eye(ground.shape[0], dtype=bool)].min())
        return reach / nearest if nearest > 0.0 else np.inf
    slack = 1.0 if is_discrete(ground) else _least_slack(ground)
    return 2.0 * reach / slack if slack > 0.0 else np.inf


def is_discrete(ground: FloatArray) -> bool:
    """Whether a ground cost is that of `discrete_ground`."""
    return bool(np.array_equal(ground, discrete_ground(ground.shape[0])))


def choose_level_cost(
    given: float | None,
    ground: FloatArray,
    source: FloatArray,
    target: FloatArray,
    reach: float,
    grown: Callable[[float], float] = float,
) -> float:
    """Take the given level cost, or the smallest safe one; warn when the given one is too small.

    Where no level cost is safe the bound of Proposition 4.2 is taken instead. A constant score has
    no reach at all, and then any level cost does: 1.

    Parameters
    ----------
    given : C >= 0, or `None` to choose.
    ground, source, target, reach : as for `safe_level_cost`.
    grown : turns a cost into the one that a warning tells, where scores were scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport._level_cost import discrete_ground
    >>> from likeforlike.transport._level_cost import choose_level_cost
    >>> shares = np.array([0.5, 0.3, 0.2])
    >>> round(choose_level_cost(None, discrete_ground(3), shares, shares[::-1].copy(), 1.0), 12)
    2.01
    """
    bound = safe_level_cost(ground, source, target, reach)
    if given is not None:
        if given < bound:
            advice = (
                f"at least {grown(bound):.6g} is needed"
                if np.isfinite(bound)
                else "no value is enough for this level_metric while level shares differ"
            )
            warnings.warn(
                f"level_cost={grown(given):.6g} does not keep like compared with like: {advice}.",
                LevelCostWarning,
                stacklevel=4,
            )
        return given
    if not np.isfinite(bound):
        bound = safe_level_cost(ground, source, source, reach)
    if not np.isfinite(bound) or bound == 0.0:
        return 1.0
    return _MARGIN * bound


def level_cost_factor(ground: FloatArray) -> tuple[float, bool]:
    """The level cost to take for scores of reach 1, whatever the shares, and whether it is safe.

    Costs grow like R^p, so C = factor * R^p for scores of reach R. Where detours are free no level
    cost is safe, and the bound of Proposition 4.2 is taken.
    """
    size = ground.shape[0]
    if size == 1:
        return 1.0, True
    slack = 1.0 if is_discrete(ground) else _least_slack(ground)
    if slack > 0.0:
        return _MARGIN * 2.0 / slack, True
    nearest = float(ground[~np.eye(size, dtype=bool)].min())
    return (_MARGIN / nearest if nearest > 0.0 else 1.0), False
