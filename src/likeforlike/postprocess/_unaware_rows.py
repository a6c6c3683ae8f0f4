"""Rows as a repair without the group reads them, and what all such repairs do alike.

Everything that is learned from groups happens in `fit`. Afterwards scores, inputs and levels are
enough.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import Codes, Column, encode_columns, weights
from likeforlike.errors import InputError, RepairWarning
from likeforlike.estimators._sklearn import BaseEstimator
from likeforlike.postprocess._barycentre import Fallback
from likeforlike.postprocess._guess import (
    GIVEN,
    Classifier,
    Features,
    Guessed,
    Inputs,
    Propensity,
    chances_of,
    check_classifier,
    given_chances,
    guess,
    input_matrix,
    level_numbers,
    score_column,
)
from likeforlike.postprocess._guess_quality import GuessQuality, guess_quality
from likeforlike.postprocess._held_out import Moved, Parity, moves, parities, squared_disparity
from likeforlike.postprocess._level_maps import check_groups, check_width
from likeforlike.postprocess._slots import Slots, make_slots, reshared
from likeforlike.postprocess._told import Told, doubts
from likeforlike.postprocess._trust import by_fold, deal, trusted_part
from likeforlike.transport._scale import moderate

with extra("train"):
    from sklearn.utils.validation import check_is_fitted


class FitRows(NamedTuple):
    """Rows of `fit` that have a weight.

    Attributes
    ----------
    scores : (n,) floats.
    inputs : (n, d) floats.
    group, level : codes and labels.
    mass : (n,) floats > 0, with mean about 1.
    weighted : whether anybody gave weights.
    """

    scores: FloatArray
    inputs: FloatArray
    group: Codes
    level: Codes
    mass: FloatArray
    weighted: bool


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows of `fit` with their chances, in slots.

    Attributes
    ----------
    rows : of `fit`.
    chances : (n, G) floats, out of fold.
    fold : (n,) integers.
    slots : of the levels.
    rest : (n,) truth values, rows of the shared slot.
    """

    rows: FitRows
    chances: FloatArray
    fold: IntArray
    slots: Slots
    rest: BoolArray

    def without(self, fold: int) -> tuple[Slots, BoolArray]:
        """Slots with the shares of all other folds, and which rows those are."""
        others = self.fold != fold
        rows = self.rows
        slots = reshared(self.slots, self.chances, rows.mass, rows.level.codes, self.rest, others)
        return slots, others


