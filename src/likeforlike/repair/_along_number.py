"""Levels that are numbers: windows, and scores carried to their centers and back.

The barycenter of a window would also repair the dependence of scores on the number inside it, which
is no disparity. So scores are first carried to the center of their window (`smoothing`), repaired
there, and carried back. Many different scores are carried by one model of their dependence on the
number, fitted without the common gap of the groups and then without their gaps in every window: it
would contain P(A | L) times the gap otherwise, and hide a part of it. Decisions and ratings are
carried as ranks among all rows with the same number, with random tie-breaking.

The maps of a window are as noisy as its smaller group is small, so windows are cut where the two
largest groups meet equally often. They hold 600 effective rows of theirs, n_a n_b / (n_a + n_b), or
1000 of decisions and ratings; there are at most max(4, n^(1/3)) windows, and of decisions and
ratings at least 4. Where groups lie apart along the number, there is no repair.

**Without the group at prediction** a propensity knows the number as well. With e_a(l) = P(A = a |
L = l), smoothed, and h = 1 / Σ_b 1 / e_b, chances η_a are replaced by η_a h / e_a, up to a factor
for every window. Rows weighted by them have the same spread of the number, that of h, in every
group: for two groups the tilt becomes η_1 - e_1. Without it a repair would sort rows by their
number. The remaining disparity is estimated as an audit with `smooth` does it: in windows of about
n^(1/3) rows of each fold, with scores carried to their centers.

Reference: Li & Li (2019), *Propensity score weighting for causal inference with multiple
treatments*.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Codes, split_levels, use_codes_as_labels
from likeforlike.errors import InputError
from likeforlike.smoothing import (
    REASONS,
    DiscreteMap,
    Grid,
    GridPosition,
    LocationScaleMap,
    arrange_cells,
    assign_windows,
    common_gaps,
    compare_along,
    find_overlap,
    fit_location_scale_map,
    fit_propensity,
    fit_quantile_map,
    interpolate_cdf,
    interpolate_propensity,
    make_grid,
    quantile,
    restrict_smoothers,
    window_counts,
    windows,
)

_WHO = "smooth=True"
_FEW_WINDOWS = 4.0
# Tables of distributions are made for this many rows at a time.
_AT_A_TIME = 65_536
_STREAM = 5


SCORE_WINDOWS = (1.0, 600.0)
"""How few windows of scores with many values there are at least, and how many effective rows of two
groups each holds."""

_VALUE_WINDOWS = (4.0, 1000.0)

Places: TypeAlias = tuple[IntArray, GridPosition, GridPosition]
"""Windows (n,) of rows, the places of the rows, and those of the centers of their windows."""


@dataclass(frozen=True, slots=True)
class WindowedLevels:
    """A carry that was fitted to scores, for these and for other rows.

    Attributes
    ----------
    cells : fine cells of the rows in `fit`.
    categories : labels of the segments.
    window : (m,) integers, the window of every fine cell.
    segment, center : (K,) each, of the windows.
    labels : for every window the number at its center, with the category if there are any.
    model : how scores depend on the number, without the gaps of the groups.
    group_gaps : (K, G) floats, by how much the mean of a group is above that of the largest one.
    mean_gaps : (K,) floats, by how much the mean of all rows is.
    """

    cells: Grid
    categories: tuple[Hashable, ...]
    window: IntArray
    segment: IntArray
    center: FloatArray
    labels: tuple[Hashable, ...]
    model: LocationScaleMap | DiscreteMap
    group_gaps: FloatArray
    mean_gaps: FloatArray

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        level: Codes,
        group: Codes,
        mass: FloatArray | None,
        size: tuple[float, float] | None = None,
    ) -> WindowedLevels:
        """Fit the carry to scores (n,) with weights (n,) > 0, in windows of a given size."""
        levels = split_levels(level.labels, _WHO)
        there, segment = np.unique(levels.category[level.codes], return_inverse=True)
        numbers = levels.numbers[level.codes]
        categories = tuple(levels.categories[k] for k in there.tolist())
        cells = _overlapping_cells(make_grid(numbers, segment, mass=mass), group.codes, scores)
        model = fit_quantile_map(cells, scores)
        usual = SCORE_WINDOWS if isinstance(model, LocationScaleMap) else _VALUE_WINDOWS
        window, segment, center = _cut_windows(cells, group.codes, *(size or usual))
        labels: tuple[Hashable, ...] = tuple(quantile(cells, segment, center).tolist())
        if len(levels.categories) > 1:
            named = (categories[k] for k in segment.tolist())
            labels = tuple(zip(named, labels, strict=True))
        rows = window[cells.cell]
        of_group, of_all = np.zeros((len(labels), len(group.labels))), np.zeros(len(labels))
        if isinstance(model, LocationScaleMap):
            of_group, of_all = _common_gaps(cells, scores, group, model, len(labels), rows)
            model = fit_location_scale_map(cells, scores - of_group[rows, group.codes])
        fitted = cls(cells, categories, window, segment, center, labels, model, of_group, of_all)
        if not isinstance(model, LocationScaleMap):
            return fitted
        of_group, of_all = fitted._estimate_gaps(scores, group)
        model = fit_location_scale_map(cells, scores - of_group[rows, group.codes])
        return replace(fitted, model=model, group_gaps=of_group, mean_gaps=of_all)

    def _estimate_gaps(self, scores: FloatArray, group: Codes) -> tuple[FloatArray, FloatArray]:
        """Return gaps (K, G) and (K,) between the rows in `fit`, at the centers."""
        window = self.window[self.cells.cell]
        start, end = self.cells.own_places, self._centers(window)
        centered = self._move(scores, group.codes, window, start, end)
        size = len(self.labels), len(group.labels)
        cell = window * size[1] + group.codes
        mass = np.bincount(cell, self.cells.mass, minlength=size[0] * size[1]).reshape(size)
        summed = np.bincount(cell, self.cells.mass * centered, minlength=size[0] * size[1])
        rows = np.bincount(cell, minlength=size[0] * size[1]).reshape(size)
        mean = summed.reshape(size) / np.where(mass > 0.0, mass, 1.0)
        largest = int(np.argmax(np.bincount(group.codes)))
        # Of a single row no gap is known.
        known = (rows > 1) & (rows[:, [largest]] > 1)
        of_group = np.where(known, mean - mean[:, [largest]], 0.0)
        return of_group, (mass * of_group).sum(axis=1) / mass.sum(axis=1)

    def map_to_centers(
        self, scores: FloatArray, level: Codes, group: IntArray, seed: int | None
    ) -> tuple[FloatArray, Places]:
        """Carry scores (n,) of groups (n,) to the centers of their windows; return both."""
        places = self.locate(level)
        if isinstance(self.model, LocationScaleMap):
            return self._move(scores, group, *places), places
        return _random_ranks(self.model, scores, places[1], seed), places

    def locate(self, level: Codes) -> Places:
        """Return windows of rows (n,), the places of the rows, and those of the centers."""
        levels = split_levels(level.labels, _WHO)
        known = {label: k for k, label in enumerate(self.categories)}
        unknown = [label for label in levels.categories if label not in known]
        if unknown:
            raise InputError(
                f"legitimate_features has {unknown[0]!r}, which fit has not seen; it knows "
                f"{list(self.categories)}."
            )
        segment = np.array([known[label] for label in levels.categories])[levels.category]
        position = self.cells.ranking.of(levels.numbers, segment)
        start = self.cells.place(segment[level.codes], position[level.codes])
        window = self.window[np.where(start.share < 0.5, start.below, start.above)]
        return window, start, self._centers(window)

    def _centers(self, window: IntArray) -> GridPosition:
        return self.cells.place(self.segment, self.center).of(window)

    def _move(
        self,
        scores: FloatArray,
        group: IntArray,
        window: IntArray,
        start: GridPosition,
        end: GridPosition,
    ) -> FloatArray:
        assert isinstance(self.model, LocationScaleMap)
        gap = self.group_gaps[window, group]
        moved: FloatArray = self.model.move(scores - gap, start, end) + gap
        return moved

    def map_back(self, repaired: FloatArray, places: Places) -> FloatArray:
        """Carry repaired scores (n,) from the centers to where the rows are."""
        window, start, end = places
        if isinstance(self.model, LocationScaleMap):
            gap = self.mean_gaps[window]
            home: FloatArray = self.model.move(repaired - gap, end, start) + gap
            return home
        values = self.model.values
        found = np.empty(repaired.size, np.int64)
        for some in _blocks(repaired.size):
            cdf = interpolate_cdf(self.model.cdf, start.of(some))
            found[some] = (cdf < repaired[some, None]).sum(axis=1)
        return values[np.minimum(found, values.size - 1)]


def _overlapping_cells(cells: Grid, group: IntArray, scores: FloatArray) -> Grid:
    """Cells of rows as their groups (n,) can be compared; raises if they lie apart everywhere."""
    overlap = find_overlap(cells, group, scores)
    cells = arrange_cells(cells, overlap)
    window = assign_windows(cells, window_counts(cells))[cells.cell]
    cells, overlap = restrict_smoothers(cells, window, group, overlap)
    if (overlap.unit == "apart").all():
        why = REASONS[str(overlap.reason[int(np.argmax(np.bincount(cells.segment)))])]
        raise InputError(
            f"groups lie apart along the number in legitimate_features: {why} A repair along it "
            "would take the number for the group; give levels such as bins, and smooth=False."
        )
    return cells


def _common_gaps(
    cells: Grid,
    scores: FloatArray,
    group: Codes,
    model: LocationScaleMap,
    n_windows: int,
    window: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the gaps that groups have to the largest one everywhere, as those of every window."""
    largest, n_groups = int(np.argmax(np.bincount(group.codes))), len(group.labels)
    order = np.r_[largest, np.delete(np.arange(n_groups), largest)]
    first = np.empty(n_groups, np.int64)
    first[order] = np.arange(n_groups)
    gap = common_gaps(cells, scores, first[group.codes], model.choice)
    # Groups at the end may have no rows.
    common = np.zeros(n_groups)
    common[order[: gap.size]] = gap
    share = np.bincount(window, cells.mass * common[group.codes], n_windows)
    of_all = share / np.bincount(window, cells.mass, n_windows)
    return np.tile(common, (n_windows, 1)), of_all


