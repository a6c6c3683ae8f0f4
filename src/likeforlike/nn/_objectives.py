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

Loss = Literal["logistic", "softmax", "squared"]
"""Name of a loss."""


def losses(outputs: Tensor, targets: Tensor, weight: Tensor | None, loss: Loss) -> Tensor:
    """Mean loss of every member, shape (m,)."""
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
    # Rows of a batch may all weigh too little for their precision.
    whole = weight.sum(dim=1).clamp_min(torch.finfo(weight.dtype).tiny)
    return (each * weight).sum(dim=1) / whole


def scores_of(outputs: Tensor, loss: Loss) -> Tensor:
    """Scores (m, b), or (m, b, c) for several classes."""
    if loss == "softmax":
        return torch.softmax(outputs, dim=-1)
    if loss == "logistic":
        return torch.sigmoid(outputs[..., 0])
    return outputs[..., 0]
