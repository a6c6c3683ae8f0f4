"""Two groups compared along a number: scores carried to the centres of windows.

Scores are carried twice: whatever the group, for the test, and with the gaps of the windows taken
out before, for the estimates. The windows are then levels like any others.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._features import propensity_scores
from likeforlike.auditing._lines import Lines, levels_along
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._contrasts import Contrast, contrasts
from likeforlike.smoothing._carried import Carried, carry, uniforms
from likeforlike.smoothing._carry import ScaleCarry, ValueCarry, few_values
from likeforlike.smoothing._companion import companion_p_value
from likeforlike.smoothing._cuts import Cuts, cut_at_jumps, uncut
from likeforlike.smoothing._fine_cells import FineCells
from likeforlike.smoothing._jumps import jumps
from likeforlike.smoothing._propensity import propensity
from likeforlike.smoothing._refined import refine
from likeforlike.smoothing._smoother import Coordinate
from likeforlike.smoothing._windows import Windows, windows
from likeforlike.transport._scale import Scale, scale_of

BINS = 10
"""Into how many bins a number would usually have been cut."""

SmoothMethod = Literal["carry", "propensity"]
"""Along what scores were carried: a number, or the estimated chance of belonging to a group."""


@dataclass(frozen=True, slots=True)
class Window:
    """A point of the curve of the gap along a number.

    Attributes
    ----------
    level : name of the window among the levels.
    category : the other legitimate features there; empty without any.
    low, high : lowest and highest number in the window.
    centre : the number that scores were carried to.

    Examples
    --------
    >>> from likeforlike.auditing import Window
    >>> Window("income up to 20,000", "", 8_000.0, 20_000.0, 15_400.0).centre
    15400.0
    """

    level: str
    category: str
    low: float
    high: float
    centre: float


@dataclass(frozen=True, slots=True)
class Smooth:
    """How two groups were compared along numbers, and what bins would have made of it.

    Attributes
    ----------
    columns : the numbers.
    method : "carry" along one number; "propensity" along the estimated chance of belonging to the
        second group, which stands for several numbers and categories. The disparity is then a lower
        bound of the one among people who are equal in all of them.
    windows : how many there are.
    bandwidth, coordinate : how the mean score was smoothed in the category with most rows: the
        half-width of the kernel as a part of the whole scale, and along what, the "rank" of the
        number, the "number" itself, or "none".
    confounding : distance with ten bins minus distance carried: what the width of bins would have
        added; `None` if either is unknown.
    gap_confounding : the same for the signed gap.
    companion_p : p-value of the generalised covariance measure, a second test that is hardly upset
        by jumps, and blind to differences that change sign along the number.
    jumps : numbers at which the mean score, or the share of a group, seems to jump.
    error : what bins of the engine may add to a distance, about; 0 for rows.
    curve : the windows, in the order of the number.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import likeforlike as lfl
    >>> rng = np.random.default_rng(0)
    >>> income = rng.lognormal(10.0, 0.5, 2000)
    >>> sex = np.where(rng.random(2000) < income / (income + 22_000.0), "m", "f")
    >>> score = np.log(income) / 20.0 + 0.02 * rng.normal(size=2000)
    >>> table = pl.DataFrame({"score": score, "sex": sex, "income": income})
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    >>> found = lfl.audit(table, **roles, smooth="income")
    >>> found.smooth.windows, found.smooth.method, found.p_value > 0.05
    (13, 'carry', True)
    """

    columns: tuple[str, ...]
    method: SmoothMethod
    windows: int
    bandwidth: float
    coordinate: Coordinate
    confounding: float | None
    gap_confounding: float
    companion_p: float | None
    jumps: tuple[float, ...]
    error: float
    curve: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Along:
    """Two groups on their way to windows: what a carry, a companion and a placebo need.

    Attributes
    ----------
    lines : of the groups compared.
    name : what they are compared along.
    numbers : (n,) floats, along what.
    cells, windows, level : fine cells, their windows, and the windows as levels.
    cuts : where categories are cut, since scores jump there; their parts are the segments of cells.
    scores : (n,) floats on the scale that everything is computed on.
    scale : back to the scores.
    fitted, carried : the carry, and where it brings each line.
    uniform : (n,) uniform numbers of the lines; empty if there are many different scores.
    """

    lines: Lines
    name: str
    numbers: FloatArray
    cells: FineCells
    windows: Windows
    level: Codes
    cuts: Cuts
    scores: FloatArray
    scale: Scale
    fitted: ScaleCarry | ValueCarry
    carried: Carried
    uniform: FloatArray

    @property
    def member(self) -> FloatArray:
        """1 for lines of the second group, 0 for those of the first."""
        return self.lines.group.codes.astype(np.float64)

    def chance(self) -> FloatArray:
        """The smoothed chance of belonging to the second group, (n,)."""
        return propensity(self.cells, self.member)[0]

    def contrast_of(self, carried: Carried) -> Contrast:
        """The groups in windows, with scores carried there."""
        values = self.scale.outward(carried.values)
        return _contrast(self.lines.cells(self.level, values, carried.line, carried.rows))

    def binned(self) -> Contrast:
        """The groups in ten bins, with scores as they are."""
        few = windows(_uncut_cells(self), self.numbers, BINS)
        bins = Codes(few.of_line, tuple(range(few.centre.size)))
        return _contrast(self.lines.cells(bins, self.lines.scores))

    def refined(self) -> Contrast:
        """The groups in windows, with the gaps taken out before the carry and added after."""
        return self.contrast_of(
            refine(
                self.cells,
                self.windows,
                self.scores,
                self.lines.group.codes,
                self.fitted,
                self.uniform,
            )
        )


def _contrast(cells: Cells) -> Contrast:
    return Contrast(cells, tuple(range(len(cells.groups))))


def along_numbers(lines: Lines, seed: int) -> Along:
    """Carry all lines to the centres of their windows.

    Along one number this is done inside each category; several numbers and categories are
    replaced by the chance of belonging to the second of two groups, and scores by what these
    features do not explain.
    """
    scale = scale_of(float(lines.scores.min()), float(lines.scores.max()), 2.0)
    scores = scale.inward(lines.scores)
    if lines.along_one:
        name, numbers, segment = lines.columns[0], lines.numbers[:, 0], lines.category
    else:
        name = f"estimated share of {lines.group.labels[1]}"
        numbers, scores = propensity_scores(lines, scores, seed)
        segment = np.zeros(numbers.size, np.int64)
    cells, cuts = lines.fine_cells(numbers, segment), uncut(segment)
    if lines.along_one:
        cuts = cut_at_jumps(cells, numbers, scores)
        cells = lines.fine_cells(numbers, cuts.segment) if cuts.numbers.size else cells
    found = windows(cells, numbers, cuts.shared(lines.windows, cells.rows))
    uniform = np.zeros(0)
    if few_values(scores) is not None:
        uniform = uniforms(cells, scores, lines.group.codes, seed)
    fitted, carried = carry(cells, found, scores, uniform)
    level = levels_along(lines, replace(found, segment=cuts.origin[found.segment]), name)
    return Along(
        lines, name, numbers, cells, found, level, cuts, scores, scale, fitted, carried, uniform
    )


class CarriedContrast(NamedTuple):
    """Two groups in the same windows, with scores for each purpose.

    Attributes
    ----------
    tested : scores carried whatever the group.
    refined : scores carried with the gaps of the windows taken out before and added after.
    everybody : scores as they are.
    binned : scores as they are, in ten bins.
    along : how they got there.
    """

    tested: Contrast
    refined: Contrast
    everybody: Contrast
    binned: Contrast
    along: Along


def carried_contrast(lines: Lines, groups: tuple[Hashable, ...], seed: int) -> CarriedContrast:
    """Two groups of the lines, carried on their own: others have no part in their curves."""
    along = along_numbers(lines.of_groups(groups), seed)
    tested = along.contrast_of(along.carried)
    raw = along.lines.cells(along.level, along.lines.scores)
    return CarriedContrast(tested, along.refined(), _contrast(raw), along.binned(), along)


def everybody_carried(lines: Lines, seed: int) -> Contrast | None:
    """All groups at once, for the omnibus test; `None` along several numbers."""
    if not lines.along_one:
        return None
    along = along_numbers(lines, seed)
    cells = along.contrast_of(along.carried).cells
    return contrasts(cells, "barycentre")[0]


def describe(
    carried: CarriedContrast,
    *,
    distances: tuple[float | None, float | None],
    gaps: tuple[float, float],
    seed: int,
    tested: bool,
) -> Smooth:
    """What is to be said about the carry; distances and gaps are those of ten bins and carried."""
    along = carried.along
    binned, own = distances
    largest = int(np.bincount(along.cells.segment, along.cells.rows).argmax())
    choice = along.fitted.choice
    return Smooth(
        columns=along.lines.columns,
        method="carry" if along.lines.along_one else "propensity",
        windows=along.windows.centre.size,
        bandwidth=float(choice.width[largest]),
        coordinate=choice.name(largest),
        confounding=None if binned is None or own is None else binned - own,
        gap_confounding=gaps[0] - gaps[1],
        companion_p=companion(along, seed) if tested else None,
        jumps=jump_numbers(along),
        error=_engine_error(along),
        curve=_curve(along),
    )


def companion(along: Along, seed: int) -> float:
    """p-value of the generalised covariance measure."""
    return companion_p_value(
        along.cells, along.fitted, along.scores, along.member, along.chance(), seed
    )


def jump_numbers(along: Along) -> tuple[float, ...]:
    """Numbers behind which the mean score or the share of a group jumps, a few digits each."""
    cells = along.cells
    behind = np.union1d(jumps(cells, along.scores), jumps(cells, along.member))
    others = {_last_number(along, int(cell)) for cell in behind}
    return tuple(sorted(others.union(along.cuts.numbers.tolist())))


def _uncut_cells(along: Along) -> FineCells:
    """Fine cells that know nothing of jumps."""
    if not along.cuts.numbers.size:
        return along.cells
    return along.lines.fine_cells(along.numbers, along.cuts.origin[along.cuts.segment])


def _last_number(along: Along, cell: int) -> float:
    return float(along.numbers[along.cells.cell == cell].max())


def _engine_error(along: Along) -> float:
    """Root mean square of what rounding of score and number may add, over the cells."""
    if along.lines.widths is None:
        return 0.0
    cells, fitted = along.cells, along.fitted
    bins = along.lines.resolution * np.ones(cells.total.size)
    if isinstance(fitted, ScaleCarry):
        bins = bins * _stretch(along, fitted)
    rise = along.scale.size * _slope(along) * cells.mean(along.lines.widths)
    share = cells.total / cells.total.sum()
    return float(np.sqrt(share @ rise**2) + np.sqrt(share @ bins**2))


def _slope(along: Along) -> FloatArray:
    """How much the mean score changes with the number, by cell, from one neighbour to the other."""
    cells, fitted = along.cells, along.fitted
    mean = fitted.mean if isinstance(fitted, ScaleCarry) else _value_mean(fitted)
    number, segment = cells.mean(along.numbers), cells.of_segment
    before = np.maximum(np.arange(mean.size) - 1, cells.offsets[:-1][segment])
    after = np.minimum(np.arange(mean.size) + 1, cells.offsets[1:][segment] - 1)
    apart = number[after] - number[before]
    slope: FloatArray = np.abs(mean[after] - mean[before]) / np.where(apart > 0.0, apart, np.inf)
    return slope


def _stretch(along: Along, fitted: ScaleCarry) -> FloatArray:
    """How much wider or narrower a bin of scores is at the centre of the window, by cell."""
    cells, found = along.cells, along.windows
    centre: IntArray = found.of_cell
    at_centre = cells.place(found.segment, found.centre).read(fitted.scale)
    stretch: FloatArray = at_centre[centre] / fitted.scale
    return stretch


def _value_mean(fitted: ValueCarry) -> FloatArray:
    steps = np.diff(fitted.law, axis=1, prepend=0.0)
    mean: FloatArray = steps @ fitted.values
    return mean


def _curve(along: Along) -> tuple[Window, ...]:
    found, names = along.windows, along.lines.category_names
    one = along.lines.along_one
    return tuple(
        Window(
            level=str(along.level.labels[k]),
            category=names[int(along.cuts.origin[found.segment[k]])] if one else "",
            low=float(found.low[k]),
            high=float(found.high[k]),
            centre=float(found.middle[k]),
        )
        for k in range(found.centre.size)
    )
