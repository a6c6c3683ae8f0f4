"""Repairs without the group as methods of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from likeforlike.datasets import Dataset, make_loans
from likeforlike.errors import InputError
from likeforlike.experiments import Decided, Task, WithoutGroups, named_methods, sweep


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(make_loans(2000, gap=0.3), max_epochs=8, learning_rate=0.01, with_sensitive=True)


@pytest.mark.training
def test_a_sweep_knows_them(task: Task, tmp_path: Path) -> None:
    methods = [WithoutGroups(strengths=(0.0, 1.0)), Decided(strengths=(0.0, 1.0))]
    found = sweep(task, methods, seeds=1, journal=tmp_path / "journal.jsonl").runs
    for method in methods:
        squared = found.filter(method=method.name).sort("strength")["squared"].to_list()
        assert squared[1] < 0.35 * squared[0]


def test_they_have_names() -> None:
    names = [one.name for one in named_methods(["barycenter", "unaware", "decisions"], [1.0])]
    assert names == ["barycenter", "unaware repair", "decisions"]


def test_decisions_need_classes(task: Task) -> None:
    data: Dataset = replace(task.data, target="score", task="regression")
    with pytest.raises(InputError, match="decisions need classes"):
        Decided().check(replace(task, data=data))


@pytest.mark.training
def test_nothing_is_moved_at_zero(task: Task) -> None:
    scores, _ = WithoutGroups(strengths=(0.0, 0.5, 1.0)).scores(task, [0])
    np.testing.assert_allclose(scores[0, 1], 0.5 * (scores[0, 0] + scores[0, 2]), atol=1e-9)
