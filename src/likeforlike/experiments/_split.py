"""Tasks, their splits into training, validation and test rows, and metrics on the test rows.

A task is a data set, how it is split, and how networks are trained on it. Every part has its share
of every cell. Inputs are standardized by the training rows of the same seed, and so are the targets
of a regression: a network could not reach a salary from weights near 0, and against errors of its
size no penalty would weigh anything. Scores are given back in the unit of the target
(`Split.natural`).

Metrics are all that the paper reports, exactly and in natural units: W_1, which its text names, and
W_2², which its tables seem to show. Its bi-causal distance is of order 2, with levels numbered from
0 and the metric |l - l'|², C = 1, un-rooted, less what the levels alone cost. Averages over runs
should use `squared`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._settings import MeasureName
from likeforlike.datasets import Dataset, Encoding
from likeforlike.disparity import cdd_lp, cdd_wass, dd
from likeforlike.errors import InputError, LevelCostWarning
from likeforlike.penalties import Layout, Penalty, stratified_order
from likeforlike.training import (
    Loss,
    Recipe,
    Rows,
    StackedMLP,
    estimate_level_disparity,
    estimate_smooth_disparity,
    evaluate,
    make_score_cells,
    strength_unit,
    train,
)
from likeforlike.transport import means_and_spreads

with extra("train"):
    import torch


Part = Literal["train", "validation", "test"]
"""Name of a part of a split."""


@dataclass(frozen=True, slots=True)
class Split:
    """Stacked training, validation and test rows, a line for each seed.

    Attributes
    ----------
    train, validation, test : rows of s data sets, standardized.
    train_rows, validation_rows, test_rows : (s, n) integers, where they are in the data set.
    test_targets : (s, n) floats, targets of the test rows in their own unit.
    target_mean, target_spread : (s,) floats, of the training targets of a regression; else 0 and 1.
    seeds : (s,) integers.
    loss : what a network is trained for.
    """

    train: Rows
    validation: Rows
    test: Rows
    train_rows: IntArray
    validation_rows: IntArray
    test_rows: IntArray
    test_targets: FloatArray
    target_mean: FloatArray
    target_spread: FloatArray
    seeds: IntArray
    loss: Loss

    def natural(self, scores: FloatArray) -> FloatArray:
        """Return the `scores` (s, ...) of networks in the unit of the target."""
        if self.loss != "squared":
            return scores
        shape = (-1, *([1] * (scores.ndim - 1)))
        in_unit: FloatArray = self.target_mean.reshape(shape) + (
            self.target_spread.reshape(shape) * scores
        )
        return in_unit

    def arrays(self, part: Part, split: int) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
        """Return inputs (n, d), targets, groups and levels (n,) of a part of one of the splits."""
        rows: Rows = getattr(self, part)
        level, group = np.divmod(rows.layout.segments[split], len(rows.layout.groups))
        inputs, targets = (each[split].double().numpy() for each in (rows.inputs, rows.targets))
        return inputs, targets, group, level

    def train_networks(
        self, recipe: Recipe, strengths: Sequence[float], hidden: tuple[int, ...] = (50, 20)
    ) -> StackedMLP:
        """Train one network for each seed and strength, seed after seed, as one stack.

        Networks of a seed begin with the same weights and see the same batches. Strengths are those
        of an objective in the unit of the target.
        """
        splits = np.repeat(np.arange(self.seeds.size), len(strengths))
        units = np.ones(self.seeds.size)
        if recipe.penalty is not None:
            degree = recipe.penalty.degree
            units = np.array([strength_unit(degree, spread) for spread in self.target_spread])
        sizes = (self.train.inputs.shape[2], *hidden, 1)
        return train(
            StackedMLP([int(seed) for seed in self.seeds[splits]], sizes),
            self.train,
            self.validation,
            recipe,
            strengths=np.outer(units, np.asarray(strengths, dtype=np.float64)).ravel(),
            seeds=self.seeds,
            splits=splits,
        ).network


def split(
    data: Dataset,
    seeds: Sequence[int],
    *,
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2),
    encoding: Encoding = "one-hot",
    with_sensitive: bool = False,
) -> Split:
    """Cut a data set into training, validation and test rows, once for every seed.

    Parameters
    ----------
    data : with roles.
    seeds : s of them; a seed always gives the same parts, whatever the others are.
    shares : of the three parts.
    encoding, with_sensitive : as for `Dataset.inputs`.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import split
    >>> parts = split(make_loans(1000), [0, 1])
    >>> parts.train.inputs.shape[:2], parts.test.size
    (torch.Size([2, 600]), 200)
    """
    if min(shares) <= 0.0 or abs(sum(shares) - 1.0) > 1e-9:
        raise InputError(f"shares must be three positive numbers that sum to 1, not {shares}.")
    matrix = data.inputs(encoding, with_sensitive=with_sensitive).matrix
    layout = Layout.from_columns(data.groups, data.levels)
    targets = data.targets.astype(np.float64)
    edges = np.round(np.cumsum(shares[:2]) * len(matrix)).astype(int)
    orders = [
        np.split(stratified_order(layout.segments[0], np.random.default_rng([seed, 3])), edges)
        for seed in seeds
    ]
    parts = [np.stack(part) for part in zip(*orders, strict=True)]
    loss: Loss = "logistic" if data.task == "classification" else "squared"
    scales = [input_scale(matrix[rows]) for rows in parts[0]]
    middle, height = np.zeros(len(seeds)), np.ones(len(seeds))
    if loss == "squared":
        middle, height = (
            np.concatenate(part)
            for part in zip(*(input_scale(targets[rows, None]) for rows in parts[0]), strict=True)
        )
        layout = replace(layout, unit=height)
    wanted = [(targets[part] - middle[:, None]) / height[:, None] for part in parts]
    train, validation, test = (
        _make_rows(matrix, of_part, layout, part, scales)
        for of_part, part in zip(wanted, parts, strict=True)
    )
    return Split(
        train=train,
        validation=validation,
        test=test,
        train_rows=parts[0],
        validation_rows=parts[1],
        test_rows=parts[2],
        test_targets=targets[parts[2]],
        target_mean=middle,
        target_spread=height,
        seeds=np.array(seeds, np.int64),
        loss=loss,
    )


def input_scale(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and spread (d,) of the columns of a matrix (n, d); 1 where there is no spread."""
    mean, spread = means_and_spreads(matrix, np.full(len(matrix), 1.0 / len(matrix)))
    return mean, np.where(spread > 0.0, spread, 1.0)


