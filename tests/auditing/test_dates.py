"""Dates as legitimate columns: cut by the calendar, at quantiles, or compared along time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing import Calendar, Summary, summarize
from likeforlike.auditing._tables import read_cells
from likeforlike.document import Roles
from likeforlike.errors import BinnedLevelWarning, InputError
from tests.support.command import call

pytestmark = pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
ROLES = Roles("s", "a", ("day",))
NAMED: dict[str, Any] = {"score": "s", "sensitive": "a", "legitimate": "day"}
SIZE = 1500


def made(seed: int = 0, start: date = date(2023, 11, 20)) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    days = [start + timedelta(days=int(k)) for k in random.integers(0, 500, SIZE)]
    score = random.normal(size=SIZE) + np.array([day.toordinal() for day in days]) / 1e3
    return pl.DataFrame({"s": score, "a": random.integers(0, 2, SIZE), "day": days})


def written(day: date, part: str) -> str | int:
    if part == "year":
        return day.year
    return f"{day:%Y-%m}" if part == "month" else f"{day.year}-Q{(day.month + 2) // 3}"


@pytest.mark.parametrize("part", ["month", "quarter", "year"])
def test_calendar_cuts_as_the_calendar_does(part: Calendar) -> None:
    table = made()
    found = read_cells(table, ROLES, bins={"day": part})
    wanted = sorted({written(day, part) for day in table["day"]}, key=str)
    assert list(found.cells.levels) == wanted
    assert found.level_names == tuple(f"day {label}" for label in wanted)
    assert found.calendar == {"day": part}
    exact = read_cells(
        table.with_columns(day=pl.Series([written(day, part) for day in table["day"]])), ROLES
    )
    assert exact.cells.fingerprint == found.cells.fingerprint


def engines(table: pl.DataFrame, folder: Path) -> dict[str, Any]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("dates", table.to_arrow())
    table.write_csv(folder / "dates.csv")
    return {
        "lazy": table.lazy(),
        "pandas": table.to_pandas(),
        "arrow": table.to_arrow(),
        "duckdb": connection.sql("select * from dates"),
        "times": table.with_columns(pl.col("day").cast(pl.Datetime) + pl.duration(hours=7)),
        "csv": folder / "dates.csv",
        "text": table.with_columns(pl.col("day").cast(pl.String)),
    }


@pytest.mark.parametrize("part", ["month", "quarter", "year"])
def test_every_engine_cuts_by_the_calendar(part: Calendar, tmp_path: Path) -> None:
    table = made()
    own = read_cells(table, ROLES, bins={"day": part})
    for name, other in engines(table, tmp_path).items():
        found = read_cells(other, ROLES, bins={"day": part})
        assert found.cells.levels == own.cells.levels, name
        assert (found.cells.counts == own.cells.counts).all(), name
        binned = read_cells(
            other,
            ROLES,
            bins={"day": part},
            resolution=0.1,
        )
        assert (binned.cells.counts == own.cells.counts).all(), name


def test_dates_are_numbers_along_time(tmp_path: Path) -> None:
    table = made(start=date(1968, 2, 1))
    number = table.with_columns(
        day=pl.Series([(day - date(1970, 1, 1)).days for day in table["day"]])
    )
    wanted = read_cells(number, ROLES, bins={"day": 4})
    for name, other in engines(table, tmp_path).items():
        if name in ("csv", "text", "times"):
            continue
        found = read_cells(other, ROLES, bins={"day": 4})
        assert found.edges == wanted.edges, name
        assert (found.cells.counts == wanted.cells.counts).all(), name
        assert found.calendar == {"day": "day"}
    names = read_cells(table, ROLES, bins={"day": 4}).level_names
    first, *_, last = (name.split()[-1] for name in names)
    days = sorted(table["day"])
    assert days[0] < date.fromisoformat(first) < date.fromisoformat(last) < days[-1]
    below = [day <= date.fromisoformat(first) for day in days]
    assert sum(below) == int(wanted.cells.counts[0].sum())


def test_times_of_a_day_are_told_apart() -> None:
    times = [datetime(2024, 3, 1) + timedelta(minutes=k) for k in range(200)]
    table = pl.DataFrame({"s": np.arange(200.0), "a": [0, 1] * 100, "day": times})
    names = read_cells(table, ROLES, bins={"day": 4}).level_names
    assert names[0].startswith("day up to 2024-03-01 00:")


def test_audit_along_dates_names_windows_by_dates() -> None:
    found = lfl.audit(made(), score="s", sensitive="a", smooth="day", permutations=39)
    assert all("202" in level.name for level in found.levels)
    assert "day up to 202" in " ".join(level.name for level in found.levels)
    assert found.to_dict()["data"]["calendar"] == {"day": "day"}


def test_bins_of_dates_are_reported() -> None:
    with pytest.warns(BinnedLevelWarning, match="cut into months"):
        found = lfl.audit(made(), **NAMED, bins={"day": "month"}, permutations=39)
    assert any("day was cut into bins" in caution for caution in found.finding.cautions)
    cut = lfl.audit(made(), **NAMED, bins={"day": 3}, permutations=39)
    assert ">2024-" in cut.to_html()
    plain = lfl.audit(made(), **NAMED, permutations=39)
    assert any("day has" in caution for caution in plain.finding.cautions)


def test_summaries_of_months_merge(tmp_path: Path) -> None:
    table = made()
    for part in range(2):
        summarize(table[part::2], **NAMED, bins={"day": "month"}, part=str(part)).write(
            tmp_path / f"{part}.cells"
        )
    merged = Summary.read(tmp_path / "0.cells", tmp_path / "1.cells")
    whole = read_cells(table, ROLES, bins={"day": "month"})
    assert merged.table.cells.fingerprint == whole.cells.fingerprint
    assert merged.table.level_names == whole.level_names
    assert merged.audit(permutations=0, bins={"day": "month"}).levels
    years = summarize(table, **NAMED, bins={"day": "year"})
    with pytest.raises(InputError, match="calendar do not merge"):
        merged.merge(years)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ([1.5] * 4, "needs dates, but the type of column 'day' is Float64"),
        (["2024-03-01", "2024-13-01", "2024-03-02", "x"], "holds '2024-13-01', which is no date"),
    ],
)
def test_what_is_no_date_is_refused(column: list[Any], complaint: str) -> None:
    table = pl.DataFrame({"s": [0.0, 1.0, 0.0, 1.0], "a": [0, 1, 0, 1], "day": column})
    with pytest.raises(InputError, match=complaint):
        read_cells(table, ROLES, bins={"day": "month"})


def test_unknown_part_of_a_calendar_is_refused() -> None:
    with pytest.raises(InputError, match="'month', 'quarter' or 'year', not 'week'"):
        read_cells(made(), ROLES, bins={"day": "week"})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="column 'day' must hold numbers"):
        read_cells(made(), Roles("day", "a"))


def test_command_line_takes_months(tmp_path: Path) -> None:
    made().write_csv(tmp_path / "dates.csv")
    result = call(
        "audit",
        str(tmp_path / "dates.csv"),
        "--score",
        "s",
        "--sensitive",
        "a",
        "--legitimate",
        "day",
        "--bins",
        "day=month",
        "--permutations",
        "39",
    )
    assert "2024-" in result.stdout
