import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.transport import n_threads, run_in_threads


@pytest.mark.parametrize("threads", ["1", "2", "3", "16"])
def test_parts_cover_every_item_once(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
    for seed in range(20):
        sizes = np.random.default_rng(seed).integers(0, 2_000_000, 1 + seed % 5)
        seen = np.zeros(sizes.size)

        def work(first: int, last: int, seen: np.ndarray = seen) -> None:
            seen[first:last] += 1

        run_in_threads(work, sizes)
        assert (seen == 1).all()


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    size = 300_000
    scores, groups, levels = rng.random(size), rng.integers(0, 2, size), rng.integers(0, 30, size)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
        cells = lfl.Cells.from_rows(scores, groups, levels)
        found.append([float(lfl.cdd_lp(cells)), float(lfl.cdd_lp(cells, distance="ks"))])
    assert found[0] == found[1]


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "2")

    def work(first: int, last: int) -> None:
        raise ArithmeticError("in the thread")

    with pytest.raises(ArithmeticError, match="in the thread"):
        run_in_threads(work, np.array([1_000_000, 1_000_000]))


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "5")
    assert n_threads() == 5
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "many")
    assert n_threads() >= 1