def _random_ranks(
    model: DiscreteMap, scores: FloatArray, start: GridPosition, seed: int | None
) -> FloatArray:
    """Rank (n,) decisions and ratings among rows of the same number, with random tie-breaking."""
    # Ratings that were not there in fit count as the nearest one.
    middles = (model.values[1:] + model.values[:-1]) / 2.0
    code = np.searchsorted(middles, scores)
    # A stream of its own: data may have been made with the same seed.
    lot = np.random.default_rng(None if seed is None else [seed, _STREAM]).random(scores.size)
    ranks = np.empty(scores.size)
    for some in _blocks(scores.size):
        cdf = interpolate_cdf(model.cdf, start.of(some))
        lines = np.arange(some.size)
        high = cdf[lines, code[some]]
        low = np.where(code[some] > 0, cdf[lines, np.maximum(code[some] - 1, 0)], 0.0)
        ranks[some] = high - (high - low) * lot[some]
    return ranks


def _blocks(size: int) -> list[IntArray]:
    """Return numbers of rows, some at a time."""
    return np.split(np.arange(size), np.arange(_AT_A_TIME, size, _AT_A_TIME))


def _cut_windows(
    cells: Grid, group: IntArray, least: float, held: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Cut every segment into windows of equal overlap: `held` each, and `least` of them or more.

    Overlap is n_a n_b / (n_a + n_b) of the two largest groups in every fine cell. Return the window
    of every cell (m,), and segment and center of every window (K,).
    """
    largest = np.argsort(-np.bincount(group, minlength=2), kind="stable")[:2]
    size = cells.total.size
    first, second = (np.bincount(cells.cell[group == a], minlength=size) for a in largest)
    overlap: FloatArray = first * second / np.maximum(first + second, 1)
    of_segment, n_segments = cells.of_segment, cells.offsets.size - 1
    whole = np.bincount(of_segment, overlap, minlength=n_segments)
    rows = np.bincount(cells.segment, cells.rows, minlength=n_segments)
    most = np.maximum(_FEW_WINDOWS, np.round(np.cbrt(rows)))
    counts = np.clip(np.floor(whole / held), least, most).astype(np.int64)
    before = np.r_[0.0, np.cumsum(whole)][of_segment]
    reached = np.cumsum(overlap) - overlap / 2.0 - before
    share = reached / np.where(whole > 0.0, whole, 1.0)[of_segment]
    last = counts[of_segment] - 1
    inner = np.clip(np.floor(share * counts[of_segment]).astype(np.int64), 0, last)
    code = np.r_[0, np.cumsum(counts)][of_segment] + inner
    there, of_cell = np.unique(code, return_inverse=True)
    # A window without overlap has a center too.
    weight = overlap + 1e-9 * cells.total
    center = np.bincount(of_cell, weight * cells.center) / np.bincount(of_cell, weight)
    begins = np.searchsorted(of_cell, np.arange(there.size))
    return of_cell, of_segment[begins], center


# Decisions and ratings are assigned to windows at random; always with the same seed.
_LOT = 0


@dataclass(frozen=True, slots=True)
class UnawareWindows:
    """Windows along a number, and what is known of groups and scores there.

    Attributes
    ----------
    along : windows, and how scores depend on the number.
    chances : (m, G) floats, P(A = a | L) over the fine cells.
    factors : (K, G) floats that bring chances among equals to the shares of every window.
    """

    along: WindowedLevels
    chances: FloatArray
    factors: FloatArray

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        level: Codes,
        group: Codes,
        mass: FloatArray,
        size: tuple[float, float],
    ) -> UnawareWindows:
        """Learn from rows (n,) with weights (n,) > 0, whose groups are known."""
        along = WindowedLevels.fit(scores, level, group, mass, size)
        members = [(group.codes == a).astype(np.float64) for a in range(len(group.labels))]
        curves = np.column_stack([fit_propensity(along.cells, member)[0] for member in members])
        places = along.locate(level)
        plain = cls(along, curves, np.ones((len(along.labels), len(members))))
        among = plain.relative_propensities(np.column_stack(members), places)
        weighted = mass[:, None] * np.column_stack(members)
        whole, shares = (
            np.column_stack([np.bincount(places[0], column) for column in amounts.T])
            for amounts in (mass[:, None] * among, weighted)
        )
        return cls(along, curves, shares / np.where(whole > 0.0, whole, 1.0))

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The number at the center of every window, with the category if there are any."""
        return self.along.labels

    def locate(self, level: Codes) -> Places:
        """Return where rows of these levels stand."""
        return self.along.locate(level)

    def numbers(self, level: Codes) -> FloatArray:
        """Return the number of every row, (n, 1); with its category, (n, 2), if there are any."""
        levels = split_levels(level.labels, _WHO)
        if len(self.along.categories) == 1:
            return levels.numbers[level.codes][:, None]
        known = {label: float(k) for k, label in enumerate(self.along.categories)}
        category = np.array([known.get(label, -1.0) for label in levels.categories])
        return np.column_stack([levels.numbers, category[levels.category]])[level.codes]

    def relative_propensities(self, chances: FloatArray, places: Places) -> FloatArray:
        """Compute chances (n, G) relative to rows with the same number; see the module."""
        local = np.column_stack(
            [interpolate_propensity(curve, places[1]) for curve in self.chances.T]
        )
        local /= local.sum(axis=1, keepdims=True)
        overlap = 1.0 / (1.0 / local).sum(axis=1, keepdims=True)
        among: FloatArray = chances * overlap / local * self.factors[places[0]]
        return among

    def map_to_centers(self, scores: FloatArray, places: Places) -> FloatArray:
        """Carry scores (n,) to the centers; those with few values stay what they are."""
        window, start, end = places
        return self._move(scores, window, start, end)

    def map_back(self, scores: FloatArray, places: Places) -> FloatArray:
        """Carry scores (n,) from the centers to where the rows are."""
        window, start, end = places
        return self._move(scores, window, end, start)

    def _move(
        self, scores: FloatArray, window: IntArray, start: GridPosition, end: GridPosition
    ) -> FloatArray:
        model = self.along.model
        if not isinstance(model, LocationScaleMap):
            return scores
        # The curve is that of the largest group; scores are those of all rows.
        gap = self.along.mean_gaps[window]
        moved: FloatArray = model.move(scores - gap, start, end) + gap
        return moved


def number_levels(level: Codes, fold: IntArray) -> tuple[FloatArray, IntArray]:
    """Return numbers (n,) of rows, and their segments (n,), which are category and fold."""
    levels = split_levels(level.labels, _WHO)
    key = levels.category[level.codes] * (int(fold.max()) + 1) + fold
    return levels.numbers[level.codes], np.unique(key, return_inverse=True)[1]


def comparison_windows(numbers: FloatArray, segment: IntArray) -> Codes:
    """Return windows narrow enough to compare rows in, for numbers (n,) in segments (n,)."""
    found = windows(make_grid(numbers, segment), numbers)
    return Codes(found.of_line, tuple(range(found.center.size)))


def compare_in_windows(
    numbers: FloatArray, segment: IntArray, scores: FloatArray, group: IntArray, mass: FloatArray
) -> tuple[FloatArray, Codes, Codes | None]:
    """Carry scores (n,) to the centers of such windows, as an estimate of the disparity needs them.

    Return them with their levels, the same whatever the scores, and what rows count as one with.
    """
    cells = make_grid(numbers, segment, mass=mass)
    overlap = find_overlap(cells, group)
    found = compare_along(cells, numbers, scores, group, overlap=overlap, cut=False, seed=_LOT)
    level, alone = found.levels()
    labels = tuple(range(found.speaks.size + len(alone)))
    return found.refined().values, Codes(level, labels), use_codes_as_labels(found.cells.cluster)
