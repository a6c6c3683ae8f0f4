"""Finished scores and decisions: repaired with the group at prediction and without it.

    python -m benchmarks.finished --json benchmarks/finished.json --page docs/rivals.md
    python -m benchmarks.finished --read benchmarks/finished.json --page docs/rivals.md

A LightGBM model is finished first; rows of `fit` have scores of models that have not seen them.
Everything is measured on test rows of five splits with the true groups. Disparities are those of an
audit, Σ P(l) W_1²(l) without small-sample bias, averaged over the splits before the root is taken;
of decisions that is the root mean square gap of the rates. Beside our own stands fairlearn's
`ThresholdOptimizer` for demographic parity, fitted in every level by itself. The page between two
marks of its file is made of what was found.

The last part fits on 800 rows in ten levels, twenty times: what a repair leaves there.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Console
from rich.table import Table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from likeforlike import RepairWarning
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset, load_adult, load_drug, load_law_school, make_loans
from likeforlike.disparity._columns import Codes, encode
from likeforlike.postprocess import ConditionalBarycentre, Decisions, UnawareRepair
from likeforlike.postprocess._held_out import squared_disparity

__all__ = ["main", "run", "section"]

_BEGIN, _END = "<!-- finished scores -->", "<!-- end of finished scores -->"
_THIN_ROWS, _THIN_SPLITS = 800, 20
_HEADINGS = {
    "scores": ("performance", "change", "disparity", "cut"),
    "decisions": ("accuracy", "change", "rms gap of rates", "cut"),
    "thin": ("disparity before", "after", "splits where it rose", "beyond noise"),
}


@dataclass(frozen=True)
class _Split:
    """A data set with a finished model: rows to fit a repair on, and test rows."""

    inputs: FloatArray
    targets: FloatArray
    group: Codes
    level: Codes
    fit: IntArray
    test: IntArray
    scores: FloatArray

    def who(self, rows: IntArray) -> dict[str, Any]:
        return {
            "sensitive_features": self.group.codes[rows],
            "legitimate_features": self.level.codes[rows],
        }

    def levels(self, rows: IntArray) -> dict[str, Any]:
        return {"legitimate_features": self.level.codes[rows]}

    def disparity(self, scores: npt.NDArray[Any]) -> float:
        """Squared disparity of scores of the test rows."""
        rows = self.test
        group = Codes(self.group.codes[rows], self.group.labels)
        level = Codes(self.level.codes[rows], self.level.labels)
        return squared_disparity(scores.astype(np.float64), group, level, np.ones(rows.size))


def _by_race() -> Dataset:
    law = load_law_school()
    race = pl.when(pl.col("race1") == "white").then(pl.lit("white")).otherwise(pl.lit("other"))
    frame = law.frame.drop_nulls("race1").with_columns(race.alias("race1"))
    return replace(law, frame=frame, sensitive="race1")


def _above_median(law: Dataset) -> Dataset:
    middle = float(law.frame["zfygpa"].median())  # type: ignore[arg-type]  # of numbers
    frame = law.frame.with_columns((pl.col("zfygpa") > middle).cast(pl.Int64))
    return replace(law, frame=frame, task="classification")


_SCORES: dict[str, Callable[[], Dataset]] = {
    "Adult": load_adult,
    "Law School, race": _by_race,
    "Law School, gender": load_law_school,
}
_DECISIONS: dict[str, Callable[[], Dataset]] = {
    "Adult": load_adult,
    "Drug": load_drug,
    "Law School, race, above the median": lambda: _above_median(_by_race()),
    "Loans": lambda: make_loans(10_000, gap=0.15),
}


def _splits(data: Dataset, seeds: range, share: float = 0.75) -> Iterator[_Split]:
    """A finished model for every seed."""
    inputs, targets = data.inputs().matrix, data.targets.astype(np.float64)
    group, level = encode(data.groups, "groups"), encode(data.levels, "levels")
    few = {"num_leaves": 7, "n_estimators": 60} if len(inputs) < 5000 else {}
    settings: dict[str, Any] = {
        "n_estimators": 150,
        "learning_rate": 0.07,
        "n_jobs": 1,
        "verbose": -1,
        **few,
    }
    for seed in seeds:
        order = np.random.default_rng([seed, 19]).permutation(len(inputs))
        fit, test = np.split(order, [round(share * order.size)])
        scores = np.empty(order.size)
        if data.task == "classification":
            model = lightgbm.LGBMClassifier(**settings)
            method = "predict_proba"
        else:
            model = lightgbm.LGBMRegressor(**{**settings, "n_estimators": 60, "num_leaves": 15})
            method = "predict"
        unseen = cross_val_predict(model, inputs[fit], targets[fit], cv=5, method=method)
        new = getattr(model.fit(inputs[fit], targets[fit]), method)(inputs[test])
        scores[fit], scores[test] = (
            np.asarray(one).reshape(len(one), -1)[:, -1] for one in (unseen, new)
        )
        yield _Split(inputs, targets, group, level, fit, test, scores)


def _scores(split: _Split, regression: bool) -> dict[str, tuple[float, float]]:
    """Performance and squared disparity of every method."""
    fit, test, f = split.fit, split.test, split.scores
    aware = ConditionalBarycentre().fit(f[fit], **split.who(fit))
    unaware = UnawareRepair().fit(f[fit], split.inputs[fit], **split.who(fit))
    moved = unaware.transform(f[test], split.inputs[test], **split.levels(test))
    found = {
        "none": f[test],
        "ConditionalBarycentre (needs A)": aware.transform(f[test], **split.who(test)),
        "UnawareRepair, t = .8": 0.2 * f[test] + 0.8 * moved,
        "UnawareRepair, t = 1": moved,
    }
    target = split.targets[test]
    return {
        name: (
            float(((scores - target) ** 2).mean())
            if regression
            else float(roc_auc_score(target, scores)),
            split.disparity(scores),
        )
        for name, scores in found.items()
    }


class _Finished(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose only input is its probability, for fairlearn."""

    def fit(self, X: FloatArray, y: FloatArray) -> _Finished:  # noqa: N803, ARG002
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:  # noqa: N803
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    def predict(self, X: FloatArray) -> IntArray:  # noqa: N803
        return (X[:, 0] > 0.5).astype(np.int64)


