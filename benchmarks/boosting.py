"""Strong penalties in boosted trees: what is left unfitted, by objective and by estimator.

    python -m benchmarks.boosting              # fits, some minutes on a core
    python -m benchmarks.boosting --read       # makes the page of the results that are kept

The same trees (LightGBM, learning rate 0.1) are grown with `lightgbm_objective`, which can tell the
library second derivatives row by row only, and by `FairLGBMClassifier`, which fits the leaves with
how the penalty couples them. Loss, AUC and disparity are those of test rows, means over splits.
Results are kept in `boosting.json` as they come, the page is `docs/boosting.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMRegressor
from sklearn.metrics import log_loss, roc_auc_score

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import load_adult
from likeforlike.files import write_whole
from likeforlike.penalties import Layout
from likeforlike.training import estimate_level_disparity, lightgbm_objective, probabilities
from likeforlike.training._lightgbm import LightGBM
from likeforlike.training._limits import distance_or_inf
from likeforlike.training._trees import BoostingProblem, boost

HERE = Path(__file__).parent
KEPT = HERE / "boosting.json"
PAGE = HERE.parent / "docs" / "boosting.md"

STRENGTHS = (0.0, 10.0, 100.0)
TREES = 80

_PAGE = """# Strong penalties in boosted trees

A penalty pulls the scores of one group against those of another. LightGBM and XGBoost ask an
objective for second derivatives row by row, and only a bound is safe for every row alone. It is the
same for rows that move together, which the penalty does not mind. With a strong penalty trees
therefore move everybody in small steps, and a fixed number of them leaves the loss unfitted: the
scores look alike because they are hardly scores.

`FairLGBMClassifier` and its kin let the library grow the trees and fit the values of the leaves
themselves, with the curvature of the penalty *between leaves*. Leaves that hold both groups then
move freely. `python -m benchmarks.boosting` made this page: {rows:,} training and as many test rows
of {splits} splits, sex not among the inputs, learning rate 0.1.

{tables}

- *objective, {trees} trees*: `lightgbm_objective`.
- *leaves, {trees} trees*: the same, but the leaves are fitted as the estimators do.
- *estimator*: `FairLGBMClassifier` as it is; a fifth of the rows is held back to stop by.
- *level alone*: everybody gets the mean target of their level, the best that needs no inputs.

Disparity is the audit's estimate, without small-sample bias. Seconds are those of a processor.
"""
_HEAD = """## {name}

| strength | fitted by | log loss | AUC | disparity | trees | seconds |
|---|---|---|---|---|---|---|
"""


class Rows(NamedTuple):
    """Inputs, targets of 0 and 1, groups and levels."""

    inputs: FloatArray
    targets: FloatArray
    groups: Any
    levels: Any

    def take(self, rows: Any) -> Rows:  # noqa: ANN401
        """Some of the rows."""
        return Rows(*(column[rows] for column in self))


class Found(NamedTuple):
    """Scores (n,) of test rows, and how many trees made them."""

    scores: FloatArray
    trees: int


def census(size: int, seed: int) -> Rows:
    """People like those of a census: pay by schooling, hours, occupation, marriage, age and sex.

    Schooling is legitimate. Hours and occupation tell the sex of most.
    """
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, size)
    school = np.clip(np.round(rng.normal(6.0 + 0.3 * sex, 2.2)), 0.0, 11.0)
    age = rng.integers(18, 70, size).astype(np.float64)
    hours = np.clip(rng.normal(34.0 + 7.0 * sex, 10.0), 1.0, 80.0)
    usual = rng.random(size) < 0.6
    work = np.where(usual, rng.integers(0, 6, size) + 6 * sex, rng.integers(0, 12, size))
    married = rng.random(size) < 0.45 + 0.1 * sex
    raw = -1.2 + 0.35 * (school - 6.0) + 0.06 * (hours - 38.0) + 0.5 * np.sin(work) + 0.7 * sex
    raw += 0.5 * married - 0.8 * ((age - 47.0) / 18.0) ** 2
    paid = (rng.random(size) < probabilities(raw)).astype(np.float64)
    return Rows(np.column_stack([school, age, hours, work, married]), paid, sex, school)


def adult(size: int, seed: int) -> Rows:
    """Adult, mixed by a seed: sex among people of equal occupation."""
    data = load_adult()
    rows = np.random.default_rng(seed).permutation(len(data.targets))[:size]
    everybody = Rows(
        data.inputs().matrix, data.targets.astype(np.float64), data.groups, data.levels
    )
    return everybody.take(rows)


TABLES: dict[str, Callable[[int, int], Rows]] = {"A made-up census": census, "Adult": adult}


def by_objective(seen: Rows, unseen: Rows, strength: float) -> Found:
    """What LightGBM makes of our objective."""
    objective = lightgbm_objective(lfl.FairLeap(), strength, seen.groups, seen.levels)
    model = LGBMRegressor(objective=objective, n_estimators=TREES, n_jobs=1, verbose=-1)
    model.fit(seen.inputs, seen.targets)
    return Found(probabilities(model.predict(unseen.inputs)), TREES)


def by_leaves(seen: Rows, unseen: Rows, strength: float) -> Found:
    """As many trees on the same rows, with leaves of ours."""
    library = LightGBM({"num_threads": 1, "num_leaves": 31})
    layout, weight = Layout.from_columns(seen.groups, seen.levels), np.ones(seen.targets.size)
    found = boost(
        BoostingProblem(
            seen.targets, weight, layout, "logistic", lfl.FairLeap(), strength, 0.1, 0.0
        ),
        library.grower(seen.inputs),
        seen.inputs,
        start=0.0,
        rounds=TREES,
        patience=TREES,
    )
    return Found(probabilities(library.raw(found.model, unseen.inputs)), found.trees)


def by_estimator(seen: Rows, unseen: Rows, strength: float) -> Found:
    """The estimator as it is."""
    model = lfl.FairLGBMClassifier(strength=strength, random_state=0).fit(
        seen.inputs,
        seen.targets,
        sensitive_features=seen.groups,
        legitimate_features=seen.levels,
    )
    return Found(model.predict_proba(unseen.inputs)[:, 1], model.n_trees_)


WAYS: dict[str, Callable[[Rows, Rows, float], Found]] = {
    f"objective, {TREES} trees": by_objective,
    f"leaves, {TREES} trees": by_leaves,
    "estimator": by_estimator,
}


def measured(scores: FloatArray, unseen: Rows) -> dict[str, float]:
    """Loss, AUC and disparity of test rows."""
    layout = Layout.from_columns(unseen.groups, unseen.levels)
    return {
        "loss": float(log_loss(unseen.targets, scores)),
        "auc": float(roc_auc_score(unseen.targets, scores)),
        "disparity": distance_or_inf(estimate_level_disparity(scores, layout)),
    }


def level_alone(seen: Rows, unseen: Rows) -> FloatArray:
    """The mean target of everybody's level; that of all where a level was never seen."""
    levels, codes = np.unique(seen.levels, return_inverse=True)
    means = np.bincount(codes, seen.targets) / np.bincount(codes)
    place = np.minimum(np.searchsorted(levels, unseen.levels), levels.size - 1)
    found: FloatArray = np.where(levels[place] == unseen.levels, means[place], seen.targets.mean())
    return np.clip(found, 1e-3, 1.0 - 1e-3)


