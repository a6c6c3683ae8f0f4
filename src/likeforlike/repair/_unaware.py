"""Repair of finished scores that does not ask for the group at prediction, and its base.

Groups are used in `fit` alone; afterwards scores, inputs and levels are enough. Inside a level l
let f be the score and η_a(x) = P(A = a | x, l) the propensity of each group given the inputs. Among
all ways to move scores that look at f, η and l only, take the one that changes them least in mean
square while the distributions of the groups become equal,

    min E (g - f)²    subject to    P(g = y | A = a, l) the same for all a,

where the distribution of group a is that of all rows weighted by η_a(x) / p_a(l). `_parity_solver`
solves it on a grid. If η is 0 or 1 the solution is the barycenter of the level; if η is the same
for all rows, f has the same distribution in every group, and nothing is moved. If the guess is
constant although the score knows more, nothing is moved either, and the disparity stays: so the
result is measured with the true groups on rows held out, and a warning says so.

Maps that are learned from few rows carry their noise into the scores, and may do harm. Where a full
repair leaves more than half of the disparity on rows held out, the part of it that leaves least is
taken (`trust_`).

References: Divol & Gaucher (2024), *Demographic parity in regression and classification within the
unawareness framework*; Taturyan, Chzhen & Hebiri (2024), *Regression under demographic parity
constraints via unlabeled post-processing*. Both are about one level.
"""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Cells, Codes, Column, encode_columns, weights
from likeforlike.errors import InputError, RepairWarning
from likeforlike.files import write_whole
from likeforlike.repair._along_number import (
    SCORE_WINDOWS,
    Places,
    UnawareWindows,
    compare_in_windows,
    comparison_windows,
    number_levels,
)
from likeforlike.repair._barycenter import Fallback
from likeforlike.repair._parity_solver import (
    Slots,
    arrange_by_slot,
    barycentric_means,
    make_slots,
    update_shares,
)
from likeforlike.repair._plain_values import (
    finite_values,
    from_document,
    label_from_json,
    label_to_json,
    numbers_from_document,
    numbers_to_document,
    parse_list,
    plain_classifier,
    plain_setting,
    read_numbers,
    to_document,
)
from likeforlike.repair._propensity import (
    GIVEN,
    Classifier,
    Inputs,
    Propensity,
    PropensityQuality,
    assess_propensity,
    check_classifier,
    check_propensities,
    encode_levels,
    estimate_propensity,
    input_matrix,
    predict_propensities,
    score_column,
)
from likeforlike.repair._quantile_maps import (
    check_groups,
    check_part,
    check_random_state,
    check_switch,
    check_whole,
    check_width,
    fit_level_maps,
    level_costs,
    mean_square_change,
    select_rows,
)
from likeforlike.repair._report import (
    PARTS,
    CellShift,
    Parity,
    RepairReport,
    assign_folds,
    best_part,
    estimate_disparity,
    exceeds_noise,
    find_doubts,
    measure_parity,
    measure_shifts,
    split_levels_by_fold,
    suffices,
)
from likeforlike.training import BaseEstimator
from likeforlike.transport import moderate_weights

with extra("train"):
    from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True, slots=True)
