"""Every figure of an audit grows with the scores as it must, and none moves when all scores do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl

IN_UNITS = {
    "value", "gap", "compared_gap", "interval", "error", "distance", "null_distance", "excess",
    "detectable",
    "lower", "upper", "gap_interval", "root", "edges", "score_range",
}  # fmt: skip
"""Entries in units of the score, and what is inside them."""
SQUARED = {
    "squared", "nested.value", "nested.diagonal", "nested.off_diagonal", "nested.level_transport",
    "nested.excess", "nested.level_cost",
}  # fmt: skip
PLACES = {"edges", "score_range"}
"""Entries that say where scores are; they move with them."""
PARTS = ("contrasts", "omnibus", "unexamined", "data")


def table(factor: float = 1.0, shift: float = 0.0, heavy: float = 1.0) -> pl.DataFrame:
    """Scores in whole numbers of 1/64, which a shift by 1e9 leaves as they are.

    The lowest and the highest are such that none of them lies on an edge of a histogram.
    """
    rng = np.random.default_rng(8)
    n = 420
    group, level = rng.integers(0, 3, n), rng.integers(0, 5, n)
    scores = np.round(64.0 * (rng.normal(size=n) + 0.4 * group + level)) / 64.0
    scores[:6] = [-5.0, 11.0 + 1 / 64] * 3
    group[:6], level[:6] = [0, 0, 1, 1, 2, 2], 0
    return pl.DataFrame(
        {
            "score": factor * scores + shift,
            "sex": [("f", "m", "x")[g] for g in group],
            "level": level,
            "weight": heavy * rng.integers(1, 4, n),
        }
    )


def audit(factor: float = 1.0, shift: float = 0.0, heavy: float = 1.0, **more: Any) -> lfl.Audit:
    return lfl.audit(
        table(factor, shift, heavy),
        score="score",
        sensitive="sex",
        legitimate="level",
        permutations=99,
        score_range=(factor * -6.0 + shift, factor * 12.0 + shift),
        **more,
    )


def figures(part: Any, name: str = "", power: int = 0) -> Iterator[tuple[str, int, Any]]:
    """Every number of a document: its path, and to which power it grows with the scores."""
    if isinstance(part, dict):
        for key, each in part.items():
            within = f"{name}.{key}".lstrip(".")
            squared = key in SQUARED or ".".join(within.split(".")[-2:]) in SQUARED
            in_units = key in IN_UNITS and not isinstance(each, dict)
            own = 2 if squared else int(in_units and not name.endswith("components"))
            yield from figures(each, within, own)
    elif isinstance(part, list):
        for k, each in enumerate(part):
            yield from figures(each, f"{name}.{k}", power)
    elif not isinstance(part, str | bool):
        yield name, power, part


def compared(one: lfl.Audit, other: lfl.Audit) -> Iterator[tuple[str, int, Any, Any]]:
    before, after = (dict(each.to_dict()) for each in (one, other))
    before, after = ({part: each[part] for part in PARTS} for each in (before, after))
    for (name, power, plain), (same, _, found) in zip(figures(before), figures(after), strict=True):
        assert name == same
        yield name, power, plain, found


@pytest.fixture(scope="module", params=[{}, {"weight": "weight"}], ids=["rows", "weights"])
def plain(request: pytest.FixtureRequest) -> tuple[lfl.Audit, dict[str, Any]]:
    return audit(**request.param), request.param


@pytest.mark.parametrize("factor", [1e-200, 1e-50, 1e50, 1e200])
def test_figures_grow_with_the_scores(
    factor: float, plain: tuple[lfl.Audit, dict[str, Any]]
) -> None:
    one, more = plain
    other = audit(factor, **more)
    # Squares of such scores cannot be held, and are left out.
    if factor in (1e-200, 1e200):
        one, other = (without_squares(each) for each in (one, other))
    seen = 0
    for name, power, before, after in compared(one, other):
        if before is None or after is None:
            assert before is after, name
        else:
            seen += power > 0
            grown = after / factor**power if power else after
            assert grown == pytest.approx(before, rel=1e-9, abs=1e-12), name
    assert seen > 100


def without_squares(each: lfl.Audit) -> Any:
    class Shown:
        def to_dict(self) -> Any:
            document: Any = each.to_dict()
            for contrast in document["contrasts"]:
                contrast["nested"] = None
                contrast["estimate"]["squared"] = None
            return document

    return Shown()


@pytest.mark.parametrize("heavy", [2.0**-660, 2.0**550, 2.0**1000])
def test_only_proportions_of_weights_count(heavy: float) -> None:
    seen = 0
    for name, _, before, after in compared(
        audit(weight="weight"), audit(heavy=heavy, weight="weight")
    ):
        seen += 1
        assert after == (before if before is None else pytest.approx(before, rel=1e-9)), name
    assert seen > 100


def test_figures_do_not_move_with_the_scores(plain: tuple[lfl.Audit, dict[str, Any]]) -> None:
    one, more = plain
    moved = 0
    for name, _, before, after in compared(one, audit(shift=1e9, **more)):
        there = PLACES & set(name.split("."))
        moved += bool(there)
        if before is None:
            assert after is None, name
        else:
            by = 1e9 if there else 0.0
            assert after - by == pytest.approx(before, rel=1e-9, abs=2e-7 if there else 1e-9), name
    assert moved > 20
