"""Documents of audits for the report to show: the usual, the large and the hostile."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans
from likeforlike.demonstration import compare_models, demonstration_document, train_models
from likeforlike.errors import BinnedLevelWarning

SCRIPT = "<script>alert(1)</script>"
QUOTES = "\"quoted' & <b onclick=alert(2)>bold</b>"
LONG = "Übergröße 😀 " + "long " * 60 + "x" * 300
HOSTILE_SCORE = "<img src=x onerror=alert(3)>"


class Documented(Protocol):
    """Something that has a document."""

    def to_dict(self) -> dict[str, Any]: ...


def fresh(name: str) -> dict[str, Any]:
    """A document that a test may change."""
    document: dict[str, Any] = json.loads(as_json(name))
    return document


@cache
def as_json(name: str) -> str:
    return json.dumps(DOCUMENTS[name]().to_dict(), allow_nan=False)


def decisions() -> lfl.Audit:
    loans = load_loans(1000).frame
    return lfl.audit(loans, score="approved", sensitive="sex", legitimate="income")


def scores() -> lfl.Audit:
    frame = make_loans(8000, levels=8, gap=[0.1, 0.12, 0.05, 0, -0.08, 0.02, 0.1, 0.14]).frame
    return lfl.audit(frame, score="score", sensitive="sex", legitimate="income", permutations=99)


def three_groups() -> lfl.Audit:
    """Missing values, a column in bins, and names that are no single word."""
    frame = make_loans(6000, levels=6).frame
    rng = np.random.default_rng(1)
    groups = np.array(["Asian", "Black / African American", "White"])[rng.integers(0, 3, 6000)]
    lacking = pl.Series(rng.random(6000) < 0.03)
    frame = frame.with_columns(
        pl.Series("ethnicity", groups),
        pl.when(lacking).then(None).otherwise(pl.col("score")).alias("score"),
    )
    with pytest.warns(BinnedLevelWarning):
        return lfl.audit(
            frame,
            score="score",
            sensitive="ethnicity",
            legitimate=["income", "debt"],
            bins={"debt": 10},
            permutations=99,
        )


def many_levels() -> lfl.Audit:
    """5,000 levels, most of them thin, some with one group only."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "postcode": rng.integers(0, 5000, 40_000),
            "sex": np.where(rng.random(40_000) < 0.4, "female", "male"),
            "score": rng.normal(600.0, 80.0, 40_000),
        }
    )
    return lfl.audit(frame, score="score", sensitive="sex", legitimate="postcode", permutations=19)


def no_legitimate() -> lfl.Audit:
    return lfl.audit(make_loans(500).frame, score="score", sensitive="sex", permutations=19)


def untested() -> lfl.Audit:
    frame = make_loans(500).frame
    return lfl.audit(frame, score="score", sensitive="sex", legitimate="income", permutations=0)


def hostile() -> lfl.Audit:
    """Names that are markup or far too long, a level of two rows, a level of one group."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "group": np.array([SCRIPT, QUOTES])[rng.integers(0, 2, 600)],
            "level": np.array([SCRIPT, QUOTES, LONG])[rng.integers(0, 3, 600)],
            HOSTILE_SCORE: rng.random(600),
        }
    )
    few = pl.DataFrame(
        {
            "group": [SCRIPT, QUOTES, SCRIPT],
            "level": ["two rows", "two rows", "</table>one group"],
            HOSTILE_SCORE: [0.5, 0.9, 0.1],
        }
    )
    return lfl.audit(
        pl.concat([frame, few]),
        score=HOSTILE_SCORE,
        sensitive="group",
        legitimate="level",
        permutations=19,
    )


class Demonstration:
    """An audit with a section about training: few rows, few strengths, few epochs."""

    def to_dict(self) -> dict[str, Any]:
        scored = train_models(2000, strengths=(0.0, 1.0, 30.0), epochs=12)
        return demonstration_document(decisions(), compare_models(scored, permutations=19))


def demonstration() -> Demonstration:
    return Demonstration()


MADE: tuple[Callable[[], Documented], ...] = (
    decisions,
    scores,
    three_groups,
    many_levels,
    no_legitimate,
    untested,
    hostile,
    demonstration,
)
DOCUMENTS = {made.__name__: made for made in MADE}
