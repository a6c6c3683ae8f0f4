"""Groups compared along numbers: scores mapped to the centers of windows.

Lines are the rows of a table with the numbers that people are compared along, or stand for all rows
with the same category, fine cell, group and bin of scores. `map_contrast` maps scores twice:
whatever the group, for the test, and with the gaps of the windows taken out before, for the
estimates. The windows are then levels like any others.

Several numbers and categories are replaced by the propensity e(L) = P(A | L): under parity group
and score are independent given e(L), and scores enter without what L explains of them. Both are
predicted for every row from other rows, and both must be right. How much each explains of rows left
out is reported, next to what boosted trees explain on the same folds, where scikit-learn is
installed: trees find interactions that linear splines and their products miss.

Reference: Rosenbaum and Rubin (1983), *The central role of the propensity score*.

A placebo repeats the test with labels drawn from the propensity, which cannot matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from operator import index
from typing import Literal

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._text import date_words
from likeforlike.auditing._comparisons import rename_groups
from likeforlike.auditing._reading import bin_names, number_names, quantile_edges, shortest_decimal
from likeforlike.disparity import (
    Cells,
    Codes,
    Contrast,
    contrasts,
    level_weights,
    use_codes_as_labels,
)
from likeforlike.document import Roles, Settings, Smooth, SmoothUnit, Unexamined, Window
from likeforlike.errors import InputError
from likeforlike.inference import conditional_parity_test
from likeforlike.smoothing import (
    FOLDS,
    Comparison,
    Grid,
    LocationScaleMap,
    MappedValues,
    SplineBasis,
    Windows,
    compare_along,
    cross_fit,
    detect_jumps,
    gcm_test,
    make_grid,
    propensity,
    windows,
)
from likeforlike.transport import Scale, choose_scale, moderate_weights

BINS = 10
"""Into how many bins a number would usually have been cut."""

_FEW_ROWS = 100
# Share of the variation of the group among rows with the same features.
_MIXED = 0.75
# Boosted trees, and the rows that they are tried on.
_TREES, _LEAVES, _MOST_BOOSTED = 40, 16, 20_000
_RATE, _BEYOND_CHANCE = 0.15, 3.0
_TARGETS: tuple[Literal["group", "score"], ...] = ("group", "score")
_SIGNIFICANCE = 0.05

Predictions = tuple[FloatArray, FloatArray, IntArray]
"""Group and score of every line (n, 2), both predicted by models of other lines, and folds (n,)."""


@dataclass(frozen=True)
class SmoothData:
    """Rows with their numbers, or counts of rows by fine cell.

    Attributes
    ----------
    columns : the names of the q numbers.
    numbers : (n, q) floats.
    category : (n,) codes of the other legitimate columns together; one code without any.
    category_names : how readers see each category; empty text without any.
    scores, group : (n,) floats and codes.
    counts : (n,) rows of each line; `None` means one.
    weight, cluster : (n,) of each row, or `None`.
    resolution : width of the bins of scores; 0 means exact.
    widths : (n,) how wide the cell of the engine is that the number of a line stands for; `None`
        if numbers are exact.
    windows : how many windows were asked for; `None` leaves it to their number of rows.
    dates : columns whose numbers are days since 1970.
    edges : between ten bins of the number of all rows, if there is one.
    """

    columns: tuple[str, ...]
    numbers: FloatArray
    category: IntArray
    category_names: tuple[str, ...]
    scores: FloatArray
    group: Codes
    counts: IntArray | None = None
    weight: FloatArray | None = None
    cluster: Codes | None = None
    resolution: float = 0.0
    widths: FloatArray | None = None
    windows: int | None = None
    dates: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()

    @property
    def is_univariate(self) -> bool:
        """Whether there is one number, inside categories or not."""
        return len(self.columns) == 1

    @property
    def mass(self) -> FloatArray:
        """The weight of each line, 1 without weights."""
        return np.ones(self.scores.size) if self.weight is None else self.weight

    def rename_groups(self, names: Mapping[Hashable, Hashable]) -> SmoothData:
        """Rename groups; drop those without a name, and categories without any group left."""
        labels = tuple(dict.fromkeys(names.values()))
        if labels == self.group.labels == tuple(names):
            return self
        places = {label: k for k, label in enumerate(labels)}
        new = np.array([places[names[g]] if g in names else -1 for g in self.group.labels])
        return self._take(new[self.group.codes] >= 0, Codes(new[self.group.codes], labels))

    def canonical_order(self) -> SmoothData:
        """Sort the lines that weigh anything, so that no sum depends on the order of rows."""
        kept = np.arange(self.scores.size) if self.weight is None else np.flatnonzero(self.weight)
        order = kept[np.argsort(self.numbers[kept, 0])]
        if (np.diff(self.numbers[order, 0]) == 0.0).any():
            keys = [self.scores, self.group.codes, self.category, *self.numbers.T[::-1]]
            keys = [self.weight, *keys] if self.weight is not None else keys
            keys = [self.cluster.codes, *keys] if self.cluster is not None else keys
            order = kept[np.lexsort([key[kept] for key in keys])]
        edges = self.bin_edges(order if self.weight is None else None)
        lines = replace(self._take(order, self.group), edges=edges)
        return (
            lines if lines.weight is None else replace(lines, weight=moderate_weights(lines.weight))
        )

    def bin_edges(self, order: IntArray | None = None) -> tuple[float, ...]:
        """Find where `bins` would cut the number; `order` sorts all lines by it, if it is known."""
        if not self.is_univariate:
            return ()
        order = np.argsort(self.numbers[:, 0], kind="stable") if order is None else order
        ordered = self.numbers[order, 0]
        begins = np.flatnonzero(np.r_[True, np.diff(ordered) > 0.0])
        if self.counts is None:
            counts: IntArray = np.diff(begins, append=ordered.size)
        else:
            counts = np.add.reduceat(self.counts[order], begins)
        return quantile_edges(ordered[begins], counts, BINS)

    def _take(self, kept: BoolArray | IntArray, group: Codes) -> SmoothData:
        """Take some lines, with these groups."""
        there = np.bincount(self.category[kept], minlength=len(self.category_names)) > 0
        names = zip(self.category_names, there, strict=True)
        cluster = self.cluster
        return replace(
            self,
            numbers=self.numbers[kept],
            category=(np.cumsum(there) - 1)[self.category[kept]],
            category_names=tuple(name for name, is_there in names if is_there),
            scores=self.scores[kept],
            group=Codes(group.codes[kept], group.labels),
            counts=None if self.counts is None else self.counts[kept],
            weight=None if self.weight is None else self.weight[kept],
            widths=None if self.widths is None else self.widths[kept],
            cluster=None if cluster is None else Codes(cluster.codes[kept], cluster.labels),
        )

    @cached_property
    def cells_inside(self) -> Grid:
        """Fine cells along the one number, inside categories."""
        return self.fine_cells(self.numbers[:, 0], self.category)

    def fine_cells(self, numbers: FloatArray, segment: IntArray | None = None) -> Grid:
        """Cut the lines into fine cells along any numbers (n,)."""
        return make_grid(
            numbers,
            segment,
            mass=self.weight,
            rows=None if self.counts is None else self.counts.astype(np.float64),
            cluster=None if self.cluster is None else self.cluster.codes,
        )

    def cells(
        self,
        level: Codes,
        scores: FloatArray,
        line: IntArray | None = None,
        rows: IntArray | None = None,
    ) -> Cells:
        """Make cells of scores in levels; lines may have been split into parts of some rows."""
        if self.counts is None:
            return Cells.from_codes(
                level, self.group, scores, sample_weight=self.weight, cluster=self.cluster
            )
        line = np.arange(self.counts.size) if line is None else line
        return Cells.from_codes(
            Codes(level.codes[line], level.labels),
            Codes(self.group.codes[line], self.group.labels),
            scores,
            counts=self.counts if rows is None else rows,
            resolution=self.resolution,
        )


def levels_along(
    along: Windows,
    name: str,
    categories: Sequence[str],
    *,
    one_by_one: BoolArray | None = None,
    dates: bool = False,
) -> Codes:
    """Make levels of windows, named after their category and the numbers they hold.

    Parameters
    ----------
    categories : names of the segments; empty text if there is one.
    one_by_one : (S,) segments in which each window is a number; `None` means none.
    dates : whether the numbers are days since 1970.
    """
    inner = np.diff(along.segment) == 0
    edges = [
        shortest_decimal(high, low, (high + low) / 2.0)
        for high, low in zip(along.high[:-1][inner], along.low[1:][inner], strict=True)
    ]
    names: list[str] = []
    used = 0
    for segment, held in enumerate(np.bincount(along.segment).tolist()):
        own = tuple(edges[used : used + held - 1])
        used += held - 1
        before = f"{categories[segment]}, " if categories[segment] else ""
        called = bin_names(own, dates=dates)
        if one_by_one is not None and one_by_one[segment]:
            lowest = tuple(along.low[along.segment == segment].tolist())
            called = date_words(lowest) if dates else number_names(lowest)
        names += [f"{before}{name} {words}" for words in called]
    return Codes(along.of_line, tuple(names))


def raw_cells(lines: SmoothData) -> Cells:
    """Put scores as they are in the windows of all rows; in one level along several numbers."""
    if not lines.is_univariate:
        return lines.cells(Codes(np.zeros(lines.scores.size, np.int64), ("all",)), lines.scores)
    along = windows(lines.cells_inside, lines.numbers[:, 0], lines.windows)
    name = lines.columns[0]
    level = levels_along(along, name, lines.category_names, dates=name in lines.dates)
    return lines.cells(level, lines.scores)


def check_smooth(
    columns: Sequence[str], windows: int | None, *, cut: Sequence[str], counted: bool
) -> tuple[str, ...]:
    """Check the columns to be smoothed along."""
    for column in columns:
        if column in cut:
            raise InputError(
                f"smooth and bins both name {column!r}; leave it out of one of them: bins are for "
                "people who are equal by policy, smooth for those who are only nearly equal."
            )
    if counted and len(columns) > 1:
        raise InputError(
            f"resolution goes with one column in smooth, not with {len(columns)}: counts of "
            "several numbers are as many as rows. Leave resolution out, or cut others into bins."
        )
    if windows is None:
        return tuple(dict.fromkeys(columns))
    if not columns:
        raise InputError("windows says how finely to look along smooth; name a column there.")
    try:
        wanted = index(windows)
    except TypeError as error:
        raise InputError(f"windows must be a whole number, not {windows!r}.") from error
    if wanted < 2:
        raise InputError(f"windows must be at least 2, not {windows}.")
    return tuple(dict.fromkeys(columns))


def propensity_scores(
    lines: SmoothData, scores: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray, Predictions]:
    """Predict group and score of every line of two groups from L, by models of other lines.

    Returns e(L), the scores without what L explains of them, and the predictions. The mean of the
    scores stays, so that they read like scores.
    """
    rows = scores.size if lines.counts is None else int(lines.counts.sum())
    if rows < _FEW_ROWS:
        raise InputError(
            f"smooth along {len(lines.columns)} numbers needs at least {_FEW_ROWS} rows of the two "
            f"groups compared, not {rows}; smooth along one, or cut the others into bins."
        )
    targets = np.stack([lines.group.codes.astype(np.float64), scores], axis=1)
    fold = _folds(lines, scores, seed)
    predicted = cross_fit(SplineBasis(lines.numbers, lines.category), targets, lines.mass, fold)
    predicted[:, 0] = np.clip(predicted[:, 0], 0.0, 1.0)
    chance, explained = predicted.T
    mean = float(lines.mass @ scores / lines.mass.sum())
    return chance, scores - explained + mean, (targets, predicted, fold)


def _variation_shares(
    targets: FloatArray, predicted: FloatArray, mass: FloatArray
) -> tuple[float, float]:
    """Compute 1 - Σ (y - ŷ)² / Σ (y - ȳ)² of group and score."""
    mean = mass @ targets / mass.sum()
    whole = mass @ (targets - mean) ** 2
    missed = mass @ (targets - predicted) ** 2
    group, score = (1.0 - missed / np.where(whole > 0.0, whole, 1.0)).tolist()
    return group, score


def _compare_trees(
    lines: SmoothData, predictions: Predictions, unit: IntArray | None, seed: int
) -> tuple[tuple[float, float] | None, int, tuple[Literal["group", "score"], ...]]:
    """Predict by boosted trees: shares explained, of how many rows, what is better beyond chance.

    On the same folds, of 20,000 rows at most. Losses are compared row by row, those of a unit (n,)
    together, and differ beyond chance by three standard errors. `None` without scikit-learn.
    """
    if find_spec("sklearn") is None:
        return None, 0, ()
    rng = np.random.default_rng(seed)
    key = np.arange(lines.scores.size) if unit is None else unit
    order = np.argsort(rng.permutation(int(key.max()) + 1)[key], kind="stable")
    some = np.sort(order[:_MOST_BOOSTED])
    columns = np.column_stack([lines.numbers, lines.category])[some]
    targets, linear, fold = predictions[0][some], predictions[1][some], predictions[2][some]
    mass = lines.mass[some]
    predicted = np.zeros(targets.shape)
    for k in range(FOLDS):
        inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        for t in (0, 1) if inside.size else ():
            predicted[inside, t] = _predict_by_trees(
                columns[others], targets[others, t], mass[others], columns[inside], chance=t == 0
            )
    gain = (targets - linear) ** 2 - (targets - predicted) ** 2
    together = np.unique(key[some], return_inverse=True)[1]
    summed = np.stack([np.bincount(together, mass * column) for column in gain.T], axis=1)
    error = np.sqrt((summed**2).sum(axis=0))
    better = summed.sum(axis=0) > _BEYOND_CHANCE * np.where(error > 0.0, error, np.inf)
    misfit = tuple(name for name, is_better in zip(_TARGETS, better, strict=True) if is_better)
    return _variation_shares(targets, predicted, mass), some.size, misfit


def _predict_by_trees(
    columns: FloatArray, target: FloatArray, mass: FloatArray, others: FloatArray, *, chance: bool
) -> FloatArray:
    """Fit boosted trees to rows and predict others."""
    with extra("train"):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

    if np.ptp(target) == 0.0:
        return np.full(others.shape[0], target[0])
    kind = HistGradientBoostingClassifier if chance else HistGradientBoostingRegressor
    model = kind(
        max_iter=_TREES,
        max_leaf_nodes=_LEAVES,
        learning_rate=_RATE,
        early_stopping=False,
        random_state=0,
    )
    # One thread: the same figures on any machine.
    with threadpool_limits(1):
        model.fit(columns, target, sample_weight=mass)
        predicted = model.predict_proba(others)[:, 1] if chance else model.predict(others)
    return np.asarray(predicted, np.float64)


def _folds(lines: SmoothData, scores: FloatArray, seed: int) -> IntArray:
    """Assign every row to a fold, whatever the order of rows; rows of a cluster stay together.

    So do rows with the same features, unless groups mix among these: a place that is of one group
    would get five predictions, and look as if it were five.
    """
    rng = np.random.default_rng(seed)
    keys = [lines.category, *lines.numbers.T]
    order = np.lexsort(keys)
    new = np.any([np.diff(key[order], prepend=key[order[0]]) != 0 for key in keys], axis=0)
    same = np.empty(order.size, np.int64)
    same[order] = np.cumsum(new)
    if lines.cluster is not None:
        codes, size = lines.cluster.codes, len(lines.cluster.labels)
        first = np.zeros(size, np.int64)
        first[codes] = same
        if (first[codes] != same).any() or _groups_mix(lines.group.codes, same):
            return rng.permutation(size)[codes] % FOLDS
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    if not _groups_mix(lines.group.codes, same):
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    keys = [lines.group.codes, scores, *keys]
    if lines.weight is not None:
        keys.insert(0, lines.weight)
    fold = np.empty(scores.size, np.int64)
    fold[np.lexsort(keys)] = rng.permutation(scores.size) % FOLDS
    return fold


def _groups_mix(group: IntArray, same: IntArray) -> bool:
    """Whether most of the variation of two groups lies among rows with the same features."""
    rows = np.bincount(same)
    share = np.bincount(same, group) / rows
    overall = float(group.mean())
    inside = float(rows @ (share * (1.0 - share)))
    return inside >= _MIXED * group.size * overall * (1.0 - overall)


@dataclass(frozen=True)
class SmoothContrast:
    """Groups mapped to the same windows along numbers, with scores for each purpose.

    Attributes
    ----------
    lines : of the groups compared.
    name : what they are compared along.
    numbers : (n,) floats, along what.
    compared : how they were mapped there.
    level : the windows as levels; those that say nothing are a level for each group.
    scale : back to the scores.
    predictions : of group and score by several numbers and categories; `None` along one.
    """

    lines: SmoothData
    name: str
    numbers: FloatArray
    compared: Comparison
    level: Codes
    scale: Scale
    predictions: Predictions | None = None

    @property
    def member(self) -> FloatArray:
        """1 for lines of the second group, 0 for those of the first."""
        return self.lines.group.codes.astype(np.float64)

    @property
    def unit_lines(self) -> SmoothData:
        """The lines with the clusters that they are compared by."""
        if not (self.compared.overlap.unit == "units").any():
            return self.lines
        return replace(self.lines, cluster=use_codes_as_labels(self.compared.cells.cluster))

    @cached_property
    def for_test(self) -> Contrast:
        """The groups in windows, with scores mapped whatever the group."""
        return self._to_contrast(self.compared.carried)

    @cached_property
    def for_estimates(self) -> Contrast:
        """The groups in windows, with gaps taken out before the mapping and added after."""
        return self._to_contrast(self.compared.refined())

    @cached_property
    def together(self) -> Contrast:
        """The groups in windows, with scores as they are."""
        return _contrast_all(self.lines.cells(self.level, self.lines.scores))

    def in_bins(self) -> Contrast:
        """Put scores as they are in ten bins: of the number as `bins` cuts it, or of the chance."""
        lines = self.lines
        if lines.is_univariate:
            edges = np.array(lines.edges or lines.bin_edges())
            code = lines.category * (edges.size + 1) + np.searchsorted(edges, lines.numbers[:, 0])
            there, level = np.unique(code, return_inverse=True)
            bins = Codes(level, tuple(there.tolist()))
        else:
            few = windows(lines.fine_cells(self.numbers), self.numbers, BINS)
            bins = Codes(few.of_line, tuple(range(few.center.size)))
        return _contrast_all(lines.cells(bins, lines.scores))

    def chance(self) -> FloatArray:
        """Smooth the chance of belonging to the second group, (n,)."""
        return propensity(self.compared.cells, self.member)[0]

    def gcm_p_value(self, seed: int) -> float:
        """Compute the p-value of the generalized covariance measure."""
        compared = self.compared
        return gcm_test(
            compared.cells, compared.fitted, compared.scores, self.member, self.chance(), seed
        )

    def jump_locations(self) -> tuple[float, ...]:
        """Find numbers behind which the mean score or the share of a group jumps."""
        cells, cuts = self.compared.cells, self.compared.cuts
        behind = np.union1d(
            detect_jumps(cells, self.compared.scores), detect_jumps(cells, self.member)
        )
        last = {float(self.numbers[cells.cell == cell].max()) for cell in behind}
        return tuple(sorted(last.union(cuts.numbers.tolist())))

    def _to_contrast(self, mapped: MappedValues) -> Contrast:
        values = self.scale.outward(mapped.values)
        return _contrast_all(self.unit_lines.cells(self.level, values, mapped.line, mapped.rows))


def _contrast_all(cells: Cells) -> Contrast:
    return Contrast(cells, tuple(range(len(cells.groups))))


def map_lines(lines: SmoothData, seed: int) -> SmoothContrast:
    """Map all lines to the centers of their windows.

    Along one number this is done inside each category; several numbers and categories are
    replaced by the chance of belonging to the second of two groups, and scores by what these
    features do not explain.
    """
    scale = choose_scale(float(lines.scores.min()), float(lines.scores.max()), 2.0)
    scores, predictions = scale.inward(lines.scores), None
    if lines.is_univariate:
        name, numbers, cells = lines.columns[0], lines.numbers[:, 0], lines.cells_inside
        categories = lines.category_names
    else:
        name, categories = f"estimated share of {lines.group.labels[1]}", ("",)
        numbers, scores, predictions = propensity_scores(lines, scores, seed)
        cells = lines.fine_cells(numbers)
    compared = compare_along(
        cells,
        numbers,
        scores,
        lines.group.codes,
        wanted=lines.windows,
        cut=lines.is_univariate,
        exact=lines.counts is None,
        seed=seed,
    )
    origin = compared.cuts.origin
    still = np.zeros(int(origin.max()) + 1, bool)
    still[origin[compared.overlap.unit == "numbers"]] = True
    parts = replace(compared.windows, segment=origin[compared.windows.segment])
    level = levels_along(parts, name, categories, one_by_one=still, dates=name in lines.dates)
    # A window that says nothing is called after the group that is alone there.
    codes, alone = compared.levels()
    labels = [f"{level.labels[window]}, {lines.group.labels[g]} only" for window, g in alone]
    level = Codes(codes, (*level.labels, *labels))
    return SmoothContrast(lines, name, numbers, compared, level, scale, predictions)


def map_contrast(
    lines: SmoothData, roles: Roles, columns: Sequence[str], groups: Sequence[Hashable], seed: int
) -> SmoothContrast:
    """Map two groups of some sensitive columns on their own; others have no part in their curves.

    The groups may be named as text.
    """
    if roles.also_sensitive:
        lines = lines.rename_groups(
            rename_groups(lines.group.labels, columns, roles.all_sensitive)[0]
        )
    labels = {str(label): label for label in lines.group.labels}
    own = [labels[str(group)] for group in groups]
    return map_lines(lines.rename_groups(dict(zip(own, own, strict=True))), seed)


def map_all_groups(lines: SmoothData, seed: int) -> Contrast | None:
    """Map all groups at once, for the omnibus test; `None` along several numbers."""
    if not lines.is_univariate:
        return None
    together = contrasts(map_lines(lines, seed).for_test.cells, "barycenter")[0]
    return together if together.support.any() else None


def describe(
    mapping: SmoothContrast,
    *,
    distances: tuple[float | None, float | None],
    gaps: tuple[float | None, float],
    seed: int,
    tested: bool,
) -> Smooth:
    """Describe a mapping; distances and gaps are those of ten bins and as mapped."""
    lines, compared, predictions = mapping.lines, mapping.compared, mapping.predictions
    overlap, found, origin = compared.overlap, compared.windows, compared.cuts.origin
    binned, own = distances
    rows = np.bincount(compared.cells.segment, compared.cells.rows)
    largest = int(np.argmax(np.where(overlap.unit == "apart", 0.0, rows)))
    # Clusters are units where their rows do not mix.
    units: SmoothUnit = "units" if overlap.held[largest] else "rows"
    if overlap.unit[largest] == "numbers":
        units = "numbers"
    choice = compared.fitted.choice
    trees: tuple[tuple[float, float] | None, int, tuple[Literal["group", "score"], ...]]
    trees = None, 0, ()
    if predictions is not None and tested:
        trees = _compare_trees(lines, predictions, compared.cells.cluster, seed)
    boosted, boosted_rows, misfit = trees
    return Smooth(
        columns=lines.columns,
        method="carry" if lines.is_univariate else "propensity",
        units=units,
        mixing=float(overlap.mixing[largest]),
        shared=float(rows @ overlap.shared / rows.sum()),
        bandwidth=float(choice.width[largest]),
        coordinate=choice.name(largest),
        confounding=None if binned is None or own is None else binned - own,
        gap_confounding=None if gaps[0] is None else gaps[0] - gaps[1],
        companion_p=mapping.gcm_p_value(seed) if tested else None,
        jumps=mapping.jump_locations(),
        error=_engine_error(mapping),
        bins=BINS,
        windows=tuple(
            Window(
                level=str(mapping.level.labels[k]),
                category=lines.category_names[int(origin[found.segment[k]])]
                if lines.is_univariate
                else "",
                low=float(found.low[k]),
                high=float(found.high[k]),
                center=float(found.middle[k]),
            )
            for k in range(found.center.size)
        ),
        explained=None
        if predictions is None
        else _variation_shares(predictions[0], predictions[1], lines.mass),
        boosted=boosted,
        boosted_rows=boosted_rows,
        misfit=misfit,
    )


def find_separation(mapping: SmoothContrast, columns: tuple[str, ...]) -> Unexamined | None:
    """Describe two groups that lie apart along the number; `None` if they share a window.

    Parameters
    ----------
    columns : the sensitive columns that the groups are values of.
    """
    if mapping.for_test.support.any():
        return None
    lines, along = mapping.lines, " and ".join(mapping.lines.columns)
    counts = np.ones(lines.scores.size) if lines.counts is None else lines.counts
    rows = np.bincount(lines.group.codes, counts, len(lines.group.labels)).astype(int).tolist()
    names = tuple(map(str, lines.group.labels))
    reason = f"they lie apart along {along}: {mapping.compared.reason()}"
    return Unexamined(names, dict(zip(names, rows, strict=True)), reason, columns)


def _engine_error(mapping: SmoothContrast) -> float:
    """Compute the root mean square of what rounding of score and number may add, over cells."""
    lines, compared = mapping.lines, mapping.compared
    if lines.widths is None:
        return 0.0
    cells, found, fitted = compared.cells, compared.windows, compared.fitted
    bins = lines.resolution * np.ones(cells.total.size)
    if isinstance(fitted, LocationScaleMap):
        # A bin of scores is wider or narrower at the center of the window.
        center: IntArray = found.of_cell
        at_center = cells.place(found.segment, found.center).read(fitted.scale)
        bins = bins * (at_center[center] / fitted.scale)
        mean = fitted.mean
    else:
        mean = np.diff(fitted.cdf, axis=1, prepend=0.0) @ fitted.values
    # The mean score changes with the number, from one neighbor to the other.
    number, segment = cells.mean(mapping.numbers), cells.of_segment
    before = np.maximum(np.arange(mean.size) - 1, cells.offsets[:-1][segment])
    after = np.minimum(np.arange(mean.size) + 1, cells.offsets[1:][segment] - 1)
    apart = number[after] - number[before]
    slope = np.abs(mean[after] - mean[before]) / np.where(apart > 0.0, apart, np.inf)
    rise = mapping.scale.size * slope * cells.mean(lines.widths)
    share = cells.total / cells.total.sum()
    return float(np.sqrt(share @ rise**2) + np.sqrt(share @ bins**2))


@dataclass(frozen=True, slots=True)
class Placebo:
    """How often the test of an audit rejects where there is nothing to find.

    Attributes
    ----------
    share : of the repetitions in which p is at most 5%.
    error : standard error of the share.
    p_values : of every repetition.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import likeforlike as lfl
    >>> rng = np.random.default_rng(0)
    >>> years = rng.gamma(3.0, 4.0, 1000)
    >>> sex = np.where(rng.random(1000) < years / (years + 12.0), "m", "f")
    >>> score = np.sqrt(years) + rng.normal(size=1000)
    >>> table = pl.DataFrame({"score": score, "sex": sex, "years": years})
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "years"}
    >>> placebo = lfl.audit(table, **roles, smooth="years", permutations=99).placebo(20)
    >>> placebo.share <= 0.25, len(placebo.p_values)
    (True, 20)
    """

    share: float
    error: float
    p_values: tuple[float, ...]


def placebo(
    lines: SmoothData,
    roles: Roles,
    columns: Sequence[str],
    groups: Sequence[Hashable],
    settings: Settings,
    *,
    repetitions: int,
    permutations: int,
) -> Placebo:
    """Draw labels from the chance that the numbers give, and test again and again.

    The mapping does not know labels, so one will do for all repetitions.
    """
    for name, count in (("repetitions", repetitions), ("permutations", permutations)):
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count!r}.")
    mapping = map_contrast(lines, roles, columns, groups, settings.random_state)
    chance = mapping.chance()
    rng = np.random.default_rng(settings.random_state)
    drawn = [_draw_contrast(mapping, chance, rng) for _ in range(repetitions)]
    p_values = [
        conditional_parity_test(
            contrast,
            level_weights(contrast, settings.measure),
            permutations=permutations,
            random_state=settings.random_state + number,
        ).p_value
        for number, contrast in enumerate(drawn)
        if contrast.support.any()
    ]
    share = float(np.mean(np.array(p_values) <= _SIGNIFICANCE))
    error = (share * (1.0 - share) / len(p_values)) ** 0.5
    return Placebo(share, error, tuple(p_values))


def _draw_contrast(
    mapping: SmoothContrast, chance: FloatArray, rng: np.random.Generator
) -> Contrast:
    """Draw labels anew for the mapped scores."""
    lines, compared, mapped = mapping.unit_lines, mapping.compared, mapping.compared.carried
    member = _draw_labels(lines, mapped, chance, rng)
    line = np.r_[mapped.line, mapped.line]
    rows = np.r_[mapped.rows - member, member]
    label = np.repeat(np.arange(2), mapped.line.size)
    # Windows that say nothing of the groups are no part of the test.
    kept = (rows > 0) & compared.speaks[compared.windows.of_line[line]]
    line = line[kept]
    values = mapping.scale.outward(np.r_[mapped.values, mapped.values][kept])
    level = Codes(mapping.level.codes[line], mapping.level.labels)
    group = Codes(label[kept], lines.group.labels)
    if lines.counts is not None:
        counts, width = rows[kept], lines.resolution
        cells = Cells.from_codes(level, group, values, counts=counts, resolution=width)
    else:
        weight, cluster = lines.weight, lines.cluster
        cells = Cells.from_codes(
            level,
            group,
            values,
            sample_weight=None if weight is None else weight[line],
            cluster=None if cluster is None else Codes(cluster.codes[line], cluster.labels),
        )
    return Contrast(cells, (0, 1))


def _draw_labels(
    lines: SmoothData, carried: MappedValues, chance: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Draw how many rows of each line are of the second group; clusters draw together."""
    if lines.cluster is None:
        return rng.binomial(carried.rows, chance[carried.line])
    codes, many = lines.cluster.codes, len(lines.cluster.labels)
    # A person whose rows have both labels, such as before and after, draws for every row.
    both = np.bincount(codes, lines.group.codes, many)
    mixed = (both > 0) & (both < np.bincount(codes, minlength=many))
    mean = np.bincount(codes, chance, many) / np.maximum(np.bincount(codes, minlength=many), 1)
    drawn = (rng.random(many) < mean).astype(np.int64)
    own = (rng.random(codes.size) < chance).astype(np.int64)
    return np.where(mixed[codes], own, drawn[codes])[carried.line]
