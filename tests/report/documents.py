"""Documents of audits for the report to show: the usual, the large and the hostile."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans
from likeforlike.document import AuditDocument, as_document
from likeforlike.errors import BinnedLevelWarning
from likeforlike.report import page
from tests.support.schema import Document

SCRIPT = "<script>alert(1)</script>"
QUOTES = "\"quoted' & <b onclick=alert(2)>bold</b>"
LONG = "Übergröße 😀 " + "long " * 60 + "x" * 300
HOSTILE_SCORE = "<img src=x onerror=alert(3)>"


def fresh(name: str) -> Document:
    """Plain values of a document, which a test may change."""
    document: Document = json.loads(as_json(name))
    return document


def typed(name: str) -> AuditDocument:
    """A document as the report reads it."""
    return as_document(fresh(name))


@cache
def as_json(name: str) -> str:
    return json.dumps(DOCUMENTS[name](), allow_nan=False)


@cache
def page_of(name: str) -> str:
    """The page of a document, for tests that look at it from outside."""
    return page(fresh(name))


def decisions() -> Document:
    loans = load_loans(1000).frame
    return lfl.audit(loans, score="approved", sensitive="sex", legitimate="income").to_dict()


def scores() -> Document:
    frame = make_loans(8000, levels=8, gap=[0.1, 0.12, 0.05, 0, -0.08, 0.02, 0.1, 0.14]).frame
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    return lfl.audit(frame, **roles, permutations=99).to_dict()


def of_record() -> Document:
    """Two sensitive columns with five contrasts, forty levels with names of some length."""
    rng = np.random.default_rng(5)
    n = 6000
    jobs = np.array([f"Prof-specialty-{k:02d}" for k in range(20)])
    frame = pl.DataFrame(
        {
            "pay": rng.normal(2_500.0, 300.0, n),
            "sex": rng.choice(["female", "male"], n),
            "origin": rng.choice(["majority", "minority"], n),
            "occupation": rng.choice(jobs, n),
            "grade": rng.choice(["up to 12 years", "more than 12 years"], n),
        }
    )
    return lfl.audit(
        frame,
        score="pay",
        sensitive=["sex", "origin"],
        legitimate=["occupation", "grade"],
        unit="EUR",
        permutations=19,
    ).to_dict()


def three_groups() -> Document:
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
        ).to_dict()


def many_levels() -> Document:
    """5,000 levels, most of them thin, some with one group only."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "postcode": rng.integers(0, 5000, 40_000),
            "sex": np.where(rng.random(40_000) < 0.4, "female", "male"),
            "score": rng.normal(600.0, 80.0, 40_000),
        }
    )
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "postcode"}
    return lfl.audit(frame, **roles, permutations=19).to_dict()


def no_legitimate() -> Document:
    frame = make_loans(500).frame
    return lfl.audit(frame, score="score", sensitive="sex", permutations=19).to_dict()


def untested() -> Document:
    frame = make_loans(500).frame
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    return lfl.audit(frame, **roles, permutations=0).to_dict()


def hostile() -> Document:
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
    ).to_dict()


MADE: tuple[Callable[[], Document], ...] = (
    decisions,
    scores,
    three_groups,
    many_levels,
    no_legitimate,
    untested,
    hostile,
)
DOCUMENTS = {made.__name__: made for made in MADE}
