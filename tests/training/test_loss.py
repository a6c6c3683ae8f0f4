"""`PenaltyLoss`: the exact value and gradient, whatever tensor the scores come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch import Tensor, nn

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Penalty
from likeforlike.training import PenaltyLoss, limit_to_one_thread

PENALTIES: dict[str, type[Penalty]] = {
    "fairbit": lfl.FairBiT,
    "fairleap": lfl.FairLeap,
    "wasserstein": lfl.WassersteinPenalty,
}
ORDERS = [1.5, 2.0, 3.0]
SHAPES: list[tuple[int, ...]] = [(), (3,)]


@pytest.fixture(autouse=True)
def single_threaded() -> Iterator[None]:
    with limit_to_one_thread():
        yield


def make(name: str, order: float = 2.0) -> Penalty:
    return PENALTIES[name](order=order)  # type: ignore[call-arg]


class Data(NamedTuple):
    scores: FloatArray
    groups: IntArray
    levels: IntArray
    weight: FloatArray


def data(seed: int, classes: tuple[int, ...] = (), groups: int = 2) -> Data:
    """24 rows in unequal cells, one of them a singleton; scores at least 0.005 apart."""
    rng = np.random.default_rng(seed)
    shape = (24, *classes)
    group, level = rng.integers(0, groups, 24), rng.integers(0, 2, 24)
    group[:3], level[:3] = [0, 1, 1], 2
    places = rng.permutation(int(np.prod(shape))) + rng.uniform(0.0, 0.5, int(np.prod(shape)))
    return Data(0.01 * places.reshape(shape), group, level, rng.random(24) + 0.1)


@pytest.mark.parametrize("classes", SHAPES)
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PENALTIES)
def test_autograd_agrees_with_finite_differences(
    name: str, order: float, groups: int, classes: tuple[int, ...]
) -> None:
    rows = data(1, classes, groups)
    loss = PenaltyLoss(make(name, order))
    scores = torch.tensor(rows.scores, requires_grad=True)

    def value(at: Tensor) -> Any:
        return loss(at, rows.groups, rows.levels, rows.weight)

    assert torch.autograd.gradcheck(value, (scores,), eps=1e-6, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", SHAPES)
@pytest.mark.parametrize("order", [1.0, *ORDERS])
@pytest.mark.parametrize("name", PENALTIES)
def test_the_same_as_on_arrays(
    name: str, order: float, classes: tuple[int, ...], weighted: bool
) -> None:
    rows = data(2, classes)
    rest = rows.groups, rows.levels, rows.weight if weighted else None
    scores = torch.tensor(rows.scores, requires_grad=True)
    loss = PenaltyLoss(make(name, order))(scores, *rest)
    loss.backward()
    value, gradient = make(name, order).value_and_grad(rows.scores, *rest)
    assert loss.shape == ()
    assert loss.item() == pytest.approx(value, abs=1e-10)
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad.numpy(), gradient, rtol=0.0, atol=1e-10)


def test_without_levels_all_rows_are_compared() -> None:
    rows = data(3)
    loss = PenaltyLoss(lfl.FairLeap())(torch.tensor(rows.scores), rows.groups)
    assert loss.item() == lfl.FairLeap().value_and_grad(rows.scores, rows.groups)[0]


@pytest.mark.parametrize("classes", SHAPES)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-6), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)],
)
def test_scores_keep_their_type(
    dtype: torch.dtype, tolerance: float, classes: tuple[int, ...]
) -> None:
    rows = data(4, classes)
    scores = torch.tensor(rows.scores).to(dtype).requires_grad_()
    loss = PenaltyLoss(lfl.FairLeap())(scores, rows.groups, rows.levels)
    loss.backward()
    assert scores.grad is not None
    assert loss.dtype == scores.grad.dtype == dtype
    rounded = scores.detach().double().numpy()
    value, gradient = lfl.FairLeap().value_and_grad(rounded, rows.groups, rows.levels)
    assert loss.item() == pytest.approx(value, rel=tolerance)
    found = scores.grad.double().numpy()
    np.testing.assert_allclose(found, gradient, rtol=tolerance, atol=tolerance * 1e-3)


def columns(groups: list[str], levels: list[int], weight: list[float]) -> dict[str, Any]:
    codes = torch.tensor([label == "m" for label in groups])
    return {
        "lists": (groups, levels, weight),
        "arrays": (np.array(groups), np.array(levels), np.array(weight)),
        "tensors": (codes, torch.tensor(levels), torch.tensor(weight, requires_grad=True)),
        "polars": (pl.Series(groups), pl.Series(levels), pl.Series(weight)),
        "pandas": (pd.Series(groups), pd.Series(levels), pd.Series(weight)),
        "categories": (
            pd.Series(groups, dtype="category"),
            pl.Series(levels).cast(pl.Int8),
            weight,
        ),
    }


@pytest.mark.parametrize("kind", columns([], [], []))
def test_any_kind_of_column(kind: str) -> None:
    rows = data(5)
    labels = np.where(rows.groups == 1, "m", "f").tolist()
    given = columns(labels, rows.levels.tolist(), rows.weight.astype(np.float32).tolist())[kind]
    scores = torch.tensor(rows.scores, requires_grad=True)
    loss = PenaltyLoss(lfl.FairBiT())(scores, *given)
    loss.backward()
    rest = rows.groups, rows.levels, rows.weight.astype(np.float32)
    value, gradient = lfl.FairBiT().value_and_grad(rows.scores, *rest)
    assert loss.item() == value
    assert scores.grad is not None
    np.testing.assert_array_equal(scores.grad.numpy(), gradient)


def test_scores_need_not_lie_side_by_side() -> None:
    rows = data(6)
    wide = torch.zeros(24, 2, dtype=torch.float64)
    wide[:, 1] = torch.tensor(rows.scores)
    wide.requires_grad_()
    column = wide[:, 1]
    assert not column.is_contiguous()
    PenaltyLoss(lfl.FairLeap())(column, rows.groups, rows.levels).backward()
    _, gradient = lfl.FairLeap().value_and_grad(rows.scores, rows.groups, rows.levels)
    assert wide.grad is not None
    np.testing.assert_array_equal(wide.grad[:, 1].numpy(), gradient)
    assert not wide.grad[:, 0].any()

    rows = data(6, (3,))
    turned = torch.tensor(np.ascontiguousarray(rows.scores.T), requires_grad=True)
    PenaltyLoss(lfl.FairLeap())(turned.T, rows.groups, rows.levels).backward()
    _, gradient = lfl.FairLeap().value_and_grad(rows.scores, rows.groups, rows.levels)
    assert turned.grad is not None
    np.testing.assert_array_equal(turned.grad.T.numpy(), gradient)


def test_scores_need_no_gradient() -> None:
    rows = data(7)
    loss = PenaltyLoss(lfl.FairLeap())(torch.tensor(rows.scores), rows.groups, rows.levels)
    assert not loss.requires_grad
    with torch.no_grad():
        scores = torch.tensor(rows.scores, requires_grad=True)
        again = PenaltyLoss(lfl.FairLeap())(scores, rows.groups, rows.levels)
    assert not again.requires_grad
    assert loss.item() == again.item() > 0.0


def test_scores_are_not_changed_and_keep_their_own_memory() -> None:
    rows = data(8)
    scores = torch.tensor(rows.scores, requires_grad=True)
    loss = PenaltyLoss(lfl.FairLeap())(scores, rows.groups, rows.levels)
    with torch.no_grad():
        scores += 1.0
    loss.backward()
    _, gradient = lfl.FairLeap().value_and_grad(rows.scores, rows.groups, rows.levels)
    assert scores.grad is not None
    np.testing.assert_array_equal(scores.grad.numpy(), gradient)
    np.testing.assert_array_equal(scores.detach().numpy(), rows.scores + 1.0)


def test_the_strength_reaches_the_gradient() -> None:
    rows = data(9)
    scores = torch.tensor(rows.scores, requires_grad=True)
    penalty = PenaltyLoss(lfl.FairLeap())
    (2.5 * penalty(scores, rows.groups, rows.levels) + 3.0 * scores.sum()).backward()
    _, gradient = lfl.FairLeap().value_and_grad(rows.scores, rows.groups, rows.levels)
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad.numpy(), 2.5 * gradient + 3.0, rtol=1e-14)


def test_a_gradient_of_the_gradient_is_refused() -> None:
    rows = data(10)
    scores = torch.tensor(rows.scores, requires_grad=True)
    loss = PenaltyLoss(lfl.FairLeap())(scores, rows.groups, rows.levels)
    (first,) = torch.autograd.grad(loss**2, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.backward(first.sum())


@pytest.mark.training
@pytest.mark.parametrize("name", PENALTIES)
def test_training_with_it_lowers_the_penalty(name: str) -> None:
    rng = np.random.default_rng(11)
    group, level = rng.integers(0, 2, 400), rng.integers(0, 3, 400)
    inputs = rng.standard_normal((400, 4))
    inputs[:, 0] += group
    target = torch.tensor(inputs[:, :2].sum(axis=1) + level, dtype=torch.float32)
    features = torch.tensor(np.column_stack([inputs, level]), dtype=torch.float32)
    penalty = PenaltyLoss(make(name))

    def trained(strength: float) -> tuple[float, float]:
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        adam = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(80):
            scores = network(features)[:, 0]
            value = penalty(scores, group, level)
            total = ((scores - target) ** 2).mean() + strength * value
            adam.zero_grad()
            total.backward()
            adam.step()
        return value.item(), ((scores - target) ** 2).mean().item()

    (free, exact), (bound, worse) = trained(0.0), trained(10.0)
    assert free > 0.5
    assert bound < 0.1 * free
    assert exact < worse < 4.0


def test_it_says_what_is_inside() -> None:
    said = repr(PenaltyLoss(lfl.WassersteinPenalty()))
    assert said == "PenaltyLoss(WassersteinPenalty(order=2.0, reg=0.0))"
    assert not list(PenaltyLoss(lfl.FairLeap()).parameters())


ONES = torch.ones(4, dtype=torch.float64)
GROUPS = ["f", "m", "f", "m"]


@pytest.mark.parametrize(
    ("scores", "rest", "message"),
    [
        (torch.ones(4, dtype=torch.int64), (GROUPS,), r"floating-point.*\(4,\) of torch.int64"),
        (torch.ones(4, dtype=torch.bool), (GROUPS,), r"floating-point.*torch.bool"),
        (torch.ones(4, dtype=torch.complex64), (GROUPS,), r"floating-point.*torch.complex64"),
        (torch.ones(4, 2, 2), (GROUPS,), r"shape \(n,\) or \(n, c\), not \(4, 2, 2\)"),
        (torch.tensor(1.0), (GROUPS,), r"shape \(n,\) or \(n, c\), not \(\)"),
        (torch.tensor([1.0, 2.0, np.nan, np.inf]), (GROUPS,), "2 missing or infinite.*at row 2"),
        (torch.tensor([[1.0, 2.0], [3.0, np.nan]]), (["f", "m"],), "1 missing.*at row 1"),
        (ONES[:3], (GROUPS,), r"groups has 4 row\(s\), but scores have 3"),
        (ONES, (GROUPS, [1, 1, 2]), r"levels has 3 row\(s\), but groups have 4"),
        (ONES, (GROUPS, None, [1.0, 1.0]), "sample_weight has 2 row"),
        (ONES, (GROUPS, None, -ONES), "sample_weight has 4 negative"),
        (ONES, (["f", "m", None, "m"],), "groups has 1 missing"),
        (ONES[:0], ([],), "empty"),
    ],
)
def test_bad_input(scores: Tensor, rest: tuple[Any, ...], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        PenaltyLoss(lfl.FairLeap())(scores, *rest)


# Rows of a known table ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_numbers_of_rows_give_what_their_columns_give(
    name: str, weighted: bool, groups: int, dtype: torch.dtype
) -> None:
    rows = data(6, (), groups)
    weight = rows.weight if weighted else None
    known = PenaltyLoss(make(name), rows.groups, rows.levels, weight)
    plain = PenaltyLoss(make(name))
    # Batches with every group and level: what a batch lacks has no part in its layout.
    for batch in (np.arange(24), np.random.default_rng(0).permutation(24)):
        found = []
        for given in (
            known(
                at := torch.tensor(rows.scores[batch], dtype=dtype, requires_grad=True), rows=batch
            ),
            plain(
                by := torch.tensor(rows.scores[batch], dtype=dtype, requires_grad=True),
                rows.groups[batch],
                rows.levels[batch],
                None if weight is None else weight[batch],
            ),
        ):
            given.backward()
            found.append(given.item())
        assert found[0] == found[1]
        assert at.grad is not None
        assert by.grad is not None
        assert torch.equal(at.grad, by.grad)


@pytest.mark.parametrize("classes", SHAPES)
def test_rows_of_a_batch_may_lack_levels_and_groups(classes: tuple[int, ...]) -> None:
    rows = data(7, classes, 3)
    term = PenaltyLoss(lfl.FairLeap(), rows.groups, rows.levels)
    met = np.flatnonzero(rows.levels < 2)[:9]
    value, gradient = lfl.FairLeap().value_and_grad(
        rows.scores[met], rows.groups[met], rows.levels[met]
    )
    scores = torch.tensor(rows.scores[met], requires_grad=True)
    loss = term(scores, rows=torch.tensor(met))
    loss.backward()
    assert loss.item() == pytest.approx(value, abs=1e-14)
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad.numpy(), gradient, atol=1e-14)
    alone = np.flatnonzero(rows.groups == rows.groups[0])
    assert term(torch.tensor(rows.scores[alone]), rows=alone).item() == 0.0
    assert term.thin_batches == 1


def test_rows_that_cannot_be_are_refused() -> None:
    rows = data(8)
    term = PenaltyLoss(lfl.FairLeap(), rows.groups, rows.levels)
    scores = torch.tensor(rows.scores)
    with pytest.raises(lfl.errors.InputError, match="between 0 and 23"):
        term(scores[:2], rows=[0, 24])
    with pytest.raises(lfl.errors.InputError, match="between 0 and 23"):
        term(scores[:2], rows=[-1, 2])
    with pytest.raises(lfl.errors.InputError, match="2 number"):
        term(scores[:2], rows=[0.5, 1.0])
    with pytest.raises(lfl.errors.InputError, match="2 number"):
        term(scores[:2], rows=[1])
    with pytest.raises(lfl.errors.InputError, match="give it their sensitive_features"):
        PenaltyLoss(lfl.FairLeap())(scores, rows=np.arange(24))
    with pytest.raises(lfl.errors.InputError, match="nothing but scores and rows"):
        term(scores, rows.groups, rows=np.arange(24))
    with pytest.raises(lfl.errors.InputError, match="sensitive_features is missing"):
        term(scores)
    for odd in (float("nan"), float("inf")):
        scores[3] = odd
        with pytest.raises(lfl.errors.InputError, match=r"first at row 3.*did training diverge"):
            term(scores, rows=np.arange(24))
    with pytest.raises(lfl.errors.InputError, match="floating-point tensor of shape"):
        term(torch.tensor(0.5), rows=[1])
    with pytest.raises(lfl.errors.InputError, match="no level holds two"):
        PenaltyLoss(lfl.FairLeap(), [0, 1], ["a", "b"])
