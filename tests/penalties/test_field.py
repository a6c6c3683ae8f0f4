"""The slope field: exact on its own sample, close to the full gradient everywhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout, Penalty, SlopeField

PENALTIES = ["fairbit", "fairbit with a level cost", "fairleap", "wasserstein"]
ORDERS = [1.0, 1.5, 2.0, 3.0]


def make(name: str, order: float = 2.0) -> Penalty:
    made: dict[str, Penalty] = {
        "fairbit": lfl.FairBiT(order=order),
        "fairbit with a level cost": lfl.FairBiT(order=order, level_cost=3.0),
        "fairleap": lfl.FairLeap(order=order),
        "wasserstein": lfl.WassersteinPenalty(order=order),
    }
    return made[name]


class Sample(NamedTuple):
    """Scores (m, n) of m models on the same rows, and where the rows belong."""

    scores: FloatArray
    layout: Layout


def sample(
    seed: int, *, models: int = 3, groups: int = 2, weighted: bool = False, ties: bool = False
) -> Sample:
    """90 rows in unequal cells, among them a level with one group only and a singleton."""
    rng = np.random.default_rng(seed)
    group, level = rng.choice(groups, 90), rng.choice(3, 90, p=[0.6, 0.3, 0.1])
    group[:3], level[:3] = 0, 3
    group[3:6], level[3:6] = [0, 1, 1], 4
    weight = rng.random(90) + 0.1 if weighted else None
    scores = rng.random((models, 90))
    return Sample(
        np.round(scores, 1) if ties else scores, Layout.from_columns(group, level, weight)
    )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PENALTIES)
def test_rows_of_the_sample_get_their_own_gradient(
    name: str, order: float, groups: int, weighted: bool, ties: bool
) -> None:
    scores, layout = sample(1, groups=groups, weighted=weighted, ties=ties)
    penalty = make(name, order)
    field = SlopeField.fit(penalty, scores, layout)
    values, gradients = penalty.evaluate(scores, layout)
    assert (np.abs(gradients) > 1e-4).any()
    np.testing.assert_array_equal(field.values, values)
    found = field.gradient(scores, layout) * penalty.transported_mass(layout)
    np.testing.assert_allclose(found, gradients, rtol=0.0, atol=1e-10)
    # In any order, and some of them only.
    some = np.random.default_rng(2).permutation(layout.size)[:40]
    picked = np.ascontiguousarray(scores[:, some])
    found = field.gradient(picked, layout.take(some)) * penalty.transported_mass(layout)[some]
    np.testing.assert_allclose(found, gradients[:, some], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_linear_between_the_rows_and_constant_beyond_them(
    name: str, weighted: bool, ties: bool
) -> None:
    scores, layout = sample(3, models=1, weighted=weighted, ties=ties)
    penalty = make(name)
    _, gradient = penalty.evaluate(scores, layout)
    moved = penalty.transported_mass(layout)
    field = SlopeField.fit(penalty, scores, layout)
    at = np.linspace(-0.5, 1.5, 201)
    for cell in np.unique(layout.segments):
        own = np.flatnonzero((layout.segments[0] == cell) & (moved > 0.0))
        where = layout.take(np.full(at.size, np.flatnonzero(layout.segments[0] == cell)[0]))
        found = field.gradient(at[None], where)[0]
        if own.size == 0:
            assert not found.any()
            continue
        places, first = np.unique(scores[0, own], return_index=True)
        heights = (gradient[0, own] / moved[own])[first]
        np.testing.assert_allclose(found, np.interp(at, places, heights), rtol=0.0, atol=1e-10)
        assert (found[at < places[0]] == found[0]).all()
        assert (found[at > places[-1]] == found[-1]).all()


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PENALTIES)
def test_ties_that_rounding_breaks_are_ties(
    name: str, order: float, weighted: bool, precision: type[np.floating[Any]]
) -> None:
    """Rows of equal score, as from hidden units that are 0, that differ by their last digits."""
    scores, layout = sample(11, weighted=weighted, ties=True)
    step = float(np.finfo(precision).eps)
    broken = scores + step * np.random.default_rng(12).integers(0, 4, scores.shape)
    assert np.unique(broken).size > 3 * np.unique(scores).size
    penalty = make(name, order)
    whole, parted = (
        SlopeField.fit(penalty, one, layout, precision=step) for one in (scores, broken)
    )
    expected = whole.gradient(scores, layout)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(parted.gradient(broken, layout), expected, rtol=0.0, atol=1e3 * step)


def test_scores_that_are_no_numbers_stay_what_they_are() -> None:
    """Networks that diverge are stopped by their objective; the field must not hide it."""
    scores, layout = sample(13, models=3, ties=True)
    scores[0, ::7], scores[1, ::7] = np.nan, np.inf
    scores[2, ::2] += np.finfo(float).eps
    with np.errstate(invalid="ignore"):
        field = SlopeField.fit(lfl.FairLeap(), scores, layout)
        alone = [lfl.FairLeap().evaluate(scores[[k]], layout)[0][0] for k in range(3)]
    np.testing.assert_array_equal(field.values[:2], alone[:2])
    assert not np.isfinite(field.values[:2]).any()
    assert field.values[2] == pytest.approx(alone[2], rel=1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_a_shift_has_a_slope_of_twice_the_shift(name: str) -> None:
    scores = np.random.default_rng(4).random(50)
    layout = Layout.from_columns(["f"] * 50 + ["m"] * 50)
    field = SlopeField.fit(make(name), np.concatenate([scores, scores + 0.3])[None], layout)
    assert field.values[0] == pytest.approx(0.09, rel=1e-12)
    at = np.linspace(-1.0, 2.0, 31)[None]
    women, men = (layout.take(np.full(31, row)) for row in (0, 99))
    np.testing.assert_allclose(field.gradient(at, women), -0.6, rtol=1e-12)
    np.testing.assert_allclose(field.gradient(at, men), 0.6, rtol=1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_cells_that_are_not_in_the_sample_have_no_slope(name: str) -> None:
    scores, layout = sample(5, models=2)
    absent = 1
    inside = np.flatnonzero(layout.segments[0] != absent)
    penalty = make(name)
    field = SlopeField.fit(penalty, np.ascontiguousarray(scores[:, inside]), layout.take(inside))
    found = field.gradient(scores, layout)
    assert (layout.segments[0] == absent).sum() > 3
    assert not found[:, layout.segments[0] == absent].any()
    assert found.any()


def test_levels_with_one_group_have_no_slope_level_by_level() -> None:
    scores, layout = sample(6)
    field = SlopeField.fit(lfl.FairLeap(), scores, layout)
    assert not field.gradient(scores, layout)[:, :3].any()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_rows_without_weight_leave_no_trace(name: str, ties: bool) -> None:
    scores, layout = sample(7, weighted=True, ties=ties)
    layout.mass[0, 10:40] = 0.0
    counted = np.flatnonzero(layout.mass[0] > 0.0)
    penalty = make(name)
    with_them = SlopeField.fit(penalty, scores, layout)
    without = SlopeField.fit(
        penalty, np.ascontiguousarray(scores[:, counted]), layout.take(counted)
    )
    found = with_them.gradient(scores, layout)
    np.testing.assert_allclose(found, without.gradient(scores, layout), rtol=0.0, atol=1e-12)
    assert found[:, 10:40].any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_models_may_have_samples_of_their_own(name: str, weighted: bool) -> None:
    scores, layout = sample(8, models=1, weighted=weighted, groups=3)
    rng = np.random.default_rng(9)
    rows = np.stack([rng.permutation(90)[:60] for _ in range(4)])
    others = np.stack([rng.permutation(90)[:20] for _ in range(4)])
    penalty = make(name)
    field = SlopeField.fit(penalty, scores[0, rows], layout.take(rows))
    found = field.gradient(scores[0, others], layout.take(others))
    for k in range(4):
        alone = SlopeField.fit(penalty, scores[:, rows[k]], layout.take(rows[k]))
        assert field.values[k] == alone.values[0]
        own = alone.gradient(scores[:, others[k]], layout.take(others[k]))
        np.testing.assert_array_equal(found[k], own[0])
    chosen = np.array([2, 0])
    some = field.select(chosen)
    np.testing.assert_array_equal(some.values, field.values[chosen])
    again = some.gradient(scores[0, others[chosen]], layout.take(others[chosen]))
    np.testing.assert_array_equal(again, found[chosen])


class Population(NamedTuple):
    scores: FloatArray
    layout: Layout


def population(seed: int, size: int, gap: float) -> Population:
    """Ten levels of equal size, two groups; group 1 scores higher by `gap` and spreads wider."""
    rng = np.random.default_rng(seed)
    group, level = rng.integers(0, 2, size), rng.integers(0, 10, size)
    scores = 0.03 * level + rng.beta(2.0, 2.0, size) * (0.5 + gap * group) + gap * group
    return Population(scores, Layout.from_columns(group, level))


def some_rows(seed: int, size: int, of: int) -> IntArray:
    return np.random.default_rng(seed).permutation(of)[:size]


@pytest.mark.parametrize("name", ["fairbit", "fairleap", "wasserstein"])
def test_fresh_rows_approximate_the_gradient_of_all_data(name: str) -> None:
    """The error falls like 1/√n: halved, or nearly so, by a sample four times as large."""
    scores, layout = population(10, 40_000, 0.1)
    penalty = make(name)
    truth = penalty.evaluate(scores[None], layout)[1][0] / penalty.transported_mass(layout)
    errors = []
    for size in (256, 1024, 4096):
        wrong = []
        for seed in range(6):
            rows = some_rows(seed, size + 2000, scores.size)
            drawn, fresh = rows[:size], rows[size:]
            field = SlopeField.fit(penalty, scores[None, drawn], layout.take(drawn))
            found = field.gradient(scores[None, fresh], layout.take(fresh))[0]
            wrong.append(np.sqrt(np.mean((found - truth[fresh]) ** 2)))
        errors.append(float(np.mean(wrong)))
    assert errors[1] < 0.65 * errors[0]
    assert errors[2] < 0.65 * errors[1]
    # A sample of 4096 rows has some 200 in a cell; their mean score is known to about 0.01.
    assert errors[2] < 0.15 * np.sqrt(np.mean(truth**2))


@pytest.mark.parametrize("name", PENALTIES)
def test_at_parity_a_batch_pushes_where_the_field_does_not(name: str) -> None:
    """Every row has a twin in the other group, so the true gradient is 0 in every row."""
    rng = np.random.default_rng(11)
    half, level = rng.beta(2.0, 2.0, 10_000), rng.integers(0, 10, 10_000)
    scores = np.concatenate([half, half])
    layout = Layout.from_columns(np.repeat([0, 1], 10_000), np.concatenate([level, level]))
    penalty = make(name)
    assert not penalty.evaluate(scores[None], layout)[1].any()
    whole = SlopeField.fit(penalty, scores[None], layout)
    of_batch, of_field = [], []
    for seed in range(10):
        batch, drawn = some_rows(seed, 128, scores.size), some_rows(99 + seed, 4096, scores.size)
        here, own = scores[None, batch], layout.take(batch)
        moved = penalty.transported_mass(own)
        field = SlopeField.fit(penalty, scores[None, drawn], layout.take(drawn))
        of_batch.append(np.abs(penalty.evaluate(here, own)[1]).mean())
        of_field.append(np.abs(field.gradient(here, own) * moved).mean())
        assert not whole.gradient(here, own).any()
    assert np.mean(of_batch) > 4.0 * np.mean(of_field)
