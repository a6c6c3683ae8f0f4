"""Rows to train on: tensors and their layout, for one data set or a stack of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from likeforlike._arrays import IntArray
from likeforlike.penalties import Layout


@dataclass(frozen=True, slots=True)
class Rows:
    """Inputs, targets, weights and layout of s data sets of n rows each.

    Attributes
    ----------
    inputs : (s, n, d) floats.
    targets : (s, n) floats, or integers for classes.
    layout : groups and levels; a single cell where there are none.
    weight : (s, n) sample weights, or `None`.
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
    def splits(self) -> int:
        """s, how many data sets there are."""
        return int(self.inputs.shape[0])

    def take(
        self, rows: IntArray, splits: IntArray
    ) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """What member k of a stack sees: rows `rows[splits[k]]` of data set `splits[k]`."""
        parts = [
            None if part is None else _taken(part, rows)
            for part in (self.inputs, self.targets, self.weight)
        ]
        layout = self.layout.take(rows)
        if self.splits > 1:
            parts = [None if part is None else part[splits] for part in parts]
            layout = layout.for_members(splits)
        inputs, targets, weight = parts
        assert inputs is not None
        assert targets is not None
        return inputs, targets, weight, layout

    def inputs_of(self, rows: IntArray) -> Tensor:
        """Inputs (s, b, d) of rows (s, b)."""
        return _taken(self.inputs, rows)

    def all(self, splits: IntArray) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """The same for all rows."""
        inputs = self.inputs if self.splits == 1 else self.inputs[splits]
        return inputs, *self.all_but_inputs(splits)

    def all_but_inputs(self, splits: IntArray) -> tuple[Tensor, Tensor | None, Layout]:
        """Targets, weights and layout of all rows, as m members see them."""
        if self.splits == 1:
            return self.targets, self.weight, self.layout
        weight = None if self.weight is None else self.weight[splits]
        return self.targets[splits], weight, self.layout.for_members(splits)


def _taken(part: Tensor, rows: IntArray) -> Tensor:
    if len(part) == 1:
        return part[0].index_select(0, torch.from_numpy(rows[0]).to(part.device))[None]
    return part[torch.arange(len(part))[:, None], torch.from_numpy(rows)]
