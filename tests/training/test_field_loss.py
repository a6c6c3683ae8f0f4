"""`SlopeFieldLoss`: exact gradients on all rows, batches that add up, and loops of one's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import Dataset, make_loans
from likeforlike.penalties import Layout, Penalty, SoftGroups
from likeforlike.training import (
    CellBatchSampler,
    SlopeFieldLoss,
    estimate_level_disparity,
    limit_to_one_thread,
)
from likeforlike.training._limits import distance_or_inf

PENALTIES: list[Penalty] = [
    lfl.FairLeap(),
    lfl.FairBiT(),
    lfl.WassersteinPenalty(),
    lfl.FairLeap("uniform", 3.0),
]


@pytest.fixture(autouse=True)
def single_threaded() -> Iterator[None]:
    with limit_to_one_thread():
        yield


def draw_columns(seed: int, size: int = 60, n_groups: int = 2) -> tuple[Any, Any, FloatArray]:
    """Groups and levels in unequal cells, and weights."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_groups, size), rng.integers(0, 3, size), rng.random(size) + 0.1


def gradient(term: SlopeFieldLoss, scores: Tensor, rows: Any) -> FloatArray:
    leaf = scores.detach().clone().requires_grad_()
    torch.autograd.backward(term(leaf, rows))
    assert leaf.grad is not None
    found: FloatArray = leaf.grad.double().numpy()
    return found


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("classes", [(), (3,)])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_all_rows_in_one_batch_have_the_exact_gradient(
    penalty: Penalty, classes: tuple[int, ...], n_groups: int
) -> None:
    groups, levels, weight = draw_columns(1, n_groups=n_groups)
    scores = torch.tensor(np.random.default_rng(2).random((60, *classes)))
    term = SlopeFieldLoss(penalty, groups, levels, weight)
    term.refresh(scores)
    value, expected = penalty.value_and_grad(scores.numpy(), groups, levels, weight)
    assert term.value == pytest.approx(value)
    assert term(scores, range(60)).item() == pytest.approx(value)
    found = gradient(term, scores, np.arange(60))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("penalty", [*PENALTIES[:2], lfl.SmoothFairLeap(anchors=3)], ids=repr)
def test_the_batches_of_an_epoch_add_up(penalty: Penalty, soft: bool) -> None:
    rng = np.random.default_rng(3)
    groups: Any = rng.integers(0, 2, 240)
    levels = rng.random(240) if isinstance(penalty, lfl.SmoothFairLeap) else np.arange(240) % 3
    if soft:
        groups = SoftGroups(0.1 + 0.8 * groups, ("f", "m"))
    scores = torch.tensor(rng.random(240))
    term = SlopeFieldLoss(penalty, groups, levels)
    term.refresh(scores)
    _, expected = penalty.value_and_grad(scores.numpy(), groups, levels)
    mixed, found = rng.permutation(240), np.empty(240)
    for rows in mixed.reshape(8, 30):
        found[rows] = gradient(term, scores[rows], torch.from_numpy(rows)) * 30 / 240
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


def test_a_sample_of_rows_stands_for_all() -> None:
    rng = np.random.default_rng(4)
    groups, levels, scores = rng.integers(0, 2, 4000), np.arange(4000) % 4, rng.random(4000)
    scores += 0.3 * groups
    term = SlopeFieldLoss(lfl.FairLeap(), groups, levels)
    term.refresh(torch.tensor(scores))
    whole = gradient(term, torch.tensor(scores[:50]), np.arange(50))
    sample = next(iter(CellBatchSampler(groups, levels, batch_size=2000, random_state=0)))
    term.refresh(torch.tensor(scores[sample]), sample)
    part = gradient(term, torch.tensor(scores[:50]), np.arange(50))
    assert np.abs(part - whole).max() < 0.2 * np.abs(whole).max()


def test_types_copies_and_words() -> None:
    groups, levels, _ = draw_columns(5)
    term = SlopeFieldLoss(lfl.FairLeap(), torch.tensor(groups), torch.tensor(levels))
    scores = torch.rand(60, dtype=torch.float32)
    term.refresh(scores)
    assert term(scores, torch.arange(60)).dtype == torch.float32
    for other in (copy.deepcopy(term), pickle.loads(pickle.dumps(term))):
        np.testing.assert_array_equal(
            gradient(other, scores, np.arange(60)), gradient(term, scores, np.arange(60))
        )
    assert "FairLeap" in repr(term)
    assert not list(term.parameters())


