"""`fit` of all estimators that are told groups and levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike.disparity._columns import Column, refuse_masked
from likeforlike.estimators._checks import all_or_nothing, held_rows, layout_of, weights_of
from likeforlike.estimators._sklearn import BaseEstimator
from likeforlike.penalties import Layout

Inputs = Any
"""Inputs X as people give them: an array, something sparse, or a table."""

Targets = Column
"""Classes or numbers y as people give them."""


class Told(NamedTuple):
    """What `fit` was told of the rows besides inputs and targets."""

    sensitive: Column | None
    legitimate: Column | None
    weight: Column | None
    validation: Column | None = None

    def layout(self, size: int, *, needed: bool) -> Layout | None:
        """Groups and levels; `None`, with a warning if they are needed, where nobody told them."""
        return layout_of(size, self.sensitive, self.legitimate, needed=needed)

    def weights(self, size: int) -> FloatArray | None:
        """Weights (n,) of the rows, or `None` where all of them count one."""
        return weights_of(self.weight, size)

    def held(self, size: int) -> BoolArray | None:
        """Rows (n,) to hold back to stop training, or `None` where nobody said."""
        return held_rows(self.validation, size)


class GroupedEstimator(BaseEstimator, ABC):
    """An estimator that needs groups and levels to fit, and never to predict."""

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise if a setting makes no sense."""

    @abstractmethod
    def _fit_told(self, inputs: Inputs, targets: Targets, told: Told) -> None:
        """Check everything, train, and set the fitted attributes."""

    def fit(
        self,
        X: Inputs,  # noqa: N803
        y: Targets,
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
        validation: Column | None = None,
    ) -> Self:
        """Fit to inputs X (n, d) and classes or targets y (n,).

        Parameters
        ----------
        X, y : inputs, and classes or targets.
        sensitive_features : (n,) labels of the groups, several columns, or `SoftGroups`; without
            them the model is trained without regard to groups, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0.
        validation : (n,) truth values, the rows to hold back to stop training; without them
            `validation_fraction` of all rows are drawn.
        """
        told = Told(sensitive_features, legitimate_features, sample_weight, validation)
        with all_or_nothing(self, self._check_settings):
            keep_to_one_thread_after_fork()
            refuse_masked(X, "X")
            refuse_masked(y, "y")
            self._fit_told(X, y, told)
        return self
