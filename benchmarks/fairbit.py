"""FairBiT: value and gradient of the bi-causal distance of a training batch.

Ours is exact: sort, sweep, network simplex between levels, envelope theorem. There are two peers.

The paper's way (Algorithm 1) solves an entropic problem with POT's `sinkhorn2` for every pair of
levels, another one between the levels, and lets torch differentiate through all iterations. It is
given every advantage that keeps it the paper's way:

- the constant C G(l, l') is added after the inner problem instead of before it. That moves no
  plan, and inside the exponential it would underflow;
- POT's plain iterations are used, the fastest it has, although they stop unconverged after 1,000
  steps for a small `reg`;
- the cost matrices are built from rows that are dealt to their cells by one sort;
- the faster of one and two torch threads counts.

`reg` trades speed for blur. 0.1 is the headline; 1 is generous (the blur swamps the signal) and
0.01 is the least that the plain iterations survive. How far the peer is from the exact value and
gradient is reported as information.

The second peer is the same loop with POT's exact solver `emd2`, whose gradient torch also knows.
It must find our value and our gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import Case, Measured, Race, race
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport import metric_ground
from likeforlike.transport._nested import nested_cost_and_gradient

__all__ = ["cases"]

_THREADS = (1, 2)


class _Batch(NamedTuple):
    """A training batch with scores in every (level, side), and the ground cost of its levels."""

    scores: FloatArray
    sides: IntArray
    levels: IntArray
    ground: FloatArray


_Solution = tuple[float, FloatArray]
_Solver = Callable[[Any, Any, Any], Any]


def cases(quick: bool) -> list[Case]:
    """FairBiT against POT, for two sizes of batch."""
    sizes, n_levels = ((64, 128), 3) if quick else ((128, 1024), 10)
    rounds = {1.0: 9, 0.1: 7, 0.01: 3} if not quick else {1.0: 1, 0.1: 1}
    found = []
    for size in sizes:
        what = f"FairBiT value and gradient, {size:,} rows"
        for reg, turns in rounds.items():
            measure = partial(_against_sinkhorn, size, n_levels, reg, turns)
            required = 1000.0 if reg < 1.0 else None
            found.append(Case(f"{what}: POT sinkhorn2, reg {reg:g}", measure, required=required))
        measure = partial(_against_emd, size, n_levels, 1 if quick else 9)
        found.append(Case(f"{what}: POT emd2 (exact)", measure))
    return found


def _batch(n_rows: int, n_levels: int) -> _Batch:
    random = np.random.default_rng(0)
    n_cells = 2 * n_levels
    # One row for each cell first, so that none is empty.
    cells = np.concatenate([np.arange(n_cells), random.integers(0, n_cells, n_rows - n_cells)])
    random.shuffle(cells)
    position = np.arange(float(n_levels))
    ground = metric_ground(np.abs(position[:, None] - position[None, :]), 2.0)
    return _Batch(random.random(n_rows), cells % 2, cells // 2, ground)


def _ours(batch: _Batch) -> _Solution:
    return nested_cost_and_gradient(
        batch.scores, batch.sides, batch.levels, batch.ground, order=2.0, level_cost=1.0
    )


def _entropic(reg: float) -> _Solver:
    from ot import sinkhorn2

    return partial(sinkhorn2, reg=reg, warn=False)


def _exact() -> _Solver:
    from ot import emd2

    return partial(emd2)


def _loop_over_pairs(batch: _Batch, solve: _Solver, threads: int) -> _Solution:
    """Value and gradient with a solver for each pair of levels and one for the levels."""
    import torch

    torch.set_num_threads(threads)
    scores = torch.from_numpy(batch.scores).requires_grad_()
    order = np.lexsort((batch.levels, batch.sides))
    n_levels = batch.ground.shape[0]
    sizes = np.bincount(n_levels * batch.sides + batch.levels).tolist()
    cells = torch.split(scores[torch.from_numpy(order)], sizes)
    uniform = [torch.full((size,), 1.0 / size, dtype=torch.float64) for size in sizes]
    ground = torch.from_numpy(batch.ground)
    costs = []
    for k in range(n_levels):
        for m in range(n_levels):
            other = n_levels + m
            inner = (cells[k][:, None] - cells[other][None, :]) ** 2
            costs.append(solve(uniform[k], uniform[other], inner) + ground[k, m])
    counts = torch.tensor(sizes, dtype=torch.float64).reshape(2, n_levels)
    source, target = counts / counts.sum(dim=1, keepdim=True)
    value = solve(source, target, torch.stack(costs).reshape(n_levels, n_levels))
    value.backward()
    gradient: FloatArray = np.zeros(0) if scores.grad is None else scores.grad.numpy()
    return float(value.detach()), gradient


def _raced(batch: _Batch, solve: _Solver, rounds: int) -> Race[_Solution, _Solution]:
    """Run both sides, with POT's warnings off and torch's threads put back afterwards."""
    import torch

    threads = torch.get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peers = [partial(_loop_over_pairs, batch, solve, count) for count in _THREADS]
            return race(partial(_ours, batch), *peers, rounds=rounds)
    finally:
        torch.set_num_threads(threads)


def _against_sinkhorn(n_rows: int, n_levels: int, reg: float, rounds: int) -> Measured:
    run = _raced(_batch(n_rows, n_levels), _entropic(reg), rounds)
    (value, gradient), (peer_value, peer_gradient) = run.ours, run.peer
    off = peer_value / value - 1.0
    aside = np.linalg.norm(peer_gradient - gradient) / np.linalg.norm(gradient)
    note = f"peer's value {off:+.0%} from exact, its gradient {aside:.0%}"
    return Measured(run.ours_seconds, run.peer_seconds, note=f"{note}; {_threads(run)}")


def _against_emd(n_rows: int, n_levels: int, rounds: int) -> Measured:
    run = _raced(_batch(n_rows, n_levels), _exact(), rounds)
    (value, gradient), (peer_value, peer_gradient) = run.ours, run.peer
    difference = max(abs(peer_value - value), float(np.abs(peer_gradient - gradient).max()))
    return Measured(run.ours_seconds, run.peer_seconds, difference, note=_threads(run))


def _threads(run: Race[_Solution, _Solution]) -> str:
    return f"torch threads: {_THREADS[run.variant]}"
