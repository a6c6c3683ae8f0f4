"""Rows to be repaired, and a repair by its definition: every row against every other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.repair import ConditionalBarycenter

STEPS = [0.0, 0.25, 0.5, 0.75, 1.0]


class Rows(NamedTuple):
    scores: FloatArray
    groups: IntArray
    levels: IntArray
    weights: FloatArray | None = None

    @property
    def features(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "legitimate_features": self.levels}

    @property
    def columns(self) -> dict[str, Any]:
        return {**self.features, "sample_weight": self.weights}

    @property
    def mass(self) -> FloatArray:
        return np.ones(self.scores.size) if self.weights is None else self.weights

    def cell(self, level: int, group: int) -> tuple[FloatArray, FloatArray]:
        inside = (self.levels == level) & (self.groups == group)
        return self.scores[inside], self.mass[inside]

    def distances(self, order: float) -> FloatArray:
        found = lfl.cdd_lp(*self[:3], order=order, sample_weight=self.weights)
        return found.by_level.distance


def rows(
    *sizes: int, digits: int | None = None, weighted: bool = False, levels: int = 3, seed: int = 0
) -> Rows:
    """Levels with the same number of rows of each group, shuffled; groups differ throughout."""
    rng = np.random.default_rng(seed)
    group = np.tile(np.repeat(np.arange(len(sizes)), sizes), levels)
    level = np.repeat(np.arange(levels), sum(sizes))
    scores = rng.beta(2 + level, 4 - group) * 0.8 + 0.05 * group
    if digits is not None:
        scores = np.round(scores, digits)
    order = rng.permutation(scores.size)
    weights = rng.exponential(size=scores.size) + 0.05 if weighted else None
    return Rows(scores[order], group[order], level[order], weights)


def repaired(table: Rows, t: float = 1.0, **settings: Any) -> Rows:
    """All of the repair, whatever its noise."""
    fitted = ConditionalBarycenter(t, shrink=False, **settings)
    return table._replace(scores=fitted.fit_transform(table.scores, **table.columns))


UNEQUAL = {
    "continuous": rows(137, 411),
    "coprime": rows(101, 300, seed=1),
    "tied": rows(137, 411, digits=1),
    "decisions": rows(137, 400, digits=0),
    "weighted": rows(137, 411, weighted=True),
    "weighted and tied": rows(200, 411, digits=1, weighted=True),
    "weighted, same size": rows(150, 150, weighted=True),
}


def by_cell(before: Rows, after: Rows) -> list[tuple[FloatArray, FloatArray]]:
    """Scores before and after, in order of both."""
    found = []
    for level in np.unique(before.levels):
        for group in np.unique(before.groups):
            (old, _), (new, _) = before.cell(level, group), after.cell(level, group)
            order = np.lexsort((new, old))
            found.append((old[order], new[order]))
    return found


def intervals(mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    ends = np.cumsum(mass) / mass.sum()
    return np.concatenate([[0.0], ends[:-1]]), ends


def dense_mean(cells: list[tuple[FloatArray, FloatArray]], low: float, high: float) -> float:
    """Mean over [low, high] of Σ_a π_a Q_a, by the overlap with every row of every group."""
    whole = sum(float(mass.sum()) for _, mass in cells)
    total = 0.0
    for scores, mass in cells:
        order = np.argsort(scores)
        begins, ends = intervals(mass[order])
        overlap = np.maximum(np.minimum(ends, high) - np.maximum(begins, low), 0.0)
        total += mass.sum() / whole * (overlap * scores[order]).sum() / overlap.sum()
    return total


def barycenter(cells: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Values and mass of the barycenter, piece by piece."""
    ends = [intervals(mass[np.argsort(scores)])[1] for scores, mass in cells]
    edges = np.unique(np.concatenate([[0.0], *ends]))
    edges = edges[np.diff(edges, prepend=-1.0) > 1e-13]
    return np.array([dense_mean(cells, *span) for span in pairwise(edges)]), np.diff(edges)