def _thresholds(split: _Split) -> IntArray:
    """fairlearn's thresholds, level by level; where a level lacks something, a half."""
    from fairlearn.postprocessing import ThresholdOptimizer

    fit, test, f = split.fit, split.test, split.scores
    decided = (f[test] > 0.5).astype(np.int64)
    for level in range(len(split.level.labels)):
        seen = fit[split.level.codes[fit] == level]
        new = np.flatnonzero(split.level.codes[test] == level)
        cells = {(a, y) for a, y in zip(split.group.codes[seen], split.targets[seen], strict=True)}
        if new.size == 0 or len(cells) < 2 * len(split.group.labels):
            continue
        model = _Finished().fit(f[seen][:, None], split.targets[seen])
        rule = ThresholdOptimizer(
            estimator=model,
            constraints="demographic_parity",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict_proba",
        )
        rule.fit(f[seen][:, None], split.targets[seen], sensitive_features=split.group.codes[seen])
        decided[new] = rule.predict(
            f[test][new][:, None],
            sensitive_features=split.group.codes[test][new],
            random_state=0,
        )
    return decided


def _decided(split: _Split) -> dict[str, tuple[float, float]]:
    """Accuracy and squared gap of every method."""
    fit, test, f = split.fit, split.test, split.scores
    found: dict[str, Any] = {"none": f[test] > 0.5}
    for name, limit in {"t = 1": None, "max_gap = .05": 0.05}.items():
        rule = Decisions(max_gap=limit).fit(f[fit], split.inputs[fit], **split.who(fit))
        found[f"Decisions, {name}"] = rule.predict(
            f[test], split.inputs[test], **split.levels(test)
        )
    found["ThresholdOptimizer in each level (needs A)"] = _thresholds(split)
    aware = ConditionalBarycentre().fit(f[fit], **split.who(fit))
    found["ConditionalBarycentre, then .5 (needs A)"] = (
        aware.transform(f[test], **split.who(test)) > 0.5
    )
    target = split.targets[test]
    return {
        name: (float((np.asarray(decided) == target).mean()), split.disparity(np.asarray(decided)))
        for name, decided in found.items()
    }


