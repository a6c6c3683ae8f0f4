"""Disclosure control: a document that shows no single person.

An audit that is passed on says things about people, and where a level holds one woman it
says what she earns. This takes the figures of an audit and leaves what is about many:

- levels in which a person counts for more than one part in `limit` are shown together, and so are
  groups; two groups that only such levels could compare are not shown;
- every count is rounded to a multiple of the limit, so that no difference of counts is one;
- every average is rounded to half its standard error, so that no difference of averages is a score;
- histograms have round edges and bars of many;
- levels that hold one group only are counted together;
- what depends on the lowest and the highest score alone is left out.

A figure of one person is a figure in which one person counts for everything. So what may be shown
is decided by the largest part that a person has in it. In an average of n rows each has the part
1/n, so a limit of 10 is the usual rule "no fewer than ten"; and it holds for weights, for people
with several rows, and for averages over levels as well. An average known to all its digits can be
taken apart by subtraction; one rounded to half its standard error cannot, and says as much.

All views are made of the document, so it is done once, here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.auditing._comparisons import families, group_cells
from likeforlike.auditing._contrast_audit import SHOWN_LEVELS, Between, Examination
from likeforlike.auditing._tables import TableCells
from likeforlike.disparity import Cells, Contrast, Disparity, contrast_cdd_lp
from likeforlike.document import (
    OTHER_GROUPS,
    OTHER_LEVELS,
    AuditDocument,
    ContrastAudit,
    DataSummary,
    Distribution,
    EstimateResult,
    LevelAudit,
    LostRows,
    ObservedDisparity,
    OmnibusResult,
    OverallDisparity,
    ParityTest,
    Roles,
    Smooth,
    Unexamined,
)
from likeforlike.errors import InputError
from likeforlike.transport import sum_parts

_STEPS = (1.0, 2.0, 5.0, 10.0)
_FINE, _DECISION_BINS = 20, 24
_DUST = 1e-9
_ONE_GROUP = "levels that hold one group only"
_FEW_SHARED = "too few of them share a level for the comparison to be shown."
_FEW_ROWS = "they have too few rows to be shown."
_COUNTED = re.compile(r"\d+% of the measure")


def round_count(rows: float, limit: int) -> int:
    """Round rows to the nearest multiple of the limit; halves go up."""
    return limit * math.floor(rows / limit + 0.5)


def round_share(share: float, rows: float, limit: int) -> float:
    """Round a share of rows to the nearest that rows rounded to the limit could give."""
    step = limit / max(round_count(rows, limit), limit)
    return min(round(step * math.floor(share / step + 0.5), 4), 1.0)


def significant(value: float, digits: int = 2) -> float:
    """Round a number to some significant digits."""
    return float(f"{value:.{digits - 1}e}")


def round_p_value_up(p_value: float) -> float:
    """Round a p-value up to two digits: it may look like less evidence, never like more."""
    if not 0.0 < p_value < 1.0:
        return p_value
    step = 10.0 ** (math.floor(math.log10(p_value)) - 1)
    # What is written with two digits already stays as it is, whatever its last bit says.
    return min(significant(step * math.ceil(p_value / step * (1.0 - 1e-12))), 1.0)


def round_step(size: float) -> float:
    """Find the largest of 1, 2 and 5 times a power of ten up to a size; 0 where there is none."""
    if not 0.0 < size < math.inf:
        return 0.0
    power = math.floor(math.log10(size))
    lift = 30 if power < -290 else 0  # powers of ten end before numbers do
    leading = size * 10.0**lift / 10.0 ** (power + lift)
    fits = [step for step in _STEPS if step <= leading * (1.0 + 1e-12)]
    return float(f"{max(fits, default=0.0):.0f}e{power}")


@dataclass(frozen=True, slots=True)
class RoundingGrid:
    """Multiples of a step, which figures are rounded to.

    Attributes
    ----------
    step : 1, 2 or 5 times a power of ten; 0 leaves two significant digits.
    """

    step: float

    @classmethod
    def from_noise(cls, noise: float, figures: Sequence[float]) -> RoundingGrid:
        """Take half the noise as step; of figures without any, a tenth of the largest."""
        if 0.0 < noise < math.inf:
            return cls(round_step(noise / 2.0))
        return cls(round_step(max(map(abs, figures), default=0.0) / 10.0))

    def nearest(self, value: float) -> float:
        """Round to the nearest multiple."""
        return self._round(value, math.floor, 0.5)

    def below(self, value: float) -> float:
        """Round down."""
        return self._round(value, math.floor, 1e-9)

    def above(self, value: float) -> float:
        """Round up."""
        return self._round(value, math.ceil, -1e-9)

    def outward(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Round an interval so that it becomes longer; infinite ends stay."""
        low, high = ends
        return (
            self.below(low) if math.isfinite(low) else low,
            self.above(high) if math.isfinite(high) else high,
        )

    def _round(self, value: float, whole: Callable[[float], int], shift: float) -> float:
        times = value / self.step if self.step else math.inf
        if not math.isfinite(times):
            return significant(value)
        # As a decimal number: 3 x 0.1 would show what binary digits leave.
        return float(f"{whole(times + shift) * self.step:.15g}")


