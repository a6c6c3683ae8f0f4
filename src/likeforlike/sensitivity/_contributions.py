"""Contributions of the inputs of a model to its scores: trees, linear models.

Of LightGBM and XGBoost they are the SHAP values that these libraries compute themselves
(`pred_contrib`), of a linear model its coefficients times the inputs minus their means. They add up
to the raw score of the model but for a constant: log-odds, for a classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._lazy import extra
from likeforlike.errors import InputError

Contributions = dict[str, FloatArray]


def contributions(model: Any, X: Any) -> Contributions:  # noqa: ANN401, N803
    """Compute what each input contributes to the raw score of a model, row by row.

    Parameters
    ----------
    model : of LightGBM or XGBoost (a booster, or an estimator that holds one, `FairLGBM*` and
        `FairXGB*` among them), a path to a file of either, or a linear model with `coef_`.
    X : the inputs as the model takes them, (n, d); names of a table are those of the result.

    Returns
    -------
    {name of the input: (n,) floats}; their sum is the raw score but for a constant.

    References
    ----------
    Lundberg and others (2020), *From local explanations to global understanding with explainable AI
    for trees*.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from likeforlike.auditing import contributions
    >>> model = SimpleNamespace(coef_=np.array([2.0, -1.0]))
    >>> contributions(model, np.array([[1.0, 0.0], [3.0, 4.0]]))
    {'input 0': array([-2.,  2.]), 'input 1': array([ 2., -2.])}
    """
    model = load_trees(Path(model)) if isinstance(model, str | Path) else _booster(model)
    kind = type(model).__module__.partition(".")[0]
    if kind == "lightgbm":
        values = _as_array(model.predict(X, pred_contrib=True))
    elif kind == "xgboost":
        with extra("boost"):
            import xgboost

        matrix = X if isinstance(X, xgboost.DMatrix) else xgboost.DMatrix(_typed(X))
        if not isinstance(X, xgboost.DMatrix) and not hasattr(X, "columns"):
            matrix.feature_names = model.feature_names
        values = _as_array(model.predict(matrix, pred_contribs=True))
    elif hasattr(model, "coef_"):
        inputs = np.asarray(X, np.float64)
        slopes = np.asarray(model.coef_, np.float64)
        if slopes.ndim == 2 and slopes.shape[0] != 1:
            raise InputError("model has coefficients of several scores; explain one of them.")
        if slopes.size != inputs.shape[1]:
            raise InputError(
                f"model has {slopes.size} coefficients, and X has {inputs.shape[1]} columns."
            )
        values = np.c_[(inputs - inputs.mean(axis=0)) * slopes.ravel(), np.zeros(len(inputs))]
    else:
        raise InputError(
            f"model is a {type(model).__name__}, whose contributions are not known; pass trees of "
            "LightGBM or XGBoost, a linear model, or a matrix of your own, such as one of shap, to "
            "audit.drivers."
        )
    if values.ndim != 2:
        raise InputError("model has several scores; explain one of them.")
    names = _names(model, X, values.shape[1] - 1)
    return {name: values[:, j] for j, name in enumerate(names)}


def _booster(model: Any) -> Any:  # noqa: ANN401
    """Return the booster that an estimator holds, or the model itself."""
    for name in ("booster_", "get_booster"):
        found = getattr(model, name, None)
        if found is not None:
            return found() if callable(found) else found
    return model


def load_trees(path: Path) -> Any:  # noqa: ANN401
    """Read a model file of LightGBM (text) or of XGBoost (.json, .ubj)."""
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    with extra("boost"):
        import lightgbm
        import xgboost
    try:
        if path.suffix.lower() in (".json", ".ubj"):
            model = xgboost.Booster()
            model.load_model(path)
            return model
        return lightgbm.Booster(model_file=str(path))
    except (lightgbm.basic.LightGBMError, xgboost.core.XGBoostError) as error:
        raise InputError(
            f"{path} is no model of LightGBM (a text file) or of XGBoost (.json or .ubj)."
        ) from error


def _as_array(values: Any) -> FloatArray:  # noqa: ANN401
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(dense, np.float64)


def _typed(X: Any) -> Any:  # noqa: ANN401, N803
    return X if hasattr(X, "columns") else np.asarray(X, np.float64)


def _names(model: Any, X: Any, size: int) -> list[str]:  # noqa: ANN401, N803
    """Name the inputs as the table does, else as the model does, else by number."""
    own = model.feature_name() if hasattr(model, "feature_name") else None
    for source in (getattr(X, "columns", None), getattr(model, "feature_names", None), own):
        names = None if source is None else list(map(str, source))
        if names is not None and len(names) == size:
            return names
    return [f"input {j}" for j in range(size)]


def sum_columns(found: Mapping[str, FloatArray], sources: Mapping[str, str]) -> Contributions:
    """Sum the contributions of columns that were made of one source, such as one-hot ones."""
    summed: Contributions = {}
    for name, values in found.items():
        source = sources.get(name, name)
        summed[source] = summed[source] + values if source in summed else values
    return summed
