"""The strength that meets a limit: a path of strengths, trained as one stack, then a closer look.

The smallest loss with disparity at most ε is sought among networks trained side by side with
strengths from 0 upwards. The first stack brackets the limit, the second looks inside the bracket.
A path has no step size and cannot oscillate, as the multiplier of dual ascent does, and a stack
costs little more than one network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likeforlike.nn.data import Rows
from likeforlike.nn.stacked import StackedMLP
from likeforlike.nn.training import Follow, Recipe, Trained, evaluate, train
from likeforlike.transport.atoms import FloatArray

__all__ = ["Candidate", "Path", "search_path"]

Measure = Callable[[FloatArray], float]
"""Disparity of the scores (n,) or (n, c) of one network on the validation rows."""

_FIRST = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_CLOSER = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strength that was tried: its loss and its disparity on the validation rows."""

    strength: float
    loss: float
    disparity: float


@dataclass(frozen=True, slots=True)
class Path:
    """All candidates in order of strength, the chosen one, and the stack that holds it.

    Attributes
    ----------
    candidates : what was tried.
    chosen : the smallest loss among those that meet the limit; if none does, the smallest
        disparity.
    met : whether the limit is met.
    trained, member : where the chosen network is.
    """

    candidates: tuple[Candidate, ...]
    chosen: Candidate
    met: bool
    trained: Trained
    member: int


def search_path(
    sizes: tuple[int, ...],
    rows: Rows,
    validation: Rows,
    recipe: Recipe,
    *,
    limit: float,
    disparity: Measure,
    seed: int,
    unit: float = 1.0,
    follow: Follow | None = None,
) -> Path:
    """Find the strength with the smallest loss whose disparity is at most a limit.

    Parameters
    ----------
    sizes : of the networks.
    rows, validation : one data set each.
    recipe : how to train, with a penalty.
    limit : ε >= 0, for the disparity on the validation rows.
    disparity : how it is measured.
    seed : of the weights and batches.
    unit : what a strength of 1 is multiplied by.
    follow : called after every epoch.
    """

    def tried(strengths: FloatArray) -> tuple[Trained, list[Candidate]]:
        network = StackedMLP([seed] * strengths.size, sizes)
        network.to(rows.inputs.dtype)
        trained = train(
            network,
            rows,
            validation,
            recipe,
            strengths=strengths * unit,
            seeds=np.array([seed]),
            follow=follow,
        )
        lines = np.zeros(strengths.size, np.int64)
        losses, _, scores = evaluate(trained.network, validation, lines, recipe)
        found = [
            Candidate(float(strength), float(loss), disparity(own))
            for strength, loss, own in zip(strengths, losses, scores, strict=True)
        ]
        return trained, found

    first = np.array(_FIRST)
    trained, found = tried(first)
    stacks = [(trained, found)]
    met = [k for k, candidate in enumerate(found) if candidate.disparity <= limit]
    if met and met[0] > 0:
        low, high = max(first[met[0] - 1], first[1] / 3.0), first[met[0]]
        stacks.append(tried(np.geomspace(low, high, _CLOSER + 2)[1:-1]))
    return _choose(stacks, limit)


def _choose(stacks: list[tuple[Trained, list[Candidate]]], limit: float) -> Path:
    everybody = [
        (candidate, trained, member)
        for trained, found in stacks
        for member, candidate in enumerate(found)
    ]
    within = [entry for entry in everybody if entry[0].disparity <= limit]
    if within:
        chosen, trained, member = min(within, key=lambda entry: entry[0].loss)
    else:
        chosen, trained, member = min(everybody, key=lambda entry: entry[0].disparity)
    candidates = sorted((entry[0] for entry in everybody), key=lambda c: c.strength)
    return Path(tuple(candidates), chosen, bool(within), trained, member)
