"""Decisions and models repaired without the group at prediction.

`FairDecisions` accepts groups at equal rates in every level; `RepairedClassifier` and
`RepairedRegressor` are a model and a repair, put together as one scikit-learn estimator.

With q the probability that a row should be accepted, accepting is worth

    b = (c_n q - c_p (1 - q)) / max(c_p, c_n),

where c_p is the cost of a false positive and c_n that of a false negative. Equal rates in level l
at the least cost are had by accepting where b > λ_l w, with the tilt w = η_1 / p_1 - η_0 / p_0 of
the propensities η of the groups given the inputs: rows that look like members of the group that is
accepted less often need less. In general, with mass m,

    max Σ m b d    subject to    Σ m w d = target,    d = 0 or 1,

is solved by accepting where b > λ · w. For two groups λ is one number, found exactly by sorting
b / w: that is where a row changes sides. For more groups it is the dual of `_parity_solver` with
the values 0 and 1.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Column, encode_columns, weights
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.repair._parity_solver import LevelRows, Slots, arrange_by_slot
from likeforlike.repair._propensity import Inputs, Propensity
from likeforlike.repair._unaware import SlottedRows, UnawareEstimator, UnawareRepair, check_maps
from likeforlike.training import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin

with extra("train"):
    from sklearn.base import clone
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data


# How sharply decisions of more than two groups are drawn: benefits closer than this are alike.
_SHARPEST = 1e-4


def largest_gap(gap: FloatArray) -> FloatArray:
    """Compute the largest difference of rates of two groups in each level, (K,), of gaps (K, J)."""
    against_all = np.column_stack([np.zeros(len(gap)), gap])
    widest: FloatArray = against_all.max(axis=1) - against_all.min(axis=1)
    return widest


def find_cutoffs(rows: LevelRows, keep: FloatArray) -> FloatArray:
    """Compute λ of every level, (K, J), where each keeps a part of its gap, (K,) in [0, 1].

    Scores of the rows are benefits in [-1, 1].
    """
    if rows.tilts.shape[1] == 1:
        return _exact_cutoffs(rows, keep)[:, None]
    gap = rows.rate_gaps(rows.scores > 0.0)
    aim = np.stack([-keep[:, None] * gap, keep[:, None] * gap], axis=1)
    # With f = (1 + b) / 2 the values 0 and 1 cost 0 and -b.
    halves = replace(rows, scores=0.5 * (1.0 + rows.scores))
    potential, _, _ = halves.solve(np.array([0.0, 1.0]), _SHARPEST, target=aim)
    cut: FloatArray = potential[:, 1] - potential[:, 0]
    return cut


def _exact_cutoffs(rows: LevelRows, keep: FloatArray) -> FloatArray:
    """Find λ (K,) of two groups: rows change sides in order of b / w until the gap is small enough.

    With s the sign of a level's gap, λ s rises from 0; a row changes sides at s b / w, if that is
    positive, and then the gap shrinks by m |w|. Rows that change sides at the same λ do so
    together. Of all λ that keep the gap as small as wanted, or come closest to it, the smallest is
    taken.
    """
    level, tilt = rows.level, rows.tilts[:, 0]
    gap = rows.rate_gaps(rows.scores > 0.0)[:, 0]
    sign, size, wanted = np.where(gap < 0.0, -1.0, 1.0), np.abs(gap), keep * np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = sign[level] * rows.scores / tilt
    # A benefit of nothing is refused at λ = 0, and any λ at all may change that.
    at_once = (rows.scores == 0.0) & (sign[level] * tilt < 0.0)
    turn = np.where(at_once, 0.0, turn)
    turning = np.flatnonzero(((turn > 0.0) & np.isfinite(turn)) | at_once)
    order = turning[np.lexsort((turn[turning], level[turning]))]
    at, of = turn[order], level[order]
    weight = rows.share[order]
    # Sums that begin anew in every level.
    lost = np.r_[0.0, np.cumsum(weight * np.abs(tilt[order]))]
    before = lost[np.searchsorted(of, np.arange(gap.size))]
    excess = np.maximum(np.abs(size[of] - (lost[1:] - before[of])) - wanted[of], 0.0)
    last_of_tie = np.diff(of, append=-1).astype(bool) | (np.diff(at, append=np.inf) > 0.0)
    stops = np.flatnonzero(last_of_tie)
    # Sums round: what is off by the last digits is not off.
    best = stops[np.lexsort((at[stops], np.round(excess[stops], 12), of[stops]))]
    best = best[np.unique(of[best], return_index=True)[1]]
    best = best[excess[best] < (size - wanted)[of[best]]]
    follows = np.minimum(best + 1, max(at.size - 1, 0))
    another = (follows > best) & (of[follows] == of[best])
    # Half way to the next turn, so that rounding changes no decision.
    cut = np.zeros(gap.size)
    beyond = np.where(another, at[follows], at[best] + 1.0)
    cut[of[best]] = sign[of[best]] * 0.5 * (at[best] + beyond)
    return cut


class FairDecisions(UnawareEstimator):
    """Accept groups alike in every level without asking for the group at prediction.

    Rows are accepted or not by their probability, at a stated cost of errors, so that the rates of
    acceptance of the groups are equal in every level, or differ by no more than `max_disparity`, at
    the least cost there is. A small distance between scores does not bound the gap of rates at a
    cut-off, so decisions are repaired themselves. They are deterministic.

    *In plain words.* It does not read the group at prediction, but it estimates the chance of each
    group from the inputs and uses it: two people with the same probability and level get different
    decisions if one looks more like a member of a group. "Without the group" is not blind. Whether
    treatment by such a proxy is allowed is for a lawyer. Keep a record of the inputs and accuracy
    of the guess, and of whose decision was changed (`report_`); use the guess for nothing else;
    audit the decisions with the true groups.

    Parameters
    ----------
    repair_level : how much of the gap is to go in every level, from 0 to 1.
    max_disparity : instead of `repair_level`, the largest gap of rates that a level may keep, from
        0 to 1.
    cost : of a false positive, and of a false negative; (1, 1) accepts above a
        probability of one half.
    smooth : whether levels are numbers, alone or with categories given as text. Every window along
        the number then has its cut-off, and guesses count as they differ from those of others with
        the same number.
    min_cell, propensity, cv, random_state : as for `UnawareRepair`.

    Attributes
    ----------
    cut_offs_ : (S, J) floats, λ of every slot, the shared one last, against J groups.
    gaps_ : (S,) floats, the largest gap of rates before, as the guess sees it.
    groups_, levels_, propensity_, guess_, propensity_auc_, calibration_, parity_, moved_, report_,
    trust_, coverage_, fallbacks_ : as for `UnawareRepair`; rates of acceptance are measured.

    Notes
    -----
    With more than two groups all gaps of a level shrink in the same proportion. scikit-learn's
    checks know `fit(X, y)` alone; `RepairedClassifier` puts a model and these decisions together.

    References
    ----------
    Divol & Gaucher (2024), *Demographic parity in regression and classification within the
    unawareness framework*.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import FairDecisions
    >>> loans = make_loans(3000, gap=0.2)
    >>> X, score = loans.inputs(with_sensitive=True).matrix, loans.frame["score"]
    >>> rule = FairDecisions().fit(
    ...     score, X, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> accepted = rule.predict(score, X, legitimate_features=loans.levels)
    >>> plain = lfl.cdd_lp((score > 0.5).cast(int), loans.groups, loans.levels)
    >>> lfl.cdd_lp(accepted, loans.groups, loans.levels).value < 0.5 * plain.value
    True
    """

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        max_disparity: float | None = None,
        cost: tuple[float, float] = (1.0, 1.0),
        min_cell: int = 20,
        smooth: bool = False,
        propensity: Propensity = None,
        cv: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.repair_level = repair_level
        self.max_disparity = max_disparity
        self.cost = cost
        self.min_cell = min_cell
        self.smooth = smooth
        self.propensity = propensity
        self.cv = cv
        self.random_state = random_state

    # The gap of rates changes along a number even where that of scores does not.
    _window_size = (4.0, 250.0)

    @property
    def _target(self) -> float:
        return float(self.repair_level) if self.max_disparity is None else self._removed

    def _benefit(self, probabilities: FloatArray) -> FloatArray:
        wrongly_accepted, wrongly_refused = (float(one) for one in self.cost)
        worth = wrongly_refused * probabilities - wrongly_accepted * (1.0 - probabilities)
        benefit: FloatArray = worth / max(wrongly_accepted, wrongly_refused)
        return benefit

    def _before(self, scores: FloatArray) -> FloatArray:
        return (self._benefit(scores) > 0.0).astype(np.float64)

    def _check_scores(self, scores: FloatArray) -> FloatArray:
        outside = np.flatnonzero((scores < 0.0) | (scores > 1.0))
        if outside.size:
            raise InputError(
                f"probabilities must lie between 0 and 1, but row {outside[0]} has "
                f"{scores[outside[0]]:g}; there are {outside.size} such row(s)."
            )
        return scores

    def _learn(self, rows: SlottedRows) -> None:
        benefits = self._arrange_benefits(rows, rows.slots)
        self.gaps_ = largest_gap(benefits.rate_gaps(benefits.scores > 0.0))
        self._removed = 1.0 - float(self._remaining_share(self.gaps_).mean())

    def _choose_trust(self, rows: SlottedRows) -> float:
        trust = super()._choose_trust(rows)
        self.cut_offs_ = self._cut(self._arrange_benefits(rows, rows.slots), trust)
        return trust

    def _arrange_benefits(
        self, rows: SlottedRows, slots: Slots, chosen: BoolArray | None = None
    ) -> LevelRows:
        benefit = self._benefit(rows.scores)
        return arrange_by_slot(
            slots,
            benefit,
            rows.chances,
            rows.mass,
            rows.level.codes,
            rows.rest,
            chosen,
            natural=True,
        )

    def _maps(self) -> FloatArray:
        return self.cut_offs_

    def _set_maps(self, maps: FloatArray) -> None:
        check_maps(maps, (len(self._slots.shares), len(self.groups_) - 1))
        self.cut_offs_ = maps

    def _outcome(self, rows: SlottedRows, trust: float) -> FloatArray:
        benefit = self._benefit(rows.scores)
        decision = np.empty(benefit.size)
        for fold in range(self.cv):
            slots, others = rows.without(fold)
            cut = self._cut(self._arrange_benefits(rows, slots, others), trust)
            inside = np.flatnonzero(~others)
            place = slots.slot[rows.level.codes[inside]]
            tilts = slots.tilts(rows.chances[inside], place)
            decision[inside] = benefit[inside] > (cut[place] * tilts).sum(axis=1)
        return decision

    def _remaining_share(self, gap: FloatArray) -> FloatArray:
        """Return what part of its gap each level keeps, (K,)."""
        if self.max_disparity is None:
            return np.full(gap.size, 1.0 - self.repair_level)
        return np.minimum(1.0, self.max_disparity / np.maximum(gap, 1e-300))

    def _cut(self, rows: LevelRows, trust: float) -> FloatArray:
        remaining = self._remaining_share(largest_gap(rows.rate_gaps(rows.scores > 0.0)))
        return find_cutoffs(rows, 1.0 - trust * (1.0 - remaining))

    def predict(
        self, probabilities: Column, inputs: Inputs, *, legitimate_features: Column | None = None
    ) -> IntArray:
        """Decide, 1 or 0, without the group.

        Parameters
        ----------
        probabilities : (n,) numbers from 0 to 1.
        inputs : (n, d) numbers as in `fit`.
        legitimate_features : (n,) labels of the levels, or several columns, if there were any.

        Returns
        -------
        (n,) integers.
        """
        values, chances, place, _ = self._read_new(probabilities, inputs, legitimate_features)
        bar = (self.cut_offs_[place] * self._slots.tilts(chances, place)).sum(axis=1)
        accepted: IntArray = (self._benefit(values) > bar).astype(np.int64)
        return accepted

    def _check_settings(self) -> None:
        super()._check_settings()
        limit: Any = self.max_disparity
        if limit is not None and not (
            isinstance(limit, int | float | np.number) and 0 <= limit <= 1
        ):
            raise InputError(f"max_disparity must be None or a number from 0 to 1, not {limit!r}.")
        costs: Any = self.cost
        if not (
            isinstance(costs, tuple | list)
            and len(costs) == 2
            and all(
                isinstance(one, int | float | np.number) and 0.0 <= one < np.inf for one in costs
            )
            and max(costs) > 0.0
        ):
            raise InputError(
                "cost must be two numbers of 0 or more, not both 0: of a false positive and of a "
                f"false negative; not {costs!r}."
            )


class Model(Protocol):
    """What scikit-learn calls a classifier or a regressor."""

    def fit(self, X: FloatArray, y: npt.NDArray[Any]) -> Self: ...  # noqa: N803

    def predict(self, X: FloatArray) -> npt.NDArray[Any]: ...  # noqa: N803

    def predict_proba(self, X: FloatArray) -> npt.NDArray[Any]: ...  # noqa: N803


class _RepairedModel(MetaEstimatorMixin, BaseEstimator):
    """What classifier and regressor have in common.

    The model is fitted on all rows for predictions; the repair learns from scores of models that
    have not seen the rows.
    """

    estimator_: Model
    repair_: UnawareRepair | FairDecisions | None

    def __init__(
        self,
        estimator: Model | None = None,
        repair: UnawareRepair | FairDecisions | None = None,
        *,
        cv: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.repair = repair
        self.cv = cv
        self.random_state = random_state

    @abstractmethod
    def _default(self) -> Model:
        """Return the model if none was given."""

    @abstractmethod
    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        """Compute scores (n,) of rows (n, d) by a fitted model."""

    @abstractmethod
    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        """Return rows seen and rows held back, fold by fold."""

    @abstractmethod
    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        """Return inputs (n, d), and what the model learns (n,)."""

    def fit(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit the model to inputs X (n, d) and targets y (n,), then the repair.

        Parameters
        ----------
        X : (n, d) inputs.
        y : (n,) classes or targets.
        sensitive_features : (n,) labels of the groups, or several columns; without them nothing is
            repaired, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0, if the estimator takes them.
        """
        rows, targets = self._check_data(X, y)
        mass = None
        if sample_weight is not None:
            mass = weights(np.asarray(sample_weight), "sample_weight", len(rows))
        fresh = self._default() if self.estimator is None else self.estimator
        self.estimator_ = _fit_model(fresh, rows, targets, mass)
        self.repair_ = None
        if sensitive_features is None:
            if legitimate_features is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            warnings.warn(
                "fit was called without sensitive_features, so nothing will be repaired.",
                MissingGroupsWarning,
                stacklevel=2,
            )
            return self
        encode_columns(sensitive_features, "sensitive_features", len(rows))
        unseen = np.empty(len(rows))
        for seen, held in self._split_folds(targets):
            own = None if mass is None else mass[seen]
            unseen[held] = self._scores(
                _fit_model(fresh, rows[seen], targets[seen], own), rows[held]
            )
        chosen = UnawareRepair() if self.repair is None else clone(self.repair)
        self.repair_ = chosen.fit(
            unseen,
            rows,
            sensitive_features=sensitive_features,
            legitimate_features=legitimate_features,
            sample_weight=mass,
        )
        return self

    def _repair(self, X: Inputs, legitimate: Column | None) -> FloatArray:  # noqa: N803
        """Compute scores, or decisions if those are repaired, of rows (n, d)."""
        check_is_fitted(self, "estimator_")
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        scores = self._scores(self.estimator_, rows)
        if self.repair_ is None:
            return scores
        if isinstance(self.repair_, FairDecisions):
            decided = self.repair_.predict(scores, rows, legitimate_features=legitimate)
            return np.asarray(decided, np.float64)
        moved: FloatArray = self.repair_.transform(scores, rows, legitimate_features=legitimate)
        return moved


def _fit_model(
    model: Model, rows: FloatArray, targets: npt.NDArray[Any], mass: FloatArray | None
) -> Model:
    fresh: Any = clone(model)
    known = {} if mass is None else {"sample_weight": mass}
    if known and not has_fit_parameter(fresh, "sample_weight"):
        raise InputError(f"{type(fresh).__name__} takes no sample_weight; leave the weights out.")
    trained: Model = fresh.fit(rows, targets, **known)
    return trained


class RepairedClassifier(ClassifierMixin, _RepairedModel):
    """A classifier of two classes whose probabilities or decisions are repaired.

    It is one scikit-learn estimator, for pipelines and searches: groups are needed to fit and never
    to predict, levels for both. What `UnawareRepair` says in plain words holds here too.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`, such as LightGBM's or `FairClassifier`; `None` is
        scikit-learn's LogisticRegression.
    repair : `UnawareRepair` (the default) for probabilities, or `FairDecisions` for decisions.
    cv : the repair learns from scores of models that have not seen the rows of a fold.
    random_state : seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted model.
    repair_ : the fitted repair, with its `report_`; `None` without sensitive features.
    classes_, n_features_in_, feature_names_in_ : as scikit-learn has them.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import RepairedClassifier, UnawareRepair
    >>> loans = make_loans(2000, gap=0.2)
    >>> X, y = loans.inputs(with_sensitive=True).matrix, loans.targets
    >>> model = RepairedClassifier(repair=UnawareRepair(repair_level=0.8)).fit(
    ...     X, y, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> model.predict_proba(X, legitimate_features=loans.levels).shape
    (2000, 2)
    """

    classes_: npt.NDArray[Any]

    def _default(self) -> Model:
        model: Model = LogisticRegression(max_iter=1000)
        return model

    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        return np.asarray(model.predict_proba(rows)[:, 1], np.float64)

    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        dealer = StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)
        return list(dealer.split(y[:, None], y))

    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        rows, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        self.classes_, codes = np.unique(classes, return_inverse=True)
        if self.classes_.size != 2:
            raise InputError(
                "Only binary classification is supported. y must have two classes, but the number "
                f"of classes is {self.classes_.size}: one class cannot be learned from, and of "
                "several, repair the probability of one."
            )
        return rows, codes

    def predict_proba(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Compute repaired probabilities (n, 2) of rows X (n, d); of decisions, 0 and 1.

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
        accepted = np.clip(self._repair(X, legitimate_features), 0.0, 1.0)
        return np.column_stack([1.0 - accepted, accepted])

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> npt.NDArray[Any]:
        """Return classes (n,) of rows X (n, d): repaired decisions, or those above .5.

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
        accepted = self.predict_proba(X, legitimate_features=legitimate_features)[:, 1] > 0.5
        return self.classes_[accepted.astype(np.int64)]

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class RepairedRegressor(RegressorMixin, _RepairedModel):
    """A regressor whose predictions are repaired by `UnawareRepair`.

    Parameters
    ----------
    estimator : any regressor; `None` is scikit-learn's LinearRegression.
    repair : an `UnawareRepair`; `None` means the default one.
    cv, random_state : as for `RepairedClassifier`.

    Attributes
    ----------
    estimator_, repair_, n_features_in_, feature_names_in_ : as for `RepairedClassifier`.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import RepairedRegressor
    >>> loans = make_loans(2000, gap=0.2)
    >>> X = loans.inputs(with_sensitive=True).matrix
    >>> model = RepairedRegressor().fit(
    ...     X, loans.frame["score"], sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(X, legitimate_features=loans.levels).shape
    (2000,)
    """

    def _default(self) -> Model:
        model: Model = LinearRegression()
        return model

    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        return np.asarray(model.predict(rows), np.float64).ravel()

    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        dealer = KFold(self.cv, shuffle=True, random_state=self.random_state)
        return list(dealer.split(y[:, None]))

    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        if isinstance(self.repair, FairDecisions):
            raise InputError("repair must be an UnawareRepair; decisions are for classifiers.")
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return rows, targets

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Compute repaired predictions (n,) of rows X (n, d).

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
        return self._repair(X, legitimate_features)
