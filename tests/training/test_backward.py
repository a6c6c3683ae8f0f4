"""Gradients of a stack without torch's graph: those of the graph, to the last bit."""

from __future__ import annotations

import pytest
import torch

from likeforlike.training import Loss, StackedMLP, mean_losses
from likeforlike.training._networks import layer_inputs, output_slopes, to_scores, weight_gradients


def wanted(loss: Loss, shape: tuple[int, int], classes: int, dtype: torch.dtype) -> torch.Tensor:
    if loss == "softmax":
        return torch.randint(0, classes, shape)
    if loss == "logistic":
        return (torch.rand(shape) < 0.4).to(dtype)
    return torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("hidden", [(), (50, 20)])
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_gradients_are_those_of_the_graph_to_the_last_bit(
    loss: Loss, hidden: tuple[int, ...], members: int, dtype: torch.dtype
) -> None:
    torch.manual_seed(members)
    classes = 4 if loss == "softmax" else 1
    network = StackedMLP(range(members), (7, *hidden, classes)).to(dtype)
    plain = [weight.detach() for weight in network.weights]
    for data_sets, rows, weighted, pulled in [
        (1, 128, False, True),
        (members, 128, True, True),
        (1, 37, True, False),
        (members, 121, False, False),
    ]:
        inputs = torch.randn(data_sets, rows, 7, dtype=dtype)
        targets = wanted(loss, (data_sets, rows), classes, dtype)
        weight = torch.rand(data_sets, rows, dtype=dtype) if weighted else None
        outputs = network(inputs)
        total = mean_losses(outputs, targets, weight, loss).sum()
        pull = None
        if pulled:
            scores = to_scores(outputs, loss)
            pull = 0.01 * torch.randn(scores.shape, dtype=dtype)
            total = total + (scores * pull).sum()
        expected = torch.autograd.grad(total, list(network.weights))
        read = layer_inputs(plain, inputs)
        assert torch.equal(read[-1], outputs)
        found = weight_gradients(plain, read, output_slopes(read[-1], targets, weight, loss, pull))
        for mine, theirs in zip(found, expected, strict=True):
            assert torch.equal(mine, theirs)
