"""Several sensitive columns: one family, nobody dropped, the same on every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

import likeforlike as lfl
from likeforlike.document import GroupRows
from likeforlike.inference import HeadlineTest, chi_square_tail, homogeneity
from tests.auditing.test_tables import results
from tests.support.command import call

ROLES: dict[str, Any] = {"score": "score", "sensitive": ["sex", "race"], "legitimate": "band"}


def people(rows: int = 1500, *, gap: float = 0.0, seed: int = 0) -> pl.DataFrame:
    """Unknown sexes, missing scores, a race of ten, and women of race b with lower scores."""
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], rows), rng.choice(["a", "b"], rows, p=[0.6, 0.4])
    race[:10] = "c"
    band = rng.integers(0, 3, rows)
    score = rng.normal(size=rows).round(2) + band - gap * ((sex == "f") & (race == "b"))
    return pl.DataFrame({"score": score, "sex": sex, "race": race, "band": band}).with_columns(
        pl.when(pl.Series(rng.random(rows) > 0.03)).then("sex").alias("sex"),
        pl.when(pl.Series(rng.random(rows) > 0.02)).then("score").alias("score"),
    )


@pytest.fixture(scope="module")
def found() -> lfl.Audit:
    return lfl.audit(people(gap=1.0), **ROLES, permutations=99)


def by_columns(groups: tuple[GroupRows, ...]) -> dict[tuple[str, ...], list[GroupRows]]:
    families: dict[tuple[str, ...], list[GroupRows]] = {}
    for each in groups:
        families.setdefault(each.columns, []).append(each)
    return families


def test_each_column_alone_and_both_crossed_are_one_family(found: lfl.Audit) -> None:
    pairs = {(each.columns, frozenset(each.groups)) for each in found.contrasts}
    assert pairs == {
        (("sex",), frozenset({"f", "m"})),
        (("race",), frozenset({"a", "b"})),
        (("sex", "race"), frozenset({"m × a", "f × a"})),
        (("sex", "race"), frozenset({"m × a", "f × b"})),
        (("sex", "race"), frozenset({"m × a", "m × b"})),
    }
    assert found.evidence is not None
    tests = (each.test for each in found.evidence.contrasts)
    tails = [test.tail_p_value for test in tests if isinstance(test, HeadlineTest)]
    assert [each.p_value for each in found.contrasts] == pytest.approx(
        lfl.inference.adjust(np.array(tails), "holm").tolist()
    )
    assert {each.gap.confidence for each in found.contrasts} == {1.0 - 0.05 / 5}
    assert set(found.contrasts[0].groups) == {"f × b", "m × a"}
    assert found.omnibus is None


def test_the_crossed_groups_hold_the_rows_that_have_both_values(found: lfl.Audit) -> None:
    frame = people(gap=1.0).drop_nulls()
    alone = lfl.audit(
        frame.with_columns(pl.concat_str("sex", "race", separator=" × ").alias("both")).filter(
            pl.col("both").is_in(["f × b", "m × a"])
        ),
        score="score",
        sensitive="both",
        legitimate="band",
        permutations=99,
    )
    contrast = found.contrasts[0]
    assert contrast.test is not None
    assert alone.contrasts[0].test is not None
    assert contrast.gap.value == alone.gap
    assert contrast.conditional.value == alone.conditional.value
    assert contrast.test.p_value == alone.contrasts[0].test.p_value


def test_a_row_without_a_sex_counts_in_its_race(found: lfl.Audit) -> None:
    frame = people(gap=1.0)
    race = lfl.audit(
        frame.filter(pl.col("race") != "c"),
        score="score",
        sensitive="race",
        legitimate="band",
        permutations=0,
    )
    crossed = next(each for each in found.contrasts if each.columns == ("race",))
    assert crossed.gap.value == race.gap


def test_rows_add_up_in_every_column(found: lfl.Audit) -> None:
    families = by_columns(found.groups)
    assert list(families) == [("sex",), ("race",), ("sex", "race")]
    frame = people(gap=1.0)
    for columns, groups in families.items():
        assert sum(each.rows for each in groups) == frame.height
        for each in groups:
            assert each.compared + each.not_compared + each.missing == each.rows
            assert min(each.compared, each.not_compared, each.missing) >= 0
        unknown = frame.select(pl.any_horizontal(pl.col(*columns).is_null())).to_series().sum()
        assert sum(each.rows for each in groups if each.group is None) == unknown
    sexes = {each.group: each for each in families["sex",]}
    for sex in ("f", "m"):
        own = frame.filter(pl.col("sex") == sex)
        assert sexes[sex].rows == own.height
        assert sexes[sex].missing == own["score"].null_count()


def test_groups_that_are_too_small_are_named_and_counted(found: lfl.Audit) -> None:
    small = {each.groups[0]: each for each in found.unexamined}
    assert set(small) == {"c", "f × c", "m × c"}
    assert small["c"].columns == ("race",)
    assert small["c"].reason == "they have fewer than 20 rows."
    there = {each.group: each for each in by_columns(found.groups)["race",]}
    assert small["c"].rows["c"] == there["c"].not_compared > 0
    assert found.gate(100.0) == "investigate"


@pytest.mark.parametrize("resolution", [None, 0.05])
@pytest.mark.parametrize("engine", ["pandas", "arrow", "lazy", "duckdb", "csv", "parquet"])
def test_every_engine_gives_the_same(engine: str, resolution: float | None, tmp_path: Path) -> None:
    frame = people(600)
    frame.write_csv(tmp_path / "table.csv")
    frame.write_parquet(tmp_path / "table.parquet")
    tables: dict[str, Any] = {
        "pandas": frame.to_pandas,
        "arrow": frame.to_arrow,
        "lazy": frame.lazy,
        "duckdb": lambda: duckdb.read_parquet(str(tmp_path / "table.parquet")),
        "csv": lambda: tmp_path / "table.csv",
        "parquet": lambda: tmp_path / "table.parquet",
    }
    settings: dict[str, Any] = {**ROLES, "permutations": 19, "resolution": resolution}
    expected = results(lfl.audit(frame, **settings))
    assert results(lfl.audit(tables[engine](), **settings)) == expected


def test_numbers_and_truth_values_with_holes_are_the_same_on_pandas() -> None:
    frame = people(600).with_columns(
        (pl.col("sex") == "f").alias("sex"), pl.col("race").replace_strict({"a": 1, "b": 2, "c": 3})
    )
    frame = frame.with_columns(pl.when(pl.col("band") != 5).then("race").alias("race"))
    settings: dict[str, Any] = {**ROLES, "permutations": 9}
    there = results(lfl.audit(frame.to_pandas(), **settings))
    assert there == results(lfl.audit(frame, **settings))
    names = {name for part in there["contrasts"] for name in part["groups"]}
    assert "sex False × race 1" in names


def test_words_for_missing_values_are_unknown(tmp_path: Path) -> None:
    frame = people(600).with_columns(pl.col("sex").fill_null("NA"))
    frame.write_csv(tmp_path / "table.csv")
    settings: dict[str, Any] = {**ROLES, "permutations": 0}
    found = lfl.audit(tmp_path / "table.csv", **settings)
    assert found.groups == lfl.audit(people(600), **settings).groups


def test_references_are_named_by_column() -> None:
    frame = people()
    found = lfl.audit(frame, **ROLES, permutations=0, reference={"sex": "f", "race": "b"})
    assert {each.reference for each in found.contrasts} == {"f", "b", "f × b"}
    assert all(each.reference in each.groups for each in found.contrasts)
    some = lfl.audit(frame, **ROLES, permutations=0, reference={"sex": "f"})
    assert {each.reference for each in some.contrasts} == {"f", "a", "f × a"}
    assert some.to_dict()["settings"]["reference"] == {"sex": "f"}
    one = lfl.audit(frame, score="score", sensitive="race", permutations=0, reference={"race": "b"})
    assert {each.reference for each in one.contrasts} == {"b"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"reference": "f"},
            r"must say of which column it is a value, as .* \(--reference sex=f\)",
        ),
        ({"reference": {"age": 3}}, "reference names 'age', which is not a sensitive column"),
        ({"reference": {"sex": "x"}}, r"'x' is no value of 'sex'; its values are \['f', 'm'\]"),
        ({"sensitive": []}, "sensitive must be a column or a list of columns"),
        ({"sensitive": ["sex", "sex"]}, "must be different columns"),
        ({"sensitive": ["sex", "empty"]}, "column 'empty' has no value in any row"),
        ({"sensitive": ["sex", "same"]}, "column 'same' has the single value 'x'"),
        ({"min_cell": 10_000}, "no group has enough rows to be compared"),
        ({"preset": "ll145"}, r"preset must be one of \('ll144',\), not 'll145'"),
        ({"unit": " "}, "unit must be a word such as 'EUR', not ' '"),
        (
            {"sensitive": "sex", "suppress_below": 10, "preset": "ll144"},
            "suppress_below and preset='ll144' do not go together",
        ),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    frame = people(300).with_columns(
        pl.lit("x").alias("same"), pl.lit(None, pl.String).alias("empty")
    )
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.audit(frame, **{**ROLES, "permutations": 0, **change})


def test_one_column_in_a_list_is_one_column() -> None:
    frame = people(300)
    settings: dict[str, Any] = {"score": "score", "legitimate": "band", "permutations": 0}
    one, listed = (lfl.audit(frame, sensitive=name, **settings) for name in ("sex", ["sex"]))
    assert results(one) == results(listed)


def test_the_command_takes_several_columns_and_references(tmp_path: Path) -> None:
    people(600).write_csv(tmp_path / "table.csv")
    out = tmp_path / "audit.json"
    done = call(
        *("audit", tmp_path / "table.csv", "--score", "score", "--sensitive", "sex"),
        *("--sensitive", "race", "--legitimate", "band", "--permutations", "9", "--json", out),
        *("--reference", "sex=f", "--reference", "race=b"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text())
    assert document["roles"]["also_sensitive"] == ["race"]
    assert {part["reference"] for part in document["contrasts"]} == {"f", "b", "f × b"}
    wrong = call(
        *("audit", tmp_path / "table.csv", "--score", "score", "--sensitive", "sex"),
        *("--sensitive", "race", "--reference", "f"),
    )
    assert wrong.returncode == 2
    assert "--reference must look like COLUMN=GROUP" in wrong.stderr


# -- Missing values by group ----------------------------------------------------------------------


def test_groups_that_lose_more_rows_are_named_with_a_test() -> None:
    frame = people(2000).drop_nulls()
    gone = (pl.col("sex") == "f") & (pl.int_range(pl.len()) % 3 == 0)
    frame = frame.with_columns(pl.when(~gone).then("score").alias("score"))
    found = lfl.audit(frame, **ROLES, permutations=0)
    tests = {each.columns: each for each in found.loss_tests}
    counts = np.array(
        [
            [
                frame.filter((pl.col("sex") == sex) & pl.col("score").is_null()).height,
                frame.filter((pl.col("sex") == sex) & pl.col("score").is_not_null()).height,
            ]
            for sex in "fm"
        ]
    )
    theirs = stats.chi2_contingency(counts, correction=False)
    assert tests["sex",].statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert tests["sex",].p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert tests["race",].p_value > 0.001
    cautions = " ".join(found.finding.cautions)
    assert "Missing values are not spread evenly: women lost 3" in cautions
    contrast = next(each for each in found.contrasts if each.columns == ("sex",))
    lost = counts[0, 0] / counts[0].sum()
    assert contrast.coverage["f"] == pytest.approx(1.0 - lost)


def test_the_tail_of_chi_squared_is_that_of_scipy() -> None:
    for degrees in (1, 2, 3, 10, 99, 1000):
        for x in (0.0, 1e-3, 1.0, float(degrees), 2.0 * degrees, 700.0):
            expected = float(stats.chi2.sf(x, degrees))
            assert chi_square_tail(x, degrees) == pytest.approx(expected, rel=1e-12)


def test_a_table_with_one_row_has_nothing_to_compare() -> None:
    assert homogeneity(np.array([[3.0, 4.0], [0.0, 0.0]])) == (0.0, 0, 1.0)


# -- At parity ------------------------------------------------------------------------------------


@pytest.mark.simulation
def test_the_family_keeps_its_error_at_parity() -> None:
    """Forty audits at parity: with 5% of false alarms more than 7 have a chance of 0.1%."""
    alarms = 0
    for seed in range(40):
        found = lfl.audit(people(300, seed=seed), **ROLES, permutations=59, random_state=seed)
        alarms += "No difference" not in found.headline
    assert alarms <= int(stats.binom.ppf(0.999, 40, 0.05))
