"""Audits along numbers: what they find, what bins would have, and who is compared with whom."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing import Audit
from tests.support.command import call

ROLES: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "income"}
QUICK: dict[str, Any] = {"permutations": 199}


def people(rows: int, seed: int = 0, gap: float = 0.0) -> pl.DataFrame:
    """Income makes the score; sex depends on income, and the score on sex only by the gap."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.0, 0.5, rows)
    male = rng.random(rows) < income**2 / (income**2 + 22_000.0**2)
    score = 0.15 * np.log(income) + gap * male + 0.03 * rng.normal(size=rows)
    return pl.DataFrame(
        {
            "score": score,
            "sex": np.where(male, "male", "female"),
            "income": income,
            "region": rng.choice(["north", "south"], rows),
            "years": rng.gamma(3.0, 4.0, rows),
            "weight": rng.uniform(0.5, 2.0, rows),
            "person": np.arange(rows) // 2,
        }
    )


@pytest.fixture(scope="module")
def parity() -> Audit:
    return lfl.audit(people(3000), **ROLES, smooth="income", **QUICK)


@pytest.fixture(scope="module")
def shifted() -> Audit:
    return lfl.audit(people(3000, gap=0.02), **ROLES, smooth="income", **QUICK)


def test_people_who_are_treated_alike_are_found_to_be(parity: Audit) -> None:
    with warnings.catch_warnings(action="ignore", category=lfl.errors.BinnedLevelWarning):
        binned = lfl.audit(people(3000), **ROLES, bins={"income": 10}, **QUICK)
    assert binned.p_value is not None
    assert binned.p_value <= 0.01
    assert parity.p_value is not None
    assert parity.p_value > 0.05
    assert parity.gap_interval is not None
    assert parity.gap_interval[0] < 0.0 < parity.gap_interval[1]
    smooth = parity.smooth
    assert smooth is not None
    assert smooth.method == "carry"
    assert len(smooth.windows) == 14
    assert smooth.coordinate in ("rank", "number")
    assert smooth.bandwidth > 0.0
    assert smooth.companion_p is not None
    assert smooth.companion_p > 0.05
    assert smooth.gap_confounding == pytest.approx(binned.gap - parity.gap, abs=0.001)
    assert smooth.confounding is not None
    assert smooth.confounding > 0.001
    assert smooth.jumps == ()
    assert smooth.error == 0.0


def test_a_shift_is_found_and_its_interval_holds_it(shifted: Audit) -> None:
    assert shifted.p_value == pytest.approx(1 / 200)
    assert shifted.gap == pytest.approx(0.02, abs=0.003)
    assert shifted.gap_interval is not None
    assert shifted.gap_interval[0] < 0.02 < shifted.gap_interval[1]
    assert shifted.interval is not None
    assert shifted.interval[0] < 0.02
    assert shifted.gate(0.005) == "fail"


def test_everybody_is_compared_with_scores_as_they_are(parity: Audit) -> None:
    overall = lfl.dd(people(3000)["score"], people(3000)["sex"])
    assert parity.unconditional.value == pytest.approx(overall.value)
    assert parity.nested is None


def test_windows_are_levels_in_the_order_of_the_number(parity: Audit) -> None:
    assert parity.smooth is not None
    curve = parity.smooth.windows
    income = people(3000)["income"].to_numpy()
    ends = [(window.low or 0.0, window.center, window.high or 0.0) for window in curve]
    assert ends[0][0] == income.min()
    assert ends[-1][2] == income.max()
    for (low, center, high), (following, *_) in pairwise(ends):
        assert high < following
        assert low <= center <= high
    assert {window.level for window in curve} >= {level.name for level in parity.levels}
    assert curve[0].level.startswith("income up to ")


def test_windows_may_be_asked_for() -> None:
    found = lfl.audit(people(1000), **ROLES, smooth=["income"], windows=5, permutations=0)
    assert found.smooth is not None
    assert len(found.smooth.windows) == 5
    assert found.smooth.companion_p is None
    assert found.smooth.confounding is None
    assert found.settings.windows == 5


def test_the_order_of_rows_does_not_matter() -> None:
    table = people(800).with_columns((pl.col("score") > 1.5).cast(pl.Float64).alias("score"))
    table = table.with_columns((pl.col("income") / 1000).round(0))
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    first, second = (
        lfl.audit(each, **ROLES, smooth="income", permutations=99) for each in (table, shuffled)
    )
    assert first.p_value == second.p_value
    assert first.gap == pytest.approx(second.gap, rel=1e-9)
    assert first.smooth == second.smooth


