"""Rows with known chances of their group, and slow ways to repair them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from likeforlike._arrays import FloatArray, IntArray


class Drawn(NamedTuple):
    """People of known levels, their true chances, and scores that say something of the group."""

    scores: FloatArray
    inputs: FloatArray
    chances: FloatArray
    groups: IntArray
    levels: IntArray

    @property
    def who(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "legitimate_features": self.levels}


def drawn(n: int, *, n_groups: int = 2, levels: int = 3, seed: int = 0) -> Drawn:
    """Groups follow from the inputs, and scores from inputs and levels alone."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n, n_groups + 1))
    level = rng.integers(0, levels, n)
    leaning = np.exp(1.2 * inputs[:, :n_groups] + 0.2 * level[:, None] * np.arange(n_groups))
    chances = leaning / leaning.sum(axis=1, keepdims=True)
    lot = rng.random(n)[:, None]
    group = (np.cumsum(chances, axis=1)[:, :-1] < lot).sum(axis=1)
    scores = 1.0 / (1.0 + np.exp(-(inputs[:, 0] + 0.7 * inputs[:, -1] + 0.3 * level)))
    return Drawn(scores, inputs, chances, group, level)


def tilts(chances: FloatArray, mass: FloatArray) -> FloatArray:
    """η_a / p_a - η_0 / p_0 of one level."""
    shares = mass @ chances / mass.sum()
    relative = chances / shares
    return np.asarray(relative[:, 1:] - relative[:, :1])


def least_change(
    scores: FloatArray, tilt: FloatArray, mass: FloatArray, values: FloatArray
) -> float:
    """The linear program itself: least mean squared change under equal distributions, by HiGHS."""
    n, m = scores.size, values.size
    share = mass / mass.sum()
    cost = (share[:, None] * (values - scores[:, None]) ** 2).ravel()
    rows = np.kron(np.eye(n), np.ones(m))
    equal = [
        np.kron(share * tilt[:, j], np.eye(m)[k]) for j in range(tilt.shape[1]) for k in range(m)
    ]
    found = linprog(
        cost, A_eq=np.vstack([rows, *equal]), b_eq=np.r_[np.ones(n), np.zeros(len(equal))]
    )
    assert found.status == 0
    return float(found.fun)


def best_decisions(benefit: FloatArray, tilt: FloatArray, mass: FloatArray, limit: float) -> float:
    """The largest benefit of chances to be accepted whose gap is at most the limit, by HiGHS."""
    share = mass / mass.sum()
    gap = share * tilt
    found = linprog(
        -share * benefit, A_ub=np.stack([gap, -gap]), b_ub=[limit, limit], bounds=(0.0, 1.0)
    )
    assert found.status == 0
    return -float(found.fun)