def coarse_histograms(
    cells: Cells, levels: Sequence[tuple[Hashable, str]], groups: Sequence[int], limit: int
) -> list[Distribution]:
    """Count scores of two groups in some levels, by label and name.

    Neighboring bins are put together until each has the limit of both groups; a level that would
    be left with a single one is not shown. The lowest and the highest edge are round numbers
    outside of all scores.
    """
    edges = _edges(cells)
    if edges is None:
        return []
    decisions = edges.size == _DECISION_BINS + 1
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for label, name in levels:
        first = position[label] * len(cells.groups)
        people, masses = zip(*(_bars(cells, first + g, edges) for g in groups), strict=True)
        ends = _ends(people, limit)
        if len(ends) < 3:
            continue
        shares = {}
        for g, mass in zip(groups, masses, strict=True):
            joined = mass if decisions else np.add.reduceat(mass, ends[:-1])
            shares[str(cells.groups[g])] = tuple(
                round(share, 2) for share in (joined / joined.sum()).tolist()
            )
        kept = tuple((edges if decisions else edges[ends]).tolist())
        shown.append(Distribution(name, kept, shares))
    return shown


def _edges(cells: Cells) -> FloatArray | None:
    """Choose round edges around all scores, or between decisions; `None` if there are none."""
    values = cells.atoms.values
    low, high = float(values.min()), float(values.max())
    if ((values == low) | (values == high)).all():
        return np.linspace(low, high, _DECISION_BINS + 1) if high > low else None
    wide = round_step(high / 2.0 - low / 2.0)
    if wide <= 0.0:
        return None
    first, last = math.floor(low / wide), math.ceil(high / wide)
    places = np.arange(first * _FINE, last * _FINE + 1, dtype=np.float64)
    edges = np.array([float(f"{place:.15g}") for place in (places * (wide / _FINE)).tolist()])
    return edges if np.isfinite(edges).all() and (np.diff(edges) > 0.0).all() else None


def _bars(cells: Cells, segment: int, edges: FloatArray) -> tuple[IntArray, FloatArray]:
    """Count people and add up their weights between the edges."""
    part = slice(int(cells.atoms.offsets[segment]), int(cells.atoms.offsets[segment + 1]))
    place = np.searchsorted(edges, cells.atoms.values[part], side="right") - 1
    # The last bin holds its upper edge.
    place = np.clip(place, 0, edges.size - 2)
    mass = sum_parts(place, cells.scaled()[0].atoms.mass[part], edges.size - 1)
    if cells.cluster is None:
        people = sum_parts(place, cells.atoms.counts[part].astype(np.float64), edges.size - 1)
    else:
        # A unit in several bins counts in one.
        _, first = np.unique(cells.cluster[part], return_index=True)
        people = np.bincount(place[first], minlength=edges.size - 1).astype(np.float64)
    return people.astype(np.int64), mass


