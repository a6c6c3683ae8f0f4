"""The same table in any engine, with missing values, bins and counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing._tables import read_cells
from likeforlike.document import Roles
from tests.support.needs import cases
from tests.support.real import TABLES
from tests.support.schema import Document

Engines = dict[str, Callable[[pl.DataFrame], Any]]


@pytest.fixture
def engines(tmp_path: Path) -> Engines:
    """How engines take a table, all but Spark and polars, which has it."""

    def parquet(frame: pl.DataFrame) -> str:
        path = tmp_path / "table.parquet"
        frame.write_parquet(path)
        return str(path)

    def csv(frame: pl.DataFrame) -> Path:
        path = tmp_path / "table.csv"
        frame.write_csv(path)
        return path

    return {
        "polars lazy": lambda frame: frame.lazy(),
        "pandas": lambda frame: frame.to_pandas(),
        "arrow": lambda frame: frame.to_arrow(),
        "duckdb": lambda frame: duckdb.read_parquet(parquet(frame)),
        "parquet": parquet,
        "csv": csv,
    }


def results(found: lfl.Audit) -> Document:
    """All figures of an audit; the engine and the time of day are allowed to differ."""
    document = found.to_dict()
    document["data"]["engine"] = document["provenance"]["created"] = "any"
    return document


def same_everywhere(frame: pl.DataFrame, engines: Engines, **arguments: Any) -> None:
    """Check that engines give the audit of the table in memory, to the last bit."""
    expected = results(lfl.audit(frame, **arguments))
    for engine, convert in engines.items():
        if engine == "csv" and pl.Boolean in frame.dtypes:
            # A CSV file has no truth values, only words.
            frame = frame.with_columns(pl.col(pl.Boolean).cast(pl.String))
            expected = results(lfl.audit(frame, **arguments))
        assert results(lfl.audit(convert(frame), **arguments)) == expected, engine


@pytest.mark.parametrize("name", cases(TABLES))
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("resolution", [None, 0.05])
def test_every_engine_gives_the_same_audit_to_the_last_bit(
    name: str, resolution: float | None, engines: Engines
) -> None:
    table = TABLES[name]()
    arguments = {**table.arguments, "permutations": 49, "resolution": resolution}
    same_everywhere(table.frame, engines, **arguments)


def people(*, across: bool) -> pl.DataFrame:
    """Several rows a person, in one level each or across levels; ties and weights among them."""
    rng = np.random.default_rng(3)
    person = rng.integers(0, 90, 300)
    return pl.DataFrame(
        {
            "score": rng.integers(0, 8, 300) / 7,
            "group": person % 2,
            "level": rng.integers(0, 3, 300) if across else person % 3,
            "weight": rng.choice([0.5, 1.0, 2.5], 300),
            "person": [f"p{number}" for number in person],
        }
    )


ROLES: dict[str, Any] = {
    "score": "score",
    "sensitive": "group",
    "legitimate": "level",
    "cluster": "person",
    "permutations": 49,
}


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("across", [False, True])
def test_clusters_are_the_same_on_every_engine_and_in_any_order(
    across: bool, weight: str | None, engines: Engines
) -> None:
    frame = people(across=across)
    same_everywhere(frame, engines, **ROLES, weight=weight)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=4)
    assert not shuffled.equals(frame)
    found = lfl.audit(frame, **ROLES, weight=weight)
    assert results(lfl.audit(shuffled, **ROLES, weight=weight)) == results(found)
    method = "permutation" if not across and weight is None else "design"
    assert found.to_dict()["contrasts"][0]["test"]["method"] == method


@pytest.mark.parametrize("name", cases(TABLES))
def test_counts_stay_within_their_certificate(name: str) -> None:
    table = TABLES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        exact = lfl.audit(table.frame, **table.arguments, permutations=0)
        for width in (0.3, 0.01):
            binned = lfl.audit(table.frame, **table.arguments, permutations=0, resolution=width)
            assert binned.data.resolution == width
            assert abs(binned.conditional.value - exact.conditional.value) <= width
            assert abs(binned.unconditional.value - exact.unconditional.value) <= width


def test_the_cells_of_adult_are_those_of_its_rows() -> None:
    table = TABLES["adult"]()
    found = read_cells(table.frame, Roles("hours", "sex", ("occupation",)))
    assert (found.rows, found.used) == (32_561, 32_561 - 1_843)
    assert found.missing == {"hours": 0, "sex": 0, "occupation": 1_843}
    complete = table.frame.drop_nulls()
    expected = complete.group_by("occupation", "sex").len()
    for occupation, sex, rows in expected.iter_rows():
        k, g = found.cells.levels.index(occupation), found.cells.groups.index(sex)
        assert found.cells.counts[k, g] == rows
    assert found.level_names[0] == "occupation Adm-clerical"


@pytest.mark.law_school
def test_law_school_deciles_are_quantiles_with_ties_kept_together() -> None:
    table = TABLES["law_school"]()
    with pytest.warns(lfl.errors.BinnedLevelWarning, match="'lsat' was cut into 10 bins"):
        found = read_cells(table.frame, Roles("zfygpa", "gender", ("lsat",)), bins={"lsat": 10})
    complete = table.frame.select("zfygpa", "gender", "lsat").drop_nulls()
    lsat = complete["lsat"].to_numpy()
    edges = np.quantile(lsat, np.arange(1, 10) / 10)
    np.testing.assert_allclose(found.edges["lsat"], np.unique(edges))
    sizes = np.bincount(np.searchsorted(np.unique(edges), lsat, side="left"))
    np.testing.assert_array_equal(found.cells.counts.sum(axis=1), sizes)
    assert found.level_names[0] == f"lsat up to {edges[0]:g}"
    assert found.level_names[-1] == f"lsat above {edges[-1]:g}"


def test_several_legitimate_columns_make_combined_levels() -> None:
    frame = pl.DataFrame(
        {
            "f": [0.1, 0.2, 0.3, 0.4],
            "sex": ["f", "m", "f", "m"],
            "city": ["x", "x", "y", "y"],
            "age": [30, 30, 40, 40],
        }
    )
    found = read_cells(frame, Roles("f", "sex", ("city", "age")))
    assert found.cells.levels == (("x", 30), ("y", 40))
    assert found.level_names == ("city x, age 30", "city y, age 40")


def test_missing_values_of_every_kind_are_counted() -> None:
    frame = pl.DataFrame(
        {
            "f": [0.1, float("nan"), None, 0.4, 0.5],
            "sex": ["f", "m", "f", None, "m"],
            "band": [1, None, 1, 1, 1],
        }
    )
    found = read_cells(frame, Roles("f", "sex", ("band",)))
    assert found.missing == {"f": 2, "sex": 1, "band": 1}
    assert (found.rows, found.used) == (5, 2)


def whole_numbers(kind: type[pl.DataType]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Groups and levels of some type of whole numbers, and how to audit them."""
    frame = pl.DataFrame(
        {"score": [0.1, 0.2, 0.3, 0.5] * 5, "group": [1, 2] * 10, "level": [3, 3, 7, 7] * 5},
        schema_overrides={"group": kind, "level": kind},
    )
    arguments: dict[str, Any] = {
        "score": "score",
        "sensitive": "group",
        "legitimate": "level",
        "permutations": 9,
    }
    return frame, arguments


