"""scikit-learn's base classes with types, which it does not have itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._extras import extra

if TYPE_CHECKING:
    from typing import Any, Self

    Tags = Any

    class BaseEstimator:
        """What every estimator has."""

        n_features_in_: int
        feature_names_in_: Any

        def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
        def set_params(self, **settings: object) -> Self: ...
        def set_fit_request(self, **requests: bool) -> Self: ...
        def set_transform_request(self, **requests: bool) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...

    class ClassifierMixin:
        """What every classifier has."""

        def score(self, X: Any, y: Any, sample_weight: Any = ...) -> float: ...  # noqa: N803, ANN401

    class RegressorMixin(ClassifierMixin):
        """What every regressor has."""

    class MetaEstimatorMixin:
        """What every estimator has that is made of another one."""

    class TransformerMixin:
        """What every transformer has."""

        def set_output(self, *, transform: str | None = ...) -> Self: ...

    class OneToOneFeatureMixin:
        """What every transformer has that keeps its columns."""

        def get_feature_names_out(self, input_features: Any = ...) -> Any: ...  # noqa: ANN401

else:
    with extra("train"):
        from sklearn.base import (
            BaseEstimator,
            ClassifierMixin,
            MetaEstimatorMixin,
            OneToOneFeatureMixin,
            RegressorMixin,
            TransformerMixin,
        )
        from sklearn.utils import Tags

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "MetaEstimatorMixin",
    "OneToOneFeatureMixin",
    "RegressorMixin",
    "Tags",
    "TransformerMixin",
]
