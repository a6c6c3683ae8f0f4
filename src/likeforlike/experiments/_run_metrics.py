"""What is measured of every run, on its test rows.

Everything the paper reports, exactly and in natural units, and beside it our own. Its bi-causal
distance is of order 2, with levels numbered from 0 and the metric |l - l'|², C = 1, un-rooted, less
what the levels alone cost. Averages over runs should use `squared`.
"""

from __future__ import annotations

import warnings

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._extras import extra
from likeforlike.disparity._cdd_lp import cdd_lp, dd
from likeforlike.disparity._cdd_wass import cdd_wass
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.errors import LevelCostWarning
from likeforlike.limits._held_rows import validation_disparity
from likeforlike.nn._objectives import Loss
from likeforlike.penalties import Layout

MEASURED = (
    "performance",
    "cdd_wass",
    "diagonal",
    "off_diagonal",
    "cdd_uniform",
    "cdd_average",
    "cdd_marginal",
    "dd",
    "squared",
)
"""Names of what is measured of a run, in order: the columns of `Sweep.runs`.

`performance` is the AUC, or the mean squared error of a regression; `cdd_wass` the bi-causal
distance as the paper normalises it; `diagonal` and `off_diagonal` its split with the discrete
metric; `cdd_uniform`, `cdd_average` and `cdd_marginal` Σ_l Q(l) W_1(l) with three measures Q; `dd`
is W_1 between the groups whatever the level, and `squared` Σ_l P(l) W_1²(l) without small-sample
bias.

Examples
--------
>>> from likeforlike.experiments import MEASURED
>>> MEASURED[:3]
('performance', 'cdd_wass', 'diagonal')
"""


def run_metrics(
    scores: FloatArray, targets: FloatArray, layout: Layout, loss: Loss
) -> dict[str, float]:
    """Measure the scores of one run."""
    plain = np.ascontiguousarray(scores, dtype=np.float64)
    n_groups = len(layout.groups)
    level = Codes(layout.segments[0] // n_groups, layout.levels)
    group = Codes(layout.segments[0] % n_groups, layout.groups)
    cells = Cells.from_codes(level, group, plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LevelCostWarning)
        papers = cdd_wass(cells, order=2, level_metric="ordinal", level_cost=1.0)
    ours = cdd_wass(cells, order=2)
    return {
        "performance": predictive_performance(plain, targets, loss),
        "cdd_wass": papers.excess,
        "diagonal": ours.diagonal,
        "off_diagonal": ours.off_diagonal,
        "cdd_uniform": cdd_lp(cells, order=1, measure="uniform").value,
        "cdd_average": cdd_lp(cells, order=1, measure="average").value,
        "cdd_marginal": cdd_lp(cells, order=1, measure="marginal").value,
        "dd": dd(cells, order=1).value,
        "squared": validation_disparity(plain, layout).squared,
    }


def predictive_performance(scores: FloatArray, targets: FloatArray, loss: Loss) -> float:
    """AUC of a classification, mean squared error of a regression."""
    if loss == "squared":
        return float(((scores - targets) ** 2).mean())
    with extra("train"):
        from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(targets, scores))
