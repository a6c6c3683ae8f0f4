"""Batches: every cell has its share in each of them.

Places of the rows of a cell c of n_c rows are (r + u_c) / n_c, so up to place t lie
n_c t + e_c(t) of them with -u_c <= e_c(t) < 1 - u_c, and a stretch from t to t' holds
n_c (t' - t) + d_c with |d_c| < 1. All cells together make b rows: n (t' - t) = b - Σ_k d_k. With
p_c = n_c / n and C cells the count of cell c in a stretch of b rows therefore differs from its
share by

    |count_c - p_c b| = |(1 - p_c) d_c - p_c Σ_{k != c} d_k| <= 1 + p_c (C - 2),

less than one row for two cells and about one row for a small cell among many. A large cell gives
way where many small ones round up.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import stratified_order
from likeforlike.training import CellBatchSampler, make_batches

CELLS: dict[str, list[int]] = {
    "one": [57],
    "two": [40, 13],
    "equal": [12, 12, 12, 12, 12],
    "singletons": [60, 1, 1, 1, 7, 1],
    "gaps": [0, 30, 0, 5, 21],
    "many": [3] * 20 + [1] * 10,
}


def cells_of(sizes: list[int], seed: int = 0) -> IntArray:
    rng = np.random.default_rng(seed)
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def allowed(cells: IntArray) -> FloatArray:
    """1 + p (C - 2) for every cell."""
    sizes = np.bincount(cells)
    limit: FloatArray = 1.0 + sizes / cells.size * ((sizes > 0).sum() - 2)
    return limit


@pytest.mark.parametrize("name", CELLS)
def test_every_stretch_holds_the_share_of_every_cell(name: str) -> None:
    cells = cells_of(CELLS[name])
    share = np.bincount(cells) / cells.size
    for seed in range(20):
        order = stratified_order(cells, np.random.default_rng(seed))
        np.testing.assert_array_equal(np.sort(order), np.arange(cells.size))
        seen = np.zeros((cells.size + 1, share.size))
        np.cumsum(np.eye(share.size)[cells[order]], axis=0, out=seen[1:])
        counts = seen[None, :, :] - seen[:, None, :]
        length = np.arange(cells.size + 1)[None, :] - np.arange(cells.size + 1)[:, None]
        missing = np.abs(counts - share * length[:, :, None])[np.triu_indices(cells.size + 1)]
        assert (missing.max(axis=0) <= allowed(cells) + 1e-9).all()


@pytest.mark.parametrize("batch_size", [1, 7, 16, 50, 200, 1000])
@pytest.mark.parametrize("name", CELLS)
def test_batches_of_an_epoch(name: str, batch_size: int) -> None:
    cells = cells_of([4 * size for size in CELLS[name]])
    rows = make_batches(cells, batch_size, np.random.default_rng(1))
    batches, size = rows.shape
    assert batches == -(-cells.size // batch_size)
    assert 1 <= size <= batch_size
    # No row twice, and fewer rows left over than there are batches.
    assert np.unique(rows).size == rows.size
    assert 0 <= cells.size - rows.size <= batches - 1
    share = size * np.bincount(cells) / cells.size
    for batch in rows:
        counts = np.bincount(cells[batch], minlength=share.size)
        assert (np.abs(counts - share) <= allowed(cells) + 1e-9).all()


def test_two_cells_are_never_off_by_a_row() -> None:
    cells = cells_of([900, 124])
    for seed in range(20):
        counts = cells[make_batches(cells, 64, np.random.default_rng(seed))].sum(axis=1)
        assert set(counts.tolist()) <= {7, 8}


def test_a_batch_larger_than_the_data_is_all_of_it() -> None:
    rows = make_batches(cells_of([6, 3]), 128, np.random.default_rng(2))
    assert rows.shape == (1, 9)
    np.testing.assert_array_equal(np.sort(rows[0]), np.arange(9))


def test_which_rows_meet_is_left_to_chance() -> None:
    """Every row is as likely in the first batch as any other, and pairs of a cell are mixed."""
    cells = cells_of([40, 20, 4])
    rng = np.random.default_rng(3)
    epochs = 2000
    together = np.zeros((64, 64))
    for _ in range(epochs):
        first = make_batches(cells, 16, rng)[0]
        together[np.ix_(first, first)] += 1.0
    often = np.diag(together) / epochs
    # 0.25 each, with a standard error of 0.0097.
    assert np.abs(often - 0.25).max() < 5 * 0.0097
    large = np.flatnonzero(cells == 0)
    pairs = together[np.ix_(large, large)][np.triu_indices(40, 1)] / epochs
    # 10 of 40 rows: a pair is in with probability (10 * 9) / (40 * 39) = 0.0577, error 0.0052.
    assert np.abs(pairs - 0.0577).max() < 6 * 0.0052


def test_no_row_is_always_left_out() -> None:
    cells = cells_of([70, 29, 4])
    rng = np.random.default_rng(4)
    seen = np.zeros(103)
    for _ in range(100):
        rows = make_batches(cells, 10, rng)
        assert rows.size == 99
        seen[rows] += 1.0
    assert seen.min() > 50
    assert seen.sum() == 9900


def test_the_seed_decides() -> None:
    groups, levels = ["f", "m", "m"] * 40, [1, 1, 2, 2] * 30
    first, second, other = (
        CellBatchSampler(groups, levels, batch_size=16, random_state=seed) for seed in (5, 5, 6)
    )
    epochs = [list(first), list(first)]
    assert epochs == [list(second), list(second)]
    assert epochs[0] != epochs[1]
    assert epochs[0] != list(other)


@pytest.mark.parametrize("tensors", [False, True])
def test_a_data_loader_takes_it(tensors: bool) -> None:
    rng = np.random.default_rng(7)
    groups, levels = rng.integers(0, 2, 500), rng.integers(0, 3, 500)
    columns = (torch.from_numpy(groups), torch.from_numpy(levels)) if tensors else (groups, levels)
    sampler = CellBatchSampler(*columns, batch_size=64, random_state=0)
    table = TensorDataset(torch.arange(500))
    loader: DataLoader[tuple[torch.Tensor, ...]] = DataLoader(table, batch_sampler=sampler)
    cells = 2 * levels + groups
    share = 62 * np.bincount(cells) / 500
    for _ in range(2):
        batches = [batch[0].numpy() for batch in loader]
        assert len(batches) == len(loader) == len(sampler) == 8
        assert {batch.size for batch in batches} == {62}
        assert np.unique(np.concatenate(batches)).size == 496
        for batch in batches:
            counts = np.bincount(cells[batch], minlength=6)
            assert (np.abs(counts - share) <= allowed(cells) + 1e-9).all()


def test_bad_input() -> None:
    with pytest.raises(lfl.errors.InputError, match="batch_size must be at least 1, not 0"):
        CellBatchSampler(["f", "m"], batch_size=0)
    with pytest.raises(lfl.errors.InputError, match=r"levels has 1 row\(s\), but groups have 2"):
        CellBatchSampler(["f", "m"], [1])
    with pytest.raises(lfl.errors.InputError, match="groups is empty"):
        CellBatchSampler([])
