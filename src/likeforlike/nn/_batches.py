"""Batches in which every cell has its share of rows, by `penalties._even_order`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler

from likeforlike._arrays import IntArray
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.penalties._even_order import even_order


def batch_rows(cells: IntArray, batch_size: int, rng: np.random.Generator) -> IntArray:
    """Rows of the batches of one epoch, shape (batches, b) with b <= batch_size.

    Batches have equal size; the few rows that are left over sit out an epoch.
    """
    batches = -(-cells.size // batch_size)
    size = cells.size // batches
    return even_order(cells, rng)[: batches * size].reshape(batches, size)


class CellBatchSampler(Sampler[list[int]]):
    """Batches for a torch `DataLoader` in which every cell has its share of rows.

    Parameters
    ----------
    sensitive_features : (n,) labels of the sensitive feature.
    legitimate_features : (n,) labels of the legitimate features, or `None`.
    batch_size : at most so many rows in a batch.
    random_state : seed.

    Examples
    --------
    >>> from likeforlike.nn import CellBatchSampler
    >>> batches = CellBatchSampler(["f", "m"] * 50, batch_size=10, random_state=0)
    >>> len(batches), {sum(row % 2 for row in batch) for batch in batches}
    (10, {5})
    """

    def __init__(
        self,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        *,
        batch_size: int = 128,
        random_state: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {batch_size}.")
        self._cells = Layout.of_rows(sensitive_features, legitimate_features).segments[0]
        self._batch_size = batch_size
        self._rng = np.random.default_rng(random_state)

    def __len__(self) -> int:
        return int(-(-self._cells.size // self._batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        yield from batch_rows(self._cells, self._batch_size, self._rng).tolist()
