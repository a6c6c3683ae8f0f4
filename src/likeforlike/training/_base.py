"""Parts that all estimators share: `fit` with groups and levels, settings, checks, a scorer.

`GroupedEstimator.fit` checks everything and sets the fitted attributes all at once, or leaves the
estimator as it was. A `PenalizedEstimator` has a penalty with a strength, or a limit.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import ne
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike._lazy import extra
from likeforlike._settings import Measure, real
from likeforlike.disparity import (
    Column,
    cdd_lp,
    encode_columns,
    encode_known,
    refuse_many_groups,
    refuse_mask,
    same_length,
    warn_of_thin_levels,
    weights,
)
from likeforlike.errors import InputError, MissingGroupsWarning, UnmetLimitWarning
from likeforlike.inference import DistanceEstimate
from likeforlike.penalties import FairLeap, Layout, Penalty, SoftGroups, worst_pair_penalty
from likeforlike.training._limits import Candidate, Limit, LimitResult

if TYPE_CHECKING:
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
        from sklearn import base
        from sklearn.utils import Tags
    BaseEstimator, MetaEstimatorMixin = base.BaseEstimator, base.MetaEstimatorMixin
    ClassifierMixin, RegressorMixin = base.ClassifierMixin, base.RegressorMixin
    OneToOneFeatureMixin, TransformerMixin = base.OneToOneFeatureMixin, base.TransformerMixin


def make_layout(
    size: int, sensitive: Column | None, legitimate: Column | None, *, needed: bool
) -> Layout | None:
    """Make the layout of the rows; `None`, with a warning if needed, where no groups are given."""
    if sensitive is None:
        if legitimate is not None:
            raise InputError("legitimate_features are of no use without sensitive_features.")
        if needed:
            warnings.warn(
                "fit was called without sensitive_features, so the model is trained "
                "as if there were no groups.",
                MissingGroupsWarning,
                stacklevel=4,
            )
        return None
    level = None
    if legitimate is not None:
        level = encode_columns(legitimate, "legitimate_features", size)
    if isinstance(sensitive, SoftGroups):
        same_length(size, len(sensitive), "sensitive_features")
        return Layout.from_codes(sensitive, level)
    group, known = encode_known(sensitive, "sensitive_features", size)
    refuse_many_groups(group.labels, "sensitive_features")
    layout = Layout.from_codes(group, level)
    if known.all():
        return layout
    missing = size - int(known.sum())
    warnings.warn(
        f"sensitive_features is missing in {missing:,} of {size:,} rows ({missing / size:.1%}); "
        "they train the model, but are not compared.",
        MissingGroupsWarning,
        stacklevel=4,
    )
    # Rows without weight move neither the value of a penalty nor its gradient.
    return layout.with_weights(known.astype(np.float64))


def check_count(name: str, value: object) -> None:
    """Raise unless a setting is an integer of 1 or more."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, not {value!r}.")


def check_sizes(name: str, sizes: object) -> None:
    """Raise unless a setting lists integers of 1 or more, which may be none."""
    # An array may have no dimension, and then lists nothing.
    alone = isinstance(sizes, str | bytes) or (isinstance(sizes, np.ndarray) and sizes.ndim != 1)
    if alone or not isinstance(sizes, Sequence | np.ndarray):
        raise InputError(f"{name} must list the sizes of layers, as (50, 20), not {sizes!r}.")
    for place, size in enumerate(sizes):
        check_count(f"{name}[{place}]", size)


def refuse_unknown(column: object, name: str) -> None:
    """Refuse values that compare as unknown, as pandas has them; scikit-learn knows the others."""
    listed = isinstance(column, list | tuple)
    if not listed and getattr(column, "dtype", None) != np.dtype(object):
        return
    for row, value in enumerate(cast("Iterable[object]", column)):
        try:
            bool(ne(value, value))
        except TypeError as error:
            raise InputError(f"{name} has no value in row {row}; leave that row out.") from error
        except ValueError:  # a list in the place of a value, which scikit-learn refuses
            return


@contextmanager
def restore_on_error(estimator: object) -> Iterator[None]:
    """Leave the estimator as it was if a fit fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def encode_classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the classes of targets (n,), two at least, and which of them each row has."""
    with extra("train"):
        from sklearn.utils.multiclass import check_classification_targets
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size == 1:
        raise InputError(f"y has one class only, {classes[0]!r}; a classifier needs two.")
    return classes, codes.astype(np.int64)


def compute_class_factors(class_weight: object, y: Column) -> FloatArray | None:
    """Compute what the loss of each row (n,) is multiplied by, by its class, or `None`."""
    if class_weight is None:
        return None
    with extra("train"):
        from sklearn.utils.class_weight import compute_sample_weight
    try:
        return np.asarray(compute_sample_weight(class_weight, y), np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"class_weight: {error}") from error


def check_validation(validation: Column | None, size: int) -> BoolArray | None:
    """Return which rows (n,) are held back to stop training, or `None` if not given."""
    if validation is None:
        return None
    marked = np.asarray(validation)
    same_length(size, len(marked), "validation")
    if marked.dtype.kind not in "biu" or not np.isin(marked, (0, 1)).all():
        raise InputError(
            "validation must be true for rows to hold back and false for all others, not "
            f"{marked.dtype} values."
        )
    held: BoolArray = marked.astype(bool)
    if held.all() or not held.any():
        raise InputError("validation must hold back some rows, and leave some to train on.")
    return held


