"""Leaves fitted with the penalty between them: curvature, steps and rounds, from definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout, Penalty, SoftGroups
from likeforlike.training import probabilities
from likeforlike.training._catboost import CatBoost
from likeforlike.training._lightgbm import LightGBM
from likeforlike.training._trees import (
    Boosted,
    BoostingProblem,
    Expansion,
    Library,
    LossName,
    boost,
)
from likeforlike.training._xgboost import XGBoost

PENALTIES: list[Penalty] = [lfl.FairLeap(), lfl.FairBiT(), lfl.WassersteinPenalty()]


def make_problem(
    seed: int,
    penalty: Penalty | None,
    loss: LossName = "squared",
    strength: float = 3.0,
    rate: float = 1.0,
    regularization: float = 0.0,
    *,
    n_groups: int = 2,
    size: int = 80,
    weighted: bool = True,
) -> BoostingProblem:
    """Unequal cells, a level with one group only, a singleton and a row of weight 0."""
    rng = np.random.default_rng(seed)
    groups, levels = rng.integers(0, n_groups, size), rng.integers(0, 3, size)
    levels[:4], groups[:4] = 3, 0
    levels[4:6], groups[4:6] = 4, [0, 1]
    weight = rng.random(size) + 0.2 if weighted else np.ones(size)
    weight[7] = 0.0 if weighted else 1.0
    layout = (penalty or lfl.FairLeap()).prepare(Layout.from_columns(groups, levels, weight))
    targets = rng.integers(0, 2, size).astype(float)
    return BoostingProblem(targets, weight, layout, loss, penalty, strength, rate, regularization)


def coupling(
    problem: BoostingProblem, raw: FloatArray, leaves: IntArray
) -> tuple[FloatArray, FloatArray]:
    """K of the leaves, and its diagonal bound 2 D."""
    layout = problem.layout
    assert layout is not None
    at = Expansion(problem, raw)
    _, of_penalty, _ = at.hessian()
    size = int(leaves.max()) + 1
    twice: FloatArray = np.zeros(size)
    slopes = layout.repeat_at_places(at.slopes)
    np.add.at(twice, np.tile(leaves, layout.places), 2.0 * of_penalty * slopes**2)
    return at.couple_leaves(of_penalty, leaves, size), twice


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_curvature_between_leaves_is_that_of_the_penalty(penalty: Penalty) -> None:
    """For two groups V is a parabola while ranks stay: second differences are exact."""
    problem = make_problem(1, penalty)
    rng = np.random.default_rng(2)
    raw, leaves = rng.standard_normal(80), rng.integers(0, 5, 80)
    matrix, _ = coupling(problem, raw, leaves)
    assert problem.penalty_terms is not None
    _, layout, factor = problem.penalty_terms
    assert factor == 0.5 * 3.0 * float(problem.weight.sum())

    def value(values: FloatArray) -> float:
        found, _ = penalty.evaluate((raw + values[leaves])[None], layout)
        return factor * float(found[0])

    for _ in range(5):
        step = 1e-5 * rng.standard_normal(5)
        second = (value(step) - 2.0 * value(np.zeros(5)) + value(-step)) / 1e-10
        assert step @ matrix @ step / 1e-10 == pytest.approx(second, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("penalty", [*PENALTIES, lfl.FairLeap(order=1.5), lfl.FairLeap(order=3.0)])
def test_curvature_is_symmetric_and_between_nothing_and_the_bound(
    penalty: Penalty, loss: LossName, n_groups: int
) -> None:
    problem = make_problem(3, penalty, loss, 2.0, n_groups=n_groups)
    rng = np.random.default_rng(4)
    raw, leaves = rng.standard_normal(80), rng.integers(0, 6, 80)
    matrix, twice = coupling(problem, raw, leaves)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * twice.max()
    assert np.linalg.eigvalsh(np.diag(twice) - matrix).min() > -1e-9 * twice.max()


def test_one_leaf_of_all_rows_moves_freely() -> None:
    problem = make_problem(5, lfl.FairLeap(), strength=100.0, weighted=False)
    raw = np.random.default_rng(6).random(80)
    matrix, twice = coupling(problem, raw, np.zeros(80, np.int64))
    assert abs(matrix[0, 0]) < 1e-9 * twice[0]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("learning_rate", [0.1, 0.5, 1.0])
def test_no_step_makes_the_objective_worse(penalty: Penalty, learning_rate: float) -> None:
    problem = make_problem(7, penalty, strength=50.0, rate=learning_rate)
    rng = np.random.default_rng(8)
    at = Expansion(problem, rng.standard_normal(80))
    for _ in range(60):
        leaves = rng.integers(0, rng.integers(1, 12), 80)
        of_loss, of_penalty, _ = at.hessian()
        after = Expansion(problem, at.raw + at.solve_leaves(leaves, of_loss, of_penalty)[leaves])
        assert after.objective <= at.objective * (1.0 + 1e-9)
        at = after


def test_without_a_penalty_leaves_take_newton_steps() -> None:
    problem = make_problem(9, None, "logistic", 0.0, 0.3, 2.0)
    rng = np.random.default_rng(10)
    raw, leaves = rng.standard_normal(80), rng.integers(0, 4, 80) * 3
    at = Expansion(problem, raw)
    of_loss, of_penalty, _ = at.hessian()
    assert not of_penalty.size
    values = at.solve_leaves(leaves, of_loss, of_penalty)
    chance = probabilities(raw)
    for leaf in (0, 3, 6, 9):
        here = leaves == leaf
        slope = (problem.weight * (chance - problem.targets))[here].sum()
        bend = (problem.weight * chance * (1.0 - chance))[here].sum()
        assert values[leaf] == pytest.approx(-0.3 * slope / (bend + 2.0), rel=1e-8)


LIBRARIES: list[Library] = [
    LightGBM({"num_threads": 1, "num_leaves": 7, "seed": 0}),
    XGBoost({"nthread": 1, "max_depth": 3, "seed": 0}),
    CatBoost({"thread_count": 1, "depth": 3, "seed": 0, "bootstrap_type": "No"}, {}),
]


def boosted(
    library: Library, inputs: FloatArray, problem: BoostingProblem, start: float = 0.3
) -> Boosted:
    matrix = library.rows(inputs)
    grower = library.grower(matrix)
    return boost(problem, grower, matrix, start=start, rounds=25, patience=25)


@pytest.mark.training
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: type(one).__name__)
def test_the_model_of_the_library_has_our_leaves(library: Library) -> None:
    problem = make_problem(11, lfl.FairLeap(), "logistic", 5.0, 0.3, 1.0, size=300)
    inputs = np.random.default_rng(12).standard_normal((300, 3))
    inputs[::7, 1] = np.nan
    found = boosted(library, inputs, problem)
    raw = found.start + library.raw(found.model, library.rows(inputs))
    assert found.trees == 25
    assert Expansion(problem, raw).objective == pytest.approx(found.objectives[-1], rel=1e-6)
    assert (np.diff(found.objectives) <= 1e-12).all()


@pytest.mark.training
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: type(one).__name__)
def test_inputs_that_cannot_be_split_end_the_training(library: Library) -> None:
    problem = make_problem(13, lfl.FairLeap(), "squared", 5.0, 0.3, 1.0)
    found = boosted(library, np.ones((80, 2)), problem)
    assert (found.trees, found.model, found.stopped) == (0, None, True)
    assert not found.needs_more_trees


@pytest.mark.training
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: type(one).__name__)
def test_a_strong_penalty_is_fitted_in_as_few_trees(library: Library) -> None:
    """What a network-free minimum is like: the best of all scores that depend on the level alone.

    The inputs tell the level and, in another column, the group. With second derivatives row by row
    the same trees stay far from it.
    """
    rng = np.random.default_rng(14)
    groups, levels = rng.integers(0, 2, 1500), rng.integers(0, 6, 1500)
    targets = (rng.random(1500) < probabilities(0.8 * levels - 2.0 + groups)).astype(float)
    inputs = np.column_stack([levels, groups + 0.3 * rng.standard_normal(1500)])
    layout = Layout.from_columns(groups, levels)
    problem = BoostingProblem(
        targets, np.ones(1500), layout, "logistic", lfl.FairLeap(), 1000.0, 0.3, 0.0
    )
    share = np.array([targets[levels == level].mean() for level in range(6)])[levels]
    parity = -np.mean(targets * np.log(share) + (1.0 - targets) * np.log(1.0 - share))
    found = boosted(library, inputs, problem, start=0.0)
    assert found.objectives[-1] < parity + 0.003
    assert not found.needs_more_trees


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_what_chance_gives_is_taken_off(penalty: Penalty) -> None:
    """At parity the objective on rows held back is the loss, however few rows a cell has."""
    rng = np.random.default_rng(15)
    levels = np.repeat(np.arange(30), 10)
    excess = []
    for _ in range(60):
        layout = Layout.from_columns(np.append(rng.integers(0, 2, 298), [0, 1]), levels)
        targets = rng.standard_normal(300)
        problem = BoostingProblem(targets, np.ones(300), layout, "squared", penalty, 1.0, 0.1, 0.0)
        permuted = problem.permute_layouts(0)
        assert permuted
        objective, loss = problem.evaluate_excess(rng.standard_normal(300), permuted)
        excess.append(objective - loss)
    error = np.std(excess) / np.sqrt(len(excess))
    assert abs(np.mean(excess)) < 4.0 * error
    plain, _ = penalty.evaluate(rng.standard_normal((1, 300)), layout)
    assert plain[0] > 4.0 * error


def test_soft_groups_that_are_sure_are_groups() -> None:
    problem = make_problem(16, lfl.FairLeap(), "logistic")
    assert problem.layout is not None
    groups = problem.layout.segments[0] % 2
    levels = problem.layout.segments[0] // 2
    soft = lfl.FairLeap().prepare(
        Layout.from_columns(SoftGroups(groups.astype(float), (0, 1)), levels, problem.weight)
    )
    rng = np.random.default_rng(17)
    raw, leaves = rng.standard_normal(80), rng.integers(0, 5, 80)
    hard, _ = coupling(problem, raw, leaves)
    sure, _ = coupling(replace(problem, layout=soft), raw, leaves)
    np.testing.assert_allclose(sure, hard, rtol=1e-9, atol=1e-9 * np.abs(hard).max())
