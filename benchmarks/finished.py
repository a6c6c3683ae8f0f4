"""Finished scores and decisions: repaired with the group at prediction and without it.

    python -m benchmarks.finished --json benchmarks/finished.json --page docs/rivals.md
    python -m benchmarks.finished --read benchmarks/finished.json --page docs/rivals.md

A LightGBM model is finished first; rows of `fit` have scores of models that have not seen them.
Everything is measured on test rows of five splits with the true groups. Disparities are those of an
audit, Σ P(l) W_1²(l) without small-sample bias, averaged over the splits before the root is taken;
of decisions that is the root mean square gap of the rates. Beside our own stands fairlearn's
`ThresholdOptimizer` for demographic parity, fitted in every level by itself. The part of the page
that `SECTION` names is made of what was found.

The last part fits on 800 rows (half of a data set that has fewer than 1600) and measures on all
others, twenty times: what a repair leaves there. COMPAS and German credit, which are not in the
project, are fetched (`benchmarks/outside.py`).

Every split is written as it comes, and those that are in the file are not run again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score

from benchmarks.commands import command_line, kept, write_json
from benchmarks.finished_models import FEW, FINISHED, Rows, Split, few_rows, splits
from benchmarks.sections import with_section
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset
from likeforlike.errors import RepairWarning
from likeforlike.files import write_whole
from likeforlike.repair import ConditionalBarycenter, FairDecisions, UnawareRepair
from likeforlike.repair._propensity import Classifier, default_classifier

__all__ = ["SECTION", "main", "run", "section"]

SECTION = "finished scores"
"""The part of the page that is made here."""

_SPLITS = {"scores": 5, "decisions": 5, "few": 20}
_HEADINGS = {
    "scores": ("performance", "change", "disparity", "cut"),
    "decisions": ("accuracy", "change", "rms gap of rates", "cut"),
    "few": ("disparity before", "after", "part done", "rose beyond noise", "mean rise"),
}

Figures = dict[str, tuple[float, ...]]
"""Numbers of every method on one split."""


def _scores(split: Split) -> Figures:
    """Performance and squared disparity of every method."""
    fit, test, f = split.fit, split.test, split.scores
    aware = ConditionalBarycenter().fit(f[fit], **split.who(fit))
    unaware = UnawareRepair(propensity=_Once()).fit(
        f[fit], split.rows.inputs[fit], **split.who(fit)
    )
    moved = unaware.transform(f[test], split.rows.inputs[test], **split.levels(test))
    found = {
        "none": f[test],
        "ConditionalBarycenter (needs A)": aware.transform(f[test], **split.who(test)),
        "UnawareRepair, t = .8": 0.2 * f[test] + 0.8 * moved,
        "UnawareRepair, t = 1": moved,
    }
    target, regression = split.rows.targets[test], split.rows.task == "regression"
    return {
        name: (
            float(((scores - target) ** 2).mean())
            if regression
            else float(roc_auc_score(target, scores)),
            split.disparity(scores).squared,
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


def _thresholds(split: Split) -> IntArray:
    """fairlearn's thresholds, level by level; where a level lacks something, a half."""
    from fairlearn.postprocessing import ThresholdOptimizer

    fit, test, f = split.fit, split.test, split.scores
    decided = (f[test] > 0.5).astype(np.int64)
    for level in range(len(split.rows.level.labels)):
        seen = fit[split.rows.level.codes[fit] == level]
        new = np.flatnonzero(split.rows.level.codes[test] == level)
        cells = {
            (a, y)
            for a, y in zip(split.rows.group.codes[seen], split.rows.targets[seen], strict=True)
        }
        if new.size == 0 or len(cells) < 2 * len(split.rows.group.labels):
            continue
        model = _Finished().fit(f[seen][:, None], split.rows.targets[seen])
        rule = ThresholdOptimizer(
            estimator=model,
            constraints="demographic_parity",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict_proba",
        )
        rule.fit(
            f[seen][:, None],
            split.rows.targets[seen],
            sensitive_features=split.rows.group.codes[seen],
        )
        decided[new] = rule.predict(
            f[test][new][:, None],
            sensitive_features=split.rows.group.codes[test][new],
            random_state=0,
        )
    return decided


