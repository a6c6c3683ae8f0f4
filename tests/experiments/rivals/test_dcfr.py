"""DCFR: the adversary reaches its regularizer, the disparity falls, stacks are their members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.experiments.rivals import DCFRRegressor
from likeforlike.experiments.rivals._adversarial import AdversaryLoss, represent
from likeforlike.experiments.rivals._contests import Learner, Opponent, Optimizer
from likeforlike.penalties import Layout
from likeforlike.training import Loss, Rows, StackedMLP, limit_to_one_thread
from tests.experiments.rivals.loans import disparities, loans, small_rows

pytestmark = pytest.mark.training


def discrete(seed: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Code of four values, group and level of 1,200 rows, far from parity; and their weights."""
    rng = np.random.default_rng(seed)
    level = rng.choice(3, 1200, p=[0.5, 0.3, 0.2])
    group = (rng.random(1200) < np.array([0.2, 0.5, 0.7])[level]).astype(np.int64)
    shares = rng.dirichlet([1.0] * 4, (3, 2))
    code = (rng.random(1200)[:, None] > np.cumsum(shares[level, group], axis=1)[:, :3]).sum(axis=1)
    return code, group, level, rng.choice([0.5, 1.0, 2.0], 1200)


def lowest_cost(
    data: tuple[IntArray, IntArray, IntArray, FloatArray], guess: AdversaryLoss
) -> float:
    """What the guesses of an adversary cost that has been trained on fixed codes."""
    code, group, level, weight = data
    layout = Layout.from_columns(group, level)
    signal = torch.from_numpy(np.eye(4)[code])[None]
    sample = torch.from_numpy(weight)[None]
    opponent = Opponent(Rows(signal, sample, layout, sample))
    view = opponent.view(layout, sample, np.zeros(1, np.int64))
    network = StackedMLP([0], (4 + opponent.columns, 50, 1)).double()
    adversary = Learner(network, 0.05, epochs=150)
    with limit_to_one_thread():
        for step in range(150):
            adversary.begin(step)
            cost = view.guess_losses(adversary.network(view.join(signal)), guess).sum()
            adversary.descend(torch.autograd.grad(cost, adversary.weights))
    return float(cost.detach())


