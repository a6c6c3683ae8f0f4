"""Trees of XGBoost, with values of their leaves that are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike.boosting._rounds import Inputs, Model
from likeforlike.errors import InputError

with extra("boost"):  # estimators of trees ask for scikit-learn, too
    import_module("sklearn")
    import xgboost

# Values of leaves are written over, so a rate would only be in the way.
_FIXED = {"objective": "reg:squarederror", "base_score": 0.0, "learning_rate": 1.0, "verbosity": 0}
# XGBoost keeps inputs in single precision.
_LARGEST = float(np.finfo(np.float32).max)
# What a node without children has in the place of its left child.
_NONE = -1


class XGBoostTrees:
    """Grows trees on a matrix of XGBoost."""

    def __init__(self, inputs: Inputs, settings: Mapping[str, Any]) -> None:
        self._inputs = inputs
        self._booster = xgboost.Booster({**settings, **_FIXED}, [inputs])
        self._trees = 0
        self._grown = np.empty(0, np.int64)

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""
        self._booster.boost(self._inputs, self._trees, grad=gradient, hess=hessian)
        self._trees += 1
        self._grown = self._last_leaves(self._inputs)
        return int(self._grown.max()) > 0

    def leaves(self, inputs: Inputs) -> IntArray:
        """Leaves (n,) of the last tree in which rows are."""
        return self._grown if inputs is self._inputs else self._last_leaves(inputs)

    def _last_leaves(self, inputs: Inputs) -> IntArray:
        last = self._booster[self._trees - 1 : self._trees]
        return np.asarray(last.predict(inputs, pred_leaf=True), np.int64).reshape(-1)

    def finished(self, values: Sequence[FloatArray]) -> Model:
        """The first trees as an `xgboost.Booster`, which predicts the sum of these values."""
        document = json.loads(self._booster[: len(values)].save_raw("json").decode())
        trees = document["learner"]["gradient_booster"]["model"]["trees"]
        for tree, of_leaves in zip(trees, values, strict=True):
            ends = np.flatnonzero(np.array(tree["left_children"]) == _NONE)
            for leaf in ends[ends < of_leaves.size].tolist():
                # A leaf keeps its value where other nodes keep what they split at.
                tree["split_conditions"][leaf] = tree["base_weights"][leaf] = of_leaves[leaf].item()
        model = xgboost.Booster()
        model.load_model(bytearray(json.dumps(document).encode()))
        return model


@dataclass(frozen=True)
class XGBoost:
    """XGBoost with some settings; inputs in the columns `categorical` are codes of categories."""

    settings: dict[str, Any]
    categorical: tuple[int, ...] = ()

    def rows(self, inputs: Inputs) -> Inputs:
        """Inputs (n, d), dense or sparse, as a `DMatrix`."""
        values = inputs if isinstance(inputs, np.ndarray) else inputs.data
        if np.fmax.reduce(np.abs(values), axis=None, initial=0.0) > _LARGEST:
            raise InputError(
                f"X has values beyond {_LARGEST:.2g}, which XGBoost cannot hold; scale them."
            )
        kinds = ["c" if column in self.categorical else "q" for column in range(inputs.shape[1])]
        return xgboost.DMatrix(
            inputs,
            feature_types=kinds,
            enable_categorical=True,
            nthread=self.settings["nthread"],
        )

    def grower(self, inputs: Inputs) -> XGBoostTrees:
        """Grows trees on some rows."""
        return XGBoostTrees(inputs, self.settings)

    def raw(self, model: Model, inputs: Inputs) -> FloatArray:
        """Raw scores (n,) of a model, without those it starts from."""
        keep_to_one_thread_after_fork()
        return np.asarray(model.predict(inputs, output_margin=True), np.float64)