def _decided(split: Split) -> Figures:
    """Accuracy and squared gap of every method."""
    fit, test, f = split.fit, split.test, split.scores
    found: dict[str, Any] = {"none": f[test] > 0.5}
    for name, limit in {"t = 1": None, "max_disparity = .05": 0.05}.items():
        rule = FairDecisions(max_disparity=limit, propensity=_Once())
        rule.fit(f[fit], split.rows.inputs[fit], **split.who(fit))
        found[f"FairDecisions, {name}"] = rule.predict(
            f[test], split.rows.inputs[test], **split.levels(test)
        )
    found["ThresholdOptimizer in each level (needs A)"] = _thresholds(split)
    aware = ConditionalBarycenter().fit(f[fit], **split.who(fit))
    found["ConditionalBarycenter, then .5 (needs A)"] = (
        aware.transform(f[test], **split.who(test)) > 0.5
    )
    target = split.rows.targets[test]
    return {
        name: (
            float((np.asarray(decided) == target).mean()),
            split.disparity(np.asarray(decided)).squared,
        )
        for name, decided in found.items()
    }


def _few(split: Split) -> Figures:
    """Squared disparity before and after, whether it rose beyond noise, and the part done."""
    few, test, f = split.fit, split.test, split.scores
    inputs, who = split.rows.inputs, split.who(few)
    aware = ConditionalBarycenter().fit(f[few], **who)
    unaware = UnawareRepair(propensity=_Once()).fit(f[few], inputs[few], **who)
    rule = FairDecisions(propensity=_Once()).fit(f[few], inputs[few], **who)
    new = (f[test], inputs[test])
    after = {
        "ConditionalBarycenter": (aware.trust_, aware.transform(f[test], **split.who(test))),
        "UnawareRepair": (unaware.trust_, unaware.transform(*new, **split.levels(test))),
        "FairDecisions": (rule.trust_, rule.predict(*new, **split.levels(test))),
    }
    found: Figures = {}
    for name, (trust, scores) in after.items():
        old = split.disparity(f[test] > 0.5 if name == "FairDecisions" else f[test])
        left = split.disparity(scores)
        rose = left.interval[0] > max(old.value or 0.0, old.interval[0])
        found[name] = (old.squared, left.squared, float(rose), trust)
    return found


