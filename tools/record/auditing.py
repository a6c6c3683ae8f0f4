"""Audits: tables of all kinds, settings, and the command line."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tools.record.case import Case, loans, pair, people
from tools.record.library import app, datasets, lfl

__all__ = ["CASES"]

_LOANS = {"score": "score", "sensitive": "sex", "legitimate": "income"}
_PEOPLE = {"score": "score", "sensitive": "group", "legitimate": "level"}


def _audit(data: Any, **settings: Any) -> lfl.Audit:  # noqa: ANN401
    return lfl.audit(data, **{"permutations": 99, **settings})


def _document(found: lfl.Audit) -> dict[str, object]:
    """The document of an audit without where it was made, and without its sentences."""
    return _lasting(found.to_dict())


def _lasting(document: Mapping[str, Any]) -> dict[str, object]:
    return {key: part for key, part in document.items() if key not in ("provenance", "finding")}


def _figures(found: lfl.Audit) -> dict[str, object]:
    """What is read first."""
    return {
        "unconditional": found.unconditional.value,
        "conditional": found.conditional.value,
        "nested": None if found.nested is None else found.nested.root,
        "p_value": found.p_value,
        "null_mean": found.null_mean,
        "estimate": found.estimate,
        "interval": found.interval,
        "coverage": found.coverage,
        "levels": [(each.name, each.distance, each.gap, each.p_adjusted) for each in found.levels],
    }


def _decisions() -> object:
    roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    found = _audit(datasets.load_loans(400).frame, **roles)
    return _document(found), [found.gate(threshold) for threshold in (0.05, 0.2, 0.5)]


def _scores() -> object:
    return _document(_audit(loans().frame, **_LOANS))


def _measures() -> object:
    given = {0: 1.0, 1: 2.0, 2: 0.0, 3: 4.0, 4: 1.0}
    names: list[Any] = ["marginal", "average", "uniform", "overlap", given]
    return [_figures(_audit(loans().frame, **_LOANS, measure=measure)) for measure in names]


def _settings() -> object:
    other: dict[str, Any] = {"confidence": 0.9, "adjustment": "bh", "min_cell": 5}
    return _document(_audit(pair(), **_PEOPLE, weight="weight", random_state=3, **other))


def _several() -> object:
    against = _audit(people(), **_PEOPLE, reference="b")
    return _document(_audit(people(), **_PEOPLE)), [each.groups for each in against.contrasts]


def _left_out() -> object:
    row = pl.int_range(pl.len())
    gaps = [
        pl.when(row % 7 == k).then(None).otherwise(pl.col(name)).alias(name)
        for k, name in enumerate(("score", "group", "level"))
    ]
    return _document(_audit(pair().with_columns(gaps), **_PEOPLE))


def _overall() -> object:
    return _document(_audit(pair(), score="score", sensitive="group", permutations=0))


def _real() -> object:
    loaded = datasets.load_adult(), datasets.load_drug(), datasets.load_communities()
    return [
        _figures(
            _audit(
                data.frame,
                score=data.target,
                sensitive=data.sensitive,
                legitimate=list(data.legitimate),
            )
        )
        for data in loaded
    ]


def _bins() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        found = _audit(
            loans().frame,
            score="score",
            sensitive="sex",
            legitimate=["debt", "income"],
            bins={"debt": 3},
            min_cell=5,
        )
    return found.to_dict()["data"], _figures(found)


def _engines() -> object:
    frame = loans().frame.select("score", "sex", "income")
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(f"{folder}/loans.csv")
        frame.write_parquet(f"{folder}/loans.parquet")
        with duckdb.connect() as connection:
            tables = {
                "polars": frame,
                "lazy": frame.lazy(),
                "pandas": frame.to_pandas(),
                "pyarrow": frame.to_arrow(),
                "duckdb": connection.read_parquet(f"{folder}/loans.parquet"),
                "csv": f"{folder}/loans.csv",
                "parquet": Path(folder, "loans.parquet"),
            }
            return {
                f"{name}, resolution={width}": _from_engine(table, width)
                for name, table in tables.items()
                for width in (None, 0.02)
            }


def _from_engine(table: object, resolution: float | None) -> object:
    found = _audit(table, **_LOANS, resolution=resolution)
    kept = {key: part for key, part in _figures(found).items() if key != "levels"}
    return found.to_dict()["data"], kept


def _command_line() -> object:
    columns = ["--score", "approved", "--sensitive", "sex", "--legitimate", "income"]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "loans.csv"), Path(folder, "out.json")
        datasets.load_loans(400).frame.write_csv(path)
        for threshold in ("0.05", "0.2", "0.5"):
            more = ["--permutations", "99", "--threshold", threshold, "--json", out]
            code = _called("audit", path, *columns, *more)
            found[threshold] = code, _lasting(json.loads(out.read_text("utf-8")))
        wrong = _called("audit", path, *columns[:-1], "no such column")
    return {"thresholds": found, "wrong input": wrong}


def _called(*arguments: object) -> object:
    """Exit code of `likeforlike`, whatever it prints."""
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            app([str(argument) for argument in arguments])
    except SystemExit as done:
        return done.code or 0
    return 0


CASES = {
    "audit of decisions": Case(_decisions),
    "audit of scores": Case(_scores),
    "audit by measure": Case(_measures),
    "audit with weights and other settings": Case(_settings),
    "audit of several groups": Case(_several),
    "audit with rows left out": Case(_left_out),
    "audit without levels, without resampling": Case(_overall),
    "audit of real data": Case(_real),
    "audit with bins": Case(_bins),
    "audit by engine": Case(_engines),
    "command line": Case(_command_line),
}