class SlottedRows:
    """Rows of `fit` that have a weight, with their propensities, in slots.

    Attributes
    ----------
    scores : (n,) floats.
    group, level : codes and labels; if levels are numbers, these levels are windows.
    mass : (n,) floats > 0, with mean about 1.
    weighted : whether weights were given.
    propensities : (n, G) floats, P(A = a | x, l) out of fold.
    chances : the same, or relative to those of others with the same number.
    fold : (n,) integers.
    slots : of the levels.
    rest : (n,) truth values, rows of the shared slot.
    windows, places : windows along the number, and where rows stand there; else `None`.
    numbers, segment : (n,) each, by which rows are compared along the number; else `None`.
    """

    scores: FloatArray
    group: Codes
    level: Codes
    mass: FloatArray
    weighted: bool
    propensities: FloatArray
    chances: FloatArray
    fold: IntArray
    slots: Slots
    rest: BoolArray
    windows: UnawareWindows | None = None
    places: Places | None = None
    numbers: FloatArray | None = None
    segment: IntArray | None = None

    @property
    def scores_at_centers(self) -> FloatArray:
        """Scores (n,) as they are repaired: at the centers of windows, if levels are numbers."""
        if self.windows is None or self.places is None:
            return self.scores
        centered: FloatArray = self.windows.map_to_centers(self.scores, self.places)
        return centered

    def map_back(self, scores: FloatArray) -> FloatArray:
        """Compute repaired scores (n,) where the rows are."""
        if self.windows is None or self.places is None:
            return scores
        return self.windows.map_back(scores, self.places)

    def compare(
        self, scores: FloatArray
    ) -> tuple[FloatArray, Codes, Codes, FloatArray, Codes | None]:
        """Return scores (n,), groups, levels, weights and units, as a comparison needs them.

        Levels are those in which rows of one fold are compared. Units are what rows count as one
        with; `None` where every row counts.
        """
        if self.numbers is None or self.segment is None:
            level = split_levels_by_fold(self.level, self.fold)
            return scores, self.group, level, self.mass, None
        values, level, unit = compare_in_windows(
            self.numbers, self.segment, scores, self.group.codes, self.mass
        )
        return values, self.group, level, self.mass, unit

    def without(self, fold: int) -> tuple[Slots, BoolArray]:
        """Return slots with the shares of all other folds, and which rows those are."""
        others = self.fold != fold
        slots = update_shares(
            self.slots, self.chances, self.mass, self.level.codes, self.rest, others
        )
        return slots, others


