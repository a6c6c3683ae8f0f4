"""Two teams, measured: intervals and tests from noisy counts, and training on soft groups.

    python -m benchmarks.two_teams --part audits --rows 10000 --replicates 1000
    python -m benchmarks.two_teams --part adult
    python -m benchmarks.two_teams --part training --data adult --splits 5
    python -m benchmarks.two_teams --part page

Audits are of made rows whose true gap and distance are known, at parity and off it. Training is
with the true A, with soft groups of releases at several ε, with soft groups of a shuffled A as a
control, and without a penalty; every model is measured on test rows against the true A.

Figures are kept in the JSON file as they come, and what is there is not measured again: a part that
was stopped goes on where it was, and more replicates are added to those there are. The last command
writes `docs/two_teams_figures.md` from the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import likeforlike as lfl
from likeforlike.datasets import Dataset, load_adult, load_drug, load_law_school
from likeforlike.files import write_whole
from likeforlike.penalties import SoftGroups
from likeforlike.teams import Custodian, Ledger, audit_plan, soft_groups
from likeforlike.teams._noise import laplace_variance
from likeforlike.teams._noisy import (
    NoisyCounts,
    NoisyPair,
    compare,
    estimate,
    observed,
    parity_test,
)
from likeforlike.teams._score_bins import ROWS_PER_BIN, ScoreBins, cut_scores

Array = npt.NDArray[Any]

__all__ = ["main"]

RESULTS = Path(__file__).with_name("two_teams.json")
LEVELS = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.06, 0.04, 0.03])
SHIFTS = {
    "parity": np.zeros(8),
    "one direction": np.linspace(0.0, 0.06, 8),
    "small": np.full(8, 0.01),
    "both directions": 0.04 * (-1.0) ** np.arange(8),
}
EPSILONS = (0.5, 1.0, 2.0)
TRAINING_EPSILONS = (0.5, 1.0)
STRENGTH = {"adult": 10.0, "law_school": 30.0, "drug": 10.0}
# How often figures of so many rows are written.
_WRITE_EVERY = {10_000: 50, 100_000: 20, 1_000_000: 5}
_TALLY = {
    "replicates": 0,
    "distance_covered": 0,
    "gap_covered": 0,
    "rejected": 0,
    "squared_error": 0.0,
}


def noisy_pair(
    bins: ScoreBins, codes: Array, second: Array, epsilon: float, rng: np.random.Generator
) -> NoisyPair:
    """A release about rows of the second group, with noise from NumPy, as a pair of groups."""
    true = np.bincount(codes, second, minlength=bins.rows.size)
    stay = -np.expm1(-epsilon)
    noisy = true + rng.geometric(stay, true.size) - rng.geometric(stay, true.size)
    scale = 1 / Fraction(repr(epsilon))
    counts = np.stack([bins.rows - noisy, noisy]).astype(float)
    known = NoisyCounts(("0", "1"), counts, float(scale), laplace_variance(scale))
    found = compare(bins, known, (0, 1))
    assert found is not None
    return found


def audits(known: Entries, rows: int, replicates: int) -> Iterator[None]:
    """Count covered intervals and rejections for every shift and ε, up to so many replicates."""
    for name, shift in SHIFTS.items():
        entries = [
            known.entry({"rows": rows, "disparity": name, "epsilon": epsilon}, _TALLY)
            for epsilon in EPSILONS
        ]
        # Rows and bins are the same at every ε, so all of them are counted up together.
        for seed in range(entries[0]["replicates"], replicates):
            for entry, found in zip(entries, _one_replicate(rows, shift, seed), strict=True):
                for key, more in found.items():
                    entry[key] += more
                entry["replicates"] += 1
            if seed % _WRITE_EVERY.get(rows, 10) == 0 or seed == replicates - 1:
                yield


def _one_replicate(rows: int, shift: Array, seed: int) -> Iterator[dict[str, float]]:
    """One table, and a release of it at every ε."""
    rng = np.random.default_rng([rows, seed])
    level = rng.choice(8, rows, p=LEVELS)
    second = rng.random(rows) < np.linspace(0.25, 0.75, 8)[level]
    score = rng.beta(2 + level * 0.5, 5) + shift[level] * second
    bins, codes = cut_scores(score, level, 8, ROWS_PER_BIN)
    for epsilon in EPSILONS:
        yield _one_audit(noisy_pair(bins, codes, second, epsilon, rng), shift, rng)


def _one_audit(pair: NoisyPair, shift: Array, rng: np.random.Generator) -> dict[str, float]:
    said, test = estimate(pair, 0.95, rng), parity_test(pair, 199, rng)
    true = shift[pair.kept]
    distance, gap = float(np.sqrt(pair.measure @ true**2)), float(pair.measure @ true)
    low, high = said.distance.interval
    return {
        "distance_covered": int(low <= distance <= high),
        "gap_covered": int(said.gap.interval[0] <= gap <= said.gap.interval[1]),
        "rejected": int(test.p_value <= 0.05),
        "squared_error": ((said.distance.value or 0.0) - distance) ** 2,
    }


def adult(known: Entries, releases: int) -> Iterator[None]:
    """Error of the average W_1 on Adult against its exact value, at every ε."""
    data = load_adult()
    inputs, group = _inputs(data), np.unique(data.groups, return_inverse=True)[1]
    design = np.column_stack([np.ones(len(inputs)), inputs])
    fitted, *_ = np.linalg.lstsq(design[::3], data.targets[::3].astype(float), rcond=None)
    scores = np.clip(design @ fitted, 0.0, 1.0)
    exact = float(lfl.cdd_lp(scores, group, data.levels))
    plan = audit_plan(scores, data.levels, np.arange(scores.size))
    for epsilon in (*EPSILONS, 4.0):
        errors = []
        for seed in range(releases):
            rng = np.random.default_rng(seed)
            pair = noisy_pair(plan.bins, plan.request.codes, group, epsilon, rng)
            errors.append(float(pair.measure @ observed(pair, rng)) - exact)
        found = {
            "rows": scores.size,
            "releases": releases,
            "exact": exact,
            "error": float(np.sqrt(np.mean(np.square(errors)))),
        }
        known.entry({"epsilon": epsilon}, {}).update(found)
        yield


def training(known: Entries, name: str, splits: range, only: list[str]) -> Iterator[None]:
    """Performance and disparity on test rows, for every model and way to know the groups."""
    data = {"adult": load_adult, "law_school": load_law_school, "drug": load_drug}[name]()
    for split in splits:
        order = np.random.default_rng(split).permutation(len(data.targets))
        learn, test = np.split(order, [2 * len(order) // 3])
        yield from _one_split(known, name, data, learn, test, split, only)


def _one_split(
    known: Entries,
    name: str,
    data: Dataset,
    learn: Array,
    test: Array,
    split: int,
    only: list[str],
) -> Iterator[None]:
    inputs, groups = _inputs(data), data.groups.astype(str)
    shuffled = np.random.default_rng(split + 1000).permutation(groups[learn])
    ways: dict[str, Callable[[], Any]] = {
        "no penalty": lambda: groups[learn],
        "true A": lambda: groups[learn],
        **{
            f"soft, epsilon {epsilon:g}": partial(
                _soft, inputs, data, learn, groups[learn], epsilon
            )
            for epsilon in TRAINING_EPSILONS
        },
        "soft, shuffled A": lambda: _soft(inputs, data, learn, shuffled, 1.0),
    }
    for model in ("network", "boosting"):
        for way, sensitive in ways.items():
            strength = 0.0 if way == "no penalty" else STRENGTH[name]
            about = {"data": name, "split": split, "model": model, "way": way}
            if (model == "boosting" and data.task != "classification") or known.has(about):
                continue
            if only and not {model, way} & set(only):
                continue
            scores = _scores(model, data, inputs, learn, test, sensitive(), strength)
            found = {
                "strength": strength,
                "performance": _performance(data, scores, test),
                "disparity": float(lfl.cdd_lp(scores, groups[test], data.levels[test])),
            }
            known.entry(about, {}).update(found)
            yield


def _soft(inputs: Array, data: Dataset, rows: Array, groups: Array, epsilon: float) -> SoftGroups:
    with tempfile.TemporaryDirectory() as folder:
        declared = sorted(set(groups.tolist()))
        ledger = Ledger(Path(folder) / "a.ledger", epsilon=epsilon, groups=declared)
        custodian = Custodian(dict(enumerate(groups.tolist())), ledger)
        asked = soft_groups.request(inputs[rows], data.levels[rows], np.arange(len(rows)))
        return soft_groups.fit(asked, custodian.sums(asked, epsilon=epsilon))


def _scores(
    model: str,
    data: Dataset,
    inputs: Array,
    learn: Array,
    test: Array,
    sensitive: Array | SoftGroups,
    strength: float,
) -> Array:
    """Scores of test rows."""
    targets, levels = data.targets, data.levels
    binary = data.task == "classification"
    if model == "network":
        kind = lfl.FairClassifier if binary else lfl.FairRegressor
        network = kind(strength=strength, random_state=0, max_epochs=60, learning_rate=3e-3)
        network.fit(
            inputs[learn],
            targets[learn],
            sensitive_features=sensitive,
            legitimate_features=levels[learn],
        )
        if not binary:
            return np.asarray(network.predict(inputs[test]))
        chances: Array = network.predict_proba(inputs[test])[:, 1]  # type: ignore[union-attr]
        return chances
    from lightgbm import LGBMClassifier

    from likeforlike.training import lightgbm_objective, probabilities

    objective = lightgbm_objective(lfl.FairLeap(), strength, sensitive, levels[learn])
    trees = LGBMClassifier(objective=objective, n_estimators=150, n_jobs=1, verbose=-1)
    trees.fit(inputs[learn], targets[learn])
    return probabilities(trees.predict(inputs[test], raw_score=True))


def _performance(data: Dataset, scores: Array, test: Array) -> float:
    from sklearn.metrics import roc_auc_score

    if data.task == "classification":
        return float(roc_auc_score(data.targets[test], scores))
    return float(np.mean((scores - data.targets[test]) ** 2))


def _inputs(data: Dataset) -> Array:
    """Inputs as numbers, with long tails drawn in."""
    inputs = np.asarray(data.inputs("one-hot").matrix, float)
    drawn: Array = np.sign(inputs) * np.log1p(np.abs(inputs))
    return drawn


class Entries:
    """Figures of a part, which are kept in a file beside those of other parts."""

    def __init__(self, path: Path, part: str) -> None:
        self.path = path
        self.all: dict[str, list[dict[str, Any]]] = (
            json.loads(path.read_text("utf-8")) if path.exists() else {}
        )
        self.here = self.all.setdefault(part, [])

    def has(self, about: dict[str, Any]) -> bool:
        return any(about.items() <= entry.items() for entry in self.here)

    def entry(self, about: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
        """The entry about this, made of `fresh` if there is none."""
        found = next((one for one in self.here if about.items() <= one.items()), None)
        if found is None:
            found = {**about, **fresh}
            self.here.append(found)
        return found

    def write(self) -> None:
        write_whole(self.path, json.dumps(self.all, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Measure one part and keep it beside the others, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=["audits", "adult", "training", "page"], required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=list(_WRITE_EVERY))
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--data", nargs="+", default=list(STRENGTH))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="of the splits")
    parser.add_argument("--only", nargs="+", default=[], help="models or ways to know the groups")
    parser.add_argument("--releases", type=int, default=30)
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    if asked.part == "page":
        from benchmarks.two_teams_page import PAGE, page

        write_whole(PAGE, page(json.loads(asked.json.read_text("utf-8"))))
        return 0
    known = Entries(asked.json, asked.part)
    if asked.part == "audits":
        parts = [audits(known, rows, asked.replicates) for rows in asked.rows]
    elif asked.part == "adult":
        parts = [adult(known, asked.releases)]
    else:
        parts = [
            training(known, name, range(asked.first, asked.splits), asked.only)
            for name in asked.data
        ]
    for part in parts:
        for _ in part:
            known.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
