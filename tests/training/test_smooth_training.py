"""SmoothFairLeap in torch, estimators, stacks and trees: numbers for levels, learned once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
import torch

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout
from likeforlike.training import (
    PenaltyLoss,
    Recipe,
    Rows,
    StackedMLP,
    estimate_level_disparity,
    estimate_smooth_disparity,
    lightgbm_objective,
    train,
    xgboost_objective,
)
from likeforlike.training._limits import distance_or_inf
from likeforlike.training._objectives import FairObjective


class People(NamedTuple):
    inputs: FloatArray
    targets: FloatArray
    groups: IntArray
    income: FloatArray


def smooth(scores: FloatArray, layout: Layout) -> float:
    """The smooth disparity, which is known here."""
    found = estimate_smooth_disparity(np.ascontiguousarray(scores), layout).value
    assert found is not None
    return found


@pytest.fixture(scope="module")
def people() -> People:
    """A target that owes .5 to income, and .15 to the group, which a second input gives away."""
    rng = np.random.default_rng(3)
    income = rng.lognormal(0.0, 0.7, 4000)
    rank = np.argsort(np.argsort(income)) / 4000
    group = (rng.random(4000) < 0.1 + 0.8 * rank).astype(int)
    target = 0.5 * rank**2 + 0.15 * group + 0.05 * rng.standard_normal(4000)
    inputs = np.column_stack([rank, group + 0.1 * rng.standard_normal(4000)])
    return People(inputs, target, group, income)


def test_a_torch_loss_takes_numbers_for_levels(people: People) -> None:
    scores = torch.tensor(people.targets, requires_grad=True)
    loss = PenaltyLoss(lfl.SmoothFairLeap())
    value = loss(scores, people.groups, torch.tensor(people.income))
    value.backward()
    found, gradient = lfl.SmoothFairLeap().value_and_grad(
        people.targets, people.groups, people.income
    )
    assert value.item() == pytest.approx(found, rel=1e-12)
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad.numpy(), gradient, atol=1e-15)
    # A batch is thin for anchors of its own, and not for those of all rows.
    batch = slice(0, 40)
    of_batch = (scores[batch], people.groups[batch], people.income[batch])
    assert loss(*of_batch).item() == 0.0
    assert loss.thin_batches == 1
    learned = PenaltyLoss(lfl.SmoothFairLeap().fit_anchors(people.groups, people.income))
    assert learned(*of_batch).item() > 0.0
    assert learned.thin_batches == 0


def test_the_smooth_disparity_is_that_of_the_score_and_not_of_bins(people: People) -> None:
    rng = np.random.default_rng(4)
    rank = people.inputs[:, 0]
    lawful = rank**2 + 0.02 * rng.standard_normal(4000)
    layout = Layout.from_columns(people.groups, people.income)
    binned = Layout.from_columns(people.groups, np.floor(5 * rank))
    assert smooth(lawful, layout) < 0.005
    assert distance_or_inf(estimate_level_disparity(lawful, binned)) > 0.02
    shifted = lawful + 0.1 * people.groups
    assert smooth(shifted, layout) == pytest.approx(0.1, abs=0.006)
    both = smooth(np.column_stack([lawful, shifted]), layout)
    assert both == pytest.approx(smooth(shifted, layout))


def test_the_smooth_disparity_is_what_an_audit_estimates(people: People) -> None:
    shifted = people.inputs[:, 0] ** 2 + 0.05 * people.groups
    table = {"score": shifted, "group": people.groups, "income": people.income}
    audit = lfl.audit(
        pl.DataFrame(table),
        score="score",
        sensitive="group",
        legitimate=["income"],
        smooth=["income"],
        permutations=19,
    )
    layout = Layout.from_columns(people.groups, people.income)
    assert audit.estimate == pytest.approx(smooth(shifted, layout), rel=1e-9)


def test_the_smooth_disparity_of_categories(people: People) -> None:
    levels = np.empty(4000, dtype=object)
    levels[:] = [("ab"[k % 2], n) for k, n in enumerate(people.income.tolist())]
    shifted = people.inputs[:, 0] ** 2 + 0.1 * people.groups
    found = smooth(shifted, Layout.from_columns(people.groups, levels))
    assert found == pytest.approx(0.1, abs=0.006)


@pytest.mark.training
def test_a_limit_speaks_of_the_smooth_disparity(people: People) -> None:
    model = lfl.FairRegressor(
        penalty=lfl.SmoothFairLeap(),
        max_disparity=0.03,
        max_epochs=25,
        patience=10,
        learning_rate=0.01,
        random_state=0,
    )
    model.fit(
        people.inputs,
        people.targets,
        sensitive_features=people.groups,
        legitimate_features=people.income,
    )
    assert model.coverage_ == {0: 1.0, 1: 1.0}
    assert model.disparity_ is not None
    assert distance_or_inf(model.disparity_) <= 0.03
    assert model.path_[0].disparity > 0.1
    layout = Layout.from_columns(people.groups, people.income)
    assert smooth(model.predict(people.inputs), layout) < 0.04
    # What is left still follows income: parity among equals, not among all.
    assert np.corrcoef(model.predict(people.inputs), people.inputs[:, 0])[0, 1] > 0.9


@pytest.mark.training
@pytest.mark.parametrize("penalty_rows", [1000, None])
def test_stacks_of_splits_learn_anchors_of_their_own(
    people: People, penalty_rows: int | None
) -> None:
    rng = np.random.default_rng(5)
    chosen = np.stack([rng.permutation(4000)[:2000] for _ in range(2)])
    layout = Layout.from_columns(people.groups, people.income).take(chosen)
    rows = Rows(
        torch.tensor(people.inputs[chosen], dtype=torch.float32),
        torch.tensor(people.targets[chosen], dtype=torch.float32),
        layout,
    )
    recipe = Recipe(
        "squared",
        lfl.SmoothFairLeap(),
        learning_rate=0.01,
        max_epochs=15,
        batch_size=500,
        penalty_rows=penalty_rows,
    )
    seeds, strengths = np.array([0, 1]), np.array([0.0, 30.0, 0.0, 30.0])
    network = train(
        StackedMLP([0, 0, 1, 1], (2, 16, 1)),
        rows,
        rows,
        recipe,
        strengths=strengths,
        seeds=seeds,
        splits=np.array([0, 0, 1, 1]),
    ).network
    scores = network.predict(rows.inputs, np.array([0, 0, 1, 1])).double().numpy()
    scores = scores.reshape(4, -1)
    for split in (0, 1):
        free, held = (smooth(scores[2 * split + k], layout.select_model(split)) for k in (0, 1))
        assert held < 0.5 * free


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
def test_trees_prepare_their_rows_once(
    people: People, make: Callable[..., FairObjective], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[int] = []
    plain = lfl.SmoothFairLeap.prepare

    def counted(self: lfl.SmoothFairLeap, layout: Layout) -> Layout:
        prepared.append(layout.places)
        return plain(self, layout)

    monkeypatch.setattr(lfl.SmoothFairLeap, "prepare", counted)
    objective = make(lfl.SmoothFairLeap(), 5.0, people.groups, people.income, loss="squared")
    gradient, hessian = objective(people.targets, np.zeros(4000))
    assert gradient.shape == hessian.shape == (4000,)
    raw = people.targets + 0.01
    weight = np.linspace(1.0, 2.0, 4000)
    for _ in range(3):
        gradient, _ = objective(people.targets, raw, weight)
    assert prepared.count(1) == 2  # once without weights, once with them
    _, slope = lfl.SmoothFairLeap().value_and_grad(raw, people.groups, people.income, weight)
    expected = weight * (raw - people.targets) + 0.5 * 5.0 * weight.sum() * slope
    np.testing.assert_allclose(gradient, expected, rtol=1e-9)
