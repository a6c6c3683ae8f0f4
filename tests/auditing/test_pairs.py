"""Pairs of similarly situated people: the plan behind W_1, and what chance alone would give."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import likeforlike as lfl
from likeforlike import Audit
from likeforlike.auditing._evidence import Pair
from likeforlike.errors import InputError
from likeforlike.inference import expected_pairs
from likeforlike.transport import plan
from tests.support.command import call


def made(seed: int, *, weight: bool = False, size: int = 120) -> pl.DataFrame:
    """Ties, unequal sizes, a level with single people, three groups."""
    random = np.random.default_rng(seed)
    rounded = random.choice([1, 3, 12])
    table = {
        "score": np.round(random.normal(size=size), rounded),
        "group": random.choice(["a", "b", "d"], size, p=[0.5, 0.3, 0.2]),
        "level": random.choice(["x", "y", "z"], size, p=[0.6, 0.35, 0.05]),
    }
    if weight:
        table["weight"] = random.random(size) + 0.1
    return pl.DataFrame(table)


def audited(table: pl.DataFrame) -> Audit:
    roles: dict[str, Any] = {"score": "score", "sensitive": "group", "legitimate": "level"}
    return lfl.audit(
        table, **roles, weight="weight" if "weight" in table.columns else None, permutations=0
    )


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_costs_sum_to_the_distance_of_the_level(seed: int, weight: bool) -> None:
    table = made(seed, weight=weight)
    audit = audited(table)
    for place, contrast in enumerate(audit.contrasts):
        for level in contrast.levels:
            pairs = audit.pairs(level.name, None, contrast=place)
            cost = math.fsum(pair.cost for pair in pairs)
            assert abs(cost - level.distance) <= 1e-12
            inside = table.filter(pl.col("level") == level.level)
            first, second = (inside.filter(pl.col("group") == name) for name in contrast.groups)
            weights = (first["weight"], second["weight"]) if weight else ()
            expected = wasserstein_distance(first["score"], second["score"], *weights)
            assert abs(cost - expected) <= 1e-12
            shares = dict.fromkeys(contrast.groups, 0.0)
            for pair in pairs:
                shares[pair.group] += pair.share
                rows = inside.filter(pl.col("group") == pair.group)
                assert pair.score in rows["score"].to_list()
                assert math.isclose(pair.people, pair.share * len(rows))
                assert pair.difference == pair.comparator_score - pair.score > 0.0
            assert sum(shares.values()) <= 1.0 + 1e-12


def test_several_sensitive_columns_have_pairs_of_their_own() -> None:
    random = np.random.default_rng(0)
    values = {name: random.choice(["p", "q"], 400) for name in ("sex", "race", "level")}
    table = pl.DataFrame({"score": random.normal(size=400), **values})
    roles: dict[str, Any] = {"sensitive": ["sex", "race"], "legitimate": "level"}
    audit = lfl.audit(table, score="score", **roles, permutations=0)
    assert len(audit.contrasts) > 2
    for place, contrast in enumerate(audit.contrasts):
        for level in contrast.levels:
            pairs = audit.pairs(level.name, None, contrast=place)
            assert {pair.group for pair in pairs} <= set(contrast.groups)
            assert abs(math.fsum(pair.cost for pair in pairs) - level.distance) <= 1e-12


def test_the_furthest_come_first_and_adverse_may_be_high() -> None:
    audit = audited(made(3))
    every = audit.pairs("level x", None)
    falling = [pair.difference for pair in every]
    assert falling == sorted(falling, reverse=True)
    assert audit.pairs("x", 3) == every[:3]
    high = audit.pairs("x", None, adverse="high")
    assert {(p.group, p.score, p.comparator_group, p.comparator_score) for p in high} == {
        (p.comparator_group, p.comparator_score, p.group, p.score) for p in every
    }
    for pairs in (every, high):
        for pair in pairs:
            mine = [other for other in pairs if other.group == pair.group]
            bar = pair.difference - 1e-11
            reached = sum(other.people for other in mine if other.difference >= bar)
            assert math.isclose(pair.at_least, reached)


def by_hand(
    values: np.ndarray, first: int, differences: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Shares of the plan under one permutation of the labels, by the definition."""
    shuffled = random.permutation(values)
    one, two = shuffled[:first], shuffled[first:]
    moves = plan(one, two)
    signed = two[moves.target] - one[moves.source]
    return np.array(
        [
            [moves.mass[signed >= d].sum() for d in differences],
            [moves.mass[signed <= -d].sum() for d in differences],
        ]
    )


