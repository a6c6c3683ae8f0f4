"""The first minute with an audit: its line, its text, its tables, numbers as people write them."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import likeforlike as lfl
from likeforlike.auditing._audit import native_frame
from likeforlike.auditing._tables import read_cells
from likeforlike.datasets import load_loans
from likeforlike.document import Roles
from tests.support.command import call


def salaries(rows: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], rows)
    pay = 30_000 + 2_320.4 * (sex == "m") + rng.normal(0, 3_000, rows)
    return pl.DataFrame(
        {
            "pay": pay,
            "sex": sex,
            "race": rng.choice(["a", "b"], rows),
            "income": rng.choice([10_000.0, 20_000.0, 32.1, 70_000.0], rows),
        }
    )


@pytest.fixture(scope="module")
def found() -> lfl.Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        return lfl.audit(
            salaries(),
            score="pay",
            sensitive=["sex", "race"],
            legitimate="income",
            bins={"income": [20_000, 40_000]},
            permutations=99,
            unit="EUR",
        )


def test_an_audit_shows_itself_in_a_line(found: lfl.Audit) -> None:
    assert repr(found) == f"<Audit of pay by sex and race, 600 rows: {found.headline}>"
    assert "\n" not in repr(found)


def test_printing_an_audit_shows_what_the_terminal_shows(tmp_path: Any) -> None:
    frame = load_loans(1000).frame
    frame.write_csv(tmp_path / "loans.csv")
    roles: dict[str, Any] = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    options = [f"--{name}={value}" for name, value in roles.items()]
    shown = call("audit", tmp_path / "loans.csv", *options, "--permutations", 99).stdout
    printed = str(lfl.audit(frame, **roles, permutations=99))
    assert printed.split() == shown.split()


def test_numbers_are_written_as_people_write_them_with_their_unit(found: lfl.Audit) -> None:
    text = str(found)
    assert " EUR lower for" in text
    assert "e+0" not in text
    gap = found.contrasts[0].gap.value
    assert f"{abs(gap):,.0f} EUR" in text
    assert "in EUR" in " ".join(text.split())
    assert "EUR" in found.to_html()
    assert found.to_dict()["settings"]["unit"] == "EUR"


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
def test_bins_of_a_policy_have_names_people_can_read(found: lfl.Audit) -> None:
    names = {level.name for level in found.levels}
    assert names == {
        "income up to 20,000",
        "income above 40,000",
    }
    assert "20,000, 40,000" in found.to_html()
    cut = read_cells(salaries(), Roles("pay", "sex", ("income",)), bins={"income": [32.1, 50_000]})
    assert cut.level_names[0] == "income up to 32.1"
    assert "income above 50,000" in cut.level_names


def test_levels_contrasts_and_cells_are_tables_in_the_users_library() -> None:
    frame = salaries()
    tables: list[tuple[Any, type]] = [
        (frame, pl.DataFrame),
        (frame.lazy(), pl.DataFrame),
        (frame.to_pandas(), pd.DataFrame),
        (frame.to_arrow(), pa.Table),
        (duckdb.from_arrow(frame.to_arrow()), pa.Table),
    ]
    for table, kind in tables:
        audit = lfl.audit(table, score="pay", sensitive="sex", permutations=0)
        for made in (audit.to_frame(), audit.cells_frame(), audit.contrasts_frame()):
            assert isinstance(made, kind)
    assert isinstance(native_frame({"a": [1]}, "pyspark"), pd.DataFrame)


def test_the_tables_hold_the_figures_of_the_audit(found: lfl.Audit) -> None:
    levels, contrasts = (pl.DataFrame(made) for made in (found.to_frame(), found.contrasts_frame()))
    assert levels.height == sum(len(each.levels) for each in found.contrasts)
    assert levels["gap"].to_list()[0] == found.levels[0].gap
    assert contrasts["gap"].to_list() == [each.gap.value for each in found.contrasts]
    assert contrasts["columns"].to_list()[0] in ("sex", "sex × race")


def test_the_table_of_cells_adds_up_to_all_rows(found: lfl.Audit) -> None:
    cells = pl.DataFrame(found.cells_frame())
    assert cells["rows"].sum() == found.table.used
    frame = salaries()
    own = frame.filter(
        (pl.col("income") <= 20_000) & (pl.col("sex") == "f") & (pl.col("race") == "a")
    )["pay"]
    line = cells.filter(
        (pl.col("level") == "income up to 20,000") & (pl.col("group") == "f × a")
    ).row(0, named=True)
    assert line["rows"] == own.len()
    assert line["mean"] == pytest.approx(own.mean())
    assert line["median"] == own.median()


def test_the_summary_for_new_york_is_on_page_terminal_and_document(tmp_path: Any) -> None:
    salaries().write_csv(tmp_path / "pay.csv")
    done = call(
        *("audit", tmp_path / "pay.csv", "--score=pay", "--sensitive=sex", "--sensitive=race"),
        *("--permutations=9", "--preset=ll144", f"--report={tmp_path / 'page.html'}"),
    )
    assert done.returncode == 0, done.stderr
    assert "Local Law 144" in done.stdout
    assert "Summary for Local Law 144" in (tmp_path / "page.html").read_text()
    plain = lfl.audit(salaries(), score="pay", sensitive="sex", permutations=0)
    assert plain.to_dict()["local_law_144"] == []
    assert [each.category for each in plain.local_law_144()] == ["f", "m"]


def test_conventions_stand_in_the_document_in_the_order_of_contrasts(found: lfl.Audit) -> None:
    document = found.to_dict()
    for part, contrast in zip(document["classical"], document["contrasts"], strict=True):
        assert part["columns"] == contrast["columns"]
        assert set(part["groups"]) == set(contrast["groups"])
        assert part["groups"][1] == contrast["reference"]
        assert [each["name"] for each in part["levels"]] == [
            each["name"] for each in contrast["levels"]
        ]
    assert found.classical() is found.classical()
