"""What is measured of every run, on its test rows.

Everything the paper reports, exactly and in natural units, and beside it our own:

- `power`: AUC, or mean squared error;
- `cdd_wass`: the bi-causal distance of order 2 as the paper normalises it: levels numbered from 0
  with the metric |l - l'|², C = 1, un-rooted, less what the levels alone cost;
- `diagonal`, `off_diagonal`: the split of the distance with the discrete metric and a safe C;
- `cdd_uniform`, `cdd_average`, `cdd_marginal`: Σ_l Q(l) W_1(l) with the three measures;
- `dd`: W_1 between the groups, whatever the level;
- `squared`: Σ_l P(l) W_2²(l) without small-sample bias, which averages over runs should use.
"""

from __future__ import annotations

import warnings

import numpy as np

from likeforlike.cells import Cells
from likeforlike.columns import Codes
from likeforlike.disparity import cdd_lp, dd
from likeforlike.errors import LevelCostWarning
from likeforlike.nested_disparity import cdd_wass
from likeforlike.nn.fit import validation_disparity
from likeforlike.nn.objectives import Loss
from likeforlike.penalties import Layout
from likeforlike.transport.atoms import FloatArray

__all__ = ["MEASURED", "measure_run", "predictive_power"]

MEASURED = (
    "power",
    "cdd_wass",
    "diagonal",
    "off_diagonal",
    "cdd_uniform",
    "cdd_average",
    "cdd_marginal",
    "dd",
    "squared",
)
"""Names of what is measured, in order."""


def measure_run(
    scores: FloatArray, targets: FloatArray, layout: Layout, loss: Loss
) -> dict[str, float]:
    """Measure the scores of one run.

    Parameters
    ----------
    scores, targets : (n,) floats.
    layout : one line, of the same rows.
    loss : what the run was trained for.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.experiments.measuring import measure_run
    >>> from likeforlike.penalties import Layout
    >>> layout = Layout.of_rows(["f", "m"] * 20, [1, 1, 2, 2] * 10)
    >>> scores = np.linspace(0.0, 1.0, 40)
    >>> found = measure_run(scores, scores, layout, "squared")
    >>> found["power"], round(found["cdd_uniform"], 3)
    (0.0, 0.026)
    """
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
        "power": predictive_power(plain, targets, loss),
        "cdd_wass": papers.excess,
        "diagonal": ours.diagonal,
        "off_diagonal": ours.off_diagonal,
        "cdd_uniform": cdd_lp(cells, order=1, measure="uniform").value,
        "cdd_average": cdd_lp(cells, order=1, measure="average").value,
        "cdd_marginal": cdd_lp(cells, order=1, measure="marginal").value,
        "dd": dd(cells, order=1).value,
        "squared": validation_disparity(plain, layout).squared,
    }


def predictive_power(scores: FloatArray, targets: FloatArray, loss: Loss) -> float:
    """AUC of a classification, mean squared error of a regression.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.experiments.measuring import predictive_power
    >>> predictive_power(np.array([0.1, 0.9]), np.array([0, 1]), "logistic")
    1.0
    """
    if loss == "squared":
        return float(((scores - targets) ** 2).mean())
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(targets, scores))
