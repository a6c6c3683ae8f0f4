from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans
from likeforlike.document import SCHEMA_VERSION
from likeforlike.files import is_currency
from tests.support.schema import read_audit


def loans_audit(**settings: Any) -> lfl.Audit:
    frame = load_loans(1000).frame
    return lfl.audit(frame, score="approved", sensitive="sex", legitimate="income", **settings)


def test_the_loan_example_is_masked_by_simpsons_paradox() -> None:
    found = loans_audit()
    np.testing.assert_allclose(found.unconditional.value, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.conditional.value, 0.2)
    assert found.p_value == 0.001
    assert found.contrasts[0].paradox == "masked"
    assert found.estimate is not None
    assert found.interval is not None
    assert found.interval[1] is not None
    assert found.interval[0] < 0.2 < found.interval[1]
    assert found.null_mean is not None
    assert 0.0 < found.null_mean < 0.2
    assert found.coverage == {"female": 1.0, "male": 1.0}
    assert found.nested is not None
    np.testing.assert_allclose(found.nested.diagonal, 0.1)


def test_a_reversed_gap_is_noticed() -> None:
    frame = make_loans(20_000, gap=0.03, tilt=0.9).frame
    found = lfl.audit(frame, score="score", sensitive="sex", legitimate="income")
    assert found.unconditional.gap < 0.0 < found.conditional.gap
    assert found.contrasts[0].paradox == "reversed"


def test_parity_among_equals_is_not_called_a_paradox() -> None:
    frame = make_loans(5000, gap=0.0, tilt=0.9).frame
    found = lfl.audit(frame, score="score", sensitive="sex", legitimate="income")
    assert found.p_value is not None
    assert found.p_value > 0.05
    assert found.contrasts[0].paradox == "none"
    assert found.interval is not None
    assert found.interval[0] == 0.0


def test_opposite_gaps_give_their_size_and_their_directions() -> None:
    rng = np.random.default_rng(0)
    levels, groups = np.arange(4000) % 2, np.arange(4000) // 2 % 2
    scores = 0.5 + 0.4 * np.where(levels == 0, 1, -1) * (groups - 0.5) + 0.01 * rng.random(4000)
    frame = pl.DataFrame({"f": scores, "a": groups, "l": levels})
    found = lfl.audit(frame, score="f", sensitive="a", legitimate="l")
    np.testing.assert_allclose(found.conditional.value, 0.4, atol=1e-3)
    assert found.estimate == pytest.approx(0.4, abs=2e-3)
    assert {level.level: round(level.gap, 2) for level in found.levels} == {0: 0.4, 1: -0.4}
    assert "do not cancel" in " ".join(found.to_dict()["finding"]["sentences"])


def test_identical_groups_have_an_interval_that_contains_zero() -> None:
    scores = np.tile(np.random.default_rng(0).random(300), 2)
    frame = pl.DataFrame({"f": scores, "a": np.repeat(["x", "y"], 300)})
    found = lfl.audit(frame, score="f", sensitive="a")
    assert found.p_value == 1.0
    assert found.interval is not None
    assert found.interval[0] == 0.0 == found.estimate


def test_a_level_with_one_group_lowers_coverage_and_is_named() -> None:
    loans = load_loans(1000).frame
    lonely = pl.DataFrame({"income": ["none"] * 50, "sex": ["male"] * 50, "approved": [1] * 50})
    found = lfl.audit(
        pl.concat([loans, lonely]), score="approved", sensitive="sex", legitimate="income"
    )
    assert found.coverage == {"female": 1.0, "male": pytest.approx(500 / 550)}
    assert found.contrasts[0].excluded == {"income none": {"female": 0, "male": 50}}
    assert any("9.1% of men could not" in text for text in found.to_dict()["finding"]["cautions"])


def test_thin_levels_are_kept_and_marked() -> None:
    frame = pl.DataFrame(
        {
            "f": np.r_[np.arange(100) / 100, [0.0, 1.0, 0.5]],
            "a": ["x", "y"] * 50 + ["x", "y", "y"],
            "l": ["big"] * 100 + ["small"] * 3,
        }
    )
    found = lfl.audit(frame, score="f", sensitive="a", legitimate="l", permutations=99)
    assert {level.level: level.thin for level in found.levels} == {"big": False, "small": True}
    assert found.contrasts[0].thin_share["x"] == pytest.approx(1 / 51)


