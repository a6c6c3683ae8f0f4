"""Attacks: what the best guess of every row's group achieves, with noise and without."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_adult
from likeforlike.teams import Custodian
from likeforlike.teams._requests import GRID
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
    return np.asarray(custodian.randomise(list(names(size)), epsilon=epsilon).values == 1)


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
