"""Boosted trees fitted to a table: rows held back, a strength or a limit obeyed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.boosting._losses import LossName, probabilities
from likeforlike.boosting._problem import BoostedRows, Problem
from likeforlike.boosting._rounds import Boosted, Inputs, Learning, Library, Watching, boost
from likeforlike.boosting._watched import watched_objective
from likeforlike.inference import DistanceEstimate
from likeforlike.limits._held_rows import HeldRows
from likeforlike.limits._limit import Kept, Limit, Trial, keep_limit, rows_to_judge
from likeforlike.penalties._held_out import held_out
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty

# A share of one class never starts beyond this one of the other.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class TreeTable:
    """What trees are fitted to.

    Attributes
    ----------
    inputs : (n, d) numbers, dense or sparse; missing ones are nan.
    targets : (n,) floats, 0 and 1 for the logistic loss.
    weight : (n,) floats > 0 of the loss.
    layout, prepared : groups and levels as they were given and as the penalty takes them, both
        with weights; `None` where there is nothing to compare.
    validation : (n,) truth values, rows to hold back to stop training, or `None`: a share of all.
    """

    inputs: Inputs
    targets: FloatArray
    weight: FloatArray
    layout: Layout | None
    prepared: Layout | None
    validation: BoolArray | None = None

    def take(self, rows: IntArray) -> TreeTable:
        """Some of the rows."""
        return TreeTable(
            self.inputs[rows],
            self.targets[rows],
            self.weight[rows],
            None if self.layout is None else self.layout.take(rows),
            None if self.prepared is None else self.prepared.take(rows),
            None if self.validation is None else self.validation[rows],
        )

    def boosted_rows(self) -> BoostedRows:
        """The rows as boosting takes them."""
        return BoostedRows(self.targets, self.weight, self.prepared)

    def held_rows(self) -> HeldRows | None:
        """The rows as limits take them."""
        if self.layout is None or self.prepared is None:
            return None
        return HeldRows(self.layout, self.prepared)


@dataclass(frozen=True, slots=True)
class TreeRecipe:
    """How to boost.

    Attributes
    ----------
    loss, penalty : what is made small; `None` is no penalty.
    learning_rate, regularization : η and λ.
    rounds, patience : trees at the most, and trees without improvement after which to stop.
    """

    loss: LossName
    penalty: Penalty | None
    learning_rate: float
    regularization: float
    rounds: int
    patience: int


@dataclass(frozen=True, slots=True)
class Fractions:
    """Shares of the rows that stop training, and that judge a limit."""

    validation: float
    limit: float


@dataclass(frozen=True, slots=True)
class FittedTrees:
    """Trees that were fitted.

    Attributes
    ----------
    boosted : the model.
    strength : what it was trained with.
    disparity, coverage : on the validation rows, or on the limit rows; `None` without groups.
    kept : what was tried for a limit, or `None`.
    """

    boosted: Boosted
    strength: float
    disparity: DistanceEstimate | None
    coverage: dict[Hashable, float] | None
    kept: Kept[Boosted] | None = None


def scores_of(loss: LossName, raw: FloatArray) -> FloatArray:
    """Probabilities, or predictions, of raw scores (n,)."""
    return probabilities(raw) if loss == "logistic" else raw


def model_scores(
    library: Library, loss: LossName, boosted: Boosted, inputs: Inputs, size: int
) -> FloatArray:
    """Scores (n,) of rows as the library takes them."""
    raw = np.full(size, boosted.start)
    if boosted.model is not None:
        raw = raw + library.raw(boosted.model, inputs)
    return scores_of(loss, raw)


class _Parts:
    """Rows to learn from, rows that stop training, and rows that judge a limit."""

    def __init__(
        self, table: TreeTable, recipe: TreeRecipe, library: Library, held: list[IntArray]
    ) -> None:
        self._recipe, self._library = recipe, library
        others = np.setdiff1d(np.arange(table.targets.size), np.concatenate(held))
        self.seen, self.back, self.last = (table.take(rows) for rows in (others, *held))
        self._inputs, self._held_inputs, self._last_inputs = (
            library.rows(part.inputs) if part.targets.size else None
            for part in (self.seen, self.back, self.last)
        )
        self.start = _start(self.seen, recipe.loss)

    def boosted(self, strength: float, seed: int, follow: Callable[[int], None]) -> Boosted:
        """A model of one strength."""
        recipe = self._recipe
        problem = Problem(
            recipe.loss, recipe.penalty, strength, recipe.learning_rate, recipe.regularization
        )
        watching, held = None, self.back.boosted_rows()
        if self.back.targets.size:
            seen = watched_objective(problem, held, seed)
            watching = Watching(self._held_inputs, held.targets.size, seen)
        return boost(
            problem,
            self._library.grower(self._inputs),
            Learning(self.seen.boosted_rows(), self._inputs),
            watching,
            start=self.start,
            rounds=recipe.rounds,
            patience=recipe.patience,
            follow=follow,
        )

    def held_scores(self, boosted: Boosted) -> FloatArray:
        """Scores of the validation rows; of the rows to learn from if there are none."""
        part, inputs = self.seen, self._inputs
        if self.back.targets.size:
            part, inputs = self.back, self._held_inputs
        return self._scores(boosted, inputs, part.targets.size)

    def trial(self, boosted: Boosted, strength: float) -> Trial[Boosted]:
        """A model as it is judged."""
        loss = boosted.losses[boosted.trees - 1] if boosted.trees else math.inf
        judged = self._scores(boosted, self._last_inputs, self.last.targets.size)
        return Trial(boosted, strength, loss, self.held_scores(boosted), judged)

    def _scores(self, boosted: Boosted, inputs: Inputs, size: int) -> FloatArray:
        return model_scores(self._library, self._recipe.loss, boosted, inputs, size)


def fit_trees(
    table: TreeTable,
    recipe: TreeRecipe,
    library: Library,
    *,
    strength: float,
    limit: Limit | None,
    fractions: Fractions,
    seed: int,
    follow: Callable[[int], None],
) -> FittedTrees:
    """Fit trees with a strength, or within a limit of their disparity."""
    share = fractions.limit if limit is not None else 0.0
    held = _held_out(table, recipe.loss, (fractions.validation, share), seed)
    parts = _Parts(table, recipe, library, held)
    validation = (parts.back if held[0].size else parts.seen).held_rows()
    if limit is None:
        boosted = parts.boosted(strength, seed, follow)
        if validation is None:
            return FittedTrees(boosted, strength, None, None)
        return FittedTrees(boosted, strength, *validation.measured(parts.held_scores(boosted)))
    judging = rows_to_judge(parts.last.held_rows() if held[1].size else None, table.targets.size)

    def tried(strengths: FloatArray) -> list[Trial[Boosted]]:
        return [parts.trial(parts.boosted(one, seed, follow), one) for one in strengths.tolist()]

    kept = keep_limit(limit, rows_to_judge(validation, table.targets.size), judging, tried)
    return FittedTrees(
        kept.trial.model, kept.chosen.strength, kept.disparity, judging.coverage(), kept
    )


def _held_out(
    table: TreeTable, loss: LossName, shares: tuple[float, float], seed: int
) -> list[IntArray]:
    """Rows that stop training, and rows that judge a limit."""
    layout = Layout.single(table.targets.size) if table.prepared is None else table.prepared
    classes = table.targets if loss == "logistic" else None
    return held_out(layout, classes, shares, seed, table.validation)


def _start(table: TreeTable, loss: LossName) -> float:
    """The raw score that suits all rows best."""
    mean = float(np.average(table.targets, weights=table.weight))
    if loss == "squared":
        return mean
    share = min(max(mean, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    return math.log(share / (1.0 - share))
