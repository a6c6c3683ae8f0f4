"""Early stopping without what chance alone makes of a penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import likeforlike as lfl
from likeforlike.penalties import Layout, Penalty
from likeforlike.training import Epoch, Recipe, Rows, StackedMLP, train
from likeforlike.training._training import ParityBaseline

ONE = np.zeros(1, np.int64)


@pytest.mark.parametrize(
    "penalty", [lfl.FairLeap(), lfl.FairBiT(), lfl.WassersteinPenalty()], ids=repr
)
def test_at_parity_nothing_is_left_on_average(penalty: Penalty) -> None:
    rng = np.random.default_rng(0)
    values, left = [], []
    for _ in range(60):
        scores = rng.random((1, 80))
        layout = penalty.prepare(Layout.from_columns(rng.choice(["f", "m"], 80), np.arange(80) % 5))
        value, _ = penalty.evaluate(scores, layout)
        values.append(value[0])
        left.append(value[0] - ParityBaseline(penalty, layout)(scores, ONE)[0])
    error = np.std(left) / np.sqrt(len(left))
    assert abs(np.mean(left)) < 4.0 * error
    assert np.mean(values) > 8.0 * error


def test_a_disparity_stays() -> None:
    rng = np.random.default_rng(1)
    groups = rng.choice(["f", "m"], 4000)
    layout = Layout.from_columns(groups, np.arange(4000) % 5)
    scores = (rng.random(4000) + 0.3 * (groups == "m"))[None]
    value, _ = lfl.FairLeap().evaluate(scores, layout)
    assert value[0] - ParityBaseline(lfl.FairLeap(), layout)(scores, ONE)[0] == pytest.approx(
        0.09, abs=0.01
    )


def rows(seed: int, size: int) -> Rows:
    """At parity: the target owes something to the inputs, and nothing to the group."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((1, size, 3))
    targets = inputs[0, :, 0] + 0.3 * rng.standard_normal(size)
    layout = Layout.from_columns(rng.choice(["f", "m"], size), np.arange(size) % 20)
    return Rows(torch.tensor(inputs).float(), torch.tensor(targets[None]).float(), layout)


@pytest.mark.training
def test_strong_penalties_are_not_stopped_by_chance() -> None:
    seen: dict[str, list[Epoch]] = {}
    losses = {}
    recipe = Recipe("squared", lfl.FairLeap(), learning_rate=0.01, max_epochs=25, patience=5)
    fresh = rows(5, 2000)
    for stopping in ("plug-in", "excess"):
        trained = train(
            StackedMLP([1], (3, 8, 1)),
            rows(3, 600),
            rows(4, 120),
            replace(recipe, stopping=stopping),
            strengths=np.array([5.0]),
            seeds=np.array([0]),
        )
        seen[stopping] = trained.curve
        outputs = trained.network.predict(fresh.inputs, ONE)[0, :, 0]
        losses[stopping] = float(((outputs - fresh.targets[0]) ** 2).mean())
    # Until one of them stops they are the same network, watched differently.
    for plug_in, excess in zip(seen["plug-in"], seen["excess"], strict=False):
        assert plug_in.value == excess.value
        assert plug_in.objective == pytest.approx(plug_in.loss + 5.0 * plug_in.value)
        assert excess.objective < plug_in.objective
    assert len(seen["excess"]) > len(seen["plug-in"])
    assert losses["excess"] < losses["plug-in"]


def test_an_unknown_way_to_stop_is_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match="stopping must be one of"):
        Recipe(stopping="late")  # type: ignore[arg-type]  # that is the point
