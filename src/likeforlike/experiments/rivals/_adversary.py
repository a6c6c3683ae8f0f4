"""What an adversary sees of a row, and what its guesses cost.

An adversary guesses the group A in {0, 1} of a row from what a model says of it and, if parity is
to hold among equals, from its level L. Its cost is the weighted mean of a loss, with weights

    w_i = P(A != a_i | L = l_i).

They make both groups weigh P(l) π_l (1 - π_l) in every level, where π_l = P(A = 1 | l), so the
best guess that may use (f, L) is

    h*(f, l) = P(f | 1, l) / (P(f | 1, l) + P(f | 0, l)),

which is 1/2 everywhere if and only if f and A are independent given L. Without the weights the best
guess is P(A = 1 | f, l): L alone gives the group away wherever it is unevenly spread, and a
model that is fair among equals is still told off for it.

Under the absolute loss, a guess h costs

    Σ_{A=1} w_i (1 - h_i) + Σ_{A=0} w_i h_i = S/2 - Q(h),      S = 2 Σ_l P(l) π_l (1 - π_l),

with Q(h) = E[1{A=1} P(A=0 | L) h - 1{A=0} P(A=1 | L) h] of Xu et al. (2020). The lowest cost is
therefore S/2 - R_DCFR, where R_DCFR = Σ_l P(l) π_l (1 - π_l) TV_l is what
`likeforlike.disparity.tv_overlap` computes; for weights of mean 1, as here, 1/2 - R_DCFR / S. Under
the squared loss it is (1/S) Σ_l P(l) π_l (1 - π_l) ∫ pq / (p + q), p and q the densities of f in
the two groups.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.training._networks import Rows

with extra("train"):
    import torch
    from torch import Tensor
    from torch.nn import functional

Guess = Literal["log", "squared", "absolute"]
"""What a guess h = σ(output) costs: -log of the probability of the truth, (A - h)², |A - h|."""


class View(NamedTuple):
    """What an adversary knows of a batch, and what it has to guess.

    Attributes
    ----------
    levels : (m, b, K) indicators of the level, or (1, b, K) if all members see the same rows; no
        columns if the adversary may not see it.
    group : (m, b) or (1, b), what is to be guessed: 1 for the second group, else 0.
    weight : (m, b) or (1, b), what a guess counts.
    blind : (m, b) or (1, b), the output of the best adversary that sees the level alone.
    """

    levels: Tensor
    group: Tensor
    weight: Tensor
    blind: Tensor

    def beside(self, signal: Tensor) -> Tensor:
        """Inputs of the adversaries: signals (m, b, c) of the models, with the levels beside."""
        return torch.cat([signal, self.levels.expand(len(signal), -1, -1)], dim=-1)

    def blind_losses(self, guess: Guess) -> Tensor:
        """What guesses from the level alone cost, shape (m,) or (1,)."""
        return guess_losses(self.blind[..., None], self, guess)


class Opponent:
    """The rules an adversary plays by, taken from the rows that are trained on.

    Attributes
    ----------
    columns : how many columns the adversary sees beside the signal of the model.
    """

    def __init__(self, rows: Rows, *, conditional: bool = True, weighted: bool = True) -> None:
        check_two_groups(rows.layout)
        self._conditional = conditional and len(rows.layout.levels) > 1
        self.columns = len(rows.layout.levels) if self._conditional else 0
        mass = _cell_mass(rows, self._conditional)
        weight = mass[..., ::-1] / np.maximum(mass.sum(axis=-1, keepdims=True), 1e-300)
        if not (mass * weight).any(axis=(1, 2)).all():
            raise InputError(
                "no level of the training rows holds both groups, so an adversary has nothing to "
                "guess; use coarser levels."
            )
        if not weighted:
            weight = np.ones_like(weight)
        # A level with one group would have an infinite output; 30 is certainty in single precision.
        log_mass = np.log(np.maximum(mass * weight, 1e-300))
        blind = np.clip(log_mass[..., 1] - log_mass[..., 0], -30.0, 30.0)
        self._weight = torch.tensor(weight.reshape(len(weight), -1), dtype=rows.inputs.dtype)
        self._blind = torch.tensor(blind, dtype=rows.inputs.dtype)

    def view(self, layout: Layout, weight: Tensor | None, splits: IntArray) -> View:
        """What adversaries see of a batch."""
        segments = torch.from_numpy(np.ascontiguousarray(layout.segments))
        group = segments % 2
        level = segments // 2 if self._conditional else torch.zeros_like(segments)
        split = torch.from_numpy(splits)[:, None]
        if len(segments) == 1:
            split = split[:1]
        dtype = self._weight.dtype
        counts = self._weight[split, level * 2 + group]
        if self._conditional:
            levels = functional.one_hot(level, self.columns).to(dtype)
        else:
            levels = torch.empty(*level.shape, 0, dtype=dtype)
        return View(
            levels,
            group.to(dtype),
            counts if weight is None else counts * weight,
            self._blind[split, level],
        )


def guess_losses(outputs: Tensor, view: View, guess: Guess) -> Tensor:
    """Weighted mean of what the guesses h = σ(output) of every adversary cost, shape (m,).

    Σ_i w_i loss_i / Σ_i w_i over the batch, so that it is of the same size for any batch.
    """
    plain = outputs[..., 0]
    group = view.group.expand_as(plain)
    if guess == "log":
        each = functional.binary_cross_entropy_with_logits(plain, group, reduction="none")
    else:
        off = (group - torch.sigmoid(plain)).abs()
        each = off if guess == "absolute" else off**2
    total = view.weight.sum(dim=1).clamp_min(torch.finfo(plain.dtype).tiny)
    return (each * view.weight).sum(dim=1) / total


def check_two_groups(layout: Layout) -> None:
    """Raise unless there are two groups, which is what an adversary here can tell apart."""
    if len(layout.groups) != 2:
        raise InputError(
            f"an adversary tells two groups apart, but sensitive_features has {len(layout.groups)}:"
            f" {list(layout.groups)}; merge them into two, such as one group against the rest."
        )


def _cell_mass(rows: Rows, conditional: bool) -> FloatArray:
    """Mass of every cell of each data set, shape (s, K, 2); K = 1 if levels do not matter."""
    levels = len(rows.layout.levels)
    by_split = np.stack(
        [
            np.bincount(
                rows.layout.segments[split],
                None if rows.weight is None else rows.weight[split].double().numpy(),
                minlength=2 * levels,
            )
            for split in range(rows.splits)
        ]
    ).astype(np.float64)
    mass = by_split.reshape(rows.splits, levels, 2)
    return mass if conditional else mass.sum(axis=1, keepdims=True)
