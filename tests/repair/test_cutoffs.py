"""Cut-offs compared with the linear program of decisions."""

import numpy as np
import pytest

from likeforlike.repair._parity_solver import LevelRows
from likeforlike.repair._repaired_model import find_cutoffs, largest_gap
from tests.repair.unaware import best_decisions, tilts


def level(
    n: int, seed: int, *, n_groups: int = 2, weighted: bool = False, tied: bool = False
) -> LevelRows:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(n_groups, 0.8), n)
    benefit = np.clip(0.6 * rng.normal(size=n) + 0.8 * (chances[:, 0] - 0.4), -1.0, 1.0)
    if tied:
        benefit, chances = np.round(benefit, 1), np.round(chances, 1)
        chances = (chances + 0.01) / (chances + 0.01).sum(axis=1, keepdims=True)
    mass = rng.exponential(size=n) + 0.1 if weighted else np.ones(n)
    return LevelRows(benefit, tilts(chances, mass), mass, np.array([0, n]))


@pytest.mark.parametrize("keep", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_two_groups_are_exact(seed: int, weighted: bool, keep: float) -> None:
    rows = level(200, seed, weighted=weighted)
    before = rows.rate_gaps(rows.scores > 0.0)[0, 0]
    cut = find_cutoffs(rows, np.array([keep]))
    accepted = rows.scores > (cut[0] * rows.tilts).sum(axis=1)
    share = rows.mass / rows.mass.sum()
    gap = float(share @ (rows.tilts[:, 0] * accepted))
    heaviest = float((share * np.abs(rows.tilts[:, 0])).max())
    limit = keep * abs(before)
    assert abs(gap) <= max(limit, heaviest) + 1e-12
    # One row less or more is all that separates whole decisions from chances.
    best = best_decisions(rows.scores, rows.tilts[:, 0], rows.mass, limit)
    assert float(share @ (rows.scores * accepted)) >= best - float(share.max()) - 1e-9
    assert (
        float(share @ (rows.scores * accepted))
        <= best_decisions(rows.scores, rows.tilts[:, 0], rows.mass, abs(gap) + 1e-12) + 1e-9
    )


def test_rows_that_tie_change_sides_together() -> None:
    rows = level(400, 1, tied=True)
    before = rows.rate_gaps(rows.scores > 0.0)[0, 0]
    cut = find_cutoffs(rows, np.zeros(1))
    accepted = rows.scores > (cut[0] * rows.tilts).sum(axis=1)
    gap = rows.rate_gaps(accepted)[0, 0]
    # Every other λ, one between every two turns, leaves as much or more.
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.unique(rows.scores / rows.tilts[:, 0])
    turns = turns[np.isfinite(turns)]
    tried = np.r_[0.0, (turns[1:] + turns[:-1]) / 2]
    left = [abs(rows.rate_gaps(rows.scores > one * rows.tilts[:, 0])[0, 0]) for one in tried]
    assert abs(gap) == pytest.approx(min(left), abs=1e-12)
    assert abs(gap) < abs(before)


def test_levels_are_cut_each_by_itself() -> None:
    parts = [level(n, n) for n in (60, 111, 83)]
    offsets = np.cumsum([0, 60, 111, 83])
    together = LevelRows(
        np.concatenate([one.scores for one in parts]),
        np.concatenate([one.tilts for one in parts]),
        np.concatenate([one.mass for one in parts]),
        offsets,
    )
    keep = np.array([0.0, 0.5, 0.2])
    alone = [find_cutoffs(one, keep[k : k + 1])[0] for k, one in enumerate(parts)]
    np.testing.assert_allclose(find_cutoffs(together, keep), alone, rtol=1e-12)


@pytest.mark.parametrize("keep", [0.0, 0.5])
def test_three_groups_keep_what_they_should(keep: float) -> None:
    rows = level(4000, 5, n_groups=3)
    before = rows.rate_gaps(rows.scores > 0.0)
    cut = find_cutoffs(rows, np.array([keep]))
    after = rows.rate_gaps(rows.scores > (cut[0] * rows.tilts).sum(axis=1))
    np.testing.assert_allclose(after, keep * before, atol=4e-3)
    assert largest_gap(before)[0] > 0.1


def test_the_largest_gap_is_between_any_two_groups() -> None:
    np.testing.assert_allclose(largest_gap(np.array([[0.1, -0.2], [0.3, 0.1]])), [0.3, 0.3])


def test_a_level_without_tilts_stays() -> None:
    rows = LevelRows(np.array([0.5, -0.5]), np.zeros((2, 1)), np.ones(2), np.array([0, 2]))
    assert find_cutoffs(rows, np.zeros(1)) == 0.0
