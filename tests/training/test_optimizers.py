"""Optimizers of a stack take torch's steps to the last bit, and go on when members leave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from likeforlike.training import Adadelta, Adam
from likeforlike.training._networks import StackOptimizer

Made = Callable[[list[Tensor]], StackOptimizer]
Peer = Callable[[list[Tensor]], torch.optim.Optimizer]

PAIRS: list[tuple[Made, Peer]] = [
    (lambda w: Adam(w, 0.01), lambda w: torch.optim.Adam(w, lr=0.01, fused=True)),
    (
        lambda w: Adam(w, 0.01, momentum=0.0),
        lambda w: torch.optim.Adam(w, lr=0.01, betas=(0.0, 0.999), fused=True),
    ),
    (lambda w: Adadelta(w, 1.0), lambda w: torch.optim.Adadelta(w, lr=1.0)),
]
SHAPES = [(5, 4, 3), (5, 1, 3), (5, 3, 1)]
pairs = pytest.mark.parametrize(("made", "peer"), PAIRS, ids=["adam", "still", "adadelta"])


def drawn(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


@pairs
def test_steps_are_those_of_torch(made: Made, peer: Peer) -> None:
    """With a rate that changes, and weights that are without a gradient at times."""
    ours, theirs = drawn(0), [nn.Parameter(weight) for weight in drawn(0)]
    optimizer, reference = made(ours), peer(list(theirs))
    for step in range(12):
        optimizer.rate = reference.param_groups[0]["lr"] = 0.1 / (step + 1)
        gradients: list[Tensor | None] = list(drawn(step + 1))
        if step % 3 == 0:
            gradients[1] = None
        for weight, gradient in zip(theirs, gradients, strict=True):
            weight.grad = gradient
        optimizer.step(gradients)
        reference.step()
    for mine, weight in zip(ours, theirs, strict=True):
        assert torch.equal(mine, weight.detach())


@pairs
def test_members_that_stay_go_on_as_before(made: Made, peer: Peer) -> None:
    whole, some, kept = drawn(0), drawn(0), torch.tensor([0, 3])
    undisturbed, optimizer = made(whole), made(some)
    for step in range(8):
        gradients = drawn(step + 1)
        undisturbed.step(gradients)
        if step == 4:
            some = [weight[kept].clone() for weight in some]
            optimizer.keep(kept, some)
        optimizer.step([each[kept] for each in gradients] if step >= 4 else gradients)
    for mine, weight in zip(some, whole, strict=True):
        assert torch.equal(mine, weight[kept])


def test_nothing_moves_without_gradients() -> None:
    weights = drawn(0)
    Adam(weights, 0.1).step([None] * 3)
    assert all(torch.equal(mine, weight) for mine, weight in zip(weights, drawn(0), strict=True))