def _thin(split: _Split, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Squared disparity before and after repairs that were fitted on few rows."""
    few, test = rng.choice(split.fit, _THIN_ROWS, replace=False), split.test
    f = split.scores
    before = split.disparity(f[test])
    aware = ConditionalBarycentre(cross_fit=5).fit(f[few], **split.who(few))
    unaware = UnawareRepair().fit(f[few], split.inputs[few], **split.who(few))
    rule = Decisions() if f.min() >= 0.0 and f.max() <= 1.0 else None
    moved = unaware.transform(f[test], split.inputs[test], **split.levels(test))
    found = {
        "ConditionalBarycentre": (
            before,
            split.disparity(aware.transform(f[test], **split.who(test))),
        ),
        "UnawareRepair": (before, split.disparity(moved)),
    }
    if rule is not None:
        rule.fit(f[few], split.inputs[few], **split.who(few))
        decided = rule.predict(f[test], split.inputs[test], **split.levels(test))
        found["Decisions"] = (split.disparity(f[test] > 0.5), split.disparity(decided))
    return found


def run(seeds: int, thin: int, names: list[str] | None = None) -> dict[str, Any]:
    """Everything, by part, data set and method: two numbers for every split."""
    found: dict[str, Any] = {"scores": {}, "decisions": {}, "thin": {}}
    for name, load in _SCORES.items():
        if names is None or name in names:
            data = load()
            regression = data.task == "regression"
            found["scores"][name] = _gathered(
                _scores(split, regression) for split in _splits(data, range(seeds))
            )
    for name, load in _DECISIONS.items():
        if names is None or name in names:
            found["decisions"][name] = _gathered(map(_decided, _splits(load(), range(seeds))))
    for name in ("Law School, race, above the median", "Loans"):
        if names is None or name in names:
            # One finished model, many small samples to fit a repair on.
            split = next(_splits(_DECISIONS[name](), range(1), 0.5))
            found["thin"][name] = _gathered(
                _thin(split, np.random.default_rng([seed, 23])) for seed in range(thin)
            )
    return found


def _gathered(results: Iterator[dict[str, tuple[float, float]]]) -> dict[str, list[list[float]]]:
    gathered: dict[str, list[list[float]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for result in results:
            for method, figures in result.items():
                gathered.setdefault(method, []).append([round(one, 6) for one in figures])
    return gathered


def _root(squares: FloatArray) -> float:
    return float(np.sqrt(max(squares.mean(), 0.0)))


def _rows(part: str, methods: dict[str, list[list[float]]]) -> Iterator[tuple[str, ...]]:
    if part == "thin":
        for method, figures in methods.items():
            before, after = np.array(figures).T
            more = after - before
            noise = more.std(ddof=1) / np.sqrt(more.size) if more.size > 1 else np.inf
            beyond = "yes" if more.mean() > 2.0 * noise else "no"
            yield (
                method,
                f"{_root(before):.4f}",
                f"{_root(after):.4f}",
                f"{(more > 0).sum()} of {more.size}",
                beyond,
            )
        return
    plain, disparity = np.array(methods["none"]).T
    for method, figures in methods.items():
        performance, squares = np.array(figures).T
        yield (
            method,
            f"{performance.mean():.4f}",
            f"{(performance - plain).mean():+.4f}",
            f"{_root(squares):.4f}",
            f"{1.0 - _root(squares) / _root(disparity):.0%}",
        )


_WORDS = {
    "scores": "Scores: AUC (Adult) or squared error (Law School), means of {n} splits.",
    "decisions": "Decisions at equal costs of errors, means of {n} splits.",
    "thin": "Repairs fitted on 800 rows only, {n} times; root mean squares.",
}


def section(found: dict[str, Any]) -> str:
    """What was found, as tables of the documentation."""
    lines = [_BEGIN]
    for part, sets in found.items():
        count = max((len(next(iter(methods.values()))) for methods in sets.values()), default=0)
        lines += ["", _WORDS[part].format(n=count)]
        for name, methods in sets.items():
            lines += ["", f"**{name}**", "", "| | " + " | ".join(_HEADINGS[part]) + " |"]
            lines.append("|---|" + "---:|" * len(_HEADINGS[part]))
            lines += ["| " + " | ".join(row) + " |" for row in _rows(part, methods)]
    return "\n".join([*lines, "", _END])


def _table(found: dict[str, Any]) -> Table:
    table = Table(title="finished scores and decisions, on test rows")
    for heading in ("part", "data", "method", "", "", "", ""):
        table.add_column(heading)
    for part, sets in found.items():
        for name, methods in sets.items():
            for row in _rows(part, methods):
                table.add_row(part, name, *row)
    return table


def _write_section(path: Path, text: str) -> None:
    page = path.read_text("utf-8")
    before, rest = page.split(_BEGIN)
    path.write_text(before + text + rest.split(_END)[1], "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run (or read what an earlier run found), print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("--read", type=Path, help="read what an earlier run found")
    parser.add_argument("--page", type=Path, help="put the tables between the marks of this page")
    parser.add_argument("--quick", action="store_true", help="the loan data, one split")
    given = parser.parse_args(arguments)
    if given.read is not None:
        found = json.loads(given.read.read_text("utf-8"))
    else:
        found = run(1, 2, ["Loans"]) if given.quick else run(5, _THIN_SPLITS)
    Console(width=160).print(_table(found))
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if given.page is not None:
        _write_section(given.page, section(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
