"""Splits: a data set cut into training, validation and test rows, once for every seed.

Rows are dealt so that every part has its share of every cell. Inputs are standardized by the
training rows of the same seed, and so are the targets of a regression: a network could not reach a
salary from weights near 0, and against errors of its size no penalty would weigh anything. Scores
are given back in the unit of the target (`Split.natural`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._inputs import Encoding
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.penalties._sampling import stratified_order
from likeforlike.training._networks import Loss, Rows
from likeforlike.transport._scale import means_and_spreads

with extra("train"):
    import torch


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

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import split
    >>> parts = split(make_loans(1000), [0, 1])
    >>> parts.train_rows.shape, parts.validation_rows.shape, parts.loss
    ((2, 600), (2, 200), 'logistic')
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
        """The `scores` (s, ...) of networks in the unit of the target."""
        if self.loss != "squared":
            return scores
        shape = (-1, *([1] * (scores.ndim - 1)))
        in_unit: FloatArray = self.target_mean.reshape(shape) + (
            self.target_spread.reshape(shape) * scores
        )
        return in_unit


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
        _packed(matrix, of_part, layout, part, scales)
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
    """Mean and spread (d,) of the columns of a matrix (n, d); 1 for a column without spread."""
    mean, spread = means_and_spreads(matrix, np.full(len(matrix), 1.0 / len(matrix)))
    return mean, np.where(spread > 0.0, spread, 1.0)


def _packed(
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
