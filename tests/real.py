"""The four real data sets as plain tables, with a column to audit and the roles of the others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl


class RealTable(NamedTuple):
    frame: pl.DataFrame
    arguments: dict[str, Any]


def folder() -> Path:
    """Where the data are; without them these tests cannot run, and say so."""
    path = Path(os.environ.get("LIKEFORLIKE_DATA", "../shared/data"))
    assert path.is_dir(), f"LIKEFORLIKE_DATA must name the folder of the real data, not {path}"
    return path


def adult() -> RealTable:
    """Hours a week by sex, among people of equal occupation."""
    names = [f"column_{k}" for k in range(15)]
    names[6], names[9], names[12] = "occupation", "sex", "hours"
    text = (folder() / "adult" / "adult.data").read_text().strip().splitlines()
    rows = [line.split(", ") for line in text]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        pl.col("hours").cast(pl.Float64),
        pl.when(pl.col("occupation") == "?")
        .then(None)
        .otherwise(pl.col("occupation"))
        .alias("occupation"),
    )
    roles = {"score": "hours", "sensitive": "sex", "legitimate": ["occupation"]}
    return RealTable(frame.select("hours", "sex", "occupation"), roles)


def drug() -> RealTable:
    """Use of cannabis by gender, among people of equal education."""
    frame = pl.read_csv(folder() / "drug" / "drug_consumption.data", has_header=False)
    frame = frame.select(
        pl.col("column_3").alias("gender"),
        pl.col("column_4").alias("education"),
        (pl.col("column_19") != "CL0").cast(pl.Int64).alias("used"),
    )
    roles = {"score": "used", "sensitive": "gender", "legitimate": ["education"]}
    return RealTable(frame, roles)


def law_school() -> RealTable:
    """First-year grades by gender, among people of equal admission test (deciles) and status."""
    frame = pl.read_csv(folder() / "law_school" / "bar_pass_prediction.csv")
    frame = frame.select("zfygpa", "gender", "lsat", "fulltime")
    roles = {
        "score": "zfygpa",
        "sensitive": "gender",
        "legitimate": ["lsat", "fulltime"],
        "bins": {"lsat": 10},
    }
    return RealTable(frame, roles)


def communities() -> RealTable:
    """Crime rates by share of black residents, among places of equal income (deciles)."""
    lines = (folder() / "communities" / "communities.names").read_text().splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@attribute")]
    frame = pl.read_csv(
        folder() / "communities" / "communities.data",
        has_header=False,
        new_columns=names,
        null_values="?",
    )
    frame = frame.select(
        pl.col("ViolentCrimesPerPop").alias("crime"),
        (pl.col("racepctblack") > 0.06).alias("more_black"),
        pl.col("medIncome").alias("income"),
    )
    roles = {
        "score": "crime",
        "sensitive": "more_black",
        "legitimate": ["income"],
        "bins": {"income": 10},
    }
    return RealTable(frame, roles)


TABLES = {"adult": adult, "drug": drug, "law_school": law_school, "communities": communities}
