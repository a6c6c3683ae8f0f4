"""`likeforlike compare`, `likeforlike monitor` and `likeforlike audit --by`."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import xmlschema

from likeforlike.auditing import summarize
from tests.monitoring.test_comparison import rows
from tests.monitoring.test_periods import ROLES, lender
from tests.support.command import call

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parents[1] / "cli" / "jenkins-junit.xsd"))


def write_months(folder: Path, frame: pl.DataFrame) -> None:
    for (month,), own in frame.group_by(pl.col("applied").dt.month(), maintain_order=True):
        name = f"2025-{month:02d}"
        summarize(own, **ROLES, resolution=0.01, part=name).write(folder / f"{name}.cells")


def test_monitor_counts_what_is_new_and_ends_with_1_on_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    days = tmp_path / "days"
    days.mkdir()
    write_months(days, lender(3))
    done = call("monitor", "days", "--junit", "a.xml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Counted: 2025-01, 2025-02, 2025-03." in done.stdout
    assert "::notice title=monitor" in done.stdout
    SCHEMA.validate(tmp_path / "a.xml")
    again = call("monitor", "days", cwd=tmp_path)
    assert "Nothing new." in again.stdout
    write_months(days, lender(6, rows=300).filter(pl.col("applied").dt.month() > 3))
    done = call("monitor", "days", "--junit", "a.xml", "--report", "a.html", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "::error title=monitor" in done.stdout
    [case] = ET.parse(tmp_path / "a.xml").iter("testcase")
    assert case.find("failure") is not None
    assert "Alarm in" in (tmp_path / "summary.md").read_text()
    assert "Gap by period" in (tmp_path / "a.html").read_text()
    assert call("monitor", "days", cwd=tmp_path).returncode == 1


def test_monitor_refuses_other_rows_of_a_period(tmp_path: Path) -> None:
    write_months(tmp_path, lender(2))
    assert call("monitor", ".", cwd=tmp_path).returncode == 0
    before = (tmp_path / "monitor.state").read_bytes()
    write_months(tmp_path, lender(2, seed=5))
    done = call("monitor", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "already counted with other rows" in done.stderr
    assert (tmp_path / "monitor.state").read_bytes() == before


@pytest.mark.parametrize("trouble", ["folder", "nothing", "other", "weights", "alpha", "reference"])
def test_monitor_says_what_is_wrong(tmp_path: Path, trouble: str) -> None:
    frame, asked = lender(2), ["monitor", "."]
    expected = {
        "folder": "is no folder",
        "nothing": "no state of a monitor yet",
        "other": "has other resolution",
        "weights": "without weight and cluster",
        "alpha": "alpha must lie",
        "reference": "no two groups",
    }[trouble]
    if trouble == "folder":
        asked = ["monitor", "nowhere"]
    elif trouble == "other":
        write_months(tmp_path, frame)
        own = frame.filter(pl.col("applied").dt.month() == 1).head(50)
        summarize(own, **ROLES, resolution=0.1, part="x").write(tmp_path / "x.cells")
    elif trouble == "weights":
        summarize(frame, **ROLES, weight="w", part="x").write(tmp_path / "x.cells")
    elif trouble == "alpha":
        asked += ["--alpha", "2"]
    elif trouble == "reference":
        write_months(tmp_path, frame)
        asked += ["--reference", "nobody"]
    done = call(*asked, cwd=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr


def test_compare_ends_with_the_code_of_its_verdict(tmp_path: Path) -> None:
    frame = rows(1, n=2000).with_columns(two=pl.col("one") - 0.25 * (pl.col("group") == "g1"))
    frame.write_csv(tmp_path / "rows.csv")
    columns = ("--sensitive", "group", "--legitimate", "level", "--target", "y")
    files = ("--report", "c.html", "--json", "c.json", "--junit", "c.xml")
    scores = ("--score", "one", "--score", "two")
    done = call("compare", "rows.csv", *scores, *columns, *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Against a margin of 0: better." in done.stdout
    assert json.loads((tmp_path / "c.json").read_text())["verdict"] == "better"
    SCHEMA.validate(tmp_path / "c.xml")
    assert "<!doctype html>" in (tmp_path / "c.html").read_text()
    other = ("--score", "two", "--score", "one")
    assert call("compare", "rows.csv", *other, *columns, cwd=tmp_path).returncode == 1
    printed = call("compare", "rows.csv", *scores, *columns, "--json", "-", cwd=tmp_path)
    assert json.loads(printed.stdout)["verdict"] == "better"


def test_compare_may_be_undecided_or_refuse(tmp_path: Path) -> None:
    rows(2, n=60).write_csv(tmp_path / "rows.csv")
    scores = ("--score", "one", "--score", "two")
    assert call("compare", "rows.csv", *scores, "--sensitive", "group", cwd=tmp_path)[0] == 3
    done = call("compare", "rows.csv", "--score", "one", "--sensitive", "group", cwd=tmp_path)
    assert done.returncode == 2
    assert "two different columns" in done.stderr


def test_audit_by_month_ends_with_1_on_an_alarm_and_else_with_its_verdict(tmp_path: Path) -> None:
    lender(6, rows=300).write_csv(tmp_path / "rows.csv")
    lender(3).write_csv(tmp_path / "calm.csv")
    columns = ("--score", "score", "--sensitive", "sex", "--legitimate", "income")
    asked = (*columns, "--by", "applied=month", "--permutations", "19")
    done = call("audit", "rows.csv", *asked, "--report", "a.html", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "2025-04: gap" in done.stdout
    assert "Gap by period" in (tmp_path / "a.html").read_text()
    calm = call("audit", "calm.csv", *asked, "--threshold", "0.001", cwd=tmp_path)
    assert calm.returncode == 3, calm.stdout
    assert call("audit", "calm.csv", *asked, "--threshold", "2", cwd=tmp_path).returncode == 0
    refused = call("audit", "calm.csv", *asked, "--pairs", "p.csv", cwd=tmp_path)
    assert refused.returncode == 2
