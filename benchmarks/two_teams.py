"""Two teams, measured: intervals and tests from noisy counts, and training on soft groups.

    python -m benchmarks.two_teams --part audits --replicates 300
    python -m benchmarks.two_teams --part adult
    python -m benchmarks.two_teams --part training --splits 5

Each part writes its figures into the JSON file beside what is there. Audits are of made rows whose
true gap and distance are known, at parity and off it. Training is with the true A, with soft
groups of releases at several ε, with soft groups of a shuffled A as a control, and without a
penalty; every model is measured on test rows against the true A.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import likeforlike as lfl
from likeforlike.datasets import Dataset, load_adult, load_drug, load_law_school
from likeforlike.penalties import SoftGroups
from likeforlike.teams import Custodian, Ledger, audit_plan, soft_groups
from likeforlike.teams._noisy_counts import NoisyCounts
from likeforlike.teams._noisy_estimates import estimate, observed
from likeforlike.teams._noisy_pair import NoisyPair, compare
from likeforlike.teams._noisy_test import parity_test
from likeforlike.teams._plan import AuditPlan
from likeforlike.teams._samplers import laplace_variance

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
STRENGTH = {"adult": 10.0, "law_school": 30.0, "drug": 10.0}


def noisy_pair(
    plan: AuditPlan, second: Array, epsilon: float, rng: np.random.Generator
) -> NoisyPair:
    """A release about rows of the second group, with noise from NumPy, as a pair of groups."""
    from fractions import Fraction

    true = np.bincount(plan.request.codes, second, minlength=plan.bins.rows.size)
    stay = -np.expm1(-epsilon)
    noisy = true + rng.geometric(stay, true.size) - rng.geometric(stay, true.size)
    scale = 1 / Fraction(repr(epsilon))
    counts = np.stack([plan.bins.rows - noisy, noisy]).astype(float)
    known = NoisyCounts(("0", "1"), counts, float(scale), laplace_variance(scale))
    found = compare(plan.bins, known, (0, 1))
    assert found is not None
    return found


def audits(rows: int, replicates: int) -> Iterator[dict[str, Any]]:
    """Coverage of both intervals and rejections of the test, for every shift and ε."""
    for name, shift in SHIFTS.items():
        for epsilon in EPSILONS:
            found = [_one_audit(rows, shift, epsilon, seed) for seed in range(replicates)]
            distance, gap, rejected, error = np.array(found, float).T
            yield {
                "rows": rows,
                "disparity": name,
                "epsilon": epsilon,
                "replicates": replicates,
                "distance_covered": float(distance.mean()),
                "gap_covered": float(gap.mean()),
                "rejected": float(rejected.mean()),
                "error": float(np.sqrt(np.mean(error**2))),
            }


def _one_audit(
    rows: int,
    shift: Array,
    epsilon: float,
    seed: int,
) -> tuple[bool, bool, bool, float]:
    rng = np.random.default_rng([rows, seed])
    level = rng.choice(8, rows, p=LEVELS)
    second = rng.random(rows) < np.linspace(0.25, 0.75, 8)[level]
    score = rng.beta(2 + level * 0.5, 5) + shift[level] * second
    pair = noisy_pair(audit_plan(score, level, np.arange(rows)), second, epsilon, rng)
    said, test = estimate(pair, 0.95, rng), parity_test(pair, 199, rng)
    true = shift[pair.kept]
    distance, gap = float(np.sqrt(pair.measure @ true**2)), float(pair.measure @ true)
    low, high = said.distance.interval
    return (
        low <= distance <= high,
        said.gap.interval[0] <= gap <= said.gap.interval[1],
        test.p_value <= 0.05,
        (said.distance.value or 0.0) - distance,
    )


def adult(releases: int) -> Iterator[dict[str, Any]]:
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
            pair = noisy_pair(plan, group, epsilon, rng)
            errors.append(float(pair.measure @ observed(pair, rng)) - exact)
        yield {
            "epsilon": epsilon,
            "releases": releases,
            "exact": exact,
            "error": float(np.sqrt(np.mean(np.square(errors)))),
        }


def training(name: str, splits: int, epsilons: tuple[float, ...]) -> Iterator[dict[str, Any]]:
    """Performance and disparity on test rows, for every model and way to know the groups."""
    data = {"adult": load_adult, "law_school": load_law_school, "drug": load_drug}[name]()
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(data.targets))
        cut = 2 * len(order) // 3
        yield from _one_split(name, data, order[:cut], order[cut:], split, epsilons)


def _one_split(
    name: str,
    data: Dataset,
    learn: Array,
    test: Array,
    split: int,
    epsilons: tuple[float, ...],
) -> Iterator[dict[str, Any]]:
    inputs, groups = _inputs(data), data.groups.astype(str)
    shuffled = np.random.default_rng(split + 1000).permutation(groups[learn])
    ways: dict[str, Any] = {"true A": groups[learn]}
    for epsilon in epsilons:
        ways[f"soft, epsilon {epsilon:g}"] = _soft(inputs, data, learn, groups[learn], epsilon)
    ways["soft, shuffled A"] = _soft(inputs, data, learn, shuffled, 1.0)
    for model in ("network", "boosting"):
        for way, sensitive in {"no penalty": groups[learn], **ways}.items():
            strength = 0.0 if way == "no penalty" else STRENGTH[name]
            scores = _scores(model, data, inputs, learn, test, sensitive, strength)
            if scores is None:
                continue
            yield {
                "data": name,
                "split": split,
                "model": model,
                "way": way,
                "strength": strength,
                "performance": _performance(data, scores, test),
                "disparity": float(lfl.cdd_lp(scores, groups[test], data.levels[test])),
            }


def _soft(inputs: Array, data: Dataset, rows: Array, groups: Array, epsilon: float) -> SoftGroups:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "a.ledger", epsilon=epsilon)
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
) -> Array | None:
    """Scores of test rows; `None` where trees are not for this target."""
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
    if not binary:
        return None
    from lightgbm import LGBMClassifier

    from likeforlike.boosting import lightgbm_objective, probabilities

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


def main() -> None:
    """Measure one part, and write it beside the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=["audits", "adult", "training"], required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--data", nargs="+", default=["adult", "law_school", "drug"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    known = json.loads(asked.json.read_text("utf-8")) if asked.json.exists() else {}
    if asked.part == "audits":
        parts = [audits(rows, asked.replicates) for rows in asked.rows]
    elif asked.part == "adult":
        parts = [adult(30)]
    else:
        parts = [training(name, asked.splits, (0.5, 1.0)) for name in asked.data]
    known[asked.part] = []
    for part in parts:
        for figures in part:
            print(figures, flush=True)
            known[asked.part].append(figures)
            asked.json.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
