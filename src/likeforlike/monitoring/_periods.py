"""An audit by period: every period by itself, all of them together, change, and the monitor.

The period is read as one more legitimate column, by one pass over the table in whatever engine
holds it, and the cells are split by it. Intervals of the periods hold together (Bonferroni).
Whether gaps differ is asked by Welch's test of means with unequal variances, and a trend by the
weighted slope, with errors enlarged where gaps scatter more than their own errors explain.

References: Welch (1951), *On the comparison of several mean values*; Knapp and Hartung (2003),
*Improved tests for a random effects meta-regression*.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import real
from likeforlike._text import figure, p_text, plural
from likeforlike.auditing import (
    Audit,
    Summary,
    TableCells,
    audit_cells,
    column_names,
    merge_tables,
    native_frame,
    read_cells,
    refresh_metadata,
)
from likeforlike.disparity import Cells
from likeforlike.document import PlainValues, Roles, Settings, json_text, plain
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.files import csv_options, write_whole
from likeforlike.inference import bonferroni_confidence, t_quantile, t_tail
from likeforlike.monitoring._monitor import (
    PERMUTATIONS,
    GroupPair,
    Monitor,
    first_rows,
    log_e_values,
)

ALPHA = 0.05
"""The share of histories without a disparity in which a monitor may ever alarm."""

_TOO_MANY = 400
_CALENDAR = ("month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Change:
    """Whether the gap of two groups changes over periods.

    Attributes
    ----------
    groups : whose gap it is.
    gaps : periods with an error of their own, and so in these figures.
    heterogeneity_p : of the test that all gaps are equal; `None` with fewer than two.
    slope : change of the gap per period.
    slope_interval : its interval; `None` with fewer than three.
    trend_p : of the test that it is 0.
    """

    groups: GroupPair
    gaps: int
    heterogeneity_p: float | None
    slope: float | None
    slope_interval: tuple[float, float] | None
    trend_p: float | None


@dataclass(frozen=True, eq=False, repr=False)
class PeriodAudits(Audit):
    """The audit of all rows together, with an audit of each period and the monitor.

    Attributes
    ----------
    by : the column of periods.
    periods : their names, in order.
    audits : one for each period, with intervals that hold for all of them together; `None` where a
        period could not be audited.
    changes : of every two groups.
    monitor : the anytime-valid monitor; `None` where rows have weights.
    notes : what a reader should know.
    """

    by: str = ""
    periods: tuple[str, ...] = ()
    audits: tuple[Audit | None, ...] = ()
    changes: tuple[Change, ...] = ()
    monitor: Monitor | None = None
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """What was found by period, in one sentence."""
        return self.sentences[0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the monitor, the test of change and the audit of all rows say."""
        said = [] if self.monitor is None else [self.monitor.sentence]
        for change in self.changes[:1]:
            if change.heterogeneity_p is not None:
                differ = change.heterogeneity_p <= ALPHA
                said.append(
                    f"The gap between {' and '.join(change.groups)} "
                    f"{'differs' if differ else 'is not known to differ'} between "
                    f"{plural(change.gaps, 'period')} ({p_text(change.heterogeneity_p)})."
                )
            if change.slope is not None and change.slope_interval is not None:
                low, high = change.slope_interval
                said.append(
                    f"Its trend per period is {figure(change.slope)} ({figure(low)} to "
                    f"{figure(high)})."
                )
        said.append(f"All rows together: {self.finding.headline}")
        return tuple(said)

    def period_lines(self, groups: GroupPair | None = None) -> list[dict[str, Any]]:
        """List one entry per period and pair of groups, with gap, distance and e-value."""
        e_values = None if self.monitor is None else self.monitor.by_groups
        lines = []
        for place, (period, audit) in enumerate(zip(self.periods, self.audits, strict=True)):
            for contrast in audit.contrasts if audit else ():
                names = contrast.groups
                if groups is not None and names != groups:
                    continue
                ends = contrast.gap.interval or (None, None)
                distance = contrast.estimate
                span = (None, None) if distance is None else distance.interval
                own = None
                if (
                    self.monitor is not None
                    and e_values is not None
                    and names in self.monitor.groups
                ):
                    own = float(e_values[place, self.monitor.groups.index(names)])
                lines.append(
                    {
                        "period": period, "first": names[0], "second": names[1],
                        "rows_first": contrast.rows[0], "rows_second": contrast.rows[1],
                        "gap": contrast.gap.value, "gap_low": ends[0], "gap_high": ends[1],
                        "distance": None if distance is None else distance.value,
                        "distance_low": span[0], "distance_high": span[1], "e_value": own,
                    }
                )  # fmt: skip
        return lines

    def to_frame(self) -> Any:  # noqa: ANN401
        """Tabulate every period and pair of groups, in the library of the data."""
        lines = self.period_lines()
        columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ())}
        return native_frame(columns, self.data.engine)

    def to_dict(self) -> PlainValues:
        """Return everything as plain values: the audit of all rows, periods and monitor."""
        monitor = self.monitor
        return {
            "schema": "likeforlike.periods",
            "by": self.by,
            "sentences": list(self.sentences),
            "periods": self.period_lines(),
            "changes": [plain(each) for each in self.changes],
            "monitor": None
            if monitor is None
            else {
                "alarm": monitor.alarm,
                "alpha": monitor.alpha,
                "e_values": list(monitor.e_values),
                "groups": [list(each) for each in monitor.groups],
            },
            "notes": list(self.notes),
            "pooled": plain(self.document),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything as JSON; also to `path`, whole or not at all."""
        text = json_text(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """Make one self-contained page; also write it to `path`, whole or not at all."""
        from likeforlike.monitoring._page import period_page

        text = period_page(self)
        if path is not None:
            write_whole(path, text)
        return text

    def __repr__(self) -> str:
        """Say in one line what was audited and what was found."""
        return f"<PeriodAudits of {self.roles.score} by {self.by}, {len(self.periods)} periods>"

    def __str__(self) -> str:
        """Return what the terminal shows."""
        lines = [*self.sentences, *(f"! {note}" for note in self.notes)]
        for each in self.period_lines(self.contrasts[0].groups):
            ends = ""
            if each["gap_low"] is not None:
                ends = f" ({figure(each['gap_low'])} to {figure(each['gap_high'])})"
            e = "" if each["e_value"] is None else f", e-value {each['e_value']:.3g}"
            lines.append(f"  {each['period']}: gap {figure(each['gap'])}{ends}{e}")
        return "\n".join(lines)


def audit_periods(
    data: Any,  # noqa: ANN401
    by: str | Mapping[str, str],
    **asked: Any,  # noqa: ANN401
) -> PeriodAudits:
    """Audit a table by period: what `audit(..., by=...)` does.

    Parameters
    ----------
    data, asked : as for `audit`; not `smooth`.
    by : the column of periods, or {column of dates: "month", "quarter" or "year"}.
    """
    column, cut = _period_column(by)
    if column_names(asked.get("smooth"), "smooth"):
        raise InputError("by and smooth do not go together; cut the numbers into bins.")
    if asked.get("suppress_below") is not None:
        raise InputError(
            "by and suppress_below do not go together: what one period hides, all rows together "
            "less the other periods would show. Audit one period, or all rows without by."
        )
    first, *others = column_names(asked["sensitive"], "sensitive")
    levels = column_names(asked.get("legitimate"), "legitimate")
    roles = Roles(
        asked["score"], first, levels, asked.get("weight"), asked.get("cluster"), tuple(others)
    )
    if column in roles.columns:
        raise InputError(f"by names {column!r}, which already plays another part.")
    known = {each.name for each in fields(Settings)} - {"smooth", "windows"}
    settings = Settings(**{name: asked[name] for name in asked.keys() & known})
    bins = dict(asked.get("bins") or {}) | ({column: cut} if cut else {})
    with warnings.catch_warnings():
        # A period is no level: its days need not be equal.
        cut_words = re.escape(f"{column!r} was cut")
        warnings.filterwarnings("ignore", cut_words, BinnedLevelWarning)
        table = read_cells(
            data,
            replace(roles, legitimate=(*levels, column)),
            bins=bins,
            resolution=asked.get("resolution"),
            engine=asked.get("engine", "auto"),
            options=csv_options(asked.get("csv")),
        )
    parts = _split(table, roles, column)
    return combine_periods(parts, roles, settings, column, asked.get("progress"), asked.get("salt"))


def audit_summaries(
    summaries: Sequence[Summary],
    names: Sequence[str],
    **settings: Any,  # noqa: ANN401
) -> PeriodAudits:
    """Audit summaries, each of them a period."""
    roles = summaries[0].roles
    summaries[0].merge(*summaries[1:])
    parts = {name: each.table for name, each in zip(names, summaries, strict=True)}
    return combine_periods(parts, roles, Settings(**settings), "part")


def _period_column(by: object) -> tuple[str, str | None]:
    if isinstance(by, str):
        return by, None
    if isinstance(by, Mapping) and len(by) == 1:
        ((column, cut),) = by.items()
        if isinstance(column, str) and cut in _CALENDAR:
            return column, str(cut)
    raise InputError(
        f"by must be a column, or {{column of dates: 'month', 'quarter' or 'year'}}, not {by!r}."
    )


def _split(table: TableCells, roles: Roles, column: str) -> dict[str, TableCells]:
    """Split a table whose last legitimate column is the period."""
    cells = table.cells
    labels = [x if roles.legitimate and isinstance(x, tuple) else (x,) for x in cells.levels]
    found = sorted({x[-1] for x in labels}, key=lambda x: (isinstance(x, str), x))
    if len(found) > _TOO_MANY:
        raise InputError(
            f"{column!r} has {len(found):,} periods, and at most {_TOO_MANY} can be audited; for "
            f"dates say by={{{column!r}: 'month'}} (--by {column}=month)."
        )
    calendar = {name: cut for name, cut in table.calendar.items() if name != column}
    parts = {}
    for period in found:
        own = cells.at_levels(np.array([x[-1] == period for x in labels]))
        kept = [x[:-1] if isinstance(x, tuple) else () for x in own.levels]
        names: tuple[Hashable, ...] = tuple(x[0] if len(x) == 1 else x for x in kept)
        own = replace(own, levels=names if roles.legitimate else ("all",))
        rows = int(own.counts.sum())
        by_group = dict(zip(own.groups, own.counts.sum(axis=0).tolist(), strict=True))
        part = replace(
            table, cells=own, rows=rows, used=rows, missing=dict.fromkeys(roles.columns, 0),
            lost=(), group_rows=by_group, calendar=calendar, nulls={},
        )  # fmt: skip
        parts[str(period)] = refresh_metadata(part, roles)
    return parts


def combine_periods(
    parts: Mapping[str, TableCells],
    roles: Roles,
    settings: Settings,
    by: str,
    progress: Callable[[int], None] | None = None,
    salt: str | None = None,
) -> PeriodAudits:
    """Audit each period and all together, and put them side by side."""
    pooled = audit_cells(roles, settings, merge_tables([*parts.values()], roles), progress, salt)
    confidence = bonferroni_confidence(settings.confidence, len(parts))
    own = replace(settings, confidence=confidence)
    audits: list[Audit | None] = []
    notes: list[str] = []
    for name, table in parts.items():
        try:
            audits.append(audit_cells(roles, own, table, progress, salt))
        except InputError as error:
            audits.append(None)
            notes.append(f"{name} was not audited: {error}")
    monitor, more = _watch(parts, roles, settings)
    pairs = [each.groups for each in pooled.contrasts]
    return PeriodAudits(
        pooled.figures, pooled.evidence, by, tuple(parts), tuple(audits),
        tuple(_change(audits, pair, settings.confidence) for pair in pairs), monitor,
        (*notes, *more),
    )  # fmt: skip


def _watch(
    parts: Mapping[str, TableCells], roles: Roles, settings: Settings
) -> tuple[Monitor | None, list[str]]:
    """Run the monitor over all periods; `None` with a note where it says nothing."""
    if roles.weight is not None:
        return None, ["Rows have weights, for which the monitor has no exact e-value."]
    if roles.also_sensitive:
        return None, ["The monitor watches one sensitive column; audit each by itself for it."]
    every = [table.cells for table in parts.values()]
    groups, notes = watched_groups(every, settings.reference), []
    cells: Sequence[Cells | None] = every
    if roles.cluster is not None:
        cells = first_rows(every)
        notes.append(
            f"The monitor counts each {roles.cluster} once, by a row of its first period; rows of "
            "later periods make gaps of periods depend on each other."
        )
    log_e = np.array(
        [
            [
                log_e_values(
                    each, pair, name, permutations=PERMUTATIONS, seed=settings.random_state
                )
                for pair in groups
            ]
            for name, each in zip(parts, cells, strict=True)
        ]
    )
    return Monitor(groups, tuple(parts), log_e, ALPHA, tuple(notes)), notes


def watched_groups(parts: Sequence[Cells], reference: object = None) -> tuple[GroupPair, ...]:
    """Choose pairs of groups by their names only: all of them, or each with the reference."""
    labels = sorted({group for cells in parts for group in cells.groups}, key=_sortable)
    pairs = [(str(a), str(b)) for a, b in combinations(labels, 2)]
    return tuple(x for x in pairs if reference is None or str(reference) in x)


def _sortable(label: object) -> tuple[int, float, str]:
    number = real(label)
    return (1, 0.0, str(label)) if math.isnan(number) else (0, number, "")


def _change(audits: Sequence[Audit | None], groups: GroupPair, confidence: float) -> Change:
    """Ask whether the gap of two groups changes, from gaps of periods with their errors."""
    found: list[tuple[int, float, float, float]] = []
    for place, audit in enumerate(audits):
        for each in () if audit is None or audit.evidence is None else audit.evidence.contrasts:
            gap = each.gap
            if each.groups == groups and math.isfinite(gap.error) and gap.error > 0.0:
                found.append((place, gap.value, gap.error, max(gap.df, 1.0)))
    if len(found) < 2:
        return Change(groups, len(found), None, None, None, None)
    time, gaps, errors, df = np.array(found, np.float64).T
    p_value = heterogeneity(gaps, errors, df)
    if len(found) < 3:
        return Change(groups, len(found), p_value, None, None, None)
    slope, error, freedom = trend(time, gaps, errors)
    reach = float(t_quantile(0.5 + confidence / 2.0, freedom)) * error
    trend_p = 2.0 * float(t_tail(abs(slope) / error, freedom)) if error > 0.0 else None
    return Change(groups, len(found), p_value, slope, (slope - reach, slope + reach), trend_p)


def heterogeneity(gaps: FloatArray, errors: FloatArray, df: FloatArray) -> float:
    """Return the p-value of Welch's test that all k gaps are equal; all are of shape (k,)."""
    weight, k = errors**-2.0, gaps.size
    mean = float(weight @ gaps / weight.sum())
    unsure = float(((1.0 - weight / weight.sum()) ** 2 / df).sum())
    statistic = float(weight @ (gaps - mean) ** 2) / (k - 1)
    statistic /= 1.0 + 2.0 * (k - 2) / (k * k - 1.0) * unsure
    return f_tail(statistic, k - 1, (k * k - 1.0) / (3.0 * max(unsure, 1e-12)))


def trend(time: FloatArray, gaps: FloatArray, errors: FloatArray) -> tuple[float, float, float]:
    """Return the weighted slope of k gaps over time, its error and degrees of freedom."""
    weight, k = errors**-2.0, gaps.size
    apart = time - float(weight @ time / weight.sum())
    squares = float(weight @ apart**2)
    slope = float((weight * apart) @ gaps) / squares
    level = float(weight @ gaps / weight.sum())
    scatter = float(weight @ (gaps - level - slope * apart) ** 2) / (k - 2)
    return slope, math.sqrt(max(scatter, 1.0) / squares), float(k - 2)


def f_tail(x: float, degrees: int, other: float) -> float:
    """Return P(F > x): with y = other / (other + degrees x), the integral of the beta density.

    By the trapezoid rule in s, where F = exp(s), whose integrand is smooth and falls on both sides.
    """
    if x <= 0.0:
        return 1.0
    other = min(other, 1e9)
    a, b = 0.5 * degrees, 0.5 * other
    s = np.linspace(-60.0, 60.0, 24_001)

    def log_density(at: FloatArray) -> FloatArray:
        grown: FloatArray = a * at - (a + b) * np.logaddexp(0.0, at + math.log(degrees / other))
        return grown

    highest = float(log_density(s).max())
    whole = float(np.exp(log_density(s) - highest).sum()) * float(s[1] - s[0])
    tail = math.log(x) + np.linspace(0.0, 60.0, 24_001)
    above = np.exp(log_density(tail) - highest)
    part = float(above.sum() - 0.5 * above[0]) * float(tail[1] - tail[0])
    return min(1.0, part / whole)
