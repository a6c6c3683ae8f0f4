"""Everything an audit computed, and what verdicts and single pairs of people need of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from likeforlike.auditing._comparisons import family_of, other_pairs
from likeforlike.auditing._contrast_audit import (
    Between,
    Examination,
    PercentBase,
    look_between,
    percent_base,
)
from likeforlike.auditing._conventional import classical_figures
from likeforlike.auditing._disclosure import Disclosure
from likeforlike.auditing._gate import rule
from likeforlike.auditing._smooth import carried_along, unexamined_along
from likeforlike.auditing._tables import TableCells
from likeforlike.classical import local_law_144
from likeforlike.classical._local_law_144 import Category
from likeforlike.disparity._cells import Cells
from likeforlike.document._request import Roles, Settings, Threshold
from likeforlike.document._results import (
    ClassicalFigures,
    GroupRows,
    Provenance,
    Unexamined,
    Verdict,
)
from likeforlike.inference._omnibus import OmnibusTest


@dataclass(frozen=True)
class Evidence:
    """What an audit computed, more than its document shows.

    Attributes
    ----------
    contrasts : every two groups examined, in the order of the document.
    omnibus : one test over all groups, or `None`.
    unexamined : groups and pairs of groups that could not be compared.
    roles, settings : what was asked.
    table : cells of the data, with what happened on the way.
    provenance : which data, which versions, when.
    groups : where the rows of every group are.
    conventional : whether figures by convention exist; they know nothing of a custodian's noise.
    """

    contrasts: tuple[Examination, ...]
    omnibus: OmnibusTest | None
    unexamined: tuple[Unexamined, ...]
    roles: Roles
    settings: Settings
    table: TableCells
    provenance: Provenance
    groups: tuple[GroupRows, ...] = ()
    conventional: bool = True

    @cached_property
    def disclosure(self) -> Disclosure | None:
        """What may be shown, if small cells are to be hidden."""
        limit = self.settings.suppress_below
        if limit is None:
            return None
        return Disclosure(
            self.contrasts, self.unexamined, self.table, self.roles, limit, self.compared_cells
        )

    @cached_property
    def compared_cells(self) -> tuple[tuple[Cells, Cells], ...]:
        """The cells of each contrast: with scores as compared, and as they are."""
        found = []
        for contrast in self.contrasts:
            cells = self.table.cells
            if self.table.lines is not None:
                seed = self.settings.random_state
                carried = carried_along(
                    self.table.lines, self.roles, contrast.columns, contrast.groups, seed
                )
                found.append((carried.refined.cells, carried.together.cells))
                continue
            if self.roles.also_sensitive:
                cells = family_of(cells, contrast.columns, self.roles.all_sensitive).cells
            found.append((cells, cells))
        return tuple(found)

    @cached_property
    def classical(self) -> tuple[ClassicalFigures, ...]:
        """Figures by convention; none along a number, and none where small cells are hidden."""
        hidden = self.settings.suppress_below is not None
        if hidden or self.table.lines is not None or not self.conventional:
            return ()
        return classical_figures(self.contrasts, self.roles, self.settings, self.table)

    @cached_property
    def local_law_144(self) -> tuple[Category, ...]:
        """Rates and impact ratios of every category."""
        return local_law_144(self.table.cells, self.roles.all_sensitive)

    def judge(self, thresholds: Sequence[Threshold], policy: str | None) -> Verdict:
        """Compare every two groups with the threshold that is for them."""
        hidden, contrasts, apart = self.disclosure, self.contrasts, self.unexamined
        between, never = self._between
        if hidden is not None:
            # A verdict and its reasons are shown to others, so they rest on what is shown.
            contrasts, apart = hidden.ruled, hidden.not_shown
            between, never = hidden.between(*self._between)
        return rule(
            contrasts,
            [*apart, *never],
            thresholds,
            self.roles.sensitive,
            policy,
            between=between,
            min_coverage=self.settings.min_coverage,
            base=self._percent_base,
        )

    def _percent_base(self, contrast: Examination | Between) -> PercentBase:
        """What a percentage of the scores of two groups is taken of."""
        cells = self.table.cells
        if self.roles.also_sensitive:
            cells = family_of(cells, contrast.columns, self.roles.all_sensitive).cells
        return percent_base(cells, contrast, self.settings)

    @cached_property
    def _between(self) -> tuple[tuple[Between, ...], tuple[Unexamined, ...]]:
        """Every two groups that were compared only with a third: what a verdict says of them."""
        settings, table = self.settings, self.table
        pairs, apart = other_pairs(table.cells, self.roles, settings.reference, settings.min_cell)
        family = len(self.contrasts) + len(pairs)
        found: list[Between] = []
        for each in pairs:
            carried, groups = None, each.contrast.groups
            if table.lines is not None:
                seed = settings.random_state
                carried = carried_along(table.lines, self.roles, each.columns, groups, seed)
                if (never := unexamined_along(carried, each.columns)) is not None:
                    apart = (*apart, never)
                    continue
            between = look_between(each, table, settings, carried=carried, family=family)
            found.append(between if self._is_found(between) else between.without_lower_end())
        return tuple(found), apart

    def _is_found(self, between: Between) -> bool:
        """Whether one of two groups was found to differ from the one both were compared with.

        If the two differ, so does one of them from any third; nothing else was tested.
        """
        return any(
            contrast.p_value is not None
            and contrast.p_value <= 1.0 - self.settings.confidence
            and contrast.columns == between.columns
            and set(contrast.groups) & set(between.groups)
            for contrast in self.contrasts
        )
