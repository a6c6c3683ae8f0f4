"""Numbers of any size and place: figures change as they must, or there is an error that says
why.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import likeforlike as lfl
from likeforlike.repair import ConditionalBarycenter
from likeforlike.training import lightgbm_metric, lightgbm_objective

RNG = np.random.default_rng(7)
ROWS = 240
GROUPS = RNG.integers(0, 3, ROWS)
LEVELS = RNG.integers(0, 4, ROWS)
SCORES = np.round(RNG.random(ROWS) + 0.1 * GROUPS + 0.2 * LEVELS, 2)
WEIGHTS = RNG.uniform(0.5, 3.0, ROWS)

# Scores from 1e-200 to 1e200, and further as long as they can be held.
SIZES = [1e-300, 1e-200, 1e-153, 1e-60, 3.7, 1e60, 1e153, 1e200, 1e300]
HEAVY = [1e-300, 1e-160, 1e160, 1e307]

Rows = dict[str, Any]


def rows(scores: Any = SCORES, weights: Any = None) -> Rows:
    return {
        "scores": scores,
        "sensitive_features": GROUPS,
        "legitimate_features": LEVELS,
        "sample_weight": weights,
    }


def _of(call: Callable[..., lfl.Disparity], **settings: Any) -> Callable[[Rows], lfl.Disparity]:
    def measured(given: Rows) -> lfl.Disparity:
        return call(**given, **settings)

    return measured


def _overall(name: Any) -> Callable[[Rows], lfl.Disparity]:
    def measured(given: Rows) -> lfl.Disparity:
        weights = given["sample_weight"]
        return lfl.dd(
            given["scores"], given["sensitive_features"], sample_weight=weights, distance=name
        )

    return measured


DISPARITIES: dict[str, Callable[[Rows], lfl.Disparity]] = {
    **{f"dd, {name}": _overall(name) for name in ("wasserstein", "mean", "ks", "tv")},
    **{
        f"cdd_lp of order {order}, p = {p}": _of(lfl.cdd_lp, order=order, p=p)
        for order, p in [(1, 1), (2, 2), (2.5, 3), (7, math.inf), (400, 1)]
    },
    **{
        f"cdd_lp, {measure}": _of(lfl.cdd_lp, measure=measure)
        for measure in ("average", "uniform", "overlap", {0: 1e308, 1: 1e308, 2: 3.0, 3: 1e307})
    },
    "barycenter": lambda given: lfl.cdd_lp(**given, comparison="barycenter", order=2),
    "one against the rest": lambda given: lfl.cdd_lp(**given, comparison="one-vs-rest"),
    "tv_overlap": lambda given: lfl.disparity.tv_overlap(**given),
}


def figures(found: lfl.Disparity) -> tuple[list[float], list[float]]:
    """Figures in units of the score, and those that have no unit."""
    table, scored = found.by_level, found.distance in ("wasserstein", "mean")
    of_distance = [found.value, *table.distance.tolist()]
    in_units = [found.gap, *table.gap.tolist(), *(of_distance if scored else [])]
    plain = [*table.weight.tolist(), *found.coverage.values(), *([] if scored else of_distance)]
    for other in found.comparisons:
        more, fewer = figures(other)
        in_units, plain = in_units + more, plain + fewer
    return in_units, plain


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("measured", DISPARITIES.values(), ids=DISPARITIES)
def test_disparities_grow_with_the_scores(
    measured: Callable[[Rows], lfl.Disparity], size: float
) -> None:
    (expected, plain), (grown, same) = (
        figures(measured(rows(SCORES * factor))) for factor in (1.0, size)
    )
    np.testing.assert_allclose(np.array(grown) / size, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(same, plain, rtol=1e-9)


@pytest.mark.parametrize("shift", [1e9, -1e9])
@pytest.mark.parametrize("measured", DISPARITIES.values(), ids=DISPARITIES)
def test_disparities_do_not_move_with_the_scores(
    measured: Callable[[Rows], lfl.Disparity], shift: float
) -> None:
    # Scores in whole numbers of 1/64: a shift rounds none of them.
    scores = np.round(SCORES * 64.0) / 64.0
    (expected, plain), (moved, same) = (figures(measured(rows(scores + by))) for by in (0.0, shift))
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(same, plain, rtol=1e-9)


@pytest.mark.parametrize("heavy", HEAVY)
@pytest.mark.parametrize("measured", DISPARITIES.values(), ids=DISPARITIES)
def test_only_proportions_of_weights_matter(
    measured: Callable[[Rows], lfl.Disparity], heavy: float
) -> None:
    expected, found = (figures(measured(rows(weights=WEIGHTS * by))) for by in (1.0, heavy))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


def nested(scores: Any = SCORES, weights: Any = None, **settings: Any) -> lfl.NestedDisparity:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.LevelCostWarning)
        return lfl.cdd_wass(**rows(scores, weights), **settings)


UNROOTED = ("value", "diagonal", "off_diagonal", "level_transport", "excess", "level_cost")


@pytest.mark.parametrize("order", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("metric", ["discrete", "ordinal"])
@pytest.mark.parametrize("size", SIZES)
def test_cdd_wass_grows_with_the_scores(size: float, metric: str, order: float) -> None:
    expected = nested(order=order, level_metric=metric)
    found = nested(SCORES * size, order=order, level_metric=metric)
    assert found.root / size == pytest.approx(expected.root, rel=1e-9)
    assert found.groups == expected.groups
    power = order * math.log10(size)
    # Along a line detours may be free, and then there are several cheapest plans.
    for name in UNROOTED if metric == "discrete" else ("value", "excess", "level_cost"):
        wanted, value = getattr(expected, name), getattr(found, name)
        if abs(power) < 290:
            grown = value / size**order
            assert grown == pytest.approx(wanted, rel=1e-9, abs=1e-14), name
        elif wanted > 1e-9:
            assert value == (math.inf if power > 310 else 0.0 if power < -330 else value), name


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5])
def test_parts_of_cdd_wass_add_up_where_they_can_hardly_be_held(order: float) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        # Costs of a few times the smallest number there is.
        scores = rng.random(ROWS) * (40.0 * 5e-324 if order == 1.0 else 8e-323 ** (1.0 / order))
        found = nested(scores, order=order)
        parts = found.diagonal, found.off_diagonal, found.level_transport
        assert found.value == sum(parts), (seed, parts)


@pytest.mark.parametrize("heavy", HEAVY)
def test_cdd_wass_takes_weights_of_any_size(heavy: float) -> None:
    expected, found = (nested(weights=WEIGHTS * by) for by in (1.0, heavy))
    for field in fields(expected):
        if isinstance(getattr(expected, field.name), float):
            assert getattr(found, field.name) == pytest.approx(
                getattr(expected, field.name), rel=1e-9, abs=1e-14
            ), field.name


def test_weights_as_large_as_numbers_go_do_not_end_the_interpreter() -> None:
    given = [1, 2, 3, 4], list("fmfm"), [1, 1, 2, 2]
    found = lfl.cdd_wass(*given, sample_weight=[1e308, 1, 1e308, 1])
    assert (found.value, found.overlap) == (1.0, 1.0)
    many = np.arange(500)
    plan = lfl.cdd_wass(
        many / 500.0, many % 2, many // 2, sample_weight=np.where(many % 3, 1e308, 1.0)
    )
    assert math.isfinite(plan.value)


def test_weights_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match="too far apart to be compared"):
        lfl.dd([1, 2, 3], list("fmm"), sample_weight=[1e308, 1e308, 1e-300])


def test_scores_further_apart_than_numbers_go_are_refused() -> None:
    for measured in (lfl.dd, lfl.cdd_wass, lfl.disparity.tv_overlap):
        with pytest.raises(lfl.errors.InputError, match="divide the scores by 10"):
            measured([-1.7e308, 1.7e308], ["f", "m"])


def vast(reach: float) -> pl.DataFrame:
    """Four rows of either group, from which an interval is many times as long as the scores."""
    scores = np.array([0.0, 1.0, 0.1, 0.9, 0.2, 0.8, 0.3, 0.7]) * reach
    return pl.DataFrame({"score": scores, "sex": list("fmfmmfmf"), "level": [1, 1, 2, 2] * 2})


@pytest.mark.parametrize("reach", [2e250, 1e301, 1.7e308])
def test_scores_whose_intervals_reach_further_than_numbers_are_refused(reach: float) -> None:
    with pytest.raises(lfl.errors.InputError, match="divide the scores by 1e100"):
        lfl.audit(vast(reach), score="score", sensitive="sex", legitimate="level", permutations=9)


def test_vast_scores_have_a_document_of_numbers() -> None:
    roles: Any = {"score": "score", "sensitive": "sex", "legitimate": "level", "permutations": 99}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        document = json.loads(lfl.audit(vast(1e249), **roles, confidence=0.999999).to_json())
    ends = document["contrasts"][0]["gap"]["interval"]
    assert ends[1] - ends[0] > 10 * 1e249
    assert np.isfinite(ends).all()


@pytest.mark.parametrize("order", [1, 2, 3, 17, 400, 1e6, 1e300])
def test_a_high_order_does_not_hide_a_distance(order: float) -> None:
    assert float(lfl.dd([0.1, 0.3, 0.2, 0.4], list("ffmm"), order=order)) == pytest.approx(0.1)
    far = lfl.dd([0.0, 0.0, 1e-3, 1e3], list("ffmm"), order=order)
    assert float(far) == pytest.approx(1e3 * 0.5 ** (1 / order))


@pytest.mark.parametrize("order", [33, 400.0, 1e300])
def test_costs_of_an_order_that_hides_distances_are_refused(order: float) -> None:
    for make in (lfl.FairLeap, lfl.FairBiT, lfl.WassersteinPenalty):
        with pytest.raises(lfl.errors.InputError, match="order must be at most 32"):
            make(order=order)
    with pytest.raises(lfl.errors.InputError, match="order must be at most 32"):
        lfl.cdd_wass([0.1, 0.2], ["f", "m"], order=order)


@pytest.mark.parametrize("metric", [[[0.0, 1e200], [1e200, 0.0]], "numeric"])
def test_distances_between_levels_that_cannot_be_powered_are_refused(metric: Any) -> None:
    with pytest.raises(lfl.errors.InputError, match="level_metric"):
        lfl.cdd_wass([1, 2, 3, 4], list("fmfm"), [0.0, 0.0, 1e200, 1e200], level_metric=metric)


PENALTIES = {
    "fairleap": lfl.FairLeap(),
    "first order": lfl.FairLeap(order=1.0, measure="overlap"),
    "third order": lfl.FairLeap(order=3.0, measure={0: 1e308, 1: 1e308, 2: 1.0, 3: 1e300}),
    "fairbit": lfl.FairBiT(),
    "everybody": lfl.FairBiT(off_diagonal=True),
    "ordinal": lfl.FairBiT(level_metric="ordinal"),
    "wasserstein": lfl.WassersteinPenalty(order=1.5),
}


@pytest.mark.parametrize("size", [1e-200, 1e-130, 1e130, 1e200])
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_penalties_grow_with_the_scores(penalty: Any, size: float) -> None:
    value, slopes = penalty.value_and_grad(SCORES, GROUPS, LEVELS)
    grown, steeper = penalty.value_and_grad(SCORES * size, GROUPS, LEVELS)
    power = math.log10(size)
    if abs(power * penalty.order) < 290:
        assert grown / size**penalty.order == pytest.approx(value, rel=1e-9)
    if abs(power * (penalty.order - 1)) < 290:
        np.testing.assert_allclose(steeper / size ** (penalty.order - 1), slopes, atol=1e-12)
    assert not np.isnan(grown)
    stack = np.stack([SCORES, SCORES * size])
    values, gradients = penalty.batch_value_and_grad(stack, GROUPS, LEVELS)
    np.testing.assert_array_equal(values, [value, grown])
    np.testing.assert_array_equal(gradients, [slopes, steeper])


@pytest.mark.parametrize("heavy", HEAVY)
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_penalties_look_at_proportions_of_weights(penalty: Any, heavy: float) -> None:
    value, slopes = penalty.value_and_grad(SCORES, GROUPS, LEVELS, WEIGHTS)
    found, gradient = penalty.value_and_grad(SCORES, GROUPS, LEVELS, WEIGHTS * heavy)
    assert found == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-14)


def test_a_level_that_hardly_weighs_anything_has_its_share_of_the_penalty() -> None:
    weights = np.where(LEVELS == 0, 1e-200, 1.0)
    alone = lfl.FairLeap(measure={0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0})
    expected, _ = alone.value_and_grad(SCORES, GROUPS, LEVELS)
    found, _ = alone.value_and_grad(SCORES, GROUPS, LEVELS, weights)
    assert found == pytest.approx(expected, rel=1e-12)


def repaired(scores: Any, weights: Any = None) -> tuple[Any, ConditionalBarycenter]:
    repair = ConditionalBarycenter(min_cell=2)
    columns = {"sensitive_features": GROUPS, "legitimate_features": LEVELS}
    return repair.fit_transform(scores, **columns, sample_weight=weights), repair


@pytest.mark.parametrize("size", SIZES)
def test_repairs_grow_with_the_scores(size: float) -> None:
    (expected, before), (found, after) = repaired(SCORES), repaired(SCORES * size)
    np.testing.assert_allclose(found / size, expected, rtol=1e-12)
    np.testing.assert_allclose(after.distances_ / size, before.distances_, rtol=1e-9)


def test_repairs_move_with_the_scores() -> None:
    scores = np.round(SCORES * 64.0) / 64.0
    (expected, before), (found, after) = repaired(scores), repaired(scores + 1e9)
    np.testing.assert_allclose(found - 1e9, expected, atol=2e-7)  # one step of numbers of 1e9
    np.testing.assert_allclose(after.distances_, before.distances_, rtol=1e-9, atol=1e-14)
    assert after.predicted_risk_ == pytest.approx(before.predicted_risk_, rel=1e-9)


@pytest.mark.parametrize("heavy", HEAVY)
def test_repairs_look_at_proportions_of_weights(heavy: float) -> None:
    expected, found = (repaired(SCORES, WEIGHTS * by)[0] for by in (1.0, heavy))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_boosting_takes_targets_of_any_size(size: float) -> None:
    objective = lightgbm_objective(lfl.FairLeap(), 1.0, GROUPS, LEVELS, loss="squared")
    expected, steep = objective(SCORES, SCORES[::-1].copy())
    found, hessian_terms = objective(SCORES * size, SCORES[::-1] * size)
    np.testing.assert_allclose(found / size, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hessian_terms, steep, rtol=1e-9)


def test_what_boosting_cannot_hold_is_infinite_and_told_by_no_warning() -> None:
    rows: Any = [0.5, 0.5, 0.25, 0.75], list("ffmm")
    far = np.array([0.0, 1e160, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        strong = lightgbm_metric(lfl.FairLeap(), 1e300, rows[1], loss="squared")
        assert strong(rows[0], [1e20, 0.0, -1e20, 3.0])[1] == math.inf
        # The second row weighs less than numbers reach, and its loss is infinite.
        light = lightgbm_metric(
            lfl.FairLeap(), 1.0, rows[1], loss="squared", sample_weight=[1e200, 1e-200, 1.0, 1e200]
        )
        assert light(far, np.zeros(4))[1] == pytest.approx(light(far[[0, 0, 2, 3]], np.zeros(4))[1])


@pytest.mark.training
def test_trees_refuse_a_strength_whose_derivatives_cannot_be_held() -> None:
    inputs, classes = RNG.normal(size=(ROWS, 2)), np.median(SCORES) < SCORES
    model = lfl.FairLGBMClassifier(n_estimators=2, strength=1e290)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(lfl.errors.InputError, match="too large to be held"):
            model.fit(inputs, classes, sensitive_features=GROUPS)


def test_boosting_refuses_weights_that_cannot_be_added_up() -> None:
    heavy = np.full(ROWS, 1e308)
    with pytest.raises(lfl.errors.InputError, match="more than a number can hold"):
        lightgbm_objective(lfl.FairLeap(), 1.0, GROUPS, LEVELS, sample_weight=heavy)
    metric = lightgbm_metric(lfl.FairLeap(), 1.0, GROUPS, LEVELS, loss="squared")
    with pytest.raises(lfl.errors.InputError, match="more than a number can hold"):
        metric(SCORES, SCORES, heavy)


@pytest.mark.training
@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_networks_take_inputs_targets_and_weights_of_any_size(size: float) -> None:
    inputs = RNG.normal(size=(ROWS, 2))
    features = {"sensitive_features": GROUPS, "legitimate_features": LEVELS}
    expected, found = (
        lfl.FairRegressor(max_epochs=3, random_state=0)
        .fit(inputs * by, SCORES * by, **features, sample_weight=WEIGHTS * by)
        .predict(inputs * by)
        / by
        for by in (1.0, size)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    classes = np.median(SCORES) < SCORES
    model = lfl.FairClassifier(max_epochs=1, random_state=0).fit(inputs, classes, **features)
    with pytest.raises(lfl.errors.InputError, match="row 1 of X is so far"):
        model.predict_proba([[0.0, 0.0], [1e300, -1e300]])


MASKED = np.ma.masked_array([0.1, 999.0, 0.3, 0.4], mask=[False, True, False, False])


@pytest.mark.parametrize(
    "call",
    {
        "scores": lambda: lfl.dd(MASKED, list("fmfm")),
        "groups": lambda: lfl.dd([0.1, 0.2, 0.3, 0.4], MASKED),
        "levels": lambda: lfl.cdd_lp([0.1, 0.2, 0.3, 0.4], list("fmfm"), MASKED),
        "weights": lambda: lfl.dd([0.1, 0.2, 0.3, 0.4], list("fmfm"), sample_weight=MASKED),
        "a table of levels": lambda: ConditionalBarycenter(min_cell=1).fit(
            [0.1, 0.2, 0.3, 0.4],
            sensitive_features=list("fmfm"),
            legitimate_features=MASKED[:, None],
        ),
        "a penalty": lambda: lfl.FairLeap().value_and_grad(MASKED, list("fmfm")),
        "many models": lambda: lfl.FairLeap().batch_value_and_grad(MASKED[None], list("fmfm")),
        "boosting": lambda: lightgbm_metric(lfl.FairLeap(), 1.0, list("fmfm"), loss="squared")(
            [0.0] * 4, MASKED
        ),
        "inputs": lambda: lfl.FairRegressor().fit(MASKED[:, None], [0.0, 1.0, 2.0, 3.0]),
        "a target": lambda: lfl.FairRegressor().fit([[0.0], [1.0], [2.0], [3.0]], MASKED),
    }.items(),
    ids=lambda item: item[0],
)
def test_masked_values_are_never_taken_for_values(call: tuple[str, Callable[[], object]]) -> None:
    with pytest.raises(lfl.errors.InputError, match="1 masked value"):
        call[1]()


def test_an_array_without_masked_values_is_an_array() -> None:
    plain = np.ma.masked_array([0.1, 0.2, 0.3, 0.4], mask=False)
    assert float(lfl.dd(plain, list("fmfm"))) == float(lfl.dd(plain.data, list("fmfm")))


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, 10**18, 2**53 + 2, 1e300])
def test_more_rows_than_can_be_counted_are_refused(count: float) -> None:
    with pytest.raises(lfl.errors.InputError, match="cannot be counted exactly"):
        lfl.Cells.from_counts(None, ["f", "m"], [0.1, 0.2], [count, 1])
    with pytest.raises(lfl.errors.InputError, match="cannot be counted exactly"):
        lfl.Cells.from_counts(None, ["f", "m"], [0.1, 0.2], [2.0**53, 2.0**53])


def test_mass_that_cannot_be_added_up_is_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match="mass adds up to more than a number can hold"):
        lfl.Cells.from_counts(None, ["f", "m"], [0.1, 0.1], [1, 1], mass=[1e308, 1e308])


ENGINES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}
TOO_FINE = [([1e9, 2e9], 1e-10), ([0.0, 1.0], 1e-300), ([0.0, 1.0], 1e-310), ([-1e9, 0.0], 1e-8)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("scores", "resolution"), TOO_FINE)
def test_bins_that_cannot_be_numbered_are_refused_by_every_engine(
    scores: list[float], resolution: float, engine: str
) -> None:
    table = ENGINES[engine]({"score": scores * 10, "sex": ["f", "m"] * 10})
    with pytest.raises(lfl.errors.InputError, match="is too small"):
        lfl.audit(table, score="score", sensitive="sex", resolution=resolution, permutations=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_bins_that_can_be_numbered_are_right(engine: str) -> None:
    table = ENGINES[engine]({"score": [1e9, 1e9 + 3.0, -0.0, 0.0] * 5, "sex": ["f", "m"] * 10})
    found = lfl.audit(table, score="score", sensitive="sex", resolution=1e-6, permutations=0)
    assert found.unconditional.value == pytest.approx(1.5)
