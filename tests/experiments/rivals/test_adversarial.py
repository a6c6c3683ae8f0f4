"""Adversarial debiasing: the projection, the adversary's optimum, stacks and the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.experiments.rivals import AdversarialRegressor
from likeforlike.experiments.rivals._adversarial import (
    Criterion,
    debias_gradient,
    project_out,
)
from likeforlike.experiments.rivals._contests import Learner, Opponent, View
from likeforlike.penalties import Layout
from likeforlike.training import Loss, Rows, StackedMLP, limit_to_one_thread, mean_losses
from tests.experiments.rivals.loans import disparities, loans, small_rows

pytestmark = pytest.mark.training

FIRST = np.zeros(1, np.int64)


def gradients(seed: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Gradients of a loss and of an adversary's cost over the weights of a stack of three."""
    torch.manual_seed(seed)
    model = StackedMLP([1, 2, 3], (4, 50, 20, 1)).double()
    adversary = StackedMLP([4, 5, 6], (1, 50, 1)).double()
    inputs, targets = torch.randn(1, 64, 4).double(), torch.randn(1, 64).double()
    group, weight = (targets > 0).double(), torch.rand(1, 64).double()
    view = View(torch.empty(1, 64, 0).double(), group, weight, torch.zeros(1, 64).double())
    outputs = model(inputs)
    weights = list(model.weights)
    loss = mean_losses(outputs, targets, None, "squared").sum()
    cost = view.guess_losses(adversary(view.join(outputs)), "log").sum()
    wanted = torch.autograd.grad(loss, weights, retain_graph=True)
    return list(wanted), list(torch.autograd.grad(cost, weights))


def vector(parts: list[torch.Tensor], member: int) -> FloatArray:
    return np.concatenate([part[member].numpy().ravel() for part in parts])


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_is_orthogonal_to_the_adversary_over_the_whole_vector(seed: int) -> None:
    wanted, direction = gradients(seed)
    left = project_out(wanted, direction)
    for member in range(3):
        along = vector(direction, member)
        assert abs(vector(left, member) @ along) < 1e-10
        # Not by being zero, and not layer by layer.
        assert np.linalg.norm(vector(left, member)) > 0.1 * np.linalg.norm(vector(wanted, member))
        layers = [
            (one[member] * other[member]).sum() for one, other in zip(left, direction, strict=True)
        ]
        assert max(abs(float(layer)) for layer in layers) > 1e-6


def test_the_step_is_the_authors_formula_for_every_member() -> None:
    wanted, direction = gradients(0)
    strengths = torch.tensor([0.0, 0.3, 2.0]).double()
    found = debias_gradient(wanted, direction, strengths)
    assert np.array_equal(vector(found, 0), vector(wanted, 0))
    for member in (1, 2):
        g, d = vector(wanted, member), vector(direction, member)
        expected = g - (g @ d) / (d @ d) * d - float(strengths[member]) * d
        assert np.abs(vector(found, member) - expected).max() < 1e-12


def test_an_adversary_without_a_gradient_changes_nothing() -> None:
    wanted, direction = gradients(0)
    nothing = [torch.zeros_like(part) for part in direction]
    found = debias_gradient(wanted, nothing, torch.ones(3))
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


# Counts of (level, group, score); women and men are spread very differently over the levels.
FAIR = {(0, 0): (10, 30), (0, 1): (40, 120), (1, 0): (60, 30), (1, 1): (20, 10)}
UNFAIR = {(0, 0): (10, 30), (0, 1): (100, 60), (1, 0): (60, 30), (1, 1): (20, 10)}


def discrete(counts: dict[tuple[int, int], tuple[int, int]]) -> tuple[IntArray, ...]:
    """Level, group and score of every row."""
    rows = [
        (level, group, score)
        for (level, group), own in counts.items()
        for score, number in enumerate(own)
        for _ in range(number)
    ]
    level, group, score = np.array(rows).T
    return level, group, score


def best_guesses(
    counts: dict[tuple[int, int], tuple[int, int]], weighted: bool
) -> tuple[FloatArray, FloatArray]:
    """The best guess for every (level, score), (4,): counted, and of an adversary in training."""
    level, group, score = discrete(counts)
    layout = Layout.from_columns(group, level)
    signal = torch.tensor(score, dtype=torch.float64)[None, :, None]
    opponent = Opponent(Rows(signal, signal[..., 0], layout), weighted=weighted)
    view = opponent.view(layout, None, FIRST)
    weight = view.weight[0].numpy()
    atoms = [(level == one) & (score == value) for one, value in np.ndindex(2, 2)]
    counted = np.array([weight[atom & (group == 1)].sum() / weight[atom].sum() for atom in atoms])
    network = StackedMLP([0], (1 + opponent.columns, 50, 1)).double()
    adversary = Learner(network, 0.02, epochs=300)
    with limit_to_one_thread():
        for step in range(300):
            adversary.begin(step)
            cost = view.guess_losses(adversary.network(view.join(signal)), "log").sum()
            adversary.descend(torch.autograd.grad(cost, adversary.weights))
        guess = torch.sigmoid(adversary.network(view.join(signal)))[0, :, 0].detach().numpy()
    played = np.array([guess[atom][0] for atom in atoms])
    return counted, played


