"""Training a stack: against plain torch loops, alone and in company, stopped and interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import make_loans
from likeforlike.penalties import Layout, Penalty
from likeforlike.training import (
    EarlyStopping,
    Epoch,
    Follow,
    Loss,
    PenaltyLoss,
    Recipe,
    Rows,
    StackedMLP,
    Trained,
    evaluate,
    limit_to_one_thread,
    make_batches,
    mean_losses,
    train,
)
from tests.training.test_stacked import ordinary

pytestmark = pytest.mark.training

PENALTIES: dict[str, Penalty] = {
    "fairbit": lfl.FairBiT(),
    "fairleap": lfl.FairLeap(),
    "wasserstein": lfl.WassersteinPenalty(),
}
FIRST = np.zeros(1, np.int64)


@pytest.fixture(autouse=True)
def single_threaded() -> Iterator[None]:
    """The loops written here want no more threads than the one under test."""
    with limit_to_one_thread():
        yield


def loans(
    seeds: tuple[int, ...], size: int, *, loss: Loss = "logistic", weighted: bool = False
) -> Rows:
    """Data sets of loan applicants in double precision, so that comparisons can be tight."""
    inputs, targets, weights, layouts = [], [], [], []
    for seed in seeds:
        frame = make_loans(size, gap=0.15, random_state=seed).frame
        features = frame.select("income", "debt", "history", "tenure").to_numpy()
        inputs.append((features - features.mean(axis=0)) / features.std(axis=0))
        score = frame["score"].to_numpy()
        kinds = {"softmax": np.digitize(score, [0.4, 0.6]), "squared": score}
        targets.append(kinds.get(loss, frame["approved"].to_numpy()))
        weights.append(np.random.default_rng(seed).random(size) + 0.1)
        layouts.append(Layout.from_columns(frame["sex"], frame["income"], weights[-1]))
    mass = np.concatenate([layout.mass for layout in layouts]) if weighted else np.empty((0, 0))
    segments = np.concatenate([layout.segments for layout in layouts])
    return Rows(
        torch.tensor(np.stack(inputs)),
        torch.tensor(np.stack(targets), dtype=torch.int64 if loss == "softmax" else torch.float64),
        Layout(segments, layouts[0].levels, layouts[0].groups, mass),
        torch.tensor(np.stack(weights)) if weighted else None,
    )


def single(rows: Rows, line: int) -> Rows:
    """One of several data sets."""
    own = slice(line, line + 1)
    weight = None if rows.weight is None else rows.weight[own]
    return Rows(rows.inputs[own], rows.targets[own], rows.layout.select_model(line), weight)


def network(seeds: list[int], outputs: int = 1) -> StackedMLP:
    return StackedMLP(seeds, (4, 8, 6, outputs)).double()


def recipe(loss: Loss, name: str, learning_rate: float, **settings: Any) -> Recipe:
    usual: dict[str, Any] = {"max_epochs": 40, "batch_size": 64, "penalty_every": 4}
    return Recipe(loss, PENALTIES[name], learning_rate, **(usual | settings))


def plain_loop(
    model: nn.Sequential, rows: Rows, batches: IntArray, how: Recipe, strength: float
) -> None:
    """What anybody would write: a loss, a penalty and Adam, batch after batch."""
    assert how.penalty is not None
    penalty = PenaltyLoss(how.penalty)
    adam = torch.optim.Adam(model.parameters(), lr=how.learning_rate)
    level, group = np.divmod(rows.layout.segments[0], len(rows.layout.groups))
    for batch in batches:
        outputs, targets = model(rows.inputs[0, batch]), rows.targets[0, batch]
        weight = torch.ones(batch.size).double() if rows.weight is None else rows.weight[0, batch]
        if how.loss == "softmax":
            scores = torch.softmax(outputs, dim=1)
            each = -torch.log(scores[torch.arange(batch.size), targets])
        elif how.loss == "logistic":
            scores = torch.sigmoid(outputs[:, 0])
            each = functional.binary_cross_entropy(scores, targets, reduction="none")
        else:
            scores = outputs[:, 0]
            each = (scores - targets) ** 2
        total = (weight * each).sum() / weight.sum()
        total = total + strength * penalty(scores, group[batch], level[batch], weight.numpy())
        adam.zero_grad()
        total.backward()
        adam.step()


def assert_same_network(trained: Trained, model: nn.Sequential, tolerance: float) -> None:
    """Parameters of a stack of one against those of an ordinary network."""
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    expected = [part for layer in layers for part in (layer.weight.T, layer.bias[None])]
    for found, own in zip(trained.network.weights, expected, strict=True):
        torch.testing.assert_close(found[0], own, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared"])
@pytest.mark.parametrize("name", PENALTIES)
def test_full_batches_with_a_field_of_all_rows_are_autograd(
    name: str, loss: Loss, weighted: bool
) -> None:
    """One step, then more: the first step of Adam sees little more than signs."""
    rows = loans((0,), 300, loss=loss, weighted=weighted)
    start = network([1], 3 if loss == "softmax" else 1)
    for epochs in (1, 6):
        how = recipe(loss, name, 0.01, max_epochs=epochs, batch_size=300, penalty_every=1)
        trained = train(start, rows, rows, how, strengths=np.array([5.0]), seeds=np.array([2]))
        assert trained.best_epoch.tolist() == [epochs - 1]
        model = ordinary(start, 0)
        plain_loop(model, rows, np.tile(np.arange(300), (epochs, 1)), how, 5.0)
        assert_same_network(trained, model, 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared"])
@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalty_on_each_batch_is_a_plain_loop(name: str, loss: Loss, weighted: bool) -> None:
    rows = loans((1,), 300, loss=loss, weighted=weighted)
    how = recipe(loss, name, 0.005, max_epochs=4, batch_size=64, penalty_rows=None)
    start = network([3], 3 if loss == "softmax" else 1)
    trained = train(start, rows, rows, how, strengths=np.array([2.0]), seeds=np.array([4]))
    epochs = int(trained.best_epoch[0]) + 1
    assert epochs >= 3
    rng = np.random.default_rng([4, 0])
    batches = [make_batches(rows.layout.segments[0], 64, rng) for _ in range(epochs)]
    model = ordinary(start, 0)
    plain_loop(model, rows, np.concatenate(batches), how, 2.0)
    assert_same_network(trained, model, 1e-9)


class Company(NamedTuple):
    """A stack of members with data sets and strengths of their own."""

    rows: Rows
    validation: Rows
    stack: StackedMLP
    strengths: FloatArray
    lines: IntArray
    seeds: IntArray

    def train(self, how: Recipe, follow: Follow | None = None) -> Trained:
        return train(
            self.stack,
            self.rows,
            self.validation,
            how,
            strengths=self.strengths,
            seeds=self.seeds,
            splits=self.lines,
            follow=follow,
        )

    def to(self, dtype: torch.dtype) -> Company:
        rows, validation = (
            replace(rows, inputs=rows.inputs.to(dtype), targets=rows.targets.to(dtype))
            for rows in (self.rows, self.validation)
        )
        return self._replace(rows=rows, validation=validation, stack=self.stack.to(dtype))

    def alone(self, member: int, how: Recipe) -> Trained:
        """One member trained alone."""
        own = slice(member, member + 1)
        line = int(self.lines[member])
        return train(
            self.stack.select(torch.tensor([member])),
            single(self.rows, line),
            single(self.validation, line),
            how,
            strengths=self.strengths[own],
            seeds=self.seeds[[line]],
        )


def company(members: int, loss: Loss = "logistic", *, weighted: bool = False) -> Company:
    rng = np.random.default_rng(members)
    return Company(
        loans((0, 1, 2), 400, loss=loss, weighted=weighted),
        loans((10, 11, 12), 200, loss=loss, weighted=weighted),
        network(list(range(members)), 3 if loss == "softmax" else 1),
        rng.permutation(np.geomspace(0.1, 10.0, members)) * (np.arange(members) > 0),
        np.arange(members) % 3,
        np.array([20, 21, 22]),
    )


def last_epochs(curve: list[Epoch], members: int) -> IntArray:
    """When every member was seen last."""
    seen = [max(e.number for e in curve if k in e.members) for k in range(members)]
    return np.array(seen)


@pytest.mark.parametrize("penalty_rows", [200, None])
@pytest.mark.parametrize(
    ("members", "loss", "name"),
    [
        (5, "logistic", "fairbit"),
        (5, "logistic", "fairleap"),
        (5, "logistic", "wasserstein"),
        (5, "softmax", "fairleap"),
        (12, "squared", "fairleap"),
    ],
)
def test_company_makes_no_difference(
    members: int, loss: Loss, name: str, penalty_rows: int | None
) -> None:
    """Stopped members leave a stack of five at once and one of twelve with some delay."""
    models = company(members, loss, weighted=members == 12)
    how = recipe(loss, name, 0.03, max_epochs=12, patience=2, penalty_rows=penalty_rows)
    trained = models.train(how)
    assert np.unique(last_epochs(trained.curve, members)).size > 1
    # Those who went on for longest have seen most others leave.
    for k in np.argsort(trained.best_epoch)[-3:].tolist():
        alone = models.alone(k, how)
        assert alone.best_epoch[0] == trained.best_epoch[k]
        rows = single(models.validation, int(models.lines[k]))
        stacked = trained.network.select(torch.tensor([k]))
        scores, own = (evaluate(one, rows, FIRST, how)[2] for one in (stacked, alone.network))
        np.testing.assert_allclose(scores, own, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("penalty_rows", [200, None])
@pytest.mark.parametrize("members", [5, 12])
def test_all_members_get_their_best_weights_back(members: int, penalty_rows: int | None) -> None:
    models = company(members)
    how = recipe("logistic", "fairleap", 0.03, patience=3, penalty_rows=penalty_rows)
    seen: list[Epoch] = []
    trained = models.train(how, seen.append)
    assert [epoch.number for epoch in seen] == list(range(len(seen)))
    assert trained.curve == seen
    assert len(seen) < how.max_epochs
    loss, value, _ = evaluate(trained.network, models.validation, models.lines, how)
    objective = loss + models.strengths * value
    for k in range(members):
        own = [float(e.objective[e.members == k][0]) for e in seen if k in e.members]
        best = int(trained.best_epoch[k])
        assert best == int(np.argmin(own[: best + how.patience + 1]))
        assert objective[k] == pytest.approx(own[best], abs=1e-12)
        assert len(own) >= best + how.patience + 1
    assert trained.best_epoch.max() + how.patience == len(seen) - 1
    assert seen[-1].members.size < members


def test_nothing_that_was_handed_over_is_changed() -> None:
    models = company(5)
    before = [weight.detach().clone() for weight in models.stack.weights]
    strengths = models.strengths.copy()
    trained = models.train(recipe("logistic", "fairleap", 0.03, max_epochs=3))
    for weight, old in zip(models.stack.weights, before, strict=True):
        assert torch.equal(weight, old)
    np.testing.assert_array_equal(models.strengths, strengths)
    np.testing.assert_array_equal(trained.strengths, strengths)


def test_members_that_stopped_stay_stopped() -> None:
    """A stack carries stopped members along for a while; that must not win them more epochs."""
    stack = StackedMLP([0, 1], (2, 1))
    keeper = EarlyStopping(stack, patience=2)
    members = np.arange(2)
    found = [[3.0, 3.0], [4.0, 2.0], [4.0, np.nan], [1.0, 1.0], [0.5, 0.5]]
    going = [
        keeper.update(stack, members, np.array(now), epoch).tolist()
        for epoch, now in enumerate(found)
    ]
    assert going == [[True, True], [True, True], [False, False], [False, False], [False, False]]
    assert keeper.best_epoch.tolist() == [0, 1]
    assert keeper.best.tolist() == [3.0, 2.0]


@pytest.mark.parametrize("name", PENALTIES)
def test_a_larger_strength_lowers_the_penalty(name: str) -> None:
    rows, validation = loans((0,), 4000), loans((1,), 2000)
    how = recipe("logistic", name, 0.01, max_epochs=15, batch_size=128, penalty_rows=2048)
    strengths = np.array([0.0, 1.0, 10.0, 100.0])
    trained = train(
        network([0] * 4), rows, validation, how, strengths=strengths, seeds=np.array([0])
    )
    loss, value, _ = evaluate(trained.network, validation, np.zeros(4, np.int64), how)
    assert (np.diff(value) < 0.0).all()
    assert value[-1] < 0.1 * value[0]
    assert loss[0] < loss[-1]
    assert loss[0] < 0.66
    assert loss[-1] < np.log(2.0) + 0.005


@pytest.mark.parametrize("penalty_rows", [1024, None])
def test_three_classes(penalty_rows: int | None) -> None:
    rows, validation = loans((0,), 2000, loss="softmax"), loans((1,), 1000, loss="softmax")
    how = recipe("softmax", "fairleap", 0.01, max_epochs=10, penalty_rows=penalty_rows)
    start = network([0, 0], 3)
    trained = train(
        start, rows, validation, how, strengths=np.array([0.0, 20.0]), seeds=np.array([0])
    )
    loss, value, scores = evaluate(trained.network, validation, np.zeros(2, np.int64), how)
    np.testing.assert_allclose(scores.sum(axis=2), 1.0, rtol=1e-12)
    before, _, _ = evaluate(start, validation, np.zeros(2, np.int64), how)
    assert (loss < before).all()
    assert value[1] < 0.2 * value[0]


def repeated(rows: Rows, times: IntArray) -> tuple[Rows, Rows]:
    """The same data with rows that count several times, and with rows that are there so often."""
    which = np.repeat(np.arange(rows.size), times)
    weight = torch.tensor(times, dtype=torch.float64)[None]
    counted = replace(rows, layout=rows.layout.with_weights(weight[0].numpy()), weight=weight)
    there = Rows(rows.inputs[:, which], rows.targets[:, which], rows.layout.take(which))
    return counted, there


@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared"])
@pytest.mark.parametrize("name", PENALTIES)
def test_a_weight_of_two_is_a_row_that_is_there_twice(name: str, loss: Loss) -> None:
    times = np.random.default_rng(0).integers(1, 4, 200)
    counted, there = repeated(loans((0,), 200, loss=loss), times)
    start = network([0, 1], 3 if loss == "softmax" else 1)
    found = mean_losses(start(counted.inputs), counted.targets, counted.weight, loss)
    torch.testing.assert_close(found, mean_losses(start(there.inputs), there.targets, None, loss))
    how = recipe(loss, name, 0.01, max_epochs=4, batch_size=999, penalty_rows=999, penalty_every=1)
    lines = np.zeros(2, np.int64)
    one, other = (evaluate(start, rows, lines, how)[:2] for rows in (counted, there))
    np.testing.assert_allclose(np.stack(one), np.stack(other), rtol=0.0, atol=1e-12)
    # And so it is in training, where a row stands for as much mass as it weighs.
    for mode in (how, replace(how, penalty_rows=None)):
        both = (
            train(start, rows, rows, mode, strengths=np.array([1.0, 9.0]), seeds=np.array([0]))
            for rows in (counted, there)
        )
        first, second = (np.stack([e.objective for e in trained.curve]) for trained in both)
        np.testing.assert_allclose(first, second, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("penalty_rows", [200, None])
@pytest.mark.parametrize("name", PENALTIES)
def test_members_that_diverge_stop_and_harm_no_other(name: str, penalty_rows: int | None) -> None:
    models = company(5, "squared")
    how = recipe("squared", name, 0.03, max_epochs=8, patience=8, penalty_rows=penalty_rows)
    expected = models.train(how)
    # The first has strength 0, and 0 times an infinite gradient is not a number.
    with torch.no_grad():
        models.stack.weights[-2][0] = 1e308
        models.stack.weights[0][1] = torch.nan
        models.stack.weights[-2][3] = 1e160
    trained = models.train(how)
    assert trained.curve[0].members.tolist() == [0, 1, 2, 3, 4]
    assert not np.isfinite(trained.curve[0].objective[[0, 1, 3]]).any()
    assert trained.curve[1].members.tolist() == [2, 4]
    well = [2, 4]
    assert (trained.best_epoch[[0, 1, 3]] == -1).all()
    assert (trained.best_epoch[well] == expected.best_epoch[well]).all()
    for found, own in zip(trained.network.weights, expected.network.weights, strict=True):
        torch.testing.assert_close(found[well], own[well], rtol=0.0, atol=1e-10)


def test_an_interrupt_comes_through_and_threads_are_given_back() -> None:
    def interrupt(epoch: Epoch) -> None:
        assert torch.get_num_threads() == 1
        if epoch.number == 2:
            raise KeyboardInterrupt

    torch.set_num_threads(3)
    with pytest.raises(KeyboardInterrupt):
        company(5).train(recipe("logistic", "fairleap", 0.01), interrupt)
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("penalty_rows", [200, None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_seed_gives_the_same_bits(dtype: torch.dtype, penalty_rows: int | None) -> None:
    how = recipe("logistic", "fairbit", 0.03, max_epochs=8, patience=2, penalty_rows=penalty_rows)
    once, again = (company(5).to(dtype).train(how) for _ in range(2))
    other = company(5)._replace(seeds=np.array([1, 2, 3])).to(dtype).train(how)
    for first, second in zip(once.curve, again.curve, strict=True):
        np.testing.assert_array_equal(first.members, second.members)
        np.testing.assert_array_equal(first.objective, second.objective)
    for one, two, three in zip(*(t.network.weights for t in (once, again, other)), strict=True):
        assert one.dtype == dtype
        assert torch.equal(one, two)
        assert not torch.equal(one, three)
