"""Tables of random rows, and fairlearn's `MetricFrame` of them with the cheapest metric it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.levels import random_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["metric_frame", "random_frame"]


def random_frame(rows: int, levels: int) -> pd.DataFrame:
    """Scores of two sexes in so many levels.

    Parameters
    ----------
    rows, levels : how many there are.
    """
    import pandas as pd

    drawn = random_rows(rows, levels)
    sex = np.array(["f", "m"])[drawn.groups]
    return pd.DataFrame({"score": drawn.scores, "sex": sex, "level": drawn.levels})


def metric_frame(columns: Mapping[str, object], **bootstrap: object) -> Any:  # noqa: ANN401
    """The means of every level and group, by fairlearn.

    Parameters
    ----------
    columns : score, sex and level.
    bootstrap : how often and with what quantiles `MetricFrame` draws rows again.
    """
    from fairlearn.metrics import MetricFrame, mean_prediction

    return MetricFrame(
        metrics=mean_prediction,
        y_true=columns["score"],
        y_pred=columns["score"],
        sensitive_features=columns["sex"],
        control_features=columns["level"],
        **bootstrap,
    )
