"""Two groups compared along a number: scores carried to the centers of windows.

Scores are carried twice: whatever the group, for the test, and with the gaps of the windows taken
out before, for the estimates. The windows are then levels like any others.

Lines of a table with the numbers that people are compared along: what a smooth audit is made of.

A line is a row, or stands for all rows with the same category, fine cell, group and bin of scores.

Several numbers and categories replaced by one: the chance of belonging to a group.

Under parity group and score are independent given e(L) = P(A | L), and scores enter without what L
explains of them. Both are predicted for every row from other rows.

Both predictions must be right for that. How much each explains of rows that it has not seen is
reported, next to what boosted trees explain on the same folds, where scikit-learn is installed:
trees find interactions that hat functions and their products miss.

Reference: Rosenbaum and Rubin (1983), *The central role of the propensity score*.

The placebo: the test of an audit along numbers, with labels that cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from operator import index
from typing import Literal, NamedTuple, NoReturn

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._text import date_words
from likeforlike.auditing._comparisons import family_names
from likeforlike.auditing._reading import bin_names, number_names, quantile_edges, roundest
from likeforlike.disparity import Cells, Codes, Contrast, contrasts, level_weights, unnamed
from likeforlike.document import Roles, Settings, Smooth, SmoothUnit, Unexamined, Window
from likeforlike.errors import InputError
from likeforlike.inference import contrast_test
from likeforlike.smoothing import (
    FOLDS,
    Carried,
    Comparison,
    FineCells,
    Overlap,
    ScaleCarry,
    SplineBasis,
    ValueCarry,
    Windows,
    companion_p_value,
    compare_along,
    cross_fit,
    fine_cells,
    jumps,
    propensity,
    windows,
)
from likeforlike.transport import Scale, moderate, scale_of

BINS = 10
"""Into how many bins a number would usually have been cut."""


@dataclass(frozen=True)
class Lines:
    """Rows with their numbers, or counts of rows by fine cell.

    Attributes
    ----------
    columns : the names of the q numbers.
    numbers : (n, q) floats.
    category : (n,) codes of the other legitimate columns together; one code without any.
    category_names : what to call each category in front of people; empty text without any.
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
    def along_one(self) -> bool:
        """Whether there is one number, inside categories or not."""
        return len(self.columns) == 1

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.scores.size if self.counts is None else int(self.counts.sum())

    def of_groups(self, labels: tuple[Hashable, ...]) -> Lines:
        """The lines of some groups, in this order; categories without them are gone."""
        if labels == self.group.labels:
            return self
        places = {label: g for g, label in enumerate(labels)}
        new = np.array([places.get(label, -1) for label in self.group.labels])
        return self._kept(new[self.group.codes] >= 0, Codes(new[self.group.codes], labels))

    def regrouped(self, names: Mapping[Hashable, Hashable]) -> Lines:
        """The lines with groups called anew; those without a name are gone."""
        labels = tuple(dict.fromkeys(names.values()))
        places = {label: k for k, label in enumerate(labels)}
        new = np.array([places[names[g]] if g in names else -1 for g in self.group.labels])
        return self._kept(new[self.group.codes] >= 0, Codes(new[self.group.codes], labels))

    def in_order(self) -> Lines:
        """The lines that weigh anything, in an order that does not depend on theirs.

        No sum may depend on the order rows come in.
        """
        kept = np.arange(self.scores.size) if self.weight is None else np.flatnonzero(self.weight)
        order = kept[np.argsort(self.numbers[kept, 0])]
        if (np.diff(self.numbers[order, 0]) == 0.0).any():
            keys = [self.scores, self.group.codes, self.category, *self.numbers.T[::-1]]
            keys = [self.weight, *keys] if self.weight is not None else keys
            keys = [self.cluster.codes, *keys] if self.cluster is not None else keys
            order = kept[np.lexsort([key[kept] for key in keys])]
        edges = self._bin_edges(order if self.weight is None else None)
        lines = replace(self._kept(order, self.group), edges=edges)
        if lines.weight is None:
            return lines
        return replace(lines, weight=moderate(lines.weight))

    def _bin_edges(self, order: IntArray | None = None) -> tuple[float, ...]:
        """Where `bins` would cut the number; `order` is that of all lines by it, if it is known."""
        if not self.along_one:
            return ()
        order = np.argsort(self.numbers[:, 0], kind="stable") if order is None else order
        ordered = self.numbers[order, 0]
        begins = np.flatnonzero(np.r_[True, np.diff(ordered) > 0.0])
        if self.counts is None:
            counts: IntArray = np.diff(begins, append=ordered.size)
        else:
            counts = np.add.reduceat(self.counts[order], begins)
        return quantile_edges(ordered[begins], counts, BINS)

    def binned(self) -> Cells:
        """Scores as they are in ten bins of the number, as `bins` would cut it."""
        edges = np.array(self.edges or self._bin_edges())
        code = self.category * (edges.size + 1) + np.searchsorted(edges, self.numbers[:, 0])
        there, level = np.unique(code, return_inverse=True)
        return self.cells(Codes(level, tuple(there.tolist())), self.scores)

    def _kept(self, kept: BoolArray | IntArray, group: Codes) -> Lines:
        there = np.bincount(self.category[kept], minlength=len(self.category_names)) > 0
        return replace(
            self,
            numbers=self.numbers[kept],
            category=(np.cumsum(there) - 1)[self.category[kept]],
            category_names=tuple(
                name for name, is_there in zip(self.category_names, there, strict=True) if is_there
            ),
            scores=self.scores[kept],
            group=Codes(group.codes[kept], group.labels),
            counts=None if self.counts is None else self.counts[kept],
            weight=None if self.weight is None else self.weight[kept],
            widths=None if self.widths is None else self.widths[kept],
            cluster=None
            if self.cluster is None
            else Codes(self.cluster.codes[kept], self.cluster.labels),
        )

    @cached_property
    def cells_inside(self) -> FineCells:
        """Fine cells along the one number, inside categories."""
        return self.fine_cells(self.numbers[:, 0], self.category)

    def fine_cells(self, numbers: FloatArray, segment: IntArray | None = None) -> FineCells:
        """Fine cells of the lines along any numbers (n,)."""
        return fine_cells(
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
        """Cells of scores in these levels; lines may have been split into parts of some rows."""
        if self.counts is not None:
            counts = self.counts if rows is None else rows
            line = np.arange(self.counts.size) if line is None else line
            return Cells.from_codes(
                Codes(level.codes[line], level.labels),
                Codes(self.group.codes[line], self.group.labels),
                scores,
                counts=counts,
                resolution=self.resolution,
            )
        return Cells.from_codes(
            level, self.group, scores, sample_weight=self.weight, cluster=self.cluster
        )


def levels_along(
    along: Windows,
    name: str,
    categories: Sequence[str],
    *,
    one_by_one: BoolArray | None = None,
    dates: bool = False,
) -> Codes:
    """The windows of every line as levels, called by their category and the numbers they hold.

    Parameters
    ----------
    categories : what to call each segment in front of people; empty text if there is one.
    one_by_one : (S,) segments in which each window is a number; `None` means none.
    dates : whether the numbers are days since 1970.
    """
    inner = np.diff(along.segment) == 0
    edges = [
        roundest(high, low, (high + low) / 2.0)
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


def raw_cells(lines: Lines) -> Cells:
    """Scores as they are, in the windows of all rows; one level along several numbers."""
    if not lines.along_one:
        return lines.cells(Codes(np.zeros(lines.scores.size, np.int64), ("all",)), lines.scores)
    along = windows(lines.cells_inside, lines.numbers[:, 0], lines.windows)
    name = lines.columns[0]
    level = levels_along(along, name, lines.category_names, dates=name in lines.dates)
    return lines.cells(level, lines.scores)


def check_smooth(
    columns: Sequence[str], windows: int | None, *, cut: Sequence[str], counted: bool
) -> tuple[str, ...]:
    """Columns to be smoothed along, checked."""
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
    _check_windows(windows, columns)
    return tuple(dict.fromkeys(columns))


def _check_windows(windows: int | None, columns: Sequence[str]) -> None:
    if windows is None:
        return
    if not columns:
        raise InputError("windows says how finely to look along smooth; name a column there.")
    try:
        wanted = index(windows)
    except TypeError as error:
        raise InputError(f"windows must be a whole number, not {windows!r}.") from error
    if wanted < 2:
        raise InputError(f"windows must be at least 2, not {windows}.")


_FEW_ROWS = 100
# Share of the variation of the group among rows with the same features.
_MIXED = 0.75
# Boosted trees, and the rows that they are tried on.
_TREES, _LEAVES, _MOST_BOOSTED = 40, 16, 20_000
_RATE, _BEYOND_CHANCE = 0.15, 3.0


class Predicted(NamedTuple):
    """What L says of the group and of the score of every line, by models that have not seen it.

    Attributes
    ----------
    targets, predicted : (n, 2) floats, group and score.
    fold : (n,) integers.
    """

    targets: FloatArray
    predicted: FloatArray
    fold: IntArray


def propensity_scores(
    lines: Lines, scores: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray, Predicted]:
    """e(L) of every line of two groups, its score without what L explains of it, and both.

    The mean of the scores stays, so that they read like scores.
    """
    if lines.rows < _FEW_ROWS:
        raise InputError(
            f"smooth along {len(lines.columns)} numbers needs at least {_FEW_ROWS} rows of the two "
            f"groups compared, not {lines.rows}; smooth along one, or cut the others into bins."
        )
    mass = np.ones(scores.size) if lines.weight is None else lines.weight
    known = SplineBasis(lines.numbers, lines.category)
    targets = np.stack([lines.group.codes.astype(np.float64), scores], axis=1)
    fold = _folds(lines, scores, seed)
    predicted = cross_fit(known, targets, mass, fold)
    predicted[:, 0] = np.clip(predicted[:, 0], 0.0, 1.0)
    chance, explained = predicted.T
    mean = float(mass @ scores / mass.sum())
    return chance, scores - explained + mean, Predicted(targets, predicted, fold)


def explained_shares(lines: Lines, found: Predicted) -> tuple[float, float]:
    """1 - Σ (y - ŷ)² / Σ (y - ȳ)² of group and score, of rows left out."""
    mass = np.ones(found.fold.size) if lines.weight is None else lines.weight
    group, score = _explained(found.targets, found.predicted, mass).tolist()
    return group, score


def _explained(targets: FloatArray, predicted: FloatArray, mass: FloatArray) -> FloatArray:
    mean = mass @ targets / mass.sum()
    whole = mass @ (targets - mean) ** 2
    missed = mass @ (targets - predicted) ** 2
    shares: FloatArray = 1.0 - missed / np.where(whole > 0.0, whole, 1.0)
    return shares


def boosted_shares(
    lines: Lines, found: Predicted, unit: IntArray | None, seed: int
) -> tuple[tuple[float, float], int, tuple[bool, bool]] | None:
    """The same of boosted trees: shares, on how many rows, and which are better beyond chance.

    On the same folds, of 20,000 rows at most. Losses are compared row by row, those of a unit (n,)
    together, and differ beyond chance by three standard errors. `None` without scikit-learn.
    """
    if (boost := _boosting()) is None:
        return None
    rng = np.random.default_rng(seed)
    key = np.arange(found.fold.size) if unit is None else unit
    order = np.argsort(rng.permutation(int(key.max()) + 1)[key], kind="stable")
    some = np.sort(order[:_MOST_BOOSTED])
    columns = np.column_stack([lines.numbers, lines.category])[some]
    targets, fold = found.targets[some], found.fold[some]
    mass = np.ones(some.size) if lines.weight is None else lines.weight[some]
    predicted = np.zeros(targets.shape)
    for k in range(FOLDS):
        inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if not inside.size:
            continue
        for t in range(2):
            predicted[inside, t] = boost(
                columns[others], targets[others, t], mass[others], columns[inside], t == 0
            )
    group, score = _explained(targets, predicted, mass).tolist()
    gain = (targets - found.predicted[some]) ** 2 - (targets - predicted) ** 2
    together = np.unique(key[some], return_inverse=True)[1]
    summed = np.stack([np.bincount(together, mass * column) for column in gain.T], axis=1)
    error = np.sqrt((summed**2).sum(axis=0))
    better = summed.sum(axis=0) > _BEYOND_CHANCE * np.where(error > 0.0, error, np.inf)
    return (group, score), some.size, (bool(better[0]), bool(better[1]))


def _boosting() -> Callable[..., FloatArray] | None:
    """Fit boosted trees to rows and predict others; `None` without scikit-learn."""
    if find_spec("sklearn") is None:
        return None
    with extra("train"):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

    def boost(
        columns: FloatArray,
        target: FloatArray,
        mass: FloatArray,
        others: FloatArray,
        chance: bool,
    ) -> FloatArray:
        if np.ptp(target) == 0.0:
            return np.full(others.shape[0], target[0])
        made = HistGradientBoostingClassifier if chance else HistGradientBoostingRegressor
        model = made(
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
        found: FloatArray = np.asarray(predicted, np.float64)
        return found

    return boost


def _folds(lines: Lines, scores: FloatArray, seed: int) -> IntArray:
    """A fold for every row, whatever order rows come in; rows of a cluster stay together.

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
        if (first[codes] != same).any() or _mixed(lines.group.codes, same):
            return rng.permutation(size)[codes] % FOLDS
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    if not _mixed(lines.group.codes, same):
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    keys = [lines.group.codes, scores, *keys]
    if lines.weight is not None:
        keys.insert(0, lines.weight)
    fold = np.empty(scores.size, np.int64)
    fold[np.lexsort(keys)] = rng.permutation(scores.size) % FOLDS
    return fold


def _mixed(group: IntArray, same: IntArray) -> bool:
    """Whether most of the variation of two groups lies among rows with the same features."""
    rows = np.bincount(same)
    share = np.bincount(same, group) / rows
    overall = float(group.mean())
    inside = float(rows @ (share * (1.0 - share)))
    return inside >= _MIXED * group.size * overall * (1.0 - overall)


_TARGETS: tuple[Literal["group", "score"], ...] = ("group", "score")


@dataclass(frozen=True, slots=True)
class Along:
    """Two groups on their way to windows: what a carry, a companion and a placebo need.

    Attributes
    ----------
    lines : of the groups compared.
    name : what they are compared along.
    numbers : (n,) floats, along what.
    compared : how they were carried there.
    level : the windows as levels; those that say nothing are a level for each group.
    scale : back to the scores.
    predicted : what several numbers and categories say of group and score; `None` along one.
    """

    lines: Lines
    name: str
    numbers: FloatArray
    compared: Comparison
    level: Codes
    scale: Scale
    predicted: Predicted | None = None

    @property
    def member(self) -> FloatArray:
        """1 for lines of the second group, 0 for those of the first."""
        return self.lines.group.codes.astype(np.float64)

    @property
    def carried(self) -> Carried:
        """Where the carry brings each line, whatever its group."""
        return self.compared.carried

    @property
    def unit_lines(self) -> Lines:
        """The lines with the clusters that they are compared by."""
        if not (self.compared.overlap.unit == "units").any():
            return self.lines
        return replace(self.lines, cluster=unnamed(self.compared.cells.cluster))

    def chance(self) -> FloatArray:
        """The smoothed chance of belonging to the second group, (n,)."""
        return propensity(self.compared.cells, self.member)[0]

    def contrast_of(self, carried: Carried) -> Contrast:
        """The groups in windows, with scores carried there."""
        values = self.scale.outward(carried.values)
        return _contrast(self.unit_lines.cells(self.level, values, carried.line, carried.rows))

    def binned(self) -> Contrast:
        """The groups in ten bins, with scores as they are.

        Along one number they are what `bins` makes of it; else they are bins of the chance.
        """
        if self.lines.along_one:
            return _contrast(self.lines.binned())
        few = windows(self.lines.fine_cells(self.numbers), self.numbers, BINS)
        bins = Codes(few.of_line, tuple(range(few.center.size)))
        return _contrast(self.lines.cells(bins, self.lines.scores))

    def refined(self) -> Contrast:
        """The groups in windows, with gaps taken out before the carry and added after."""
        return self.contrast_of(self.compared.refined())


def _contrast(cells: Cells) -> Contrast:
    return Contrast(cells, tuple(range(len(cells.groups))))


def along_numbers(lines: Lines, seed: int) -> Along:
    """Carry all lines to the centers of their windows.

    Along one number this is done inside each category; several numbers and categories are
    replaced by the chance of belonging to the second of two groups, and scores by what these
    features do not explain.
    """
    scale = scale_of(float(lines.scores.min()), float(lines.scores.max()), 2.0)
    scores, predicted = scale.inward(lines.scores), None
    if lines.along_one:
        name, numbers, cells = lines.columns[0], lines.numbers[:, 0], lines.cells_inside
    else:
        name = f"estimated share of {lines.group.labels[1]}"
        numbers, scores, predicted = propensity_scores(lines, scores, seed)
        cells = lines.fine_cells(numbers)
    compared = compare_along(
        cells,
        numbers,
        scores,
        lines.group.codes,
        wanted=lines.windows,
        cut=lines.along_one,
        exact=lines.counts is None,
        seed=seed,
    )
    level = _levels(lines, compared, name)
    return Along(lines, name, numbers, compared, level, scale, predicted)


def _levels(lines: Lines, compared: Comparison, name: str) -> Codes:
    """Windows as levels; one that says nothing is called after the group that is alone there."""
    found, origin = compared.windows, compared.cuts.origin
    parts = replace(found, segment=origin[found.segment])
    still = np.zeros(int(origin.max()) + 1, bool)
    still[origin[compared.overlap.unit == "numbers"]] = True
    categories = lines.category_names if lines.along_one else ("",)
    level = levels_along(parts, name, categories, one_by_one=still, dates=name in lines.dates)
    codes, alone = compared.levels()
    labels = [f"{level.labels[window]}, {lines.group.labels[g]} only" for window, g in alone]
    return Codes(codes, (*level.labels, *labels))


class CarriedContrast(NamedTuple):
    """Two groups in the same windows, with scores for each purpose.

    Attributes
    ----------
    tested : scores carried whatever the group.
    refined : scores carried with the gaps of the windows taken out before and added after.
    together : scores as they are.
    binned : scores as they are, in ten bins.
    along : how they got there.
    """

    tested: Contrast
    refined: Contrast
    together: Contrast
    binned: Contrast
    along: Along


def carried_contrast(lines: Lines, groups: tuple[Hashable, ...], seed: int) -> CarriedContrast:
    """Two groups of the lines, carried on their own: others have no part in their curves."""
    along = along_numbers(lines.of_groups(groups), seed)
    tested = along.contrast_of(along.carried)
    raw = along.lines.cells(along.level, along.lines.scores)
    return CarriedContrast(tested, along.refined(), _contrast(raw), along.binned(), along)


def carried_along(
    lines: Lines, roles: Roles, columns: Sequence[str], groups: Sequence[Hashable], seed: int
) -> CarriedContrast:
    """Two groups of some sensitive columns, carried; the groups may be named as text."""
    if roles.also_sensitive:
        lines = lines.regrouped(family_names(lines.group.labels, columns, roles.all_sensitive)[0])
    labels = {str(label): label for label in lines.group.labels}
    return carried_contrast(lines, tuple(labels[str(group)] for group in groups), seed)


def all_carried(lines: Lines, seed: int) -> Contrast | None:
    """All groups at once, for the omnibus test; `None` along several numbers."""
    if not lines.along_one:
        return None
    along = along_numbers(lines, seed)
    together = contrasts(along.contrast_of(along.carried).cells, "barycenter")[0]
    return together if together.support.any() else None


def describe(
    carried: CarriedContrast,
    *,
    distances: tuple[float | None, float | None],
    gaps: tuple[float | None, float],
    seed: int,
    tested: bool,
) -> Smooth:
    """What is to be said about the carry; distances and gaps are those of ten bins and carried."""
    along = carried.along
    binned, own = distances
    compared, overlap = along.compared, along.compared.overlap
    rows = np.bincount(compared.cells.segment, compared.cells.rows)
    largest = int(np.argmax(np.where(overlap.unit == "apart", 0.0, rows)))
    choice = compared.fitted.choice
    boosted = None
    if along.predicted is not None and tested:
        boosted = boosted_shares(along.lines, along.predicted, compared.cells.cluster, seed)
    better = (False, False) if boosted is None else boosted[2]
    return Smooth(
        columns=along.lines.columns,
        method="carry" if along.lines.along_one else "propensity",
        units=_units(overlap, largest),
        mixing=float(overlap.mixing[largest]),
        shared=float(rows @ overlap.shared / rows.sum()),
        bandwidth=float(choice.width[largest]),
        coordinate=choice.name(largest),
        confounding=None if binned is None or own is None else binned - own,
        gap_confounding=None if gaps[0] is None else gaps[0] - gaps[1],
        companion_p=companion(along, seed) if tested else None,
        jumps=jump_numbers(along),
        error=_engine_error(along),
        bins=BINS,
        windows=_curve(along),
        explained=None
        if along.predicted is None
        else explained_shares(along.lines, along.predicted),
        boosted=None if boosted is None else boosted[0],
        boosted_rows=0 if boosted is None else boosted[1],
        misfit=tuple(name for name, is_better in zip(_TARGETS, better, strict=True) if is_better),
    )


def _units(overlap: Overlap, segment: int) -> SmoothUnit:
    """What was compared in a segment; clusters are units where their rows do not mix."""
    if overlap.unit[segment] == "numbers":
        return "numbers"
    return "units" if overlap.held[segment] else "rows"


def unexamined_along(carried: CarriedContrast, columns: tuple[str, ...]) -> Unexamined | None:
    """Two groups that lie apart along the number; `None` if there is a window to compare them in.

    Parameters
    ----------
    columns : the sensitive columns that the groups are values of.
    """
    if carried.tested.support.any():
        return None
    lines, along = carried.along.lines, " and ".join(carried.along.lines.columns)
    counts = np.ones(lines.scores.size) if lines.counts is None else lines.counts
    rows = np.bincount(lines.group.codes, counts, len(lines.group.labels)).astype(int).tolist()
    names = tuple(map(str, lines.group.labels))
    why = carried.along.compared.reason()
    reason = f"they lie apart along {along}: {why}"
    return Unexamined(names, dict(zip(names, rows, strict=True)), reason, columns)


def refuse_apart(unexamined: Unexamined) -> NoReturn:
    """Refuse an audit of nothing but groups that lie apart."""
    raise InputError(
        f"{' and '.join(unexamined.groups)} cannot be compared: {unexamined.reason} Name the place "
        "or person that rows belong to with cluster, cut the numbers into bins, or, if a file was "
        "counted by an engine, audit its rows."
    )


def companion(along: Along, seed: int) -> float:
    """p-value of the generalized covariance measure."""
    compared = along.compared
    return companion_p_value(
        compared.cells, compared.fitted, compared.scores, along.member, along.chance(), seed
    )


def jump_numbers(along: Along) -> tuple[float, ...]:
    """Numbers behind which the mean score or the share of a group jumps, a few digits each."""
    cells, cuts = along.compared.cells, along.compared.cuts
    behind = np.union1d(jumps(cells, along.compared.scores), jumps(cells, along.member))
    others = {_last_number(along, int(cell)) for cell in behind}
    return tuple(sorted(others.union(cuts.numbers.tolist())))


def _last_number(along: Along, cell: int) -> float:
    return float(along.numbers[along.compared.cells.cell == cell].max())


def _engine_error(along: Along) -> float:
    """Root mean square of what rounding of score and number may add, over the cells."""
    if along.lines.widths is None:
        return 0.0
    cells, fitted = along.compared.cells, along.compared.fitted
    bins = along.lines.resolution * np.ones(cells.total.size)
    if isinstance(fitted, ScaleCarry):
        bins = bins * _stretch(along, fitted)
    rise = along.scale.size * _slope(along) * cells.mean(along.lines.widths)
    share = cells.total / cells.total.sum()
    return float(np.sqrt(share @ rise**2) + np.sqrt(share @ bins**2))


def _slope(along: Along) -> FloatArray:
    """How much the mean score changes with the number, by cell, from one neighbor to the other."""
    cells, fitted = along.compared.cells, along.compared.fitted
    mean = fitted.mean if isinstance(fitted, ScaleCarry) else _value_mean(fitted)
    number, segment = cells.mean(along.numbers), cells.of_segment
    before = np.maximum(np.arange(mean.size) - 1, cells.offsets[:-1][segment])
    after = np.minimum(np.arange(mean.size) + 1, cells.offsets[1:][segment] - 1)
    apart = number[after] - number[before]
    slope: FloatArray = np.abs(mean[after] - mean[before]) / np.where(apart > 0.0, apart, np.inf)
    return slope


def _stretch(along: Along, fitted: ScaleCarry) -> FloatArray:
    """How much wider or narrower a bin of scores is at the center of the window, by cell."""
    cells, found = along.compared.cells, along.compared.windows
    center: IntArray = found.of_cell
    at_center = cells.place(found.segment, found.center).read(fitted.scale)
    stretch: FloatArray = at_center[center] / fitted.scale
    return stretch


def _value_mean(fitted: ValueCarry) -> FloatArray:
    steps = np.diff(fitted.cdf, axis=1, prepend=0.0)
    mean: FloatArray = steps @ fitted.values
    return mean


def _curve(along: Along) -> tuple[Window, ...]:
    found, names = along.compared.windows, along.lines.category_names
    origin, one = along.compared.cuts.origin, along.lines.along_one
    return tuple(
        Window(
            level=str(along.level.labels[k]),
            category=names[int(origin[found.segment[k]])] if one else "",
            low=float(found.low[k]),
            high=float(found.high[k]),
            center=float(found.middle[k]),
        )
        for k in range(found.center.size)
    )


_SIGNIFICANCE = 0.05


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
    lines: Lines,
    groups: tuple[Hashable, ...],
    settings: Settings,
    repetitions: int,
    permutations: int,
) -> Placebo:
    """Draw labels from the chance that the numbers give, and test again and again.

    The carry does not know labels, so one will do for all repetitions.
    """
    for name, count in (("repetitions", repetitions), ("permutations", permutations)):
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count!r}.")
    along = along_numbers(lines.of_groups(groups), settings.random_state)
    chance = along.chance()
    rng = np.random.default_rng(settings.random_state)
    tested = [_drawn(along, chance, rng) for _ in range(repetitions)]
    p_values = [
        contrast_test(
            contrast,
            level_weights(contrast, settings.measure),
            permutations=permutations,
            random_state=settings.random_state + number,
        ).p_value
        for number, contrast in enumerate(tested)
        if contrast.support.any()
    ]
    share = float(np.mean(np.array(p_values) <= _SIGNIFICANCE))
    error = (share * (1.0 - share) / len(p_values)) ** 0.5
    return Placebo(share, error, tuple(p_values))


def _drawn(along: Along, chance: FloatArray, rng: np.random.Generator) -> Contrast:
    """The carried scores with labels drawn anew."""
    lines, carried = along.unit_lines, along.carried
    member = _labels(lines, carried, chance, rng)
    line = np.r_[carried.line, carried.line]
    rows = np.r_[carried.rows - member, member]
    label = np.repeat(np.arange(2), carried.line.size)
    # Windows that say nothing of the groups are no part of the test.
    kept = (rows > 0) & along.compared.speaks[along.compared.windows.of_line[line]]
    line, rows, label = line[kept], rows[kept], label[kept]
    values = np.r_[carried.values, carried.values][kept]
    drawn = replace(
        lines,
        numbers=lines.numbers[line],
        category=lines.category[line],
        scores=values,
        group=Codes(label, lines.group.labels),
        counts=None if lines.counts is None else rows,
        weight=None if lines.weight is None else lines.weight[line],
        cluster=None
        if lines.cluster is None
        else Codes(lines.cluster.codes[line], lines.cluster.labels),
    )
    level = Codes(along.level.codes[line], along.level.labels)
    return Contrast(drawn.cells(level, along.scale.outward(values)), (0, 1))


def _labels(
    lines: Lines, carried: Carried, chance: FloatArray, rng: np.random.Generator
) -> IntArray:
    """How many rows of each carried line are of the second group; clusters draw together."""
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
