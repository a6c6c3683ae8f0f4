"""Lines of a table with the numbers that people are compared along: what a smooth audit is made of.

A line is a row, or stands for all rows with the same category, fine cell, group and bin of scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._text import date_words
from likeforlike.auditing._bins import bin_names, number_names, quantile_edges, roundest
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.errors import InputError
from likeforlike.smoothing._fine_cells import FineCells, fine_cells
from likeforlike.smoothing._windows import Windows, windows
from likeforlike.transport._scale import moderate

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
