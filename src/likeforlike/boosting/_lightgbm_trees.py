"""Trees of LightGBM, with values of their leaves that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike.boosting._rounds import Inputs, Model

with extra("boost"):  # estimators of trees ask for scikit-learn, too
    import_module("sklearn")
    import lightgbm
    from scipy.sparse import csr_matrix

# Values of leaves are written over, so a rate would only be in the way.
_FIXED = {
    "objective": "none",
    "metric": "none",
    "learning_rate": 1.0,
    "boost_from_average": False,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


class LightGBMTrees:
    """Grows trees on inputs (n, d), dense or sparse, some of which are codes of categories."""

    def __init__(
        self, inputs: Inputs, categorical: Sequence[int], settings: Mapping[str, Any]
    ) -> None:
        given = {**settings, **_FIXED}
        data = lightgbm.Dataset(
            inputs,
            params=given,
            categorical_feature=list(categorical),
            free_raw_data=False,
        )
        data.construct()
        # LightGBM stops the program's work where no input has two values, or none beside 0.
        bins = (data.feature_num_bin(column) for column in range(inputs.shape[1]))
        self._splits = any(count > 1 for count in bins)
        if self._splits:
            self._booster = lightgbm.Booster(given, data)

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""
        if not self._splits:
            return False
        finished: bool = self._booster.update(fobj=lambda *_: (gradient, hessian))
        return not finished

    def leaves(self, inputs: Inputs) -> IntArray:
        """Leaves (n,) of the last tree in which rows are."""
        last = self._booster.num_trees() - 1
        found = self._booster.predict(inputs, pred_leaf=True, start_iteration=last)
        return np.asarray(found, np.int64).reshape(-1)

    def finished(self, values: Sequence[FloatArray]) -> Model:
        """The first trees as a `lightgbm.Booster`, which predicts the sum of these values."""
        for tree, of_leaves in enumerate(values):
            for leaf, value in enumerate(of_leaves.tolist()):
                self._booster.set_leaf_output(tree, leaf, value)
        return lightgbm.Booster(model_str=self._booster.model_to_string(num_iteration=len(values)))


@dataclass(frozen=True)
class LightGBM:
    """LightGBM with some settings; inputs in the columns `categorical` are codes of categories."""

    settings: dict[str, Any]
    categorical: tuple[int, ...] = ()

    def rows(self, inputs: Inputs) -> Inputs:
        """Inputs (n, d), dense or sparse; of sparse ones LightGBM knows matrices alone."""
        return inputs if isinstance(inputs, np.ndarray) else csr_matrix(inputs)

    def grower(self, inputs: Inputs) -> LightGBMTrees:
        """Grows trees on some rows."""
        return LightGBMTrees(inputs, self.categorical, self.settings)

    def raw(self, model: Model, inputs: Inputs) -> FloatArray:
        """Raw scores (n,) of a model, without those it starts from."""
        keep_to_one_thread_after_fork()
        found = model.predict(inputs, raw_score=True, num_threads=self.settings["num_threads"])
        return np.asarray(found, np.float64)
