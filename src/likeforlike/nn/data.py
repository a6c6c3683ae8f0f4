"""Rows to train on: tensors and their layout, for one data set or a stack of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from likeforlike.penalties import Layout
from likeforlike.transport.atoms import IntArray

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Inputs, targets, weights and layout of s data sets of n rows each.

    Attributes
    ----------
    inputs : (s, n, d) floats.
    targets : (s, n) floats, or integers for classes.
    layout : groups and levels; a single cell where there are none.
    weight : (s, n) sample weights, or `None`.

    Examples
    --------
    >>> import torch
    >>> from likeforlike.nn.data import Rows
    >>> from likeforlike.penalties import Layout
    >>> rows = Rows(torch.zeros(1, 3, 2), torch.zeros(1, 3), Layout.of_rows(["f", "m", "m"]))
    >>> rows.size
    3
    """

    inputs: Tensor
    targets: Tensor
    layout: Layout
    weight: Tensor | None = None

    @property
    def size(self) -> int:
        """n, rows of each data set."""
        return int(self.inputs.shape[1])

    @property
    def lines(self) -> int:
        """s, how many data sets there are."""
        return int(self.inputs.shape[0])

    def take(self, rows: IntArray, lines: IntArray) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """What member k of a stack sees: rows `rows[lines[k]]` of data set `lines[k]`.

        Parameters
        ----------
        rows : (s, b) integers.
        lines : (m,) integers.
        """
        parts = [
            None if part is None else _taken(part, rows)
            for part in (self.inputs, self.targets, self.weight)
        ]
        layout = self.layout.take(rows)
        if self.lines > 1:
            parts = [None if part is None else part[lines] for part in parts]
            layout = layout.spread(lines)
        inputs, targets, weight = parts
        assert inputs is not None
        assert targets is not None
        return inputs, targets, weight, layout

    def inputs_of(self, rows: IntArray) -> Tensor:
        """Inputs (s, b, d) of rows (s, b)."""
        return _taken(self.inputs, rows)

    def all(self, lines: IntArray) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """The same for all rows."""
        inputs = self.inputs if self.lines == 1 else self.inputs[lines]
        return inputs, *self.all_but_inputs(lines)

    def all_but_inputs(self, lines: IntArray) -> tuple[Tensor, Tensor | None, Layout]:
        """Targets, weights and layout of all rows, as m members see them."""
        if self.lines == 1:
            return self.targets, self.weight, self.layout
        weight = None if self.weight is None else self.weight[lines]
        return self.targets[lines], weight, self.layout.spread(lines)


def _taken(part: Tensor, rows: IntArray) -> Tensor:
    return part[torch.arange(len(part))[:, None], torch.from_numpy(rows)]
