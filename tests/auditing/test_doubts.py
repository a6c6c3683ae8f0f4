"""Doubt and drivers on an audit: JSON, page, terminal, command line, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from likeforlike import Audit, audit, summarize
from likeforlike.errors import InputError
from tests.support.command import call

ASKED: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "income"}


def table(size: int = 500) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    sex = np.where(rng.random(size) < 0.5, "f", "m")
    income, tenure = rng.integers(0, 3, size), rng.integers(0, 3, size)
    hours = rng.normal(size=size) + 0.8 * (sex == "m")
    return pl.DataFrame(
        {
            "score": 0.3 * income + 0.5 * hours + 0.1 * rng.normal(size=size),
            "sex": sex,
            "income": income,
            "tenure": tenure,
            "hours": hours,
        }
    )


def parts(data: pl.DataFrame) -> dict[str, Any]:
    income, hours = 0.3 * data["income"].to_numpy(), 0.5 * data["hours"].to_numpy()
    return {"income": income, "hours": hours, "rest": data["score"].to_numpy() - income - hours}


def examined(**more: Any) -> Audit:
    data = table()
    found = audit(data, **ASKED, permutations=99, **more)
    return found.with_results(
        found.sensitivity("income", threshold=0.1),
        found.specifications(["tenure"]),
        found.drivers(parts(data)),
    )


def test_results_are_in_the_json_and_come_back() -> None:
    found = examined()
    again = Audit.from_json(found.to_json())
    assert again == found
    assert again.document.drivers == found.document.drivers
    assert again.document.sensitivity == found.document.sensitivity
    assert again.document.specifications == found.document.specifications
    assert again.to_html() == found.to_html()


def test_sections_are_on_the_page_only_where_asked_for() -> None:
    plain, full = audit(table(), **ASKED, permutations=99).to_html(), examined().to_html()
    for title in ("What would explain it away", "What carries it"):
        assert title not in plain
        assert title in full
    assert full.count('class="chart curve"') == full.count('class="chart drivers"') == 1
    assert "hours carries" in full


def test_frames_are_of_the_library_of_the_data() -> None:
    found, results = audit(table(), **ASKED, permutations=0), examined().document
    for result, rows in (
        (results.sensitivity, 1),
        (results.specifications, 2),
        (results.drivers, 3),
    ):
        assert result is not None
        frame = found.results_frame(result)
        assert isinstance(frame, pl.DataFrame)
        assert frame.height == rows
        assert "gap" in frame.columns


def test_the_terminal_says_what_the_page_says() -> None:
    text = str(examined())
    assert "times as common (in odds)" in text
    assert "hours carries" in text


def test_each_contrast_has_its_sensitivity() -> None:
    data = table().with_columns(
        sex=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("x")).otherwise("sex")
    )
    found = audit(data, **ASKED, permutations=0)
    assert [each.groups for each in found.sensitivity()] == [e.groups for e in found.contrasts]
    assert found.drivers(parts(data), contrast=2).groups == found.contrasts[2].groups
    assert found.specifications(["tenure"], contrast=1).groups == found.contrasts[1].groups
    with pytest.raises(InputError, match="contrast must be 0 to 2"):
        found.drivers(parts(data), contrast=3)


def test_names_escape_on_the_page() -> None:
    data = table()
    found = audit(data, **ASKED, permutations=0)
    named = {"<b>hours": parts(data)["hours"] + parts(data)["income"], "rest": parts(data)["rest"]}
    assert "<b>hours" not in found.with_results(found.drivers(named)).to_html()


def test_small_groups_stay_hidden() -> None:
    found = audit(table(), **ASKED, permutations=0, suppress_below=10)
    with pytest.raises(InputError, match="suppress_below"):
        found.with_results(found.sensitivity())


def test_numbers_and_summaries_are_refused() -> None:
    smooth = audit(table(), score="score", sensitive="sex", smooth="hours", permutations=0)
    for ask in (smooth.sensitivity, lambda: smooth.drivers({}), lambda: smooth.specifications("a")):
        with pytest.raises(InputError, match="in the place of smooth"):
            ask()
    counted = summarize(table(), **ASKED).audit(permutations=0)
    assert counted.sensitivity()[0].robustness > 0.0
    with pytest.raises(InputError, match="not a summary"):
        counted.specifications(["tenure"])
    read = Audit.from_json(counted.to_json())
    with pytest.raises(InputError, match="needs the data"):
        read.sensitivity()


def test_rounded_scores_have_nearly_the_same_sensitivity() -> None:
    [exact] = audit(table(), **ASKED, permutations=0).sensitivity()
    [rounded] = audit(table(), **ASKED, permutations=0, resolution=0.01).sensitivity()
    assert rounded.scale == pytest.approx(exact.scale, rel=1e-3)
    assert rounded.odds == pytest.approx(exact.odds, rel=0.02)


def test_files_have_the_drivers_of_their_rows(tmp_path: Path) -> None:
    data = table().with_columns(
        income=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("income")
    )
    filled = data.with_columns(pl.col("income").fill_null(0))
    expected = audit(data, **ASKED, permutations=0).drivers(parts(filled))
    data.write_csv(tmp_path / "rows.csv")
    data.write_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        found = audit(tmp_path / name, **ASKED, permutations=0).drivers(parts(filled))
        assert found.gap == pytest.approx(expected.gap)
        assert found.rows == expected.rows


def options(file: Path) -> list[object]:
    named = ["--score", "score", "--sensitive", "sex", "--legitimate", "income"]
    return ["audit", file, *named, "--permutations", 49]


def test_options_deliver_all_of_it(tmp_path: Path) -> None:
    data, file, out = table(), tmp_path / "rows.csv", tmp_path / "found.json"
    data.write_csv(file)
    pl.DataFrame(parts(data)).write_csv(tmp_path / "phi.csv")
    asked = ["--sensitivity", "--candidate", "tenure", "--contributions", tmp_path / "phi.csv"]
    called = call(*options(file), *asked, "--json", out)
    assert called.returncode == 0
    assert "hours carries" in called.stdout
    found = json.loads(out.read_text())
    assert [each["name"] for each in found["drivers"]["inputs"]] == ["hours", "rest", "income"]
    assert found["specifications"]["candidates"] == ["tenure"]
    assert found["sensitivity"][0]["gap_odds"] > 1.0


def test_model_file_explains_its_own_scores(tmp_path: Path) -> None:
    import lightgbm

    data, out = table(), tmp_path / "found.json"
    data = data.with_columns(
        income=10 * pl.col("income"), place=pl.Series(["north", "south"] * 250)
    )
    kinds = {"income": "category", "place": "category"}
    inputs = data.select("income", "hours", "place").to_pandas().astype(kinds)
    model = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, n_jobs=1)
    model.fit(inputs, data["score"].to_numpy())
    model.booster_.save_model(tmp_path / "model.txt")
    data = data.with_columns(score=pl.Series(model.predict(inputs)))
    data.write_csv(tmp_path / "rows.csv", separator="|")
    words = [
        *options(tmp_path / "rows.csv"),
        "--separator",
        "|",
        "--model",
        tmp_path / "model.txt",
        "--json",
        out,
    ]
    assert call(*words).returncode == 0
    found = json.loads(out.read_text())["drivers"]
    assert found["scale"] == "score"
    assert found["inputs"][0]["name"] == "hours"


def test_audit_of_an_engine_still_goes_to_another_process() -> None:
    import duckdb

    data = table()
    found = audit(duckdb.sql("select * from data"), **ASKED, permutations=0)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    with pytest.raises(InputError, match="audit the table itself"):
        again.specifications(["tenure"])
    with pytest.raises(InputError, match="no order in this engine"):
        found.drivers(parts(data))


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    table().write_csv(file)
    called = call(*options(file), "--model", "m.txt", "--contributions", "c.csv")
    assert called.returncode == 2
    assert "give one of them" in called.stderr


@pytest.mark.parametrize("asked", [("--sensitivity",), ("--candidate", "tenure")])
def test_doubt_about_periods_is_refused(tmp_path: Path, asked: tuple[str, ...]) -> None:
    table(200).with_columns(month=pl.lit("2026-01")).write_csv(tmp_path / "l.csv")
    roles = ("--score", "score", "--sensitive", "sex", "--legitimate", "income")
    done = call("audit", "l.csv", *roles, "--by", "month", *asked, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{asked[0]} and --by do not go together" in " ".join(done.stderr.split())
