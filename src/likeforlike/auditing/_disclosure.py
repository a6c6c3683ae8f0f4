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

Everything that people see is made of the document, so it is done once, here.

Histograms in which every bar stands for many, between edges that are no row's score.

Levels of a document of which none is about few people.

How much single people count, and which levels have to be shown together for it.

A figure of one person is a figure in which one person counts for everything. So what may be shown
is decided by the largest part that a person has in it: with a limit of 10 it is a tenth at most. In
an average of n rows each has the part 1/n, so this is the usual rule "no fewer than ten"; and it
holds for weights, for people with several rows, and for averages over levels as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.auditing._comparisons import families, family_of
from likeforlike.auditing._contrast_audit import (
    Between,
    Examination,
    Grid,
    coarse_count,
    coarse_p,
    coarse_share,
    noise_grid,
    round_step,
    significant,
)
from likeforlike.auditing._tables import TableCells
from likeforlike.disparity import Cells, Contrast, Disparity, contrast_disparity
from likeforlike.document import (
    OTHER_GROUPS,
    OTHER_LEVELS,
    AuditDocument,
    ContrastAudit,
    DataSummary,
    Distribution,
    EstimateResult,
    GapResult,
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
from likeforlike.transport import sums_by

_FINE, _DECISION_BINS = 20, 24


def coarse_histograms(
    cells: Cells, levels: Sequence[tuple[Hashable, str]], groups: Sequence[int], limit: int
) -> list[Distribution]:
    """Scores of two groups in some levels, by label and name.

    Neighboring bins are put together until each has the limit of both groups; a level that would
    be left with a single one is not shown. The lowest and the highest edge are round numbers
    outside of all scores.
    """
    edges = _edges(cells)
    if edges is None:
        return []
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for label, name in levels:
        bars = [_bars(cells, position[label] * len(cells.groups) + g, edges) for g in groups]
        ends = _ends([each.people for each in bars], limit)
        if len(ends) < 3:
            continue
        decisions = edges.size == _DECISION_BINS + 1
        shares = {
            str(cells.groups[g]): _shares(each.mass, None if decisions else ends)
            for g, each in zip(groups, bars, strict=True)
        }
        kept = tuple((edges if decisions else edges[ends]).tolist())
        shown.append(Distribution(name, kept, shares))
    return shown


def _edges(cells: Cells) -> FloatArray | None:
    """Round edges around all scores; the two values of decisions; `None` if there are none."""
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


class _Bars(NamedTuple):
    """What lies between the edges: how many people, and what they weigh."""

    people: IntArray
    mass: FloatArray


def _bars(cells: Cells, segment: int, edges: FloatArray) -> _Bars:
    part = slice(int(cells.atoms.offsets[segment]), int(cells.atoms.offsets[segment + 1]))
    place = np.searchsorted(edges, cells.atoms.values[part], side="right") - 1
    # The last bin holds its upper edge.
    place = np.clip(place, 0, edges.size - 2)
    mass = sums_by(place, cells.scaled()[0].atoms.mass[part], edges.size - 1)
    if cells.cluster is None:
        people = sums_by(place, cells.atoms.counts[part].astype(np.float64), edges.size - 1)
    else:
        # A unit in several bins counts in one.
        _, first = np.unique(cells.cluster[part], return_index=True)
        people = np.bincount(place[first], minlength=edges.size - 1).astype(np.float64)
    return _Bars(people.astype(np.int64), mass)


def _ends(people: Sequence[IntArray], limit: int) -> list[int]:
    """Where bins end that hold enough of every group, with 0 in front."""
    ends, held = [0], np.zeros(len(people), np.int64)
    for end, here in enumerate(np.stack(people, axis=1), start=1):
        held += here
        if (held >= limit).all():
            ends.append(end)
            held[:] = 0
    # Who is left over belongs to the last bin.
    return [*ends[:-1], people[0].size] if len(ends) > 1 else ends


def _shares(mass: FloatArray, ends: Sequence[int] | None) -> tuple[float, ...]:
    """What part of the weight lies in each bin."""
    joined = mass if ends is None else np.add.reduceat(mass, ends[:-1])
    return tuple(round(share, 2) for share in (joined / joined.sum()).tolist())


def coarse_levels(
    contrast: ContrastAudit, merged: Sequence[bool], whole: Grid, limit: int
) -> list[LevelAudit]:
    """The levels of a contrast with rounded figures; those that are merged come last, as one.

    `whole` is what averages over all levels are rounded to.
    """
    rows = sum(contrast.rows)
    pairs = list(zip(contrast.levels, merged, strict=True))
    levels = [_level(each, rows, limit) for each, together in pairs if not together]
    others = [each for each, together in pairs if together]
    return [*levels, _other_levels(others, rows, whole, limit)] if others else levels


def thin_shares(
    levels: Sequence[LevelAudit], contrast: ContrastAudit, totals: Sequence[int], limit: int
) -> dict[str, float]:
    """Share of each group in levels that are shown as thin."""
    shares = {}
    for group, rows in zip(contrast.groups, totals, strict=True):
        thin = sum(each.rows[group] for each in levels if each.thin)
        most = coarse_share(contrast.coverage[group], rows, limit)
        shares[group] = min(coarse_share(thin / max(rows, 1), rows, limit), most)
    return shares


def _level(level: LevelAudit, rows: int, limit: int) -> LevelAudit:
    ends = level.gap_interval
    grid = noise_grid(0.0 if ends is None else (ends[1] - ends[0]) / 4.0, [level.distance])
    chance, p_value, adjusted = level.null_distance, level.p_value, level.p_adjusted
    return replace(
        level,
        rows={group: coarse_count(n, limit) for group, n in level.rows.items()},
        weight=coarse_share(level.weight, rows, limit),
        distance=grid.nearest(level.distance),
        null_distance=None if chance is None else significant(chance),
        gap=grid.nearest(level.gap),
        gap_interval=None if ends is None else (grid.below(ends[0]), grid.above(ends[1])),
        contribution=round(level.contribution, 2),
        p_value=None if p_value is None else coarse_p(p_value),
        p_adjusted=None if adjusted is None else coarse_p(adjusted),
    )


def _other_levels(levels: Sequence[LevelAudit], rows: int, whole: Grid, limit: int) -> LevelAudit:
    """Levels with small cells as one: averages by their weights."""
    weight = sum(each.weight for each in levels)
    # No finer than subtracting the levels shown from the average of all would give.
    grid = Grid(round_step(whole.step / weight) if weight > 0.0 else 0.0)
    chances = [each.null_distance for each in levels]
    known = [chance for chance in chances if chance is not None]

    def average(figures: Sequence[float]) -> float:
        paid = sum(each.weight * x for each, x in zip(levels, figures, strict=True))
        return paid / weight if weight > 0.0 else 0.0

    return LevelAudit(
        level=OTHER_LEVELS,
        name=OTHER_LEVELS,
        rows={
            group: coarse_count(sum(each.rows[group] for each in levels), limit)
            for group in levels[0].rows
        },
        weight=coarse_share(weight, rows, limit),
        distance=grid.nearest(average([each.distance for each in levels])),
        null_distance=significant(average(known)) if len(known) == len(chances) else None,
        gap=grid.nearest(average([each.gap for each in levels])),
        gap_interval=None,
        contribution=round(sum(each.contribution for each in levels), 2),
        p_value=None,
        p_adjusted=None,
        thin=True,
    )


_DUST = 1e-9


@dataclass(frozen=True, slots=True)
class People:
    """What part of their cell people hold.

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

    def largest(self, levels: FloatArray, group: int) -> float:
        """The largest part that a person of a group has in an average over levels.

        `levels` (K,) says how much each level counts. Of levels that count nothing it is 1: no one
        can be hidden among none.
        """
        own = (self.group == group) & (levels[self.level] > 0.0)
        whole = float(levels.sum())
        if not own.any() or whole <= 0.0:
            return 1.0
        parts = np.bincount(self.person[own], levels[self.level[own]] * self.part[own])
        return float(parts.max()) / whole

    def largest_by_level(self, groups: tuple[int, ...], n_levels: int) -> FloatArray:
        """The largest part that a person of any of the groups has in each level, shape (K,)."""
        largest = np.zeros(n_levels)
        own = np.isin(self.group, groups)
        np.maximum.at(largest, self.level[own], self.part[own])
        return largest


def people_of(cells: Cells) -> People:
    """Who holds how much of each cell."""
    atoms = cells.scaled()[0].atoms
    segment = np.repeat(np.arange(atoms.offsets.size - 1), np.diff(atoms.offsets))
    if cells.cluster is None:
        held, there = np.zeros(atoms.offsets.size - 1), np.diff(atoms.offsets) > 0
        np.maximum.at(held, segment, atoms.mass / atoms.counts)
        cell = np.flatnonzero(there)
        person, part = cell, held[cell] / atoms.totals[cell]
    else:
        n_people = len(cells.cluster_labels)
        pairs, entry = np.unique(segment * n_people + cells.cluster, return_inverse=True)
        cell, person = np.divmod(pairs, n_people)
        part = np.bincount(entry, atoms.mass) / atoms.totals[cell]
    level, group = np.divmod(cell, len(cells.groups))
    return People(level, group, person, part)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The people of two groups, and the limit that keeps each of them from being seen.

    Attributes
    ----------
    people : of the whole table.
    groups : positions of the two groups.
    limit : no unit may count for more than one part in this number.
    """

    people: People
    groups: tuple[int, int]
    limit: int

    def hides(self, levels: FloatArray) -> bool:
        """Whether an average over levels (K,), counted as these say, shows no one."""
        most = max(self.people.largest(levels, group) for group in self.groups)
        return most <= (1.0 + _DUST) / self.limit

    def hides_within(self, shares: FloatArray, group: int) -> bool:
        """Whether levels (K,) that hold these shares of a group show no one of it."""
        return self.people.largest(shares, group) <= (1.0 + _DUST) / self.limit

    def merged(self, measure: FloatArray, support: BoolArray) -> BoolArray:
        """Levels that have to be shown together, shape (K,): those with a small cell.

        If only one is, or if all of them still show one person, the next smallest join them: what
        is missing in a list can be had by subtraction.
        """
        parts = self.people.largest_by_level(self.groups, support.size)
        small = support & (parts > (1.0 + _DUST) / self.limit)
        if not small.any():
            return small
        others = np.flatnonzero(support & ~small)
        others = others[np.argsort(-parts[others], kind="stable")]
        taken, more = 0, 1
        while taken < others.size and (small.sum() < 2 or not self.hides(measure * small)):
            small[others[taken : taken + more]] = True
            taken, more = taken + more, 2 * more
        return small


_SHOWN_LEVELS = 6
_ONE_GROUP = "levels that hold one group only"
_FEW_SHARED = "too few of them share a level for the comparison to be shown."
_FEW_ROWS = "they have too few rows to be shown."
_COUNTED = re.compile(r"\d+% of the measure")


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
    def shown(self) -> list[bool]:
        """Whether each contrast is shown."""
        return [_is_shown(self._crowd(each), each, self._cells_of(each)) for each in self.contrasts]

    def _cells_of(self, contrast: Examination) -> Cells:
        return self.cells[self._place(contrast)][0]

    def _place(self, contrast: Examination) -> int:
        return next(k for k, each in enumerate(self.contrasts) if each is contrast)

    @cached_property
    def _people(self) -> dict[int, People]:
        """Who holds how much, by the cells of a contrast."""
        return {id(cells): people_of(cells) for cells, _ in self.cells}

    @cached_property
    def _families(self) -> dict[tuple[str, ...], Cells]:
        """Cells of the groups of every sensitive column, and of all of them crossed."""
        cells, sensitive = self.table.cells, self.roles.all_sensitive
        if not self.roles.also_sensitive:
            return {tuple(sensitive): cells}
        return {each: family_of(cells, each, sensitive).cells for each in families(sensitive)}

    @cached_property
    def _small_groups(self) -> set[tuple[tuple[str, ...], str]]:
        """Groups so small that to name them would be to name people, with their columns."""
        return {
            (columns, str(group))
            for columns, cells in self._families.items()
            for group in _small_groups(cells, self.limit)
        }

    def refuse_nothing(self) -> None:
        """Raise if no contrast could be shown."""
        if not any(self.shown):
            raise InputError(
                f"with suppress_below={self.limit} there is nothing to show: in every comparison "
                f"single rows count for more than one part in {self.limit}. Use coarser levels or "
                "groups (--bins), or keep the audit to yourself and leave suppress_below out."
            )

    def figures(self, document: AuditDocument) -> AuditDocument:
        """The document of an audit without what is about single people."""
        pairs = zip(self.contrasts, document.contrasts, self.shown, strict=True)
        omnibus = document.omnibus
        return replace(
            document,
            data=self._data(document.data),
            contrasts=tuple(self._contrast(each, part) for each, part, shown in pairs if shown),
            omnibus=None
            if omnibus is None
            else OmnibusResult(coarse_p(omnibus.p_value), omnibus.groups),
            unexamined=tuple(self._unexamined(each) for each in self.not_shown),
        )

    @cached_property
    def ruled(self) -> tuple[Examination, ...]:
        """Contrasts that are shown, with the intervals that are: what a verdict may rest on."""
        return tuple(
            _ruled(each, self._grid(each))
            for each, shown in zip(self.contrasts, self.shown, strict=True)
            if shown
        )

    @cached_property
    def not_shown(self) -> tuple[Unexamined, ...]:
        """Who could not be compared, and who is not shown; small groups have no name."""
        withheld = [
            Unexamined(
                each.groups, self._group_rows(each.columns, each.groups), _FEW_SHARED, each.columns
            )
            for each, shown in zip(self.contrasts, self.shown, strict=True)
            if not shown
        ]
        named = [each for each in [*self.unexamined, *withheld] if not self._is_named_small(each)]
        for columns in dict.fromkeys(columns for columns, _ in sorted(self._small_groups)):
            small = [name for own, name in self._small_groups if own == columns]
            rows = sum(self._group_rows(columns, small).values())
            own = columns if self.roles.also_sensitive else ()
            named.append(Unexamined((OTHER_GROUPS,), {OTHER_GROUPS: rows}, _FEW_ROWS, own))
        return tuple(named)

    def between(
        self, found: Sequence[Between], apart: Sequence[Unexamined]
    ) -> tuple[tuple[Between, ...], tuple[Unexamined, ...]]:
        """What may be said of groups that were each compared with a third one only.

        As for a contrast, intervals are made longer to where averages are rounded to; two groups of
        which one is small are listed as those that could not be compared.
        """
        shown, never = [], [each for each in apart if not self._is_named_small(each)]
        for each in found:
            if {(each.columns, name) for name in each.groups} & self._small_groups:
                hidden = Unexamined((OTHER_GROUPS,), {}, _FEW_ROWS, each.columns)
                never += [] if hidden in never else [hidden]
                continue
            known, distance = each.gap.method != "none", each.estimate
            grid = noise_grid(each.gap.error if known else 0.0, (abs(each.gap.value),))
            if distance is not None:
                distance = replace(distance, interval=_outward(grid, distance.interval))
            gap = replace(each.gap, interval=_outward(grid, each.gap.interval))
            rows = self._group_rows(each.columns, each.groups)
            coverage = {
                group: self._share(share, rows[group]) for group, share in each.coverage.items()
            }
            shown.append(each._replace(gap=gap, estimate=distance, coverage=coverage))
        return tuple(shown), tuple(never)

    def _is_named_small(self, each: Unexamined) -> bool:
        return bool({(each.columns, name) for name in each.groups} & self._small_groups)

    def _group_rows(self, columns: tuple[str, ...], groups: Sequence[str]) -> dict[str, int]:
        cells = self._families[columns or tuple(self.roles.all_sensitive)]
        rows = cells.counts.sum(axis=0).tolist()
        names = map(str, cells.groups)
        return {name: n for name, n in zip(names, rows, strict=True) if name in groups}

    def _crowd(self, contrast: Examination) -> Crowd:
        cells = self._cells_of(contrast)
        return Crowd(self._people[id(cells)], _positions(contrast, cells), self.limit)

    def _grid(self, contrast: Examination) -> Grid:
        """What averages of a contrast are rounded to."""
        overall, among_equals = contrast.unconditional, contrast.conditional
        known = contrast.gap.method != "none"
        return noise_grid(contrast.gap.error if known else 0.0, (overall.value, among_equals.value))

    def _count(self, rows: float) -> int:
        return coarse_count(rows, self.limit)

    def _share(self, share: float, rows: float) -> float:
        return coarse_share(share, rows, self.limit)

    # The parts of the document -------------------------------------------------------------------

    def _data(self, data: DataSummary) -> DataSummary:
        return replace(
            data,
            rows=self._count(data.rows),
            used=self._count(data.used),
            missing={column: self._count(rows) for column, rows in data.missing.items()},
            lost=tuple(self._lost(each) for each in self._lost_rows()),
            # Exact figures of groups: with those of contrasts they would give rows away.
            loss_tests=(),
            groups=(),
            nulls={
                column: {word: self._count(times) for word, times in words.items()}
                for column, words in data.nulls.items()
            },
            snapped=coarse_count(data.snapped, self.limit),
        )

    def _lost_rows(self) -> list[LostRows]:
        """Rows left out by group, with small groups put together."""
        named = [each for each in self.table.lost if not self._is_small(each)]
        small = [each for each in self.table.lost if self._is_small(each)]
        for columns in dict.fromkeys(each.columns for each in small):
            own = [each for each in small if each.columns == columns]
            rows, lost = sum(each.rows for each in own), sum(each.lost for each in own)
            named.append(LostRows(OTHER_GROUPS, rows, lost, columns))
        return named

    def _is_small(self, lost: LostRows) -> bool:
        if lost.group is None:
            return False
        small = (lost.columns, lost.group) in self._small_groups
        return small or lost.rows - lost.lost < self.limit

    def _lost(self, lost: LostRows) -> LostRows:
        return replace(lost, rows=self._count(lost.rows), lost=self._count(lost.lost))

    def _unexamined(self, each: Unexamined) -> Unexamined:
        return replace(each, rows={group: self._count(n) for group, n in each.rows.items()})

    def _contrast(self, contrast: Examination, part: ContrastAudit) -> ContrastAudit:
        grid = self._grid(contrast)
        overall = self._overall(contrast)
        totals = overall.by_level.counts.sum(axis=0).tolist()
        crowd = self._crowd(contrast)
        levels = coarse_levels(part, self._merged(crowd, contrast), grid, self.limit)
        bounds, smooth = part.certificate, part.smooth
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
            gap=_gap(part.gap, grid),
            estimate=self._estimate(part.estimate, grid, sum(part.rows)),
            p_value=None if part.p_value is None else coarse_p(part.p_value),
            test=None if part.test is None else _test(part.test, grid),
            certificate=None
            if bounds is None
            else replace(bounds, lower=grid.below(bounds.lower), upper=grid.above(bounds.upper)),
            compared_gap=None if part.compared_gap is None else grid.nearest(part.compared_gap),
            # What changing level costs is known from the lowest and the highest score.
            nested=None,
            coverage={
                group: self._share(share, rows)
                for (group, share), rows in zip(part.coverage.items(), totals, strict=True)
            },
            thin_share=thin_shares(levels, part, totals, self.limit),
            excluded=self._excluded(part),
            levels=tuple(levels),
            distributions=tuple(self._distributions(contrast, levels)),
            smooth=None
            if smooth is None
            else _smooth(smooth, [each.name for each in levels], grid),
        )

    def _overall(self, contrast: Examination) -> Disparity:
        """All rows; without those that have no equals, where they are so few that they show."""
        _, cells = self.cells[self._place(contrast)]
        groups = _positions(contrast, cells)
        pair = Contrast(cells, groups)
        crowd = self._crowd(contrast)
        alone = np.where(pair.support[:, None], 0.0, pair.shares)
        if all(
            crowd.hides_within(alone[:, side], group)
            for side, group in enumerate(groups)
            if alone[:, side].any()
        ):
            return contrast.unconditional
        return contrast_disparity(pair.narrow().supported().pool_levels())

    def _merged(self, crowd: Crowd, contrast: Examination) -> list[bool]:
        """Whether each level of a contrast is shown together with others."""
        places, measure = _measured(contrast, self._cells_of(contrast))
        support = np.zeros(measure.size, np.bool_)
        support[places] = True
        merged: list[bool] = crowd.merged(measure, support)[places].tolist()
        return merged

    def _estimate(
        self, estimate: EstimateResult | None, grid: Grid, rows: int
    ) -> EstimateResult | None:
        if estimate is None:
            return None
        (low, high), squared, reason = estimate.interval, estimate.squared, estimate.reason
        return replace(
            estimate,
            value=None if estimate.value is None else grid.nearest(estimate.value),
            interval=(grid.below(low), None if high is None else grid.above(high)),
            squared=None if squared is None else significant(squared),
            replicated=self._share(estimate.replicated, rows),
            reason=None if reason is None else _COUNTED.sub("Part of the measure", reason),
            rounding=significant(estimate.rounding),
        )

    def _excluded(self, part: ContrastAudit) -> dict[str, dict[str, int]]:
        """Rows of each group without an equal in the other, in all levels together."""
        if not part.excluded:
            return {}
        rows = {
            group: self._count(sum(each[group] for each in part.excluded.values()))
            for group in part.groups
        }
        return {_ONE_GROUP: rows}

    def _distributions(
        self, contrast: Examination, levels: Sequence[LevelAudit]
    ) -> list[Distribution]:
        names = [each.name for each in levels[:_SHOWN_LEVELS]]
        labels = [(each.level, each.name) for each in contrast.levels if each.name in names]
        cells = self._cells_of(contrast)
        return coarse_histograms(cells, labels, _positions(contrast, cells), self.limit)