def test_the_best_weighted_adversary_is_at_one_half_if_and_only_if_parity_holds() -> None:
    counted, played = best_guesses(FAIR, weighted=True)
    assert np.abs(counted - 0.5).max() < 1e-14
    assert np.abs(played - 0.5).max() < 0.01
    counted, played = best_guesses(UNFAIR, weighted=True)
    assert np.abs(counted[:2] - 0.5).min() > 0.1
    assert np.abs(counted[2:] - 0.5).max() < 1e-14
    assert np.abs(played - counted).max() < 0.01


def test_the_best_unweighted_adversary_reads_the_group_off_the_level() -> None:
    counted, played = best_guesses(FAIR, weighted=False)
    assert np.allclose(counted, [0.8, 0.8, 0.25, 0.25])
    assert np.abs(played - counted).max() < 0.01


def test_weights_of_cells_with_sample_weights_and_lonely_levels() -> None:
    group, level = ["f", "m", "m", "m", "f"], [0, 0, 0, 1, 2]
    sample = torch.tensor([[2.0, 1.0, 1.0, 5.0, 7.0]])
    layout = Layout.from_columns(group, level)
    rows = Rows(torch.zeros(1, 5, 1), torch.zeros(1, 5), layout, sample)
    view = Opponent(rows).view(layout, sample, FIRST)
    # Level 0 holds the mass 2 of each group; the others have one group and do not count.
    assert view.weight.tolist() == [[1.0, 0.5, 0.5, 0.0, 0.0]]
    assert view.levels[0].tolist() == np.eye(3)[level].tolist()
    assert view.blind[0].tolist() == [0.0] * 5
    parity = Opponent(rows, conditional=False).view(layout, sample, FIRST)
    assert parity.levels.shape == (1, 5, 0)
    assert np.allclose(parity.weight[0], sample[0] * torch.tensor([7, 9, 9, 9, 7]) / 16.0)


@pytest.mark.parametrize("guess", ["log", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_blind_adversary_is_the_best_that_sees_the_level_alone(
    guess: Any, weighted: bool
) -> None:
    level, group, _ = discrete(UNFAIR)
    layout = Layout.from_columns(group, level)
    rows = Rows(torch.zeros(1, level.size, 1).double(), torch.zeros(1, level.size), layout)
    view = Opponent(rows, weighted=weighted).view(layout, None, FIRST)
    best = float(view.blind_losses(guess)[0])
    for one, move in [(0, 0.1), (0, -0.1), (1, 0.1), (1, -0.1)]:
        moved = view.blind + move * torch.from_numpy(level == one)
        assert float(view.guess_losses(moved[..., None], guess)[0]) > best


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a_conditional_adversary_lowers_the_disparity_among_equals(loss: Loss) -> None:
    data = loans(loss)
    trained = AdversarialRegressor(learning_rate=2e-3, max_epochs=20)._train_stack(
        data.rows,
        data.validation,
        loss,
        strengths=np.array([0.0, 1.0]),
        seeds=np.array([0]),
    )
    without, against = disparities(trained.network, data)
    assert against < 0.4 * without


def test_a_stack_is_its_members_trained_alone() -> None:
    rows, validation = small_rows()
    model = AdversarialRegressor(learning_rate=5e-3, max_epochs=12, patience=3, batch_size=32)
    strengths, lines = np.array([0.0, 0.0, 0.1, 1.0, 3.0]), np.array([0, 1, 0, 1, 1])
    seeds = np.array([5, 6])

    def train(which: list[int]) -> Any:
        return model._train_stack(
            rows,
            validation,
            "squared",
            strengths=strengths[which],
            seeds=seeds,
            splits=lines[which],
        )

    together = train([0, 1, 2, 3, 4])
    again = train([0, 1, 2, 3, 4])
    for one, other in zip(together.network.weights, again.network.weights, strict=True):
        assert torch.equal(one, other)
    assert together.best_epoch[2:].tolist() == [11, 11, 11]
    for member in range(5):
        alone = train([member])
        assert alone.best_epoch[0] == together.best_epoch[member]
        for one, other in zip(alone.network.weights, together.network.weights, strict=True):
            # Double precision: products of a stack of one may be summed in another order.
            assert torch.allclose(one[0], other[member], rtol=0.0, atol=1e-9)


CRITERIA: list[Criterion] = ["conditional", "parity"]


def test_criterion_and_weights_reach_the_adversary() -> None:
    rows, validation = small_rows()
    models = [
        AdversarialRegressor(
            learning_rate=5e-3,
            max_epochs=3,
            batch_size=32,
            criterion=criterion,
            weighted=weighted,
        )
        for criterion in CRITERIA
        for weighted in (False, True)
    ]
    strengths, seeds = np.array([1.0]), np.array([5, 6])
    found = [
        model._train_stack(
            rows, validation, "squared", strengths=strengths, seeds=seeds
        ).network.weights[0]
        for model in models
    ]
    for one, other in [(0, 1), (0, 2), (1, 3), (2, 3)]:
        assert not torch.equal(found[one], found[other])