@pytest.mark.parametrize("kind", [pl.UInt64, pl.UInt8, pl.Int64])
def test_unsigned_levels_and_groups_are_the_same_everywhere(
    kind: type[pl.DataType], engines: Engines
) -> None:
    frame, arguments = whole_numbers(kind)
    same_everywhere(frame, engines, **arguments)


def test_whole_numbers_are_integers_whatever_the_engine_says() -> None:
    frame = pl.DataFrame({"f": [0.1, 0.2, 0.3], "sex": ["f", "m", "m"], "band": [1, 1, None]})
    for table in (frame, frame.to_pandas()):
        assert read_cells(table, Roles("f", "sex", ("band",))).cells.levels == (1,)


def test_weights_give_the_same_figures_in_any_row_order() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "f": rng.integers(0, 3, 300) / 3,
            "sex": rng.choice(["f", "m"], 300),
            "band": rng.integers(0, 3, 300),
            "w": rng.random(300),
        }
    )
    roles: dict[str, Any] = {"score": "f", "sensitive": "sex", "legitimate": "band", "weight": "w"}
    there = lfl.audit(frame, **roles, permutations=49)
    back = lfl.audit(frame.sample(fraction=1.0, shuffle=True, seed=1), **roles, permutations=49)
    assert results(there) == results(back)


