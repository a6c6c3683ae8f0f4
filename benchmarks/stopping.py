"""When training stops, and what chance costs: what is watched, and many levels at parity.

    python -m benchmarks.stopping --json benchmarks/stopping.json --page docs/stopping.md
    python -m benchmarks.stopping --read benchmarks/stopping.json --page docs/stopping.md

Networks on four data sets of the project and two from outside, stopped by loss + strength * V or by
the same without what chance alone makes of V (`Recipe.stopping`), measured on test rows without
small-sample bias and by plug-in. Then made rows at parity, in few levels and in many: whatever a
penalty costs there, it costs for nothing. Splits that are in the file already are not repeated.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.metrics import roc_auc_score

import likeforlike as lfl
from benchmarks.commands import command_line, runs_command
from benchmarks.sections import table
from benchmarks.six_tables import MOST_TO_FIT, MOST_TO_TEST, SIX, parted, relative_loss
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import Dataset, make_loans
from likeforlike.penalties import Layout
from likeforlike.training import (
    Member,
    Recipe,
    StackedMLP,
    Table,
    Trained,
    finish_fit,
    prepare,
    train,
)
from likeforlike.training._limits import HeldRows
from likeforlike.training._training import Prepared, Stopping

__all__ = ["main", "page", "read", "run"]

_SPLITS = 2
_STRENGTHS = (1.0, 10.0, 100.0)
_WATCHED: tuple[Stopping, ...] = get_args(Stopping)
_LEVELS = (20, 200)
Kind = Literal["data", "parity"]
_PARITY_ROWS, _PARITY_STRENGTH = 4000, 3.0


@dataclass(frozen=True, slots=True)
class Run:
    """A network on test rows.

    Attributes
    ----------
    kind : `"data"`, or `"parity"` for made rows.
    name, split, strength, stopping : which run it is; made rows have their levels for a name.
    epoch : at which it was best.
    loss : log loss or mean squared error, divided by that of a constant score.
    squared, plug_in : the squared disparity without small-sample bias, and the plug-in.
    auc : of classifiers.
    """

    kind: Kind
    name: str
    split: int
    strength: float
    stopping: str
    epoch: int
    loss: float
    squared: float
    plug_in: float
    auc: float | None


@dataclass(frozen=True, slots=True)
class _Rows:
    inputs: FloatArray
    targets: FloatArray
    groups: Any
    levels: Any
    classes: bool

    def take(self, rows: IntArray) -> _Rows:
        return _Rows(
            self.inputs[rows],
            self.targets[rows],
            self.groups[rows],
            self.levels[rows],
            self.classes,
        )

    @property
    def layout(self) -> Layout:
        return Layout.from_columns(self.groups, self.levels)


def _parts(rows: _Rows, split: int) -> tuple[_Rows, _Rows]:
    """Rows to fit, and rows to test."""
    fit, test = parted(len(rows.targets), split)
    return rows.take(fit), rows.take(test)


def _of_data(data: Dataset) -> _Rows:
    return _Rows(
        data.inputs(with_sensitive=True).matrix,
        np.asarray(data.targets).astype(np.float64),
        data.groups,
        data.levels,
        data.task == "classification",
    )


def _at_parity(levels: int, split: int) -> _Rows:
    """Rows whose classes owe much to the inputs and to the level, and nothing to the group."""
    rng = np.random.default_rng([split, levels])
    size = _PARITY_ROWS + MOST_TO_TEST
    level = rng.integers(0, levels, size)
    inputs = np.column_stack([rng.standard_normal((size, 3)), level / levels])
    chance = 1.0 / (1.0 + np.exp(-1.5 * inputs[:, 0] - 2.0 * (inputs[:, 3] - 0.5)))
    targets = (rng.random(size) < chance).astype(np.float64)
    return _Rows(inputs, targets, rng.choice(["f", "m"], size), level, classes=True)


def _trained(
    fit: _Rows, stopping: Stopping, strengths: FloatArray, split: int, epochs: int
) -> tuple[Prepared, Trained]:
    loss: Any = "logistic" if fit.classes else "squared"
    ready = prepare(Table(fit.inputs, fit.targets, None, fit.layout), loss, 0.2, split)
    recipe = Recipe(
        loss,
        lfl.FairLeap(),
        batch_size=256,
        max_epochs=epochs,
        patience=20,
        stopping=stopping,
    )
    network = StackedMLP([split] * strengths.size, (fit.inputs.shape[1], 50, 20, 1))
    seeds = np.array([split])
    return ready, train(
        network, ready.rows, ready.validation, recipe, strengths=strengths, seeds=seeds
    )


def _measured(test: _Rows, scores: FloatArray) -> dict[str, Any]:
    held = HeldRows(test.layout, test.layout)
    plug_in = lfl.cdd_lp(scores, test.groups, test.levels, order=1, p=2).value
    return {
        "squared": held.disparity(scores).squared,
        "plug_in": plug_in,
        "loss": relative_loss(scores, test.targets, classes=test.classes),
        "auc": float(roc_auc_score(test.targets, scores)) if test.classes else None,
    }


def _runs(
    kind: Kind,
    name: str,
    rows: _Rows,
    split: int,
    strengths: tuple[float, ...],
    epochs: int = 200,
) -> list[Run]:
    fit, test = _parts(rows, split)
    found = []
    for stopping in _WATCHED:
        ready, stack = _trained(fit, stopping, np.array(strengths), split, epochs)
        for k, strength in enumerate(strengths):
            scores = finish_fit(ready, Member(stack, k), strength).scores(test.inputs)
            which = (kind, name, split, strength, stopping, int(stack.best_epoch[k]))
            found.append(Run(*which, **_measured(test, scores)))
    return found


def run(done: list[Run], keep: Callable[[list[Run]], None], quick: bool) -> list[Run]:
    """All runs, of which some are done; `keep` is called with those there are, after every split.

    Of a trial none is taken over.
    """
    if quick:
        loans = _of_data(make_loans(600, gap=0.3))
        found = _runs("data", "loans", loans, 0, _STRENGTHS[1:2], epochs=5)
        return found + _runs("parity", "20", _at_parity(20, 0), 0, (0.0, _PARITY_STRENGTH), 2)
    found, known = list(done), {(one.kind, one.name, one.split) for one in done}
    for kind, name, split in _planned():
        if (kind, name, split) not in known:
            parity = kind == "parity"
            rows = _at_parity(int(name), split) if parity else _of_data(SIX[name]())
            strengths = (0.0, _PARITY_STRENGTH) if parity else _STRENGTHS
            found += _runs(kind, name, rows, split, strengths)
            keep(found)
    return found


def _planned() -> Iterator[tuple[Kind, str, int]]:
    """What is run: kind, name and split."""
    for levels, split in product(_LEVELS, range(_SPLITS)):
        yield "parity", str(levels), split
    for name, split in product(SIX, range(_SPLITS)):
        yield "data", name, split


_PAGE = """# When training stops

