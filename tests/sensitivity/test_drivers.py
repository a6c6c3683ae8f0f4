"""Both splits against plans that are made row by row, and what no order changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import mannwhitneyu

from likeforlike import Audit, audit
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.sensitivity import Drivers

Rows = tuple[FloatArray, IntArray, IntArray, FloatArray, FloatArray]


def split_by_plan(
    phi: FloatArray, group: IntArray, level: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Gap and W_2² by input, from the plan of each level; ties share the mean contributions."""
    gaps, parts, squared, used = np.zeros(phi.shape[1]), np.zeros(phi.shape[1]), 0.0, 0.0
    for k in np.unique(level):
        sides = []
        for g in (0, 1):
            own = (level == k) & (group == g)
            if not own.any():
                break
            score, inverse = np.unique(phi[own].sum(axis=1).round(12), return_inverse=True)
            mass = np.bincount(inverse, weight[own])
            mean = np.stack([np.bincount(inverse, weight[own] * c) / mass for c in phi[own].T], 1)
            sides.append((score, mass / mass.sum(), mean))
        if len(sides) < 2:
            continue
        share = weight[level == k].sum()
        used += share
        (x, p, f), (y, q, h) = sides
        gaps += share * (q @ h - p @ f)
        i = j = 0
        left, right = p[0], q[0]
        while i < x.size and j < y.size:
            moved = min(left, right)
            parts += share * moved * (x[i] - y[j]) * (f[i] - h[j])
            squared += share * moved * (x[i] - y[j]) ** 2
            left, right = left - moved, right - moved
            if left <= 1e-15:
                i += 1
                left = p[i] if i < x.size else 0.0
            if right <= 1e-15:
                j += 1
                right = q[j] if j < y.size else 0.0
    return gaps / used, parts / used, squared / used


def draw(seed: int) -> Rows:
    """Small tables: ties or none, weights or none, levels of a row of a group."""
    rng = np.random.default_rng(seed)
    size, d = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    level, group = rng.integers(0, 6, size), rng.integers(0, 2, size)
    level[:4], group[:4] = 0, [0, 1, 0, 1]
    phi = rng.normal(size=(size, d)) * rng.uniform(0.1, 3.0)
    if seed % 2:
        phi = phi.round(0)
    weight = rng.uniform(0.2, 2.0, size) if seed % 3 == 0 else np.ones(size)
    return phi.sum(axis=1) + 5.0, group, level, phi, weight


def audited(rows: Rows, **more: Any) -> Audit:
    score, group, level, _, weight = rows
    data = pl.DataFrame({"score": score, "group": group, "level": level, "weight": weight})
    own = "weight" if (weight != 1.0).any() else None
    asked = {"permutations": 0, "weight": own, "legitimate": "level"} | more
    return audit(data, score="score", sensitive="group", **asked)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(4))
