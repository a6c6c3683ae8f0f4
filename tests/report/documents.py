"""Documents of audits, from the plain to the awkward."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans

HOSTILE = "<script>alert(\"x\")</script> & 'quotes' " + "very " * 30 + "long ü"


@cache
def loans() -> dict[str, Any]:
    """Decisions, three levels, masked overall."""
    frame = load_loans(1000).frame
    found = lfl.audit(
        frame, score="approved", sensitive="sex", legitimate="income", permutations=99
    )
    return found.to_dict()


@cache
def scores() -> dict[str, Any]:
    """Continuous scores, gaps of both signs, missing values, a level with one group, bins."""
    frame = make_loans(4000, levels=6, gap=[0.1, -0.1, 0.2, 0.0, 0.05, 0.1]).frame
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 25).then(None).otherwise(pl.col("score")).alias("score"),
        pl.when(pl.col("sex") == "male")
        .then(pl.col("income"))
        .otherwise(pl.col("income").clip(0, 4))
        .alias("income"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.BinnedLevelWarning)
        found = lfl.audit(
            frame,
            score="score",
            sensitive="sex",
            legitimate=["income", "debt"],
            bins={"debt": 3},
            resolution=0.01,
            permutations=99,
        )
    return found.to_dict()


@cache
def many_levels() -> dict[str, Any]:
    """Five thousand levels, most of them thin."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "f": rng.random(40_000),
            "a": rng.choice(["x", "y"], 40_000),
            "l": rng.integers(0, 5000, 40_000),
        }
    )
    return lfl.audit(frame, score="f", sensitive="a", legitimate="l", permutations=19).to_dict()


@cache
def several_groups() -> dict[str, Any]:
    """Three groups, one of them with a hostile name, no legitimate column."""
    rng = np.random.default_rng(0)
    groups = rng.choice([HOSTILE, "b", "c"], 600)
    frame = pl.DataFrame({"f": rng.random(600) + 0.3 * (groups == "c"), "a": groups})
    return lfl.audit(frame, score="f", sensitive="a", permutations=19).to_dict()


@cache
def untested() -> dict[str, Any]:
    """No resampling, cells of a single row, a level with a hostile name."""
    frame = pl.DataFrame(
        {"f": [0.1, 0.4, 0.3, 0.2], "a": ["x", "y", "x", "y"], "l": [HOSTILE, HOSTILE, "b", "b"]}
    )
    return lfl.audit(frame, score="f", sensitive="a", legitimate="l", permutations=0).to_dict()


ALL = {
    "loans": loans,
    "scores": scores,
    "many levels": many_levels,
    "several groups": several_groups,
    "untested": untested,
}
