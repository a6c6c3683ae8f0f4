"""Summaries: parts counted where they are, and the audit of all their rows, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import Audit, Cells
from likeforlike._settings import Engine
from likeforlike.auditing import Policy, Summary, summarize
from likeforlike.auditing._summary import Part
from likeforlike.errors import InputError
from tests.support.command import call

ROLES: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": ["band", "code"]}
DAYS = 365


def rows(size: int, seed: int = 0) -> pl.DataFrame:
    """Scores with ties and gaps, two columns of levels, values missing here and there."""
    random = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "score": np.round(random.normal(size=size), 3),
            "sex": random.choice(["f", "m", "x"], size),
            "band": random.choice(["high", "low"], size),
            "code": random.integers(1, 5, size),
            "day": random.integers(0, DAYS, size),
        }
    )
    holes = random.random(size)
    return frame.with_columns(
        score=pl.when(pl.Series(holes < 0.01)).then(None).otherwise(pl.col("score")),
        sex=pl.when(pl.Series(holes > 0.995)).then(None).otherwise(pl.col("sex")),
    )


def said(audit: Audit) -> dict[str, Any]:
    """All that an audit says, but for when it was made."""
    document: dict[str, Any] = dict(audit.to_dict())
    document["provenance"] = {**document["provenance"], "created": ""}
    return document


ALL = rows(6000)


@pytest.fixture(scope="module")
def whole() -> Audit:
    return lfl.audit(ALL, **ROLES, resolution=0.05, permutations=49)


@pytest.mark.simulation
def test_a_year_of_days_is_the_year(whole: Audit, tmp_path: Path) -> None:
    files = [tmp_path / f"{day}.cells" for day in range(DAYS)]
    for day, part in ALL.group_by("day"):
        summarize(part, **ROLES, resolution=0.05, part=str(day[0])).write(files[day[0]])
    year = Summary.read(*files)
    assert len(year.parts) == DAYS
    assert said(year.audit(permutations=49)) == said(whole)


def test_summaries_of_summaries_are_the_same(whole: Audit, tmp_path: Path) -> None:
    parts = [summarize(ALL[k::7], **ROLES, resolution=0.05) for k in range(7)]
    region = parts[4].merge(parts[1], parts[6])
    region.write(tmp_path / "region.cells")
    again = Summary.read(tmp_path / "region.cells")
    everybody = parts[0].merge(parts[2], again, parts[3], parts[5])
    assert said(everybody.audit(permutations=49)) == said(whole)
    assert Cells.read(tmp_path / "region.cells").counts.sum() == region.table.used


def test_exact_scores_weights_and_clusters_merge_too() -> None:
    table = rows(600, 1).drop_nulls().with_row_index("person")
    table = table.with_columns(pl.col("person") // 2, weight=pl.col("code") / 3)
    arguments = {**ROLES, "weight": "weight", "cluster": "person"}
    parts = [summarize(table[k : k + 150], **arguments) for k in range(0, len(table), 150)]
    exact = lfl.audit(table, **arguments, permutations=9)
    assert said(parts[0].merge(*parts[1:]).audit(permutations=9)) == said(exact)


def as_csv(part: pl.DataFrame, path: Path) -> Path:
    part.write_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def as_parquet(part: pl.DataFrame, path: Path) -> Path:
    part.write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def summarized_alike(
    engine: Engine, written: Callable[[pl.DataFrame, Path], Path], folder: Path
) -> None:
    """Check that the summaries of three files, by the command line, are the audit of all rows."""
    table = rows(900, 2)
    options = (
        *("--score", "score", "--sensitive", "sex", "--legitimate", "band"),
        *("--legitimate", "code", "--resolution", "0.05", "--engine", engine),
    )
    names = []
    for k in range(3):
        file = written(table[k::3], folder / f"part{k}")
        called = call("summarize", file, *options, "--out", folder / f"{k}.cells")
        assert called.returncode == 0, called.stderr
        names.append(folder / f"{k}.cells")
    merged = said(Summary.read(*names).audit(permutations=9))
    one = lfl.audit(
        written(table, folder / "all"), **ROLES, resolution=0.05, permutations=9, engine=engine
    )
    assert merged == said(one)


@pytest.mark.parametrize(
    ("engine", "written"),
    [
        ("polars", as_csv),
        ("duckdb", as_csv),
        ("duckdb", as_parquet),
    ],
)
def test_every_engine_summarizes_alike(
    engine: Engine, written: Callable[[pl.DataFrame, Path], Path], tmp_path: Path
) -> None:
    summarized_alike(engine, written, tmp_path)


def kinds(*labels: object) -> pl.DataFrame:
    """A day on which the column `kind` holds these values."""
    repeated = [label for label in labels for _ in range(40)]
    return pl.DataFrame(
        {
            "score": np.random.default_rng(len(labels)).random(len(repeated)),
            "sex": ["f", "m"] * (len(repeated) // 2),
            "kind": repeated,
        }
    )


@pytest.mark.parametrize(
    ("monday", "tuesday"),
    [
        (("1", "2"), ("1", "x")),
        (("1", "2"), ("1.5", "2")),
        (("1", "02"), ("1", "2")),
        ((1.0, 2.0), (1.5, 2.0)),
        ((1, 2), (2, 3)),
        ((True,), (False,)),
        (("b",), ("a",)),
    ],
)
@pytest.mark.parametrize("text", [True, False])
def test_labels_are_those_of_all_rows(
    monday: tuple[object, ...], tuesday: tuple[object, ...], text: bool, tmp_path: Path
) -> None:
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "kind"}
    days = [kinds(*monday), kinds(*tuesday)]
    sources: list[Any] = [*days, pl.concat(days)]
    if text:
        sources = [as_csv(day, tmp_path / str(k)) for k, day in enumerate(sources)]
    parts = [
        summarize(day, **roles, resolution=0.01, part=str(k)) for k, day in enumerate(sources[:2])
    ]
    merged = parts[0].merge(parts[1])
    merged.write(tmp_path / "both.cells")
    whole = lfl.audit(sources[2], **roles, resolution=0.01, permutations=0)
    again = Summary.read(tmp_path / "both.cells")
    for summary in (merged, again):
        audit = summary.audit(permutations=0)
        assert audit.table.cells.levels == whole.table.cells.levels
        assert list(map(type, audit.table.cells.levels)) == [
            type(label) for label in whole.table.cells.levels
        ]
        assert said(audit) == said(whole)


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
def test_bins_at_edges_merge_and_quantiles_do_not() -> None:
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "code"}
    halves = ALL[:3000], ALL[3000:]
    fixed = [summarize(half, **roles, resolution=0.05, bins={"code": [2, 3]}) for half in halves]
    whole = lfl.audit(ALL, **roles, resolution=0.05, bins={"code": [2, 3]}, permutations=0)
    assert said(fixed[0].merge(fixed[1]).audit(permutations=0)) == said(whole)
    spread = [
        summarize(half.with_columns(code=pl.col("code") * k), **roles, bins={"code": 2})
        for k, half in enumerate(halves, 1)
    ]
    with pytest.raises(InputError, match="another edges of bins do not merge"):
        spread[0].merge(spread[1])


def test_a_day_may_hold_one_group_only_but_an_audit_may_not() -> None:
    women = summarize(ALL.filter(pl.col("sex") == "f"), **ROLES)
    with pytest.raises(InputError, match="has the single value 'f'"):
        women.audit()
    men = summarize(ALL.filter(pl.col("sex") == "m"), **ROLES)
    assert women.merge(men).audit(permutations=0).contrasts[0].groups == ("f", "m")


PART = ALL[:500]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"resolution": 0.1}, r"another resolution do not merge: 0.05 and 0.1 \(tuesday\)"),
        ({"resolution": None}, "another resolution"),
        ({"sensitive": "band", "legitimate": ["sex", "code"]}, "another sensitive column"),
        ({"legitimate": ["band"]}, "another legitimate column"),
        ({"score": "day"}, "another score column"),
        ({"dataset": "cars"}, "another data set do not merge: 'loans' and 'cars'"),
        ({"dataset": None}, "another data set"),
        ({"part": "monday"}, "the part 'monday' is there twice"),
    ],
)
def test_another_kind_of_summary_is_refused(changes: dict[str, Any], complaint: str) -> None:
    asked = {**ROLES, "resolution": 0.05, "dataset": "loans"}
    monday = summarize(PART, **asked, part="monday")
    other = summarize(ALL[500:1000], **{**asked, "part": "tuesday", **changes})
    with pytest.raises(InputError, match=complaint):
        monday.merge(other)


def test_the_same_rows_are_not_counted_twice() -> None:
    summary = summarize(PART, **ROLES, resolution=0.05)
    with pytest.raises(InputError, match="the same rows would count twice"):
        summary.merge(summarize(PART[::-1], **ROLES, resolution=0.05))
    named = [summarize(PART, **ROLES, resolution=0.05, part=name) for name in ("a", "b")]
    assert named[0].merge(named[1]).table.rows == 1000
    assert named[0].parts == (Part("a", named[1].parts[0].fingerprint),)


def test_roles_may_be_named_again_but_not_otherwise() -> None:
    summary = summarize(PART, **ROLES, resolution=0.05)
    again = summary.audit(**ROLES, resolution=0.05, permutations=0)
    assert again.table.used == summary.table.used
    with pytest.raises(InputError, match="sensitive is 'sex' in the summary, not 'band'"):
        summary.audit(sensitive="band")
    with pytest.raises(InputError, match=r"resolution is 0.05 in the summary, not 0.1"):
        summary.audit(resolution=0.1)
    with pytest.raises(InputError, match="engine cannot be said of a summary"):
        summary.audit(engine="duckdb")


def test_the_command_line_audits_summaries(whole: Audit, tmp_path: Path) -> None:
    for k in range(2):
        summarize(ALL[k::2], **ROLES, resolution=0.05).write(tmp_path / f"{k}.cells")
    (tmp_path / "rules.toml").write_text("permutations = 49\nthreshold = 0.5\n")
    called = call(
        *("audit-summaries", "0.cells", "1.cells", "--policy", "rules.toml", "--json", "out.json"),
        cwd=tmp_path,
    )
    assert called.returncode == 0, called.stderr
    audit = Policy.read(tmp_path / "rules.toml").audit(
        Summary.read(tmp_path / "0.cells", tmp_path / "1.cells")
    )
    assert whole.gate(0.5) == audit.verdicts[0].verdict == "pass"
    assert "Threshold 0.5: pass" in called.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("audit-summaries", "0.cells", "rows.csv"), "rows.csv cannot be read"),
        (("audit", "0.cells"), "likeforlike audit-summaries 0.cells audits it"),
        (("audit-summaries", "0.cells", "--engine", "duckdb"), "No such option: --engine"),
        (("audit-summaries", "none.cells"), "none.cells does not exist"),
        (("audit-summaries", "cells.cells"), "holds cells, but no summary of a table"),
        (("audit", "rows.csv", "--sensitive", "sex"), "--score must name a column"),
    ],
)
def test_wrong_files_are_one_line(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    summarize(PART, **ROLES).write(tmp_path / "0.cells")
    PART.write_csv(tmp_path / "rows.csv")
    Cells.from_rows([0.1, 0.2], ["f", "m"]).write(tmp_path / "cells.cells")
    called = call(*arguments, cwd=tmp_path)
    assert called.returncode == 2
    assert complaint in called.stderr


# Two sensitive columns, of which some values are unknown.
CROSSED: dict[str, Any] = {"score": "score", "sensitive": ["sex", "age"], "legitimate": "band"}


def crossed_rows() -> pl.DataFrame:
    unknown = np.random.default_rng(5).random(len(ALL))
    age = pl.col("code").clip(upper_bound=3) * 20
    return ALL.with_columns(age=pl.when(pl.Series(unknown < 0.97)).then(age))


def crossed_parts() -> list[pl.DataFrame]:
    """One that lacks nothing, one in which nobody says an age, and three as they come."""
    table = crossed_rows()
    complete = table.drop_nulls()[:800]
    rest = table.join(complete, on=table.columns, how="anti", nulls_equal=True)
    silent = pl.col("age").is_null()
    others = rest.filter(~silent)
    return [complete, rest.filter(silent), *(others[k::3] for k in range(3))]


@pytest.mark.parametrize("resolution", [0.05, None])
def test_several_sensitive_columns_are_those_of_all_rows(
    resolution: float | None, tmp_path: Path
) -> None:
    parts = crossed_parts()
    whole = lfl.audit(pl.concat(parts), **CROSSED, resolution=resolution, permutations=19)
    files = [tmp_path / f"{k}.cells" for k in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        summarize(part, **CROSSED, resolution=resolution).write(file)
    merged = Summary.read(*files)
    assert said(merged.audit(permutations=19)) == said(whole)
    assert {each.columns for each in whole.contrasts} == {("sex",), ("age",), ("sex", "age")}
    assert any(each.group is None for each in whole.missing)


def test_rows_of_weight_zero_are_counted_where_others_lack_values() -> None:
    complete = ALL[:900].drop_nulls().with_columns(weight=(pl.col("code") - 1) / 2)
    lacking = ALL[900:1200].with_columns(weight=1.0)
    roles = {**ROLES, "legitimate": "band", "weight": "weight"}
    merged = summarize(complete, **roles).merge(summarize(lacking, **roles))
    whole = lfl.audit(pl.concat([complete, lacking]), **roles, permutations=0)
    assert (complete["weight"] == 0.0).any()
    assert whole.missing
    assert said(merged.audit(permutations=0)) == said(whole)


def test_several_sensitive_columns_on_the_command_line(tmp_path: Path) -> None:
    roles = ("--score", "score", "--legitimate", "band", "--resolution", 0.05)
    for k, part in enumerate(crossed_parts()):
        part.write_csv(tmp_path / f"{k}.csv")
        made = call(
            *("summarize", f"{k}.csv", *roles, "--sensitive", "sex", "--sensitive", "age"),
            *("--out", f"{k}.cells"),
            cwd=tmp_path,
        )
        assert made.returncode == 0, made.stderr
    cells = [f"{k}.cells" for k in range(len(crossed_parts()))]
    asked = ("--permutations", 19, "--reference", "age=20", "--json", "out.json")
    done = call("audit-summaries", *cells, *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    pl.concat(crossed_parts()).write_csv(tmp_path / "all.csv")
    rows_audited = lfl.audit(
        tmp_path / "all.csv", **CROSSED, resolution=0.05, permutations=19, reference={"age": "20"}
    )
    expected = json.loads(rows_audited.to_json())
    assert {**found, "provenance": None} == {**expected, "provenance": None}


def test_other_sensitive_columns_are_refused() -> None:
    parts = crossed_parts()
    both, sex = (
        summarize(parts[2], **{**CROSSED, "sensitive": s}) for s in (["sex", "age"], "sex")
    )
    assert both.audit(sensitive=["sex", "age"], permutations=0).roles == both.roles
    with pytest.raises(InputError, match=r"sensitive is \('sex', 'age'\) in the summary"):
        both.audit(sensitive="sex")
    with pytest.raises(InputError, match="another sensitive column do not merge"):
        sex.merge(both)
    with pytest.raises(InputError, match="column 'age' has no value in any row"):
        summarize(parts[1], **CROSSED).audit()
