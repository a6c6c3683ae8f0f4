"""Training with and without a penalty, stacked and alone, and the time the paper reports.

Law School as the paper uses it: 21,027 rows, batches of 128, a network with 50 and 20 hidden units,
Adam. Both sides run the same loop for the same number of epochs without stopping early.

- A penalty is to cost at most half of what training costs, whether it is read off a slope field
  (ours) or evaluated on every batch (as in the paper).
- A member of a stack of a hundred is to cost at most a fifth of a network trained alone.
- The paper reports two hours for one FairBiT model on Law School, with a graphics card. The row
  sets a whole training with early stopping, 500 epochs at most and a patience of 50, beside it.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmarks.timing import Case, Measured, race
from likeforlike import FairBiT
from likeforlike.datasets import load_law_school
from likeforlike.experiments import split
from likeforlike.training import Recipe, Rows, StackedMLP, train

__all__ = ["cases"]

_SIZES = (50, 20, 1)
_PAPER_SECONDS = 2 * 3600.0
_STRENGTH = 1.0


def cases(quick: bool) -> list[Case]:
    """The price of a penalty, the price of a member of a stack, and the paper's two hours."""
    epochs, members, rounds = (1, 4, 1) if quick else (2, 100, 5)
    ours = Recipe(penalty=FairBiT(), max_epochs=epochs, patience=epochs)
    paper = Recipe(penalty=FairBiT.paper(), max_epochs=epochs, patience=epochs, penalty_rows=None)
    whole = Recipe(
        penalty=FairBiT.paper(),
        max_epochs=2 if quick else 500,
        patience=1 if quick else 50,
        penalty_rows=None,
    )
    return [
        Case(
            "training on Law School: FairBiT by slope fields against no penalty",
            partial(_price, ours, rounds),
            "ours / peer",
            1.5,
        ),
        Case(
            "training on Law School: FairBiT on every batch, as in the paper, against no penalty",
            partial(_price, paper, rounds),
            "ours / peer",
            1.5,
        ),
        Case(
            f"a member of a stack of {members} (FairBiT, as in the paper): one trained alone",
            partial(_stacked, paper, members, rounds),
            "peer / ours",
            5.0,
        ),
        Case(
            "one FairBiT model on Law School, trained to the end: two hours (the paper)",
            partial(_whole, whole),
            "peer / ours",
        ),
    ]


def _law_school() -> tuple[Rows, Rows]:
    """Four fifths to train on and a tenth to validate."""
    parts = split(load_law_school(), [0], shares=(0.8, 0.1, 0.1))
    return parts.train, parts.validation


def _trained(data: tuple[Rows, Rows], recipe: Recipe, strength: float, members: int) -> float:
    rows, validation = data
    network = StackedMLP(list(range(members)), (rows.inputs.shape[2], *_SIZES))
    found = train(
        network,
        rows,
        validation,
        recipe,
        strengths=np.full(members, strength),
        seeds=np.array([0]),
    )
    return float(found.curve[-1].loss[0])


def _price(recipe: Recipe, rounds: int) -> Measured:
    data = _law_school()
    without = Recipe(max_epochs=recipe.max_epochs, patience=recipe.patience)
    run = race(
        partial(_trained, data, recipe, _STRENGTH, 1),
        partial(_trained, data, without, 0.0, 1),
        rounds=rounds,
    )
    return Measured(run.ours_seconds, run.peer_seconds)


def _stacked(recipe: Recipe, members: int, rounds: int) -> Measured:
    data = _law_school()
    run = race(
        partial(_trained, data, recipe, _STRENGTH, members),
        partial(_trained, data, recipe, _STRENGTH, 1),
        rounds=min(rounds, 3),
    )
    note = f"{run.ours_seconds:.3g} s for all {members}"
    return Measured(run.ours_seconds / members, run.peer_seconds, note=note)


def _whole(recipe: Recipe) -> Measured:
    data = _law_school()
    begin = time.perf_counter()
    loss = _trained(data, recipe, _STRENGTH, 1)
    note = f"squared error on validation rows at the end {loss:.3f}"
    return Measured(time.perf_counter() - begin, _PAPER_SECONDS, note=note)
