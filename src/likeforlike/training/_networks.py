"""Stacks of networks: many small networks as one, with their gradients, losses and optimizers.

Parameters have a leading axis of members. Member k computes x W_1 + b_1, a ReLU, and so on, with
weights of its own: a stack pays the overhead of small networks once for all members. A
`StackedModule` holds copies of any torch module instead, which is called once per member.
Outputs z become losses and scores:

    logistic   loss log(1 + e^z) - y z,           score 1 / (1 + e^-z)
    softmax    loss log Σ_c e^{z_c} - z_y,        scores e^{z_c} / Σ e^{z}
    squared    loss (z - y)²,                     score z

A network of a few dozen units is evaluated sooner than torch has built and traversed its graph. The
gradient is therefore computed here, by the same products in the same order, so it is torch's own to
the last bit: with slopes S of the objective at the outputs of a layer that reads H,

    ∂ weights = Hᵀ S,    ∂ bias = sum of S over the rows,    slopes before it = S Wᵀ,

and a ReLU passes on the slopes of positive units. The tensors must not require gradients. Steps of
the optimizers are torch's own, too. Its optimizer objects are not used: the first of them imports a
compiler that nothing here needs, which takes longer than a small fit, and none can drop members.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike._lazy import extra
from likeforlike.errors import InputError
from likeforlike.penalties import Layout

with extra("train"):
    import torch
    from torch import Tensor, nn
    from torch.func import functional_call
    from torch.nn import functional
    from torch.optim.adadelta import adadelta
    from torch.optim.adam import adam


def check_device(device: str | None) -> None:
    """Raise unless torch can compute there."""
    if device is None:
        return
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r} cannot be used: {reason}") from error


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Let torch use a single thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Loss = Literal["logistic", "softmax", "squared"]
"""Name of a loss."""


def mean_losses(outputs: Tensor, targets: Tensor, weight: Tensor | None, loss: Loss) -> Tensor:
    """Compute the mean loss of every member, shape (m,)."""
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


def to_scores(outputs: Tensor, loss: Loss) -> Tensor:
    """Compute scores (m, b), or (m, b, c) for several classes."""
    if loss == "softmax":
        return torch.softmax(outputs, dim=-1)
    if loss == "logistic":
        return torch.sigmoid(outputs[..., 0])
    return outputs[..., 0]


@dataclass(frozen=True, slots=True)
class Rows:
    """Inputs, targets, weights and layout of s data sets of n rows each.

    Attributes
    ----------
    inputs : (s, n, d) floats.
    targets : (s, n) floats, or integers for classes.
    layout : groups and levels; a single cell where there are none.
    weight : (s, n) sample weights, or `None`.
    """

    inputs: Tensor
    targets: Tensor
    layout: Layout
    weight: Tensor | None = None

    @property
    def size(self) -> int:
        """n, rows of each data set."""
        return int(self.inputs.shape[1])

    @property
    def splits(self) -> int:
        """s, how many data sets there are."""
        return int(self.inputs.shape[0])

    def take(
        self, rows: IntArray, splits: IntArray
    ) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """Return what member k of a stack sees: rows `rows[splits[k]]` of data set `splits[k]`."""
        parts = [
            None if part is None else _take_rows(part, rows)
            for part in (self.inputs, self.targets, self.weight)
        ]
        layout = self.layout.take(rows)
        if self.splits > 1:
            parts = [None if part is None else part[splits] for part in parts]
            layout = layout.select_splits(splits)
        inputs, targets, weight = parts
        assert inputs is not None
        assert targets is not None
        return inputs, targets, weight, layout

    def take_inputs(self, rows: IntArray) -> Tensor:
        """Return inputs (s, b, d) of rows (s, b)."""
        return _take_rows(self.inputs, rows)

    def all(self, splits: IntArray) -> tuple[Tensor, Tensor, Tensor | None, Layout]:
        """Return the same for all rows."""
        inputs = self.inputs if self.splits == 1 else self.inputs[splits]
        return inputs, *self.all_but_inputs(splits)

    def all_but_inputs(self, splits: IntArray) -> tuple[Tensor, Tensor | None, Layout]:
        """Return targets, weights and layout of all rows, as m members see them."""
        if self.splits == 1:
            return self.targets, self.weight, self.layout
        weight = None if self.weight is None else self.weight[splits]
        return self.targets[splits], weight, self.layout.select_splits(splits)


def _take_rows(part: Tensor, rows: IntArray) -> Tensor:
    if len(part) == 1:
        return part[0].index_select(0, torch.from_numpy(rows[0]).to(part.device))[None]
    return part[torch.arange(len(part))[:, None], torch.from_numpy(rows)]


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
    >>> from likeforlike.training import StackedMLP
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
        """Compute outputs (m, b, c) of every member for the inputs (m, b, d) or (1, b, d)."""
        return layer_inputs(list(self.weights), inputs)[-1]

    @torch.no_grad()
    def predict(self, inputs: Tensor, splits: IntArray) -> Tensor:
        """Compute outputs (m, n, c); member k sees data set `splits[k]` of the inputs (s, n, d).

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
        """Return a stack of some of the members, copied."""
        chosen = StackedMLP.__new__(StackedMLP)
        nn.Module.__init__(chosen)
        chosen.sizes = self.sizes
        chosen.weights = nn.ParameterList(weight[members].clone() for weight in self.weights)
        return chosen

    @torch.no_grad()
    def keep(self, members: Tensor, source: StackedMLP, of_source: Tensor) -> None:
        """Overwrite `members` (k,) with the members `of_source` (k,) of another stack."""
        for mine, theirs in zip(self.weights, source.weights, strict=True):
            mine[members] = theirs[of_source]


