"""Scorers: conditional disparity for scikit-learn's model selection.

scikit-learn chooses what scores highest, so disparities are returned with a minus sign, as its own
losses are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._extras import extra
from likeforlike.disparity._cdd_lp import cdd_lp
from likeforlike.disparity._columns import Column, encode_columns
from likeforlike.disparity._measures import Measure


def disparity_scorer(*, order: float = 2.0, measure: Measure = "marginal") -> Any:  # noqa: ANN401
    """A scorer that gives minus the conditional disparity, (Σ_l Q(l) W_p^p(l))^{1/p}.

    It measures predicted probabilities where there are any (of the second class, or the largest
    over several classes), else predictions, and asks for the metadata `sensitive_features` and
    `legitimate_features`, so metadata routing must be on. The value is a plug-in: compare it
    between models on the same rows, and audit the model that you choose.

    Parameters
    ----------
    order : p >= 1.
    measure : Q.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import LinearRegression
    >>> from likeforlike.estimators import disparity_scorer
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LinearRegression().fit(X, X[:, 0])
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     score = disparity_scorer()(model, X, None, sensitive_features=["f", "f", "m", "m"])
    >>> round(score, 9)
    -2.0
    """
    with extra("train"):
        from sklearn import config_context
        from sklearn.metrics import make_scorer

    scorer = make_scorer(
        _disparity,
        response_method=("predict_proba", "predict"),
        greater_is_better=False,
        order=order,
        measure=measure,
    )
    with config_context(enable_metadata_routing=True):
        return scorer.set_score_request(sensitive_features=True, legitimate_features=True)


def _disparity(
    _: object,
    scores: FloatArray,
    *,
    order: float,
    measure: Measure,
    sensitive_features: Column,
    legitimate_features: Column | None = None,
) -> float:
    group = encode_columns(sensitive_features, "sensitive_features", len(scores)).codes
    level = None
    if legitimate_features is not None:
        level = encode_columns(legitimate_features, "legitimate_features", len(scores)).codes
    columns = scores[:, None] if np.ndim(scores) == 1 else scores
    return max(
        cdd_lp(column, group, level, order=order, p=order, measure=measure).value
        for column in columns.T
    )
