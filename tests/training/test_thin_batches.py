"""A batch with nothing to compare adds nothing to a loss, and is counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import likeforlike as lfl
from likeforlike.training import PenaltyLoss

PENALTIES = [lfl.FairLeap(), lfl.FairBiT(), lfl.FairLeap(order=1.0)]


@pytest.mark.parametrize("shape", [(4,), (4, 3)])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_thin_batch_adds_nothing_and_is_counted(
    penalty: lfl.FairLeap, shape: tuple[int, ...]
) -> None:
    loss = PenaltyLoss(penalty)
    scores = torch.rand(shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
    # Levels with one group each, and a batch of one group alone.
    for columns in ((list("fmfm"), [1, 2, 1, 2]), (["f"] * 4, [1, 1, 2, 2])):
        before = loss.thin_batches
        value = loss(scores, *columns)
        (slopes,) = torch.autograd.grad(value, scores)
        assert value.item() == 0.0
        assert value.dtype == scores.dtype
        assert not slopes.any()
        assert loss.thin_batches == before + 1
    assert loss(scores, list("fmfm"), [1, 1, 2, 2]).item() > 0.0
    assert loss.thin_batches == 2


def test_levels_do_not_make_a_batch_thin_that_does_not_look_at_them() -> None:
    loss = PenaltyLoss(lfl.WassersteinPenalty())
    assert loss(torch.tensor([0.0, 1.0]), ["f", "m"], [1, 2]).item() == 1.0
    assert loss.thin_batches == 0


@pytest.mark.training
def test_training_goes_on_through_thin_batches() -> None:
    rng = np.random.default_rng(0)
    groups, levels = rng.integers(0, 2, 640), rng.integers(0, 200, 640)
    inputs = torch.tensor(rng.normal(size=(640, 2)), dtype=torch.float32)
    model, loss = torch.nn.Linear(2, 1), PenaltyLoss(lfl.FairLeap())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in np.split(np.arange(640), 80):
        optimizer.zero_grad()
        loss(model(inputs[rows])[:, 0], groups[rows], levels[rows]).backward()
        optimizer.step()
    assert 0 < loss.thin_batches < 80
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_bad_batches_are_still_refused() -> None:
    loss = PenaltyLoss(lfl.FairLeap())
    with pytest.raises(lfl.errors.InputError, match="groups has 1 missing"):
        loss(torch.ones(2), ["f", None])
    steep = PenaltyLoss(lfl.FairLeap(order=4.0))
    with pytest.raises(lfl.errors.InputError, match=r"too large for torch\.float16"):
        steep(torch.tensor([0.0, 6e4], dtype=torch.float16), ["f", "m"])
    assert loss.thin_batches == 0
