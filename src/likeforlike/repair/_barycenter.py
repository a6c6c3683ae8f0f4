"""Repair of finished scores: every group is moved to the barycenter of its level.

With F_al and Q_al the distribution and quantile functions of the scores of group a in level l,

    T(f, a, l) = Σ_{a'} P(a' | l) Q_{a'l}(F_al(f)),        repaired = (1 - t) f + t T(f, a, l).

No other way to reach parity in every level changes the scores less in mean square. Every distance
shrinks in proportion, W_p(t) = (1 - t) W_p(0), and the order inside each cell stays. On the n rows
of `fit` each goes to the mean of the barycenter's quantile function over the probability interval
that it holds (`transport.quantiles`); tied rows share their interval at random. Then

- the mean gap of every two groups is (1 - t) times what it was, exactly, and so is every W_p for
  cells of equal size with equal weights, tied or not;
- otherwise |W_p(t) - (1 - t) W_p(0)| <= t ρ, where ρ is at most (R / 2) (w_a^{1/p} + w_b^{1/p}) for
  p = 1 and 2, with R the range of scores in the level and w the share of the heaviest row in its
  cell; for scores without large jumps ρ is of the order of R/n for p = 2 also;
- the mean squared change is the predicted one, less at most t² R² w / 4.

All of this holds where rows support a full repair: maps of few rows shrink (`_quantile_maps`). For
levels that are numbers (`smooth=True`) it holds at the centers of windows (`_along_number`).

References: Chzhen et al. (2020), *Fair regression with Wasserstein barycenters*; Le Gouic et al.
(2020), *Projection to fairness in statistical learning*.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple, Self

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Cells, Codes, Column, encode_columns, numbers, weights
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.repair._along_number import WindowedLevels
from likeforlike.repair._quantile_maps import (
    LevelMaps,
    ShrunkMaps,
    check_groups,
    check_part,
    check_random_state,
    check_switch,
    check_whole,
    check_width,
    fit_level_maps,
    level_costs,
    locate_groups,
    mean_square_change,
    select_rows,
    shrink_maps,
)
from likeforlike.repair._report import (
    PARTS,
    assign_folds,
    best_part,
    estimate_disparity,
    split_levels_by_fold,
    suffices,
)
from likeforlike.transport import Scale, moderate_weights

try:
    with extra("train"):
        from sklearn.exceptions import NotFittedError
    from likeforlike.training import BaseEstimator
except MissingDependencyError:  # scores are repaired without scikit-learn too
    BaseEstimator = object  # type: ignore[assignment, misc]
    NotFittedError = InputError


class Fallback(NamedTuple):
    """A cell that is repaired with the map of another level.

    Attributes
    ----------
    level, group : labels of the cell.
    rows : how many rows it had in `fit`.
    borrowed : the level whose map it takes; `None` is the map of all levels pooled.
    """

    level: Hashable
    group: Hashable
    rows: int
    borrowed: Hashable | None


class ConditionalBarycenter(BaseEstimator):
    """Move the groups of every level to their barycenter, all the way or a part of it.

    Repaired scores are (1 - t) f + t Σ_{a'} P(a' | l) Q_{a'l}(F_al(f)): distances between groups
    inside levels shrink by the factor 1 - t, at the least cost in mean square there is. The head
    of this module says what is exact. Groups and levels of the rows are needed when scores are
    repaired, not only in `fit`; true outcomes are never needed.

    Parameters
    ----------
    repair_level : how far to go, from 0 (scores stay as they are) to 1 (parity in every level). It
        may be changed after `fit`.
    min_cell : the rows a cell needs for a map of its own. A level has a map if at least two of
        its groups have that many; other cells take the map of the nearest level that has one for
        their group, if levels are numbers, or else of all levels pooled.
    shrink : whether maps of few rows shrink towards one that all levels share, and that towards
        none, as far as noise would outweigh what they repair: on a few hundred rows in ten levels a
        full repair can do harm. With `False` all of it is done, whatever its noise.
    cv : folds, at least 2, or `None`. Every fold is repaired by the maps of the others, and
        as much of the repair is done as makes these rows better: a second check, which looks at the
        whole procedure and is less sharp than the first.
    smooth : whether levels are numbers, such as income, alone or with categories given as text:
        scores are then carried along the number to the centers of windows, repaired there and
        carried back, so that a repair takes nothing away that scores owe to the number.
    random_state : seed for random tie-breaking: which of several rows with the same score, group
        and level gets how much of what is due to that score. `None` draws anew every time.

    Attributes
    ----------
    groups_, levels_ : labels found in `fit`; with `smooth`, levels are the centers of windows.
    distances_ : (K,) floats, in each level the largest W_2 between two groups before the repair;
        0 where there is one group only.
    predicted_risk_ : the mean squared change of the scores at this `repair_level`,
        t² Σ_l P(l) Σ_a P(a | l) W_2²(P_a^l, barycenter of l), which for two groups is
        t² Σ_l P(l) π_l (1 - π_l) W_2²(P_0^l, P_1^l). Cells that fall back count with what the
        map they borrow changes. With `smooth` it is what the rows in `fit` change by. If the
        scores are the conditional expectation of the target, this is the squared risk that the
        repair adds.
    trust_ : what part of the way rows go by the maps of their levels; 1 where rows support it.
    shared_ : what part they go by the map that all levels share, where `trust_` is less than 1.
    coverage_ : share of each group that is repaired with the map of its own level.
    fallbacks_ : the cells that are not, and whose map they take.

    References
    ----------
    Chzhen et al. (2020), *Fair regression with Wasserstein barycenters*.

    Examples
    --------
    >>> from likeforlike.repair import ConditionalBarycenter
    >>> repair = ConditionalBarycenter(repair_level=0.5, min_cell=2, shrink=False)
    >>> repair.fit_transform([0.1, 0.3, 0.5, 0.9], sensitive_features=["f", "f", "m", "m"])
    array([0.2 , 0.45, 0.4 , 0.75])
    >>> round(repair.predicted_risk_, 12)
    0.01625
    """

    groups_: tuple[Hashable, ...]
    levels_: tuple[Hashable, ...]
    distances_: FloatArray
    coverage_: dict[Hashable, float]
    fallbacks_: tuple[Fallback, ...]
    trust_: float
    shared_: float
    _along: WindowedLevels | None

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        min_cell: int = 20,
        smooth: bool = False,
        shrink: bool = True,
        cv: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.repair_level = repair_level
        self.min_cell = min_cell
        self.smooth = smooth
        self.shrink = shrink
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        scores: Column,
        *,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Learn the maps of all levels: one sort, and one sweep a level.

        Parameters
        ----------
        scores : (n,) finite numbers.
        sensitive_features : (n,) labels, or a table or 2-D array of several columns, whose
            combinations are the groups.
        legitimate_features : (n,) labels, or several columns, the levels; `None` means one level.
        sample_weight : (n,) numbers >= 0; rows of weight 0 are left out.
        """
        self._check_settings()
        values = numbers(scores, "scores")
        group = encode_columns(sensitive_features, "sensitive_features", values.size)
        level = None
        if legitimate_features is not None:
            level = encode_columns(legitimate_features, "legitimate_features", values.size)
        place = Codes(np.zeros(values.size, np.int64), ("all",)) if level is None else level
        mass, counted = np.ones(values.size), np.arange(values.size)
        weighted = sample_weight is not None
        if weighted:
            mass = moderate_weights(weights(sample_weight, "sample_weight", values.size))
            counted = np.flatnonzero(mass)
        self._along = None
        compared, compared_level = values, place
        if self.smooth:
            if level is None:
                raise InputError("smooth=True needs legitimate_features with a number in them.")
            self._along = WindowedLevels.fit(
                values[counted],
                level._replace(codes=level.codes[counted]),
                group._replace(codes=group.codes[counted]),
                mass[counted] if weighted else None,
            )
            compared, (window, _, _) = self._along.map_to_centers(
                values, level, group.codes, self.random_state
            )
            compared_level = Codes(window, self._along.labels)
        rows = (compared, group, compared_level, mass)
        if weighted:
            rows = _take(rows, counted)
        self._maps, self._scale = self._fit_maps(*rows, weighted=weighted)
        maps = self._maps.maps
        cells = maps.cells
        squares = level_costs(cells)
        self._has_levels = level is not None
        self.groups_, self.levels_ = cells.groups, cells.levels
        self.distances_ = self._scale.size * np.sqrt(squares.max(axis=(1, 2)))
        self.coverage_ = maps.coverage
        source, borrowed = maps.sources(cells.levels), (*cells.levels, None)
        self.fallbacks_ = tuple(
            Fallback(
                cells.levels[k], cells.groups[g], int(cells.counts[k, g]), borrowed[source[k, g]]
            )
            for k, g in np.argwhere(~maps.own).tolist()
        )
        if self.cv is not None:
            self._maps = self._maps.scale(self._choose_trust(rows, self.cv, weighted=weighted))
        self.trust_, self.shared_ = self._maps.own, self._maps.common
        self._full_risk = mean_square_change(maps, squares)
        if self._along is not None and level is not None:
            change = self._scale.inward(self._map(values, group.codes, level, None))
            change -= self._scale.inward(values)
            self._full_risk = float(np.average(change**2, weights=sample_weight))
        elif self.trust_ < 1.0:
            scores, known, own_level, mass = rows
            inward = self._scale.inward(scores)
            moved = self._maps.map_scores(inward, known.codes, own_level, seed=self.random_state)
            self._full_risk = float(np.average((moved - inward) ** 2, weights=mass))
        return self

    def _fit_maps(
        self, scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, *, weighted: bool
    ) -> tuple[ShrunkMaps, Scale]:
        """Return maps of rows, and the scale that their scores are on."""
        cells, scale = Cells.from_codes(
            level, group, scores, sample_weight=mass if weighted else None
        ).scaled()
        check_groups(cells.groups, cells.counts.sum(axis=0), self.min_cell)
        if not self.shrink:
            return ShrunkMaps(fit_level_maps(cells, self.min_cell)), scale
        return shrink_maps(cells, scale.inward(scores), group, level, mass, self.min_cell), scale

    def _choose_trust(
        self, rows: tuple[FloatArray, Codes, Codes, FloatArray], folds: int, *, weighted: bool
    ) -> float:
        """Return the part of the repair that is best for rows the maps were not fitted on."""
        scores, group, level, mass = rows
        fold = assign_folds(group.codes, level.codes, folds, self.random_state)
        moved = np.empty(scores.size)
        for k in range(int(fold.max()) + 1):
            inside = np.flatnonzero(fold == k)
            maps, scale = self._fit_maps(*_take(rows, np.flatnonzero(fold != k)), weighted=weighted)
            held, member, place, weight = _take(rows, inside)
            known = locate_groups(member, maps.maps.cells.groups)
            inward = scale.inward(held)
            mapped = maps.map_scores(inward, known, place, weight, seed=self.random_state)
            moved[inside] = scale.outward(mapped)
        apart = split_levels_by_fold(level, fold)
        left = {0.0: estimate_disparity(scores, group, apart, mass)}
        for part in PARTS:
            reach = self.repair_level * part
            partly = (1.0 - reach) * scores + reach * moved
            left[part] = estimate_disparity(partly, group, apart, mass)
            if part == 1.0 and suffices(left[1.0], left[0.0], self.repair_level):
                return 1.0
        return best_part(left)

    @property
    def predicted_risk_(self) -> float:
        """Mean squared change of the scores at this `repair_level`; infinite beyond numbers."""
        return self._scale.powered(self.repair_level**2 * self._full_risk, 2.0)

    def transform(
        self,
        scores: Column,
        *,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> FloatArray:
        """Repair scores, O(log n) a row.

        Ranks and quantiles are those of the rows in `fit`. Scores between those seen are ranked
        between them, scores beyond them like the lowest or the highest. Rows that share score,
        group and level are repaired together: they divide the interval of that score among them,
        which is how a score that is common (a decision, a rating) can reach parity at all. One
        such row alone gets the mean of what they would get, so repair in batches.

        Parameters
        ----------
        scores, sensitive_features, legitimate_features : as for `fit`, of any rows. A group
            that was not there is refused; a level that was not there falls back, with a warning.
        sample_weight : (n,) numbers >= 0, by which tied rows divide; `None` means evenly.

        Returns
        -------
        (n,) floats.
        """
        if not hasattr(self, "_maps"):
            raise NotFittedError(
                "this ConditionalBarycenter instance is not fitted yet; call fit first."
            )
        self._check_settings()
        values = numbers(scores, "scores")
        group = encode_columns(sensitive_features, "sensitive_features", values.size)
        level = self._levels(legitimate_features, values.size)
        mass = None
        if sample_weight is not None:
            mass = moderate_weights(weights(sample_weight, "sample_weight", values.size))
        moved = self._map(values, locate_groups(group, self.groups_), level, mass)
        repaired: FloatArray = (1.0 - self.repair_level) * values + self.repair_level * moved
        return repaired

    def _map(
        self, values: FloatArray, group: IntArray, level: Codes, mass: FloatArray | None
    ) -> FloatArray:
        """Return where the maps send scores (n,), as far as rows support it."""
        scores, places = values, None
        if self._along is not None:
            scores, places = self._along.map_to_centers(values, level, group, self.random_state)
            level = Codes(places[0], self._along.labels)
        _warn_of_unseen(self._maps.maps, group, level)
        inward = self._scale.inward(scores)
        mapped = self._maps.map_scores(inward, group, level, mass, seed=self.random_state)
        moved = self._scale.outward(mapped)
        # Next to a score this far from all that were fitted, where the maps send it is nothing.
        far = np.isinf(moved)
        moved[far] = (1.0 - (self._maps.own + self._maps.common)) * scores[far]
        if self._along is None or places is None:
            return moved
        return self._along.map_back(moved, places)

    def fit_transform(
        self,
        scores: Column,
        *,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> FloatArray:
        """Learn the maps from these rows and repair them, shape (n,).

        Parameters
        ----------
        scores, sensitive_features, legitimate_features, sample_weight : as for `fit`.
        """
        columns = {
            "sensitive_features": sensitive_features,
            "legitimate_features": legitimate_features,
            "sample_weight": sample_weight,
        }
        return self.fit(scores, **columns).transform(scores, **columns)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT002
        """Return settings by name, as scikit-learn asks for them; `deep` makes no difference."""
        names = ("repair_level", "min_cell", "smooth", "shrink", "cv", "random_state")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change settings by name."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InputError(f"there is no setting {name!r}; there are {[*self.get_params()]}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"ConditionalBarycenter({settings})"

    def _check_settings(self) -> None:
        check_part("repair_level", self.repair_level)
        check_whole("min_cell", self.min_cell, 1)
        check_switch("smooth", self.smooth)
        check_switch("shrink", self.shrink)
        folds: Any = self.cv
        if folds is not None and not (isinstance(folds, int | np.integer) and folds >= 2):
            raise InputError(f"cv must be None or a number of at least 2, not {folds!r}.")
        check_random_state(self.random_state)

    def _levels(self, features: Column | None, size: int) -> Codes:
        """Return level of every row, and the labels of the levels."""
        if (features is not None) != self._has_levels:
            raise InputError(
                "legitimate_features were given in fit, so transform needs them too."
                if self._has_levels
                else "legitimate_features were not given in fit, so there are no levels to look up."
            )
        if features is None:
            return Codes(np.zeros(size, np.int64), self.levels_)
        found = encode_columns(features, "legitimate_features", size)
        if self._along is None:
            check_width(found.labels[0], self.levels_[0])
        return found


def _take(
    rows: tuple[FloatArray, Codes, Codes, FloatArray], chosen: IntArray
) -> tuple[FloatArray, Codes, Codes, FloatArray]:
    """Return scores, groups, levels and weights of some rows, with the labels that occur there."""
    scores, group, level, mass = rows
    return scores[chosen], select_rows(group, chosen), select_rows(level, chosen), mass[chosen]


def _warn_of_unseen(maps: LevelMaps, group: IntArray, level: Codes) -> None:
    """Warn if there are rows in cells that had none in `fit`."""
    labels, n_groups = level.labels, len(maps.cells.groups)
    here = np.bincount(level.codes * n_groups + group, minlength=len(labels) * n_groups)
    at = maps.positions(labels)
    seen = (at >= 0)[:, None] & (maps.cells.counts[at] > 0)
    unseen = np.argwhere((here.reshape(seen.shape) > 0) & ~seen)
    if unseen.size:
        first = ", ".join(
            f"{maps.cells.groups[g]!r} in level {labels[k]!r}" for k, g in unseen[:3].tolist()
        )
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        warnings.warn(
            f"fit has not seen {first}{more}: these rows are repaired with the map of the nearest "
            "level, or of all levels pooled where levels are not numbers.",
            UserWarning,
            stacklevel=3,
        )