def _ends(people: Sequence[IntArray], limit: int) -> list[int]:
    """Find where bins end that hold enough of every group, with 0 in front."""
    ends, held = [0], np.zeros(len(people), np.int64)
    for end, here in enumerate(np.stack(people, axis=1), start=1):
        held += here
        if (held >= limit).all():
            ends.append(end)
            held[:] = 0
    # Those left over belong to the last bin.
    return [*ends[:-1], people[0].size] if len(ends) > 1 else ends


def coarse_levels(
    contrast: ContrastAudit, merged: Sequence[bool], whole: RoundingGrid, limit: int
) -> list[LevelAudit]:
    """Round the figures of levels; those that are merged come last, as one.

    `whole` is what averages over all levels are rounded to.
    """
    rows = sum(contrast.rows)
    pairs = list(zip(contrast.levels, merged, strict=True))
    levels = [_round_level(each, rows, limit) for each, together in pairs if not together]
    others = [each for each, together in pairs if together]
    return [*levels, _merge_levels(others, rows, whole, limit)] if others else levels


def _round_level(level: LevelAudit, rows: int, limit: int) -> LevelAudit:
    """Round the figures of one level."""
    ends = level.gap_interval
    noise = 0.0 if ends is None else (ends[1] - ends[0]) / 4.0
    grid = RoundingGrid.from_noise(noise, [level.distance])
    chance, p_value, adjusted = level.null_distance, level.p_value, level.p_adjusted
    return replace(
        level,
        rows={group: round_count(n, limit) for group, n in level.rows.items()},
        weight=round_share(level.weight, rows, limit),
        distance=grid.nearest(level.distance),
        null_distance=None if chance is None else significant(chance),
        gap=grid.nearest(level.gap),
        gap_interval=None if ends is None else grid.outward(ends),
        contribution=round(level.contribution, 2),
        p_value=None if p_value is None else round_p_value_up(p_value),
        p_adjusted=None if adjusted is None else round_p_value_up(adjusted),
    )


def _merge_levels(
    levels: Sequence[LevelAudit], rows: int, whole: RoundingGrid, limit: int
) -> LevelAudit:
    """Merge levels with small cells into one: averages by their weights."""
    weight = sum(each.weight for each in levels)
    # No finer than subtracting the levels shown from the average of all would give.
    grid = RoundingGrid(round_step(whole.step / weight) if weight > 0.0 else 0.0)
    chances = [each.null_distance for each in levels]
    known = [chance for chance in chances if chance is not None]

    def average(figures: Sequence[float]) -> float:
        paid = sum(each.weight * x for each, x in zip(levels, figures, strict=True))
        return paid / weight if weight > 0.0 else 0.0

    return LevelAudit(
        level=OTHER_LEVELS,
        name=OTHER_LEVELS,
        rows={
            group: round_count(sum(each.rows[group] for each in levels), limit)
            for group in levels[0].rows
        },
        weight=round_share(weight, rows, limit),
        distance=grid.nearest(average([each.distance for each in levels])),
        null_distance=significant(average(known)) if len(known) == len(chances) else None,
        gap=grid.nearest(average([each.gap for each in levels])),
        gap_interval=None,
        contribution=round(sum(each.contribution for each in levels), 2),
        p_value=None,
        p_adjusted=None,
        thin=True,
    )


