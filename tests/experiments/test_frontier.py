import numpy as np
import pytest

from likeforlike.errors import InputError
from likeforlike.experiments import Frontier


def dominated(loss: np.ndarray, gap: np.ndarray, k: int) -> bool:
    no_worse = (loss <= loss[k]) & (gap <= gap[k])
    better = (loss < loss[k]) | (gap < gap[k])
    return bool((no_worse & better).any())


@pytest.mark.parametrize("seed", range(5))
def test_the_frontier_is_what_nothing_dominates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss, gap = np.round(rng.random((2, 60)), 1 if seed % 2 else 9)
    frontier = Frontier.of(loss, gap, range(60))
    on_it = {(loss[k], gap[k]) for k in frontier.best}
    assert on_it == {(loss[k], gap[k]) for k in range(60) if not dominated(loss, gap, k)}
    assert (np.diff(loss[frontier.best]) > 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_hypervolume_is_the_share_of_points_dominated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss, gap = rng.random((2, 20))
    frontier = Frontier.of(loss, gap, range(20))
    points = rng.random((200_000, 2)) * [0.8, 0.9]
    hit = ((points[:, :1] >= loss) & (points[:, 1:] >= gap)).any(axis=1)
    expected = hit.mean() * 0.8 * 0.9
    assert frontier.hypervolume(loss=0.8, disparity=0.9) == pytest.approx(expected, abs=0.004)


def test_a_run_under_a_limit() -> None:
    frontier = Frontier.of([0.1, 0.2, 0.3], [0.5, 0.2, 0.1], "abc")
    assert frontier.choose(max_disparity=0.2) == "b"
    with pytest.raises(InputError, match=r"the least is 0\.1"):
        frontier.choose(max_disparity=0.05)


def test_bad_runs_are_refused() -> None:
    with pytest.raises(InputError, match="not 1 losses"):
        Frontier.of([0.1], [0.1, 0.2], "ab")
    with pytest.raises(InputError, match="finite"):
        Frontier.of([0.1], [np.nan], "a")
