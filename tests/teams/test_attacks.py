"""Attacks: what the best guess of every row's group achieves, with noise and without."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_adult
from likeforlike.errors import InputError
from likeforlike.teams import Custodian, Ledger, Request
from likeforlike.teams._requests import GRID, CountsRequest, SumsRequest
from tests.teams.made import (
    custodian_of,
    each_its_own_code,
    each_its_own_feature,
    names,
    without_noise,
)

ROWS = 3000
SUMS_ROWS = 800


def by_counts(custodian: Custodian, size: int, epsilon: float) -> np.ndarray:
    """The most likely group of every row, given a noisy count of that row alone."""
    counted = custodian.counts(each_its_own_code(size), epsilon=epsilon).values[0]
    return np.asarray(counted >= 1)


def by_sums(custodian: Custodian, size: int, epsilon: float) -> np.ndarray:
    summed = custodian.sums(each_its_own_feature(size), epsilon=epsilon).values[0]
    return np.asarray(2 * summed > GRID)


def by_file(custodian: Custodian, size: int, epsilon: float) -> np.ndarray:
    return np.asarray(custodian.randomize(list(names(size)), epsilon=epsilon).values == 1)


ATTACKS = [(by_counts, ROWS), (by_sums, SUMS_ROWS), (by_file, ROWS)]


def bound(epsilon: float, size: int) -> float:
    """No guess is right more often than this under ε, but for luck: four standard errors."""
    most = math.exp(epsilon) / (1 + math.exp(epsilon))
    return most + 4 * math.sqrt(most * (1 - most) / size)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("attack", "size"), ATTACKS)
def test_a_crafted_attack_stays_within_its_bound(
    attack: Callable[[Custodian, int, float], np.ndarray],
    size: int,
    epsilon: float,
    tmp_path: Path,
) -> None:
    groups = np.random.default_rng(0).integers(0, 2, size)
    right = attack(custodian_of(groups, tmp_path), size, epsilon) == groups
    assert right.mean() <= bound(epsilon, size)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("attack", "size"), ATTACKS)
def test_without_noise_the_same_attack_breaks_the_bound(
    attack: Callable[[Custodian, int, float], np.ndarray],
    size: int,
    epsilon: float,
    tmp_path: Path,
) -> None:
    groups = np.random.default_rng(0).integers(0, 2, size)
    with without_noise():
        right = attack(custodian_of(groups, tmp_path), size, epsilon) == groups
    assert right.mean() == 1.0 > bound(epsilon, size)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_with_half_of_the_noise_the_attack_on_a_file_breaks_the_bound(
    epsilon: float, tmp_path: Path
) -> None:
    """The bound is close enough to notice a custodian who adds too little noise."""
    groups = np.random.default_rng(0).integers(0, 2, ROWS)
    right = by_file(custodian_of(groups, tmp_path), ROWS, 2 * epsilon) == groups
    assert right.mean() > bound(epsilon, ROWS)


def test_several_rows_of_a_person_do_not_help(tmp_path: Path) -> None:
    """Ten rows of every person, all in one code: the noise is ten times as wide."""
    rng, rows, people = np.random.default_rng(1), 10_000, 1000
    of_person = rng.integers(0, 2, people)
    whose = np.arange(rows) % people
    groups = of_person[whose]
    held = {each: f"group {g}" for each, g in zip(names(rows), groups, strict=True)}
    known = dict(zip(names(rows), whose.tolist(), strict=True))
    ledger = custodian_of(groups, tmp_path).ledger
    request = each_its_own_code(rows)
    crafted = type(request)(request.ids, whose, people)

    def share(custodian: Custodian) -> float:
        counted = custodian.counts(crafted, epsilon=1.0).values[0]
        return float(((counted >= 5) == of_person).mean())

    told = Custodian(held, ledger, known)
    assert told.counts(crafted, epsilon=1.0).noise["scale"] == "10"
    assert share(told) <= bound(1.0, people)
    # Who does not know whose rows they are gives everybody away.
    naive = custodian_of(groups, tmp_path, name="naive.ledger")
    assert share(naive) > bound(1.0, people) + 0.1


def test_sums_of_a_person_are_bounded_by_what_they_add_up_to(tmp_path: Path) -> None:
    groups = np.array([0, 0, 1, 1])
    held = {each: f"group {g}" for each, g in zip(names(4), groups, strict=True)}
    whose = dict(zip(names(4), "aabb", strict=True))
    ledger = custodian_of(groups, tmp_path).ledger
    request = each_its_own_feature(4)
    alike = type(request)(request.ids, np.full((4, 1), GRID))
    apart = Custodian(held, ledger).sums(alike, epsilon=1.0).noise["variance"]
    together = Custodian(held, ledger, whose).sums(request, epsilon=1.0).noise["variance"]
    same_way = Custodian(held, custodian_of(groups, tmp_path, name="b").ledger, whose)
    assert apart is not None
    assert together == pytest.approx(2 * apart)
    assert same_way.sums(alike, epsilon=1.0).noise["variance"] == pytest.approx(4 * apart)


# Crafted requests -------------------------------------------------------------------------------

PEOPLE, TARGETS = 1500, 400
Guess = Callable[[np.ndarray, Path, float], np.ndarray]


def file_of(folder: Path, kind: str, columns: dict[str, Any], **header: Any) -> Request:
    """A request that somebody wrote by hand, as JSON."""
    rows = len(next(iter(columns.values())))
    said = {"schema": "likeforlike.request", "schema_version": 1, "kind": kind, **header}
    ids = said.pop("ids", names(rows))
    path = folder / "request.json"
    path.write_text(json.dumps({**said, "ids": ids, "columns": columns}))
    return Request.read(path)


def parquet_of(folder: Path, columns: dict[str, np.ndarray], **header: Any) -> Request:
    """The same as Parquet, where columns have types."""
    rows = len(next(iter(columns.values())))
    said = {"schema": "likeforlike.request", "schema_version": 1, **header}
    path = folder / "request.parquet"
    pl.DataFrame({"id": list(names(rows)), **columns}).write_parquet(
        path, metadata={"likeforlike": json.dumps({"kind": "request", "header": said})}
    )
    return Request.read(path)


def counted(codes: list[Any], many: int = PEOPLE) -> Guess:
    """Ask for counts of these codes, and guess by the count of each person's own code."""

    def guess(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
        custodian = custodian_of(groups, folder, epsilon)
        request = file_of(folder, "counts", {"code": codes}, n_codes=many)
        values = custodian.answer(request, epsilon=epsilon).values[0]
        return np.asarray(values[np.asarray(codes)] >= 1)

    return guess


def axes(kind: type, own: int, others: int) -> np.ndarray:
    """Features in which every target has an axis, and the others have all of them."""
    features: np.ndarray = np.full((PEOPLE, TARGETS), others, kind)
    features[:TARGETS] = 0
    features[np.arange(TARGETS), np.arange(TARGETS)] = own
    return features


def summed(kind: type, own: int, others: int) -> Guess:
    """Ask for sums of `axes`; of those who are no targets, the attacker knows everything."""

    def guess(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
        custodian, features = custodian_of(groups, folder, epsilon), axes(kind, own, others)
        release = custodian.sums(SumsRequest(names(PEOPLE), features), epsilon=epsilon)
        known = others * int(groups[TARGETS:].sum())
        return np.asarray((release.values[0].astype(float) - known) * np.sign(own) > abs(own) / 2)

    return guess


def in_a_file(own: int, ending: str) -> Guess:
    """The same through a file: JSON, or Parquet with numbers that have no sign."""

    def guess(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
        custodian = custodian_of(groups, folder, epsilon)
        features = axes(np.uint64 if ending == "parquet" else np.int64, own, 1)
        columns = {f"f{j}": column for j, column in enumerate(features.T)}
        header: dict[str, Any] = {"grid": GRID, "features": TARGETS}
        if ending == "parquet":
            request = parquet_of(folder, columns, kind="sums", **header)
        else:
            plain = {name: column.tolist() for name, column in columns.items()}
            request = file_of(folder, "sums", plain, **header)
        values = custodian.answer(request, epsilon=epsilon).values[0].astype(float)
        return np.asarray(np.abs(values) > 2.0**62)

    return guess


def duplicated(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Sixteen equal features for every person: noise is averaged, and as much wider."""
    features = np.repeat(np.eye(TARGETS, dtype=np.int64) * (GRID // 4), 16, axis=1)
    request = SumsRequest(names(PEOPLE)[:TARGETS], features)
    values = custodian_of(groups, folder, epsilon).sums(request, epsilon=epsilon).values[0]
    return np.asarray(values.reshape(TARGETS, 16).mean(axis=1) > GRID / 8)


def with_rows(size: int, groups: np.ndarray, folder: Path, epsilon: float) -> Custodian:
    """A custodian of people with several rows each, one after another."""
    rows = np.repeat(np.arange(PEOPLE), size)
    ledger = custodian_of(groups, folder, epsilon).ledger
    held = {each: f"group {groups[k]}" for each, k in zip(names(rows.size), rows, strict=True)}
    return Custodian(held, ledger, dict(zip(names(rows.size), rows.tolist(), strict=True)))


def several_rows(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Four rows of every person in codes of their own, and the best guess of all four counts."""
    request = CountsRequest(names(4 * PEOPLE), np.arange(4 * PEOPLE), 4 * PEOPLE)
    release = with_rows(4, groups, folder, epsilon).counts(request, epsilon=epsilon)
    values = release.values[0].reshape(PEOPLE, 4)
    return np.asarray((np.abs(values) - np.abs(values - 1)).sum(axis=1) > 0)


def cancelling_rows(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Two long rows of every person that cancel but for one part of the grid."""
    features, at = np.zeros((2 * PEOPLE, TARGETS), np.int64), np.arange(TARGETS)
    features[2 * at, at], features[2 * at + 1, at] = GRID, 1 - GRID
    custodian = with_rows(2, groups, folder, epsilon)
    release = custodian.sums(SumsRequest(names(2 * PEOPLE), features), epsilon=epsilon)
    return np.asarray(release.values[0] >= 1)


def split(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Four requests at a quarter of ε each, with codes dealt anew."""
    custodian, rng = custodian_of(groups, folder, epsilon), np.random.default_rng(7)
    likely = np.zeros(PEOPLE)
    for _ in range(4):
        codes = rng.permutation(PEOPLE)
        request = CountsRequest(names(PEOPLE), codes, PEOPLE)
        values = custodian.counts(request, epsilon=epsilon / 4).values[0][codes]
        likely += np.abs(values) - np.abs(values - 1)
    return np.asarray(likely > 0)


def asked_again(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """The same request twenty times, in the hope of fresh noise."""
    custodian, request = custodian_of(groups, folder, epsilon), each_its_own_code(PEOPLE)
    values = [custodian.counts(request, epsilon=epsilon).values[0] for _ in range(20)]
    return np.asarray(np.mean(values, axis=0) >= 0.5)


def permuted(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """The same question with its rows in another order, in the hope of a second answer."""
    custodian, request = custodian_of(groups, folder, epsilon), each_its_own_code(PEOPLE)
    first = custodian.counts(request, epsilon=epsilon).values[0]
    turned = CountsRequest(request.ids[::-1], request.codes[::-1], PEOPLE)
    return np.asarray(first + custodian.counts(turned, epsilon=epsilon).values[0] >= 1)


def look_alikes(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Every row once more, under an id that looks the same: its o is a Cyrillic one."""
    others = [each.replace("o", "\u043e") for each in names(PEOPLE)]
    request = CountsRequest((*names(PEOPLE), *others), np.r_[OWN, OWN], PEOPLE)
    custodian = custodian_of(groups, folder, epsilon)
    return np.asarray(custodian.counts(request, epsilon=epsilon).values[0] >= 1)


def repeated_rows(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    custodian = custodian_of(groups, folder, epsilon)
    ids = [*names(PEOPLE)] * 9
    request = file_of(folder, "counts", {"code": OWN * 9}, n_codes=PEOPLE, ids=ids)
    return np.asarray(custodian.answer(request, epsilon=epsilon).values[0] >= 5)


def rare_group(groups: np.ndarray, folder: Path, epsilon: float) -> np.ndarray:
    """Is somebody in a third group? By its count, and by whether a release names the group."""
    found = []
    for k, group in enumerate(groups[:TARGETS]):
        held = {"a": "f", "b": "m", "target": "fx"[group]}
        ledger = Ledger(folder / f"{k}", epsilon=epsilon, groups=["f", "m", "x"])
        request = CountsRequest(("a", "b", "target"), np.array([0, 0, 1]), 2)
        release = Custodian(held, ledger).counts(request, epsilon=epsilon)
        likely = release.values[2, 1] - release.values[0, 1]
        found.append("x" in release.groups and likely > 0)
    return np.asarray(found)


OWN = list(range(PEOPLE))
CRAFTED: dict[str, Guess] = {
    "a code for everybody": counted(OWN),
    "codes dealt by lot": counted(np.random.default_rng(3).permutation(PEOPLE).tolist()),
    "asked again": asked_again,
    "split in four": split,
    "four rows a person": several_rows,
    "rows that cancel": cancelling_rows,
    "an axis for everybody": summed(np.int64, GRID, 0),
    "narrow integers": summed(np.int32, GRID, 1),
    "very narrow integers": summed(np.int8, 127, 1),
    "tiny features": summed(np.int64, 1, 0),
    "duplicate features": duplicated,
    "a group of one": rare_group,
}
REFUSED: dict[str, Guess] = {
    "many codes": counted(OWN, 2**40),
    "negative codes": counted([-k for k in OWN]),
    "codes beyond the last": counted([*OWN[:-1], PEOPLE]),
    "floats": counted([k + 0.0 for k in OWN]),
    "booleans": counted([False, *OWN[1:]]),
    "nulls": counted([None, *OWN[1:]]),
    "nested lists": counted([[k] for k in OWN]),
    "repeated rows": repeated_rows,
    "ids that look alike": look_alikes,
    "permuted rows": permuted,
    "-2^63 in JSON": in_a_file(-(2**63), "json"),
    "2^63 in Parquet": in_a_file(2**63, "parquet"),
    "-2^63 in Python": summed(np.int64, -(2**63), 1),
    "huge features": summed(np.int64, 2**40, 1),
    "zero features": summed(np.int64, 0, 0),
}


def attacked(attack: Guess, epsilon: float, folder: Path) -> tuple[float, int]:
    """How often an attack is right, of how many."""
    folder.mkdir()
    groups = np.random.default_rng(int(10 * epsilon)).integers(0, 2, PEOPLE)
    guessed = attack(groups, folder, epsilon)
    return float((guessed == groups[: guessed.size]).mean()), guessed.size


@pytest.mark.simulation
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("kind", CRAFTED)
def test_no_crafted_request_beats_the_bound(kind: str, epsilon: float, tmp_path: Path) -> None:
    """Within three standard errors.

    Noise comes from the operating system and has no seed. Some attacks are as good as the bound
    allows, and one in 700 of those is lucky; a second one is not lucky again.
    """
    most = math.exp(epsilon) / (1 + math.exp(epsilon))
    shares: list[float] = []
    while len(shares) < 2:
        share, size = attacked(CRAFTED[kind], epsilon, tmp_path / f"{len(shares)}")
        if share <= most + 3 * math.sqrt(most * (1 - most) / size):
            return
        shares.append(share)
    raise AssertionError(f"{shares} are guessed, and {most:.3f} may be")


@pytest.mark.parametrize("kind", CRAFTED)
def test_without_noise_crafted_requests_tell_everything(kind: str, tmp_path: Path) -> None:
    with without_noise():
        assert attacked(CRAFTED[kind], 2.0, tmp_path / "a")[0] == 1.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("kind", REFUSED)
def test_crafted_requests_are_refused_and_nothing_is_booked(
    kind: str, epsilon: float, tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        attacked(REFUSED[kind], epsilon, tmp_path / "a")
    # Who permutes rows has paid for the first answer, which took the whole budget.
    first = epsilon if kind == "permuted rows" else 0.0
    assert Ledger(tmp_path / "a" / "a.ledger").spent == first


@pytest.fixture(scope="module")
def adult() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of an ordinary model of income, fitted on half of Adult, with groups and levels."""
    data = load_adult()
    inputs = np.log1p(np.abs(np.asarray(data.inputs("one-hot").matrix, float)))
    design = np.column_stack([np.ones(len(inputs)), inputs])
    seen = np.arange(len(design)) % 2 == 0
    fitted, *_ = np.linalg.lstsq(design[seen], data.targets[seen].astype(float), rcond=None)
    return design @ fitted, np.unique(data.groups, return_inverse=True)[1], data.levels


def test_plain_gradients_give_the_groups_away(
    adult: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Why there is a custodian: one ordinary query of gradients tells A of nearly every row.

    In every level the scores of one group are pulled up and those of the other down, so the sign of
    a row's slope is its group. Which sign is which is one bit a level, known from anybody the
    attacker happens to know.
    """
    scores, groups, levels = adult
    _, gradient = lfl.FairLeap().value_and_grad(scores, groups, levels)
    guessed = gradient > 0
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        guessed[rows] ^= (guessed[rows] == groups[rows]).mean() < 0.5
    assert (guessed == groups).mean() >= 0.95
