"""Many small networks as one: a leading axis of members and batched matrix products.

Member k computes x W_1 + b_1, a ReLU, and so on, with weights of its own. Small networks spend
their time on overhead, not on arithmetic; a stack pays the overhead once for all members.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from likeforlike._arrays import IntArray
from likeforlike._forks import keep_to_one_thread_after_fork


class StackedMLP(nn.Module):
    """A stack of multi-layer perceptrons of the same shape.

    Parameters
    ----------
    seeds : (m,) integers, one for each member; equal seeds begin with equal weights, whatever else
        is in the stack.
    sizes : inputs, hidden layers, outputs.

    Shapes
    ------
    inputs : (m, b, d), or (1, b, d) for the same rows to all.
    outputs : (m, b, c).

    Examples
    --------
    >>> import torch
    >>> from likeforlike.nn import StackedMLP
    >>> network = StackedMLP(seeds=[1, 2, 1], sizes=(4, 50, 20, 1))
    >>> scores = network(torch.ones(1, 8, 4))
    >>> scores.shape, bool((scores[0] == scores[2]).all())
    (torch.Size([3, 8, 1]), True)
    """

    def __init__(self, seeds: Sequence[int], sizes: Sequence[int]) -> None:
        super().__init__()
        self.sizes: tuple[int, ...] = tuple(sizes)
        drawn = [_draw(seed, self.sizes) for seed in seeds]
        self.weights: nn.ParameterList = nn.ParameterList(
            torch.stack(layer) for layer in zip(*drawn, strict=True)
        )

    @property
    def members(self) -> int:
        """How many networks there are."""
        return int(self.weights[0].shape[0])

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs (m, b, c) of every member for the inputs (m, b, d) or (1, b, d)."""
        weights = list(self.weights)  # parts of a `ParameterList` are dear
        hidden = inputs.expand(self.members, -1, -1)
        for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            hidden = torch.relu(torch.baddbmm(bias, hidden, weight))
        return last_layer(weights[-1], hidden, weights[-2])

    @torch.no_grad()
    def predict(self, inputs: Tensor, splits: IntArray) -> Tensor:
        """Outputs (m, n, c), where member k sees data set `splits[k]` of the inputs (s, n, d).

        Members take their turns, so that hidden layers stay in the cache and only the outputs of
        all of them are ever held.
        """
        keep_to_one_thread_after_fork()
        outputs = inputs.new_empty(self.members, inputs.shape[1], self.sizes[-1])
        for member, split in enumerate(splits):
            hidden = inputs[int(split)]
            layers = [weight[member] for weight in self.weights]
            for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
                hidden = torch.relu_(torch.addmm(bias, hidden, weight))
            torch.addmm(layers[-1], hidden, layers[-2], out=outputs[member])
        return outputs

    @torch.no_grad()
    def select(self, members: Tensor) -> StackedMLP:
        """A stack of some of the members, copied."""
        chosen = StackedMLP.__new__(StackedMLP)
        nn.Module.__init__(chosen)
        chosen.sizes = self.sizes
        chosen.weights = nn.ParameterList(weight[members].clone() for weight in self.weights)
        return chosen

    @torch.no_grad()
    def keep(self, members: Tensor, source: StackedMLP, of_source: Tensor) -> None:
        """Overwrite some members with members of another stack.

        Parameters
        ----------
        members, of_source : (k,) positions here, and of those that take their place in the other.
        source : the other stack.
        """
        for mine, theirs in zip(self.weights, source.weights, strict=True):
            mine[members] = theirs[of_source]


def last_layer(bias: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Outputs (m, b, c) of the last layer.

    A product with a single column rounds differently when it is the only one of its batch, and in
    single precision training magnifies that: a network alone takes the path of a stack.
    """
    if takes_two(weight):
        return torch.baddbmm(*(part.expand(2, -1, -1) for part in (bias, hidden, weight)))[:1]
    return torch.baddbmm(bias, hidden, weight)


def takes_two(weight: Tensor) -> bool:
    """Whether a last layer is computed as if there were two members."""
    return weight.shape[0] == 1 and weight.dtype == torch.float32


def _draw(seed: int, sizes: Sequence[int]) -> list[Tensor]:
    """Weights and biases of one member, uniform in ±1/√inputs as `torch.nn.Linear` draws them."""
    rng = np.random.default_rng(seed)
    return [
        torch.tensor(rng.uniform(-1.0, 1.0, shape) / np.sqrt(inputs), dtype=torch.float32)
        for inputs, outputs in pairwise(sizes)
        for shape in ((inputs, outputs), (1, outputs))
    ]
