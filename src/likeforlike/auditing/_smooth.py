"""Two groups compared along a number: scores carried to the centers of windows.

Scores are carried twice: whatever the group, for the test, and with the gaps of the windows taken
out before, for the estimates. The windows are then levels like any others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, NoReturn

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._comparisons import family_names
from likeforlike.auditing._features import (
    Predicted,
    boosted_shares,
    explained_shares,
    propensity_scores,
)
from likeforlike.auditing._lines import BINS, Lines, levels_along
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes, unnamed
from likeforlike.disparity._contrasts import Contrast, contrasts
from likeforlike.document._request import Roles
from likeforlike.document._results import (
    Smooth,
    SmoothUnit,
    Unexamined,
    Window,
)
from likeforlike.errors import InputError
from likeforlike.smoothing._carried import Carried
from likeforlike.smoothing._carry import ScaleCarry, ValueCarry
from likeforlike.smoothing._companion import companion_p_value
from likeforlike.smoothing._comparison import Comparison, compare_along
from likeforlike.smoothing._jumps import jumps
from likeforlike.smoothing._overlap import Overlap
from likeforlike.smoothing._propensity import propensity
from likeforlike.smoothing._windows import windows
from likeforlike.transport._scale import Scale, scale_of

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