class UnawareEstimator(BaseEstimator):
    """What repairs that do not ask for the group at prediction have in common."""

    repair_level: float
    min_cell: int
    smooth: bool
    propensity: Propensity
    cv: int
    random_state: int | None

    groups_: tuple[Hashable, ...]
    levels_: tuple[Hashable, ...]
    propensity_: Classifier | None
    trust_: float
    guess_: tuple[PropensityQuality, ...]
    parity_: tuple[Parity, ...]
    moved_: tuple[CellShift, ...]
    coverage_: dict[Hashable, float]
    fallbacks_: tuple[Fallback, ...]
    record_: dict[str, Any]
    _slots: Slots
    _windows: UnawareWindows | None
    _has_levels: bool
    _n_inputs: int
    _n_rows: int
    _doubts: tuple[str, ...]

    _window_size: ClassVar[tuple[float, float]]

    @abstractmethod
    def _learn(self, rows: SlottedRows) -> None:
        """Learn from rows."""

    @abstractmethod
    def _outcome(self, rows: SlottedRows, trust: float) -> FloatArray:
        """Repair each row (n,) by what rows of other folds taught, to this part."""

    @abstractmethod
    def _before(self, scores: FloatArray) -> FloatArray:
        """Return scores or decisions (n,) without a repair."""

    @property
    @abstractmethod
    def _target(self) -> float:
        """What part of the disparity is to go, in [0, 1]."""

    @property
    def propensity_auc_(self) -> float:
        """How well the group that is hardest to guess can be guessed among equals."""
        return min(one.auc for one in self.guess_)

    @property
    def calibration_(self) -> float:
        """How far guessed shares are from true ones, for the group where they are farthest."""
        return max(one.calibration for one in self.guess_)

    @property
    def report_(self) -> RepairReport:
        """What was done, to whom, and how well it holds; `print` it."""
        check_is_fitted(self, "groups_")
        if not hasattr(self, "guess_"):
            raise InputError("this repair was loaded from a file; record_ has what it did.")
        return RepairReport(
            type(self).__name__,
            self._target,
            self.trust_,
            self._n_rows,
            len(self.levels_),
            self._n_inputs,
            "given chances" if self.propensity_ is None else type(self.propensity_).__name__,
            self.guess_,
            self.parity_,
            self.moved_,
            self.coverage_,
            self._doubts,
        )

    def fit(
        self,
        scores: Column,
        inputs: Inputs,
        *,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Guess the groups, make them alike in every level, and measure what that does.

        Parameters
        ----------
        scores : (n,) finite numbers. Scores of rows that the model was trained on flatter it, and
            the repair: take those of a model that has not seen them (`cross_val_predict`).
        inputs : (n, d) numbers, a table or an array, from which the group is guessed; or chances.
        sensitive_features : (n,) labels of the groups, or several columns.
        legitimate_features : (n,) labels of the levels, or several columns; `None` is one level.
        sample_weight : (n,) numbers >= 0; rows of weight 0 are left out.
        """
        self._check_settings()
        values = self._check_scores(score_column(scores, "scores"))
        matrix = input_matrix(inputs, values.size)
        group = encode_columns(sensitive_features, "sensitive_features", values.size)
        level = Codes(np.zeros(values.size, np.int64), ("all",))
        self._has_levels = legitimate_features is not None
        if legitimate_features is not None:
            level = encode_columns(legitimate_features, "legitimate_features", values.size)
        mass = np.ones(values.size)
        if sample_weight is not None:
            mass = moderate_weights(weights(sample_weight, "sample_weight", values.size))
            held = np.flatnonzero(mass)
            mass = mass[held] / mass[held].mean()
            values, matrix = values[held], matrix[held]
            group, level = select_rows(group, held), select_rows(level, held)
        check_groups(group.labels, np.bincount(group.codes), self.min_cell)
        rows = self._arrange(values, matrix, group, level, mass, weighted=sample_weight is not None)
        self._slots = rows.slots
        self.groups_, self.levels_ = group.labels, rows.level.labels
        self._n_rows, self._n_inputs = matrix.shape
        self._learn(rows)
        self.trust_ = self._choose_trust(rows)
        self._measure(rows)
        return self

    def save(self, path: Path | str) -> None:
        """Write the fitted repair as JSON, whole or not at all; `likeforlike.load` reads it.

        Its classifier must be one that plain numbers can hold: LightGBM's, or scikit-learn's
        HistGradientBoostingClassifier or LogisticRegression; or chances were given.

        Parameters
        ----------
        path : of the file.
        """
        report = self.report_.to_dict()
        slots, guess, along = self._slots, self.propensity_, self._windows
        params = self.get_params(deep=False)
        settings = {name: plain_setting(value) for name, value in params.items()}
        settings["propensity"] = GIVEN if guess is None else None
        document = {
            "format": "likeforlike repair 1",
            "kind": type(self).__name__,
            "settings": settings,
            "groups": [label_to_json(one) for one in self.groups_],
            "levels": [label_to_json(one) for one in self.levels_],
            "has_levels": self._has_levels,
            "inputs": self._n_inputs,
            "rows": self._n_rows,
            "trust": self.trust_,
            "slot": slots.slot.tolist(),
            "shares": slots.shares.tolist(),
            "part": slots.part.astype(int).tolist(),
            "low": slots.low.tolist(),
            "span": slots.span.tolist(),
            "maps": self._maps().tolist(),
            "numbers": None if along is None else numbers_to_document(along),
            "propensity": None if guess is None else to_document(plain_classifier(guess)),
            "report": finite_values(report),
        }
        write_whole(path, json.dumps(document, allow_nan=False) + "\n")

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Make the repair that a document of `save` describes, checked."""
        settings = dict(document["settings"])
        if isinstance(settings.get("cost"), list):
            settings["cost"] = tuple(settings["cost"])
        repair = cls(**settings)
        repair._check_settings()
        repair.groups_, repair.levels_ = (
            tuple(map(label_from_json, parse_list(document[name], name)))
            for name in ("groups", "levels")
        )
        repair._slots = slots_from_document(document, repair.levels_, len(repair.groups_))
        repair._has_levels = bool(document["has_levels"])
        repair._n_inputs, repair._n_rows = int(document["inputs"]), int(document["rows"])
        repair.trust_ = float(document["trust"])
        if not 0.0 <= repair.trust_ <= 1.0:
            raise InputError("trust must lie between 0 and 1")
        along = document.get("numbers")
        repair._windows = None if along is None else numbers_from_document(along, repair.levels_)
        if (repair._windows is not None) != repair.smooth:
            raise InputError("numbers are there if, and only if, smooth is set")
        guess = document["propensity"]
        repair.propensity_ = None if guess is None else from_document(guess)
        repair.record_ = document["report"]
        repair._set_maps(read_numbers(document["maps"], "maps"))
        return repair

    @abstractmethod
    def _maps(self) -> FloatArray:
        """Return what was learned of each slot."""

    @abstractmethod
    def _set_maps(self, maps: FloatArray) -> None:
        """Take what was learned of each slot from a document, checked."""

    def _arrange(
        self,
        scores: FloatArray,
        inputs: FloatArray,
        group: Codes,
        level: Codes,
        mass: FloatArray,
        *,
        weighted: bool,
    ) -> SlottedRows:
        """Guess the groups of rows, and put them into slots."""
        self._windows, places, windows = None, None, level
        if self.smooth:
            if not self._has_levels:
                raise InputError("smooth=True needs legitimate_features with a number in them.")
            self._windows = UnawareWindows.fit(scores, level, group, mass, self._window_size)
            places = self._windows.locate(level)
            windows = Codes(places[0], self._windows.labels)
        n_groups = len(group.labels)
        fold = assign_folds(group.codes, windows.codes, self.cv, self.random_state)
        if isinstance(self.propensity, str):
            propensities, self.propensity_ = check_propensities(inputs, n_groups), None
        else:
            propensities, self.propensity_ = estimate_propensity(
                self._features(inputs, level, scores, level.labels),
                group.codes,
                n_groups,
                fold,
                propensity=self.propensity,
                mass=mass if weighted else None,
                seed=self.random_state,
            )
        compared, chances = scores, propensities
        numbers: FloatArray | None = None
        segment: IntArray | None = None
        if self._windows is not None and places is not None:
            numbers, segment = number_levels(level, fold)
            compared = self._windows.map_to_centers(scores, places)
            chances = self._windows.relative_propensities(propensities, places)
        slots, rest = make_slots(
            compared, chances, mass, windows.codes, windows.labels, self.min_cell
        )
        if not np.isfinite(slots.span).all():
            raise InputError("scores lie too far apart to be repaired; rescale them.")
        rows = (scores, group, windows, mass, weighted, propensities, chances, fold, slots, rest)
        return SlottedRows(*rows, self._windows, places, numbers, segment)

    def _choose_trust(self, rows: SlottedRows) -> float:
        """Return the part of the repair, in [0, 1], that is best for rows held out."""
        before = rows.compare(self._before(rows.scores))
        if not exceeds_noise(*before):
            return 0.0
        left = {0.0: estimate_disparity(*before)}
        for part in PARTS:
            left[part] = estimate_disparity(*rows.compare(self._outcome(rows, part)))
            if part == 1.0 and suffices(left[1.0], left[0.0], self._target):
                return 1.0
        return best_part(left)

    def _check_scores(self, scores: FloatArray) -> FloatArray:
        return scores

    def _features(
        self, inputs: FloatArray, level: Codes, scores: FloatArray, known: tuple[Hashable, ...]
    ) -> FloatArray:
        """Return what a guess is made of, (n, d + 2); levels that are numbers stay numbers."""
        place = (
            encode_levels(level.labels, known)[level.codes]
            if self._windows is None
            else self._windows.numbers(level)
        )
        return np.column_stack([inputs, place, scores])

    def _measure(self, rows: SlottedRows) -> None:
        """Measure the guess, what is left with the true groups, and how far rows were moved."""
        group, level, mass = rows.group, rows.level, rows.mass
        equals = level
        if rows.numbers is not None and rows.segment is not None:
            equals = comparison_windows(rows.numbers, rows.segment)
        places = range(len(group.labels))
        self.guess_ = tuple(
            assess_propensity(
                group.labels[a],
                rows.propensities[:, a],
                (group.codes == a).astype(np.float64),
                equals.codes,
                mass,
            )
            for a in (places if len(places) > 2 else [1])
        )
        before, after = self._before(rows.scores), self._outcome(rows, self.trust_)
        old, _, apart, _, unit = rows.compare(before)
        new = rows.compare(after)[0]
        self.parity_ = measure_parity(old, new, group, apart, mass if rows.weighted else None, unit)
        self.moved_ = measure_shifts(after - before, group, level, mass)
        # Share of each group whose own level makes it alike, and the cells of all others.
        cell, shape = level.codes * len(places) + group.codes, (len(level.labels), len(places))
        size = shape[0] * shape[1]
        held = np.bincount(cell, mass, minlength=size).reshape(shape)
        counts = np.bincount(cell, minlength=size).reshape(shape)
        slots = self._slots
        own = (slots.slot != slots.common_slot)[:, None] & slots.part[slots.slot]
        shares = np.where(own, held, 0.0).sum(axis=0) / held.sum(axis=0)
        self.coverage_ = dict(zip(group.labels, shares.tolist(), strict=True))
        self.fallbacks_ = tuple(
            Fallback(level.labels[k], group.labels[a], int(counts[k, a]), None)
            for k, a in np.argwhere(~own & (counts > 0)).tolist()
        )
        self._doubts = find_doubts(self.guess_, self.parity_, self._target)
        for doubt in self._doubts:
            warnings.warn(doubt, RepairWarning, stacklevel=3)

    def _read_new(
        self, scores: Column, inputs: Inputs, legitimate: Column | None
    ) -> tuple[FloatArray, FloatArray, IntArray, Places | None]:
        """Return scores, chances and slots of new rows, and where they stand along the number."""
        check_is_fitted(self, "groups_")
        self._check_settings()
        values = self._check_scores(score_column(scores, "scores"))
        matrix = input_matrix(inputs, values.size)
        if matrix.shape[1] != self._n_inputs:
            raise InputError(
                f"inputs has {matrix.shape[1]} column(s), but had {self._n_inputs} in fit."
            )
        level = self._new_levels(legitimate, values.size)
        n_groups = len(self.groups_)
        if self.propensity_ is None:
            chances = check_propensities(matrix, n_groups)
        else:
            features = self._features(matrix, level, values, self.levels_)
            chances = predict_propensities(self.propensity_, features, n_groups)
        if self._windows is None:
            return values, chances, self._slots.places(level.codes, level.labels), None
        places = self._windows.locate(level)
        chances = self._windows.relative_propensities(chances, places)
        return values, chances, self._slots.slot[places[0]], places

    def _new_levels(self, legitimate: Column | None, size: int) -> Codes:
        if (legitimate is not None) != self._has_levels:
            raise InputError(
                "legitimate_features were given in fit, so they are needed here too."
                if self._has_levels
                else "legitimate_features were not given in fit, so there are no levels to look up."
            )
        if legitimate is None:
            return Codes(np.zeros(size, np.int64), self.levels_)
        level = encode_columns(legitimate, "legitimate_features", size)
        if self._windows is not None:
            return level
        check_width(level.labels[0], self.levels_[0])
        unseen = [label for label in level.labels if label not in set(self.levels_)]
        if unseen:
            more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
            warnings.warn(
                f"fit has not seen the level {', '.join(map(repr, unseen[:3]))}{more}: these rows "
                "are repaired as those of all thin levels together.",
                UserWarning,
                stacklevel=4,
            )
        return level

    def _check_settings(self) -> None:
        check_part("repair_level", self.repair_level)
        check_whole("min_cell", self.min_cell, 1)
        check_whole("cv", self.cv, 2)
        check_random_state(self.random_state)
        check_switch("smooth", self.smooth)
        if isinstance(self.propensity, str) and self.propensity != GIVEN:
            raise InputError(
                f"propensity must be None, 'given' or a classifier, not {self.propensity!r}."
            )
        check_classifier(self.propensity)


def check_maps(maps: FloatArray, shape: tuple[int, ...]) -> None:
    """Raise unless maps of a document are finite and have this shape."""
    if maps.shape != shape or not np.isfinite(maps).all():
        raise InputError(f"maps must be finite numbers of the shape {shape}, not {maps.shape}")


def slots_from_document(
    document: dict[str, Any], levels: tuple[Hashable, ...], n_groups: int
) -> Slots:
    """Make the slots that a document describes, checked."""
    slot = read_numbers(document["slot"], "slot", whole=True)
    shares = read_numbers(document["shares"], "shares")
    part = read_numbers(document["part"], "part", whole=True).astype(bool)
    low, span = (read_numbers(document[name], name) for name in ("low", "span"))
    n_slots = len(shares)
    right = (
        slot.shape == (len(levels),)
        and shares.shape == part.shape == (n_slots, n_groups)
        and low.shape == span.shape == (n_slots,)
        and bool(((slot >= 0) & (slot < n_slots)).all())
    )
    if not right or n_groups < 2:
        raise InputError("levels, slots and groups do not fit together")
    if not (np.isfinite(low).all() and (shares >= 0.0).all() and (span > 0.0).all()):
        raise InputError("low, shares and span must be finite, and not negative")
    return Slots(levels, slot, shares, part, low, span)


class UnawareRepair(UnawareEstimator):
    """Make the scores of groups alike in every level without asking for the group at prediction.

    In `fit` the group is known. P(A = a | inputs, level) is learned there, and the least change of
    the scores that makes groups alike in every level; the repaired score is
    (1 - t) f + t g(f, η, l), and never falls where f rises, at equal guess and level.

    *In plain words.* It does not read the group at prediction, but it estimates the chance of each
    group from the inputs and uses it: two people with the same score and level get different
    results if one looks more like a member of a group (professionals on Adult: a score of .5 became
    .71 or .24). "Without the group" is not blind. Whether treatment by such a proxy is allowed is
    for a lawyer. Keep a record of the inputs and accuracy of the guess, and of who was moved and
    how far (`report_`); use the guess for nothing else; audit the results with the true groups.

    Parameters
    ----------
    repair_level : how far to go, from 0 (scores stay) to 1 (parity in every level). It may be
        changed after `fit`; what was measured on rows held out then still speaks of the
        `repair_level` of `fit`.
    values : how many even values of each level scores are moved to; between them they are smooth.
    min_cell : the rows that groups are expected to have in a level of its own. Levels where fewer
        than two groups have as many are repaired together as one, and so are levels never seen.
    smooth : whether levels are numbers, such as income, alone or with categories given as text. A
        map is then learned in each of some windows, scores are carried to their centers and back,
        and guesses count as they differ from those of others with the same number.
    propensity : a scikit-learn classifier that guesses the group; `None` is LightGBM, or scikit-
        learn's own trees where it is not installed; `"given"` means that inputs are chances, a
        column for each of `groups_` (or one for the second of two).
    cv : rows are guessed by models of the other folds, and repaired by what they teach.
    random_state : seed of the folds and of the default classifier.

    Attributes
    ----------
    groups_, levels_ : labels found in `fit`; with `smooth`, levels are the centers of windows.
    propensity_ : the fitted classifier; `None` if chances were given.
    guess_ : how well each group can be guessed among equals (`PropensityQuality`); of two, the
        second.
    propensity_auc_, calibration_ : the worst of them: AUC among equals, and how far guessed shares
        are from true ones.
    parity_ : distances and gaps before and after, with the true groups, on rows held out, with
        intervals (`Parity`).
    moved_ : how far the people of every cell were moved (`CellShift`).
    report_ : all of it in words (`RepairReport`).
    trust_ : what part of the repair is done, 1 unless rows held out fared better with less.
    fitted_risk_ : mean squared change of the scores at this `repair_level`, on rows held out.
    aware_risk_ : what `ConditionalBarycenter`, which knows the group, changes at this
        `repair_level`: the difference is the price of not asking.
    coverage_ : share of each group whose own level was made alike; `fallbacks_` are the others.
    residual_ : what numbers leave of the constraints, the largest total variation of all levels.

    Notes
    -----
    It is a scikit-learn estimator (settings, cloning, metadata routing), but scores and inputs are
    two tables and the group a third, where scikit-learn's checks know `fit(X, y)` alone.
    `RepairedClassifier` and `RepairedRegressor` put model and repair together, and pass them.

    References
    ----------
    Divol & Gaucher (2024), *Demographic parity in regression and classification within the
    unawareness framework*.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(3000, gap=0.2)
    >>> X, score = loans.inputs(with_sensitive=True).matrix, loans.frame["score"]
    >>> repair = UnawareRepair(repair_level=0.8).fit(
    ...     score, X, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> repaired = repair.transform(score, X, legitimate_features=loans.levels)
    >>> before, after = (lfl.cdd_lp(f, loans.groups, loans.levels) for f in (score, repaired))
    >>> after.value < 0.4 * before.value
    True
    """

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        values: int = 100,
        min_cell: int = 20,
        smooth: bool = False,
        propensity: Propensity = None,
        cv: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.repair_level = repair_level
        self.values = values
        self.min_cell = min_cell
        self.smooth = smooth
        self.propensity = propensity
        self.cv = cv
        self.random_state = random_state

    _window_size = SCORE_WINDOWS

    @property
    def _target(self) -> float:
        return float(self.repair_level)

    def _before(self, scores: FloatArray) -> FloatArray:
        return scores

    def _learn(self, rows: SlottedRows) -> None:
        self._set_values()
        scores = rows.scores_at_centers
        plain = (scores, rows.chances, rows.mass, rows.level.codes, rows.rest)
        self._potential, residual, _ = arrange_by_slot(rows.slots, *plain).solve(
            self._values, self._beta
        )
        self.residual_ = float(residual.max())
        moved = np.empty(scores.size)
        for fold in range(self.cv):
            slots, others = rows.without(fold)
            potential, _, _ = arrange_by_slot(slots, *plain, others).solve(
                self._values, self._beta, start=self._potential
            )
            inside = np.flatnonzero(~others)
            place = slots.slot[rows.level.codes[inside]]
            unit = slots.unit(scores[inside], place)
            tilts = slots.tilts(rows.chances[inside], place)
            mean = barycentric_means(unit, tilts, place, self._values, potential, self._beta)
            moved[inside] = slots.natural(mean, place)
        self._held_out = rows.map_back(moved)
        change = self._held_out - rows.scores
        self._full_risk = float(rows.mass @ change**2 / rows.mass.sum())
        # What the barycenter of every level changes, which knows the group.
        cells, scale = Cells.from_codes(
            rows.level, rows.group, scores, sample_weight=rows.mass
        ).scaled()
        maps = fit_level_maps(cells, self.min_cell)
        change_aware = mean_square_change(maps, level_costs(cells))
        self._full_aware_risk = scale.powered(change_aware, 2.0)

    def _set_values(self) -> None:
        self._values = np.linspace(0.0, 1.0, self.values)
        self._beta = float(self._values[1] ** 2)

    def _maps(self) -> FloatArray:
        return self._potential

    def _set_maps(self, maps: FloatArray) -> None:
        check_maps(maps, (len(self._slots.shares), self.values, len(self.groups_) - 1))
        self._set_values()
        self._potential = maps

    def _outcome(self, rows: SlottedRows, trust: float) -> FloatArray:
        reach = self.repair_level * trust
        repaired: FloatArray = (1.0 - reach) * rows.scores + reach * self._held_out
        return repaired

    @property
    def fitted_risk_(self) -> float:
        """Mean squared change of the scores at this `repair_level`, on rows held out."""
        return (self.repair_level * self.trust_) ** 2 * self._full_risk

    @property
    def aware_risk_(self) -> float:
        """Mean squared change at this `repair_level` of a repair that knows the group."""
        return self.repair_level**2 * self._full_aware_risk

    def transform(
        self, scores: Column, inputs: Inputs, *, legitimate_features: Column | None = None
    ) -> FloatArray:
        """Repair scores without the group.

        Parameters
        ----------
        scores : (n,) finite numbers; those beyond the scores of `fit` are repaired like the ends.
        inputs : (n, d) numbers as in `fit`.
        legitimate_features : (n,) labels of the levels, or several columns, if there were any.

        Returns
        -------
        (n,) floats.
        """
        values, chances, place, places = self._read_new(scores, inputs, legitimate_features)
        tilts = self._slots.tilts(chances, place)
        windows = None if places is None else self._windows
        inside = values
        if windows is not None and places is not None:
            inside = windows.map_to_centers(values, places)
        unit = self._slots.unit(inside, place)
        mean = barycentric_means(unit, tilts, place, self._values, self._potential, self._beta)
        moved = self._slots.natural(mean, place)
        if windows is not None and places is not None:
            moved = windows.map_back(moved, places)
        reach = self.repair_level * self.trust_
        repaired: FloatArray = (1.0 - reach) * values + reach * moved
        return repaired

    def _check_settings(self) -> None:
        super()._check_settings()
        count: Any = self.values
        if not (isinstance(count, int | np.integer) and 2 <= count <= 1000):
            raise InputError(f"values must be a whole number from 2 to 1000, not {count!r}.")
