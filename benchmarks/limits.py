"""How often a limit is broken on rows nobody has seen, and what keeping it costs.

    python -m benchmarks.limits --json benchmarks/limits.json --page docs/limits.md
    python -m benchmarks.limits --read benchmarks/limits.json --page docs/limits.md

Four data sets of the project and two from outside, several splits and limits. Two rules choose the
strength of a network: the upper end on rows that took no part, which is `max_disparity`, and the
point estimate on the rows that chose, which it used to be and which is kept here for comparison
alone. Trees are boosted under the first rule. Runs that are in the file already are not repeated.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import likeforlike as lfl
from benchmarks.commands import command_line, runs_command
from benchmarks.sections import table
from benchmarks.six_tables import SIX, parted, relative_loss
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset, make_loans
from likeforlike.penalties import Layout
from likeforlike.training import (
    Member,
    Recipe,
    StackedMLP,
    Table,
    evaluate,
    finish_fit,
    prepare,
    train,
)
from likeforlike.training._limits import STRENGTHS, HeldRows, distance_or_inf

__all__ = ["USED_TO", "main", "page", "read", "run"]

_SPLITS = 4
_SETTINGS: dict[str, Any] = {"max_epochs": 150, "patience": 15, "learning_rate": 3e-3}
# Confidence of the interval on test rows; its lower end is then too high one time in twenty.
_TESTED = 0.9
USED_TO = "point estimate"
"""The rule there was before."""


class _Data(NamedTuple):
    """A data set, and limits from some way below the disparity without a penalty downwards."""

    load: Callable[[], Dataset]
    limits: tuple[float, ...]


_LIMITS = {
    "drug": (0.15, 0.10, 0.08),
    "law school": (0.08, 0.05, 0.03),
    "communities": (0.12, 0.08, 0.05),
    "German credit": (0.12, 0.10, 0.08),
    "credit cards": (0.05, 0.04, 0.03),
    "adult": (0.15, 0.10, 0.05),
}
_DATA = {name: _Data(load, _LIMITS[name]) for name, load in SIX.items()}
_QUICK = {"loans": _Data(lambda: make_loans(1500, gap=0.3), (0.1,))}


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a limit.

    Attributes
    ----------
    data, split, limit, rule : which run it is.
    promised : whether the model was handed over as one that holds the limit.
    strength : that it was trained with.
    disparity, low : on test rows, without small-sample bias, and the lower end of its interval.
    loss : log loss or mean squared error on test rows, divided by that of a constant score.
    rows : to fit, and to test.
    """

    data: str
    split: int
    limit: float
    rule: str
    promised: bool
    strength: float
    disparity: float
    low: float
    loss: float
    rows: tuple[int, int]

    @property
    def key(self) -> tuple[str, int, float, str]:
        """Which run it is."""
        return self.data, self.split, self.limit, self.rule

    @property
    def above(self) -> bool:
        """Whether the estimate on test rows is above the limit."""
        return self.promised and self.disparity > self.limit

    @property
    def broken(self) -> bool:
        """Whether the disparity on test rows is above the limit beyond their noise."""
        return self.promised and self.low > self.limit


class _Fitted(NamedTuple):
    """Scores of test rows, the strength, and whether the limit was promised."""

    scores: FloatArray
    strength: float
    promised: bool