def test_splits_add_up_and_equal_the_plan(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        rows = draw(seed)
        found = audited(rows).drivers(rows[3])
        gaps, parts, squared = split_by_plan(rows[3], rows[1], rows[2], rows[4])
        size = max(float(np.ptp(rows[0])), 1.0)
        total = sum(each.gap for each in found.inputs)
        assert total == pytest.approx(found.gap, abs=1e-12 * size)
        assert found.gap == pytest.approx(audited(rows).gap, abs=1e-11 * size)
        assert found.squared == pytest.approx(squared, rel=1e-9, abs=1e-12 * size**2)
        for each in found.inputs:
            j = int(each.name.removeprefix("input "))
            assert each.gap == pytest.approx(gaps[j], abs=1e-11 * size)
            assert each.part == pytest.approx(parts[j], rel=1e-8, abs=1e-10 * size**2)
        total = sum(each.part for each in found.inputs)
        assert total == pytest.approx(found.squared, abs=1e-12 * size**2)
        shares = [each.share for each in found.inputs if each.share is not None]
        if shares:
            assert sum(shares) == pytest.approx(1.0, abs=1e-11 * max(1.0, *map(abs, shares)))


def large(seed: int = 0, size: int = 600) -> Rows:
    rng = np.random.default_rng(seed)
    level, group = rng.integers(0, 4, size), rng.integers(0, 2, size)
    phi = np.rint(8.0 * rng.normal(size=(size, 3))) / 8.0
    phi[:, 0] += 0.75 * group
    phi[:, 1] -= 0.25 * group
    return phi.sum(axis=1), group, level, phi, np.ones(size)


def figures(found: Drivers) -> dict[str, tuple[object, ...]]:
    return {
        each.name: (each.gap, each.interval, each.part, each.share, each.share_interval, each.proxy)
        for each in found.inputs
    }


def test_order_of_rows_and_columns_changes_nothing() -> None:
    score, group, level, phi, weight = large()
    names = ["a", "b", "c"]
    one = audited((score, group, level, phi, weight)).drivers(pl.DataFrame(phi, names))
    mixed = np.random.default_rng(1).permutation(score.size)
    other = audited((score[mixed], group[mixed], level[mixed], phi[mixed], weight)).drivers(
        pl.DataFrame(phi[mixed][:, [2, 0, 1]], ["c", "a", "b"])
    )
    assert figures(one) == figures(other)


def test_largest_gap_comes_first_and_is_named_if_the_test_rejects() -> None:
    rows = large()
    found = audited(rows, permutations=99).drivers(rows[3])
    assert [each.name for each in found.inputs][:2] == ["input 0", "input 1"]
    assert found.named == ("input 0",)  # the other works against the gap
    untested = audited(rows).drivers(rows[3])
    assert untested.named == ()
    assert "no input is named" in str(untested)


def test_gap_by_level_averages_to_the_gap() -> None:
    rows = large()
    first = audited(rows).drivers(rows[3]).inputs[0]
    sizes = dict(zip(*np.unique(rows[2], return_counts=True), strict=True))
    mean = sum(first.by_level[f"level {k}"][0] * n / 600 for k, n in sizes.items())
    assert mean == pytest.approx(first.gap)


def test_proxy_is_the_auc_within_levels() -> None:
    score, group, level, phi, weight = large()
    found = figures(audited((score, group, level, phi, weight)).drivers(phi))
    expected = 0.0
    for k in range(4):
        one, two = (phi[(level == k) & (group == g), 0] for g in (1, 0))
        share = (one.size + two.size) / 600
        expected += share * mannwhitneyu(one, two).statistic / (one.size * two.size)
    assert found["input 0"][5] == pytest.approx(expected)


def test_probabilities_are_split_by_the_raw_score() -> None:
    score, group, level, phi, weight = large()
    chance = 1.0 / (1.0 + np.exp(-score))
    found = audited((chance, group, level, phi, weight)).drivers(phi)
    raw = audited((score, group, level, phi, weight)).drivers(phi)
    assert (found.scale, raw.scale) == ("raw", "score")
    assert found.gap == pytest.approx(raw.gap)
    assert "raw score" in str(found)


def test_columns_of_one_source_are_summed() -> None:
    rows = large()
    table = {"a=x": rows[3][:, 0], "a=y": rows[3][:, 1], "b": rows[3][:, 2]}
    found = audited(rows).drivers(table, sources={"a=x": "a", "a=y": "a"})
    alone = audited(rows).drivers(table)
    assert {each.name for each in found.inputs} == {"a", "b"}
    parts = {each.name: each.gap for each in alone.inputs}
    whole = next(each.gap for each in found.inputs if each.name == "a")
    assert whole == pytest.approx(parts["a=x"] + parts["a=y"])


def test_missing_rows_are_left_out_of_the_contributions_too() -> None:
    score, group, level, phi, weight = large()
    data = pl.DataFrame({"score": score, "group": group, "level": level})
    lacking = data.with_columns(
        level=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("level")
    )
    kept = np.arange(score.size) % 7 != 0
    asked = {"score": "score", "sensitive": "group", "legitimate": "level", "permutations": 0}
    found = audit(lacking, **asked).drivers(phi)  # type: ignore[arg-type]
    rows = score[kept], group[kept], level[kept], phi[kept], weight[kept]
    assert figures(found) == figures(audited(rows).drivers(phi[kept]))


def test_clusters_widen_intervals() -> None:
    score, group, level, phi, _ = large(size=150)
    copies = np.repeat(np.arange(150), 4)
    data = pl.DataFrame({"s": score[copies], "g": group[copies], "l": level[copies], "p": copies})
    asked = {"score": "s", "sensitive": "g", "legitimate": "l", "permutations": 0}
    widths = []
    for cluster in (None, "p"):
        found = audit(data, **asked, cluster=cluster).drivers(phi[copies])  # type: ignore[arg-type]
        low, high = found.inputs[0].interval or (0.0, 0.0)
        widths.append(high - low)
    assert 1.8 < widths[1] / widths[0] < 2.2


def test_withheld_input_takes_its_gap_along() -> None:
    rows = large(size=4000)
    table = pl.DataFrame(rows[3], ["a", "b", "c"])
    for inputs, names in ((table, ("a", "b")), (rows[3], ("input 0", "input 1"))):
        found = audited(rows).drivers(
            table if inputs is table else rows[3],
            inputs=inputs,
            predict=lambda X: np.asarray(X).sum(axis=1),
            target=rows[0] > 1.0,
        )
        first = found.inputs[0]
        assert first.name == names[0]
        assert first.withheld is not None
        assert first.withheld.before == pytest.approx(found.gap)
        assert first.withheld.gap == pytest.approx(found.gap - first.gap, abs=0.13)
        assert first.withheld.auc_before == 1.0
        assert 0.7 < (first.withheld.auc or 0.0) < 1.0


@pytest.mark.parametrize(
    ("contributions", "says"),
    [
        (np.zeros((600, 3)), "do not add up"),
        (np.zeros((5, 3)), "has 5 rows"),
        (np.zeros(600), "rows and columns"),
        ({"a": ["x"] * 600}, "other than numbers"),
        ({"a": np.full(600, np.nan)}, "finite number in row 0"),
        ({}, "no columns"),
    ],
)
def test_unusable_contributions_are_refused(contributions: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        audited(large()).drivers(contributions)


def test_predict_needs_inputs() -> None:
    rows = large()
    with pytest.raises(InputError, match="needs inputs"):
        audited(rows).drivers(rows[3], predict=lambda X: X)
