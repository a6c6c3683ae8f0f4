"""What is measured of every run, on its test rows.

Everything the paper reports, exactly and in natural units: W_1, which its text names, and W_2²,
which its tables seem to show. Its bi-causal distance is of order 2, with levels numbered from 0 and
the metric |l - l'|², C = 1, un-rooted, less what the levels alone cost. Averages over runs should
use `squared`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike._extras import extra
from likeforlike.disparity._cdd_lp import cdd_lp, dd
from likeforlike.disparity._cdd_wass import cdd_wass
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._measures import MeasureName
from likeforlike.errors import LevelCostWarning
from likeforlike.penalties import Layout
from likeforlike.training._limits import cells_of_scores, smooth_disparity, validation_disparity
from likeforlike.training._networks import Loss

MEASURED = (
    "performance",
    "cdd_wass",
    "diagonal",
    "off_diagonal",
    "cdd_uniform",
    "cdd_average",
    "cdd_marginal",
    "w2sq_uniform",
    "w2sq_average",
    "w2sq_marginal",
    "dd",
    "squared",
)
"""Names of what is measured of a run, in order: columns of `Sweep.runs`.

`performance` is the AUC, or the mean squared error of a regression; `cdd_wass` the bi-causal
distance as the paper normalizes it; `diagonal` and `off_diagonal` its split with the discrete
metric; `cdd_uniform`, `cdd_average` and `cdd_marginal` Σ_l Q(l) W_1(l) with three measures Q, and
`w2sq_uniform`, `w2sq_average` and `w2sq_marginal` Σ_l Q(l) W_2²(l); `dd` is W_1 between the groups
whatever the level, and `squared` Σ_l P(l) W_1²(l) without small-sample bias.

Examples
--------
>>> from likeforlike.experiments import MEASURED
>>> MEASURED[:3]
('performance', 'cdd_wass', 'diagonal')
"""

DESCRIBED = ("rows", "levels", "coverage", "baseline")
"""What a run says of its test rows: how many there are, in how many levels groups meet, the least
share of a group in them, and the performance of a constant: .5, or the mean squared error of the
mean of the training targets."""

MEASURES: tuple[MeasureName, ...] = ("uniform", "average", "marginal")
"""The paper's measures Q."""

OwnMeasure = Callable[
    [FloatArray, FloatArray, npt.NDArray[Any], npt.NDArray[Any]],
    float,
]
"""A measure of one's own: scores, targets, groups and levels of the test rows in, a number out."""


def run_metrics(
    scores: FloatArray,
    targets: FloatArray,
    layout: Layout,
    loss: Loss,
    *,
    smooth: bool = False,
    own: Mapping[str, OwnMeasure] | None = None,
) -> dict[str, float]:
    """Measure the scores of one run.

    With `smooth` levels are numbers: scores are carried to the centers of windows along them, and
    windows take the place of levels.
    """
    plain = np.ascontiguousarray(scores, dtype=np.float64)
    cells = cells_of_scores(plain, layout, smooth=smooth)
    first = {Q: cdd_lp(cells, order=1, measure=Q) for Q in MEASURES}
    second = {Q: cdd_lp(cells, order=2, p=2, measure=Q) for Q in MEASURES}
    measured = {
        "levels": len(first["marginal"].by_level),
        "coverage": float(min(first["marginal"].coverage.values())),
        "performance": predictive_performance(plain, targets, loss),
        **_nested(cells),
        **{f"cdd_{Q}": found.value for Q, found in first.items()},
        **{f"w2sq_{Q}": found.value**2 for Q, found in second.items()},
        "dd": dd(cells, order=1).value,
        "squared": (smooth_disparity if smooth else validation_disparity)(plain, layout).squared,
    }
    for name, measure in (own or {}).items():
        measured[name] = float(measure(plain, targets, *_labels(layout)))
    return measured


def _nested(cells: Cells) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LevelCostWarning)
        papers = cdd_wass(cells, order=2, level_metric="ordinal", level_cost=1.0)
    ours = cdd_wass(cells, order=2)
    return {
        "cdd_wass": papers.excess,
        "diagonal": ours.diagonal,
        "off_diagonal": ours.off_diagonal,
    }


def _labels(layout: Layout) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Group and level of every row."""
    level, group = np.divmod(layout.segments[0], len(layout.groups))
    labels = []
    for names, codes in ((layout.groups, group), (layout.levels, level)):
        array = np.empty(len(names), dtype=object)
        array[:] = names
        labels.append(array[codes])
    return labels[0], labels[1]


def constant_performance(targets: FloatArray, constant: float, loss: Loss) -> float:
    """Performance of a constant: .5, or the mean squared error of the mean of training targets."""
    return float(((targets - constant) ** 2).mean()) if loss == "squared" else 0.5


def predictive_performance(scores: FloatArray, targets: FloatArray, loss: Loss) -> float:
    """AUC of a classification, mean squared error of a regression."""
    if loss == "squared":
        return float(((scores - targets) ** 2).mean())
    with extra("train"):
        from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(targets, scores))