@pytest.mark.simulation
def test_chance_is_that_of_permuted_labels() -> None:
    random = np.random.default_rng(0)
    rows = np.round(random.normal(size=40), 1)
    differences = np.array([0.1, 0.3, 0.8]) - 1e-9
    values, counts = np.unique(rows, return_counts=True)
    lower, higher = expected_pairs(values, counts, 13, differences, permutations=4000, seed=1)
    drawn = np.array([by_hand(rows, 13, differences, random) for _ in range(4000)])
    error = 4.5 * np.hypot(drawn.std(axis=0), drawn.std(axis=0)) / math.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - np.stack([lower, higher])) <= error).all()


@pytest.mark.simulation
def test_at_parity_there_are_as_many_as_chance_gives() -> None:
    bar, surplus = 0.15, []
    for seed in range(150):
        scores = np.sort(np.random.default_rng(seed).normal(size=100))
        group = np.random.default_rng(seed + 1000).permutation(["a", "b"] * 50)
        table = pl.DataFrame({"score": scores, "group": group, "level": "x"})
        far = [pair for pair in audited(table).pairs(n=None) if pair.difference >= bar]
        there = sum(pair.people for pair in far if pair.group == "a")
        lower, _ = expected_pairs(
            scores, np.ones(100, np.int64), 50, np.array([bar]), permutations=99, seed=seed
        )
        surplus.append(there - 50 * lower[0])
    assert np.std(surplus) > 1.0
    assert abs(np.mean(surplus)) <= 4.0 * np.std(surplus) / math.sqrt(len(surplus))


def test_unequal_treatment_stands_out_from_chance() -> None:
    random = np.random.default_rng(4)
    half = np.arange(400) % 2
    score = random.normal(size=400) + 1.0 * half
    table = pl.DataFrame({"score": score, "group": np.where(half, "m", "f"), "level": "x"})
    pairs = audited(table).pairs(n=100)
    assert {pair.group for pair in pairs} == {"f"}
    assert pairs[-1].by_chance is not None
    assert pairs[-1].at_least > 20 * pairs[-1].by_chance


def test_ten_billion_rows_are_pairs_of_bins() -> None:
    cells = lfl.Cells.from_counts(
        None, ["f", "f", "m", "m"], [0.0, 1.0, 0.0, 1.0], [4 * 10**9, 10**9, 3 * 10**9, 2 * 10**9]
    )
    counts = cells.atoms.counts.reshape(2, 2).sum(axis=0)
    lower, higher = expected_pairs(
        np.array([0.0, 1.0]), counts, 5 * 10**9, np.array([1.0]), permutations=99, seed=0
    )
    assert lower[0] + higher[0] < 1e-4


def test_weights_have_no_chance() -> None:
    pairs = audited(made(1, weight=True)).pairs()
    assert {pair.by_chance for pair in pairs} == {None}


def test_what_cannot_be_asked_is_refused() -> None:
    audit = audited(made(0))
    with pytest.raises(InputError, match="no level 'w' holds both groups; the first levels are"):
        audit.pairs("w")
    with pytest.raises(InputError, match="contrast must be 0 to 2, not 3"):
        audit.pairs(contrast=3)
    with pytest.raises(InputError, match="adverse must be one of"):
        audit.pairs(adverse="worst")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n must be 1 or more"):
        audit.pairs(n=0)


def test_the_command_writes_pairs_of_every_level(tmp_path: Path) -> None:
    table = made(2).with_columns(group="=" + pl.col("group"))
    table.write_parquet(tmp_path / "rows.parquet")
    options = ("--score", "score", "--sensitive", "group", "--legitimate", "level")
    called = call(
        *("audit", "rows.parquet", *options, "--permutations", 0, "--pairs", "pairs.csv"),
        cwd=tmp_path,
    )
    assert called.returncode == 0, called.stderr
    assert "Written: pairs.csv" in called.stdout
    with open(tmp_path / "pairs.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    audit = audited(table)
    wanted = [
        pair
        for place, contrast in enumerate(audit.contrasts)
        for level in contrast.levels
        for pair in audit.pairs(level.name, contrast=place)
    ]
    assert len(written) == len(wanted)
    for line, pair in zip(written, wanted, strict=True):
        assert line["group"] == f"'{pair.group}"  # a spreadsheet must not take it for a formula
        assert float(line["difference"]) == pair.difference
        assert float(line["cost"]) == pair.cost


def test_a_pair_knows_its_cost() -> None:
    assert Pair("x", "f", 0.1, "m", 0.5, 0.4, 0.25, 2.0, 2.0, None).cost == 0.1
