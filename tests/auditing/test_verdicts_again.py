"""Verdicts, intervals and tests that were wrong once: small cells, clusters, columns, coverage."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import likeforlike as lfl
from benchmarks.calibration_estimates import intervals
from likeforlike import Cells
from likeforlike._text import p_text
from likeforlike.disparity import contrasts
from likeforlike.inference import estimate_distance, signed_gap, take_sample
from likeforlike.inference._distance import allocate, fill_levels
from likeforlike.inference._headline import WEIGHTS, component_weights
from likeforlike.inference._rank_scores import score_contrast
from likeforlike.report import page

# Small cells -------------------------------------------------------------------------------------


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        "9 x (500 + 500) at parity, and 500 + 30 of spread 10, shift 4",
        "9 x (500 + 500) at parity, and 60 + 4 of spread 10, shift 10",
        "4 x (200 + 200) at parity, and 100 + 3 of spread 3, shift 4",
        "3 x (5 + 1) of spread 50 beside 400 + 400 of 5, gap 2",
        "zeros 95% v 80%, log-normal 0.5, 1 x (300 + 30)",
    ],
)
def test_a_small_cell_gives_no_false_pass(name: str) -> None:
    found = intervals(name, 100)
    assert found.passed_95 <= 8
    assert found.covered >= 88
    assert found.gap_covered >= 88


@pytest.mark.parametrize("seed", range(20))
def test_the_worst_allocation_is_that_of_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 7))
    value, low = rng.random(k), rng.random(k) * rng.integers(0, 2, k)
    high = low + rng.random(k)
    at, most = fill_levels(value, low, high)
    for square in rng.uniform(low.sum(), high.sum(), 5):
        best = linprog(
            -value, A_eq=np.ones((1, k)), b_eq=[square], bounds=list(zip(low, high, strict=True))
        )
        assert np.interp(square, at, most) == pytest.approx(-best.fun, abs=1e-9)
        x = allocate(value, low, high, square)
        assert value @ x == pytest.approx(-best.fun, abs=1e-9)
        assert x.sum() == pytest.approx(square)


def shrunk_slowly(scores: Any, groups: Any, levels: Any) -> list[float]:
    """Variances of means, drawn to their level's and to everybody's, one cell at a time."""
    cells = [
        [scores[(levels == k) & (groups == g)] for g in (0, 1)] for k in range(levels.max() + 1)
    ]
    unit = [[x.var(ddof=1) if x.size > 1 else 0.0 for x in pair] for pair in cells]
    freedom = [[x.size - 1 for x in pair] for pair in cells]
    rows = [[x.size for x in pair] for pair in cells]

    def drawn(mean: Any, own: Any, df: Any, weight: Any) -> list[float]:
        known = [i for i in range(len(own)) if df[i] > 0]
        whole = sum(weight[i] for i in known)
        more = max(
            sum(weight[i] / whole * ((own[i] / mean[i] - 1) ** 2 - 2 / df[i]) for i in known), 0.0
        )
        return [
            mean[i] + (more / (more + 2 / df[i]) if df[i] > 0 else 0.0) * (own[i] - mean[i])
            for i in range(len(own))
        ]

    of_level = [sum(f) for f in freedom]
    first = second = 0.0
    for fs, us in zip(freedom, unit, strict=True):
        scale = sum(f * u for f, u in zip(fs, us, strict=True)) / max(sum(fs), 1)
        if fs[0] * fs[1] and scale > 0:
            first += fs[0] * fs[1] / sum(fs) / scale * us[0]
            second += fs[0] * fs[1] / sum(fs) / scale * us[1]
    wide = 2 * min(max(second / (first + second), 0.01), 0.99)
    wider = (2 - wide, wide)
    both = [
        sum(f * u / w for f, u, w in zip(fs, us, wider, strict=True)) / max(df, 1)
        for fs, us, df in zip(freedom, unit, of_level, strict=True)
    ]
    held = [sum(n) if df else 0 for n, df in zip(rows, of_level, strict=True)]
    usual = sum(n * b for n, b in zip(held, both, strict=True)) / sum(held)
    both = drawn([usual] * len(both), both, of_level, held)
    flat = [
        [x for pair in each for x in pair]
        for each in (unit, freedom, rows, [[b * w for w in wider] for b in both])
    ]
    return [v / n for v, n in zip(drawn(flat[3], flat[0], flat[1], flat[2]), flat[2], strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_variances_are_drawn_to_others_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, (5, 2))
    levels, groups = (
        np.repeat(np.arange(5), sizes.sum(1)),
        np.repeat(np.tile([0, 1], 5), sizes.ravel()),
    )
    scores = np.round(rng.normal(size=levels.size) * (1 + levels), 1 if seed % 2 else 6)
    sample = take_sample(contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0])
    expected = np.array(shrunk_slowly(scores, groups, levels))
    found = sample.scores.shrunk * sample.scale**2
    assert np.allclose(found, expected, rtol=1e-8)


def test_one_level_is_welchs() -> None:
    rng = np.random.default_rng(0)
    contrast = contrasts(Cells.from_rows(rng.normal(size=44), [0] * 4 + [1] * 40), "pairwise")[0]
    sample = take_sample(contrast)
    assert np.array_equal(sample.scores.shrunk, sample.scores.variances)
    gap, distance = signed_gap(contrast, np.ones(1)), estimate_distance(contrast, np.ones(1))
    assert distance.interval[1] >= max(gap.interval[1], -gap.interval[0])


# Clusters ----------------------------------------------------------------------------------------


def crowded(seed: int, sizes: tuple[tuple[int, int], tuple[int, int]]) -> pl.DataFrame:
    """People of either group with so many rows each, at parity, in eight levels."""
    rng = np.random.default_rng([seed, 3])
    rows = [
        (level, group, f"{level} {group} {person}", own + 0.7 * rng.normal())
        for level in range(8)
        for group, (people, each) in enumerate(sizes)
        for person in range(people)
        for own in [0.7 * rng.normal()]
        for _ in range(each)
    ]
    return pl.DataFrame(rows, schema=["level", "group", "who", "score"], orient="row")


@pytest.mark.simulation
def test_people_with_more_rows_in_one_group_are_no_disparity() -> None:
    roles: dict[str, Any] = {
        "score": "score",
        "sensitive": "group",
        "legitimate": "level",
        "cluster": "who",
    }
    found = [
        lfl.audit(crowded(seed, ((60, 1), (6, 10))), **roles, permutations=49, random_state=seed)
        for seed in range(40)
    ]
    tests = [audit.contrasts[0].test for audit in found]
    assert all(test is not None and test.method == "design" for test in tests)
    assert sum((audit.p_value or 0.0) <= 0.05 for audit in found) <= 7
    alike = lfl.audit(crowded(0, ((20, 3), (15, 3))), **roles, permutations=49)
    test = alike.contrasts[0].test
    assert test is not None
    assert test.method == "permutation"


# Several groups ----------------------------------------------------------------------------------


def test_groups_that_differ_by_twice_the_threshold_do_not_pass_for_a_third() -> None:
    rng = np.random.default_rng(1)
    n = 6000
    race, sex = rng.choice(["a", "b", "c"], n, p=[0.5, 0.25, 0.25]), rng.choice(["f", "m"], n)
    score = 0.5 + 0.05 * rng.normal(size=n) + 0.04 * ((race == "b") * 1.0 - (race == "c"))
    table = pl.DataFrame({"s": score, "race": race, "sex": sex, "l": rng.integers(0, 3, n)})
    settings: dict[str, Any] = {"score": "s", "legitimate": "l", "permutations": 99}
    alone = lfl.audit(table, sensitive="race", **settings).verdict(0.05)
    both = lfl.audit(table, sensitive=["race", "sex"], **settings).verdict(0.05)
    assert alone.verdict == both.verdict == "fail"
    assert any(reason.startswith("b and c: at least") for reason in both.reasons)
    chosen = {"race": "a", "sex": "f"}
    asked = lfl.audit(table, sensitive=["race", "sex"], reference=chosen, **settings).verdict(0.05)
    assert not any(set(judged.groups) == {"b", "c"} for judged in asked.judgments)


def test_no_pair_differs_unless_all_groups_together_do() -> None:
    """Whatever pairs say, three equal groups differ in no more than 5% of audits."""
    said = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 5])
        table = pl.DataFrame({"s": rng.normal(size=120), "g": rng.choice(["a", "b", "c"], 120)})
        found = lfl.audit(table, score="s", sensitive="g", permutations=39, random_state=seed)
        assert found.omnibus is not None
        assert found.p_value is not None
        if found.omnibus.p_value > 0.05:
            assert found.p_value >= found.omnibus.p_value
        said += "No difference" not in found.headline
    assert said <= 12


def test_the_order_of_contrasts_does_not_change_with_the_seed() -> None:
    rng = np.random.default_rng(3)
    group = rng.choice(list("abcd"), 2000)
    score = rng.normal(size=2000) + np.select([group == "b", group == "c"], [0.5, 1.0], 0.0)
    table = pl.DataFrame({"s": score, "g": group})
    orders = {
        tuple(
            each.groups
            for each in lfl.audit(
                table, score="s", sensitive="g", permutations=99, random_state=seed
            ).contrasts
        )
        for seed in range(5)
    }
    assert len(orders) == 1
    [order] = orders
    assert "c" in order[0]


# Coverage and sentences --------------------------------------------------------------------------


def few_compared() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    level = rng.integers(0, 100, 4000)
    group = np.where(level < 5, rng.integers(0, 2, 4000), level % 2)
    score = rng.normal(size=4000) + 3.0 * ((level >= 5) & (group == 1))
    return pl.DataFrame({"s": score, "a": group, "l": level})


def test_few_who_could_be_compared_do_not_pass_for_all() -> None:
    roles: dict[str, Any] = {"score": "s", "sensitive": "a", "legitimate": "l", "permutations": 49}
    found = lfl.audit(few_compared(), **roles)
    ruling = found.verdict(5.0)
    assert ruling.verdict == "investigate"
    assert "among those who could be compared" in ruling.reasons[0]
    assert found.headline.startswith("Of the 4.6% who could be compared, ")
    assert lfl.audit(few_compared(), **roles, min_coverage=0.01).gate(5.0) == "pass"
    with pytest.raises(lfl.errors.InputError, match="min_coverage must lie between 0 and 1, not 2"):
        lfl.audit(few_compared(), **roles, min_coverage=2)


def test_simpsons_sentence_is_about_those_who_are_compared() -> None:
    rng = np.random.default_rng(2)
    n = 3000
    level = rng.integers(0, 4, n)
    chance = np.choose(level, [0.15, 0.85, 1.0, 0.0])
    group = (rng.random(n) < chance).astype(int)
    score = np.choose(level, [0.0, 1.0, -3.0, 3.0]) + 0.3 * rng.normal(size=n)
    score -= 0.2 * group * (level < 2)
    table = pl.DataFrame({"s": score, "a": group, "l": level})
    found = lfl.audit(table, score="s", sensitive="a", legitimate="l", permutations=99)
    contrast = found.contrasts[0]
    assert contrast.paradox == "reversed"
    assert contrast.compared_gap is not None
    assert contrast.compared_gap > 0.0 > found.unconditional.gap
    assert (
        "among those who are compared, the mean s is 0.498 lower for a 0"
        in found.finding.sentences[-1]
    )


def test_nothing_is_printed_that_was_not_counted() -> None:
    assert p_text(0.001, 999) == "p = 0.001"
    assert p_text(0.0009999, 999) == "p < 0.001"
    assert p_text(0.004, 99) == "p < 0.01"
    assert p_text(1e-9) == "p < 0.001"
    rng = np.random.default_rng(0)
    group = np.arange(900) % 3
    table = pl.DataFrame({"s": rng.normal(size=900) + 2.0 * group, "g": group})
    found = lfl.audit(table, score="s", sensitive="g", permutations=99)
    document = json.loads(found.to_json())
    assert document["contrasts"][0]["p_value"] < 1e-3
    assert document["contrasts"][0]["p_extrapolated"]
    assert "p &lt; 0.01" in page(found.to_dict())
    assert "p < 0.01" in str(found)


# Power -------------------------------------------------------------------------------------------


def test_long_tails_are_read_from_what_permutations_do_not_change() -> None:
    """The gap counts less for pay, and no less for normal scores; labels do not matter."""
    rng = np.random.default_rng(0)
    normal, group = rng.normal(size=400), np.arange(400) % 2
    scales = np.repeat(np.geomspace(1.0, 100.0, 10), 40)
    for scores, gap in ((normal, 1.0), (np.exp(1.5 * normal), 0.1), (scales * normal, 0.1)):
        for _ in range(3):
            cells = Cells.from_rows(scores, rng.permutation(group), np.arange(400) // 40)
            weights = component_weights(score_contrast(contrasts(cells, "pairwise")[0]))
            assert (weights["gap"], weights["ranks"]) == (gap, 1.0)
            assert (weights == WEIGHTS) == (gap == 1.0)
    decided = Cells.from_rows((normal > 2.0).astype(float), group)
    assert component_weights(score_contrast(contrasts(decided, "pairwise")[0])) == WEIGHTS


# Words -------------------------------------------------------------------------------------------


def test_p_values_on_a_page_have_one_sign_before_them() -> None:
    rng = np.random.default_rng(0)
    group = np.arange(900) % 3
    table = pl.DataFrame({"s": rng.normal(size=900) + 2.0 * group, "g": group, "l": group // 3})
    made = page(lfl.audit(table, score="s", sensitive="g", permutations=99).to_dict())
    assert "One test over all 3 groups: p = 0.01." in made
    decided = table.with_columns(s=(table["s"] > 1.0).cast(float))
    roles: dict[str, Any] = {"score": "s", "sensitive": "g", "legitimate": "l", "permutations": 9}
    for found in (table, decided):
        made += page(lfl.audit(found.filter(pl.col("g") < 2), **roles).to_dict())
    assert "p &lt; 0.001" in made
    assert not any(wrong in made for wrong in ("p = &lt;", "p = <", "p = p", "p p"))


def test_a_marked_level_whose_interval_holds_0_is_explained() -> None:
    """Scores that differ in spread alone, and such as differ in their mean."""
    rng = np.random.default_rng(0)
    group = np.arange(800) % 2
    roles: dict[str, Any] = {"score": "s", "sensitive": "g", "permutations": 99}
    words = "ranks or spread differ more than means"
    for factor, shift, explained in ((5.0, 0.0, True), (1.0, 2.0, False)):
        score = rng.normal(size=800) * np.where(group == 1, factor, 1.0) + shift * group
        found = lfl.audit(pl.DataFrame({"s": score, "g": group}), **roles)
        [level] = found.to_dict()["contrasts"][0]["levels"]
        assert level["p_adjusted"] is not None
        assert level["p_adjusted"] <= 0.05
        assert (words in found.to_html()) == explained


@pytest.mark.parametrize("turned", [1, -1])
def test_what_bins_would_show_has_the_sign_and_the_unit_of_the_gap(turned: int) -> None:
    rng = np.random.default_rng(0)
    number = rng.normal(size=800)
    group = (rng.random(800) < 1.0 / (1.0 + np.exp(-number))).astype(int)
    score = turned * (10.0 * number + 4.0 * group + rng.normal(size=800))
    table = pl.DataFrame({"pay": score, "g": group, "z": number})
    roles: dict[str, Any] = {"score": "pay", "sensitive": "g", "smooth": "z", "unit": "EUR"}
    sentences = lfl.audit(table, **roles, permutations=9).finding.sentences
    [told] = [each for each in sentences if "bins would have shown" in each]
    figures = re.findall(r"(-?[\d.]+) EUR", told)
    assert len(figures) == 4
    assert all(float(each) > 0.0 for each in figures)
    assert f"is {figures[1]} EUR lower" in " ".join(sentences)


def test_packages_show_what_is_public_and_nothing_they_import() -> None:
    shown = {name for name in dir(lfl) if not name.startswith("_")}
    assert shown >= {"audit", "cdd_lp", "repair", "training"}
    assert not shown & {"TYPE_CHECKING", "annotations", "lazy_package"}
    for package in (lfl.disparity, lfl.experiments, lfl.teams):
        assert not set(dir(package)) & {"TYPE_CHECKING", "annotations", "lazy_package"}