def test_levels_are_ranked_by_contribution_and_carry_their_evidence() -> None:
    frame = make_loans(8000, levels=4, gap=[0.0, 0.3, 0.05, 0.0]).frame
    found = lfl.audit(frame, score="score", sensitive="sex", legitimate="income")
    assert [level.level for level in found.levels][:2] == [1, 2]
    first = found.levels[0]
    assert first.contribution > 0.8
    assert first.p_adjusted is not None
    assert first.p_adjusted <= 0.05
    assert first.gap_interval is not None
    assert first.gap_interval[0] < 0.3 < first.gap_interval[1]
    assert sum(level.contribution for level in found.levels) == pytest.approx(1.0)
    assert sum(level.weight for level in found.levels) == pytest.approx(1.0)
    assert max(level.p_adjusted or 0.0 for level in found.levels) > 0.05


@pytest.mark.parametrize(
    ("threshold", "verdict"), [(0.3, "pass"), (0.05, "fail"), (0.2, "investigate")]
)
def test_the_gate_is_decided_on_the_interval(threshold: float, verdict: str) -> None:
    assert loans_audit().gate(threshold) == verdict


def test_a_gate_needs_a_threshold_and_an_interval() -> None:
    with pytest.raises(lfl.errors.InputError, match="threshold must be a finite number"):
        loans_audit(permutations=9).gate(math.nan)
    with pytest.raises(lfl.errors.InputError, match="a gate needs an interval"):
        loans_audit(permutations=0).gate(0.1)


def three_groups() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], 3000)
    scores = rng.random(3000) + np.where(groups == "c", 0.2, 0.0)
    return pl.DataFrame({"f": scores, "g": groups, "l": rng.integers(0, 3, 3000)})


def test_several_groups_are_compared_pair_by_pair() -> None:
    found = lfl.audit(three_groups(), score="f", sensitive="g", legitimate="l", permutations=199)
    pairs = {contrast.groups: contrast for contrast in found.contrasts}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert "c" in found.contrasts[0].groups
    assert pairs["a", "b"].p_value is not None
    assert pairs["a", "b"].p_value > 0.05
    # 199 permutations alone could not go below 3 / 200 after Holm's adjustment.
    assert pairs["a", "c"].p_value is not None
    assert pairs["a", "c"].p_value < 1e-6
    assert found.omnibus is not None
    assert found.omnibus.p_value == 1 / 200
    assert found.gate(0.1) == "fail"


def test_a_reference_group_limits_the_comparisons() -> None:
    found = lfl.audit(
        three_groups(), score="f", sensitive="g", legitimate="l", reference="b", permutations=49
    )
    assert {contrast.groups for contrast in found.contrasts} == {("a", "b"), ("b", "c")}


def test_a_reference_group_may_be_named_as_it_is_written() -> None:
    frame = three_groups().with_columns(pl.col("g").replace_strict({"a": 1, "b": 2, "c": 3}))
    found = lfl.audit(frame, score="f", sensitive="g", reference="2", permutations=0)
    assert {contrast.groups for contrast in found.contrasts} == {("1", "2"), ("2", "3")}


def test_equalized_odds_by_conditioning_on_the_target() -> None:
    rng = np.random.default_rng(1)
    groups, target = rng.integers(0, 2, 6000), rng.integers(0, 2, 6000)
    hit = rng.random(6000) < 0.3 + 0.4 * target + 0.15 * groups * target
    frame = pl.DataFrame({"hit": hit.astype(int), "a": groups, "y": target})
    found = lfl.audit(frame, score="hit", sensitive="a", legitimate="y")
    gaps = {level.level: level.gap for level in found.levels}
    assert gaps[1] == pytest.approx(0.15, abs=0.05)
    assert gaps[0] == pytest.approx(0.0, abs=0.05)


def test_five_thousand_levels() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "f": rng.random(60_000),
            "a": np.arange(60_000) % 2,
            "l": rng.integers(0, 5000, 60_000),
        }
    )
    found = lfl.audit(frame, score="f", sensitive="a", legitimate="l", permutations=99)
    assert len(found.levels) > 4900
    assert found.nested is None
    assert found.p_value is not None
    assert found.p_value > 0.01
    assert found.interval is not None
    assert found.interval[0] == 0.0


def test_without_resampling_there_is_a_point_audit() -> None:
    found = loans_audit(permutations=0)
    assert (found.p_value, found.estimate, found.interval, found.null_mean) == (None,) * 4
    assert found.levels[0].p_adjusted is None
    assert "not tested" in found.to_dict()["finding"]["headline"]