def test_a_category_is_a_world_of_its_own() -> None:
    table = people(3000).with_columns(
        (pl.col("score") + 0.5 * (pl.col("region") == "south")).alias("score")
    )
    both = lfl.audit(
        table, **{**ROLES, "legitimate": ["income", "region"]}, smooth="income", permutations=0
    )
    assert both.smooth is not None
    assert {window.category for window in both.smooth.windows} == {
        "region north",
        "region south",
    }
    north = lfl.audit(
        table.filter(pl.col("region") == "north"), **ROLES, smooth="income", permutations=0
    )
    own = {level.name: level.gap for level in north.levels}
    found = {level.name: level.gap for level in both.levels if "north" in level.name}
    assert len(own) == len(found)
    for name, gap in found.items():
        # Nodes of the law are common to all categories; everything else is their own.
        assert gap == pytest.approx(own[name.removeprefix("region north, ")], abs=5e-4)


def test_every_pair_of_groups_is_carried_on_its_own() -> None:
    table = people(3000).with_columns(
        pl.when(pl.col("person") % 3 == 0).then(pl.lit("other")).otherwise("sex").alias("sex")
    )
    three = lfl.audit(table, **ROLES, smooth="income", permutations=99)
    assert three.omnibus is not None
    assert len(three.contrasts) == 3
    two = lfl.audit(
        table.filter(pl.col("sex") != "other"), **ROLES, smooth="income", permutations=99
    )
    pair = next(c for c in three.contrasts if c.groups == ("female", "male"))
    assert pair.gap.value == pytest.approx(two.gap, rel=1e-12)
    assert pair.smooth is not None
    assert two.smooth is not None
    assert pair.smooth.companion_p == two.smooth.companion_p


def test_several_numbers_are_compared_by_the_share_they_predict() -> None:
    legitimate = ["income", "years", "region"]
    roles = {**ROLES, "legitimate": legitimate}
    found = lfl.audit(people(3000, gap=0.02), **roles, smooth=["income", "years"], **QUICK)
    assert found.smooth is not None
    assert found.smooth.method == "propensity"
    assert found.smooth.columns == ("income", "years")
    assert found.p_value == pytest.approx(1 / 200)
    assert found.gap == pytest.approx(0.02, abs=0.004)
    cautions = " ".join(found.finding.cautions)
    assert "If both predictions, of that share and of the score, are right" in cautions
    parity = lfl.audit(people(3000), **roles, smooth=["income", "years"], **QUICK)
    assert parity.p_value is not None
    assert parity.p_value > 0.01


def test_equal_weights_change_nothing_and_others_need_errors_of_the_design() -> None:
    table = people(1500, gap=0.01)
    plain = lfl.audit(table, **ROLES, smooth="income", permutations=99)
    ones = table.with_columns(pl.lit(2.0).alias("weight"))
    equal = lfl.audit(ones, **ROLES, smooth="income", weight="weight", permutations=99)
    assert equal.gap == pytest.approx(plain.gap, rel=1e-9)
    weighted = lfl.audit(table, **ROLES, smooth="income", weight="weight", permutations=99)
    assert weighted.contrasts[0].test is not None
    assert weighted.contrasts[0].test.method == "design"
    assert weighted.gap == pytest.approx(0.01, abs=0.005)
    half = table.with_columns((pl.col("person") < 400).cast(pl.Float64).alias("weight"))
    some = lfl.audit(half, **ROLES, smooth="income", weight="weight", permutations=0)
    few = lfl.audit(table.head(800), **ROLES, smooth="income", permutations=0)
    assert some.gap == pytest.approx(few.gap, rel=1e-9)


def test_clusters_are_kept_together() -> None:
    table = people(1500, gap=0.01)
    found = lfl.audit(table, **ROLES, smooth="income", cluster="person", permutations=99)
    assert found.contrasts[0].test is not None
    assert found.contrasts[0].test.method == "design"
    one = table.with_columns(pl.col("person").rank("ordinal").alias("person"))
    alone = lfl.audit(one, **ROLES, smooth="income", cluster="person", permutations=99)
    assert alone.contrasts[0].test is not None
    assert alone.contrasts[0].test.method == "permutation"
    assert alone.placebo(3, permutations=19).p_values != ()
    assert found.placebo(3, permutations=19).p_values != ()


