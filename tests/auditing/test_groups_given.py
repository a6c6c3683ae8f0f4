"""Sensitive features as they come: numbers that are no groups, and rows that have no value."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.disparity import contrasts
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.inference import estimate_distance

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3))
SEX, JOB = RNG.choice(["f", "m"], N), RNG.choice(["a", "b"], N)
Y = (X[:, 0] + (SEX == "m") + RNG.normal(size=N) > 0.5).astype(int)
QUICK: dict[str, Any] = {"strength": 3.0, "max_epochs": 3, "random_state": 0}


class TestNumbersAsGroups:
    """Hundreds of sensitive values are refused wherever groups are compared."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda groups: lfl.dd(X[:, 0], groups),
            lambda groups: lfl.cdd_lp(X[:, 0], groups, JOB),
            lambda groups: lfl.cdd_wass(X[:, 0], groups, JOB),
            lambda groups: lfl.FairLeap().value_and_grad(X[:, 0], groups),
            lambda groups: lfl.FairBiT().value_and_grad(X[:, 0], groups, JOB),
            lambda groups: lfl.FairClassifier(**QUICK).fit(X, Y, sensitive_features=groups),
            lambda groups: lfl.FairLGBMClassifier(strength=1.0, n_estimators=2).fit(
                X, Y, sensitive_features=groups
            ),
        ],
    )
    def test_refused_with_a_remedy(self, call: Callable[[object], object]) -> None:
        for groups in (X[:, 1], np.arange(N) % 48 + 18):
            with pytest.raises(InputError, match=r"different numbers.*few groups.*pandas\.cut"):
                call(groups)
        with pytest.raises(InputError, match=r"101 different values.*few groups"):
            call(np.array([f"g{k % 101}" for k in range(N)]))

    def test_twenty_numbers_and_many_names_are_groups(self) -> None:
        assert lfl.dd(X[:, 0], np.arange(N) % 20).value > 0.0
        assert lfl.dd(X[:, 0], [f"country {k % 40}" for k in range(N)]).value > 0.0


class TestMissingGroups:
    """Rows without a sensitive feature train the model and are not compared."""

    @pytest.mark.parametrize("column", ["list", "pandas", "polars", "float", "object"])
    def test_counted_and_told(self, column: str) -> None:
        missing = np.arange(N) % 10 == 0
        texts = [None if none else str(value) for none, value in zip(missing, SEX, strict=True)]
        given: Any = {
            "list": texts,
            "pandas": pd.Series(texts),
            "polars": pl.Series(texts),
            "float": np.where(missing, np.nan, (SEX == "m") * 1.0),
            "object": np.array(texts, dtype=object),
        }[column]
        model = lfl.FairClassifier(**QUICK)
        with pytest.warns(MissingGroupsWarning, match=r"missing in 40 of 400 rows \(10\.0%\)"):
            model.fit(X, Y, sensitive_features=given, legitimate_features=JOB)
        assert set((model.coverage_ or {}).values()) == {1.0}

    def test_their_scores_do_not_matter_to_the_penalty(self) -> None:
        """The disparity that is told is that of the rows with a group."""
        missing = np.arange(N) % 4 == 0
        hidden = SEX.astype(object)
        hidden[missing] = None
        for model in (
            lfl.FairClassifier(**QUICK),
            lfl.FairLGBMClassifier(strength=3.0, n_estimators=300, random_state=0),
        ):
            held = np.arange(N) % 3 == 0
            with pytest.warns(MissingGroupsWarning, match="100 of 400"):
                model.fit(X, Y, sensitive_features=hidden, legitimate_features=JOB, validation=held)
            seen = held & ~missing
            scores = model.predict_proba(X[seen])[:, 1]
            cells = lfl.Cells.from_rows(scores, SEX[seen], JOB[seen])
            contrast = contrasts(cells, "pairwise")[0]
            shares = np.unique(JOB[seen], return_counts=True)[1] / seen.sum()
            found = estimate_distance(contrast, shares)
            assert model.disparity_ is not None
            assert model.disparity_.interval == pytest.approx(found.interval, abs=1e-5)

    def test_gradient_is_that_of_known_rows(self) -> None:
        """A column of several: a row needs all of them."""
        table = pd.DataFrame({"sex": SEX, "origin": RNG.choice(["x", "y"], N)}).astype(object)
        table.loc[3, "sex"] = None
        table.loc[7, "origin"] = np.nan
        with pytest.warns(MissingGroupsWarning, match="missing in 2 of 400"):
            model = lfl.FairClassifier(**QUICK).fit(X, Y, sensitive_features=table)
        assert len(model.coverage_ or {}) == 4

    def test_nothing_known_is_refused(self) -> None:
        with pytest.raises(InputError, match="missing in all 400 rows"):
            lfl.FairClassifier(**QUICK).fit(X, Y, sensitive_features=[None] * N)

    def test_complete_columns_do_not_warn(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", MissingGroupsWarning)
            lfl.FairClassifier(**QUICK).fit(X, Y, sensitive_features=SEX)
