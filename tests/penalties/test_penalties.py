"""Values against the disparities they are, gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout, Penalty
from tests.support.oracles import slopes, transport_cost

ORDERS = [1.0, 1.5, 2.0, 3.0]
PENALTIES: dict[str, Callable[..., Penalty]] = {
    "fairbit": lfl.FairBiT,
    "fairbit whole": partial(lfl.FairBiT, off_diagonal=True),
    "fairleap": lfl.FairLeap,
    "wasserstein": lfl.WassersteinPenalty,
    "entropic fairbit": partial(lfl.FairBiT, reg=0.05),
    "entropic fairbit whole": partial(lfl.FairBiT, level_cost=0.1, reg=0.05),
    "entropic fairleap": partial(lfl.FairLeap, reg=0.05),
    "entropic wasserstein": partial(lfl.WassersteinPenalty, reg=0.05),
}
EXACT = [name for name in PENALTIES if not name.startswith("entropic")]


class Rows(NamedTuple):
    scores: FloatArray
    groups: IntArray
    levels: IntArray
    weight: FloatArray | None


def rows(seed: int, *, size: int = 60, groups: int = 2, levels: int = 4, weighted: bool) -> Rows:
    """Unequal cells, a level with one group only, a singleton; scores all different."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, size, p=np.arange(1, groups + 1) / (groups * (groups + 1) / 2))
    level = rng.integers(0, levels, size)
    level[:3], group[:3] = levels, 0
    level[3:5], group[3:5] = levels + 1, [0, 1]
    weight = rng.random(size) + 0.1 if weighted else None
    return Rows(rng.random(size), group, level, weight)


def inner(data: Rows, order: float, at: tuple[int, int], towards: tuple[int, int]) -> float:
    """W_p^p between two cells, by a linear program."""
    weight = np.ones(data.scores.size) if data.weight is None else data.weight
    first, second = (
        (data.levels == level) & (data.groups == group) for level, group in (at, towards)
    )
    return transport_cost(
        data.scores[first], weight[first], data.scores[second], weight[second], order
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PENALTIES)
def test_gradients_equal_finite_differences(
    name: str, order: float, groups: int, weighted: bool
) -> None:
    data = rows(1, groups=groups, weighted=weighted)
    penalty = PENALTIES[name](order=order)

    def value(scores: FloatArray) -> float:
        return penalty.value_and_grad(scores, data.groups, data.levels, data.weight)[0]

    _, gradient = penalty.value_and_grad(data.scores, data.groups, data.levels, data.weight)
    np.testing.assert_allclose(gradient, slopes(value, data.scores, 1e-7), atol=2e-7)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PENALTIES)
def test_classes_are_added_up(name: str, order: float) -> None:
    data = rows(2, weighted=True)
    scores = np.random.default_rng(3).dirichlet(np.ones(3), data.scores.size)
    penalty = PENALTIES[name](order=order)
    value, gradient = penalty.value_and_grad(scores, data.groups, data.levels, data.weight)
    by_class = [
        penalty.value_and_grad(column, data.groups, data.levels, data.weight) for column in scores.T
    ]
    assert value == pytest.approx(sum(one for one, _ in by_class), rel=1e-12)
    np.testing.assert_allclose(gradient, np.column_stack([g for _, g in by_class]), rtol=1e-12)

    def total(flat: FloatArray) -> float:
        return penalty.value_and_grad(
            flat.reshape(scores.shape), data.groups, data.levels, data.weight
        )[0]

    np.testing.assert_allclose(gradient.ravel(), slopes(total, scores.ravel(), 1e-7), atol=2e-7)


