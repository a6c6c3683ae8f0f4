"""Networks without a penalty reach the predictive performance the paper reports, on the real
data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_communities,
    load_drug,
    load_law_school,
)
from likeforlike.experiments import LegitimateOnly, Method, Plain, Task, predictive_performance

pytestmark = pytest.mark.training


def performance(method: Method, task: Task, splits: int = 5) -> float:
    """Mean over the splits of the performance on test rows."""
    scores, parts = method.scores(task, range(splits))
    found = [
        predictive_performance(scores[k, 0], parts.test_targets[k], parts.loss)
        for k in range(splits)
    ]
    return float(np.mean(found))


def task(load: Callable[[], Dataset], batch_size: int) -> Task:
    """As in the paper: 50-20 networks, Adam at 0.001; the sensitive column is an input."""
    return Task(load(), batch_size=batch_size, max_epochs=60, patience=10, with_sensitive=True)


def test_adult() -> None:
    assert performance(Plain(), task(lambda: load_adult(sample=5000), 1024)) >= 0.83


def test_drug() -> None:
    # To two decimals, as the paper reports it. Test sets have 377 rows, which takes many splits;
    # logistic regression in ten folds, with half as many rows again to learn from, reaches .842.
    assert round(performance(Plain(), task(load_drug, 256), splits=20), 2) >= 0.84


@pytest.mark.law_school
def test_law_school() -> None:
    data = task(load_law_school, 128)
    assert performance(Plain(), data, splits=2) <= 0.77
    assert performance(LegitimateOnly(), data, splits=2) == pytest.approx(0.81, abs=0.02)


def test_communities() -> None:
    assert performance(Plain(), task(load_communities, 128)) <= 0.025
