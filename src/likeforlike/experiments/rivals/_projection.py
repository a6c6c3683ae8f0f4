"""The gradient of a model without what would help its adversary, over all weights at once.

One projection for all weights of a model is not the same as one for each layer: a projection for
each layer also takes away what layers do for and against the adversary that cancels between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from likeforlike._extras import extra

with extra("train"):
    import torch
    from torch import Tensor


def project_out(gradients: Sequence[Tensor], directions: Sequence[Tensor]) -> list[Tensor]:
    """Gradients without their projection on a direction, for every member of a stack.

    g - (⟨g, d⟩ / ⟨d, d⟩) d, with both products over all weights of a member; g where d = 0.
    """
    length = _products(directions, directions)
    share = _products(gradients, directions) / torch.where(length > 0.0, length, 1.0)
    return [
        gradient - _along(share, direction) * direction
        for gradient, direction in zip(gradients, directions, strict=True)
    ]


def debiased(
    gradients: Sequence[Tensor], directions: Sequence[Tensor], strengths: Tensor
) -> list[Tensor]:
    """Where models go: g = ∇L_P - proj(∇L_P on ∇L_A) - strength * ∇L_A.

    Members of strength 0 have no adversary: g = ∇L_P.
    """
    return [
        torch.where(
            _along(strengths, gradient) > 0.0,
            rest - _along(strengths, gradient) * direction,
            gradient,
        )
        for gradient, direction, rest in zip(
            gradients, directions, project_out(gradients, directions), strict=True
        )
    ]


def _products(left: Sequence[Tensor], right: Sequence[Tensor]) -> Tensor:
    """Inner products over all weights of each member, shape (m,), in double precision."""
    parts = [
        (one * other).flatten(1).sum(dim=1, dtype=torch.float64)
        for one, other in zip(left, right, strict=True)
    ]
    return torch.stack(parts).sum(dim=0)


def _along(values: Tensor, weight: Tensor) -> Tensor:
    """Values (m,) in the type and number of axes of a weight (m, ...)."""
    return values.to(weight.dtype).view(-1, *[1] * (weight.ndim - 1))
