"""One network fitted to a table: a strength or a limit obeyed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import torch

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate
from likeforlike.limits._limit import Candidate, Limit, Trial, keep_limit, rows_to_judge
from likeforlike.nn._objectives import Loss, scores_of
from likeforlike.nn._stacked import StackedMLP
from likeforlike.nn._stacked_module import Module, StackedModule, seeded
from likeforlike.nn._table import Prepared, Scale, Table, prepare, strength_unit
from likeforlike.nn._training import Follow, Recipe, Trained, evaluate, train


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network that predicts in the unit of the target.

    Attributes
    ----------
    network : a stack of one.
    scale, loss : what surrounds it.
    strength : what it was trained with.
    curve : loss on the validation rows after every epoch of its training.
    disparity : on the validation rows, or on the limit rows; `None` without groups.
    coverage : share of each group that could be compared there; `None` without groups.
    path : strengths tried for a limit.
    complaint : what is to be said of a limit that was not met, or `None`.
    """

    network: StackedMLP
    scale: Scale
    loss: Loss
    strength: float
    curve: tuple[float, ...]
    disparity: DistanceEstimate | None
    coverage: dict[Hashable, float] | None
    path: tuple[Candidate, ...] = ()
    complaint: str | None = None

    @torch.no_grad()
    def scores(self, inputs: FloatArray) -> FloatArray:
        """Scores (n,) or (n, c) of inputs (n, d)."""
        with np.errstate(over="ignore"):
            scaled = (inputs - self.scale.mean) / self.scale.spread
        dtype = self.network.weights[0].dtype
        outputs = self.network.eval()(torch.tensor(scaled, dtype=dtype)[None])
        plain: FloatArray = scores_of(outputs, self.loss)[0].double().numpy()
        with np.errstate(over="ignore"):
            scores = self.scale.target_mean + self.scale.target_spread * plain
        odd = np.flatnonzero(~np.isfinite(scores.reshape(len(inputs), -1)).all(axis=1))
        if odd.size:
            raise InputError(
                f"row {odd[0]} of X is so far from the training rows that it has no score; "
                f"there are {odd.size} such row(s)."
            )
        return scores


@dataclass(frozen=True, slots=True)
class Member:
    """One network of a stack that was trained."""

    trained: Trained
    place: int

    def network(self) -> StackedMLP:
        """The network alone, as a stack of one."""
        return self.trained.network.select(torch.tensor([self.place]))

    def curve(self, patience: int | None = None) -> tuple[float, ...]:
        """Loss after every epoch until it stopped; the stack may have gone on without it."""
        last = np.inf if patience is None else int(self.trained.best_epoch[self.place]) + patience
        return tuple(
            float(epoch.loss[epoch.members == self.place][0])
            for epoch in self.trained.curve
            if epoch.number <= last and self.place in epoch.members
        )


def fitted(ready: Prepared, member: Member, strength: float, patience: int | None = None) -> Fitted:
    """A trained network, with its disparity on the validation rows."""
    network, curve = member.network(), member.curve(patience)
    disparity, coverage = None, None
    if ready.held is not None:
        disparity, coverage = ready.held.measured(ready.scores(network, ready.validation)[0])
    kept = network.cpu()
    return Fitted(kept, ready.scale, ready.loss, strength, curve, disparity, coverage)


def fit_network(
    table: Table,
    recipe: Recipe,
    sizes: tuple[int, ...],
    *,
    strength: float,
    limit: Limit | None,
    validation_fraction: float,
    limit_fraction: float,
    seed: int,
    module: Module | None = None,
    device: str | None = None,
    follow: Follow | None = None,
) -> Fitted:
    """Fit one network with a strength, or within a limit of its disparity."""
    if table.layout is None:
        limit = None
    share = 0.0 if limit is None else limit_fraction
    ready = prepare(
        table, recipe.loss, validation_fraction, seed, limit_fraction=share, device=device
    )
    unit = 1.0
    if recipe.penalty is not None:
        unit = strength_unit(recipe.penalty.degree, ready.scale.target_spread)

    def stack(members: int) -> StackedMLP:
        if module is None:
            return StackedMLP([seed] * members, sizes)
        return StackedModule(module, members, sizes[0], sizes[-1], seed)

    def trained(strengths: FloatArray) -> Trained:
        # A module may draw while it is trained, as layers that drop units do.
        with seeded(seed):
            return train(
                stack(strengths.size).to(ready.rows.inputs),
                ready.rows,
                ready.validation,
                recipe,
                strengths=strengths * unit,
                seeds=np.array([seed]),
                follow=follow,
            )

    if limit is None:
        alone = Member(trained(np.array([strength])), 0)
        return fitted(ready, alone, strength, recipe.patience)
    return _within(limit, ready, recipe, trained)


def _within(
    limit: Limit, ready: Prepared, recipe: Recipe, trained: Callable[[FloatArray], Trained]
) -> Fitted:
    """The network that is taken for a limit, whether or not it is shown to hold it."""
    held, judging = (rows_to_judge(one, ready.rows.size) for one in (ready.held, ready.judging))

    def tried(strengths: FloatArray) -> list[Trial[Member]]:
        stack = trained(strengths)
        losses, _, _ = evaluate(
            stack.network, ready.validation, np.zeros(strengths.size, np.int64), recipe
        )
        assert ready.limit_rows is not None
        seen = ready.scores(stack.network, ready.validation)
        judged = ready.scores(stack.network, ready.limit_rows)
        return [
            Trial(Member(stack, k), float(strength), float(losses[k]), seen[k], judged[k])
            for k, strength in enumerate(strengths)
        ]

    kept = keep_limit(limit, held, judging, tried)
    member = kept.trial.model
    return Fitted(
        member.network().cpu(),
        ready.scale,
        ready.loss,
        kept.chosen.strength,
        member.curve(recipe.patience),
        kept.disparity,
        judging.coverage(),
        kept.candidates,
        None if kept.met else kept.complaint(),
    )
