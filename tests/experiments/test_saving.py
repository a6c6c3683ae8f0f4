"""Models that are kept: the same scores as the run, from a plain file, without torch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import likeforlike as lfl
from likeforlike.datasets import Dataset, dataset_of_table, make_loans
from likeforlike.experiments import (
    DCFR,
    Adversarial,
    LegitimateOnly,
    Method,
    Penalized,
    Plain,
    PostProcessed,
    Repaired,
    Task,
    WithoutSensitive,
    fit_model,
)
from likeforlike.training import InputColumn, SavedModel

pytestmark = pytest.mark.training


def table() -> Dataset:
    """Loans with a nominal column and a constant one."""
    frame = make_loans(600, gap=0.2).frame.with_columns(
        city=pl.Series(["Rome", "Oslo", "Bern"] * 200),
        owner=pl.Series([True, False, False, True] * 150),
        one=pl.lit(1.0),
    )
    return dataset_of_table(frame, target="approved", sensitive="sex", legitimate=["income"])[0]


FAIRLEAP = Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())
METHODS: list[Method] = [
    Plain(),
    LegitimateOnly(),
    FAIRLEAP,
    WithoutSensitive("blind", (1.0, 10.0), FAIRLEAP),
    Adversarial("adversarial", (1.0,)),
    DCFR("DCFR", (1.0,)),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("with_sensitive", [False, True])
def test_a_kept_model_scores_as_its_run_did(
    method: Method, with_sensitive: bool, tmp_path: Path
) -> None:
    task = Task(table(), max_epochs=3, with_sensitive=with_sensitive)
    scores, parts = method.scores(task, [0, 1])
    model = fit_model(task, method, strength=method.strengths[-1], random_state=1)
    model.save(tmp_path / "model.json")
    again = lfl.load(tmp_path / "model.json")
    assert again.made_by == {"method": method.name, "strength": method.strengths[-1], "seed": 1}
    test = task.data.frame[parts.test_rows[1]]
    # Single precision, and another stack.
    np.testing.assert_allclose(again.scores(test), scores[1, -1], atol=2e-6)


def test_regression_has_the_unit_of_the_target(tmp_path: Path) -> None:
    frame = make_loans(400).frame.with_columns(debt=100.0 + 3.0 * pl.col("debt"))
    data = dataset_of_table(frame, target="debt", sensitive="sex")[0]
    task = Task(data, max_epochs=3)
    scores, parts = Plain().scores(task, [0])
    model = fit_model(task, Plain(), strength=0.0)
    np.testing.assert_allclose(
        model.scores(data.frame[parts.test_rows[0]]), scores[0, 0], rtol=1e-5, atol=1e-5
    )


def model() -> SavedModel:
    return SavedModel(
        (InputColumn("age"), InputColumn("city", ("Oslo", "Rome"))),
        np.array([1.0, 0.0, 0.0]),
        np.array([2.0, 1.0, 1.0]),
        (np.array([[1.0], [10.0], [20.0]]), np.array([[0.5]])),
        "regression",
        {},
    )


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_any_table_will_do(make: type) -> None:
    rows = make({"city": ["Rome", "Oslo"], "age": [3.0, 5.0]})
    np.testing.assert_allclose(model().scores(rows), [1.0 + 20.0 + 0.5, 2.0 + 10.0 + 0.5])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_values_have_one_text_wherever_they_come_from(make: type) -> None:
    flags = SavedModel(
        (InputColumn("flag", ("false", "true")), InputColumn("code", ("1", "2"))),
        np.zeros(4),
        np.ones(4),
        (np.array([[1.0], [2.0], [10.0], [20.0]]), np.zeros((1, 1))),
        "regression",
        {},
    )
    rows = make({"flag": [True, False], "code": [1, 2]})
    np.testing.assert_allclose(flags.scores(rows), [2.0 + 10.0, 1.0 + 20.0])


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        lfl.errors.InputError, match=r"'Bern' in row 1, .* it knows \['Oslo', 'Rome'\]"
    ):
        model().scores({"age": [1.0, 2.0], "city": ["Oslo", "Bern"]})
    with pytest.raises(lfl.errors.InputError, match="no column 'city'"):
        model().scores(pl.DataFrame({"age": [1.0]}))
    with pytest.raises(lfl.errors.InputError, match="column 'age'"):
        model().scores({"age": [1.0, np.nan], "city": ["Oslo", "Oslo"]})


@pytest.mark.parametrize("method", [Repaired(), PostProcessed()])
def test_methods_that_need_the_group_are_not_kept(method: Method) -> None:
    with pytest.raises(lfl.errors.InputError, match="is more than a network"):
        fit_model(Task(table()), method, strength=1.0)


def test_integer_codes_are_not_kept() -> None:
    with pytest.raises(lfl.errors.InputError, match="one-hot"):
        fit_model(Task(table(), encoding="integer"), Plain(), strength=0.0)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lfl.errors.InputError, match="cannot be read"):
        lfl.load(tmp_path / "none.json")
    for text in ("{", "[1]", json.dumps({"format": "another"})):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(lfl.errors.InputError, match=r"is not a (saved )?model"):
            lfl.load(tmp_path / "other.json")