def check_weights(sample_weight: Column | None, size: int) -> FloatArray | None:
    """Return checked weights (n,) of the rows, or `None` where all of them count one."""
    if sample_weight is None:
        return None
    refuse_mask(sample_weight, "sample_weight")
    return weights(np.asarray(sample_weight), "sample_weight", size)


def draw_integer(random_state: int | np.random.RandomState | None) -> int:
    """Draw a seed by a `random_state` as scikit-learn takes them."""
    with extra("train"):
        from sklearn.utils import check_random_state
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise InputError(f"random_state: {error}") from error


Inputs = Any
"""Inputs X as people give them: an array, something sparse, or a table."""

Targets = Column
"""Classes or numbers y as people give them."""


class GroupedEstimator(BaseEstimator, ABC):
    """An estimator that needs groups and levels to fit, and never to predict."""

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise if a setting makes no sense."""

    @abstractmethod
    def _fit_columns(self, inputs: Inputs, targets: Targets, *columns: Column | None) -> None:
        """Check everything, train, and set the fitted attributes.

        The columns are groups, levels, weights and rows to hold back, as `fit` takes them.
        """

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
        self._check_settings()
        with restore_on_error(self):
            keep_to_one_thread_after_fork()
            refuse_mask(X, "X")
            refuse_mask(y, "y")
            self._fit_columns(
                X, y, sensitive_features, legitimate_features, sample_weight, validation
            )
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class PenalizedEstimator(GroupedEstimator):
    """An estimator under a penalty or a limit: their settings, and what is reported of a fit."""

    penalty: Penalty | None = None
    strength: float | None = None
    max_disparity: float | None = None
    limit_confidence: float = 0.9
    validation_fraction: float = 0.2
    limit_fraction: float = 0.2
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False
    strength_: float = field(init=False)
    disparity_: DistanceEstimate | None = field(init=False)
    coverage_: dict[Hashable, float] | None = field(init=False)
    path_: tuple[Candidate, ...] = field(init=False)
    loss_curve_: list[float] = field(init=False)
    n_iter_: int = field(init=False)

    @property
    def _limit(self) -> Limit | None:
        """The limit, if one was asked for."""
        if self.max_disparity is None:
            return None
        return Limit(self.max_disparity, self.limit_confidence)

    def _needs_groups(self) -> bool:
        """Return whether training without groups is worth a warning."""
        return self.max_disparity is not None or self.strength != 0.0

    def _check_penalty_settings(self) -> None:
        """Raise unless penalty, strength, limit and shares of rows make sense together."""
        penalty, strength = self.penalty, self.strength
        if penalty is not None and not isinstance(penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {penalty!r}.")
        if strength is not None and self.max_disparity is not None:
            raise InputError(
                "give either strength or max_disparity: a limit finds its own strength."
            )
        if strength is not None and not 0.0 <= real(strength) < math.inf:
            raise InputError(f"strength must be a finite number of 0 or more, not {strength!r}.")
        Limit(0.0 if self.max_disparity is None else self.max_disparity, self.limit_confidence)
        validation, limit = self.validation_fraction, self.limit_fraction
        if not 0.0 < real(validation) < 1.0:
            raise InputError(f"validation_fraction must lie between 0 and 1, not {validation!r}.")
        if not 0.0 < real(limit) < 1.0 - validation:
            raise InputError(
                "limit_fraction must be more than 0 and leave rows to train on next to "
                f"validation_fraction={validation:g}, not {limit!r}."
            )

    def _choose_penalty(self, layout: Layout) -> Penalty:
        """Return the penalty of the rows: under a limit that of the groups that differ most."""
        penalty = FairLeap() if self.penalty is None else self.penalty
        return penalty if self.max_disparity is None else worst_pair_penalty(penalty, layout)

    def _prepare_layout(self, layout: Layout) -> Layout:
        """Return the layout as the penalty takes it; raise where nothing can be compared."""
        penalty = self._choose_penalty(layout)
        prepared = penalty.prepare(layout)
        penalty.check(prepared)
        if not prepared.away.size and len(penalty.comparison_layout(prepared).levels) > 1:
            warn_of_thin_levels(layout.levels, layout.size, "penalty=SmoothFairLeap()")
        return prepared

    def _report_limit(self, kept: LimitResult[Any] | None) -> None:
        """Set which strengths were tried, and warn of a limit that was not met."""
        self.path_ = () if kept is None else kept.candidates
        if kept is not None and not kept.met:
            warnings.warn(kept.describe_failure(), UnmetLimitWarning, stacklevel=5)


def disparity_scorer(*, order: float = 2.0, measure: Measure = "marginal") -> Any:  # noqa: ANN401
    """Return a scorer that gives minus the conditional disparity, (Σ_l Q(l) W_p^p(l))^{1/p}.

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
    >>> from likeforlike.training import disparity_scorer
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
