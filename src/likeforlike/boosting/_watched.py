"""What rows held back say of a boosted model: mean loss + strength * V, without the bias of V.

A few rows of equal law are never alike, and the more so the wider their scores are: on rows held
back V is too large, most of all for models that tell people apart, and stopping by it would stop
strong penalties after a few trees. What chance alone gives is measured on the same scores, with
groups dealt anew a few times (`Penalty.at_parity`), and taken off. The deals stay the same from
tree to tree. Where groups cannot be dealt anew V is taken as it is: along a number, where anchors
hold many rows, and with soft groups.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.boosting._losses import scored
from likeforlike.boosting._problem import BoostedRows, Problem
from likeforlike.penalties._layout import Layout

_DEALS = 8


def watched_objective(
    problem: Problem, rows: BoostedRows, seed: int
) -> Callable[[FloatArray], tuple[float, float]]:
    """Objective and loss of raw scores (n,) on rows held back."""
    penalty, layout = problem.penalty, rows.layout
    dealt = _dealt(problem, rows, seed)

    def seen(raw: FloatArray) -> tuple[float, float]:
        at = scored(problem.loss, raw, rows.targets)
        loss = float(np.average(at.losses, weights=rows.weight))
        if penalty is None or layout is None or dealt is None or not problem.strength:
            return loss, loss
        value, *by_chance = (
            float(penalty.stacked(at.scores[None], each)[0][0]) for each in (layout, *dealt)
        )
        excess = value - (float(np.mean(by_chance)) if by_chance else 0.0)
        return loss + problem.strength * excess, loss

    return seen


def _dealt(problem: Problem, rows: BoostedRows, seed: int) -> list[Layout] | None:
    """The rows with groups dealt anew, as often as that is possible; `None` if nobody meets."""
    if problem.penalty is None or rows.layout is None:
        return None
    if not any(problem.penalty.compared(rows.layout).coverage().values()):
        return None
    rng = np.random.default_rng([seed, 3])
    found = [problem.penalty.at_parity(rows.layout, rng) for _ in range(_DEALS)]
    return [each for each in found if each is not None]