BAD_TABLES: list[tuple[dict[str, Any], str]] = [
    ({"score": "nothing"}, r"no column 'nothing'; the table has \['f', 'sex', 'band', 'id'"),
    (
        {"score": "sex2"},
        "column 'sex2' must hold numbers, or decisions as 1 and 0, but its values are 'f' and",
    ),
    ({"sensitive": "id"}, "column 'id' has 40 different values in 40 rows"),
    ({"sensitive": "same"}, "column 'same' has the single value 'x'"),
    ({"legitimate": ["band", "sex"]}, "must be different columns"),
    ({"bins": {"f": 4}}, "bins names 'f', which is not a legitimate column"),
    ({"bins": {"band": 1}}, "at least 2 parts, not 1"),
    ({"legitimate": ["sex2"], "bins": {"sex2": 3}}, "column 'sex2' must hold numbers"),
    ({"resolution": 0.0}, "resolution must be more than 0"),
    ({"resolution": 0.1, "weight": "f2"}, "weight and resolution do not go together"),
    ({"score": "inf"}, r"column 'inf' has 1 value\(s\) that are not finite"),
    ({"legitimate": ["empty"]}, "no row has a value in every column"),
    ({"permutations": -1}, "permutations must lie between 0 and 10,000,000"),
    ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
    ({"reference": "x"}, r"reference 'x' is not a group; the groups are \['f', 'm'\]"),
    ({"legitimate": ["id"]}, "column 'id' has 40 different values .* looks like an identifier"),
    (
        {"legitimate": ["pair"]},
        r"two of the groups .* fewer columns in legitimate \(--legitimate\) or with bins",
    ),
    ({"weight": "negative"}, "column 'negative' has 1 negative"),
]


@pytest.mark.parametrize(("change", "message"), BAD_TABLES)
def test_bad_tables_are_refused_with_a_reason(change: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame(
        {
            "f": np.arange(40) / 40,
            "sex": ["f", "m"] * 20,
            "band": [1, 1, 2, 2] * 10,
            "id": [f"p{i}" for i in range(40)],
            "pair": [f"p{i % 2}{i // 4}" for i in range(40)],
            "same": ["x"] * 40,
            "sex2": ["f", "m"] * 20,
            "f2": np.ones(40),
            "inf": [np.inf] + [0.0] * 39,
            "empty": pl.Series([None] * 40, dtype=pl.Int64),
            "negative": [-1.0] + [1.0] * 39,
        }
    )
    arguments = {"score": "f", "sensitive": "sex", "legitimate": ["band"], **change}
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.audit(frame, **arguments)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match="data must be a table"):
        lfl.audit(object(), score="f", sensitive="sex")


def test_broken_files_are_refused(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"score": "f", "sensitive": "sex"}
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"f": np.arange(1000) / 7, "sex": ["f", "m"] * 500}).write_parquet(whole)
    truncated = tmp_path / "truncated.parquet"
    truncated.write_bytes(whole.read_bytes()[:500])
    with pytest.raises(lfl.errors.InputError, match=r"truncated\.parquet cannot be read"):
        lfl.audit(truncated, **arguments)
    for name, message in (
        ("absent.csv", "does not exist"),
        ("table.xls", r"must end in \.csv or \.tsv .*; save it as \.xlsx or as CSV"),
    ):
        with pytest.raises(lfl.errors.InputError, match=message):
            lfl.audit(tmp_path / name, **arguments)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(lfl.errors.InputError, match=r"empty\.csv cannot be read"):
        lfl.audit(empty, **arguments)