def test_json_is_complete_versioned_and_plain(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    found = loans_audit(permutations=99, random_state=7)
    text = found.to_json(path)
    document = read_audit(text)
    assert document == json.loads(path.read_text()) == found.to_dict()
    assert (document["schema"], document["schema_version"]) == ("likeforlike.audit", SCHEMA_VERSION)
    assert document["settings"]["random_state"] == 7
    assert len(document["provenance"]["fingerprint"]) == 64
    assert document["provenance"]["versions"]["likeforlike"] == lfl.__version__
    contrast = document["contrasts"][0]
    assert contrast["levels"][0]["rows"].keys() == {"female", "male"}
    for shown in contrast["distributions"]:
        assert len(shown["edges"]) == len(shown["shares"]["female"]) + 1
        assert sum(shown["shares"]["male"]) == pytest.approx(1.0)
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_seed_gives_the_same_audit() -> None:
    first, second, other = (
        loans_audit(permutations=99, random_state=seed).to_dict()["contrasts"] for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_files_that_cannot_be_written_leave_nothing_behind(tmp_path: Path) -> None:
    found = loans_audit(permutations=9)
    for path in (tmp_path, tmp_path / "no" / "such.json"):
        with pytest.raises(lfl.errors.InputError):
            found.to_json(path)
        with pytest.raises(lfl.errors.InputError):
            found.to_html(path)
    assert list(tmp_path.iterdir()) == []


def test_pages_come_from_the_same_document(tmp_path: Path) -> None:
    found = loans_audit(permutations=99)
    page = found.to_html(tmp_path / "page.html")
    assert found.to_dict()["finding"]["headline"].removesuffix(".") in page
    assert (tmp_path / "page.html").read_text() == page
    assert found.to_dict()["finding"]["headline"].removesuffix(".") in found._repr_html_()


def test_cautions_say_what_was_done_to_the_data() -> None:
    frame = make_loans(2000).frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 10).then(None).otherwise(pl.col("score")).alias("score")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        found = lfl.audit(
            frame,
            score="score",
            sensitive="sex",
            legitimate=["debt"],
            bins={"debt": 5},
            resolution=0.01,
            permutations=49,
        )
    cautions = " ".join(found.to_dict()["finding"]["cautions"])
    assert "10 of 2,000 rows were left out for missing values (score: 10)" in cautions
    assert "debt was cut into bins" in cautions
    assert "bins of width 0.01" in cautions
    assert len(found.table.edges["debt"]) == 4


def test_no_text_calls_anything_fair() -> None:
    for found in (loans_audit(permutations=9), loans_audit(permutations=0)):
        finding = found.to_dict()["finding"]
        text = " ".join([finding["headline"], *finding["sentences"], *finding["cautions"]])
        assert "fair" not in text.lower()


# -- What the sentences call the scores -----------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "unit", "kind", "said"),
    [
        (lambda shift, rng: rng.random(4000) < 0.5 + shift, None, "decision", "The rate of y is"),
        (
            lambda shift, rng: 0.2 + shift + 0.3 * rng.random(4000),
            None,
            "probability",
            "Women score lower than men: ",
        ),
        (lambda shift, rng: 3 + 9 * shift + rng.random(4000), None, "other", "The mean y is"),
        (lambda shift, rng: 3e4 * (1 + shift) + rng.random(4000), "EUR", "money", " EUR."),
        (lambda shift, rng: 30 + 9 * shift + rng.random(4000), "kg", "other", " kg."),
    ],
)
def test_sentences_say_what_the_scores_are(
    scores: Any, unit: str | None, kind: str, said: str
) -> None:
    rng, sex = np.random.default_rng(0), np.tile(["Female", "Male"], 2000)
    frame = pl.DataFrame({"y": scores(0.3 * (sex == "Male"), rng).astype(float), "sex": sex})
    found = lfl.audit(frame, score="y", sensitive="sex", unit=unit, permutations=99)
    assert found.data.kind == kind
    assert said in found.headline
    assert re.search("lower (for women )?than (for )?men: ", found.headline)
    assert ("points" in found.headline) == (kind in ("decision", "probability"))


def test_a_difference_without_a_direction_is_one_of_distributions() -> None:
    rng = np.random.default_rng(0)
    group = np.tile(["f", "m"], 2000)
    frame = pl.DataFrame({"y": rng.normal(size=4000) * np.where(group == "f", 1, 2), "g": group})
    found = lfl.audit(frame, score="y", sensitive="g", permutations=99)
    # f and m are women and men only in a column that says so.
    assert found.headline.startswith("Y differs between “f” and “m”, with no clear direction")


@pytest.mark.parametrize(
    ("unit", "money"),
    [("EUR", True), ("€ per month", True), ("USD", True), ("%", False), ("Europe", False)],
)
def test_a_unit_that_begins_with_a_currency_is_money(unit: str, *, money: bool) -> None:
    assert is_currency(unit) == money
