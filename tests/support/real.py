"""The four real data sets as plain tables, with a column to audit and the roles of the others.

The files are read here without the loaders, which are checked against what is read here.
"""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import likeforlike
from likeforlike.datasets import _public as public
from likeforlike.datasets import _public as storage

BUNDLE = Path(likeforlike.__file__).parent / "datasets" / "bundled"
(LAW_SCHOOL,) = public.LAW_SCHOOL.files


class RealTable(NamedTuple):
    frame: pl.DataFrame
    arguments: dict[str, Any]


def content(path: str) -> bytes:
    """A file as it was published: unpacked from the bundle, or Law School wherever it is."""
    if path == LAW_SCHOOL.path:
        return storage.read(LAW_SCHOOL)
    return lzma.decompress((BUNDLE / f"{path}.xz").read_bytes())


def adult() -> RealTable:
    """Hours a week by sex, among people of equal occupation."""
    names = [f"column_{k}" for k in range(15)]
    names[6], names[9], names[12] = "occupation", "sex", "hours"
    text = content("adult/adult.data").decode().strip()
    rows = [line.split(", ") for line in text.splitlines()]
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
    frame = pl.read_csv(content("drug/drug_consumption.data"), has_header=False)
    # Columns by position: versions of polars differ in the names they give to nameless ones.
    frame = frame.select(
        pl.nth(2).alias("gender"),
        pl.nth(3).alias("education"),
        (pl.nth(18) != "CL0").cast(pl.Int64).alias("used"),
    )
    roles = {"score": "used", "sensitive": "gender", "legitimate": ["education"]}
    return RealTable(frame, roles)


def law_school() -> RealTable:
    """First-year grades by gender, among people of equal admission test (deciles) and status."""
    frame = pl.read_csv(content(LAW_SCHOOL.path))
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
    frame = pl.read_csv(content("communities/communities.data"), has_header=False, null_values="?")
    frame = frame.select(
        pl.nth(127).alias("crime"),
        (pl.nth(7) > 0.06).alias("more_black"),
        pl.nth(17).alias("income"),
    )
    roles = {
        "score": "crime",
        "sensitive": "more_black",
        "legitimate": ["income"],
        "bins": {"income": 10},
    }
    return RealTable(frame, roles)


TABLES = {"adult": adult, "drug": drug, "law_school": law_school, "communities": communities}
