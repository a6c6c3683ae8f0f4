"""Least change under equal distributions, compared with the linear program that it solves."""

import numpy as np
import pytest

from likeforlike._arrays import FloatArray
from likeforlike.repair._parity_solver import LevelRows, barycentric_means
from tests.repair.unaware import least_change, tilts

VALUES = np.linspace(0.0, 1.0, 11)


def level(
    n: int, n_groups: int, seed: int, *, weighted: bool = False, tied: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    if tied:
        scores = np.round(scores, 1)
    chances = rng.dirichlet(np.full(n_groups, 0.7), n)
    mass = rng.exponential(size=n) + 0.1 if weighted else np.ones(n)
    return scores, chances, mass


def softmins(
    scores: FloatArray, tilt: FloatArray, potential: FloatArray, beta: float
) -> FloatArray:
    """The softmin of every row, by its definition."""
    cost = (VALUES - scores[:, None]) ** 2 + tilt @ potential.T
    least = cost.min(axis=1, keepdims=True)
    chance = np.exp((least - cost) / beta)
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


CASES = {
    "two groups": level(40, 2, 0),
    "weighted": level(40, 2, 1, weighted=True),
    "tied": level(50, 2, 2, tied=True, weighted=True),
    "three groups": level(60, 3, 3),
    "four groups, weighted": level(60, 4, 4, weighted=True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_dual_reaches_the_linear_program(name: str) -> None:
    scores, chances, mass = CASES[name]
    tilt = tilts(chances, mass)
    beta = 1e-5
    rows = LevelRows(scores, tilt, mass, np.array([0, scores.size]))
    potential, residual, _ = rows.solve(VALUES, beta)
    chance = softmins(scores, tilt, potential[0], beta)
    share = mass / mass.sum()
    # Feasible: groups arrive alike at every value.
    missed = np.abs((share[:, None] * chance).T @ tilt).sum() / 2 / tilt.shape[1]
    assert missed == pytest.approx(residual[0], abs=1e-12)
    assert missed < 2e-4
    # And no dearer than the best there is, by more than the smoothing and what is missed.
    change = float(share @ (chance * (VALUES - scores[:, None]) ** 2).sum(axis=1))
    best = least_change(scores, tilt, mass, VALUES)
    assert change == pytest.approx(best, abs=2e-4)
    assert change > best - 1e-3 * best - 1e-4


def test_levels_are_solved_each_by_itself() -> None:
    parts = [level(n, 2, seed) for seed, n in enumerate((30, 47, 61))]
    tilt = [tilts(chances, mass) for _, chances, mass in parts]
    offsets = np.cumsum([0, 30, 47, 61])
    together = LevelRows(
        np.concatenate([one[0] for one in parts]),
        np.concatenate(tilt),
        np.concatenate([one[2] for one in parts]),
        offsets,
    )
    found, _, _ = together.solve(VALUES, 1e-2)
    for k, (scores, _, mass) in enumerate(parts):
        rows = LevelRows(scores, tilt[k], mass, np.array([0, scores.size]))
        alone, _, _ = rows.solve(VALUES, 1e-2)
        np.testing.assert_array_equal(alone[0], found[k])


def test_means_are_those_of_the_softmin() -> None:
    scores, chances, mass = CASES["three groups"]
    tilt = tilts(chances, mass)
    rng = np.random.default_rng(0)
    potential = rng.normal(size=(2, VALUES.size, 2))
    place = rng.integers(0, 2, scores.size)
    found = barycentric_means(scores, tilt, place, VALUES, potential, 0.05)
    slow = np.where(
        place == 0,
        softmins(scores, tilt, potential[0], 0.05) @ VALUES,
        softmins(scores, tilt, potential[1], 0.05) @ VALUES,
    )
    np.testing.assert_allclose(found, slow, atol=1e-12)


def test_a_start_that_solves_it_is_kept() -> None:
    scores, chances, mass = CASES["two groups"]
    rows = LevelRows(scores, tilts(chances, mass), mass, np.array([0, scores.size]))
    found, _, _ = rows.solve(VALUES, 1e-2)
    again, _, steps = rows.solve(VALUES, 1e-2, start=found)
    assert steps[0] == 0
    np.testing.assert_array_equal(again, found)