@pytest.mark.parametrize("resolution", [0.002, 0.02])
def test_engines_carry_counts(resolution: float) -> None:
    table = people(4000, gap=0.02)
    exact = lfl.audit(table, **ROLES, smooth="income", permutations=99)
    kept: dict[str, Any] = {"smooth": "income", "resolution": resolution, "permutations": 99}
    counted = lfl.audit(table, **ROLES, **kept)
    duck = lfl.audit(duckdb.from_arrow(table.to_arrow()), **ROLES, **kept)
    assert duck.gap == counted.gap
    assert duck.p_value == counted.p_value
    assert duck.smooth == counted.smooth
    assert counted.smooth is not None
    assert resolution <= counted.smooth.error < 2.0 * resolution + 0.01
    assert abs(counted.gap - exact.gap) <= counted.smooth.error
    assert any("Rounding of scores and of income" in c for c in counted.finding.cautions)
    assert len(counted.placebo(3, permutations=19).p_values) == 3


def test_decisions_stay_decisions() -> None:
    rng = np.random.default_rng(3)
    table = people(3000)
    chance = (table["score"].to_numpy() - 1.0) + 0.06 * (table["sex"] == "male").to_numpy()
    decided = table.with_columns(pl.Series("score", (rng.random(3000) < chance).astype(float)))
    found = lfl.audit(decided, **ROLES, smooth="income", permutations=99)
    assert found.contrasts[0].gap.method == "rates"
    assert found.gap_interval is not None
    assert found.gap_interval[0] < 0.06 < found.gap_interval[1]


def test_scores_of_any_size_are_carried() -> None:
    table = people(1000, gap=0.01)
    plain = lfl.audit(table, **ROLES, smooth="income", permutations=99)
    for factor, offset in ((1e200, 0.0), (1e-200, 0.0), (1.0, 1e9)):
        scaled = table.with_columns(pl.col("score") * factor + offset)
        found = lfl.audit(scaled, **ROLES, smooth="income", permutations=99)
        assert found.p_value == plain.p_value
        assert found.gap / factor == pytest.approx(plain.gap, rel=1e-4)


def test_a_placebo_says_how_often_the_test_would_be_wrong(parity: Audit) -> None:
    placebo = parity.placebo(40, permutations=99)
    assert len(placebo.p_values) == 40
    assert placebo.share <= 0.2
    assert placebo.error == pytest.approx((placebo.share * (1 - placebo.share) / 40) ** 0.5)
    with pytest.raises(lfl.errors.InputError, match="repetitions must be at least 1, not 0"):
        parity.placebo(0)
    plain = lfl.audit(people(200), score="score", sensitive="sex", permutations=0)
    with pytest.raises(lfl.errors.InputError, match="a placebo needs smooth"):
        plain.placebo()


def test_a_jump_is_warned_of() -> None:
    table = people(4000).with_columns(
        (pl.col("score") + 0.3 * (pl.col("income") > 22_000.0)).alias("score")
    )
    found = lfl.audit(table, **ROLES, smooth="income", permutations=0)
    assert found.smooth is not None
    assert found.smooth.jumps[0] == pytest.approx(22_000.0, rel=0.03)
    assert any("seems to jump along income" in c for c in found.finding.cautions)
    asked = lfl.audit(table, **ROLES, smooth="income", windows=9, permutations=0).smooth
    assert asked is not None
    assert len(asked.windows) == 9
    # No window reaches across the jump.
    assert all((w.high or 0.0) <= 22_000.0 or (w.low or 0.0) > 22_000.0 for w in asked.windows)
    assert len({window.level for window in asked.windows}) == 9


def test_the_finding_says_what_was_done(shifted: Audit) -> None:
    said = " ".join(shifted.finding.sentences)
    assert "carried along income to the centers of 14 windows" in said
    assert "10 bins would have shown a gap of" in said
    assert "A second test" in said
    assert any("holds for every distribution" in caution for caution in shifted.finding.cautions)
    few = lfl.audit(people(300), **ROLES, smooth="income", permutations=0)
    assert any("With 300 rows" in caution for caution in few.finding.cautions)