def measure(rows: int, splits: int) -> dict[str, Any]:
    """Everything, kept as it comes."""
    results: dict[str, Any] = {"rows": rows, "splits": splits, "found": []}
    for name, make in TABLES.items():
        parts = [make(2 * rows, seed) for seed in range(splits)]
        pairs = [(part.take(slice(rows)), part.take(slice(rows, None))) for part in parts]
        alone = [measured(level_alone(seen, unseen), unseen) for seen, unseen in pairs]
        results["found"].append({"table": name, "way": "level alone", **_mean(alone)})
        for strength in STRENGTHS:
            for way, fit in WAYS.items():
                found = [_timed(fit, seen, unseen, strength) for seen, unseen in pairs]
                entry = {"table": name, "way": way, "strength": strength, **_mean(found)}
                results["found"].append(entry)
                write_whole(KEPT, json.dumps(results, indent=2) + "\n")
    return results


def _timed(
    fit: Callable[[Rows, Rows, float], Found], seen: Rows, unseen: Rows, strength: float
) -> dict[str, float]:
    begin = time.process_time()
    with warnings.catch_warnings(action="ignore", category=lfl.errors.UnderfitWarning):
        found = fit(seen, unseen, strength)
    seconds = time.process_time() - begin
    return {**measured(found.scores, unseen), "trees": found.trees, "seconds": seconds}


def _mean(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.mean([each[name] for each in found])), 5) for name in found[0]}


def page(results: dict[str, Any]) -> str:
    """The results as a page of Markdown."""
    tables = []
    for name in TABLES:
        rows = [_row(each) for each in results["found"] if each["table"] == name]
        tables.append(_HEAD.format(name=name) + "\n".join(rows))
    return _PAGE.format(
        rows=results["rows"], splits=results["splits"], trees=TREES, tables="\n\n".join(tables)
    )


def _row(each: dict[str, Any]) -> str:
    figures = f"{each['loss']:.3f} | {each['auc']:.3f} | {each['disparity']:.3f}"
    if "strength" not in each:
        return f"| | {each['way']} | {figures} | | |"
    return (
        f"| {each['strength']:g} | {each['way']} | {figures} | {each['trees']:.0f} "
        f"| {each['seconds']:.1f} |"
    )


def main(arguments: list[str] | None = None) -> int:
    """Fit, or read, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boosting", description=__doc__)
    parser.add_argument("--read", action="store_true", help="fit nothing, read what is kept")
    parser.add_argument("--rows", type=int, default=6000, help="to train on, and to test on")
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args(arguments)
    if not given.read:
        measure(given.rows, given.splits)
    write_whole(PAGE, page(json.loads(KEPT.read_text("utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