def last_layer(bias: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Compute outputs (m, b, c) of the last layer.

    A product with a single column rounds differently when it is the only one of its batch, and in
    single precision training magnifies that: a network alone takes the path of a stack.
    """
    if needs_pair(weight):
        return torch.baddbmm(*(part.expand(2, -1, -1) for part in (bias, hidden, weight)))[:1]
    return torch.baddbmm(bias, hidden, weight)


def needs_pair(weight: Tensor) -> bool:
    """Return whether a last layer is computed as if there were two members."""
    return weight.shape[0] == 1 and weight.dtype == torch.float32


def _draw(seed: int, sizes: Sequence[int]) -> list[Tensor]:
    """Draw weights and biases of one member, uniform in ±1/√inputs as in `torch.nn.Linear`."""
    rng = np.random.default_rng(seed)
    return [
        torch.tensor(rng.uniform(-1.0, 1.0, shape) / np.sqrt(inputs), dtype=torch.float32)
        for inputs, outputs in pairwise(sizes)
        for shape in ((inputs, outputs), (1, outputs))
    ]


Module = nn.Module | Callable[[int, int], nn.Module]
"""A network, or what makes one of the numbers of inputs and outputs."""


class StackedModule(StackedMLP):
    """Copies of a module that takes (b, d) inputs and gives (b, c) outputs, or (b,) if c = 1."""

    def __init__(self, module: Module, members: int, inputs: int, outputs: int, seed: int) -> None:
        nn.Module.__init__(self)
        own = _make_module(module, inputs, outputs, seed)
        self._set(
            own,
            (inputs, outputs),
            [torch.stack([part.detach()] * members) for part in own.parameters()],
            [torch.stack([part.detach()] * members) for part in own.buffers()],
        )
        with torch.no_grad():
            shape = tuple(self.predict(torch.zeros(1, 2, inputs), [0] * members).shape[1:])
        if shape != (2, outputs):
            raise InputError(
                f"module must give {outputs} output(s) for each row, but of 2 rows it makes the "
                f"shape {shape}."
            )

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
        """Return what one member makes of inputs (b, d), shape (b, c)."""
        own = self._own[0]
        named = zip((name for name, _ in own.named_parameters()), self.weights, strict=True)
        kept = zip((name for name, _ in own.named_buffers()), self._states, strict=True)
        values = {name: part[member] for name, part in (*named, *kept)}
        found = functional_call(own, values, (inputs,))
        if not isinstance(found, Tensor):
            raise InputError(f"module must give a tensor, not {type(found).__name__}.")
        return found[:, None] if found.ndim == 1 else found

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute outputs (m, b, c) of every member for the inputs (m, b, d) or (1, b, d)."""
        self._own[0].train(self.training)
        seen = inputs.expand(self.members, -1, -1)
        return torch.stack([self._outputs(k, each) for k, each in enumerate(seen)])

    @torch.no_grad()
    def predict(self, inputs: Tensor, splits: IntArray | list[int]) -> Tensor:
        """Compute outputs (m, n, c); member k sees data set `splits[k]` of the inputs (s, n, d)."""
        self._own[0].eval()
        return torch.stack([self._outputs(k, inputs[int(s)]) for k, s in enumerate(splits)])

    @torch.no_grad()
    def select(self, members: Tensor) -> StackedModule:
        """Return a stack of some of the members, copied."""
        chosen = StackedModule.__new__(StackedModule)
        nn.Module.__init__(chosen)
        parts = [
            [part[members].clone() for part in all_of] for all_of in (self.weights, self._states)
        ]
        chosen._set(self._own[0], self.sizes, *parts)
        return chosen

    @torch.no_grad()
    def keep(self, members: Tensor, source: StackedMLP, of_source: Tensor) -> None:
        """Overwrite `members` (k,) with the members `of_source` (k,) of another stack."""
        super().keep(members, source, of_source)
        for mine, theirs in zip(self.buffers(), source.buffers(), strict=True):
            mine[members] = theirs[of_source]


def _make_module(module: Module, inputs: int, outputs: int, seed: int) -> nn.Module:
    """Return a copy of a module with its weights, or a new one drawn from the seed."""
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    with fork_generator(seed):
        made: Any = module(inputs, outputs)
    if not isinstance(made, nn.Module):
        raise InputError(
            "module must be a torch module, or make one of the numbers of inputs and outputs, but "
            f"{module!r} made {type(made).__name__}."
        )
    return made


@contextmanager
def fork_generator(seed: int) -> Iterator[None]:
    """Let torch draw from a seed inside the block; its own state comes back afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


Back = Callable[[Tensor], Sequence[Tensor | None]]
"""Gradients of the weights, from slopes at the outputs (m, b, c)."""


def forward(network: StackedMLP, weights: Sequence[Tensor], inputs: Tensor) -> tuple[Tensor, Back]:
    """Compute outputs (m, b, c) of a stack with these weights, and the way back.

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
    """Return what every layer of a stack reads, and last its outputs (m, b, c).

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
    """Return how Σ mean loss + Σ pull * score changes with the outputs (m, b, c).

    `pull` has the shape of the scores; `None` pulls at none of them.
    """
    if loss == "softmax":  # by torch's graph of the loss alone
        with torch.enable_grad():
            leaf = outputs.detach().requires_grad_()
            total = mean_losses(leaf, targets, weight, loss).sum()
            if pull is not None:
                total = total + (to_scores(leaf, loss) * pull).sum()
            return torch.autograd.grad(total, leaf)[0]
    plain = outputs[..., 0]
    if weight is None:
        share = plain.new_tensor(1.0) / plain.shape[1]
    else:
        whole = weight.sum(dim=1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
        share = (1.0 / whole) * weight
    if loss == "squared":
        slopes = share * (2.0 * (plain - targets))
        return (slopes if pull is None else slopes + pull)[..., None]
    scores = torch.sigmoid(plain)
    slopes = (scores - targets) * share
    if pull is not None:
        slopes = slopes + torch.ops.aten.sigmoid_backward(pull, scores)
    return slopes[..., None]


def weight_gradients(
    weights: Sequence[Tensor], read: Sequence[Tensor], slopes: Tensor
) -> list[Tensor]:
    """Compute gradients of weights and biases, from inputs of layers and slopes at the outputs."""
    gradients: list[Tensor] = []
    members, doubled = weights[0].shape[0], needs_pair(weights[-2])
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


_Moving = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]
"""Weights, their gradients, and two running means of each."""


class StackOptimizer(ABC):
    """Weights, what they keep between steps, and the learning rate, which may be changed."""

    def __init__(self, weights: Iterable[Tensor], rate: float) -> None:
        self.rate = rate
        self._weights = list(weights)
        self._first = [torch.zeros_like(weight) for weight in self._weights]
        self._second = [torch.zeros_like(weight) for weight in self._weights]
        self._steps = [weight.new_tensor(0.0, dtype=torch.float32) for weight in self._weights]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Take a step against the gradients, shaped as the weights; those without one stay put."""
        moving = [k for k, gradient in enumerate(gradients) if gradient is not None]
        weights, first, second, steps = (
            [part[k] for k in moving]
            for part in (self._weights, self._first, self._second, self._steps)
        )
        given = [gradient for gradient in gradients if gradient is not None]
        self._move((weights, given, first, second), steps)

    @abstractmethod
    def _move(self, moving: _Moving, steps: list[Tensor]) -> None:
        """Change weights, their two running means, and their numbers of steps in place."""

    def keep(self, members: Tensor, weights: Iterable[Tensor]) -> None:
        """Go on with some of the members, and with weights that hold just these."""
        self._weights = list(weights)
        self._first = [part[members].clone() for part in self._first]
        self._second = [part[members].clone() for part in self._second]


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
