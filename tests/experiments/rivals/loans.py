"""Loans to train on, and the disparity of models on loans they have not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import make_loans
from likeforlike.penalties import Layout
from likeforlike.training import Loss, Rows, StackedMLP
from likeforlike.training._networks import to_scores


@dataclass(frozen=True)
class Loans:
    """Rows to train on, to validate with, and new ones; scaled, in single precision."""

    rows: Rows
    validation: Rows
    new: Rows
    loss: Loss


def loans(loss: Loss) -> Loans:
    """8,000 loans with a gap of 0.15 to train and validate with, and as many others."""
    known, other = (make_loans(8000, gap=0.15, random_state=seed) for seed in (0, 1))
    mean, spread = known.inputs().matrix.mean(axis=0), known.inputs().matrix.std(axis=0)
    parts = []
    for data, which in [(known, slice(6400)), (known, slice(6400, None)), (other, slice(None))]:
        target = data.targets.astype(float)
        if loss == "squared":
            score = data.frame["score"].to_numpy()
            target = (score - score.mean()) / score.std()
        parts.append(
            Rows(
                torch.tensor((data.inputs().matrix - mean) / spread, dtype=torch.float32)[
                    None, which
                ],
                torch.tensor(target, dtype=torch.float32)[None, which],
                Layout.from_columns(data.groups[which], data.levels[which]),
            )
        )
    rows, validation, new = parts
    return Loans(rows, validation, new, loss)


def disparities(network: StackedMLP, data: Loans) -> FloatArray:
    """Conditional disparity of every member on the new rows."""
    with torch.no_grad():
        scores = to_scores(network(data.new.inputs), data.loss).double().numpy()
    segments = data.new.layout.segments[0]
    return np.array([float(lfl.cdd_lp(own, segments % 2, segments // 2)) for own in scores])


def small_rows() -> tuple[Rows, Rows]:
    """Two data sets of 150 rows with weights and three levels to train on, and two of 60."""
    parts = []
    for seed, size in [(0, 150), (1, 60)]:
        rng = np.random.default_rng(seed)
        group, level = rng.integers(0, 2, (2, size)), rng.integers(0, 3, (2, size))
        group[:, :6], level[:, :6] = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
        inputs = rng.standard_normal((2, size, 4)) + group[..., None] + 0.5 * level[..., None]
        targets = inputs.sum(axis=2) / 4.0 + 0.1 * rng.standard_normal((2, size))
        weight = rng.random((2, size)) + 0.5
        parts.append(
            Rows(
                torch.from_numpy(inputs),
                torch.from_numpy(targets),
                Layout(level * 2 + group, (0, 1, 2), (0, 1), weight),
                torch.from_numpy(weight),
            )
        )
    return parts[0], parts[1]