@pytest.mark.parametrize("level_metric", ["discrete", "ordinal", "numeric"])
@pytest.mark.parametrize("level_cost", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_fairbit_is_the_bicausal_excess(
    level_metric: str, level_cost: float, weighted: bool
) -> None:
    data = rows(4, weighted=weighted)
    penalty = lfl.FairBiT(level_metric=level_metric, level_cost=level_cost)
    value, gradient = penalty.value_and_grad(*data)
    with (
        pytest.warns(lfl.errors.LevelCostWarning)
        if (level_metric, level_cost)
        != (
            "discrete",
            3.0,
        )
        else np.errstate()
    ):
        found = lfl.cdd_wass(
            *data[:3], level_metric=level_metric, level_cost=level_cost, sample_weight=data.weight
        )
    assert value == pytest.approx(found.excess, rel=1e-10)

    def total(scores: FloatArray) -> float:
        return penalty.value_and_grad(scores, *data[1:])[0]

    np.testing.assert_allclose(gradient, slopes(total, data.scores, 1e-7), atol=2e-7)


def test_fairbit_by_default_compares_like_with_like() -> None:
    data = rows(5, weighted=False)
    value, _ = lfl.FairBiT().value_and_grad(*data)
    found = lfl.cdd_wass(*data[:3])
    assert value == pytest.approx(found.diagonal, rel=1e-12)
    assert found.off_diagonal > 0.0


def test_fairbit_with_a_safe_level_cost_does_not_depend_on_it() -> None:
    data = rows(5, weighted=False)
    value, gradient = lfl.FairBiT(off_diagonal=True).value_and_grad(*data)
    found = lfl.cdd_wass(*data[:3])
    assert value == pytest.approx(found.diagonal + found.off_diagonal, rel=1e-12)
    larger, same = lfl.FairBiT(level_cost=50.0).value_and_grad(*data)
    assert value == pytest.approx(larger, rel=1e-9)
    np.testing.assert_allclose(gradient, same, atol=1e-12)


def test_fairbit_cannot_tell_the_diagonal_apart_when_the_plan_depends_on_scores() -> None:
    for penalty in (
        lfl.FairBiT(level_cost=1.0, off_diagonal=False),
        lfl.FairBiT(level_metric="numeric", off_diagonal=False),
    ):
        with pytest.raises(lfl.errors.InputError, match="off_diagonal=False needs"):
            penalty.value_and_grad([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1] * 3, [1, 1, 2, 2, 3, 3])


@pytest.mark.parametrize("measure", ["marginal", "average", "uniform", "overlap"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_fairleap_is_the_conditional_disparity(measure: str, order: float, weighted: bool) -> None:
    data = rows(6, weighted=weighted)
    value, _ = lfl.FairLeap(measure=measure, order=order).value_and_grad(*data)  # type: ignore[arg-type]
    found = lfl.cdd_lp(*data[:3], order=order, p=order, measure=measure, sample_weight=data.weight)  # type: ignore[arg-type]
    assert value == pytest.approx(found.value**order, rel=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_wasserstein_penalty_ignores_levels(order: float) -> None:
    data = rows(7, weighted=True)
    value, _ = lfl.WassersteinPenalty(order=order).value_and_grad(*data)
    found = lfl.dd(data.scores, data.groups, order=order, sample_weight=data.weight)
    assert value == pytest.approx(found.value**order, rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_groups_are_a_mean_over_pairs(weighted: bool) -> None:
    data = rows(8, groups=3, weighted=weighted)
    weight = np.ones(data.scores.size) if data.weight is None else data.weight
    expected, covered = 0.0, 0.0
    for level in range(4):
        mass = np.array(
            [weight[(data.levels == level) & (data.groups == g)].sum() for g in (0, 1, 2)]
        )
        pairs = [(g, h) for g, h in combinations(range(3), 2) if mass[g] * mass[h] > 0.0]
        shares = np.array([mass[g] * mass[h] for g, h in pairs])
        costs = [inner(data, 2.0, (level, g), (level, h)) for g, h in pairs]
        expected += mass.sum() * float(shares @ costs) / shares.sum()
        covered += mass.sum()
    met = weight[data.levels == 5]
    expected += met.sum() * inner(data, 2.0, (5, 0), (5, 1))
    covered += met.sum()
    value, _ = lfl.FairLeap().value_and_grad(*data)
    assert value == pytest.approx(expected / covered, rel=1e-10)


def test_order_two_is_the_spread_around_the_barycenter() -> None:
    rng = np.random.default_rng(9)
    scores, groups = rng.random(90), rng.integers(0, 3, 90)
    value, _ = lfl.FairLeap().value_and_grad(scores, groups)
    spread = lfl.dd(scores, groups, order=2, comparison="barycenter").value ** 2
    share = np.bincount(groups) / groups.size
    assert value == pytest.approx(spread / (0.5 * (1.0 - (share**2).sum())), rel=1e-10)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_equals_the_loop(name: str, weighted: bool) -> None:
    data = rows(10, size=400, weighted=weighted)
    rng = np.random.default_rng(11)
    many = np.round(rng.random((7, 400)), 2)
    penalty = PENALTIES[name]()
    values, gradients = penalty.batch_value_and_grad(many, *data[1:])
    for scores, value, gradient in zip(many, values, gradients, strict=True):
        alone, own = penalty.value_and_grad(scores, *data[1:])
        assert value == alone
        np.testing.assert_array_equal(gradient, own)
    classes = rng.random((7, 400, 3))
    values, gradients = penalty.batch_value_and_grad(classes, *data[1:])
    assert gradients.shape == classes.shape
    alone, own = penalty.value_and_grad(classes[4], *data[1:])
    assert values[4] == pytest.approx(alone, rel=1e-14)
    np.testing.assert_allclose(gradients[4], own, rtol=1e-14)


@pytest.mark.parametrize("name", PENALTIES)
def test_models_may_see_rows_of_their_own(name: str) -> None:
    data = rows(12, size=300, weighted=True)
    layout = Layout.from_columns(*data[1:])
    rng = np.random.default_rng(13)
    chosen = np.stack([rng.choice(300, 120, replace=False) for _ in range(5)])
    penalty = PENALTIES[name]()
    values, gradients = penalty.evaluate(data.scores[chosen], layout.take(chosen))
    for which, value, gradient in zip(chosen, values, gradients, strict=True):
        alone, own = penalty.evaluate(data.scores[which][None], layout.take(which))
        assert value == alone[0]
        np.testing.assert_array_equal(gradient, own[0])


@pytest.mark.parametrize("name", PENALTIES)
def test_tied_rows_share_their_gradient_by_mass(name: str) -> None:
    rng = np.random.default_rng(14)
    data = rows(14, weighted=True)
    scores = np.round(data.scores, 1)
    penalty = PENALTIES[name]()
    _, gradient = penalty.value_and_grad(scores, *data[1:])
    assert data.weight is not None
    for _ in range(20):
        i, j = rng.integers(0, scores.size, 2)
        alike = scores[i] == scores[j] and data.groups[i] == data.groups[j]
        if alike and data.levels[i] == data.levels[j]:
            rate = gradient[[i, j]] / data.weight[[i, j]]
            assert rate[0] == pytest.approx(rate[1], rel=1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_equal_laws_cost_nothing(name: str) -> None:
    scores = np.tile(np.random.default_rng(15).random(40), 2)
    groups, levels = np.repeat([0, 1], 40), np.tile(np.repeat([1, 2], 20), 2)
    value, gradient = PENALTIES[name]().value_and_grad(scores, groups, levels)
    assert value == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("order", [2.0, 3.0])
@pytest.mark.parametrize("name", PENALTIES)
def test_the_curvature_is_a_bound(name: str, order: float, groups: int) -> None:
    data = rows(16, groups=groups, weighted=True)
    layout = Layout.from_columns(*data[1:])
    penalty = PENALTIES[name](order=order)
    value, gradient = penalty.value_and_grad(*data)
    bound = penalty.hessian_diagonal(data.scores, layout)
    assert (bound >= 0.0).all()
    rng = np.random.default_rng(17)
    for size in (0.001, 0.1, 1.0):
        for _ in range(50):
            step = (
                size * rng.standard_normal(data.scores.size) * (rng.random() < 0.5 or data.groups)
            )
            moved = np.clip(data.scores + step, 0.0, 1.0)
            change = moved - data.scores
            limit = value + gradient @ change + 0.5 * bound @ change**2
            assert penalty.value_and_grad(moved, *data[1:])[0] <= limit + 1e-12


def test_the_plan_moves_as_much_as_it_says() -> None:
    data = rows(18, groups=3, weighted=True)
    layout = Layout.from_columns(*data[1:])
    for name in ("fairbit whole", "fairleap", "wasserstein"):
        # Every pair of groups is counted once on either side.
        assert PENALTIES[name]().transported_mass(layout).sum() == pytest.approx(2.0, rel=1e-12)


def test_a_level_with_one_group_is_coverage() -> None:
    data = rows(19, weighted=False)
    layout = Layout.from_columns(*data[1:])
    alone = (data.groups == 0).sum()
    assert layout.coverage()[0] == pytest.approx(1.0 - 3.0 / alone)
    _, gradient = lfl.FairLeap().value_and_grad(*data)
    assert not gradient[:3].any()


@pytest.mark.parametrize("name", PENALTIES)
def test_rows_of_weight_zero_count_for_nothing(name: str) -> None:
    data = rows(22, weighted=True)
    assert data.weight is not None
    weight = data.weight.copy()
    weight[10:20] = 0.0
    kept = np.flatnonzero(weight)
    value, gradient = PENALTIES[name]().value_and_grad(*data[:3], weight)
    alone, own = PENALTIES[name]().value_and_grad(
        data.scores[kept], data.groups[kept], data.levels[kept], weight[kept]
    )
    assert value == pytest.approx(alone, rel=1e-12)
    assert not gradient[10:20].any()
    np.testing.assert_allclose(gradient[kept], own, rtol=1e-10, atol=1e-15)


def test_papers_settings() -> None:
    assert lfl.FairLeap.paper("uniform") == lfl.FairLeap("uniform", 1.0, summed=True)
    assert lfl.FairLeap.paper("marginal") == lfl.FairLeap("marginal", 1.0)
    assert lfl.FairBiT.paper() == lfl.FairBiT(2.0, "ordinal", 1.0, off_diagonal=True)
    assert lfl.WassersteinPenalty.paper() == lfl.WassersteinPenalty(1.0)
    data = rows(20, weighted=False)
    summed, _ = lfl.FairLeap.paper("uniform").value_and_grad(*data)
    mean, _ = lfl.FairLeap("uniform", 1.0).value_and_grad(*data)
    assert summed == pytest.approx(5.0 * mean, rel=1e-12)


def test_given_weights() -> None:
    data = rows(21, weighted=False)
    given: dict[Hashable, float] = {level: float(level == 2) for level in range(6)}
    value, _ = lfl.FairLeap(measure=given).value_and_grad(*data)
    assert value == pytest.approx(inner(data, 2.0, (2, 0), (2, 1)), rel=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], ["f", "f"]), "single value 'f'"),
        (([0.1, 0.2], ["f", "m"], [1, 2]), r"no level holds two .* legitimate_features"),
        (([0.1, 0.2], ["f", "m", "m"]), r"groups has 3 row\(s\), but scores have 2"),
        (([0.1, 0.2], ["f", "m"], [1, 1, 1]), r"levels has 3 row\(s\), but groups have 2"),
        (([0.1, np.nan], ["f", "m"]), "scores"),
        (([0.1, 0.2], ["f", None]), "groups has 1 missing"),
        (([0.1, 0.2], ["f", "m"], None, [1.0, -1.0]), "sample_weight has 1 negative"),
        (
            ([[0.1, np.inf], [0.2, 0.3]], ["f", "m"]),
            r"scores have 1 missing or infinite.*\(0, 1\)",
        ),
        ((np.zeros((2, 2, 2)), ["f", "m"]), "1-dimensional or 2-dimensional"),
        ((["a", "b"], ["f", "m"]), "scores"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.FairLeap().value_and_grad(*arguments)


def test_bad_settings() -> None:
    with pytest.raises(lfl.errors.InputError, match="order"):
        lfl.FairBiT(order=0.5)
    with pytest.raises(lfl.errors.InputError, match="level_cost"):
        lfl.FairBiT(level_cost=-1.0)
    with pytest.raises(lfl.errors.InputError, match="measure must be one of"):
        lfl.FairLeap(measure="even")  # type: ignore[arg-type]
    with pytest.raises(lfl.errors.InputError, match="no weight for level 2"):
        lfl.FairLeap(measure={1: 1.0}).value_and_grad(
            [0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], [1, 1, 2, 2]
        )
    with pytest.raises(lfl.errors.InputError, match="level_metric"):
        lfl.FairBiT(level_metric="far").value_and_grad([0.1, 0.2], [0, 1])


def test_kernels_see_one_kind_of_array_whatever_was_given() -> None:
    """Or they would be compiled for each kind anew."""
    data = rows(2, weighted=True)
    layout = Layout.from_columns(data.groups, data.levels, data.weight)
    scores = np.stack([data.scores, data.scores])
    crooked = replace(
        layout, segments=np.repeat(layout.segments, 2, axis=1)[:, ::2], mass=layout.mass.copy()
    )
    crooked.mass.flags.writeable = False
    expected, found = layout.stack(scores), crooked.stack(np.asfortranarray(scores))
    assert typeof(found) == typeof(expected) != typeof(crooked.segments)
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert layout.stack(scores).scores is scores
