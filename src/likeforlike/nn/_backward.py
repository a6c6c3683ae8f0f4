"""The gradient of a stack's weights, without torch's graph.

A network of a few dozen units is over sooner than torch has built and walked the graph of it. Here
are the same products in the same order, so the gradient is torch's own to the last bit: with slopes
S of what is minimized at the outputs of a layer that reads H,

    ∂ weights = Hᵀ S,    ∂ bias = sum of S over the rows,    slopes before it = S Wᵀ,

and a ReLU lets the slopes of positive units through. The tensors must not ask for gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from likeforlike.nn._objectives import Loss, losses, scores_of
from likeforlike.nn._stacked import StackedMLP, last_layer, takes_two
from likeforlike.nn._stacked_module import StackedModule

Back = Callable[[Tensor], Sequence[Tensor | None]]
"""Gradients of the weights, from slopes at the outputs (m, b, c)."""


def forward(network: StackedMLP, weights: Sequence[Tensor], inputs: Tensor) -> tuple[Tensor, Back]:
    """Outputs (m, b, c) of a stack with these weights, and the way back.

    Modules of other people are taken back by torch's graph.
    """
    if isinstance(network, StackedModule):
        outputs, own = network.train()(inputs), list(network.weights)
        return outputs.detach(), lambda slopes: torch.autograd.grad(
            outputs, own, slopes, allow_unused=True
        )
    read = layer_inputs(weights, inputs)
    return read[-1], lambda slopes: weight_gradients(weights, read, slopes)


def layer_inputs(weights: Sequence[Tensor], inputs: Tensor) -> list[Tensor]:
    """What every layer of a stack reads, and last its outputs (m, b, c).

    Weights and biases alternate, as in `StackedMLP`; inputs are (m, b, d) or (1, b, d).
    """
    read = [inputs.expand(weights[0].shape[0], -1, -1)]
    for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        read.append(torch.relu_(torch.baddbmm(bias, read[-1], weight)))
    read.append(last_layer(weights[-1], read[-1], weights[-2]))
    return read


def output_slopes(
    outputs: Tensor, targets: Tensor, weight: Tensor | None, loss: Loss, pull: Tensor | None
) -> Tensor:
    """How Σ mean loss + Σ pull * score changes with the outputs (m, b, c).

    `pull` has the shape of the scores; `None` pulls at none of them.
    """
    if loss == "softmax":
        return _by_graph(outputs, targets, weight, loss, pull)
    plain = outputs[..., 0]
    share = _shares(plain, weight)
    if loss == "squared":
        slopes = share * (2.0 * (plain - targets))
        return (slopes if pull is None else slopes + pull)[..., None]
    scores = torch.sigmoid(plain)
    slopes = (scores - targets) * share
    if pull is not None:
        slopes = slopes + torch.ops.aten.sigmoid_backward(pull, scores)
    return slopes[..., None]


def _shares(plain: Tensor, weight: Tensor | None) -> Tensor:
    """What every row counts in the mean loss."""
    if weight is None:
        return plain.new_tensor(1.0) / plain.shape[1]
    whole = weight.sum(dim=1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
    return (1.0 / whole) * weight


def _by_graph(
    outputs: Tensor, targets: Tensor, weight: Tensor | None, loss: Loss, pull: Tensor | None
) -> Tensor:
    """The same by torch's graph of the loss alone."""
    with torch.enable_grad():
        leaf = outputs.detach().requires_grad_()
        total = losses(leaf, targets, weight, loss).sum()
        if pull is not None:
            total = total + (scores_of(leaf, loss) * pull).sum()
        return torch.autograd.grad(total, leaf)[0]


def weight_gradients(
    weights: Sequence[Tensor], read: Sequence[Tensor], slopes: Tensor
) -> list[Tensor]:
    """Gradients of weights and biases, from what layers read and the slopes at the outputs."""
    gradients: list[Tensor] = []
    members, doubled = weights[0].shape[0], takes_two(weights[-2])
    for layer in range(len(weights) // 2 - 1, -1, -1):
        hidden, weight = read[layer], weights[2 * layer]
        gradients.append(slopes.sum(dim=1, keepdim=True))
        if doubled:
            # A network alone took the path of a stack of two; so does its gradient.
            slopes, hidden = torch.cat([slopes, torch.zeros_like(slopes)]), hidden.expand(2, -1, -1)
        gradients.append(torch.bmm(hidden.transpose(1, 2), slopes)[:members])
        if layer:
            before = torch.bmm(slopes, weight.transpose(1, 2).expand(slopes.shape[0], -1, -1))
            slopes = torch.ops.aten.threshold_backward(before[:members], read[layer], 0)
        doubled = False
    return gradients[::-1]