@dataclass(frozen=True, slots=True)
class Crowd:
    """The part of its cell that each person holds: what decides whether a person could be seen.

    Attributes
    ----------
    level, group : (m,) positions of a cell.
    person : (m,) integers, who; without clusters the heaviest row of the cell stands for all.
    part : (m,) floats, share of the weight of the cell.
    """

    level: IntArray
    group: IntArray
    person: IntArray
    part: FloatArray

    @classmethod
    def from_cells(cls, cells: Cells) -> Crowd:
        """Compute who holds how much of each cell."""
        atoms = cells.scaled()[0].atoms
        segment = np.repeat(np.arange(atoms.offsets.size - 1), np.diff(atoms.offsets))
        if cells.cluster is None:
            largest, there = np.zeros(atoms.offsets.size - 1), np.diff(atoms.offsets) > 0
            np.maximum.at(largest, segment, atoms.mass / atoms.counts)
            cell = np.flatnonzero(there)
            person, part = cell, largest[cell] / atoms.totals[cell]
        else:
            n_people = len(cells.cluster_labels)
            pairs, entry = np.unique(segment * n_people + cells.cluster, return_inverse=True)
            cell, person = np.divmod(pairs, n_people)
            part = np.bincount(entry, atoms.mass) / atoms.totals[cell]
        level, group = np.divmod(cell, len(cells.groups))
        return cls(level, group, person, part)

    def largest_part(self, levels: FloatArray, group: int) -> float:
        """Find the largest part that a person of a group has in an average over levels.

        `levels` (K,) says how much each level counts. Of levels that count nothing it is 1: no one
        can be hidden among none.
        """
        own = (self.group == group) & (levels[self.level] > 0.0)
        whole = float(levels.sum())
        if not own.any() or whole <= 0.0:
            return 1.0
        parts = np.bincount(self.person[own], levels[self.level[own]] * self.part[own])
        return float(parts.max()) / whole

    def hides(self, levels: FloatArray, groups: Sequence[int], limit: int) -> bool:
        """Whether an average over levels (K,), counted as these say, shows no one of the groups."""
        most = max(self.largest_part(levels, group) for group in groups)
        return most <= (1.0 + _DUST) / limit

    def levels_to_merge(
        self, measure: FloatArray, support: BoolArray, groups: Sequence[int], limit: int
    ) -> BoolArray:
        """Find levels that have to be shown together, shape (K,): those with a small cell.

        If only one is, or if all of them still show one person, the next smallest join them: what
        is missing in a list can be had by subtraction.
        """
        parts = np.zeros(support.size)
        own = np.isin(self.group, groups)
        np.maximum.at(parts, self.level[own], self.part[own])
        small = support & (parts > (1.0 + _DUST) / limit)
        if not small.any():
            return small
        others = np.flatnonzero(support & ~small)
        others = others[np.argsort(-parts[others], kind="stable")]
        taken, more = 0, 1
        while taken < others.size and (
            small.sum() < 2 or not self.hides(measure * small, groups, limit)
        ):
            small[others[taken : taken + more]] = True
            taken, more = taken + more, 2 * more
        return small


