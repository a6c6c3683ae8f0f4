"""The frontier beside fairret and fairlearn: disparity among equals at equal AUC, on six data sets.

    python -m benchmarks.rivals --json benchmarks/rivals.json --page docs/rivals.md
    python -m benchmarks.rivals --read benchmarks/rivals.json --page docs/rivals.md

Five splits of each data set; nobody sees the sensitive column as an input, and nobody needs it to
predict. 48% of the rows train, 12% say when networks stop, 40% are test rows; trees train on the
first two. Of tables with more than 6,000 rows as many are drawn, once for all.

- Ours: LightGBM with FairLeap as its objective, networks with FairLeap and with FairBiT.
- fairret 0.1: the same networks, from the same first weights, in a loop as its documentation has
  it, with `NormLoss` of the `PositiveRate`. It knows no levels, so the loss is taken inside every
  level of a batch and weighted by its rows.
- fairlearn's `ExponentiatedGradient` of the same LightGBM, `DemographicParity` with levels as
  control features. It decides by lot among classifiers; its score is the chance of a yes, or,
  kinder to it, the mean of their probabilities. Whichever is better counts.

Every (data, split, method) is written to the JSON file as it comes; a file that is there already
is gone on with, and with `--again` methods are begun anew. `benchmarks/rivals_page.py` makes the
tables.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import torch
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from benchmarks.commands import command_line, kept, write_json
from benchmarks.outside import credit_cards, german_credit
from benchmarks.rivals_page import SECTION, section, summary
from benchmarks.sections import with_section
from benchmarks.six_tables import above_median, law_school_by_race
from likeforlike import FairBiT, FairLeap
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset, load_adult, load_communities, load_drug, make_loans
from likeforlike.experiments import split
from likeforlike.experiments._split import Split, network_scores
from likeforlike.files import write_whole
from likeforlike.penalties import Penalty
from likeforlike.training import (
    CellBatchSampler,
    Recipe,
    StackedMLP,
    estimate_level_disparity,
    lightgbm_objective,
    limit_to_one_thread,
    probabilities,
)

__all__ = ["main", "run"]

_ROWS = 6_000
_SHARES = (0.48, 0.12, 0.4)
_HIDDEN = (50, 20)
_BATCH, _EPOCHS, _PATIENCE = 256, 120, 15
_STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_FAIRRET_STRENGTHS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_BOUNDS = (0.2, 0.1, 0.05, 0.02, 0.005)
_TREES: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "n_jobs": 1, "verbose": -1}

_Settings = Iterator[tuple[float, FloatArray]]
"""A strength or a bound, and the scores of the test rows."""


@dataclass(frozen=True)
class Case:
    """One split of a data set: inputs, targets, who is who, and which rows are for what."""

    parts: Split
    inputs: FloatArray
    targets: IntArray
    groups: IntArray
    levels: IntArray
    train: IntArray
    validation: IntArray
    test: IntArray

    def who(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Groups and levels of some rows."""
        return self.groups[rows], self.levels[rows]

    def measured(self, scores: FloatArray) -> tuple[float, float, float]:
        """AUC, and squared disparity of the scores and of their ranks, on the test rows."""
        layout, plain = (
            self.parts.test.layout.select_model(0),
            np.ascontiguousarray(scores, np.float64),
        )
        ranks = (rankdata(plain) - 0.5) / plain.size
        return (
            float(roc_auc_score(self.targets[self.test], plain)),
            estimate_level_disparity(plain, layout).squared,
            estimate_level_disparity(ranks, layout).squared,
        )


_DATA: dict[str, Callable[[], Dataset]] = {
    "Adult": load_adult,
    "Drug": load_drug,
    "Communities, above the median": lambda: above_median(load_communities()),
    "Law School by race, above the median": lambda: above_median(law_school_by_race()),
    "German credit": german_credit,
    "Credit cards": credit_cards,
}
_QUICK: dict[str, Callable[[], Dataset]] = {"Loans": lambda: make_loans(1500, gap=0.3)}


def _case(data: Dataset, seed: int) -> Case:
    if data.frame.height > _ROWS:
        data = replace(data, frame=data.frame.sample(_ROWS, seed=0))
    parts = split(data, [seed], shares=_SHARES)
    groups, levels = (
        np.unique(one.astype(str), return_inverse=True)[1] for one in (data.groups, data.levels)
    )
    return Case(
        parts,
        data.inputs().matrix,
        data.targets.astype(np.int64),
        groups,
        levels,
        parts.train_rows[0],
        parts.validation_rows[0],
        parts.test_rows[0],
    )