class _Case(NamedTuple):
    """Rows of a data set, those to fit and those to test."""

    data: Dataset
    inputs: FloatArray
    fit: IntArray
    test: IntArray

    @property
    def classes(self) -> bool:
        return self.data.task == "classification"

    @property
    def who(self) -> dict[str, Any]:
        return {
            "sensitive_features": self.data.groups[self.fit],
            "legitimate_features": self.data.levels[self.fit],
        }

    @classmethod
    def of(cls, data: Dataset, split: int) -> _Case:
        inputs = data.inputs(with_sensitive=True).matrix
        return cls(data, inputs, *parted(len(inputs), split))

    def fitted(self, model: Any) -> _Fitted:  # noqa: ANN401
        """An estimator with a limit, fitted."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.fit(self.inputs[self.fit], self.data.targets[self.fit], **self.who)
        unmet = any(issubclass(one.category, lfl.errors.UnmetLimitWarning) for one in said)
        rows = self.inputs[self.test]
        scores = model.predict_proba(rows)[:, 1] if self.classes else model.predict(rows)
        return _Fitted(scores, float(model.strength_), not unmet)

    def loss(self, scores: FloatArray) -> float:
        """Loss on test rows, divided by that of the best constant score."""
        targets = np.asarray(self.data.targets)[self.test].astype(np.float64)
        return relative_loss(scores, targets, classes=self.classes)


def _networks(case: _Case, limit: float, seed: int) -> _Fitted:
    kind = lfl.FairClassifier if case.classes else lfl.FairRegressor
    return case.fitted(kind(max_disparity=limit, random_state=seed, **_SETTINGS))


def _trees(case: _Case, limit: float, seed: int) -> _Fitted:
    kind = lfl.FairLGBMClassifier if case.classes else lfl.FairLGBMRegressor
    return case.fitted(kind(max_disparity=limit, random_state=seed))


def _by_point_estimate(case: _Case, limit: float, seed: int) -> _Fitted:
    """The rule there was: smallest loss with an estimate within, on the rows that stop."""
    layout = Layout.from_columns(*case.who.values())
    targets = np.asarray(case.data.targets)[case.fit].astype(np.float64)
    loss: Any = "logistic" if case.classes else "squared"
    ready = prepare(Table(case.inputs[case.fit], targets, None, layout), loss, 0.2, seed)
    recipe = Recipe(loss, lfl.FairLeap(), batch_size=256, **_SETTINGS)
    held = ready.held
    assert held is not None
    tried: list[tuple[float, float, float, Member]] = []

    def look(strengths: FloatArray) -> None:
        network = StackedMLP([seed] * strengths.size, (case.inputs.shape[1], 50, 20, 1))
        stack = train(
            network,
            ready.rows,
            ready.validation,
            recipe,
            strengths=strengths,
            seeds=np.array([seed]),
        )
        of_all = np.zeros(strengths.size, np.int64)
        losses, _, _ = evaluate(stack.network, ready.validation, of_all, recipe)
        for k, scores in enumerate(ready.scores(stack.network, ready.validation)):
            size = distance_or_inf(held.disparity(scores))
            tried.append((float(losses[k]), size, float(strengths[k]), Member(stack, k)))

    look(np.array(STRENGTHS))
    first = next((k for k, one in enumerate(tried) if one[1] <= limit), 0)
    if first:
        low = max(STRENGTHS[first - 1], STRENGTHS[1] / 3.0)
        look(np.geomspace(low, STRENGTHS[first], 8)[1:-1])
    within = [one for one in tried if one[1] <= limit]
    chosen = min(within) if within else min(tried, key=lambda one: one[1])
    scores = finish_fit(ready, chosen[3], chosen[2]).scores(case.inputs[case.test])
    return _Fitted(scores, chosen[2], bool(within))


_RULES: dict[str, Callable[[_Case, float, int], _Fitted]] = {
    "upper end": _networks,
    USED_TO: _by_point_estimate,
}
if hasattr(lfl, "FairLGBMClassifier"):
    _RULES["upper end, trees"] = _trees


def run(done: list[Run], keep: Callable[[list[Run]], None], quick: bool) -> list[Run]:
    """All runs, of which some are done; `keep` is called with those there are, after every one."""
    data, splits = (_QUICK, 1) if quick else (_DATA, _SPLITS)
    found = list(done)
    known = {one.key for one in found}
    tables = {name: load() for name, (load, _) in data.items()}
    for rule, name, split in product(_RULES, data, range(splits)):
        whole, case = tables[name], _Case.of(tables[name], split)
        test = Layout.from_columns(whole.groups[case.test], whole.levels[case.test])
        for limit in data[name].limits:
            if (name, split, limit, rule) not in known:
                fitted = _RULES[rule](case, limit, split)
                rows = HeldRows(test, test)
                found.append(_measured(name, split, limit, rule, case, rows, fitted))
                keep(found)
    return found


def _measured(
    name: str, split: int, limit: float, rule: str, case: _Case, rows: HeldRows, fitted: _Fitted
) -> Run:
    estimate = rows.disparity(fitted.scores, _TESTED)
    return Run(
        name,
        split,
        limit,
        rule,
        fitted.promised,
        fitted.strength,
        distance_or_inf(estimate),
        estimate.interval[0],
        case.loss(fitted.scores),
        (case.fit.size, case.test.size),
    )


_PAGE = """# A model under a limit

A policy says: among equals, scores of men and women may differ by 0.05 at most.
`max_disparity=0.05` asks a model for that, and a limit is a promise: about people whom the model
has never seen, not about the rows that chose it.

