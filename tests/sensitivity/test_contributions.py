"""Contributions add up to the raw score of every model they are known of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from likeforlike import FairLGBMClassifier, FairXGBClassifier
from likeforlike.auditing import contributions
from likeforlike.errors import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.0).astype(int)
GROUP = rng.integers(0, 2, 300)


def spread(found: dict[str, Any], raw: Any) -> float:
    return float(np.ptp(np.asarray(raw, np.float64) - sum(found.values())))


def test_trees_of_both_libraries_add_up(tmp_path: Path) -> None:
    import lightgbm
    import pandas as pd
    import xgboost

    table = pd.DataFrame(X, columns=list("abcd"))
    light = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(table, y)
    found = contributions(light, table)
    assert list(found) == list("abcd")
    assert spread(found, light.predict(table, raw_score=True)) < 1e-9
    light.booster_.save_model(tmp_path / "m.txt")
    again = contributions(tmp_path / "m.txt", X)
    assert list(again) == list("abcd")
    assert np.allclose(again["a"], found["a"])
    extreme = xgboost.XGBClassifier(n_estimators=8, n_jobs=1).fit(table, y)
    for given in (table, X):
        found = contributions(extreme, given)
        assert list(found) == list("abcd")
        assert spread(found, extreme.predict(table, output_margin=True)) < 1e-4
    extreme.save_model(tmp_path / "m.json")
    assert list(contributions(tmp_path / "m.json", X)) == list("abcd")


@pytest.mark.training
@pytest.mark.filterwarnings("ignore::likeforlike.errors.UnderfitWarning")
@pytest.mark.parametrize("kind", [FairLGBMClassifier, FairXGBClassifier])
def test_own_estimators_add_up(kind: Any) -> None:
    model = kind(strength=1.0, n_estimators=10)
    model.fit(X, y, sensitive_features=GROUP)
    chance = model.predict_proba(X)[:, 1]
    assert spread(contributions(model, X), np.log(chance / (1.0 - chance))) < 1e-4


def test_linear_models_add_up() -> None:
    slopes = np.array([[1.0, -2.0, 0.5, 0.0]])
    found = contributions(SimpleNamespace(coef_=slopes), pl.DataFrame(X, list("abcd")))
    assert list(found) == list("abcd")
    assert spread(found, X @ slopes[0]) < 1e-12


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (SimpleNamespace(), "not known"),
        (SimpleNamespace(coef_=np.ones((2, 4))), "several scores"),
        (SimpleNamespace(coef_=np.ones(3)), "3 coefficients"),
        ("missing.txt", "does not exist"),
    ],
)
def test_other_models_are_refused(model: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        contributions(model, X)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    for name in ("m.txt", "m.json"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(InputError, match="is no model"):
            contributions(tmp_path / name, X)