def test_the_page_shows_the_gap_along_the_number(shifted: Audit, parity: Audit) -> None:
    page = shifted.to_html()
    assert '<h2 id="along">Along ' in page
    assert 'class="chart curve wide"' in page
    assert 'class="chart curve narrow"' in page
    assert "Bins would have added to it" in page
    assert '<h2 id="along">' in parity.to_html()
    plain = lfl.audit(people(200), score="score", sensitive="sex", permutations=0).to_html()
    assert 'class="chart curve' not in plain


def test_the_command_smooths(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    people(600, gap=0.05).write_csv(path)
    command = ["audit", str(path), "--score", "score", "--sensitive", "sex"]
    command += ["--smooth", "income", "--windows", "6"]
    result = call(*command, "--permutations", "99")
    assert result.returncode == 0
    assert "6 windows" in " ".join(result.stdout.split())


def test_a_number_is_legitimate_by_being_named() -> None:
    roles: dict[str, Any] = {
        "score": "score",
        "sensitive": "sex",
        "smooth": "income",
        "permutations": 99,
    }
    named = lfl.audit(people(500), **roles)
    both = lfl.audit(people(500), **roles, legitimate="income")
    assert named.roles == both.roles
    assert named.p_value == both.p_value


BAD = [
    ({"smooth": "age"}, "there is no column 'age'"),
    ({"smooth": "region"}, "column 'region' must hold numbers"),
    ({"smooth": "income", "bins": {"income": 5}}, "smooth and bins both name 'income'"),
    ({"smooth": ["income", "years"], "resolution": 0.1}, "resolution goes with one column"),
    ({"windows": 5}, "windows says how finely to look along smooth"),
    ({"smooth": "income", "windows": 1}, "windows must be at least 2, not 1"),
    ({"smooth": "income", "windows": 2.5}, "windows must be a whole number, not 2.5"),
    ({"smooth": "income", "measure": {"all": 1.0}}, "measure cannot give weights"),
    ({"smooth": "income", "score_range": (0.0, 2.0)}, "score_range gives a certificate"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    legitimate = ["income", "years", "region"]
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.audit(people(200), **{**ROLES, "legitimate": legitimate}, **settings)


def test_few_rows_cannot_be_compared_by_a_predicted_share() -> None:
    roles = {**ROLES, "legitimate": ["income", "years"]}
    with pytest.raises(lfl.errors.InputError, match="needs at least 100 rows"):
        lfl.audit(people(60), **roles, smooth=["income", "years"])


def test_numbers_with_many_values_get_a_hint() -> None:
    table = people(400).with_columns((pl.col("income") / 200).round(0) * 200)
    found = lfl.audit(table, **ROLES, permutations=0)
    hint = next(c for c in found.finding.cautions if "different values" in c)
    assert "smooth=['income'] (--smooth income)" in hint
    assert "bins={'income': 10} (--bins income=10)" in hint
    with pytest.raises(lfl.errors.InputError, match=r"smooth=\['income'\]"):
        lfl.audit(people(400), **ROLES)


def test_the_nested_distance_cuts_numbers_and_says_so() -> None:
    table = people(2000)
    columns = (table["score"], table["sex"], table["income"])
    with pytest.warns(lfl.errors.BinnedLevelWarning, match="cut at quantiles into 13 windows"):
        found = lfl.cdd_wass(*columns)
    assert len(found.levels) == 13
    with warnings.catch_warnings():
        warnings.simplefilter("error", lfl.errors.BinnedLevelWarning)
        codes = np.arange(2000) % 80
        assert len(lfl.cdd_wass(table["score"], table["sex"], codes).levels) == 80
        bands = (table["income"] / 10_000).round(0)
        few = lfl.cdd_wass(*columns[:2], bands)
        assert len(few.levels) == bands.n_unique()


def test_the_nested_distance_cuts_numbers_in_whatever_order_they_come() -> None:
    table = people(2000).with_columns(pl.col("income").clip(pl.col("income").quantile(0.2)))
    found = []
    for rows in (table, table.sort("income")):
        with pytest.warns(lfl.errors.BinnedLevelWarning, match="cut at quantiles"):
            found.append(lfl.cdd_wass(rows["score"], rows["sex"], rows["income"]))
    assert found[0].levels == pytest.approx(found[1].levels, rel=1e-12)
    assert found[0].value == pytest.approx(found[1].value, rel=1e-12)
