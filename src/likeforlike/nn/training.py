"""The loop that trains a stack of networks against a penalty.

Each member minimises

    loss(f) + strength * V(f)

with Adam on batches in which every cell has its share, stops when the objective on validation rows
has not improved for `patience` epochs, and gets its best weights back. The penalty is either

- read off a slope field (`penalties.field`) that is made from a large sample of rows every few
  steps: no bias of small batches, at little cost; or
- evaluated on each batch, as in the paper (`penalty_rows=None`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from likeforlike.errors import InputError
from likeforlike.nn.batches import batch_rows
from likeforlike.nn.data import Rows
from likeforlike.nn.keeper import Keeper
from likeforlike.nn.objectives import Loss, losses, scores_of
from likeforlike.nn.slopes import BatchSlopes, penalise
from likeforlike.nn.stacked import StackedMLP
from likeforlike.nn.threads import one_thread
from likeforlike.penalties import Penalty
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Epoch", "Recipe", "Trained", "evaluate", "train"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train.

    Attributes
    ----------
    loss : `"logistic"`, `"softmax"` or `"squared"`.
    penalty : or `None`.
    learning_rate : of Adam.
    max_epochs, patience : when to stop at the latest, and after how many epochs without
        improvement.
    batch_size : rows of a batch.
    penalty_rows : rows of the sample the slope field is made of; `None` penalises each batch.
    penalty_every : steps between two fields; `None` takes as many as make the sample cost about
        what the batches do.
    """

    loss: Loss = "squared"
    penalty: Penalty | None = None
    learning_rate: float = 1e-3
    max_epochs: int = 500
    patience: int = 50
    batch_size: int = 128
    penalty_rows: int | None = 4096
    penalty_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_epochs", "patience", "batch_size", "penalty_rows", "penalty_every"):
            given = getattr(self, name)
            if given is not None and given < 1:
                raise InputError(f"{name} must be at least 1, not {given!r}.")

    @property
    def refresh(self) -> int:
        """Steps between two fields."""
        if self.penalty_every is not None:
            return self.penalty_every
        return max(1, (self.penalty_rows or 0) // (2 * self.batch_size))


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch found on the validation rows, for the members still in training.

    Attributes
    ----------
    number : of the epoch, from 0.
    members : (a,) integers.
    loss, value, objective : (a,) floats, the loss, the penalty V and loss + strength * V.
    """

    number: int
    members: IntArray
    loss: FloatArray
    value: FloatArray
    objective: FloatArray


@dataclass(slots=True)
class Trained:
    """A stack at its best weights.

    Attributes
    ----------
    network : the m members.
    best_epoch : (m,) integers.
    strengths : (m,) floats, as they were at the end.
    curve : what every epoch found.
    """

    network: StackedMLP
    best_epoch: IntArray
    strengths: FloatArray
    curve: list[Epoch] = field(default_factory=list)


Follow = Callable[[Epoch], None]


@torch.no_grad()
def evaluate(
    network: StackedMLP, rows: Rows, lines: IntArray, recipe: Recipe
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Loss (m,), penalty (m,) and scores (m, n) or (m, n, c) of every member on all rows.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from likeforlike.nn import StackedMLP
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.nn.training import Recipe, evaluate
    >>> from likeforlike.penalties import Layout
    >>> rows = Rows(torch.ones(1, 2, 3), torch.zeros(1, 2), Layout.of_rows(["f", "m"]))
    >>> found = evaluate(StackedMLP([0], (3, 1)), rows, np.zeros(1, int), Recipe())
    >>> found[2].shape
    (1, 2)
    """
    targets, weight, layout = rows.all_but_inputs(lines)
    outputs = network.predict(rows.inputs, lines)
    loss = losses(outputs, targets, weight, recipe.loss).double().numpy()
    scores = scores_of(outputs, recipe.loss).double().numpy()
    values = np.zeros(len(scores))
    if recipe.penalty is not None:
        values, _ = penalise(recipe.penalty, scores, layout)
    return loss, values, scores


def train(
    network: StackedMLP,
    rows: Rows,
    validation: Rows,
    recipe: Recipe,
    *,
    strengths: FloatArray,
    seeds: IntArray,
    lines: IntArray | None = None,
    follow: Follow | None = None,
) -> Trained:
    """Train a stack of networks.

    Parameters
    ----------
    network : m members; left untouched.
    rows, validation : s data sets of equal size each.
    recipe : how.
    strengths : (m,) floats >= 0.
    seeds : (s,) integers; the order of batches of each data set follows from its seed, whatever
        else is in the stack.
    lines : (m,) integers, the data set each member is trained on; `None` means the first.
    follow : called after every epoch with what it found.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from likeforlike.nn import StackedMLP
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.nn.training import Recipe, train
    >>> from likeforlike.penalties import Layout
    >>> inputs = torch.linspace(0, 1, 100)[None, :, None]
    >>> rows = Rows(inputs, 2 * inputs[..., 0], Layout.of_rows(["f", "m"] * 50))
    >>> recipe = Recipe(learning_rate=0.05, max_epochs=30, batch_size=20)
    >>> trained = train(
    ...     StackedMLP([0], (1, 8, 1)), rows, rows, recipe,
    ...     strengths=np.zeros(1), seeds=np.zeros(1, int),
    ... )
    >>> float(trained.curve[-1].loss[0]) < float(trained.curve[0].loss[0])
    True
    """
    loop = _Loop(network, rows, recipe, strengths, seeds, lines)
    keeper = Keeper(network, recipe.patience)
    curve: list[Epoch] = []
    with one_thread():
        for number in range(recipe.max_epochs):
            # Who diverges is told by the objective and stops; numpy need not warn as well.
            with np.errstate(over="ignore", invalid="ignore"):
                loop.epoch()
                found = loop.validate(validation, number)
            curve.append(found)
            going = keeper.look(loop.network, loop.members, found.objective, number)
            if follow is not None:
                follow(found)
            if not going.any():
                break
            loop.drop(going)
    return Trained(keeper.network, keeper.best_epoch, loop.all_strengths, curve)


class _Loop:
    """The members still in training, with the state of their optimiser."""

    def __init__(
        self,
        network: StackedMLP,
        rows: Rows,
        recipe: Recipe,
        strengths: FloatArray,
        seeds: IntArray,
        lines: IntArray | None,
    ) -> None:
        self.members = np.arange(network.members)
        self.network = network.select(torch.arange(network.members))
        self.all_strengths = np.array(strengths, dtype=np.float64)
        self._lines = np.zeros(network.members, np.int64) if lines is None else lines
        self._rows, self._recipe = rows, recipe
        self._rngs = [np.random.default_rng([int(seed), 0]) for seed in seeds]
        self._slopes: BatchSlopes | None = None
        if recipe.penalty is not None and self.all_strengths.any():
            self._slopes = BatchSlopes(
                recipe.penalty,
                recipe.loss,
                rows,
                seeds,
                recipe.penalty_rows,
                recipe.refresh,
            )
        self._adam = self._optimiser()

    def _optimiser(self) -> torch.optim.Adam:
        return torch.optim.Adam(
            self.network.parameters(), lr=self._recipe.learning_rate, fused=True
        )

    def epoch(self) -> None:
        """Pass through all rows once."""
        cells = self._rows.layout.segments
        batches = np.stack(
            [
                batch_rows(own, self._recipe.batch_size, rng)
                for own, rng in zip(cells, self._rngs, strict=True)
            ]
        )
        for step in range(batches.shape[1]):
            self._learn(np.ascontiguousarray(batches[:, step]))

    def _learn(self, which: IntArray) -> None:
        lines = self._lines[self.members]
        inputs, targets, weight, layout = self._rows.take(which, lines)
        outputs = self.network(inputs)
        total = losses(outputs, targets, weight, self._recipe.loss).sum()
        if self._slopes is not None:
            scores = scores_of(outputs, self._recipe.loss)
            plain = scores.detach().double().numpy()
            gradient = self._slopes(self.network, plain, layout, which, lines)
            strength = self.all_strengths[self.members].reshape(-1, *[1] * (plain.ndim - 1))
            # The penalty enters by its gradient alone.
            total = total + (scores * torch.from_numpy(gradient * strength).to(scores)).sum()
        self._adam.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        self._adam.step()

    def validate(self, validation: Rows, number: int) -> Epoch:
        """Loss, penalty and objective on the validation rows."""
        lines, strength = self._lines[self.members], self.all_strengths[self.members]
        loss, values, _ = evaluate(self.network, validation, lines, self._recipe)
        return Epoch(number, self.members, loss, values, loss + strength * values)

    def drop(self, going: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Leave out members that have stopped, once there are enough of them to be worth it."""
        if going.sum() > 0.8 * going.size:
            return
        kept = torch.from_numpy(np.flatnonzero(going))
        old = [self._adam.state[weight] for weight in self.network.weights]
        self.network = self.network.select(kept)
        self.members = self.members[going]
        self._adam = self._optimiser()
        for weight, state in zip(self.network.weights, old, strict=True):
            self._adam.state[weight] = {
                name: value[kept].clone() if name != "step" else value
                for name, value in state.items()
            }
        if self._slopes is not None:
            self._slopes.keep(np.flatnonzero(going))
