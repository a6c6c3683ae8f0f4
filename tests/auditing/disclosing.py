"""An attacker who has a document of an audit, and tables of people to try it on.

The attacker knows more than anybody would: the exact number of people in every cell, how much every
level counts, and which scores occur. What is found out is compared with the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import likeforlike as lfl
from likeforlike.disparity import Contrast

LIMIT = 10
COUNTS = {"rows", "used", "missing", "lost", "nulls", "excluded"}
"""Entries that hold numbers of rows, wherever they are."""
OPEN = {"settings", "roles", "provenance", "schema_version", "finding", "confidence"}
"""Entries that are about no row."""
EXACT = 1e-14

Floats = npt.NDArray[np.float64]


# People ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class People:
    """A table, and how it is to be audited."""

    frame: pl.DataFrame
    settings: dict[str, Any]

    def audit(self, **more: Any) -> lfl.Audit:
        return lfl.audit(self.frame, **self.settings, **more)


def some_people(seed: int) -> People:
    """A table with small cells, lonely levels, small groups and missing values."""
    rng = np.random.default_rng(seed)
    n, n_groups, n_levels = (
        int(rng.choice([100, 200, 400])),
        int(rng.choice([2, 3, 4], p=[0.8, 0.1, 0.1])),
        int(rng.choice([1, 2, 3, 6, 12, 25])),
    )
    group = rng.choice(n_groups, n, p=rng.dirichlet(np.full(n_groups, 3.0)))
    level = rng.choice(n_levels, n, p=rng.dirichlet(np.full(n_levels, 0.7)))
    scores = [
        rng.normal(size=n) + 0.3 * group,
        rng.random(n),
        np.exp(rng.normal(10.5, 0.6, n)),
        1e6 + rng.normal(size=n),
    ][rng.integers(4)]
    columns: dict[str, Any] = {
        "score": scores,
        "group": [f"group {'abcd'[g]}" for g in group],
        "level": [f"level {k:02d}" for k in level],
    }
    settings: dict[str, Any] = {
        "score": "score",
        "sensitive": "group",
        "legitimate": "level",
        "permutations": 9 if rng.random() < 0.1 else 0,
        "measure": str(rng.choice(["marginal", "average", "uniform", "overlap"])),
    }
    if rng.random() < 0.25:
        columns["weight"] = rng.exponential(size=n) + 0.05
        settings["weight"] = "weight"
    if rng.random() < 0.2:
        columns["who"] = rng.integers(0, n // 2, n)
        settings["cluster"] = "who"
    if rng.random() < 0.3:
        gone = rng.random(n) < rng.choice([0.02, 0.2])
        columns["score"] = [None if lost else x for lost, x in zip(gone, scores, strict=True)]
    return People(pl.DataFrame(columns), settings)


# What there is to find out -----------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A cell of few people: where it is, how many they are, and what is said about them."""

    level: str
    group: str
    rows: int
    scores: Floats


def small_cells(audit: lfl.Audit) -> list[Cell]:
    cells = audit.table.cells
    found = []
    for k, level in enumerate(cells.levels):
        for g, group in enumerate(cells.groups):
            part = slice(*cells.atoms.offsets[k * len(cells.groups) + g :][:2])
            people = (
                cells.counts[k, g] if cells.cluster is None else np.unique(cells.cluster[part]).size
            )
            if 0 < people < LIMIT:
                rows = int(cells.counts[k, g])
                found.append(Cell(str(level), str(group), rows, cells.atoms.values[part]))
    return found


def small_groups(audit: lfl.Audit) -> list[str]:
    cells = audit.table.cells
    rows = cells.counts.sum(axis=0)
    return [str(group) for group, n in zip(cells.groups, rows, strict=True) if n < LIMIT]


# What a document says ----------------------------------------------------------------------------


def numbers(part: Any, *, counts: bool, inside: bool = False) -> Iterator[float]:
    """Every number of a document that is about rows: how many there are, or anything else."""
    if isinstance(part, dict):
        for name, each in part.items():
            if name not in OPEN:
                yield from numbers(each, counts=counts, inside=inside or name in COUNTS)
    elif isinstance(part, list):
        for each in part:
            yield from numbers(each, counts=counts, inside=inside)
    elif isinstance(part, int | float) and not isinstance(part, bool) and inside == counts:
        yield part


