"""Soft groups against rows that are written down once a group, with weights: the definition."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch

import likeforlike as lfl
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty, SlopeField, SoftGroups
from likeforlike.training import (
    CellBatchSampler,
    PenaltyLoss,
    lightgbm_objective,
    xgboost_objective,
)
from likeforlike.training._objectives import FairObjective

PENALTIES: list[Penalty] = [
    lfl.FairLeap(),
    lfl.FairLeap(order=1, measure="uniform"),
    lfl.FairBiT(),
    lfl.FairBiT.paper(),
    lfl.WassersteinPenalty(),
    lfl.SmoothFairLeap(anchors=3),
]
NAMES = ["FairLeap", "order 1", "FairBiT", "FairBiT.paper", "Wasserstein", "SmoothFairLeap"]


class Case:
    """Rows with probabilities of groups, and the same rows once a group."""

    def __init__(self, rows: int, groups: int, seed: int, *, weighted: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.levels = rng.integers(0, 12, rows)
        self.scores = np.round(rng.random(rows) + 0.02 * self.levels, 2)
        self.chances = rng.dirichlet(np.ones(groups), rows)
        self.chances[0] = np.eye(groups)[0]  # a row that is certain
        self.weight = rng.uniform(0.5, 2.0, rows) if weighted else None
        self.labels = tuple("abcd"[:groups])
        self.soft = SoftGroups(self.chances, self.labels)

    def by_hand(self, penalty: Penalty) -> tuple[float, np.ndarray]:
        many = len(self.labels)
        weight = 1.0 if self.weight is None else self.weight[:, None]
        value, slopes = penalty.value_and_grad(
            np.tile(self.scores, many),
            np.repeat(self.labels, self.scores.size),
            np.tile(self.levels, many),
            (self.chances * weight).T.ravel(),
        )
        return value, slopes.reshape(many, -1).sum(axis=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
def test_value_and_gradient_are_those_of_rows_once_a_group(
    penalty: Penalty, groups: int, weighted: bool
) -> None:
    case = Case(300, groups, 1, weighted=weighted)
    value, gradient = penalty.value_and_grad(case.scores, case.soft, case.levels, case.weight)
    expected, slopes = case.by_hand(penalty)
    assert value == pytest.approx(expected, rel=1e-9)
    assert gradient.shape == case.scores.shape
    assert np.allclose(gradient, slopes, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
def test_who_is_certain_is_in_one_group(penalty: Penalty) -> None:
    """But for how SmoothFairLeap smooths: it counts rows, of which copies make more."""
    slack = 0.1 if isinstance(penalty, lfl.SmoothFairLeap) else 1e-9
    rng = np.random.default_rng(4)
    scores, levels = rng.random(400), rng.integers(0, 6, 400)
    groups = rng.integers(0, 2, 400)
    soft = SoftGroups(groups.astype(float), (0, 1))
    for found, expected in zip(
        penalty.value_and_grad(scores, soft, levels),
        penalty.value_and_grad(scores, groups, levels),
        strict=True,
    ):
        apart = np.abs(np.asarray(found) - np.asarray(expected))
        assert apart.max() <= slack * np.abs(np.asarray(expected)).max()


@pytest.mark.parametrize("penalty", [PENALTIES[0], PENALTIES[2], PENALTIES[5]])
def test_gradients_are_finite_differences(penalty: Penalty) -> None:
    case = Case(120, 2, 2)
    scores = np.random.default_rng(3).random(120)
    _, gradient = penalty.value_and_grad(scores, case.soft, case.levels)
    for row in range(0, 120, 17):
        step = np.zeros(120)
        step[row] = 1e-6
        up, down = (
            penalty.value_and_grad(scores + sign * step, case.soft, case.levels)[0]
            for sign in (1, -1)
        )
        assert gradient[row] == pytest.approx((up - down) / 2e-6, abs=1e-5)


def test_scores_of_several_models_and_classes() -> None:
    case = Case(200, 2, 5)
    many = np.random.default_rng(6).random((3, 200, 2))
    values, gradients = lfl.FairLeap().batch_value_and_grad(many, case.soft, case.levels)
    for k in range(3):
        parts = [
            lfl.FairLeap().value_and_grad(many[k, :, c], case.soft, case.levels) for c in range(2)
        ]
        assert values[k] == pytest.approx(sum(value for value, _ in parts))
        assert np.allclose(gradients[k], np.column_stack([slope for _, slope in parts]))


@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
def test_a_field_of_all_rows_gives_their_gradient(penalty: Penalty) -> None:
    case = Case(400, 2, 7)
    scores = np.random.default_rng(8).random((1, 400))
    layout = penalty.prepare(Layout.from_columns(case.soft, case.levels))
    field = SlopeField.fit(penalty, scores, layout)
    _, gradient = penalty.evaluate(scores, layout)
    read = layout.sum_places(field.gradient(scores, layout) * penalty.transported_mass(layout))
    assert np.allclose(read, gradient, atol=1e-9)


def test_layouts_of_soft_groups_are_taken_apart_as_others_are() -> None:
    case = Case(60, 3, 9, weighted=True)
    layout = Layout.from_columns(case.soft, case.levels, case.weight)
    rows = np.array([3, 1, 40])
    some = layout.take(rows)
    assert (some.share[0] == case.soft.probabilities[rows]).all()
    assert case.weight is not None
    own = Layout.from_columns(case.soft[rows], case.levels[rows], case.weight[rows])
    assert np.allclose(some.expand_soft_groups().mass, own.expand_soft_groups().mass)
    after, before = layout.expand_soft_groups().take(rows), some.expand_soft_groups()
    assert (after.segments == before.segments).all()
    assert np.allclose(after.mass, before.mass)
    pair = np.stack([rows, rows[::-1]])
    both = layout.take(pair)
    assert (both.select_model(1).share == both.share[1:]).all()
    assert np.allclose(both.select_splits(np.array([1, 0, 1])).share, both.share[[1, 0, 1]])
    assert layout.expand_soft_groups().size == layout.size == 60
    coverage = layout.expand_soft_groups().coverage()
    assert list(coverage) == ["a", "b", "c"]


def test_torch_losses_take_them() -> None:
    case = Case(100, 2, 10)
    scores = torch.tensor(case.scores, requires_grad=True)
    loss = PenaltyLoss(lfl.FairLeap())(scores, case.soft, case.levels)
    loss.backward()
    value, gradient = lfl.FairLeap().value_and_grad(case.scores, case.soft, case.levels)
    assert loss.item() == pytest.approx(value)
    assert scores.grad is not None
    assert np.allclose(scores.grad.numpy(), gradient)
    assert len(CellBatchSampler(case.soft, case.levels, batch_size=10)) == 10


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
def test_objectives_of_boosting_take_them(
    make: Callable[..., FairObjective], weighted: bool
) -> None:
    case = Case(300, 2, 11, weighted=weighted)
    rng = np.random.default_rng(12)
    raw, targets = rng.normal(size=300), rng.integers(0, 2, 300).astype(float)
    objective = make(lfl.FairLeap(), 2.0, case.soft, case.levels, sample_weight=case.weight)
    gradient, hessian = objective(targets, raw)
    weight = np.ones(300) if case.weight is None else case.weight
    scores = 1 / (1 + np.exp(-raw))
    _, slopes = lfl.FairLeap().value_and_grad(scores, case.soft, case.levels, case.weight)
    pull = 2.0 * weight.sum() * slopes * scores * (1 - scores)
    assert np.allclose(gradient, weight * (scores - targets) + pull)
    assert (hessian > weight * scores * (1 - scores)).mean() > 0.9
    again, _ = pickle.loads(pickle.dumps(objective))(targets, raw)
    assert np.allclose(again, gradient)
    if not weighted:
        own = rng.uniform(0.5, 2.0, 300)
        found, _ = objective(targets, raw, own)
        expected = make(lfl.FairLeap(), 2.0, case.soft, case.levels, sample_weight=own)
        assert np.allclose(found, expected(targets, raw)[0])


@pytest.mark.training
def test_estimators_take_them() -> None:
    """Certain soft groups close the gap as labels do, and unsure ones most of it."""
    rng = np.random.default_rng(13)
    groups, levels = rng.integers(0, 2, 1500), rng.integers(0, 3, 1500)
    inputs = np.column_stack([groups + rng.normal(size=1500), levels, rng.normal(size=1500)])
    target = inputs.sum(axis=1) + rng.normal(size=1500) > 1.5
    guess = np.clip(1 / (1 + np.exp(-2 * (inputs[:, 0] - 0.5))), 0.01, 0.99)

    def trained(sensitive: object, strength: float = 20.0) -> lfl.FairClassifier:
        model = lfl.FairClassifier(
            strength=strength,
            max_epochs=40,
            learning_rate=0.02,
            hidden_layer_sizes=(8,),
            random_state=0,
        )
        return model.fit(inputs, target, sensitive_features=sensitive, legitimate_features=levels)

    def apart(model: lfl.FairClassifier) -> float:
        return float(lfl.cdd_lp(model.predict_proba(inputs)[:, 1], groups, levels))

    free, soft = apart(trained(groups, 0.0)), trained(SoftGroups(guess, (0, 1)))
    assert apart(soft) < 0.5 * free
    assert set(soft.coverage_ or {}) == {0, 1}
    assert soft.disparity_ is not None
    certain = trained(SoftGroups(groups.astype(float), (0, 1)))
    assert apart(certain) < 0.5 * free


@pytest.mark.parametrize(
    ("given", "groups", "words"),
    [
        ([0.5, 1.2], ("f", "m"), "row 1"),
        ([[0.5, 0.4]], ("f", "m"), "sum to one"),
        ([[0.5, 0.5]], ("f", "m", "x"), "a column for each"),
        ([[0.5, 0.5]], ("f", "f"), "must differ"),
        ([0.5, float("nan")], ("f", "m"), "row 1"),
        ([], ("f", "m"), "empty"),
        (["a"], ("f", "m"), "numbers"),
    ],
)
def test_what_are_no_probabilities_is_refused(given: list, groups: tuple, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=words):
        SoftGroups(given, groups)


def test_lengths_are_checked_and_measures_refuse_them() -> None:
    soft = SoftGroups([0.5, 0.5, 0.1])
    with pytest.raises(InputError, match="groups have 3"):
        lfl.FairLeap().value_and_grad([0.1, 0.2, 0.3], soft, [1, 2])
    with pytest.raises(InputError):
        lfl.cdd_lp([0.1, 0.2, 0.3], soft)
    with pytest.raises(InputError, match="sensitive_features has 3"):
        lfl.FairRegressor().fit([[0.0], [1.0]], [0.0, 1.0], sensitive_features=soft)
    assert repr(soft) == "SoftGroups(3 rows of ['0', '1'])"
    assert soft.shape == (3, 2)
