"""The gradient of a penalty at the scores of a batch: from a slope field or from the batch."""

from __future__ import annotations

import numpy as np
import torch

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.nn._data import Rows
from likeforlike.nn._objectives import Loss, scores_of
from likeforlike.nn._stacked import StackedMLP
from likeforlike.penalties import Layout, Penalty, SlopeField
from likeforlike.penalties._even_order import even_order


def penalize(penalty: Penalty, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Values (m,) and gradients of a penalty on scores (m, n) or (m, n, c)."""
    plain = np.ascontiguousarray(scores)
    if plain.ndim == 2:
        return penalty.stacked(plain, layout)
    return penalty.stacked_classes(plain, layout)


class BatchSlopes:
    """Gradient of a penalty for the rows of a batch."""

    def __init__(
        self,
        penalty: Penalty,
        loss: Loss,
        rows: Rows,
        seeds: IntArray,
        sample: int | None,
        refresh: int,
    ) -> None:
        self._penalty, self._loss, self._rows = penalty, loss, rows
        self._sample, self._refresh_every = sample, refresh
        self._rngs = [np.random.default_rng([int(seed), 1]) for seed in seeds]
        self._fields: list[SlopeField] = []
        self._orders: IntArray = np.empty((len(seeds), 0), np.int64)
        self._place = 0
        self._step = 0
        # Moved mass of a row, times the number of rows: what a row of a batch stands for.
        splits = [rows.layout.of_model(k) for k in range(rows.splits)]
        self._density = np.stack([penalty.moved(split) * rows.size for split in splits])

    def __call__(
        self,
        network: StackedMLP,
        scores: FloatArray,
        layout: Layout,
        which: IntArray,
        splits: IntArray,
    ) -> FloatArray:
        """∂V / ∂scores, in the shape of the scores, for the rows `which` (s, b) of the batch."""
        if self._sample is None:
            return penalize(self._penalty, scores, layout)[1]
        if self._step % self._refresh_every == 0:
            self._refresh(network, splits)
        self._step += 1
        share = self._share(which, splits)
        if scores.ndim == 2:
            return layout.folded(self._fields[0].slopes(scores, layout) * share)
        by_class = [
            layout.folded(field.slopes(np.ascontiguousarray(scores[:, :, c]), layout) * share)
            for c, field in enumerate(self._fields)
        ]
        return np.stack(by_class, axis=2)

    def _share(self, which: IntArray, splits: IntArray) -> FloatArray:
        """What the rows `which` (s, b) of a batch stand for, for every member (m, c b)."""
        places = self._rows.layout.places_of(which)
        if self._rows.splits == 1:
            share: FloatArray = self._density[0][places] / which.shape[1]
            return share
        each: FloatArray = np.take_along_axis(self._density, places, axis=1) / which.shape[1]
        return each[splits]

    def _next_sample(self) -> IntArray:
        """Rows (s, r) of the next sample: the next stretch of an order that spreads every cell."""
        size = min(self._sample or 0, self._rows.size)
        if self._place + size > self._orders.shape[1]:
            cells = self._rows.layout.strata
            drawn = [
                even_order(of_split, rng) for of_split, rng in zip(cells, self._rngs, strict=True)
            ]
            self._orders, self._place = np.stack(drawn), 0
        self._place += size
        return np.ascontiguousarray(self._orders[:, self._place - size : self._place])

    def _refresh(self, network: StackedMLP, splits: IntArray) -> None:
        """Make the field of a new sample of rows."""
        sample = self._next_sample()
        inputs, layout = self._rows.inputs_of(sample), self._rows.layout.take(sample)
        computed = scores_of(network.predict(inputs, splits), self._loss)
        scores, precision = computed.cpu().double().numpy(), torch.finfo(computed.dtype).eps
        moved = np.stack([self._penalty.moved(layout.of_model(k)) for k in range(len(sample))])
        if self._rows.splits > 1:
            layout, moved = layout.for_members(splits), moved[splits]
        stack = scores[:, :, None] if scores.ndim == 2 else scores
        self._fields = [
            SlopeField.of(
                self._penalty,
                np.ascontiguousarray(stack[:, :, c]),
                layout,
                moved,
                precision=precision,
            )
            for c in range(stack.shape[2])
        ]

    def keep(self, members: IntArray) -> None:
        """Go on with some members of the stack; their field and its age stay as they are."""
        self._fields = [field.select(members) for field in self._fields]