@dataclass(frozen=True)
class Disclosure:
    """What of an audit may be shown.

    Attributes
    ----------
    contrasts, unexamined, table, roles : of the audit.
    limit : no unit may count for more than one part in this number.
    cells : of each contrast, with scores as they are compared, and as they are.
    """

    contrasts: Sequence[Examination]
    unexamined: Sequence[Unexamined]
    table: TableCells
    roles: Roles
    limit: int
    cells: Sequence[tuple[Cells, Cells]]

    @cached_property
    def visible(self) -> list[bool]:
        """Whether each contrast is shown: no unit counts for much, in its levels or all rows."""
        shown = []
        for contrast, (cells, _) in zip(self.contrasts, self.cells, strict=True):
            crowd, groups = self._crowds[id(cells)], _positions(contrast, cells)
            pair = Contrast(cells, groups)
            compared = np.where(pair.support[:, None], pair.shares, 0.0)
            _, measure = _level_measure(contrast, cells)
            shown.append(
                crowd.hides(measure, groups, self.limit)
                and all(
                    crowd.hides(shares[:, side], [group], self.limit)
                    for shares in (pair.shares, compared)
                    for side, group in enumerate(groups)
                )
            )
        return shown

    @cached_property
    def _crowds(self) -> dict[int, Crowd]:
        """The crowds in the cells of the contrasts."""
        return {id(cells): Crowd.from_cells(cells) for cells, _ in self.cells}

    @cached_property
    def _families(self) -> dict[tuple[str, ...], Cells]:
        """Cells of the groups of every sensitive column, and of all of them crossed."""
        every = self.roles.all_sensitive
        return {each: group_cells(self.table.cells, each, every) for each in families(every)}

    @cached_property
    def _small_groups(self) -> set[tuple[tuple[str, ...], str]]:
        """Groups so small that to name them would be to name people, with their columns."""
        small = set()
        for columns, cells in self._families.items():
            whole, crowd = cells.mass.sum(axis=0), Crowd.from_cells(cells)
            shares = cells.mass / np.where(whole > 0.0, whole, 1.0)
            small |= {
                (columns, str(group))
                for g, group in enumerate(cells.groups)
                if not crowd.hides(shares[:, g], [g], self.limit)
            }
        return small

    def check_something_visible(self) -> None:
        """Raise if no contrast could be shown."""
        if not any(self.visible):
            raise InputError(
                f"with suppress_below={self.limit} there is nothing to show: in every comparison "
                f"single rows count for more than one part in {self.limit}. Use coarser levels or "
                "groups (--bins), or keep the audit to yourself and leave suppress_below out."
            )

    def suppress(self, document: AuditDocument) -> AuditDocument:
        """Leave out of the document of an audit what is about single people."""
        parts = zip(self.contrasts, self.cells, document.contrasts, self.visible, strict=True)
        omnibus = document.omnibus
        return replace(
            document,
            data=self._data(document.data),
            contrasts=tuple(
                self._contrast(each, *cells, part) for each, cells, part, shown in parts if shown
            ),
            omnibus=None
            if omnibus is None
            else OmnibusResult(round_p_value_up(omnibus.p_value), omnibus.groups),
            unexamined=tuple(
                replace(each, rows=self._count_each(each.rows)) for each in self.not_visible
            ),
        )

    @cached_property
    def basis(self) -> tuple[Examination, ...]:
        """Contrasts that are shown, with the intervals that are: what a verdict may rest on."""
        return tuple(
            replace(
                each,
                gap=replace(each.gap, interval=grid.outward(each.gap.interval)),
                estimate=each.estimate
                and replace(each.estimate, interval=grid.outward(each.estimate.interval)),
            )
            for each, shown in zip(self.contrasts, self.visible, strict=True)
            if shown
            for grid in [_grid(each)]
        )

    @cached_property
    def not_visible(self) -> tuple[Unexamined, ...]:
        """Who could not be compared, and who is not shown; small groups have no name."""
        apart = [
            Unexamined(
                each.groups, self._group_rows(each.columns, each.groups), _FEW_SHARED, each.columns
            )
            for each, shown in zip(self.contrasts, self.visible, strict=True)
            if not shown
        ]
        found = [each for each in [*self.unexamined, *apart] if not self._names_small_group(each)]
        for columns in dict.fromkeys(columns for columns, _ in sorted(self._small_groups)):
            small = [name for own, name in self._small_groups if own == columns]
            rows = sum(self._group_rows(columns, small).values())
            own = columns if self.roles.also_sensitive else ()
            found.append(Unexamined((OTHER_GROUPS,), {OTHER_GROUPS: rows}, _FEW_ROWS, own))
        return tuple(found)

    def between(
        self, found: Sequence[Between], apart: Sequence[Unexamined]
    ) -> tuple[tuple[Between, ...], tuple[Unexamined, ...]]:
        """Round what is known of groups that were each compared with a third one only.

        As for a contrast, intervals are made longer to where averages are rounded to; two groups of
        which one is small are listed as those that could not be compared.
        """
        shown, never = [], [each for each in apart if not self._names_small_group(each)]
        for each in found:
            if self._names_small_group(each):
                hidden = Unexamined((OTHER_GROUPS,), {}, _FEW_ROWS, each.columns)
                never += [] if hidden in never else [hidden]
                continue
            gap, distance = each.gap, each.estimate
            error = gap.error if gap.method != "none" else 0.0
            grid = RoundingGrid.from_noise(error, (abs(gap.value),))
            if distance is not None:
                distance = replace(distance, interval=grid.outward(distance.interval))
            gap = replace(gap, interval=grid.outward(gap.interval))
            rows = self._group_rows(each.columns, each.groups)
            coverage = {
                group: round_share(share, rows[group], self.limit)
                for group, share in each.coverage.items()
            }
            shown.append(each._replace(gap=gap, estimate=distance, coverage=coverage))
        return tuple(shown), tuple(never)

    def _names_small_group(self, each: Unexamined | Between) -> bool:
        return bool({(each.columns, name) for name in each.groups} & self._small_groups)

    def _group_rows(self, columns: tuple[str, ...], groups: Sequence[str]) -> dict[str, int]:
        """Count the rows of some groups."""
        cells = self._families[columns or tuple(self.roles.all_sensitive)]
        rows = zip(map(str, cells.groups), cells.counts.sum(axis=0).tolist(), strict=True)
        return {name: n for name, n in rows if name in groups}

    def _count(self, rows: float) -> int:
        return round_count(rows, self.limit)

    def _count_each(self, rows: Mapping[str, int]) -> dict[str, int]:
        return {name: round_count(n, self.limit) for name, n in rows.items()}

    def _data(self, data: DataSummary) -> DataSummary:
        """Round counts of rows, with small groups put together."""
        named: list[LostRows] = []
        small: dict[tuple[str, ...], list[LostRows]] = {}
        for each in self.table.lost:
            is_small = each.group is not None and (
                (each.columns, each.group) in self._small_groups
                or each.rows - each.lost < self.limit
            )
            (small.setdefault(each.columns, []) if is_small else named).append(each)
        named += [
            LostRows(OTHER_GROUPS, sum(e.rows for e in own), sum(e.lost for e in own), columns)
            for columns, own in small.items()
        ]
        return replace(
            data,
            rows=self._count(data.rows),
            used=self._count(data.used),
            missing=self._count_each(data.missing),
            lost=tuple(
                replace(each, rows=self._count(each.rows), lost=self._count(each.lost))
                for each in named
            ),
            # Exact figures of groups: with those of contrasts they would give rows away.
            loss_tests=(),
            groups=(),
            nulls={column: self._count_each(words) for column, words in data.nulls.items()},
            snapped=self._count(data.snapped),
        )

    def _contrast(
        self, contrast: Examination, cells: Cells, raw: Cells, part: ContrastAudit
    ) -> ContrastAudit:
        """Round the figures of a contrast, and merge levels with small cells.

        Parameters
        ----------
        cells, raw : with scores as they are compared, and as they are.
        """
        limit, grid = self.limit, _grid(contrast)
        groups, crowd = _positions(contrast, cells), self._crowds[id(cells)]
        overall = self._overall(contrast, raw, crowd)
        totals = overall.by_level.counts.sum(axis=0).tolist()
        places, measure = _level_measure(contrast, cells)
        support = np.zeros(measure.size, np.bool_)
        support[places] = True
        merged = crowd.levels_to_merge(measure, support, groups, limit)[places].tolist()
        levels = coarse_levels(part, merged, grid, limit)
        names = [each.name for each in levels[:SHOWN_LEVELS]]
        labels = [(each.level, each.name) for each in contrast.levels if each.name in names]
        coverage, thin_share = {}, {}
        for group, rows in zip(part.groups, totals, strict=True):
            thin = sum(each.rows[group] for each in levels if each.thin)
            most = round_share(part.coverage[group], rows, limit)
            coverage[group] = most
            thin_share[group] = min(round_share(thin / max(rows, 1), rows, limit), most)
        gap, bounds = part.gap, part.certificate
        first, second = (self._count(rows) for rows in part.rows)
        all_first, all_second = (self._count(rows) for rows in totals)
        return replace(
            part,
            rows=(first, second),
            unconditional=OverallDisparity(
                grid.nearest(overall.value), grid.nearest(overall.gap), (all_first, all_second)
            ),
            conditional=ObservedDisparity(
                grid.nearest(part.conditional.value), grid.nearest(part.conditional.gap)
            ),
            gap=replace(
                gap,
                value=grid.nearest(gap.value),
                interval=None if gap.interval is None else grid.outward(gap.interval),
                error=None if gap.error is None else significant(gap.error),
            ),
            estimate=part.estimate and self._estimate(part.estimate, grid, sum(part.rows)),
            p_value=None if part.p_value is None else round_p_value_up(part.p_value),
            test=part.test and _round_test(part.test, grid),
            certificate=None
            if bounds is None
            else replace(bounds, lower=grid.below(bounds.lower), upper=grid.above(bounds.upper)),
            compared_gap=None if part.compared_gap is None else grid.nearest(part.compared_gap),
            # What changing level costs is known from the lowest and the highest score.
            nested=None,
            coverage=coverage,
            thin_share=thin_share,
            # Rows of each group without an equal in the other, in all levels together.
            excluded={
                _ONE_GROUP: {
                    group: self._count(sum(each[group] for each in part.excluded.values()))
                    for group in part.groups
                }
            }
            if part.excluded
            else {},
            levels=tuple(levels),
            distributions=tuple(coarse_histograms(cells, labels, groups, limit)),
            smooth=part.smooth and _round_smooth(part.smooth, [each.name for each in levels], grid),
        )

    def _overall(self, contrast: Examination, raw: Cells, crowd: Crowd) -> Disparity:
        """Take all rows, or leave out those without equals where so few would show."""
        groups = _positions(contrast, raw)
        pair = Contrast(raw, groups)
        alone = np.where(pair.support[:, None], 0.0, pair.shares)
        if all(
            crowd.hides(alone[:, side], [group], self.limit)
            for side, group in enumerate(groups)
            if alone[:, side].any()
        ):
            return contrast.unconditional
        return contrast_cdd_lp(pair.narrow().supported().pool_levels())

    def _estimate(self, estimate: EstimateResult, grid: RoundingGrid, rows: int) -> EstimateResult:
        """Round an estimate of the distance."""
        (low, high), squared, reason = estimate.interval, estimate.squared, estimate.reason
        return replace(
            estimate,
            value=None if estimate.value is None else grid.nearest(estimate.value),
            interval=(grid.below(low), None if high is None else grid.above(high)),
            squared=None if squared is None else significant(squared),
            replicated=round_share(estimate.replicated, rows, self.limit),
            reason=None if reason is None else _COUNTED.sub("Part of the measure", reason),
            rounding=significant(estimate.rounding),
        )