def overlap(data: tuple[IntArray, IntArray, IntArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """P(l) π_l (1 - π_l) of every level (3,), and shares of the codes in every cell (3, 2, 4)."""
    code, group, level, weight = data
    mass = np.zeros((3, 2, 4))
    np.add.at(mass, (level, group, code), weight)
    cells = mass.sum(axis=2)
    within = cells.prod(axis=1) / cells.sum(axis=1) / cells.sum()
    return within, mass / cells[..., None]


@pytest.mark.parametrize("seed", range(3))
def test_the_absolute_adversary_reaches_the_regularizer(seed: int) -> None:
    data = discrete(seed)
    code, group, level, weight = data
    expected = float(lfl.disparity.tv_overlap(code, group, level, sample_weight=weight))
    # Weights have mean 1, so the lowest cost is 1/2 - R / S.
    total = 2.0 * overlap(data)[0].sum()
    found = total * (0.5 - lowest_cost(data, "absolute"))
    assert expected > 0.02
    assert found == pytest.approx(expected, rel=0.05)
    assert found <= expected * (1 + 1e-9)


def test_the_squared_adversary_reaches_another_one() -> None:
    data = discrete(0)
    within, shares = overlap(data)
    both = shares.sum(axis=1)
    product = np.divide(shares.prod(axis=1), both, out=np.zeros_like(both), where=both > 0)
    expected = (within * product.sum(axis=1)).sum() / (2.0 * within.sum())
    assert lowest_cost(data, "squared") == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("loss", "strength"), [("logistic", 3.0), ("squared", 10.0)])
def test_the_disparity_among_equals_falls(loss: Loss, strength: float) -> None:
    data = loans(loss)
    model = DCFRRegressor(optimizer="adam", learning_rate=5e-3, max_epochs=25, batch_size=320)
    trained = model._train_stack(
        data.rows,
        data.validation,
        loss,
        strengths=np.array([0.0, strength]),
        seeds=np.array([0]),
    )
    without, against = disparities(trained.network, data)
    assert against < 0.6 * without


def regressor(**changed: Any) -> DCFRRegressor:
    settings = {
        "width": 12,
        "adversary_width": 8,
        "adversary_steps": 3,
        "optimizer": "adam",
        "learning_rate": 5e-3,
        "max_epochs": 10,
        "patience": 3,
        "batch_size": 32,
    }
    return DCFRRegressor(**{**settings, **changed})


def test_a_stack_is_its_members_trained_alone() -> None:
    rows, validation = small_rows()
    strengths, lines = np.array([0.0, 0.0, 0.5, 2.0, 10.0]), np.array([0, 1, 0, 1, 1])

    def train(which: list[int]) -> Any:
        return regressor()._train_stack(
            rows,
            validation,
            "squared",
            strengths=strengths[which],
            seeds=np.array([5, 6]),
            splits=lines[which],
        )

    together, again = train([0, 1, 2, 3, 4]), train([0, 1, 2, 3, 4])
    for one, other in zip(together.network.weights, again.network.weights, strict=True):
        assert torch.equal(one, other)
    assert together.strengths.tolist() == strengths.tolist()
    for member in range(5):
        alone = train([member])
        assert alone.best_epoch[0] == together.best_epoch[member]
        for one, other in zip(alone.network.weights, together.network.weights, strict=True):
            # Double precision: products of a stack of one may be summed in another order.
            assert torch.allclose(one[0], other[member], rtol=0.0, atol=1e-9)


def test_the_second_fit_moves_the_predictor_alone() -> None:
    """It begins where the game ended, and lowers the validation loss."""
    rows, validation = small_rows()
    trained = regressor(patience=10)._train_stack(
        rows, validation, "squared", strengths=np.array([2.0]), seeds=np.array([5, 6])
    )
    game = [epoch for epoch in trained.curve if epoch.number < 10]
    again = [epoch for epoch in trained.curve if epoch.number >= 10]
    assert len(game) == len(again) == 10
    assert min(epoch.loss[0] for epoch in again) < game[-1].loss[0]
    assert not any(epoch.value.any() for epoch in again)
    assert trained.best_epoch[0] >= 10
    assert represent(trained.network, validation.inputs[:1]).min() >= 0.0


@pytest.mark.parametrize(
    "changed",
    [
        {"adversary_loss": "absolute"},
        {"adversary_steps": 1},
        {"optimizer": "adadelta"},
    ],
)
def test_settings_matter(changed: dict[str, Any]) -> None:
    rows, validation = small_rows()
    one, other = (
        model._train_stack(
            rows, validation, "squared", strengths=np.array([2.0]), seeds=np.array([5, 6])
        )
        for model in (regressor(), regressor(**changed))
    )
    assert not torch.equal(one.network.weights[0], other.network.weights[0])


OPTIMIZERS: list[Optimizer] = ["adam", "adadelta"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_learner_that_drops_members_goes_on_as_before(optimizer: Optimizer) -> None:
    generator = torch.Generator().manual_seed(0)
    whole, part = (
        Learner(StackedMLP([1, 2, 3], (2, 1)), 0.1, optimizer=optimizer, momentum=0.5, epochs=200)
        for _ in range(2)
    )
    kept = torch.tensor([2, 0])
    for step in range(4):
        gradients = [torch.randn(weight.shape, generator=generator) for weight in whole.weights]
        whole.descend(gradients)
        if step == 2:
            part.select(kept)
        part.descend(gradients if step < 2 else [gradient[kept] for gradient in gradients])
    for all_of_them, some in zip(whole.weights, part.weights, strict=True):
        assert torch.allclose(all_of_them[kept], some, rtol=0.0, atol=1e-7)
