"""The audit: one call from a table to a finding with its evidence.

The signed gap and the distance among equals with their intervals, a test, the levels that matter,
what everybody together would look like, who could be compared at all, and where every figure came
from.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from likeforlike.auditing._comparisons import Unexamined, family_names, family_of, other_pairs
from likeforlike.auditing._contrast_audit import (
    Between,
    ContrastAudit,
    LevelAudit,
    PercentBase,
    look_between,
    percent_base,
)
from likeforlike.auditing._conventional import audit_conventions
from likeforlike.auditing._disclosure import Disclosure
from likeforlike.auditing._document_parts import audit_document, document_json
from likeforlike.auditing._frames import (
    Frame,
    cell_columns,
    contrast_columns,
    level_columns,
    native_frame,
)
from likeforlike.auditing._gate import GateOf, Ruling, Threshold, Verdict, rule
from likeforlike.auditing._group_rows import GroupRows
from likeforlike.auditing._missing import LossTest, LostRows, loss_tests
from likeforlike.auditing._pairs import Adverse, Pair, level_pairs
from likeforlike.auditing._placebo import Placebo, placebo
from likeforlike.auditing._plot import PlotKind, draw_contrast
from likeforlike.auditing._provenance import Provenance
from likeforlike.auditing._settings import Settings
from likeforlike.auditing._smooth import Smooth, carried_along, unexamined_along
from likeforlike.auditing._tables import Roles, TableCells
from likeforlike.classical import Category, Conventions, local_law_144
from likeforlike.disparity._cdd_lp import Disparity
from likeforlike.disparity._cdd_wass import NestedDisparity
from likeforlike.disparity._cells import Cells
from likeforlike.document._types import AuditDocument, FindingPart
from likeforlike.errors import InputError
from likeforlike.files._writing import write_whole
from likeforlike.inference import HeadlineTest, OmnibusTest
from likeforlike.plots._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How often groups are dealt anew to see how many pairs chance alone gives.
_PAIR_PERMUTATIONS = 199


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of `audit`. Figures without a contrast are those of the first one.

    Attributes
    ----------
    contrasts : every two groups compared: those found to differ first, the largest gap first.
    omnibus : one test over all groups; `None` with two groups, with several sensitive columns,
        or without resampling.
    unexamined : groups and pairs of groups that could not be compared.
    roles, settings : what was asked.
    table : rows, missing values, bins and engine of the data.
    provenance : fingerprint of the data, versions, time.
    verdicts : every verdict that was asked for, in order; the document lists them all.
    groups : where the rows of every group are: compared, not compared, missing.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(
    ...     load_loans(1000).frame, score="approved", sensitive="sex", legitimate=["income"]
    ... )
    >>> round(audit.gap, 3), round(audit.unconditional.gap, 3)
    (0.2, 0.0)
    >>> audit.gate(0.05), audit.contrasts[0].paradox
    ('fail', 'masked')
    """

    contrasts: tuple[ContrastAudit, ...]
    omnibus: OmnibusTest | None
    unexamined: tuple[Unexamined, ...]
    roles: Roles
    settings: Settings
    table: TableCells
    provenance: Provenance
    verdicts: list[Ruling] = field(default_factory=list)
    groups: tuple[GroupRows, ...] = ()

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        return self.finding["headline"]

    @property
    def finding(self) -> FindingPart:
        """What was found in plain language: headline, sentences, cautions."""
        return self.to_dict()["finding"]

    @property
    def gap(self) -> float:
        """The signed gap among equals, Σ_l Q(l) (m_1 - m_0): second group minus first."""
        return self.contrasts[0].gap.value

    @property
    def gap_interval(self) -> tuple[float, float] | None:
        """Confidence interval of the gap; `None` where the data give none."""
        gap = self.contrasts[0].gap
        return None if gap.method == "none" else gap.interval

    @property
    def estimate(self) -> float | None:
        """The distance among equals, (Σ Q W_1²)^½, with its small-sample bias removed."""
        distance = self.contrasts[0].estimate
        return None if distance is None else distance.value

    @property
    def interval(self) -> tuple[float, float | None] | None:
        """Confidence interval of the estimate; the upper end is `None` where there is none."""
        distance = self.contrasts[0].estimate
        if distance is None:
            return None
        low, high = distance.interval
        return low, high if np.isfinite(high) else None

    @property
    def unconditional(self) -> Disparity:
        """Plug-in W_1 between the groups, whatever their level."""
        return self.contrasts[0].unconditional

    @property
    def conditional(self) -> Disparity:
        """Plug-in Σ_l Q(l) W_1(l)."""
        return self.contrasts[0].conditional

    @property
    def nested(self) -> NestedDisparity | None:
        """The bi-causal distance and its split."""
        return self.contrasts[0].nested

    @property
    def p_value(self) -> float | None:
        """Of the test within levels, adjusted if there are several contrasts."""
        return self.contrasts[0].p_value

    @property
    def null_mean(self) -> float | None:
        """What the conditional plug-in W_1 averages to at parity; `None` if unknown."""
        test = self.contrasts[0].test
        return test.null_distance if isinstance(test, HeadlineTest) else None

    @property
    def levels(self) -> tuple[LevelAudit, ...]:
        """One entry a level, ranked by contribution."""
        return self.contrasts[0].levels

    @property
    def smooth(self) -> Smooth | None:
        """How the groups were compared along numbers; `None` without any."""
        return self.contrasts[0].smooth

    @property
    def coverage(self) -> dict[str, float]:
        """Share of each group that is compared."""
        return self.contrasts[0].coverage

    @property
    def missing(self) -> tuple[LostRows, ...]:
        """Rows left out for missing values, by group."""
        return self.table.lost

    @property
    def loss_tests(self) -> tuple[LossTest, ...]:
        """Whether some groups lost more of their rows to missing values than others."""
        return loss_tests(self.table.lost)

    def gate(self, threshold: float | str, *, of: GateOf = "distance") -> Verdict:
        """Compare the interval of every contrast with a threshold, in units of the score or "5%".

        "pass": all intervals lie at or below it, every group could be compared, and at least
        `min_coverage` of each was. "fail": one lies above it. "investigate": the evidence does not
        settle it. With `of="gap"` it is the size of the signed gap, which is right for matched
        data, that is compared. With several sensitive columns every two groups of a column count,
        whether or not they were tested.
        """
        return self.verdict(threshold, of=of).verdict

    def verdict(self, threshold: float | str, *, of: GateOf = "distance") -> Ruling:
        """What `gate` says at a threshold, and why; `of` is "distance" or "gap".

        A percentage, as "5%", is 5 points of decisions and rates, and of other scores 5% of the
        mean of the reference group, or of the larger group without one; the reasons say how much.
        What was asked stays with the audit: threshold, verdict and reasons are in its document, on
        its page and in its JSON from then on.
        """
        return self.judge([Threshold(threshold, of)])  # type: ignore[arg-type]  # read there

    def judge(self, thresholds: Sequence[Threshold], *, policy: str | None = None) -> Ruling:
        """Hold every contrast against the threshold that is for it, and keep the verdict.

        Parameters
        ----------
        thresholds : one for all contrasts, some for two groups each, or both.
        policy : name of the file they are from.
        """
        hidden, contrasts, apart = self._disclosure(), self.contrasts, self.unexamined
        between, never = self._between
        if hidden is not None:
            # A verdict and its reasons are shown to others, so they rest on what is.
            contrasts, apart = hidden.ruled, hidden.not_shown
            between, never = hidden.between(*self._between)
        ruling = rule(
            contrasts,
            [*apart, *never],
            thresholds,
            self.roles.sensitive,
            policy,
            between=between,
            min_coverage=self.settings.min_coverage,
            base=self._percent_base,
        )
        if ruling not in self.verdicts:
            self.verdicts.append(ruling)
        return ruling

    def _percent_base(self, contrast: ContrastAudit | Between) -> PercentBase:
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
            found.append(between if self._found_beside(between) else between.without_lower_end())
        return tuple(found), apart

    def _found_beside(self, between: Between) -> bool:
        """Whether one of two groups was found to differ from the one that both were compared with.

        If the two differ, so does one of them from any third; nothing else was tested.
        """
        return any(
            contrast.p_value is not None
            and contrast.p_value <= 1.0 - self.settings.confidence
            and contrast.columns == between.columns
            and set(contrast.groups) & set(between.groups)
            for contrast in self.contrasts
        )

    @cached_property
    def _compared_cells(self) -> tuple[tuple[Cells, Cells], ...]:
        """Where the two groups of each contrast are: with scores as compared, and as they are."""
        found = []
        for contrast in self.contrasts:
            cells = self.table.cells
            if self.table.lines is not None:
                seed = self.settings.random_state
                carried = carried_along(
                    self.table.lines, self.roles, contrast.columns, contrast.groups, seed
                )
                found.append((carried.refined.cells, carried.everybody.cells))
                continue
            if self.roles.also_sensitive:
                cells = family_of(cells, contrast.columns, self.roles.all_sensitive).cells
            found.append((cells, cells))
        return tuple(found)

    def _disclosure(self) -> Disclosure | None:
        """What may be shown, if it was asked to hide small cells."""
        limit = self.settings.suppress_below
        if limit is None:
            return None
        return Disclosure(
            self.contrasts, self.unexamined, self.table, self.roles, limit, self._compared_cells
        )

    def placebo(self, repetitions: int = 100, *, permutations: int = 199) -> Placebo:
        """How often the test rejects with labels that cannot matter, on these very rows.

        Labels of the first contrast are drawn from the estimated chance of belonging to a group
        given the numbers, and nothing else; the share of rejections should be about 5%. More says
        that the carry leaves something of the numbers in the scores.

        Parameters
        ----------
        repetitions : how many times labels are drawn.
        permutations : of each test.
        """
        if self.table.lines is None:
            raise InputError("a placebo needs smooth; audit with smooth=[...] first.")
        first, lines = self.contrasts[0], self.table.lines
        if self.roles.also_sensitive:
            every = self.roles.all_sensitive
            lines = lines.regrouped(family_names(lines.group.labels, first.columns, every)[0])
        groups = tuple(group for group in lines.group.labels if str(group) in first.groups)
        return placebo(lines, groups, self.settings, repetitions, permutations)

    def pairs(
        self,
        level: Hashable | None = None,
        n: int | None = 10,
        *,
        contrast: int = 0,
        adverse: Adverse = "low",
    ) -> tuple[Pair, ...]:
        """People with adverse scores in a level, and the equals that the exact plan sets beside.

        The plan is that of W_1: the lowest of one group beside the lowest of the other. Costs of
        all pairs of a level sum to its W_1. Each pair says how many people are at least as far
        from their comparator, and how many would be if groups were dealt anew inside the level.
        Along a number levels are windows, and scores those carried to their centers. Pairs are
        single people, for the auditor: no document has them, whatever `suppress_below` is.

        Parameters
        ----------
        level : name or label of a level; `None` is the one that contributes most.
        n : how many pairs, those furthest apart first; `None` is all of them.
        contrast : which two groups, by their place in `contrasts`.
        adverse : which scores are adverse, "low" or "high".
        """
        found = self._level(level, contrast)
        cells, _ = self._compared_cells[contrast]
        names = {str(group): group for group in cells.groups}
        low, high = (names[group] for group in self.contrasts[contrast].groups)
        return level_pairs(
            cells,
            (low, high),
            found.level,
            found.name,
            n=n,
            adverse=adverse,
            permutations=_PAIR_PERMUTATIONS,
            seed=self.settings.random_state,
        )

    def _level(self, level: Hashable | None, contrast: int) -> LevelAudit:
        """A level of a contrast by its name or label."""
        if not 0 <= contrast < len(self.contrasts):
            raise InputError(f"contrast must be 0 to {len(self.contrasts) - 1}, not {contrast!r}.")
        levels = self.contrasts[contrast].levels
        chosen = [each for each in levels if level is None or level in (each.name, each.level)]
        if not chosen:
            raise InputError(
                f"no level {level!r} holds both groups; the first levels are "
                f"{[each.name for each in levels[:5]]}."
            )
        return chosen[0]

    def to_dict(self) -> AuditDocument:
        """Everything as plain values; the page and the JSON are made of this and nothing else."""
        hidden = self._disclosure()
        return audit_document(
            self.contrasts,
            self.omnibus,
            self.unexamined,
            self.roles,
            self.settings,
            self.table,
            self.provenance,
            self.verdicts,
            groups=self.groups,
            conventional=self.conventions() if hidden is None else (),
            categories=self.local_law_144() if self.settings.preset == "ll144" else (),
            hide=None if hidden is None else hidden.figures,
        )

    def conventions(self) -> tuple[Conventions, ...]:
        """Figures by convention of every contrast, in the same order.

        Rows, means or rates and medians by cell; gap, impact ratio and standardized mean difference
        by level and overall; Mantel-Haenszel, Breslow-Day, van Elteren and Wachter's CDD. What each
        says and where it misleads is in `likeforlike.classical.NOTES`. There are none where
        people are compared along a number: conventions compare within levels.
        """
        return self._conventions if self.table.lines is None else ()

    @cached_property
    def _conventions(self) -> tuple[Conventions, ...]:
        return audit_conventions(self.contrasts, self.roles, self.settings, self.table)

    def local_law_144(self) -> tuple[Category, ...]:
        """The summary that New York City's Local Law 144 asks for: rates and impact ratios.

        By every sensitive column and by all of them crossed, with those whose category is unknown,
        and those below 2%. It ignores levels.
        """
        return local_law_144(self.table.cells, self.roles.all_sensitive)

    def to_json(self, path: str | Path | None = None) -> str:
        """The document of `to_dict` as JSON; also written to `path`, whole or not at all."""
        text = document_json(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page; also written to `path`, whole or not at all."""
        from likeforlike.report import page

        text = page(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def to_junit(self, path: str | Path | None = None) -> str:
        """The verdicts that were asked for as JUnit XML; also written to `path`.

        Parameters
        ----------
        path : of the file, which is written whole or not at all.
        """
        from likeforlike.integrations import junit

        text = junit(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def plot(
        self, kind: PlotKind = "gaps", *, level: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the levels of the first contrast, or the scores in one of them.

        Needs the extra `plot`.

        Parameters
        ----------
        kind : "gaps", the gap of every level with its interval; "levels", their distances beside
            what chance alone would give; "distributions", the scores of both groups in one level.
        level : name of the level for "distributions"; without it the one that contributes most.
        ax : what to draw on; without it a figure is opened.

        Returns
        -------
        the axes, as scikit-learn's displays have them.
        """
        axes = axes_or_new(ax)
        draw_contrast(axes, self.to_dict(), kind, level)
        return axes

    def __repr__(self) -> str:
        """One line: what was audited, on how many rows, and what was found."""
        by = " and ".join(self.roles.all_sensitive)
        shown = self.to_dict()
        used, said = shown["data"]["used"], shown["finding"]["headline"]
        return f"<Audit of {self.roles.score} by {by}, {used:,} rows: {said}>"

    def __str__(self) -> str:
        """What the terminal shows of an audit."""
        from likeforlike.report._terminal import text

        return text(self.to_dict())

    def to_frame(self) -> Frame:
        """The levels of every contrast as a table, in the library of the data.

        One row for each contrast and level: rows, gap and its interval, distance, p-values. Of a
        file it is a polars table, of DuckDB an Arrow and of Spark a pandas one.
        """
        return native_frame(level_columns(self.to_dict()["contrasts"]), self.table.engine)

    def cells_frame(self) -> Frame:
        """Rows, mean (or rate) and median of every cell, compared or not, as a table."""
        if self.settings.suppress_below is not None:
            raise InputError(
                "with suppress_below no figures of single cells are shown; to_frame() has levels."
            )
        return native_frame(cell_columns(self.table, self.roles), self.table.engine)

    def contrasts_frame(self) -> Frame:
        """Every two groups compared, in the order of `contrasts`, as a table."""
        return native_frame(contrast_columns(self.to_dict()["contrasts"]), self.table.engine)

    def _repr_html_(self) -> str:
        from likeforlike.report import summary

        return summary(self.to_dict())