def _small_groups(cells: Cells, limit: int) -> list[Hashable]:
    whole, people = cells.mass.sum(axis=0), people_of(cells)
    shares = cells.mass / np.where(whole > 0.0, whole, 1.0)
    return [
        group
        for g, group in enumerate(cells.groups)
        if not Crowd(people, (g, g), limit).hides_within(shares[:, g], g)
    ]


def _smooth(smooth: Smooth, shown: Sequence[str], grid: Grid) -> Smooth:
    """How groups were compared along numbers, without the ends of windows."""
    binned, gap = smooth.confounding, smooth.gap_confounding
    return replace(
        smooth,
        mixing=significant(smooth.mixing),
        shared=round(smooth.shared, 2),
        confounding=None if binned is None else grid.nearest(binned),
        gap_confounding=None if gap is None else grid.nearest(gap),
        companion_p=None if smooth.companion_p is None else coarse_p(smooth.companion_p),
        jumps=tuple(significant(jump) for jump in smooth.jumps),
        error=significant(smooth.error),
        windows=tuple(
            replace(each, low=None, high=None, center=significant(each.center))
            for each in smooth.windows
            if each.level in shown
        ),
        explained=_round_pair(smooth.explained),
        boosted=_round_pair(smooth.boosted),
    )


def _round_pair(shares: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if shares is None else (round(shares[0], 2), round(shares[1], 2))


def _positions(contrast: Examination, cells: Cells) -> tuple[int, int]:
    """Where the two groups are among those of the cells."""
    names = [str(group) for group in cells.groups]
    first, second = contrast.groups
    return names.index(first), names.index(second)


def _measured(contrast: Examination, cells: Cells) -> tuple[IntArray, FloatArray]:
    """Where the levels of a contrast are in its cells, and how much each of their K counts."""
    position = {level: k for k, level in enumerate(cells.levels)}
    places = np.array([position[each.level] for each in contrast.levels])
    measure = np.zeros(len(position))
    measure[places] = [each.weight for each in contrast.levels]
    return places, measure


def _is_shown(crowd: Crowd, contrast: Examination, cells: Cells) -> bool:
    """Whether no unit counts for much, neither among equals nor among all rows."""
    _, measure = _measured(contrast, cells)
    pair = Contrast(cells, crowd.groups)
    compared = np.where(pair.support[:, None], pair.shares, 0.0)
    return crowd.hides(measure) and all(
        crowd.hides_within(shares[:, side], group)
        for shares in (pair.shares, compared)
        for side, group in enumerate(crowd.groups)
    )


def _outward(grid: Grid, ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (
        grid.below(low) if math.isfinite(low) else low,
        grid.above(high) if math.isfinite(high) else high,
    )


def _ruled(contrast: Examination, grid: Grid) -> Examination:
    gap, distance = contrast.gap, contrast.estimate
    if distance is not None:
        distance = replace(distance, interval=_outward(grid, distance.interval))
    return replace(
        contrast, gap=replace(gap, interval=_outward(grid, gap.interval)), estimate=distance
    )


def _gap(gap: GapResult, grid: Grid) -> GapResult:
    return replace(
        gap,
        value=grid.nearest(gap.value),
        interval=None if gap.interval is None else _outward(grid, gap.interval),
        error=None if gap.error is None else significant(gap.error),
    )


def _test(test: ParityTest, grid: Grid) -> ParityTest:
    chance, excess, detectable = test.null_distance, test.excess, test.detectable
    return replace(
        test,
        p_value=coarse_p(test.p_value),
        components={name: coarse_p(p) for name, p in test.components.items()},
        null_distance=None if chance is None else significant(chance),
        excess=None if excess is None else grid.nearest(excess),
        detectable=None if detectable is None else significant(detectable),
    )