def _networks(penalty: Penalty, case: Case) -> _Settings:
    recipe = Recipe(
        "logistic",
        penalty,
        batch_size=_BATCH,
        max_epochs=_EPOCHS,
        patience=_PATIENCE,
        stopping="excess",
    )
    scores = network_scores(case.parts, recipe, _STRENGTHS, _HIDDEN)[0]
    yield from zip(_STRENGTHS, scores, strict=True)


def _trees(case: Case) -> _Settings:
    """LightGBM with the objective."""
    seen = np.concatenate([case.train, case.validation])
    rate = _TREES["learning_rate"]
    for strength in _STRENGTHS:
        objective = lightgbm_objective(FairLeap(), strength, *case.who(seen), learning_rate=rate)
        model = lightgbm.LGBMClassifier(objective=objective, **_TREES, **_leaves(case))
        model.fit(case.inputs[seen], case.targets[seen])
        yield strength, probabilities(model.predict(case.inputs[case.test], raw_score=True))


def _leaves(case: Case) -> dict[str, Any]:
    return {"num_leaves": 8 if case.train.size >= 2000 else 4}


def _fairret(case: Case) -> _Settings:
    for strength in _FAIRRET_STRENGTHS:
        with limit_to_one_thread():
            yield strength, _fairret_scores(case, strength)


def _fairret_scores(case: Case, strength: float) -> FloatArray:
    """A network trained with fairret, at its best on the validation rows."""
    rows, held = case.parts.train, case.parts.validation
    model = _same_network(case)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = CellBatchSampler(*case.who(case.train), batch_size=_BATCH, random_state=0)
    of_train, of_held = _cells(case, case.train), _cells(case, case.validation)
    best, weights, since = np.inf, model.state_dict(), 0
    for _ in range(_EPOCHS):
        for batch in batches:
            chosen = torch.tensor(batch)
            optimizer.zero_grad()
            loss = _fairret_loss(
                model(rows.inputs[0, chosen]), rows.targets[0, chosen], of_train[chosen], strength
            )
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            seen = float(_fairret_loss(model(held.inputs[0]), held.targets[0], of_held, strength))
        since += 1
        if seen < best:
            best, since = seen, 0
            weights = {name: value.clone() for name, value in model.state_dict().items()}
        if since == _PATIENCE:
            break
    model.load_state_dict(weights)
    with torch.no_grad():
        scores: FloatArray = torch.sigmoid(model(case.parts.test.inputs[0]))[:, 0].double().numpy()
    return scores


def _same_network(case: Case) -> torch.nn.Sequential:
    """Our network as torch has it, with the weights that ours begin with."""
    sizes = (case.parts.train.inputs.shape[2], *_HIDDEN, 1)
    begin = list(StackedMLP([int(case.parts.seeds[0])], sizes).weights)
    layers: list[torch.nn.Module] = []
    for weight, bias in zip(begin[::2], begin[1::2], strict=True):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[2])
        with torch.no_grad():
            layer.weight.copy_(weight[0].T)
            layer.bias.copy_(bias[0, 0])
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _cells(case: Case, rows: IntArray) -> torch.Tensor:
    """The cell of some rows, one column each: level by level, both groups."""
    cells = torch.tensor(2 * case.levels[rows] + case.groups[rows])
    return torch.nn.functional.one_hot(cells, 2 * (int(case.levels.max()) + 1)).float()


def _fairret_loss(
    logits: torch.Tensor, targets: torch.Tensor, cells: torch.Tensor, strength: float
) -> torch.Tensor:
    """Loss + strength * fairret in every level where groups meet, weighted by its rows."""
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    total = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], targets)
    if strength == 0.0:
        return total
    size = cells.sum(dim=0).view(-1, 2)
    meet = size.min(dim=1).values > 0.0
    chosen = cells.view(len(cells), -1, 2)[:, meet]
    # The norm of order 1 is a sum over groups, so that of all levels at once is the sum of theirs.
    norm, rate = NormLoss(PositiveRate()), PositiveRate()
    share = (size[meet].sum(dim=1) / len(cells)).repeat_interleave(2)
    norm.penalize_violation = lambda violation: (share * violation).sum()
    of_level = rate(torch.sigmoid(logits), chosen.sum(dim=2)).repeat_interleave(2)
    found: torch.Tensor = norm(logits, chosen.flatten(1), target_statistic=of_level)
    return total + strength * found


