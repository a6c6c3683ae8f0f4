"""Groups on their way to windows along a number: the one carry that everything is made of.

Audits, limits and repairs take the same steps: see how groups overlap (`_overlap`), cut curves at
jumps (`_cuts`), gather cells into windows, allow the smoothers that leave enough of the group, and
carry scores to the centers of the windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._carried import Carried, carry, uniforms
from likeforlike.smoothing._carry import ScaleCarry, ValueCarry, few_values
from likeforlike.smoothing._cuts import Cuts, cut_at_jumps, uncut
from likeforlike.smoothing._fine_cells import FineCells, fine_cells
from likeforlike.smoothing._overlap import (
    REASONS,
    Overlap,
    arrange_cells,
    find_overlap,
    restrict_smoothers,
    speaking_windows,
)
from likeforlike.smoothing._refined import refine
from likeforlike.smoothing._windows import Windows, windows


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lines of several groups, carried along a number.

    Attributes
    ----------
    cells, windows : fine cells and their windows.
    cuts : where segments are cut, since scores jump there; their parts are the segments of cells.
    overlap : how groups lie along the number, in every part.
    speaks : (K,) whether each window says something of the groups.
    scores, group : (n,) of every line.
    fitted, carried : the carry, and where it brings each line.
    uniform : (n,) uniform numbers of the lines; empty if there are many different scores.
    """

    cells: FineCells
    windows: Windows
    cuts: Cuts
    overlap: Overlap
    speaks: BoolArray
    scores: FloatArray
    group: IntArray
    fitted: ScaleCarry | ValueCarry
    carried: Carried
    uniform: FloatArray

    def refined(self) -> Carried:
        """The lines with gaps taken out before the carry and added after."""
        return refine(self.cells, self.windows, self.scores, self.group, self.fitted, self.uniform)

    def levels(self) -> tuple[IntArray, list[tuple[int, int]]]:
        """Windows as levels: (n,) codes, and window and group of those codes that are no window.

        Windows that say nothing become a level for each group, so that nothing is compared there.
        """
        silent = ~self.speaks[self.windows.of_line]
        if not silent.any():
            return self.windows.of_line, []
        n_groups = int(self.group.max()) + 1
        alone = self.windows.of_line * n_groups + self.group
        there, code = np.unique(alone[silent], return_inverse=True)
        level = self.windows.of_line.copy()
        level[silent] = self.speaks.size + code
        return level, [divmod(key, n_groups) for key in there.tolist()]

    def reason(self) -> str:
        """Why nothing can be compared, as the end of a sentence."""
        rows = np.bincount(self.cells.segment, self.cells.rows)
        apart = self.overlap.unit == "apart"
        largest = int(np.argmax(np.where(apart, rows, -1.0)))
        return REASONS[str(self.overlap.reason[largest]) if apart[largest] else "windows"]


def compare_along(
    cells: FineCells,
    numbers: FloatArray,
    scores: FloatArray,
    group: IntArray,
    *,
    overlap: Overlap | None = None,
    wanted: int | None = None,
    cut: bool = True,
    exact: bool = True,
    seed: int = 0,
) -> Comparison:
    """Carry scores (n,) of groups (n,) to the centers of windows along numbers (n,).

    Parameters
    ----------
    cells : fine cells of the lines along the numbers.
    overlap : how groups lie along the number, if that was found before.
    wanted : how many windows each segment has; `None` leaves it to their number of rows.
    cut : whether curves are cut where scores jump.
    exact : whether lines of several rows have the same number, and not only numbers nearby.
    seed : of the uniform numbers that few different scores need.
    """
    overlap = overlap or find_overlap(cells, group, scores, exact=exact)
    cells, cuts = arrange_cells(cells, overlap), uncut(cells.segment)
    if cut:
        cuts = cut_at_jumps(cells, numbers, scores)
    if cuts.numbers.size:
        overlap = overlap.of(cuts.origin)
        parts = fine_cells(
            numbers, cuts.segment, mass=cells.mass, rows=cells.rows, cluster=cells.cluster
        )
        cells = arrange_cells(parts, overlap)
    found = windows(cells, numbers, cuts.shared(wanted, cells.rows), group)
    cells, overlap = restrict_smoothers(cells, found.of_line, group, overlap)
    uniform = np.zeros(0)
    if few_values(scores) is not None:
        uniform = uniforms(cells, scores, group, seed)
    fitted, carried = carry(cells, found, scores, uniform)
    speaks, overlap = speaking_windows(cells, found.of_line, group, overlap, fitted.choice)
    return Comparison(cells, found, cuts, overlap, speaks, scores, group, fitted, carried, uniform)