def _make_rows(
    matrix: FloatArray,
    targets: FloatArray,
    layout: Layout,
    rows: IntArray,
    scales: list[tuple[FloatArray, FloatArray]],
) -> Rows:
    inputs = np.stack(
        [
            (matrix[chosen] - mean) / spread
            for chosen, (mean, spread) in zip(rows, scales, strict=True)
        ]
    )
    return Rows(
        torch.tensor(inputs, dtype=torch.float32),
        torch.tensor(targets, dtype=torch.float32),
        layout.take(rows),
    )


MEASURED = (
    "performance",
    "cdd_wass",
    "diagonal",
    "off_diagonal",
    "cdd_uniform",
    "cdd_average",
    "cdd_marginal",
    "w2sq_uniform",
    "w2sq_average",
    "w2sq_marginal",
    "dd",
    "squared",
)
"""Names of what is measured of a run, in order: columns of `Sweep.runs`.

`performance` is the AUC, or the mean squared error of a regression; `cdd_wass` the bi-causal
distance as the paper normalizes it; `diagonal` and `off_diagonal` its split with the discrete
metric; `cdd_uniform`, `cdd_average` and `cdd_marginal` Σ_l Q(l) W_1(l) with three measures Q, and
`w2sq_uniform`, `w2sq_average` and `w2sq_marginal` Σ_l Q(l) W_2²(l); `dd` is W_1 between the groups
whatever the level, and `squared` Σ_l P(l) W_1²(l) without small-sample bias.
"""

DESCRIBED = ("rows", "levels", "coverage", "baseline")
"""What a run says of its test rows: how many there are, in how many levels groups meet, the least
share of a group in them, and the performance of a constant: .5, or the mean squared error of the
mean of the training targets."""

MEASURES: tuple[MeasureName, ...] = ("uniform", "average", "marginal")
"""The paper's measures Q."""

OwnMeasure = Callable[[FloatArray, FloatArray, npt.NDArray[Any], npt.NDArray[Any]], float]
"""A measure of one's own: scores, targets, groups and levels of the test rows in, a number out."""