def found_counts(document: Any) -> Iterator[float]:
    """Numbers of rows that a reader works out from others: differences, and shares of totals."""
    shown = np.unique(list(numbers(document, counts=True)))
    yield from (shown[:, None] - shown[None, :]).ravel()
    data = document["data"]
    yield data["used"] - sum(part["rows"] - part["lost"] for part in data["lost"])
    for contrast in document["contrasts"]:
        everybody = contrast["unconditional"]["rows"]
        for side, group in enumerate(contrast["groups"]):
            levels = [level["rows"][group] for level in contrast["levels"]]
            yield contrast["rows"][side] - sum(levels)
            thin = [level["rows"][group] for level in contrast["levels"] if level["thin"]]
            yield contrast["thin_share"][group] * everybody[side]
            yield contrast["thin_share"][group] * everybody[side] - sum(thin)
            yield (1.0 - contrast["coverage"][group]) * everybody[side]
            yield contrast["rows"][side] - contrast["coverage"][group] * everybody[side]
        whole = sum(contrast["rows"])
        yield from (level["weight"] * whole for level in contrast["levels"])
        if contrast["estimate"] is not None:
            yield (1.0 - contrast["estimate"]["replicated"]) * whole


# Attacks: each yields what it found out ----------------------------------------------------------


def counts_of_few(document: Any, audit: lfl.Audit) -> Iterator[str]:
    """A number of rows that is true of a small cell, a small group or a few missing values."""
    secret = {cell.rows for cell in small_cells(audit)}
    secret |= {each.lost for each in audit.table.lost} | set(audit.table.missing.values())
    secret |= {int(n) for n in audit.table.cells.counts.sum(axis=0)}
    secret = {n for n in secret if 0 < n < LIMIT}
    for number in found_counts(document):
        if any(abs(abs(number) - n) < 1e-6 for n in secret):
            yield f"{abs(number):.0f} rows"


def any_small_count(document: Any) -> Iterator[str]:
    """A number of rows between nobody and the limit, shown or by subtraction, true or not."""
    shown = np.unique(list(numbers(document, counts=True)))
    between = np.abs(shown[:, None] - np.r_[0.0, shown][None, :]).ravel()
    yield from (f"{n:g} rows" for n in between if 0 < n < LIMIT)


def scores_of_one(document: Any, audit: lfl.Audit) -> Iterator[str]:
    """A number of the document, or a difference of two, that is somebody's score.

    So is the difference of two people in one level, or of one and the mean of others.
    """
    cells = audit.table.cells
    values, times = np.unique(cells.atoms.values, return_counts=True)
    means = np.concatenate([cells.means.ravel(), cells.pool_levels().means.ravel()])
    means = means[np.isfinite(means)]
    few = np.concatenate([np.empty(0), *(cell.scores for cell in small_cells(audit))])
    apart = np.abs(few[:, None] - np.concatenate([means, few])[None, :]).ravel()
    secret = np.unique(np.concatenate([values[times == 1], apart[apart > 0.0]]))
    shown = np.unique(list(numbers(document, counts=False)))
    found = np.unique(np.abs(np.r_[shown, (shown[:, None] - shown[None, :]).ravel()]))
    found = found[found > 0.0]
    near = np.searchsorted(secret, found)
    for place in (np.clip(near, 0, secret.size - 1), np.clip(near - 1, 0, secret.size - 1)):
        same = np.abs(found - secret[place]) <= EXACT * cells.reach + 2.0 * np.spacing(found)
        yield from (f"{number!r}" for number in found[same])