class _Once(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The default classifier of a repair, which fits the same rows once, whoever asks."""

    def fit(self, X: FloatArray, y: IntArray) -> _Once:  # noqa: N803
        self.model_ = _fitted(X.tobytes(), y.tobytes(), X.shape[1])
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:  # noqa: N803
        return self.model_.predict_proba(X)


@lru_cache(maxsize=8)
def _fitted(inputs: bytes, groups: bytes, width: int) -> Classifier:
    columns = np.frombuffer(inputs).reshape(-1, width)
    model: Classifier = default_classifier(0).fit(columns, np.frombuffer(groups, np.int64))
    return model


def _planned(
    parts: list[str],
) -> Iterator[tuple[str, tuple[str, ...], Callable[[range], Iterator[dict[str, Figures]]]]]:
    """Data sets, the parts that are measured there, and what measures some of their splits."""
    for name, (load, there) in FINISHED.items():
        asked = tuple(part for part in there if part in parts)
        if asked:
            yield name, asked, partial(_of_finished, load, asked)
    for name, read in FEW.items() if "few" in parts else ():
        yield name, ("few",), partial(_of_few, read)


def _of_finished(
    load: Callable[[], Dataset], parts: tuple[str, ...], seeds: range
) -> Iterator[dict[str, Figures]]:
    return _each(splits(Rows.of(load()), seeds), parts)


def _of_few(read: Callable[[], Rows], seeds: range) -> Iterator[dict[str, Figures]]:
    return _each(few_rows(read(), seeds), ("few",))


def _each(divided: Iterable[Split], parts: tuple[str, ...]) -> Iterator[dict[str, Figures]]:
    measures = {"scores": _scores, "decisions": _decided, "few": _few}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="fit has not seen")
        for split in divided:
            yield {part: measures[part](split) for part in parts}


def run(
    found: dict[str, Any],
    parts: list[str],
    counts: dict[str, int],
    *,
    only: list[str] | None = None,
) -> Iterator[None]:
    """Add splits to what was found, by part, data set and method, until there are enough."""
    for name, there, measured in _planned(parts):
        if only is not None and name not in only:
            continue
        kept = {part: found.setdefault(part, {}).setdefault(name, {}) for part in there}
        done = min(len(next(iter(methods.values()), [])) for methods in kept.values())
        left = range(done, min(counts[part] for part in there))
        for figures in measured(left) if left else ():
            for part, methods in figures.items():
                for method, numbers in methods.items():
                    lines: list[list[float]] = kept[part].setdefault(method, [])
                    lines[done:] = [[round(one, 6) for one in numbers]]
            done += 1
            yield


def _root(squares: FloatArray) -> float:
    return float(np.sqrt(max(squares.mean(), 0.0)))


def _rows(part: str, methods: dict[str, list[list[float]]]) -> Iterator[tuple[str, ...]]:
    if part == "few":
        for method, figures in methods.items():
            before, after, rose, trust = np.array(figures).T
            more = after - before
            error = more.std(ddof=1) / np.sqrt(more.size) if more.size > 1 else np.inf
            yield (
                method,
                f"{_root(before):.4f}",
                f"{_root(after):.4f}",
                f"{trust.mean():.2f}",
                f"{rose.sum():.0f} of {rose.size}",
                f"{more.mean() / error:+.1f} errors" if error > 0.0 else "none",
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
    "few": "Repairs fitted on 800 rows (or half of fewer than 1600), {n} times: root mean squares "
    "on all other rows; the part of the repair that was done (`trust_`); in how many splits the "
    "lower end of the interval after is above the estimate before; and by how many standard errors "
    "of their mean the squares rose.",
}


def section(found: dict[str, Any]) -> str:
    """What was found, as tables of the documentation."""
    lines = []
    for part, sets in found.items():
        count = max((len(next(iter(methods.values()))) for methods in sets.values()), default=0)
        lines += ["", _WORDS[part].format(n=count)]
        for name, methods in sets.items():
            lines += ["", f"**{name}**", "", "| | " + " | ".join(_HEADINGS[part]) + " |"]
            lines.append("|---|" + "---:|" * len(_HEADINGS[part]))
            lines += ["| " + " | ".join(row) + " |" for row in _rows(part, methods)]
    return "\n".join(lines)


def _table(found: dict[str, Any]) -> Table:
    table = Table(title="finished scores and decisions, on test rows")
    for heading in ("part", "data", "method", "", "", "", "", ""):
        table.add_column(heading)
    for part, sets in found.items():
        for name, methods in sets.items():
            for row in _rows(part, methods):
                table.add_row(part, name, *row)
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run (or read what an earlier run found), print, and write what is asked for."""
    line = command_line("finished", __doc__)
    line.add_argument("--page", type=Path, help="put the tables into this page")
    line.add_argument("--part", nargs="+", choices=list(_SPLITS), default=list(_SPLITS))
    line.add_argument("--data", nargs="+", help="names of data sets; all of them if left out")
    line.add_argument("--splits", type=int, help="at most so many, for a part of the work")
    given = line.parse_args(arguments)
    found = kept(given.read if given.read is not None else given.json, {})
    if given.read is None:
        most = 1 if given.quick else given.splits or max(_SPLITS.values())
        counts = {part: min(most, many) for part, many in _SPLITS.items()}
        only = ["Loans"] if given.quick else given.data
        for _ in run(found, given.part, counts, only=only):
            write_json(given.json, found)
    Console(width=160).print(_table(found))
    if given.page is not None:
        page = given.page.read_text("utf-8")
        write_whole(given.page, with_section(page, SECTION, section(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
