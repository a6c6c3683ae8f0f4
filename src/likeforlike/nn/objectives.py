"""What networks are trained for: from raw outputs to a loss and to the scores people see.

logistic   loss log(1 + e^z) - y z,           score 1 / (1 + e^-z)
softmax    loss log Σ_c e^{z_c} - z_y,        scores e^{z_c} / Σ e^{z}
squared    loss (z - y)²,                     score z
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["Loss", "losses", "scores_of"]

Loss = Literal["logistic", "softmax", "squared"]
"""Name of a loss."""


def losses(outputs: Tensor, targets: Tensor, weight: Tensor | None, loss: Loss) -> Tensor:
    """Mean loss of every member, shape (m,).

    Parameters
    ----------
    outputs : (m, b, c) raw outputs.
    targets : (m, b) or (1, b); classes as integers for softmax.
    weight : (m, b) or (1, b) sample weights, or `None`.
    loss : which.

    Examples
    --------
    >>> import torch
    >>> from likeforlike.nn.objectives import losses
    >>> losses(torch.zeros(1, 2, 1), torch.tensor([[1.0, 3.0]]), None, "squared")
    tensor([5.])
    """
    targets = targets.expand(len(outputs), -1)
    if loss == "softmax":
        flat = functional.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none")
        each = flat.view(targets.shape)
    elif loss == "logistic":
        each = functional.binary_cross_entropy_with_logits(
            outputs[..., 0], targets, reduction="none"
        )
    else:
        each = (outputs[..., 0] - targets) ** 2
    if weight is None:
        return each.mean(dim=1)
    return (each * weight).sum(dim=1) / weight.sum(dim=1)


def scores_of(outputs: Tensor, loss: Loss) -> Tensor:
    """Scores (m, b), or (m, b, c) for several classes.

    Examples
    --------
    >>> import torch
    >>> from likeforlike.nn.objectives import scores_of
    >>> scores_of(torch.zeros(1, 1, 1), "logistic")
    tensor([[0.5000]])
    """
    if loss == "softmax":
        return torch.softmax(outputs, dim=-1)
    if loss == "logistic":
        return torch.sigmoid(outputs[..., 0])
    return outputs[..., 0]