def _labels(layout: Layout) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return group and level of every row."""
    level, group = np.divmod(layout.segments[0], len(layout.groups))
    labels = []
    for names, codes in ((layout.groups, group), (layout.levels, level)):
        array = np.empty(len(names), dtype=object)
        array[:] = names
        labels.append(array[codes])
    return labels[0], labels[1]


def predictive_performance(scores: FloatArray, targets: FloatArray, loss: Loss) -> float:
    """Compute AUC of a classification, mean squared error of a regression."""
    if loss == "squared":
        return float(((scores - targets) ** 2).mean())
    with extra("train"):
        from sklearn.metrics import roc_auc_score

    if (targets == targets[0]).all():
        raise InputError(f"target (--target) is {targets[0]:g} in all rows held out; give more.")
    return float(roc_auc_score(targets, scores))


@dataclass(frozen=True)
class Task:
    """What all methods of a sweep have in common.

    Attributes
    ----------
    data : with roles.
    batch_size, max_epochs, patience, learning_rate, hidden : of the networks.
    shares : of training, validation and test rows.
    encoding, with_sensitive : of the inputs.
    smooth : whether levels are numbers, alone or with categories: groups are then compared along
        the number, in training (`SmoothFairLeap`) and in what is measured.
    measures : {name: measure} of one's own, columns of `Sweep.runs`. Each is called with scores,
        targets, groups and levels of the test rows of a run, and returns a number. Other processes
        must be able to import it.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Task
    >>> Task(make_loans(500)).split([0]).test.size
    100
    """

    data: Dataset
    batch_size: int = 256
    max_epochs: int = 500
    patience: int = 50
    learning_rate: float = 1e-3
    hidden: tuple[int, ...] = (50, 20)
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    encoding: Encoding = "one-hot"
    with_sensitive: bool = False
    smooth: bool = False
    measures: Mapping[str, OwnMeasure] = field(default_factory=dict)

    def split(self, seeds: Sequence[int]) -> Split:
        """Return training, validation and test rows for every one of the `seeds`."""
        return split(
            self.data,
            seeds,
            shares=self.shares,
            encoding=self.encoding,
            with_sensitive=self.with_sensitive,
        )

    def recipe(
        self,
        parts: Split,
        penalty: Penalty | None = None,
        *,
        penalty_rows: int | None = 4096,
        strata: Literal["cells", "levels"] = "cells",
    ) -> Recipe:
        """Return how networks are trained on `parts`, with a `penalty` or without.

        `penalty_rows` and `strata` are those of `Recipe`.

        An entropic penalty takes O(n²), so its value on validation rows is a mean over blocks of
        the size of a batch.
        """
        entropic = getattr(penalty, "reg", 0.0) > 0.0
        return Recipe(
            loss=parts.loss,
            penalty=penalty,
            learning_rate=self.learning_rate,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=penalty_rows,
            strata=strata,
            validation_rows=self.batch_size if entropic else None,
        )

    def _measure(self, scores: FloatArray, parts: Split, split: int) -> dict[str, float]:
        """Measure scores (n,) of the test rows of one of the splits.

        With `smooth` scores are carried to the centers of windows along the number, and windows
        take the place of levels. `baseline` is the performance of a constant.
        """
        targets, layout = parts.test_targets[split], parts.test.layout.select_model(split)
        plain = np.ascontiguousarray(scores, dtype=np.float64)
        cells = make_score_cells(plain, layout, smooth=self.smooth)
        first = {Q: cdd_lp(cells, order=1, measure=Q) for Q in MEASURES}
        second = {Q: cdd_lp(cells, order=2, p=2, measure=Q) for Q in MEASURES}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LevelCostWarning)
            papers = cdd_wass(cells, order=2, level_metric="ordinal", level_cost=1.0)
        ours = cdd_wass(cells, order=2)
        estimate = estimate_smooth_disparity if self.smooth else estimate_level_disparity
        squared_loss = parts.loss == "squared"
        mean = float(parts.target_mean[split])
        found = {
            "rows": int(parts.test.size),
            "baseline": float(((targets - mean) ** 2).mean()) if squared_loss else 0.5,
            "levels": len(first["marginal"].by_level),
            "coverage": float(min(first["marginal"].coverage.values())),
            "performance": predictive_performance(plain, targets, parts.loss),
            "cdd_wass": papers.excess,
            "diagonal": ours.diagonal,
            "off_diagonal": ours.off_diagonal,
            **{f"cdd_{Q}": one.value for Q, one in first.items()},
            **{f"w2sq_{Q}": one.value**2 for Q, one in second.items()},
            "dd": dd(cells, order=1).value,
            "squared": estimate(plain, layout).squared,
        }
        for name, measure in self.measures.items():
            found[name] = float(measure(plain, targets, *_labels(layout)))
        return found


def network_scores(
    parts: Split, recipe: Recipe, strengths: Sequence[float], hidden: tuple[int, ...] = (50, 20)
) -> FloatArray:
    """Compute scores of the test rows (s, k, n), of one network for each seed and strength."""
    splits = np.repeat(np.arange(parts.seeds.size), len(strengths))
    network = parts.train_networks(recipe, strengths, hidden)
    _, _, scores = evaluate(network, parts.test, splits, replace(recipe, penalty=None))
    return parts.natural(scores.reshape(parts.seeds.size, len(strengths), -1))
