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

from likeforlike._arrays import FloatArray
from likeforlike.nn._training import Trained

_FIRST = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_CLOSER = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strength that was tried: its loss and its disparity on the validation rows."""

    strength: float
    loss: float
    disparity: float


Tried = Callable[[FloatArray], tuple[Trained, list[Candidate]]]
"""Trains a stack of networks with some strengths, and says what came of each."""


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


def search_path(tried: Tried, limit: float) -> Path:
    """Find the strength with the smallest loss whose disparity is at most a limit."""
    first = np.array(_FIRST)
    stacks = [tried(first)]
    met = [k for k, candidate in enumerate(stacks[0][1]) if candidate.disparity <= limit]
    if met and met[0] > 0:
        low, high = max(first[met[0] - 1], first[1] / 3.0), first[met[0]]
        stacks.append(tried(np.geomspace(low, high, _CLOSER + 2)[1:-1]))
    return _choose(stacks, limit)


def _choose(stacks: list[tuple[Trained, list[Candidate]]], limit: float) -> Path:
    everybody = [
        (candidate, trained, member)
        for trained, candidates in stacks
        for member, candidate in enumerate(candidates)
    ]
    within = [entry for entry in everybody if entry[0].disparity <= limit]
    if within:
        chosen, trained, member = min(within, key=lambda entry: entry[0].loss)
    else:
        chosen, trained, member = min(everybody, key=lambda entry: entry[0].disparity)
    in_order = sorted((entry[0] for entry in everybody), key=lambda c: c.strength)
    return Path(tuple(in_order), chosen, bool(within), trained, member)
