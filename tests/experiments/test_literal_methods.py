"""Methods that stand for the paper's own: entropic, hard, by fairlearn, without A, put together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import make_loans
from likeforlike.experiments import (
    FairlearnAdversarial,
    HardLabels,
    Penalized,
    Plain,
    Repaired,
    RepairedPenalized,
    Task,
    WithoutSensitive,
    as_network,
    predictive_performance,
    split,
)
from likeforlike.training import Recipe, evaluate

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(make_loans(1200, gap=0.3), max_epochs=25, learning_rate=0.005, with_sensitive=True)


def cdd(scores: FloatArray, task: Task, rows: IntArray) -> float:
    data = task.data
    return float(lfl.cdd_lp(scores, data.groups[rows], data.levels[rows]))


@pytest.mark.parametrize(
    "penalty",
    [
        lfl.FairLeap.paper("uniform", reg=0.05),
        lfl.FairBiT.paper(reg=0.05),
        lfl.FairBiT.paper(reg=0.05, root=True),
        lfl.WassersteinPenalty.paper(reg=0.05),
    ],
)
def test_entropic_penalties_train(task: Task, penalty: lfl.FairLeap) -> None:
    method = Penalized("one", (0.0, 3.0), penalty, penalty_rows=None, strata="levels")
    scores, parts = method.scores(task, [0])
    free, bound = (cdd(of_strength, task, parts.test_rows[0]) for of_strength in scores[0])
    assert bound < 0.7 * free


def test_entropic_penalties_are_validated_in_blocks(task: Task) -> None:
    """The mean over blocks of a batch's size, each of which has its share of every cell."""
    parts = split(task.data, [0, 1])
    penalty = lfl.FairLeap(reg=0.05)
    assert task.recipe(parts, penalty).validation_rows == task.batch_size
    assert task.recipe(parts, lfl.FairLeap()).validation_rows is None
    recipe = Recipe("logistic", penalty, max_epochs=1, validation_rows=60, penalty_rows=None)
    network = parts.train_networks(recipe, (1.0,))
    blocks = [np.arange(60 * k, 60 * (k + 1))[None].repeat(2, axis=0) for k in range(4)]
    splits = np.arange(2)
    _, values, scores = evaluate(network, parts.validation, splits, recipe, blocks)
    for k in range(2):
        layout = parts.validation.layout.select_model(k)
        expected = [
            penalty.evaluate(scores[k : k + 1, block[k]], layout.take(block[k]))[0][0]
            for block in blocks
        ]
        assert values[k] == pytest.approx(np.mean(expected), rel=1e-12)


def test_hard_labels_are_scores_cut_at_one_half(task: Task) -> None:
    soft, _ = Plain().scores(task, [0])
    hard, _ = HardLabels("hard", (0.0,), Plain()).scores(task, [0])
    np.testing.assert_array_equal(hard, soft >= 0.5)
    numbers = replace(task, data=replace(task.data, target="score", task="regression"))
    with pytest.raises(lfl.errors.InputError, match="the target of this task is a number"):
        HardLabels("hard", (0.0,), Plain()).check(numbers)


def test_fairlearn_debiases_scores_and_numbers(task: Task) -> None:
    method = FairlearnAdversarial()
    method.check(task)
    scores, parts = method.scores(task, [0])
    assert scores.shape == (1, 1, parts.test.size)
    assert ((scores >= 0.0) & (scores <= 1.0)).all()
    auc = predictive_performance(scores[0, 0], parts.test_targets[0], "logistic")
    assert auc > 0.55
    money = task.data.frame.with_columns(pl.col("score") * 18_000.0 + 45_000.0)
    data = replace(task.data, frame=money, target="score", task="regression")
    scores, parts = method.scores(replace(task, data=data), [0])
    wanted = parts.test_targets[0]
    assert wanted.mean() > 40_000.0
    assert ((scores[0, 0] - wanted) ** 2).mean() < 1.2 * wanted.var()


def test_fairlearn_stops_by_patience(task: Task) -> None:
    short, _ = FairlearnAdversarial().scores(replace(task, patience=1, max_epochs=400), [0])
    again, _ = FairlearnAdversarial().scores(replace(task, patience=1, max_epochs=500), [0])
    np.testing.assert_array_equal(short, again)


def test_three_groups_are_refused_by_fairlearn(task: Task) -> None:
    three = task.data.frame.with_columns(
        pl.Series("sex", np.arange(task.data.frame.height) % 3).cast(pl.String)
    )
    with pytest.raises(lfl.errors.InputError, match="two groups"):
        FairlearnAdversarial().check(replace(task, data=replace(task.data, frame=three)))


def test_repair_does_more_without_the_sensitive_input(task: Task) -> None:
    """With it a network can undo what was repaired."""
    seen, parts = Repaired("repair", (0.0, 1.0)).scores(task, [0, 1])
    unseen, _ = WithoutSensitive("unseen", (0.0, 1.0), Repaired()).scores(task, [0, 1])
    left = [
        np.mean([cdd(scores[k, 1], task, parts.test_rows[k]) for k in range(2)])
        for scores in (seen, unseen)
    ]
    assert left[1] < 0.8 * left[0]
    with pytest.raises(lfl.errors.InputError, match="more than a network"):
        as_network(WithoutSensitive("unseen", (0.0, 1.0), Repaired()))


def test_repair_at_0_and_a_penalty_are_the_penalty(task: Task) -> None:
    penalty = lfl.FairLeap()
    both = RepairedPenalized("both", (1.0, 10.0), penalty, amount=0.0)
    alone = Penalized("alone", (1.0, 10.0), penalty)
    one, _ = both.scores(task, [0])
    other, _ = alone.scores(task, [0])
    np.testing.assert_allclose(one, other, atol=1e-6)
    moved, _ = replace(both, amount=1.0).scores(task, [0])
    assert np.abs(moved - one).max() > 0.01