Made by `python -m benchmarks.stopping --json benchmarks/stopping.json --page docs/stopping.md`.

A penalty of a few hundred validation rows is too large: samples of equal laws are never equal. A
network that gives everybody the same score escapes that, so whoever watches loss + strength * V
stops strong penalties after a few epochs. The estimators watch the *excess* instead: V less its
mean with groups dealt anew inside their levels, which is what chance alone makes of these scores.
The paper's experiments keep the *plug-in* (`Recipe.stopping`).

Means over {splits} splits, on test rows; networks with the sensitive column among their inputs,
up to {fit:,} rows to fit. *Loss* is divided by that of a constant score. The *disparity* is in
the unit of the score, without small-sample bias and as it is.

{by_data}

{summary}

## Many levels, at parity

The slope of the penalty is read off a sample of up to 4,096 rows. That is free of the bias of
small *batches*, and not of its own: of {rows:,} made rows at parity four fifths train, {thick} in a
cell of {few} levels and {thin} in one of {many}. Whatever strength {strength:g} costs here, it
costs for nothing:

{parity}

Where levels are many, take weak penalties or coarse levels, or `SmoothFairLeap` if they are cut
from a number.
"""


def page(runs: list[Run]) -> str:
    """The page of the documentation."""
    data = [one for one in runs if one.kind == "data"]
    names = list(dict.fromkeys(one.name for one in data))
    strengths = list(dict.fromkeys(one.strength for one in data))
    few, many = _LEVELS
    return _PAGE.format(
        splits=len({one.split for one in data}),
        fit=MOST_TO_FIT,
        by_data=table(
            ("data", "strength", "watched", "epoch", "loss", "disparity", "plug-in"),
            [
                (name, f"{strength:g}", stopping, *_figures(data, name, strength, stopping))
                for name in names
                for strength in strengths
                for stopping in _WATCHED
            ],
        ),
        summary=_summary(data),
        few=few,
        many=many,
        thick=round(0.4 * _PARITY_ROWS / few),
        thin=round(0.4 * _PARITY_ROWS / many),
        rows=_PARITY_ROWS,
        strength=_PARITY_STRENGTH,
        parity=_parity(runs),
    )


def _summary(data: list[Run]) -> str:
    """In how many settings loss and disparity are smaller if the excess is watched."""
    settings = list(dict.fromkeys((one.name, one.strength) for one in data))
    means = np.array(
        [[_mean(data, *setting, stopping) for stopping in _WATCHED] for setting in settings]
    )
    smaller = (means[:, 1] < means[:, 0]).sum(axis=0)
    change = (means[:, 1, 1] - means[:, 0, 1]).mean()
    return (
        f"With the excess the loss is smaller in {smaller[1]} of {len(settings)} settings (on "
        f"average by {-change:.3f}), the disparity in {smaller[2]} of them."
    )


def _mean(runs: list[Run], name: str, strength: float, stopping: str) -> FloatArray:
    own = [
        (one.epoch, one.loss, one.squared, one.plug_in)
        for one in runs
        if (one.name, one.strength, one.stopping) == (name, strength, stopping)
    ]
    mean: FloatArray = np.mean(own, axis=0)
    return mean


def _figures(runs: list[Run], name: str, strength: float, stopping: str) -> tuple[str, ...]:
    epoch, loss, squared, plug_in = _mean(runs, name, strength, stopping).tolist()
    return f"{epoch:.0f}", f"{loss:.4f}", f"{max(squared, 0.0) ** 0.5:.4f}", f"{plug_in:.4f}"


def _parity(runs: list[Run]) -> str:
    rows: list[tuple[str, ...]] = []
    made = [one for one in runs if one.kind == "parity"]
    for levels in dict.fromkeys(one.name for one in made):
        for stopping in _WATCHED:
            free, held = (
                np.mean(
                    [
                        one.auc
                        for one in made
                        if (one.name, one.strength, one.stopping) == (levels, strength, stopping)
                    ]
                )
                for strength in (0.0, _PARITY_STRENGTH)
            )
            rows.append((levels, stopping, f"{free:.3f}", f"{held:.3f}", f"{free - held:.3f}"))
    return table(("levels", "watched", "AUC without", "AUC with", "cost"), rows)


def read(path: Path) -> list[Run]:
    return [Run(**entry) for entry in json.loads(path.read_text("utf-8"))]


def main(arguments: list[str] | None = None) -> int:
    """Run what is not done yet (or read what is), and write what is asked for."""
    line = command_line("stopping", __doc__)
    return runs_command(line, arguments, read=read, run=run, page=page)


if __name__ == "__main__":
    sys.exit(main())