def _reductions(case: Case) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """A bound, chances of a yes, and mean probabilities, of `ExponentiatedGradient`."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    seen = np.concatenate([case.train, case.validation])
    groups, levels = case.who(seen)
    for bound in _BOUNDS:
        model = ExponentiatedGradient(
            lightgbm.LGBMClassifier(**_TREES, **_leaves(case)),
            DemographicParity(difference_bound=bound),
        )
        model.fit(
            case.inputs[seen],
            case.targets[seen],
            sensitive_features=groups,
            control_features=levels,
        )
        new = case.inputs[case.test]
        decided = model._pmf_predict(new)[:, 1]
        mixed = np.zeros(len(new))
        for weight, one in zip(model.weights_, model.predictors_, strict=True):
            if weight > 0.0:
                mixed += weight * _probability(one, new)
        yield bound, decided, mixed


def _probability(model: Any, inputs: FloatArray) -> FloatArray:  # noqa: ANN401
    """Probability of a yes; of a classifier that knows one answer only, that answer."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(inputs), np.float64)
    found: FloatArray = np.asarray(model.predict_proba(inputs), np.float64)
    return found[:, 1] if found.shape[1] == 2 else np.full(len(inputs), float(model.classes_[0]))


def _found(case: Case, settings: _Settings) -> list[dict[str, float]]:
    """AUC, disparities and seconds at every setting."""
    found, begin = [], time.perf_counter()
    for strength, scores in settings:
        auc, squared, of_ranks = case.measured(scores)
        seconds = time.perf_counter() - begin
        found.append(
            {
                "strength": strength,
                "auc": round(auc, 6),
                "squared": round(squared, 9),
                "squared_of_ranks": round(of_ranks, 9),
                "seconds": round(seconds, 2),
            }
        )
        begin = time.perf_counter()
    return found


def _of_reductions(case: Case) -> dict[str, list[dict[str, float]]]:
    runs = list(_reductions(case))
    return {
        "fairlearn, chances": _found(case, ((bound, decided) for bound, decided, _ in runs)),
        "fairlearn, probabilities": _found(case, ((bound, mixed) for bound, _, mixed in runs)),
    }


_METHODS: dict[str, Callable[[Case], dict[str, list[dict[str, float]]]]] = {
    "LightGBM": lambda case: {"LightGBM, FairLeap": _found(case, _trees(case))},
    "FairLeap": lambda case: {"network, FairLeap": _found(case, _networks(FairLeap(), case))},
    "FairBiT": lambda case: {"network, FairBiT": _found(case, _networks(FairBiT(), case))},
    "fairret": lambda case: {"fairret": _found(case, _fairret(case))},
    "fairlearn": _of_reductions,
}


def run(
    data: dict[str, Callable[[], Dataset]],
    seeds: Sequence[int],
    found: dict[str, Any],
    keep: Callable[[dict[str, Any]], None],
    methods: Sequence[str] = tuple(_METHODS),
    *,
    again: bool = False,
) -> dict[str, Any]:
    """Add what is missing to `found`, or run it `again`, and keep each as it comes.

    It is {data: {"methods": {method: {split: settings}}, "done": {name: {split: seconds}}}}.
    """
    for name, load in data.items():
        known: dict[str, Any] = found.setdefault(name, {})
        loaded = load()
        for method in methods if again else ():
            known.get("done", {}).pop(method, None)
        for seed in seeds:
            case = _case(loaded, seed)
            for method in methods:
                done = known.setdefault("done", {}).setdefault(method, {})
                if str(seed) in done:
                    continue
                begin = time.perf_counter()
                for label, settings in _METHODS[method](case).items():
                    splits = known.setdefault("methods", {}).setdefault(label, {})
                    # What is there of a method of which nothing is done was to be run again.
                    if not done:
                        splits.clear()
                    splits[str(seed)] = settings
                done[str(seed)] = round(time.perf_counter() - begin, 1)
                keep(found)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run (or read what an earlier run found), print, and write what is asked for."""
    line = command_line("rivals", __doc__)
    line.add_argument("--page", type=Path, help="put the tables into this page")
    line.add_argument("--data", action="append", choices=list(_DATA), help="one of the six")
    line.add_argument("--method", action="append", choices=list(_METHODS), help="one of them")
    line.add_argument("--again", action="store_true", help="begin these methods anew")
    line.add_argument("--splits", type=int, default=5)
    given = line.parse_args(arguments)
    found: dict[str, Any] = kept(given.json if given.read is None else given.read, {})
    if given.read is None:
        chosen = {name: load for name, load in _DATA.items() if name in (given.data or _DATA)}
        data, seeds = (_QUICK, range(1)) if given.quick else (chosen, range(given.splits))
        methods = given.method or tuple(_METHODS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # The first call compiles kernels, which is nobody's time.
            _found(case := _case(_QUICK["Loans"](), 0), _trees(case))
            run(data, seeds, found, partial(write_json, given.json), methods, again=given.again)
    print(summary(found))
    if given.page is not None:
        page = given.page.read_text("utf-8")
        write_whole(given.page, with_section(page, SECTION, section(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
