"""Several sensitive columns, a number, suppression and pairs in one audit, any combination."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing._comparisons import rename_groups
from tests.auditing import disclosing
from tests.auditing.disclosing import EXACT, LIMIT, numbers

TABLES = int(os.environ.get("LIKEFORLIKE_TABLES", "250"))


def applicants(rows: int = 3000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.gamma(4.0, 10.0, rows)
    sex = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp((40.0 - age) / 15.0)), "m", "f")
    race = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    score = age / 50.0 + 0.3 * rng.normal(size=rows) + 0.2 * (sex == "m") - 0.2 * (race == "b")
    return pl.DataFrame(
        {"score": score, "sex": sex, "race": race, "age": age, "job": rng.choice(["x", "y"], rows)}
    )


# What bins leave is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")


def audited(
    columns: list[str], along: str, limit: int | None, table: pl.DataFrame | None = None
) -> lfl.Audit:
    cut: dict[str, Any] = {"smooth": "age"} if along == "smooth" else {"bins": {"age": 5}}
    return lfl.audit(
        applicants() if table is None else table,
        score="score",
        sensitive=columns,
        legitimate="job" if along == "smooth" else ["job", "age"],
        suppress_below=limit,
        permutations=99,
        **cut,
    )


COMBINED = list(product((["sex"], ["race"], ["sex", "race"]), ("bins", "smooth"), (None, LIMIT)))


@pytest.mark.parametrize(("columns", "along", "limit"), COMBINED)
def test_everything_can_be_asked_for_at_once(
    columns: list[str], along: str, limit: int | None
) -> None:
    found = audited(columns, along, limit)
    assert found.verdict(0.05).verdict == "fail"
    document = found.to_dict()
    assert json.loads(found.to_json()) == document
    assert found.to_html()
    assert str(found)
    assert (document["contrasts"][0]["smooth"] is None) == (along == "bins")
    pairs = found.pairs(n=None)
    assert found.evidence is not None
    computed = found.evidence.contrasts[0]
    assert sum(pair.cost for pair in pairs) == pytest.approx(computed.levels[0].distance)
    # Figures are those of the audit without suppression, to half a standard error.
    plain = audited(columns, along, None).evidence
    assert plain is not None
    gap = plain.contrasts[0].gap
    assert computed.gap == gap
    shown = document["contrasts"][0]["gap"]["value"]
    assert abs(shown - gap.value) <= (0.5 if limit else 0.0) * gap.error


@pytest.mark.parametrize("along", ["bins", "smooth"])
def test_a_column_among_several_says_what_it_says_alone(along: str) -> None:
    alone = audited(["sex"], along, None).contrasts[0]
    together = audited(["sex", "race"], along, None)
    [same] = [each for each in together.contrasts if each.columns == ("sex",)]
    assert same.groups == alone.groups
    assert same.gap.value == pytest.approx(alone.gap.value, rel=1e-12)
    assert same.coverage == pytest.approx(alone.coverage)
    crossed = [each for each in together.contrasts if each.columns == ("sex", "race")]
    assert len(crossed) == 5
    if along == "smooth":
        assert together.placebo(3, permutations=19).p_values


@pytest.mark.parametrize("along", ["bins", "smooth"])
def test_a_verdict_names_no_small_group_of_several_columns(along: str) -> None:
    """Two groups of seven, and one that shares no job with the others."""
    few = applicants(900).with_columns(
        race=pl.when(pl.int_range(900) < 7)
        .then(pl.lit("quokka"))
        .when(pl.int_range(900) < 14)
        .then(pl.lit("numbat"))
        .otherwise("race"),
    )
    few = few.with_columns(job=pl.when(race="c").then(pl.lit("z")).otherwise("job"))
    found = lfl.audit(
        few,
        score="score",
        sensitive=["sex", "race"],
        legitimate="job",
        suppress_below=LIMIT,
        min_cell=1,
        permutations=9,
        smooth="age" if along == "smooth" else None,
    )
    ruling = found.verdict(1e6)
    assert ruling.verdict == "investigate"
    assert "other groups" in " ".join(ruling.reasons)
    text = found.to_json() + found.to_html() + str(found)
    assert "quokka" not in text
    assert "numbat" not in text


# The attack --------------------------------------------------------------------------------------


def some_table(seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Two sensitive columns and levels with small cells; along a number every fourth time."""
    rng = np.random.default_rng([seed, 9])
    n = int(rng.choice([200, 400]))
    sex, race = rng.integers(0, 2, n), rng.choice(3, n, p=rng.dirichlet([4.0, 3.0, 1.0]))
    level = rng.choice(4, n, p=rng.dirichlet(np.full(4, 0.7)))
    number = rng.normal(size=n) + 0.2 * sex
    table = pl.DataFrame(
        {
            "score": rng.normal(size=n) + 0.3 * number + 0.2 * sex,
            "sex": [f"sex {'fm'[g]}" for g in sex],
            "race": [f"race {'abc'[g]}" for g in race],
            "level": [f"level {k}" for k in level],
            "number": number,
        }
    )
    settings: dict[str, Any] = {
        "score": "score",
        "sensitive": ["sex", "race"],
        "legitimate": "level",
        "permutations": 0,
        "min_cell": int(rng.choice([1, 20])),
        "suppress_below": LIMIT,
    }
    if seed % 4 == 0:
        settings |= {"sensitive": [["sex"], ["sex", "race"]][seed // 4 % 2], "smooth": "number"}
        settings["legitimate"] = []
    return table, settings


def numbers_of_one(document: Any, audit: lfl.Audit) -> bool:
    """Whether somebody's number along which people were compared is in the document."""
    lines = audit.table.lines
    if lines is None:
        return False
    shown = np.array(list(numbers(document, counts=False)))
    apart = np.abs(shown[:, None] - lines.numbers[:, 0][None, :]).min(axis=1)
    return bool((apart <= EXACT).any())


def settled_cells(document: Any, audit: lfl.Audit) -> list[float]:
    """How far off an attacker is who knows all counts and solves for the means of small cells."""
    cells, sensitive = audit.table.cells, audit.roles.all_sensitive
    labels: Any = cells.groups
    counts, means = cells.counts.astype(np.float64), np.nan_to_num(cells.means)
    names = {name: k for k, name in enumerate(audit.table.level_names)}
    assert audit.evidence is not None
    exact = {(each.columns, each.groups): each for each in audit.evidence.contrasts}
    rows, told = [], []
    for part in document["contrasts"]:
        columns, groups = tuple(part["columns"]), tuple(part["groups"])
        _, members = rename_groups(cells.groups, columns, sensitive)
        places = [sensitive.index(column) for column in columns]
        inside = [
            np.array(
                [
                    all(str(own[p]) == str(v) for p, v in zip(places, values, strict=True))
                    for own in labels
                ]
            )
            for name in groups
            for values in [members[next(g for g in members if str(g) == name)]]
        ]

        def equation(weights: dict[int, float], inside: list[Any] = inside) -> Any:
            row = np.zeros(counts.shape)
            for k, weight in weights.items():
                for sign, own in zip((-1.0, 1.0), inside, strict=True):
                    row[k] += sign * weight * own * counts[k] / counts[k, own].sum()
            return row.ravel()

        known = exact[columns, groups]
        rows.append(equation({names[each.name]: each.weight for each in known.levels}))
        told.append(part["gap"]["value"])
        for level in part["levels"]:
            if level["name"] in names:
                rows.append(equation({names[level["name"]]: 1.0}))
                told.append(level["gap"])
    system = np.array(rows)
    settled = np.linalg.pinv(system) @ system
    guess = np.linalg.lstsq(system, np.array(told), rcond=None)[0]
    spread, errors = float(np.std(cells.atoms.values)), []
    for k, g in zip(*np.nonzero((counts > 0) & (counts < LIMIT)), strict=True):
        for h in np.flatnonzero(counts[k] > 0):
            asked = np.zeros(counts.shape)
            asked[k, g], asked[k, h] = 1.0, asked[k, h] - 1.0
            if h != g and np.allclose(asked.ravel() @ settled, asked.ravel(), atol=1e-8):
                errors.append(abs(float(asked.ravel() @ (guess - means.ravel()))) / spread)
    return errors


@pytest.mark.simulation
def test_nobody_is_found_in_combined_audits() -> None:
    shown, leaks, settled = 0, Counter[str](), list[float]()
    for seed in range(TABLES):
        table, settings = some_table(seed)
        try:
            audit = lfl.audit(table, **settings)
        except lfl.errors.InputError as refused:
            why = str(refused)
            if any(said in why for said in ("nothing to show", "cannot be compared", "enough")):
                continue
            raise
        shown += 1
        document = json.loads(audit.to_json())
        leaks["small"] += any(disclosing.any_small_count(document))
        leaks["scores"] += any(disclosing.scores_of_one(document, audit))
        leaks["numbers"] += numbers_of_one(document, audit)
        leaks["fingerprint"] += disclosing.guessed(document, audit)
        if audit.table.lines is None:
            settled += settled_cells(document, audit)
    assert shown > 0.7 * TABLES
    assert not +leaks, leaks
    # What counts and contrasts together settle is not what it is, since figures are rounded: it is
    # as near to the truth as a guess is by chance.
    assert np.median(settled) > 0.2
    assert np.mean(np.array(settled) < 1e-3) < 0.01


def test_the_same_attacks_find_people_where_nothing_is_suppressed() -> None:
    leaks: Counter[str] = Counter()
    for seed in range(24):
        table, settings = some_table(seed)
        audit = lfl.audit(table, **{**settings, "suppress_below": None})
        document = json.loads(audit.to_json())
        leaks["small"] += any(disclosing.any_small_count(document))
        leaks["scores"] += any(disclosing.scores_of_one(document, audit))
        leaks["numbers"] += numbers_of_one(document, audit)
        leaks["fingerprint"] += disclosing.guessed(document, audit)
        if audit.table.lines is None:
            leaks["settled"] += any(error < 1e-6 for error in settled_cells(document, audit))
    assert leaks["small"] > 12
    assert leaks["scores"] > 12
    assert leaks["numbers"] > 3
    assert leaks["settled"] > 8, leaks