`fit` keeps the promise with three parts of the rows. *Training rows* fit networks of many
strengths. *Validation rows* stop their training, and put them into an order: the surest first,
then always a smaller loss. *Limit rows* judge them in that order, by the upper end of their
disparity with a confidence of 90%, until the first one fails. The last that held is handed over.
Since the order was settled before, one that breaks the limit is handed over in one fit of ten at
most, however many were tried. Where nothing can be shown, `UnmetLimitWarning` says how many rows
would be needed, or which limit would be held; where hardly anybody is compared, the limit is
refused. [Train under a limit](tutorials/limit.md) goes through it with code.

## Is it kept?

Made by `python -m benchmarks.limits --json benchmarks/limits.json --page docs/limits.md`: {sets}
data sets, two of which are not in the project, {splits} splits, {limits} limits each, the
sensitive column among the inputs, up to {fit:,} rows to fit and {test:,} to test. *Promised* are
runs without a warning. *Above* counts those of them whose estimate on test rows is above the
limit, *broken* those above it beyond the noise of the test rows (the lower end of their interval,
95% one-sided). *Point estimate* is the rule there was before: the smallest loss with an estimate
within the limit, on the rows that stopped the training.

{summary}

*Loss* is log loss or squared error on test rows, divided by that of a constant score, over the
runs that all rules of networks promised. {price} {room}

Part of the price is that of a disparity that really is within the limit, and part that of a fifth
of the rows, which no longer train. Cross-fitting would train on more of them, but promises
something about the models of the folds and nothing about the one that is handed over.

## By data set

{by_data}
"""


def page(runs: list[Run]) -> str:
    """The page of the documentation."""
    rules = list(dict.fromkeys(one.rule for one in runs))
    names = list(dict.fromkeys(one.data for one in runs))
    old = _shared(runs)
    now, before = (
        float(np.mean([one.loss for one in old if one.rule == rule]))
        for rule in ("upper end", USED_TO)
    )
    return _PAGE.format(
        sets=len(names),
        splits=len({one.split for one in runs}),
        limits=max(len({one.limit for one in runs if one.data == name}) for name in names),
        fit=max(one.rows[0] for one in runs),
        test=max(one.rows[1] for one in runs),
        summary=table(
            ("rule", "runs", "promised", "above", "broken", "loss"),
            [(rule, *_figures(runs, rule), _loss(old, rule)) for rule in rules],
        ),
        price=f"The new rule costs {(now - before) / (1.0 - before):.1%} of what networks gain.",
        room=_room(runs),
        by_data=table(
            ("data", "rule", "runs", "promised", "above", "broken", "loss"),
            [
                (
                    name,
                    rule,
                    *_figures([one for one in runs if one.data == name], rule),
                    _loss([one for one in old if one.data == name], rule),
                )
                for name in names
                for rule in rules
            ],
        ),
    )


def _room(runs: list[Run]) -> str:
    """How much of the limits is made use of, by the two rules for networks."""
    now, before = (
        float(np.mean([one.disparity / one.limit for one in runs if one.rule == rule]))
        for rule in ("upper end", USED_TO)
    )
    least, most = (int(0.2 * pick(one.rows[0] for one in runs)) for pick in (min, max))
    return (
        f"On test rows the disparity is {now:.0%} of the limit on average, where it was "
        f"{before:.0%}: with {least} to {most} limit rows only smaller ones can be shown to hold."
    )


def _shared(runs: list[Run]) -> list[Run]:
    """Runs of limits that both rules for networks have promised."""
    promised = {
        rule: {one.key[:3] for one in runs if one.rule == rule and one.promised}
        for rule in ("upper end", USED_TO)
    }
    both = set.intersection(*promised.values())
    return [one for one in runs if one.key[:3] in both]


def _figures(runs: list[Run], rule: str) -> tuple[str, ...]:
    own = [one for one in runs if one.rule == rule]
    promised = sum(one.promised for one in own)

    def share(count: int) -> str:
        return f"{count} ({count / promised:.0%})" if promised else "0"

    return (
        str(len(own)),
        str(promised),
        share(sum(one.above for one in own)),
        share(sum(one.broken for one in own)),
    )


def _loss(runs: list[Run], rule: str) -> str:
    losses = [one.loss for one in runs if one.rule == rule]
    return f"{np.mean(losses):.4f}" if losses else "none"


def read(path: Path) -> list[Run]:
    return [
        Run(**{**entry, "rows": tuple(entry["rows"])})
        for entry in json.loads(path.read_text("utf-8"))
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run what is not done yet (or read what is), and write what is asked for."""
    line = command_line("limits", __doc__)
    return runs_command(line, arguments, read=read, run=run, page=page)


if __name__ == "__main__":
    sys.exit(main())
