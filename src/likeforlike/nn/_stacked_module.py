"""Copies of any torch module as a stack: one's own network in the place of a perceptron.

Parameters and buffers have a leading axis of members, so that members are optimized, kept and
dropped as those of `StackedMLP` are; the module is called once a member. Whoever has a small
network of linear layers is faster with `hidden_layer_sizes`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from likeforlike._arrays import IntArray
from likeforlike.errors import InputError
from likeforlike.nn._stacked import StackedMLP

Module = nn.Module | Callable[[int, int], nn.Module]
"""A network, or what makes one of the numbers of inputs and outputs."""


class StackedModule(StackedMLP):
    """Copies of a module that takes (b, d) inputs and gives (b, c) outputs, or (b,) if c = 1."""

    def __init__(self, module: Module, members: int, inputs: int, outputs: int, seed: int) -> None:
        nn.Module.__init__(self)
        own = _made(module, inputs, outputs, seed)
        self._set(
            own,
            (inputs, outputs),
            [torch.stack([part.detach()] * members) for part in own.parameters()],
            [torch.stack([part.detach()] * members) for part in own.buffers()],
        )
        with torch.no_grad():
            _check_outputs(self.predict(torch.zeros(1, 2, inputs), [0] * members), (2, outputs))

    def _set(
        self, own: nn.Module, sizes: tuple[int, ...], weights: list[Tensor], states: list[Tensor]
    ) -> None:
        self.sizes = sizes
        # In a tuple torch does not see it: its own parameters are no parameters of the stack.
        self._own = (own,)
        self.weights = nn.ParameterList(weights)
        for place, state in enumerate(states):
            self.register_buffer(f"state_{place}", state)

    @property
    def _states(self) -> list[Tensor]:
        return list(self.buffers())

    def _outputs(self, member: int, inputs: Tensor) -> Tensor:
        """What one member makes of inputs (b, d), shape (b, c)."""
        own = self._own[0]
        named = zip((name for name, _ in own.named_parameters()), self.weights, strict=True)
        kept = zip((name for name, _ in own.named_buffers()), self._states, strict=True)
        values = {name: part[member] for name, part in (*named, *kept)}
        found = functional_call(own, values, (inputs,))
        if not isinstance(found, Tensor):
            raise InputError(f"module must give a tensor, not {type(found).__name__}.")
        return found[:, None] if found.ndim == 1 else found

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs (m, b, c) of every member for the inputs (m, b, d) or (1, b, d)."""
        self._own[0].train(self.training)
        seen = inputs.expand(self.members, -1, -1)
        return torch.stack([self._outputs(k, each) for k, each in enumerate(seen)])

    @torch.no_grad()
    def predict(self, inputs: Tensor, splits: IntArray | list[int]) -> Tensor:
        """Outputs (m, n, c), where member k sees data set `splits[k]` of the inputs (s, n, d)."""
        self._own[0].eval()
        return torch.stack([self._outputs(k, inputs[int(s)]) for k, s in enumerate(splits)])

    @torch.no_grad()
    def select(self, members: Tensor) -> StackedModule:
        """A stack of some of the members, copied."""
        chosen = StackedModule.__new__(StackedModule)
        nn.Module.__init__(chosen)
        parts = [
            [part[members].clone() for part in all_of] for all_of in (self.weights, self._states)
        ]
        chosen._set(self._own[0], self.sizes, *parts)
        return chosen

    @torch.no_grad()
    def keep(self, members: Tensor, source: StackedMLP, of_source: Tensor) -> None:
        """Overwrite some members with members of another stack.

        Parameters
        ----------
        members, of_source : (k,) positions here, and of those that take their place in the other.
        source : the other stack.
        """
        super().keep(members, source, of_source)
        for mine, theirs in zip(self.buffers(), source.buffers(), strict=True):
            mine[members] = theirs[of_source]


def _made(module: Module, inputs: int, outputs: int, seed: int) -> nn.Module:
    """A module of one's own: a copy with its weights, or a new one drawn from the seed."""
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    with seeded(seed):
        made: Any = module(inputs, outputs)
    if not isinstance(made, nn.Module):
        raise InputError(
            "module must be a torch module, or make one of the numbers of inputs and outputs, but "
            f"{module!r} made {type(made).__name__}."
        )
    return made


def _check_outputs(outputs: Tensor, shape: tuple[int, int]) -> None:
    if tuple(outputs.shape[1:]) != shape:
        raise InputError(
            f"module must give {shape[1]} output(s) for each row, but of {shape[0]} rows it makes "
            f"the shape {tuple(outputs.shape[1:])}."
        )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch draw from a seed inside the block; its own state comes back afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
