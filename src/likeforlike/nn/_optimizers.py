"""Adam and Adadelta for stacks of networks, whose members may leave.

A step is torch's own, to the last bit. Its optimizer objects are not used: the first of them
imports a compiler that nothing here is compiled with, which takes longer than a small fit, and none
of them lets members go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adadelta import adadelta
from torch.optim.adam import adam


class _Memory(NamedTuple):
    """What a weight keeps between steps: two running means of its shape, the number of steps."""

    first: Tensor
    second: Tensor
    steps: Tensor


class _Moving(NamedTuple):
    """Weights that take a step, as torch wants them: in lists, one for each thing it needs."""

    weights: list[Tensor]
    gradients: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]


class StackOptimizer(ABC):
    """Weights, what they keep between steps, and the learning rate, which may be changed."""

    def __init__(self, weights: Iterable[Tensor], rate: float) -> None:
        self.rate = rate
        self._weights = list(weights)
        self._memories = [
            _Memory(
                torch.zeros_like(weight),
                torch.zeros_like(weight),
                weight.new_tensor(0.0, dtype=torch.float32),
            )
            for weight in self._weights
        ]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """One step against the gradients, shaped as the weights; a weight with none stays put."""
        moving = [k for k, gradient in enumerate(gradients) if gradient is not None]
        memories = [self._memories[k] for k in moving]
        self._move(
            _Moving(
                [self._weights[k] for k in moving],
                [gradient for gradient in gradients if gradient is not None],
                [memory.first for memory in memories],
                [memory.second for memory in memories],
            ),
            [memory.steps for memory in memories],
        )

    @abstractmethod
    def _move(self, moving: _Moving, steps: list[Tensor]) -> None:
        """Change weights and what they keep in place."""

    def keep(self, members: Tensor, weights: Iterable[Tensor]) -> None:
        """Go on with some of the members, and with weights that hold just these."""
        self._weights = list(weights)
        self._memories = [
            _Memory(memory.first[members].clone(), memory.second[members].clone(), memory.steps)
            for memory in self._memories
        ]


class Adam(StackOptimizer):
    """Adam (Kingma and Ba, 2015); `momentum` is its β_1."""

    def __init__(self, weights: Iterable[Tensor], rate: float, momentum: float = 0.9) -> None:
        super().__init__(weights, rate)
        self._momentum = momentum

    def _move(self, moving: _Moving, steps: list[Tensor]) -> None:
        adam(
            *moving,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=self._momentum,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )


class Adadelta(StackOptimizer):
    """Adadelta (Zeiler, 2012)."""

    def _move(self, moving: _Moving, steps: list[Tensor]) -> None:
        adadelta(
            *moving,
            steps,
            lr=self.rate,
            rho=0.9,
            eps=1e-6,
            weight_decay=0.0,
            maximize=False,
        )
