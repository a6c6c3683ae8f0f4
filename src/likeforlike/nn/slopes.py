"""The gradient of a penalty at the scores of a batch: from a slope field or from the batch."""

from __future__ import annotations

import numpy as np

from likeforlike.nn.batches import spread_order
from likeforlike.nn.data import Rows
from likeforlike.nn.objectives import Loss, scores_of
from likeforlike.nn.stacked import StackedMLP
from likeforlike.penalties import Layout, Penalty, SlopeField
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["BatchSlopes", "penalise"]


def penalise(penalty: Penalty, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Values (m,) and gradients of a penalty on scores (m, n) or (m, n, c).

    Examples
    --------
    >>> import numpy as np
    >>> import likeforlike as lfl
    >>> from likeforlike.nn.slopes import penalise
    >>> from likeforlike.penalties import Layout
    >>> penalise(lfl.FairLeap(), np.array([[0.0, 1.0]]), Layout.of_rows(["f", "m"]))
    (array([1.]), array([[-2.,  2.]]))
    """
    plain = np.ascontiguousarray(scores)
    if plain.ndim == 2:
        return penalty.stacked(plain, layout)
    return penalty.stacked_classes(plain, layout)


class BatchSlopes:
    """Gradient of a penalty for the rows of a batch.

    Parameters
    ----------
    penalty, loss : what is penalised, and how outputs become scores.
    rows : all s data sets.
    seeds : (s,) integers, for the samples of the field.
    sample : rows of the sample a field is made of; `None` takes the gradient of the batch itself.
    refresh : steps between two fields.

    Examples
    --------
    >>> import numpy as np, torch
    >>> import likeforlike as lfl
    >>> from likeforlike.nn import StackedMLP
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.nn.slopes import BatchSlopes
    >>> from likeforlike.penalties import Layout
    >>> network, layout = StackedMLP([0], (1, 1)), Layout.of_rows(["f", "m"])
    >>> rows = Rows(torch.tensor([[[0.0], [1.0]]]), torch.zeros(1, 2), layout)
    >>> slopes = BatchSlopes(lfl.FairLeap(), "squared", rows, np.zeros(1, int), 2, 1)
    >>> scores = network(rows.inputs)[..., 0].detach().double().numpy()
    >>> found = slopes(network, scores, layout, np.array([[0, 1]]), np.zeros(1, int))
    >>> bool(np.allclose(found, lfl.FairLeap().value_and_grad(scores[0], ["f", "m"])[1]))
    True
    """

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
        lines = [rows.layout.line(k) for k in range(rows.lines)]
        self._density = np.stack([penalty.moved(line) * rows.size for line in lines])

    def __call__(
        self,
        network: StackedMLP,
        scores: FloatArray,
        layout: Layout,
        which: IntArray,
        lines: IntArray,
    ) -> FloatArray:
        """∂V / ∂scores, in the shape of the scores, for the rows `which` (s, b) of the batch."""
        if self._sample is None:
            return penalise(self._penalty, scores, layout)[1]
        if self._step % self._refresh_every == 0:
            self._refresh(network, lines)
        self._step += 1
        density = np.take_along_axis(self._density, which, axis=1) / which.shape[1]
        share: FloatArray = density if self._rows.lines == 1 else density[lines]
        if scores.ndim == 2:
            alone: FloatArray = self._fields[0].slopes(scores, layout) * share
            return alone
        by_class = [
            found.slopes(np.ascontiguousarray(scores[:, :, c]), layout) * share
            for c, found in enumerate(self._fields)
        ]
        return np.stack(by_class, axis=2)

    def _next_sample(self) -> IntArray:
        """Rows (s, r) of the next sample: the next stretch of an order that spreads every cell."""
        size = min(self._sample or 0, self._rows.size)
        if self._place + size > self._orders.shape[1]:
            cells = self._rows.layout.segments
            drawn = [spread_order(own, rng) for own, rng in zip(cells, self._rngs, strict=True)]
            self._orders, self._place = np.stack(drawn), 0
        self._place += size
        return np.ascontiguousarray(self._orders[:, self._place - size : self._place])

    def _refresh(self, network: StackedMLP, lines: IntArray) -> None:
        """Make the field of a new sample of rows."""
        sample = self._next_sample()
        inputs, layout = self._rows.inputs_of(sample), self._rows.layout.take(sample)
        scores = scores_of(network.predict(inputs, lines), self._loss).double().numpy()
        moved = np.stack([self._penalty.moved(layout.line(k)) for k in range(len(sample))])
        if self._rows.lines > 1:
            layout, moved = layout.spread(lines), moved[lines]
        stack = scores[:, :, None] if scores.ndim == 2 else scores
        self._fields = [
            SlopeField.of(self._penalty, np.ascontiguousarray(stack[:, :, c]), layout, moved)
            for c in range(stack.shape[2])
        ]

    def keep(self, members: IntArray) -> None:
        """Go on with some members of the stack; their field and its age stay as they are."""
        self._fields = [found.select(members) for found in self._fields]
