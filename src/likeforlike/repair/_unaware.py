"""Repair of finished scores that does not ask for the group at prediction.

Inside a level l let f be the score and η_a(x) = P(A = a | x, l) the chance of each group given the
inputs. Among all ways to move scores that look at f, η and l only, take the one that changes them
least in mean square while the distributions of the groups become equal,

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

from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError
from likeforlike.repair._along_number import OF_SCORES
from likeforlike.repair._parity_solver import arrange_by_slot, repaired_means, solve
from likeforlike.repair._propensity import Inputs, Propensity
from likeforlike.repair._quantile_maps import (
    fit_level_maps,
    mean_squared_change,
    squared_level_distances,
)
from likeforlike.repair._unaware_estimator import FitRows, SlottedRows, UnawareEstimator, check_maps


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

    _window_size = OF_SCORES

    @property
    def _asked(self) -> float:
        return float(self.repair_level)

    def _before(self, scores: FloatArray) -> FloatArray:
        return scores

    def _learn(self, rows: SlottedRows) -> None:
        self._set_values()
        known = rows.rows._replace(scores=rows.scores)
        plain = (known.scores, rows.chances, known.mass, known.level.codes, rows.rest)
        found = solve(arrange_by_slot(rows.slots, *plain), self._values, self._beta)
        self._potential, self.residual_ = found.potential, float(found.residual.max())
        moved = np.empty(known.scores.size)
        for fold in range(self.cv):
            slots, others = rows.without(fold)
            others_rows = arrange_by_slot(slots, *plain, others)
            potential = solve(
                others_rows, self._values, self._beta, start=found.potential
            ).potential
            inside = np.flatnonzero(~others)
            place = slots.slot[known.level.codes[inside]]
            unit = slots.unit(known.scores[inside], place)
            tilts = slots.tilts(rows.chances[inside], place)
            mean = repaired_means(unit, tilts, place, self._values, potential, self._beta)
            moved[inside] = slots.natural(mean, place)
        self._held_out = rows.home(moved)
        change = self._held_out - rows.rows.scores
        self._full_risk = float(known.mass @ change**2 / known.mass.sum())
        self._full_aware_risk = _aware_risk(known, self.min_cell)

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
        repaired: FloatArray = (1.0 - reach) * rows.rows.scores + reach * self._held_out
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
        self,
        scores: Column,
        inputs: Inputs,
        *,
        legitimate_features: Column | None = None,
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
        values, chances, place, numbers = self._new_rows(scores, inputs, legitimate_features)
        tilts = self._slots.tilts(chances, place)
        unit = self._slots.unit(values if numbers is None else numbers.out(values), place)
        mean = repaired_means(unit, tilts, place, self._values, self._potential, self._beta)
        moved = self._slots.natural(mean, place)
        moved = moved if numbers is None else numbers.back(moved)
        reach = self.repair_level * self.trust_
        repaired: FloatArray = (1.0 - reach) * values + reach * moved
        return repaired

    def _check_settings(self) -> None:
        super()._check_settings()
        count: Any = self.values
        if not (isinstance(count, int | np.integer) and 2 <= count <= 1000):
            raise InputError(f"values must be a whole number from 2 to 1000, not {count!r}.")


def _aware_risk(rows: FitRows, min_cell: int) -> float:
    """Compute the mean squared change of the barycenter of every level, which knows the group."""
    cells, scale = Cells.from_codes(
        rows.level, rows.group, rows.scores, sample_weight=rows.mass
    ).scaled()
    maps = fit_level_maps(cells, min_cell)
    return scale.powered(mean_squared_change(maps, squared_level_distances(cells)), 2.0)
