"""Robustness values against their definition, and benchmarks against levels that are merged."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from likeforlike import Audit, audit
from likeforlike.errors import InputError
from likeforlike.sensitivity._robustness import (
    largest_bias,
    robustness_value,
    strength_multiple,
)


def rows(seed: int = 0, size: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income, tenure = rng.integers(0, 3, size), rng.integers(0, 2, size)
    group = np.where(rng.random(size) < 0.3 + 0.3 * tenure, "m", "f")
    score = 0.3 * income + 0.6 * tenure + rng.normal(size=size) + 0.4 * (group == "m")
    weight = rng.uniform(0.5, 2.0, size)
    return pl.DataFrame(
        {"score": score, "group": group, "income": income, "tenure": tenure, "weight": weight}
    )


def audited(data: pl.DataFrame, legitimate: object = ("income", "tenure"), **more: object) -> Audit:
    return audit(
        data,
        score="score",
        sensitive="group",
        legitimate=legitimate,  # type: ignore[arg-type]
        permutations=0,
        **more,  # type: ignore[arg-type]
    )


def spread_and_imbalance(data: pl.DataFrame, levels: list[str]) -> tuple[float, float]:
    """σ² and ν² row by row, for the marginal measure."""
    cells = data.group_by([*levels, "group"]).agg(pl.col("score").var().alias("v"), pl.len())
    spread = float((cells["v"] * cells["len"]).sum() / data.height)
    share = (
        data.group_by(levels)
        .agg((pl.col("group") == "m").mean().alias("p"), pl.len())
        .select((pl.col("len") / (pl.col("p") * (1 - pl.col("p")))).sum() / data.height)
    )
    return spread, float(share.item())


@pytest.mark.parametrize("strength", [1e-4, 0.1, 1.0, 30.0])
def test_robustness_value_moves_the_gap_exactly_to_zero(strength: float) -> None:
    value = robustness_value(strength)
    assert 0.0 < value < 1.0
    assert largest_bias(1.0, value, value) == pytest.approx(strength)
    assert robustness_value(0.0) == 0.0


@pytest.mark.parametrize(("outcome", "group"), [(0.02, 0.01), (0.3, 0.05), (0.9, 0.5)])
def test_multiple_of_a_strength_moves_the_gap_exactly_to_zero(outcome: float, group: float) -> None:
    for strength in (0.01, 0.2, 2.0):
        factor = strength_multiple(strength, outcome, group)
        assert factor is not None
        bias = largest_bias(1.0, min(factor * outcome, 1.0), factor * group)
        assert bias == pytest.approx(strength)
    assert strength_multiple(0.1, 0.0, 0.2) is None


def test_scale_is_that_of_the_definition() -> None:
    data = rows()
    [found] = audited(data).sensitivity()
    spread, imbalance = spread_and_imbalance(data, ["income", "tenure"])
    assert found.scale == pytest.approx(math.sqrt(spread * imbalance))
    assert found.robustness == pytest.approx(robustness_value(abs(found.gap) / found.scale))
    assert found.interval is not None
    nearer = max(found.interval[0], -found.interval[1], 0.0)
    assert found.interval_robustness == pytest.approx(robustness_value(nearer / found.scale))


def test_benchmark_is_the_strength_of_a_column_left_out() -> None:
    data = rows()
    [found] = audited(data).sensitivity()
    long = spread_and_imbalance(data, ["income", "tenure"])
    for column, other in (("income", "tenure"), ("tenure", "income")):
        short = spread_and_imbalance(data, [other])
        like = next(each for each in found.benchmarks if each.column == column)
        assert like.outcome == pytest.approx(1.0 - long[0] / short[0])
        assert like.group == pytest.approx(1.0 - short[1] / long[1])
        assert like.gap == pytest.approx(audited(data, [other]).gap)


def test_gap_without_a_column_lies_within_the_bound_of_its_strength() -> None:
    for seed in range(20):
        data = rows(seed)
        full = audited(data)
        like = full.sensitivity()[0].benchmarks[0]
        other = "income" if like.column == "tenure" else "tenure"
        short = audited(data, [other])
        given = short.sensitivity(strength=(like.outcome, like.group))[0].adjusted
        assert given is not None
        # Exact with variances by n; those here are by n - 1.
        assert abs(short.gap - full.gap) <= given.bias * 1.03


def test_single_column_is_left_out_entirely() -> None:
    data = rows()
    [found] = audited(data, ["tenure"]).sensitivity()
    short = spread_and_imbalance(data.with_columns(one=pl.lit(1)), ["one"])
    long = spread_and_imbalance(data, ["tenure"])
    assert found.benchmarks[0].group == pytest.approx(1.0 - short[1] / long[1])
    assert audited(data, []).sensitivity()[0].benchmarks == ()


def test_units_of_the_score_change_no_strength() -> None:
    data = rows()
    [one], [other] = (
        audited(data.with_columns(pl.col("score") * factor)).sensitivity("tenure")
        for factor in (1.0, 1e6)
    )
    assert other.robustness == pytest.approx(one.robustness)
    assert other.gap_odds == pytest.approx(one.gap_odds, rel=1e-3)
    assert one.adjusted is not None
    assert other.adjusted is not None
    assert other.adjusted.bias == pytest.approx(1e6 * one.adjusted.bias)


def test_equal_weights_change_no_robustness() -> None:
    data = rows().with_columns(weight=pl.lit(3.0))
    [plain], [weighted] = audited(data).sensitivity(), audited(data, weight="weight").sensitivity()
    assert weighted.scale == pytest.approx(plain.scale)
    [uneven] = audited(rows(), weight="weight").sensitivity()
    assert uneven.odds is None
    assert uneven.reason is not None
    assert uneven.robustness > 0.0


@pytest.mark.parametrize(
    ("strength", "threshold", "verdict"),
    [((0.0, 0.0), 0.05, "fail"), ((0.2, 0.2), 0.05, "investigate"), ((0.0, 0.0), 2.0, "pass")],
)
def test_verdict_for_a_strength(
    strength: tuple[float, float], threshold: float, verdict: str
) -> None:
    [found] = audited(rows()).sensitivity(strength, threshold=threshold)
    assert found.adjusted is not None
    assert found.adjusted.verdict == verdict


def test_percentage_as_threshold_is_one_of_the_mean() -> None:
    data = rows().with_columns(pl.col("score") + 10.0)
    [found] = audited(data).sensitivity(threshold="5%")
    assert 0.4 < found.threshold < 0.7


@pytest.mark.parametrize("strength", [(0.1,), (0.1, 1.0), ("a", 0.1), "age", 0.2, (-0.1, 0.1)])
def test_impossible_strengths_are_refused(strength: object) -> None:
    with pytest.raises(InputError, match="strength must"):
        audited(rows()).sensitivity(strength)  # type: ignore[arg-type]


def test_single_rows_have_no_interval_and_no_strength_of_it() -> None:
    data = pl.DataFrame({"score": [0.1, 0.9], "group": ["f", "m"]})
    [found] = audited(data, []).sensitivity((0.1, 0.1), threshold=0.1)
    assert found.interval_robustness is None
    assert found.adjusted is not None
    assert found.adjusted.interval is None
    assert found.adjusted.verdict == "investigate"
    assert "no interval" in str(found)