def equations(document: Any, audit: lfl.Audit) -> tuple[Floats, Floats]:
    """All that averages in a document say about the means of cells, as linear equations.

    The attacker is told how much every level and every cell counts, which no document says.
    """
    cells = audit.table.cells
    n_levels, n_groups = len(cells.levels), len(cells.groups)
    names = {name: k for k, name in enumerate(audit.table.level_names)}
    groups = [str(group) for group in cells.groups]
    assert audit.evidence is not None
    exact = {each.groups: each for each in audit.evidence.contrasts}
    rows, told = [], []

    def learn(first: Floats, second: Floats, pair: tuple[int, int], gap: float) -> None:
        row = np.zeros((n_levels, n_groups))
        row[:, pair[1]], row[:, pair[0]] = second, -first
        rows.append(row.ravel())
        told.append(gap)

    for contrast in document["contrasts"]:
        first, second = contrast["groups"]
        pair = (groups.index(first), groups.index(second))
        known = exact[first, second]
        weights = np.zeros(n_levels)
        for level in known.levels:
            weights[names[level.name]] = level.weight
        learn(weights, weights, pair, contrast["gap"]["value"])
        learn(weights, weights, pair, contrast["conditional"]["gap"])
        shares = Contrast(cells, pair).shares
        learn(shares[:, 0], shares[:, 1], pair, contrast["unconditional"]["gap"])
        for level in contrast["levels"]:
            if level["name"] in names:
                at = np.eye(n_levels)[names[level["name"]]]
                learn(at, at, pair, level["gap"])
    return np.array(rows), np.array(told)


def solved_gaps(document: Any, audit: lfl.Audit) -> list[tuple[int, float]]:
    """Gaps of small cells that the equations settle, be it over all contrasts together.

    Of each, how many rows the cell has, and how far off the attacker is, in spreads of the scores.
    """
    cells = audit.table.cells
    known, told = equations(document, audit)
    settled = np.linalg.pinv(known) @ known
    guess = np.linalg.lstsq(known, told, rcond=None)[0]
    means = np.nan_to_num(cells.means).ravel()
    spread = float(np.std(cells.atoms.values)) or 1.0
    n_groups = len(cells.groups)
    small = {(cell.level, cell.group) for cell in small_cells(audit)}
    errors = []
    for k, level in enumerate(cells.levels):
        for g in range(n_groups):
            for h in range(g):
                if not cells.counts[k, g] * cells.counts[k, h]:
                    continue
                if not small & {(str(level), str(cells.groups[c])) for c in (g, h)}:
                    continue
                asked = np.zeros(means.size)
                asked[k * n_groups + g], asked[k * n_groups + h] = 1.0, -1.0
                if np.allclose(asked @ settled, asked, atol=1e-8):
                    rows = int(min(cells.counts[k, g], cells.counts[k, h]))
                    errors.append((rows, abs(float(asked @ (guess - means))) / spread))
    return errors


def names_of_few(document: Any, text: str, audit: lfl.Audit) -> Iterator[str]:
    """Names of small groups, and of levels beside a group of which they hold few."""
    names = dict(zip(map(str, audit.table.cells.levels), audit.table.level_names, strict=True))
    small = {(names[cell.level], cell.group) for cell in small_cells(audit)}
    for contrast in document["contrasts"]:
        for name in (*(level["name"] for level in contrast["levels"]), *contrast["excluded"]):
            yield from (name for group in contrast["groups"] if (name, group) in small)
    yield from (group for group in small_groups(audit) if group in text)


def bars_of_few(document: Any, audit: lfl.Audit) -> Iterator[str]:
    """Bars of histograms that stand for fewer people than the limit, nobody included."""
    cells = audit.table.cells
    level = {name: k for k, name in enumerate(audit.table.level_names)}
    for contrast in document["contrasts"]:
        for shown in contrast["distributions"]:
            for group in contrast["groups"]:
                g = [str(each) for each in cells.groups].index(group)
                place = level[shown["level"]] * len(cells.groups) + g
                part = slice(*cells.atoms.offsets[place:][:2])
                rows = np.repeat(cells.atoms.values[part], cells.atoms.counts[part])
                held, _ = np.histogram(rows, shown["edges"])
                yield from (f"a bar of {n}" for n in held if n < LIMIT)


def guessed(document: Any, audit: lfl.Audit) -> bool:
    """Whether somebody who has guessed all rows can be sure of it."""
    return bool(document["provenance"]["fingerprint"] == audit.table.cells.fingerprint)