class Network(nn.Module):
    """One's own network, with what Lightning would call: hooks and a training step."""

    def __init__(self, loans: Dataset, strength: float) -> None:
        super().__init__()
        matrix = loans.inputs().matrix
        scaled = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
        self.rows = torch.tensor(scaled, dtype=torch.float32)
        self.targets = torch.tensor(loans.targets, dtype=torch.float32)
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
        self.term = SlopeFieldLoss(lfl.FairLeap(), loans.groups, loans.levels)
        self.strength = strength

    def forward(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self.layers(inputs)[:, 0]
        return scores

    def on_train_epoch_start(self) -> None:
        with torch.no_grad():
            self.term.refresh(self(self.rows))

    def training_step(self, rows: Tensor) -> Tensor:
        scores = self(self.rows[rows])
        loss = nn.functional.binary_cross_entropy(scores, self.targets[rows])
        whole: Tensor = loss + self.strength * self.term(scores, rows)
        return whole


def trained(loans: Dataset, strength: float, epochs: int) -> Network:
    """What a trainer does."""
    torch.manual_seed(0)
    network = Network(loans, strength)
    adam = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(epochs):
        network.on_train_epoch_start()
        for rows in torch.randperm(len(network.rows)).reshape(-1, 250):
            adam.zero_grad()
            torch.autograd.backward(network.training_step(rows))
            adam.step()
    return network


@pytest.mark.training
def test_a_loop_of_ones_own_trains_like_the_estimator() -> None:
    loans = make_loans(3000, gap=0.15, random_state=1)
    fresh = make_loans(6000, gap=0.15, random_state=2)
    found: dict[str, list[tuple[float, float]]] = {"own": [], "ours": []}
    for strength in (0.0, 10.0):
        network = trained(loans, strength, 25)
        with torch.no_grad():
            seen = loans.inputs().matrix
            inputs = (fresh.inputs().matrix - seen.mean(axis=0)) / seen.std(axis=0)
            own = network(torch.tensor(inputs, dtype=torch.float32)).double().numpy()
        model = lfl.FairClassifier(
            strength=strength, max_epochs=25, patience=25, learning_rate=3e-3, random_state=0
        ).fit(
            loans.inputs().matrix,
            loans.targets,
            sensitive_features=loans.groups,
            legitimate_features=loans.levels,
        )
        ours = model.predict_proba(fresh.inputs().matrix)[:, 1]
        for name, scores in (("own", own), ("ours", ours)):
            layout = Layout.from_columns(fresh.groups, fresh.levels)
            chance = np.where(fresh.targets > 0.5, scores, 1.0 - scores)
            size = distance_or_inf(estimate_level_disparity(scores, layout))
            found[name].append((size, float(-np.log(chance).mean())))
    for free, held in found.values():
        assert held[0] < 0.3 * free[0]
        assert held[1] < free[1] + 0.02
    assert found["own"][1] == pytest.approx(found["ours"][1], abs=0.02)


@pytest.mark.parametrize(
    ("scores", "rows", "message"),
    [
        (torch.rand(3), [0, 1], r"rows must be the 3 number\(s\)"),
        (torch.rand(2), [0.5, 1.0], "as integers"),
        (torch.rand(2), [0, 60], "rows must lie between 0 and 59"),
        (torch.rand(2), [-1, 5], "rows must lie between 0 and 59"),
        (torch.rand(2, 2), [0, 1], r"scores have 2 column\(s\), but had 1"),
        (torch.tensor([0.1, torch.nan]), [0, 1], "1 missing or infinite"),
        (torch.tensor([1, 2]), [0, 1], "floating-point tensor"),
    ],
)
def test_bad_batches(scores: Tensor, rows: list[Any], message: str) -> None:
    groups, levels, _ = draw_columns(6)
    term = SlopeFieldLoss(lfl.FairLeap(), groups, levels)
    with pytest.raises(lfl.errors.InputError, match="call refresh"):
        term(scores, rows)
    term.refresh(torch.rand(60))
    with pytest.raises(lfl.errors.InputError, match=message):
        term(scores, rows)


def test_bad_settings() -> None:
    with pytest.raises(lfl.errors.InputError, match="penalty must be a penalty"):
        SlopeFieldLoss("leap", ["f", "m"])  # type: ignore[arg-type]
    with pytest.raises(lfl.errors.InputError, match="no level holds two"):
        SlopeFieldLoss(lfl.FairLeap(), ["f", "m"], [1, 2])
    term = SlopeFieldLoss(lfl.FairLeap(), ["f", "m"] * 3)
    with pytest.raises(lfl.errors.InputError, match=r"scores have 4 row\(s\), but there are 6"):
        term.refresh(torch.rand(4))
    with pytest.raises(lfl.errors.InputError, match="no level holds two"):
        term.refresh(torch.rand(3), [0, 2, 4])
