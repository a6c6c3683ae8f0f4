"""`StackedMLP` against a loop over ordinary torch networks with the same weights."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likeforlike.training import StackedMLP, limit_to_one_thread

SIZES = [(4, 1), (4, 7, 1), (4, 50, 20, 3)]


@pytest.fixture(autouse=True)
def single_threaded() -> Iterator[None]:
    with limit_to_one_thread():
        yield


def ordinary(network: StackedMLP, member: int) -> nn.Sequential:
    """One member as torch would write it, with weights of its own."""
    parts: list[nn.Module] = []
    for weight, bias in zip(network.weights[::2], network.weights[1::2], strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[2], dtype=weight.dtype)
        with torch.no_grad():
            layer.weight.copy_(weight[member].T)
            layer.bias.copy_(bias[member, 0])
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def gradients(network: nn.Sequential) -> list[Tensor]:
    """Gradients in the order and shape of a member of a stack."""
    found = []
    for layer in network:
        if isinstance(layer, nn.Linear):
            assert layer.weight.grad is not None
            assert layer.bias.grad is not None
            found += [layer.weight.grad.T, layer.bias.grad[None]]
    return found


def weights(network: StackedMLP) -> list[Tensor]:
    return [weight.detach().clone() for weight in network.weights]


def same(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_equals_a_loop_over_ordinary_networks(sizes: tuple[int, ...], shared: bool) -> None:
    stack = StackedMLP([3, 1, 4, 1], sizes).double()
    random = torch.Generator().manual_seed(0)
    shape = (1 if shared else 4, 30, 4)
    inputs = torch.randn(shape, generator=random, dtype=torch.float64)
    towards = torch.randn(4, 30, sizes[-1], generator=random, dtype=torch.float64)
    outputs = stack(inputs)
    assert outputs.shape == (4, 30, sizes[-1])
    torch.sum(outputs * towards).backward()  # type: ignore[no-untyped-call]
    for k in range(4):
        alone = ordinary(stack, k)
        own = alone(inputs[0 if shared else k])
        torch.testing.assert_close(outputs[k], own, rtol=1e-12, atol=1e-12)
        torch.sum(own * towards[k]).backward()  # type: ignore[no-untyped-call]
        for weight, expected in zip(stack.weights, gradients(alone), strict=True):
            assert weight.grad is not None
            torch.testing.assert_close(weight.grad[k], expected, rtol=1e-12, atol=1e-12)


def test_single_precision_is_the_default() -> None:
    stack = StackedMLP([0, 1], (4, 50, 20, 1))
    inputs = torch.randn(1, 30, 4, generator=torch.Generator().manual_seed(1))
    outputs = stack(inputs)
    assert outputs.dtype == torch.float32
    for k in range(2):
        own = ordinary(stack, k)(inputs[0])
        torch.testing.assert_close(outputs[k], own, rtol=1e-5, atol=1e-6)


def test_first_weights_do_not_depend_on_the_rest_of_the_stack() -> None:
    sizes = (6, 12, 2)
    alone = weights(StackedMLP([7], sizes))
    for seeds, place in [([7, 8], 0), ([1, 2, 3, 7], 3), (list(range(10)), 7)]:
        among = weights(StackedMLP(seeds, sizes))
        assert same(alone, [weight[place : place + 1] for weight in among])
    other = weights(StackedMLP([8], sizes))
    assert not any(torch.equal(a, b) for a, b in zip(alone, other, strict=True))


def test_first_weights_do_not_touch_torchs_own_random_state() -> None:
    before = torch.get_rng_state()
    first = weights(StackedMLP([7], (6, 12, 2)))
    torch.rand(3)
    second = weights(StackedMLP([7], (6, 12, 2)))
    assert same(first, second)
    torch.set_rng_state(before)
    StackedMLP([7], (6, 12, 2))
    assert torch.equal(torch.get_rng_state(), before)


def test_first_weights_are_drawn_as_torch_draws_them() -> None:
    """Uniform in ±1/√inputs, weights and biases alike."""
    stack = StackedMLP(range(200), (9, 16, 4))
    for weight, inputs in zip(stack.weights, (9, 9, 16, 16), strict=True):
        scaled = np.sort(weight.detach().numpy().ravel() * np.sqrt(inputs))
        assert -1.0 <= scaled[0] < -0.98
        assert 0.98 < scaled[-1] <= 1.0
        uniform = np.linspace(-1.0, 1.0, scaled.size)
        assert np.abs(scaled - uniform).max() < 4.0 / np.sqrt(scaled.size)


def test_select_copies_members() -> None:
    stack = StackedMLP([0, 1, 2, 3], (4, 5, 1))
    before = weights(stack)
    some = stack.select(torch.tensor([2, 0, 2]))
    assert some.members == 3
    assert some.sizes == stack.sizes
    assert same(weights(some), [weight[[2, 0, 2]] for weight in before])
    assert all(weight.requires_grad for weight in some.parameters())
    with torch.no_grad():
        for weight in some.parameters():
            weight.add_(1.0)
    assert same(weights(stack), before)
    inputs = torch.ones(1, 3, 4)
    assert torch.equal(stack.select(torch.tensor([1]))(inputs)[0], stack(inputs)[1])


def test_keep_overwrites_the_members_named_and_no_others() -> None:
    stack, source = StackedMLP([0, 1, 2, 3], (4, 5, 1)), StackedMLP([8, 9], (4, 5, 1))
    before, theirs = weights(stack), weights(source)
    stack.keep(torch.tensor([3, 1]), source, torch.tensor([0, 1]))
    after = weights(stack)
    assert same([w[[0, 2]] for w in after], [w[[0, 2]] for w in before])
    assert same([w[[3, 1]] for w in after], theirs)
    with torch.no_grad():
        for weight in source.parameters():
            weight.add_(1.0)
    assert same(weights(stack), after)


def test_members_do_not_feel_each_other() -> None:
    stack = StackedMLP([0, 1, 2], (4, 5, 1)).double()
    inputs = torch.ones(1, 3, 4, dtype=torch.float64)
    stack(inputs).square().sum().backward()
    first = [weight.grad.clone() for weight in stack.weights if weight.grad is not None]
    with torch.no_grad():
        for weight in stack.weights:
            weight[1] = torch.nan
    stack.zero_grad()
    stack(inputs).square().sum().backward()
    for weight, before in zip(stack.weights, first, strict=True):
        assert weight.grad is not None
        assert torch.equal(weight.grad[[0, 2]], before[[0, 2]])
        assert weight.grad[1].isnan().any()


def test_a_stack_can_be_stored() -> None:
    stack = StackedMLP([0, 1], (4, 5, 1))
    for again in (pickle.loads(pickle.dumps(stack)), copy.deepcopy(stack)):
        assert again.sizes == stack.sizes
        assert same(weights(again), weights(stack))
    other = StackedMLP([5, 6], (4, 5, 1))
    other.load_state_dict(stack.state_dict())
    assert same(weights(other), weights(stack))