def _grid(contrast: Examination) -> RoundingGrid:
    """Find what averages of a contrast are rounded to."""
    gap = contrast.gap
    figures = contrast.unconditional.value, contrast.conditional.value
    return RoundingGrid.from_noise(gap.error if gap.method != "none" else 0.0, figures)


def _positions(contrast: Examination, cells: Cells) -> tuple[int, int]:
    """Find the two groups among those of the cells."""
    names = [str(group) for group in cells.groups]
    first, second = contrast.groups
    return names.index(first), names.index(second)


def _level_measure(contrast: Examination, cells: Cells) -> tuple[IntArray, FloatArray]:
    """Find the levels of a contrast in its cells, and how much each of their K counts."""
    position = {level: k for k, level in enumerate(cells.levels)}
    places = np.array([position[each.level] for each in contrast.levels])
    measure = np.zeros(len(position))
    measure[places] = [each.weight for each in contrast.levels]
    return places, measure


def _round_test(test: ParityTest, grid: RoundingGrid) -> ParityTest:
    """Round the figures of a test."""
    chance, excess, detectable = test.null_distance, test.excess, test.detectable
    return replace(
        test,
        p_value=round_p_value_up(test.p_value),
        components={name: round_p_value_up(p) for name, p in test.components.items()},
        null_distance=None if chance is None else significant(chance),
        excess=None if excess is None else grid.nearest(excess),
        detectable=None if detectable is None else significant(detectable),
    )


def _round_smooth(smooth: Smooth, shown: Sequence[str], grid: RoundingGrid) -> Smooth:
    """Round how groups were compared along numbers, without the ends of windows."""
    binned, gap, p_value = smooth.confounding, smooth.gap_confounding, smooth.companion_p

    def pair(shares: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if shares is None else (round(shares[0], 2), round(shares[1], 2))

    return replace(
        smooth,
        mixing=significant(smooth.mixing),
        shared=round(smooth.shared, 2),
        confounding=None if binned is None else grid.nearest(binned),
        gap_confounding=None if gap is None else grid.nearest(gap),
        companion_p=None if p_value is None else round_p_value_up(p_value),
        jumps=tuple(significant(jump) for jump in smooth.jumps),
        error=significant(smooth.error),
        windows=tuple(
            replace(each, low=None, high=None, center=significant(each.center))
            for each in smooth.windows
            if each.level in shown
        ),
        explained=pair(smooth.explained),
        boosted=pair(smooth.boosted),
    )