class UnawareEstimator(BaseEstimator):
    """What repairs that do not ask for the group at prediction have in common."""

    t: float
    min_cell: int
    propensity: Propensity
    folds: int
    random_state: int | None

    groups_: tuple[Hashable, ...]
    levels_: tuple[Hashable, ...]
    propensity_: Classifier | None
    trust_: float
    guess_: tuple[GuessQuality, ...]
    parity_: tuple[Parity, ...]
    moved_: tuple[Moved, ...]
    coverage_: dict[Hashable, float]
    fallbacks_: tuple[Fallback, ...]
    record_: dict[str, Any]
    _slots: Slots
    _has_levels: bool
    _n_inputs: int
    _n_rows: int
    _doubts: tuple[str, ...]

    @abstractmethod
    def _learn(self, rows: Sorted) -> None:
        """Learn from rows."""

    @abstractmethod
    def _outcome(self, rows: Sorted, trust: float) -> FloatArray:
        """What becomes of each row (n,) by what rows of other folds taught, if so much is done."""

    @abstractmethod
    def _before(self, scores: FloatArray) -> FloatArray:
        """What would be without a repair, (n,)."""

    @property
    @abstractmethod
    def _asked(self) -> float:
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
    def report_(self) -> Told:
        """What was done, to whom, and how well it holds; `print` it."""
        check_is_fitted(self, "groups_")
        if not hasattr(self, "guess_"):
            raise InputError("this repair was read from a file; record_ has what it did.")
        return Told(
            type(self).__name__,
            self._asked,
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
        rows = self._read(scores, inputs, sensitive_features, legitimate_features, sample_weight)
        level, group = rows.level, rows.group
        fold = deal(group.codes, level.codes, self.folds, self.random_state)
        guessed = self._guessed(rows, fold)
        slots, rest = make_slots(
            rows.scores, guessed.chances, rows.mass, level.codes, level.labels, self.min_cell
        )
        if not np.isfinite(slots.span).all():
            raise InputError("scores lie too far apart to be repaired; rescale them.")
        self._slots, self._has_levels = slots, legitimate_features is not None
        self.groups_, self.levels_ = group.labels, level.labels
        self.propensity_ = guessed.model
        self._n_rows, self._n_inputs = rows.scores.size, rows.inputs.shape[1]
        known = Sorted(rows, guessed.chances, fold, slots, rest)
        self._learn(known)
        self._trust(known)
        self._measure(known)
        return self

    def _trust(self, known: Sorted) -> None:
        """Do as much of the repair as makes rows held out better."""
        rows = known.rows
        columns = rows.group, by_fold(rows.level, known.fold), rows.mass
        before = squared_disparity(self._before(rows.scores), *columns)

        def left(part: float) -> float:
            return squared_disparity(self._outcome(known, part), *columns)

        self.trust_ = trusted_part(left, before, self._asked)

    def _read(
        self,
        scores: Column,
        inputs: Inputs,
        sensitive: Column,
        legitimate: Column | None,
        sample_weight: Column | None,
    ) -> FitRows:
        values = self._checked_scores(score_column(scores, "scores"))
        matrix = input_matrix(inputs, values.size)
        group = encode_columns(sensitive, "sensitive_features", values.size)
        level = Codes(np.zeros(values.size, np.int64), ("all",))
        if legitimate is not None:
            level = encode_columns(legitimate, "legitimate_features", values.size)
        mass = np.ones(values.size)
        if sample_weight is not None:
            mass = moderate(weights(sample_weight, "sample_weight", values.size))
            held = np.flatnonzero(mass)
            mass = mass[held] / mass[held].mean()
            values, matrix = values[held], matrix[held]
            group, level = _kept(group, held), _kept(level, held)
        check_groups(group.labels, np.bincount(group.codes), self.min_cell)
        return FitRows(values, matrix, group, level, mass, sample_weight is not None)

    def _checked_scores(self, scores: FloatArray) -> FloatArray:
        return scores

    def _guessed(self, rows: FitRows, fold: IntArray) -> Guessed:
        numbers = level_numbers(rows.level.labels, rows.level.labels)[rows.level.codes]
        return guess(
            Features(rows.inputs, numbers, rows.scores),
            rows.group.codes,
            len(rows.group.labels),
            fold,
            propensity=self.propensity,
            mass=rows.mass if rows.weighted else None,
            seed=self.random_state,
        )

    def _measure(self, known: Sorted) -> None:
        """Say how good the guess is, what is left with the true groups, and who was moved."""
        rows = known.rows
        group, level, mass = rows.group, rows.level, rows.mass
        places = range(len(group.labels))
        self.guess_ = tuple(
            guess_quality(
                group.labels[a],
                known.chances[:, a],
                (group.codes == a).astype(np.float64),
                level.codes,
                mass,
            )
            for a in (places if len(places) > 2 else [1])
        )
        before, after = self._before(rows.scores), self._outcome(known, self.trust_)
        apart = by_fold(level, known.fold)
        self.parity_ = parities(before, after, group, apart, mass if rows.weighted else None)
        self.moved_ = moves(after - before, group, level, mass)
        self.coverage_, self.fallbacks_ = self._coverage(rows)
        self._doubts = doubts(self.guess_, self.parity_, self._asked)
        for doubt in self._doubts:
            warnings.warn(doubt, RepairWarning, stacklevel=3)

    def _coverage(self, rows: FitRows) -> tuple[dict[Hashable, float], tuple[Fallback, ...]]:
        """Share of each group whose own level makes it alike, and the cells of all others."""
        n_groups, n_levels = len(rows.group.labels), len(rows.level.labels)
        cell = rows.level.codes * n_groups + rows.group.codes
        size = n_groups * n_levels
        held = np.bincount(cell, rows.mass, minlength=size).reshape(n_levels, n_groups)
        counts = np.bincount(cell, minlength=size).reshape(n_levels, n_groups)
        own = (self._slots.slot != self._slots.shared)[:, None] & self._slots.part[self._slots.slot]
        shares = np.where(own, held, 0.0).sum(axis=0) / held.sum(axis=0)
        lacking = np.argwhere(~own & (counts > 0)).tolist()
        fallbacks = tuple(
            Fallback(rows.level.labels[k], rows.group.labels[a], int(counts[k, a]), None)
            for k, a in lacking
        )
        return dict(zip(rows.group.labels, shares.tolist(), strict=True)), fallbacks

    def _new_rows(
        self,
        scores: Column,
        inputs: Inputs,
        legitimate: Column | None,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Scores (n,), chances (n, G) and slots (n,) of rows to be repaired."""
        check_is_fitted(self, "groups_")
        self._check_settings()
        values = self._checked_scores(score_column(scores, "scores"))
        matrix = input_matrix(inputs, values.size)
        if matrix.shape[1] != self._n_inputs:
            raise InputError(
                f"inputs has {matrix.shape[1]} column(s), but had {self._n_inputs} in fit."
            )
        level = self._new_levels(legitimate, values.size)
        n_groups = len(self.groups_)
        if self.propensity_ is None:
            chances = given_chances(matrix, n_groups)
        else:
            numbers = level_numbers(level.labels, self.levels_)[level.codes]
            features = Features(matrix, numbers, values).matrix
            chances = chances_of(self.propensity_, features, n_groups)
        return values, chances, self._slots.places(level.codes, level.labels)

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
        if not (_is_number(self.t) and 0.0 <= self.t <= 1.0):
            raise InputError(f"t must be a number from 0 to 1, not {self.t!r}.")
        for name, least in (("min_cell", 1), ("folds", 2)):
            value = getattr(self, name)
            if not _is_whole(value) or value < least:
                raise InputError(
                    f"{name} must be a whole number of at least {least}, not {value!r}."
                )
        seed: Any = self.random_state
        if not (seed is None or (_is_whole(seed) and seed >= 0)):
            raise InputError(f"random_state must be a whole number >= 0 or None, not {seed!r}.")
        if isinstance(self.propensity, str) and self.propensity != GIVEN:
            raise InputError(
                f"propensity must be None, 'given' or a classifier, not {self.propensity!r}."
            )
        check_classifier(self.propensity)


def _kept(column: Codes, rows: IntArray) -> Codes:
    """Some rows of a column, with the labels that occur in them."""
    there, codes = np.unique(column.codes[rows], return_inverse=True)
    return Codes(codes, tuple(column.labels[k] for k in there.tolist()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
