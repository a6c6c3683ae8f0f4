"""The loop in which a stack of models is trained, each against an adversary of its own.

A contest has no objective that falls: at first the adversary knows nothing, and later a low loss
may mean no more than an adversary that lags behind for an epoch. Choosing the best epoch on
validation rows would choose just those. So a model with an adversary plays to the end and keeps its
last weights, and two things make it settle there:

- the learning rate falls linearly to 0, as Zhang et al. (2018) ask (steps of order 1/t);
- Adam has no momentum, with which the two players circle around each other instead of settling.

A model of strength 0 has no adversary. It keeps the weights of the lowest validation loss and stops
after `patience` epochs without a lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from likeforlike.baselines.adversary import Opponent, View
from likeforlike.nn.batches import batch_rows
from likeforlike.nn.data import Rows
from likeforlike.nn.keeper import Keeper
from likeforlike.nn.stacked import StackedMLP
from likeforlike.nn.threads import one_thread
from likeforlike.nn.training import Epoch, Follow, Trained
from likeforlike.penalties import Layout
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Batch", "Contest", "Learner", "Optimiser", "Schedule", "contend", "derived_seed"]

Optimiser = Literal["adam", "adadelta"]
"""Name of an optimiser."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long steps are, and when they end.

    Attributes
    ----------
    learning_rate : of the optimiser, at the start.
    optimiser : `"adam"`, or `"adadelta"` (with a rate of about 1).
    momentum : of Adam, the β_1 of its authors.
    cooling : the rate falls linearly to 0 over `max_epochs`.
    max_epochs : when to stop.
    patience : epochs without improvement after which a model without adversary stops.
    batch_size : rows of a batch.
    """

    learning_rate: float = 1e-3
    optimiser: Optimiser = "adam"
    momentum: float = 0.0
    cooling: bool = True
    max_epochs: int = 200
    patience: int = 50
    batch_size: int = 256

    def rate(self, epoch: int) -> float:
        """Learning rate in an epoch, counted from 0."""
        left = 1.0 - epoch / self.max_epochs if self.cooling else 1.0
        return left * self.learning_rate


class Learner:
    """A stack of networks and the state of its optimiser.

    Examples
    --------
    >>> import torch
    >>> from likeforlike.baselines.contest import Learner, Schedule
    >>> from likeforlike.nn import StackedMLP
    >>> learner = Learner(StackedMLP([0], (1, 1)), Schedule(learning_rate=0.5))
    >>> before = learner.network.weights[1].item()
    >>> learner.descend([None, torch.ones(1, 1, 1)])
    >>> round(before - learner.network.weights[1].item(), 6)
    0.5
    """

    def __init__(self, network: StackedMLP, schedule: Schedule) -> None:
        self.network = network
        self._schedule = schedule
        self._optimiser = self._made(schedule.learning_rate)

    def _made(self, rate: float) -> torch.optim.Optimizer:
        weights, momentum = self.network.parameters(), self._schedule.momentum
        if self._schedule.optimiser == "adadelta":
            return torch.optim.Adadelta(weights, lr=rate)
        return torch.optim.Adam(weights, lr=rate, betas=(momentum, 0.999), fused=True)

    @property
    def weights(self) -> list[Tensor]:
        """The weights that gradients are taken for, each (m, ...)."""
        return list(self.network.weights)

    def descend(self, gradients: Sequence[Tensor | None]) -> None:
        """One step against the gradients (m, ...) of the weights; a weight with none stays put."""
        for weight, gradient in zip(self.network.weights, gradients, strict=True):
            weight.grad = gradient
        self._optimiser.step()

    def begin(self, epoch: int) -> None:
        """Take the learning rate of an epoch."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._schedule.rate(epoch)

    def keep(self, members: Tensor) -> None:
        """Go on with some of the members."""
        old = [self._optimiser.state.get(weight, {}) for weight in self.network.weights]
        self.network = self.network.select(members)
        self._optimiser = self._made(self._optimiser.param_groups[0]["lr"])
        for weight, state in zip(self.network.weights, old, strict=True):
            self._optimiser.state[weight] = {
                name: value if name == "step" else value[members].clone()
                for name, value in state.items()
            }


class Batch(NamedTuple):
    """Rows as m members see them.

    Attributes
    ----------
    inputs : (m, b, d), or (1, b, d) if all see the same.
    targets : (m, b) or (1, b).
    weight : sample weights of the same shape, or `None`.
    view : what the adversaries see; `None` if there are none.
    strengths : (m,) floats.
    """

    inputs: Tensor
    targets: Tensor
    weight: Tensor | None
    view: View | None
    strengths: Tensor


