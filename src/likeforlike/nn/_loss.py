"""Penalties as torch losses: one autograd function over the exact core.

The value and its gradient come from `Penalty.stacked`, in float64 on the processor, whatever the
type and device of the scores; the gradient travels back to where the scores live.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from likeforlike._arrays import FloatArray
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty
from likeforlike.penalties._layout import NothingToCompare


class _Known(torch.autograd.Function):
    """A value that is known, with a gradient that is known."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: float, gradient: Tensor) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(gradient)
        return scores.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        (gradient,) = ctx.saved_tensors
        return weight * gradient, None, None


def known_loss(scores: Tensor, value: float, gradient: FloatArray, order: float) -> Tensor:
    """A penalty of some order as a scalar tensor, with its gradient at the scores."""
    there = torch.from_numpy(np.ascontiguousarray(gradient)).to(scores)
    if not torch.isfinite(there).all():
        raise InputError(
            f"the slopes of a penalty of order {order:g} are too large for {scores.dtype}; scale "
            "the scores, or check whether training diverged."
        )
    return cast(Tensor, _Known.apply(scores, value, there))  # type: ignore[no-untyped-call]


def plain_scores(scores: Tensor) -> FloatArray:
    """Scores (n,) or (n, c) as an array, checked."""
    if scores.ndim not in (1, 2) or not scores.is_floating_point():
        raise InputError(
            f"scores must be a floating-point tensor of shape (n,) or (n, c), not "
            f"{tuple(scores.shape)} of {scores.dtype}."
        )
    bad = torch.nonzero(~torch.isfinite(scores.detach()))
    if len(bad):
        raise InputError(
            f"scores have {len(bad)} missing or infinite value(s), the first at row "
            f"{int(bad[0, 0])}; did training diverge?"
        )
    return np.ascontiguousarray(scores.detach().cpu().double().numpy())


def plain_column(column: Column | None) -> Column | None:
    """A column as others take it: an array, if it is a tensor."""
    return column.detach().cpu().numpy() if isinstance(column, Tensor) else column


class PenaltyLoss(nn.Module):
    """A penalty as a term of a torch loss.

    Parameters
    ----------
    penalty : any `Penalty`, such as `FairLeap()` or `FairBiT()`.

    Attributes
    ----------
    thin_batches : how many batches had no level with two groups. Nothing in them could be
        compared, so they added 0 to the loss, without a slope. If there are many, take larger
        batches or coarser levels.

    Examples
    --------
    >>> import torch
    >>> import likeforlike as lfl
    >>> from likeforlike.nn import PenaltyLoss
    >>> scores = torch.tensor([0.2, 0.6], dtype=torch.float64, requires_grad=True)
    >>> loss = PenaltyLoss(lfl.FairLeap())(scores, ["f", "m"])
    >>> loss.backward()
    >>> round(loss.item(), 12), scores.grad
    (0.16, tensor([-0.8000,  0.8000], dtype=torch.float64))
    """

    def __init__(self, penalty: Penalty) -> None:
        super().__init__()
        self.penalty = penalty
        self.thin_batches: int = 0

    def forward(
        self,
        scores: Tensor,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Tensor:
        """The penalty as a scalar tensor; 0 for a batch where no level holds two groups.

        Parameters
        ----------
        scores : (n,) or (n, c) floating-point tensor of any type, on any device.
        sensitive_features, legitimate_features, sample_weight : (n,) each; tensors, arrays, lists
            or series.
        """
        plain = plain_scores(scores)
        layout = Layout.of_rows(
            plain_column(sensitive_features),
            plain_column(legitimate_features),
            plain_column(sample_weight),
        )
        if layout.size != len(scores):
            raise InputError(f"groups has {layout.size} row(s), but scores have {len(scores)}.")
        try:
            layout = self.penalty.prepared(layout)
            self.penalty.check(layout)
        except NothingToCompare:
            self.thin_batches += 1
            return (scores * 0.0).sum()
        evaluate = self.penalty.stacked if plain.ndim == 1 else self.penalty.stacked_classes
        values, gradients = evaluate(plain[None], layout)
        return known_loss(scores, float(values[0]), gradients[0], self.penalty.order)

    def extra_repr(self) -> str:
        """The penalty inside, and how many batches were too thin for it."""
        thin = f", thin_batches={self.thin_batches}" if self.thin_batches else ""
        return f"{self.penalty!r}{thin}"
