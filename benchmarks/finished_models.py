"""Data sets with a finished model: rows to fit a repair on, and test rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from sklearn.model_selection import cross_val_predict

from benchmarks.outside import outside_table
from benchmarks.six_tables import above_median, law_school_by_race
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset, load_adult, load_drug, load_law_school, make_loans
from likeforlike.disparity import Cells, Codes, contrasts, encode, level_weights
from likeforlike.inference import DistanceEstimate, estimate_distance

__all__ = ["FEW", "FINISHED", "Rows", "Split", "few_rows", "splits"]


@dataclass(frozen=True)
class Rows:
    """A data set, with groups and levels as codes.

    Attributes
    ----------
    inputs : (n, d) floats.
    targets : (n,) floats.
    group, level : of every row.
    task : "classification" or "regression".
    """

    inputs: FloatArray
    targets: FloatArray
    group: Codes
    level: Codes
    task: str

    @classmethod
    def of(cls, data: Dataset) -> Rows:
        """The rows of a data set."""
        return cls(
            data.inputs().matrix,
            data.targets.astype(np.float64),
            encode(data.groups, "groups"),
            encode(data.levels, "levels"),
            data.task,
        )


@dataclass(frozen=True)
class Split:
    """Rows with scores (n,): some to fit a repair on, and test rows."""

    rows: Rows
    scores: FloatArray
    fit: IntArray
    test: IntArray

    def who(self, rows: IntArray) -> dict[str, Any]:
        """Groups and levels of some rows."""
        return {"sensitive_features": self.rows.group.codes[rows], **self.levels(rows)}

    def levels(self, rows: IntArray) -> dict[str, Any]:
        """Levels of some rows."""
        return {"legitimate_features": self.rows.level.codes[rows]}

    def disparity(self, scores: npt.NDArray[Any]) -> DistanceEstimate:
        """Disparity of scores of the test rows, between two groups."""
        group, level = (
            Codes(one.codes[self.test], one.labels) for one in (self.rows.group, self.rows.level)
        )
        cells = Cells.from_codes(level, group, scores.astype(np.float64))
        (contrast,) = contrasts(cells, "pairwise")
        return estimate_distance(contrast, level_weights(contrast, "marginal"))


FINISHED: dict[str, tuple[Callable[[], Dataset], tuple[str, ...]]] = {
    "Adult": (load_adult, ("scores", "decisions")),
    "Law School, race": (law_school_by_race, ("scores",)),
    "Law School, gender": (load_law_school, ("scores",)),
    "Drug": (load_drug, ("decisions",)),
    "Law School, race, above the median": (
        lambda: above_median(law_school_by_race()),
        ("decisions",),
    ),
    "Loans": (lambda: make_loans(10_000, gap=0.15), ("decisions",)),
}
"""Data sets with finished models, and what is repaired there."""


def _compas() -> Rows:
    """COMPAS: by race, among people with as many earlier offences (9 and more are one level)."""
    table = outside_table("compas-recidivism.csv")
    asked = [name for name in table.columns if not name.startswith(("c-charge-desc", "score-text"))]
    inputs = table.select(asked).drop("race", "decile-score", "two-year-recid")
    return Rows(
        inputs.to_numpy().astype(np.float64),
        table["two-year-recid"].to_numpy().astype(np.float64),
        encode(table["race"].to_numpy(), "race"),
        encode(table["priors-count"].clip(0, 9).to_numpy(), "priors"),
        "classification",
    )


def _german() -> Rows:
    """German credit: by sex, among people employed as long (five levels)."""
    table = outside_table("german.csv")
    employed = [name for name in table.columns if name.startswith("employment")]
    return Rows(
        table.drop("sex", "sex-age", "credit-label").to_numpy().astype(np.float64),
        (table["credit-label"] == 1).to_numpy().astype(np.float64),
        encode(table["sex"].to_numpy(), "sex"),
        encode(table.select(employed).to_numpy().argmax(axis=1), "employment"),
        "classification",
    )


FEW: dict[str, Callable[[], Rows]] = {
    "COMPAS": _compas,
    "German credit": _german,
    "Adult": lambda: Rows.of(load_adult()),
    "Drug": lambda: Rows.of(load_drug()),
    "Law School, race": lambda: Rows.of(above_median(law_school_by_race())),
    "Law School, gender": lambda: Rows.of(above_median(load_law_school())),
    "Loans": lambda: Rows.of(make_loans(10_000, gap=0.15)),
    "Loans, almost at parity": lambda: Rows.of(make_loans(10_000, gap=0.01)),
}
"""What repairs are fitted on few rows of."""


def _model(rows: Rows) -> tuple[Any, str]:
    """A model to be finished, and what its scores are."""
    few = {"num_leaves": 7, "n_estimators": 60} if len(rows.inputs) < 5000 else {}
    settings: dict[str, Any] = {
        "n_estimators": 150,
        "learning_rate": 0.07,
        "n_jobs": 1,
        "verbose": -1,
        **few,
    }
    if rows.task == "classification":
        return lightgbm.LGBMClassifier(**settings), "predict_proba"
    regressor = {**settings, "n_estimators": 60, "num_leaves": 15}
    return lightgbm.LGBMRegressor(**regressor), "predict"


def _last(found: npt.NDArray[Any]) -> FloatArray:
    return np.asarray(found, np.float64).reshape(len(found), -1)[:, -1]


def splits(rows: Rows, seeds: range, share: float = 0.75) -> Iterator[Split]:
    """A finished model for every seed; rows to fit a repair on have scores of models like it."""
    for seed in seeds:
        order = np.random.default_rng([seed, 19]).permutation(len(rows.inputs))
        fit, test = np.split(order, [round(share * order.size)])
        model, method = _model(rows)
        scores = np.empty(order.size)
        scores[fit] = _last(
            cross_val_predict(model, rows.inputs[fit], rows.targets[fit], cv=5, method=method)
        )
        model.fit(rows.inputs[fit], rows.targets[fit])
        scores[test] = _last(getattr(model, method)(rows.inputs[test]))
        yield Split(rows, scores, fit, test)


def few_rows(rows: Rows, seeds: range) -> Iterator[Split]:
    """Scores of models that have not seen their rows, of which 800 (or half) are to fit on."""
    model, method = _model(rows)
    scores = _last(cross_val_predict(model, rows.inputs, rows.targets, cv=5, method=method))
    size = min(800, scores.size // 2)
    for seed in seeds:
        order = np.random.default_rng([seed, 23]).permutation(scores.size)
        yield Split(rows, scores, order[:size], order[size:])
