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
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._coarse import (
    Grid,
    coarse_count,
    coarse_p,
    coarse_share,
    noise_grid,
    significant,
)
from likeforlike.auditing._coarse_histograms import coarse_histograms
from likeforlike.auditing._coarse_levels import coarse_levels, thin_shares
from likeforlike.auditing._comparisons import family_of
from likeforlike.auditing._contrast_audit import Between, Examination
from likeforlike.auditing._missing import families
from likeforlike.auditing._small_cells import Crowd, People, people_of
from likeforlike.auditing._tables import TableCells
from likeforlike.disparity._cdd_lp import Disparity, contrast_disparity
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._contrasts import Contrast
from likeforlike.document._names import OTHER_GROUPS
from likeforlike.document._request import Roles
from likeforlike.document._results import (
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
    Smooth,
    Unexamined,
)
from likeforlike.errors import InputError

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
