"""The result of an audit: a finding with its evidence, verdicts, tables and pictures.

The signed gap and the distance among equals with their intervals, a test, the levels that matter,
what a comparison without levels would show, who could be compared at all, and where every figure
came from. Tables are in the library that the data came in; pictures are drawn on matplotlib's axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import narwhals as nw

from likeforlike._plots import LevelFigures, axes_or_new, draw_distances, draw_gaps, draw_histograms
from likeforlike._text import cross_names
from likeforlike.auditing._evidence import Adverse, Evidence, Pair, level_pairs
from likeforlike.auditing._reading import Bins
from likeforlike.auditing._smooth import Placebo, placebo
from likeforlike.auditing._tables import TableCells
from likeforlike.classical import Category, cell_figures
from likeforlike.document import (
    AuditDocument,
    ClassicalFigures,
    ContrastAudit,
    DataSummary,
    Finding,
    GroupRows,
    LevelAudit,
    LossTest,
    LostRows,
    NestedResult,
    ObservedDisparity,
    OmnibusResult,
    Outcome,
    OverallDisparity,
    PlainValues,
    Provenance,
    Roles,
    Settings,
    Smooth,
    Threshold,
    ThresholdOf,
    Unexamined,
    Verdict,
    json_text,
    mean_name,
    plain,
    read_document,
)
from likeforlike.errors import InputError
from likeforlike.files import write_whole
from likeforlike.sensitivity import Drivers, Sensitivity, Specifications

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = dict[str, list[Any]]
Frame = Any
"""A table of whatever library the data came in."""

_LIBRARIES = ("pandas", "pyarrow", "modin", "cudf", "polars")
# Engines that hold their tables elsewhere give what their extras bring along.
_IN_MEMORY = {"duckdb": "pyarrow", "pyspark": "pandas", "spark": "pandas", "sqlframe": "pandas"}


def native_frame(columns: Mapping[str, Sequence[Any]], engine: str) -> Frame:
    """Make a table of columns in the library of an engine, or the one nearest to it."""
    name = _IN_MEMORY.get(engine, engine)
    library: Any = name if name in _LIBRARIES else "polars"
    return nw.from_dict(dict(columns), backend=library).to_native()


def level_columns(contrasts: Sequence[ContrastAudit]) -> Columns:
    """List one row for each contrast and level."""
    lines = [(contrast, level) for contrast in contrasts for level in contrast.levels]
    ends = [level.gap_interval or (None, None) for _, level in lines]
    return {
        "columns": [" × ".join(contrast.columns) for contrast, _ in lines],
        "first": [contrast.groups[0] for contrast, _ in lines],
        "second": [contrast.groups[1] for contrast, _ in lines],
        "level": [level.name for _, level in lines],
        "rows_first": [level.rows[contrast.groups[0]] for contrast, level in lines],
        "rows_second": [level.rows[contrast.groups[1]] for contrast, level in lines],
        "weight": [level.weight for _, level in lines],
        "gap": [level.gap for _, level in lines],
        "gap_low": _floats(low for low, _ in ends),
        "gap_high": _floats(high for _, high in ends),
        "distance": [level.distance for _, level in lines],
        "null_distance": _floats(level.null_distance for _, level in lines),
        "contribution": [level.contribution for _, level in lines],
        "p_value": _floats(level.p_value for _, level in lines),
        "p_adjusted": _floats(level.p_adjusted for _, level in lines),
        "thin": [level.thin for _, level in lines],
    }


def contrast_columns(contrasts: Sequence[ContrastAudit]) -> Columns:
    """List one row for each contrast."""
    gaps = [contrast.gap.interval or (None, None) for contrast in contrasts]
    distances = [contrast.estimate for contrast in contrasts]
    ends = [(None, None) if each is None else each.interval for each in distances]
    return {
        "columns": [" × ".join(contrast.columns) for contrast in contrasts],
        "first": [contrast.groups[0] for contrast in contrasts],
        "second": [contrast.groups[1] for contrast in contrasts],
        "rows_first": [contrast.rows[0] for contrast in contrasts],
        "rows_second": [contrast.rows[1] for contrast in contrasts],
        "gap": [contrast.gap.value for contrast in contrasts],
        "gap_low": _floats(low for low, _ in gaps),
        "gap_high": _floats(high for _, high in gaps),
        "distance": _floats(None if each is None else each.value for each in distances),
        "distance_low": _floats(low for low, _ in ends),
        "distance_high": _floats(high for _, high in ends),
        "p_value": _floats(contrast.p_value for contrast in contrasts),
        "unconditional_gap": [contrast.unconditional.gap for contrast in contrasts],
        "coverage_first": [c.coverage[c.groups[0]] for c in contrasts],
        "coverage_second": [c.coverage[c.groups[1]] for c in contrasts],
        "paradox": [contrast.paradox for contrast in contrasts],
    }


def cell_columns(table: TableCells, roles: Roles) -> Columns:
    """List one row for each level and group that occur together."""
    figures = cell_figures(table.cells)
    names = []
    for group in table.cells.groups:
        values = [group]
        if isinstance(group, tuple) and roles.also_sensitive:
            values = ["unknown" if value is None else value for value in group]
        names.append(cross_names(values, roles.all_sensitive[: len(values)]))
    places = [(k, g) for k, g in zip(*figures.rows.nonzero(), strict=True)]
    return {
        "level": [table.level_names[k] for k, _ in places],
        "group": [names[g] for _, g in places],
        "rows": [int(figures.rows[place]) for place in places],
        "mean": [float(figures.mean[place]) for place in places],
        "median": [float(figures.median[place]) for place in places],
    }


def _floats(values: Iterable[float | None]) -> list[float | None]:
    """Convert numbers, with `None` where there is none."""
    return [None if each is None or not math.isfinite(each) else float(each) for each in values]


PlotKind = Literal["gaps", "levels", "distributions"]
"""What `Audit.plot` can draw."""


def draw_contrast(ax: Axes, document: AuditDocument, kind: PlotKind, level: str | None) -> None:
    """Draw the first contrast of an audit."""
    if kind not in get_args(PlotKind):
        raise InputError(f"kind must be one of {get_args(PlotKind)}, not {kind!r}.")
    contrast, score = document.contrasts[0], document.roles.score
    first, second = contrast.groups
    ax.set_title(document.finding.headline, loc="left", wrap=True)
    if kind == "gaps":
        label = f"{mean_name(document)}, {second} minus {first}"
        figures = [
            LevelFigures(each.name, each.gap, each.gap_interval, thin=each.thin)
            for each in contrast.levels
        ]
        draw_gaps(ax, figures, label=label)
    elif kind == "levels":
        label = f"distance between the {score} of {first} and {second}"
        figures = [
            LevelFigures(each.name, each.distance, chance=each.null_distance, thin=each.thin)
            for each in contrast.levels
        ]
        draw_distances(ax, figures, label=label)
    else:
        known = {each.level: each for each in contrast.distributions}
        if not known:
            raise InputError(
                'kind="distributions" has no level to draw: with suppress_below, every bar would '
                "stand for too few people."
            )
        name = next(iter(known)) if level is None else level
        if name not in known:
            raise InputError(f"level must be one of {list(known)}, not {level!r}.")
        draw_histograms(ax, known[name].edges, known[name].heights, label=f"{score}, {name}")


# Permutations that say how many pairs chance alone gives.
_PAIR_PERMUTATIONS = 199


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The result of `audit`. Figures without a contrast are those of the first one.

    Nothing changes an audit: a verdict that is to be on its page is in a new one, made by
    `with_threshold`. Two audits are equal if their documents are.

    Attributes
    ----------
    figures : what was found, without the figures by convention of `classical`.
    evidence : all that was computed; `None` for an audit that was read from a file.

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
    >>> lfl.Audit.from_json(audit.to_json()) == audit
    True
    """

    figures: AuditDocument
    evidence: Evidence | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.provenance.fingerprint)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """Read an audit back from its JSON; it has the same figures and the same page.

        Verdicts, pairs and placebos need the data, so they can be had of the original only.

        Parameters
        ----------
        text : as `to_json` gives it.
        """
        return cls(read_document(text))

    @cached_property
    def document(self) -> AuditDocument:
        """Everything that is written to JSON."""
        if self.evidence is None:
            return self.figures
        categories = self.evidence.local_law_144 if self.settings.preset == "ll144" else ()
        classical = self.evidence.classical
        return replace(self.figures, classical=classical, local_law_144=categories)

    @property
    def contrasts(self) -> tuple[ContrastAudit, ...]:
        """Every two groups compared: those found to differ first, the largest gap first."""
        return self.figures.contrasts

    @property
    def omnibus(self) -> OmnibusResult | None:
        """One test over all groups; `None` with two groups, several columns, or untested."""
        return self.figures.omnibus

    @property
    def unexamined(self) -> tuple[Unexamined, ...]:
        """Groups and pairs of groups that could not be compared."""
        return self.figures.unexamined

    @property
    def roles(self) -> Roles:
        """Which column plays which part."""
        return self.figures.roles

    @property
    def settings(self) -> Settings:
        """What was asked."""
        return self.figures.settings

    @property
    def data(self) -> DataSummary:
        """Rows, missing values, bins and engine of the data."""
        return self.figures.data

    @property
    def groups(self) -> tuple[GroupRows, ...]:
        """Where the rows of every group are: compared, not compared, missing."""
        return self.figures.data.groups

    @property
    def table(self) -> TableCells:
        """The cells of the data; an audit that was read from a file has none."""
        return self._evidence("the table").table

    @property
    def provenance(self) -> Provenance:
        """Fingerprint of the data, versions, time."""
        return self.figures.provenance

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that were kept with `with_threshold` or by a policy, in order."""
        return self.figures.verdicts

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        return self.finding.headline

    @property
    def finding(self) -> Finding:
        """What was found in plain language: headline, sentences, cautions."""
        return self.figures.finding

    @property
    def gap(self) -> float:
        """The signed gap among equals, Σ_l Q(l) (m_1 - m_0): second group minus first."""
        return self.contrasts[0].gap.value

    @property
    def gap_interval(self) -> tuple[float, float] | None:
        """Confidence interval of the gap; `None` where the data give none."""
        return self.contrasts[0].gap.interval

    @property
    def estimate(self) -> float | None:
        """The distance among equals, (Σ Q W_1²)^½, with its small-sample bias removed."""
        distance = self.contrasts[0].estimate
        return None if distance is None else distance.value

    @property
    def interval(self) -> tuple[float, float | None] | None:
        """Confidence interval of the estimate; the upper end is `None` where there is none."""
        distance = self.contrasts[0].estimate
        return None if distance is None else distance.interval

    @property
    def detectable(self) -> float | None:
        """A shift of every level that is detected in 80% of samples like this one."""
        test = self.contrasts[0].test
        return None if test is None else test.detectable

    @property
    def unconditional(self) -> OverallDisparity:
        """Plug-in W_1 between the groups, whatever their level."""
        return self.contrasts[0].unconditional

    @property
    def conditional(self) -> ObservedDisparity:
        """Plug-in Σ_l Q(l) W_1(l)."""
        return self.contrasts[0].conditional

    @property
    def nested(self) -> NestedResult | None:
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
        return None if test is None else test.null_distance

    @property
    def levels(self) -> tuple[LevelAudit, ...]:
        """One entry per level, ranked by contribution."""
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
        return self.figures.data.lost

    @property
    def loss_tests(self) -> tuple[LossTest, ...]:
        """Whether some groups lost more of their rows to missing values than others."""
        return self.figures.data.loss_tests

    def gate(self, threshold: float | str, *, of: ThresholdOf = "distance") -> Outcome:
        """Compare the interval of every contrast with a threshold, in units of the score or "5%".

        "pass": all intervals lie at or below it, every group could be compared, and at least
        `min_coverage` of each was. "fail": one lies above it. "investigate": the evidence does not
        settle it. With `of="gap"` it is the size of the signed gap, which is right for matched
        data, that is compared. With several sensitive columns every two groups of a column count,
        whether or not they were tested.
        """
        return self.verdict(threshold, of=of).verdict

    def verdict(self, threshold: float | str, *, of: ThresholdOf = "distance") -> Verdict:
        """Give the verdict at a threshold, with reasons; `of` is "distance" or "gap".

        A percentage, as "5%", is 5 points of decisions and rates, and of other scores 5% of the
        mean of the reference group, or of the larger group without one; the reasons say how much.
        """
        return self.judge([Threshold(threshold, of)])  # type: ignore[arg-type]  # read there

    def judge(self, thresholds: Sequence[Threshold], *, policy: str | None = None) -> Verdict:
        """Compare every contrast with the threshold that is for it.

        Parameters
        ----------
        thresholds : one for all contrasts, some for two groups each, or both.
        policy : name of the file they are from.
        """
        return self._evidence("a verdict").judge(thresholds, policy)

    def with_threshold(self, threshold: float | str, *, of: ThresholdOf = "distance") -> Self:
        """Return the same audit with what `verdict` says on its page and in its JSON.

        Parameters
        ----------
        threshold : in units of the score, or as "5%".
        of : what it is for, "distance" or "gap".
        """
        return self.with_verdict(self.verdict(threshold, of=of))

    def with_verdict(self, verdict: Verdict) -> Self:
        """Return the same audit with a verdict on its page and in its JSON, once."""
        if verdict in self.verdicts:
            return self
        return replace(self, figures=replace(self.figures, verdicts=(*self.verdicts, verdict)))

    def _evidence(self, what: str) -> Evidence:
        if self.evidence is None:
            raise InputError(f"{what} needs the data, and this audit was read from a file.")
        return self.evidence

    def placebo(self, repetitions: int = 100, *, permutations: int = 199) -> Placebo:
        """Count how often the test rejects with labels that cannot matter, on these very rows.

        Labels of the first contrast are drawn from the estimated chance of belonging to a group
        given the numbers, and nothing else; the share of rejections should be about 5%. More says
        that the mapping leaves something of the numbers in the scores.

        Parameters
        ----------
        repetitions : how many times labels are drawn.
        permutations : of each test.
        """
        evidence = self._evidence("a placebo")
        first, lines = evidence.contrasts[0], evidence.table.lines
        if lines is None:
            raise InputError("a placebo needs smooth; audit with smooth=[...] first.")
        return placebo(
            lines,
            self.roles,
            first.columns,
            first.groups,
            self.settings,
            repetitions=repetitions,
            permutations=permutations,
        )

    def pairs(
        self,
        level: Hashable | None = None,
        n: int | None = 10,
        *,
        contrast: int = 0,
        adverse: Adverse = "low",
    ) -> tuple[Pair, ...]:
        """List people with adverse scores in a level, and their comparators by the exact plan.

        The plan is that of W_1: the lowest of one group with the lowest of the other. Costs of
        all pairs of a level sum to its W_1. Each pair says how many people are at least as far
        from their comparator, and how many would be if groups were permuted inside the level.
        Along a number levels are windows, and scores those mapped to their centers. Pairs are
        single people, for the auditor: no document has them, whatever `suppress_below` is.

        Parameters
        ----------
        level : name or label of a level; `None` is the one that contributes most.
        n : how many pairs, those furthest apart first; `None` is all of them.
        contrast : which two groups, by their place in `contrasts`.
        adverse : which scores are adverse, "low" or "high".
        """
        evidence = self._evidence("a list of pairs")
        if not 0 <= contrast < len(evidence.contrasts):
            last = len(evidence.contrasts) - 1
            raise InputError(f"contrast must be 0 to {last}, not {contrast!r}.")
        levels = evidence.contrasts[contrast].levels
        found = next((e for e in levels if level is None or level in (e.name, e.level)), None)
        if found is None:
            raise InputError(
                f"no level {level!r} holds both groups; the first levels are "
                f"{[each.name for each in levels[:5]]}."
            )
        cells, _ = evidence.contrast_cells[contrast]
        names = {str(group): group for group in cells.groups}
        low, high = (names[group] for group in evidence.contrasts[contrast].groups)
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

    def sensitivity(
        self,
        strength: tuple[float, float] | str | None = None,
        *,
        threshold: float | str | None = None,
    ) -> tuple[Sensitivity, ...]:
        """Compute how strong an omitted legitimate feature must be to explain each gap away.

        Γ says how much more common it must be, in odds, in one group than among equals of the
        other; the robustness value how much of score and group it must explain. Legitimate columns
        are the yardstick. There is no Γ for weights and for clusters across levels.

        Parameters
        ----------
        strength : shares (of the score, of the group) that an omitted feature is given, or the name
            of a legitimate column that it is as strong as; bounds of the gap follow.
        threshold : the size of a gap that is allowed, in units of the score or as "5%".

        Returns
        -------
        a result for each contrast, in the same order. `with_results` puts them on the page.
        """
        from likeforlike.auditing._doubts import examine_sensitivity

        return examine_sensitivity(self._evidence("sensitivity"), strength, threshold)

    def specifications(
        self,
        candidates: Sequence[str],
        *,
        bins: Bins | None = None,
        contrast: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> Specifications:
        """Repeat the comparison with candidates among the legitimate columns, on the same rows.

        Parameters
        ----------
        candidates : columns of the same table; all subsets of up to five are tried, else each alone
            and all together.
        bins : how candidates are cut, as for `audit`.
        contrast : which two groups, by their place in `contrasts`.
        progress : called with the number of replicates done since the last call.
        """
        from likeforlike.auditing._doubts import examine_specifications

        evidence = self._evidence("a list of specifications")
        return examine_specifications(evidence, candidates, bins, contrast, progress)

    def drivers(
        self,
        contributions: Any,  # noqa: ANN401
        *,
        sources: Mapping[str, str] | None = None,
        inputs: Any = None,  # noqa: ANN401
        predict: Callable[[Any], Any] | None = None,
        target: Any = None,  # noqa: ANN401
        contrast: int = 0,
    ) -> Drivers:
        """Split gap and squared distance by the inputs of the model, exactly.

        Parameters
        ----------
        contributions : of each input to the score, a row for each row of the table audited: a
            table, {name: column} as `likeforlike.auditing.contributions` gives it, or an array.
            They must add up to the score but for a constant, or to what the score rises with.
        sources : {column: input} for columns that were made of one input, which are summed.
        inputs : the inputs themselves, to see how well numbers among them tell the group.
        predict : the model, from such inputs to scores; then inputs are withheld in turn.
        target : (n,) true outcomes of two kinds, for the AUC of the model then.
        contrast : which two groups, by their place in `contrasts`.
        """
        from likeforlike.auditing._doubts import examine_drivers

        return examine_drivers(
            self._evidence("a list of drivers"),
            contributions,
            sources=sources,
            predict=predict,
            inputs=inputs,
            target=target,
            number=contrast,
        )

    def with_results(self, *results: tuple[Sensitivity, ...] | Specifications | Drivers) -> Self:
        """Return the same audit with these on its page and in its JSON.

        Parameters
        ----------
        results : what `sensitivity`, `specifications` and `drivers` gave.
        """
        if self.settings.suppress_below is not None:
            raise InputError(
                "with suppress_below no document shows sensitivity, specifications or drivers: "
                "they rest on exact counts of small cells."
            )
        figures = self.figures
        for each in results:
            if isinstance(each, Specifications):
                figures = replace(figures, specifications=each)
            elif isinstance(each, Drivers):
                figures = replace(figures, drivers=each)
            else:
                figures = replace(figures, sensitivity=tuple(each))
        return replace(self, figures=figures)

    def to_dict(self) -> PlainValues:
        """Return everything as plain values; the JSON is made of this."""
        document: PlainValues = plain(self.document)
        return document

    def classical(self) -> tuple[ClassicalFigures, ...]:
        """Compute figures by convention of every contrast, in the same order.

        Rows, means or rates and medians by cell; gap, impact ratio and standardized mean difference
        by level and overall; Mantel-Haenszel, Breslow-Day, van Elteren and Wachter's CDD. What each
        says and where it misleads is in `likeforlike.classical.NOTES`. There are none where
        people are compared along a number, since these figures compare within levels, and none
        with `suppress_below`.
        """
        return self.document.classical

    def local_law_144(self) -> tuple[Category, ...]:
        """Summarize rates and impact ratios as New York City's Local Law 144 asks.

        By every sensitive column and by all of them crossed, with those whose category is unknown,
        and those below 2%. It ignores levels.
        """
        if self.evidence is None:
            return self.figures.local_law_144
        return self.evidence.local_law_144

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the document as JSON; also to `path`, whole or not at all."""
        text = json_text(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file, from which `likeforlike.load` reads the audit back.

        Parameters
        ----------
        path : of the file, which is written whole or not at all.
        """
        self.to_json(path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Make one self-contained page; also write it to `path`, whole or not at all."""
        from likeforlike.report import page

        text = page(self.document)
        if path is not None:
            write_whole(path, text)
        return text

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write a section for a model card: question, verdict, figures, cautions and signatures.

        Also to `path`, whole or not at all.
        """
        from likeforlike.report import markdown

        text = markdown(self.document)
        if path is not None:
            write_whole(path, text)
        return text

    def to_public_summary(self, path: str | Path | None = None) -> str:
        """Make the public page of `preset="ll144"`; also write it to `path`.

        It needs `preset="ll144"`; its fields are in `about`: model, owner, data, date,
        distributed (since when the tool is in use) and measured_by.
        """
        from likeforlike.report import public_summary

        text = public_summary(self.document)
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
        kind : "gaps", the gap of every level with its interval; "levels", their distances next to
            what chance alone would give; "distributions", the scores of both groups in one level.
        level : name of the level for "distributions"; without it the one that contributes most.
        ax : what to draw on; without it a figure is opened.

        Returns
        -------
        the axes, as scikit-learn's displays have them.
        """
        axes = axes_or_new(ax)
        draw_contrast(axes, self.figures, kind, level)
        return axes

    def __repr__(self) -> str:
        """Say in one line what was audited, on how many rows, and what was found."""
        by = " and ".join(self.roles.all_sensitive)
        return f"<Audit of {self.roles.score} by {by}, {self.data.used:,} rows: {self.headline}>"

    def __str__(self) -> str:
        """Return what the terminal shows of an audit."""
        from likeforlike.report import text

        return text(self.document)

    def to_frame(self) -> Frame:
        """Tabulate the levels of every contrast, in the library of the data.

        One row for each contrast and level: rows, gap and its interval, distance, p-values. Of a
        file it is a polars table, of DuckDB an Arrow and of Spark a pandas one.
        """
        return native_frame(level_columns(self.contrasts), self.data.engine)

    def cells_frame(self) -> Frame:
        """Tabulate rows, mean (or rate) and median of every cell, compared or not."""
        evidence = self._evidence("a table of cells")
        if self.settings.suppress_below is not None:
            raise InputError(
                "with suppress_below no figures of single cells are shown; to_frame() has levels."
            )
        return native_frame(cell_columns(evidence.table, self.roles), self.data.engine)

    def contrasts_frame(self) -> Frame:
        """Tabulate every two groups compared, in the order of `contrasts`."""
        return native_frame(contrast_columns(self.contrasts), self.data.engine)

    def results_frame(self, result: tuple[Sensitivity, ...] | Specifications | Drivers) -> Frame:
        """Tabulate a result with one row for each contrast, specification or input.

        Parameters
        ----------
        result : what `sensitivity`, `specifications` or `drivers` gave.

        Returns
        -------
        a table of the kind that was audited.
        """
        if isinstance(result, Specifications | Drivers):
            return native_frame(result.table, self.data.engine)
        names = ("gap", "gap_odds", "rank_odds", "robustness", "interval_robustness")
        columns: Columns = {name: [getattr(each, name) for each in result] for name in names}
        groups = {k: [each.groups[k == "second"] for each in result] for k in ("first", "second")}
        return native_frame(groups | columns, self.data.engine)

    def _repr_html_(self) -> str:
        from likeforlike.report import summary

        return summary(self.figures)