class Contest:
    """The members still in training, and the rows they see.

    Parameters
    ----------
    rows : s data sets.
    opponent : the rules of the adversaries; `None` if there are none.
    strengths : (m,) floats >= 0.
    lines : (m,) integers, the data set of each member.

    Attributes
    ----------
    members : (a,) integers, who is still in training.
    all_strengths : (m,) floats.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from likeforlike.baselines.contest import Contest
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.penalties import Layout
    >>> rows = Rows(torch.zeros(1, 5, 1), torch.zeros(1, 5), Layout.single(5))
    >>> contest = Contest(rows, None, np.zeros(3), np.zeros(3, int))
    >>> contest.batch(np.array([[0, 4]])).inputs.shape
    torch.Size([1, 2, 1])
    """

    def __init__(
        self, rows: Rows, opponent: Opponent | None, strengths: FloatArray, lines: IntArray
    ) -> None:
        self.rows = rows
        self.members: IntArray = np.arange(len(strengths))
        self._opponent, self._lines = opponent, lines
        self.all_strengths = np.array(strengths, dtype=np.float64)

    @property
    def strengths(self) -> FloatArray:
        """(a,) floats, of the members still in training."""
        return self.all_strengths[self.members]

    def batches(self, size: int, rngs: Sequence[np.random.Generator]) -> list[IntArray]:
        """Rows (s, b) of the batches of an epoch, in which every cell has its share."""
        cells = self.rows.layout.segments
        drawn = [batch_rows(own, size, rng) for own, rng in zip(cells, rngs, strict=True)]
        return [np.stack(rows) for rows in zip(*drawn, strict=True)]

    def batch(self, which: IntArray) -> Batch:
        """What the members see of rows (s, b)."""
        return self._seen(*self.rows.take(which, self._lines[self.members]))

    def whole(self, rows: Rows) -> Batch:
        """What the members see of all rows of these or other data sets."""
        return self._seen(*rows.all(self._lines[self.members]))

    def _seen(
        self, inputs: Tensor, targets: Tensor, weight: Tensor | None, layout: Layout
    ) -> Batch:
        lines = self._lines[self.members]
        view = None if self._opponent is None else self._opponent.view(layout, weight, lines)
        return Batch(inputs, targets, weight, view, torch.from_numpy(self.strengths).to(inputs))


def contend(
    contest: Contest,
    learners: Sequence[Learner],
    learn: Callable[[Batch], None],
    measure: Callable[[Batch], tuple[Tensor, Tensor]],
    *,
    validation: Rows,
    schedule: Schedule,
    rngs: Sequence[np.random.Generator],
    first: int = 0,
    follow: Follow | None = None,
) -> Trained:
    """Train the members of a contest.

    Parameters
    ----------
    contest : who plays, on which rows.
    learners : the models, and after them whatever else is trained along with them.
    learn : takes the steps of all learners on a batch.
    measure : loss (a,) and advantage (a,) of the adversaries on the validation rows.
    validation : s data sets.
    schedule : when to stop.
    rngs : s generators, for the order of batches.
    first : number of the first epoch.
    follow : called after every epoch with what it found.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from likeforlike.baselines.contest import Contest, Learner, Schedule, contend
    >>> from likeforlike.nn import StackedMLP
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.penalties import Layout
    >>> rows = Rows(torch.ones(1, 4, 1), torch.ones(1, 4), Layout.single(4))
    >>> schedule = Schedule(learning_rate=0.1, max_epochs=50)
    >>> model = Learner(StackedMLP([0], (1, 1)), schedule)
    >>> def errors(batch):
    ...     loss = ((model.network(batch.inputs)[..., 0] - batch.targets) ** 2).mean(dim=1)
    ...     return loss, torch.zeros_like(loss)
    >>> def learn(batch):
    ...     model.descend(torch.autograd.grad(errors(batch)[0].sum(), model.weights))
    >>> trained = contend(
    ...     Contest(rows, None, np.zeros(1), np.zeros(1, int)), [model], learn, errors,
    ...     validation=rows, schedule=schedule, rngs=[np.random.default_rng(0)],
    ... )
    >>> bool(abs(trained.network(rows.inputs) - 1).max() < 0.1)
    True
    """
    keeper = Keeper(learners[0].network, schedule.patience)
    curve: list[Epoch] = []
    with one_thread():
        for epoch in range(schedule.max_epochs):
            for learner in learners:
                learner.begin(epoch)
            for which in contest.batches(schedule.batch_size, rngs):
                learn(contest.batch(which))
            found = _look(contest, measure, validation, first + epoch)
            curve.append(found)
            # An ever lower rank keeps the last weights; a loss that is no number still shows.
            rank = np.where(contest.strengths > 0.0, 0.0 * found.loss - epoch, found.loss)
            going = keeper.look(learners[0].network, contest.members, rank, first + epoch)
            if follow is not None:
                follow(found)
            if not going.any():
                break
            if going.sum() <= 0.8 * going.size:
                contest.members = contest.members[going]
                for learner in learners:
                    learner.keep(torch.from_numpy(np.flatnonzero(going)))
    return Trained(keeper.network, keeper.best_epoch, contest.all_strengths, curve)


@torch.no_grad()
def _look(
    contest: Contest,
    measure: Callable[[Batch], tuple[Tensor, Tensor]],
    validation: Rows,
    number: int,
) -> Epoch:
    loss, value = (part.double().numpy() for part in measure(contest.whole(validation)))
    return Epoch(number, contest.members, loss, value, loss + contest.strengths * value)


def derived_seed(seed: int, purpose: int) -> int:
    """A seed for another purpose, independent of the first.

    Examples
    --------
    >>> from likeforlike.baselines.contest import derived_seed
    >>> derived_seed(0, 1) != derived_seed(0, 2)
    True
    """
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])
