"""Everything an audit computed, and what verdicts and single pairs of people need of it.

The gate: intervals against thresholds, and why they say what they say.

Figures by convention of every contrast of an audit.

Similarly situated: people with adverse scores, and their comparators by the exact plan.

Inside a level all people are equal in what is legitimate. The plan that W_1 rests on pairs every
person of one group with one of the other, the lowest with the lowest; where their scores
differ, one of the two has the adverse one.

Where the rows of every group are: compared, not compared, or missing. No row is dropped.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of
from likeforlike._text import crossed_name, figure, group_name
from likeforlike.auditing._comparisons import (
    Chosen,
    chosen_contrasts,
    families,
    family_of,
    other_pairs,
)
from likeforlike.auditing._contrast_audit import (
    Between,
    Examination,
    PercentBase,
    look_between,
    percent_base,
)
from likeforlike.auditing._disclosure import Disclosure
from likeforlike.auditing._smooth import carried_along, unexamined_along
from likeforlike.auditing._tables import TableCells
from likeforlike.classical import (
    Category,
    Conventions,
    LevelConventions,
    conventions,
    local_law_144,
)
from likeforlike.disparity import Cells
from likeforlike.document import (
    ClassicalFigures,
    ClassicalLevel,
    GroupRows,
    Judgment,
    LevelAudit,
    Outcome,
    Provenance,
    Roles,
    Settings,
    Threshold,
    ThresholdOf,
    Unexamined,
    Verdict,
)
from likeforlike.errors import InputError
from likeforlike.inference import OmnibusTest, pairs_by_chance
from likeforlike.transport import sorted_plan

if TYPE_CHECKING:
    from likeforlike.auditing._contrast_audit import Between, Examination, PercentBase


def rule(
    contrasts: Sequence[Examination],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
    policy: str | None = None,
    *,
    between: Sequence[Between] = (),
    min_coverage: float = 0.0,
    base: Callable[[Examination | Between], PercentBase] | None = None,
) -> Verdict:
    """Compare the interval of every two groups with the threshold that is for them.

    "fail" if one lies above it. "pass" if all lie at or below it, no row was left out of every
    comparison, and at least `min_coverage` of each group was compared. Otherwise the evidence does
    not settle it: "investigate". Groups that were each compared with a third one only are judged by
    what is known `between` them: two that are close to a third may be twice as far apart. Of what a
    percentage is one is said by `base`.
    """
    compared: list[Examination | Between] = [*contrasts, *between]
    judgments = (
        *(_judge(each, _chosen(thresholds, each), min_coverage, base) for each in compared),
        *(
            Judgment(
                each.groups, "investigate", f"{_names(each.groups, each.columns)}: {each.reason}"
            )
            for each in unexamined
        ),
        *_unmet(compared, unexamined, thresholds, sensitive),
    )
    verdict = worst(judged.verdict for judged in judgments)
    reasons = tuple(judged.reason for judged in judgments if judged.verdict == verdict)
    return Verdict(verdict, reasons, judgments, tuple(thresholds), policy)


def worst(verdicts: Iterable[Outcome]) -> Outcome:
    """One verdict for many: a failure settles it, and what is unsettled keeps it from passing."""
    given = set(verdicts)
    return "fail" if "fail" in given else "investigate" if "investigate" in given else "pass"


def _chosen(thresholds: Sequence[Threshold], contrast: Examination | Between) -> Threshold | None:
    """The threshold for two groups: their own, or that of all."""
    own = [each for each in thresholds if each.groups and set(each.groups) == set(contrast.groups)]
    common = [each for each in thresholds if each.groups is None]
    return next(iter([*own, *common]), None)


def _judge(
    contrast: Examination | Between,
    threshold: Threshold | None,
    min_coverage: float,
    base: Callable[[Examination | Between], PercentBase] | None,
) -> Judgment:
    names = _names(contrast.groups, contrast.columns)
    if threshold is None:
        return Judgment(contrast.groups, "investigate", f"{names}: no threshold is for them.")
    threshold, basis = _in_units(threshold, contrast, base)
    low, high = _interval(contrast, threshold.of)
    verdict: Outcome
    if low > threshold.value:
        verdict, reason = "fail", f"at least {figure(low, 4)}"
    elif high <= threshold.value:
        verdict, reason = "pass", f"at most {figure(high, 4)}"
        if (few := _few_compared(contrast, min_coverage)) is not None:
            verdict, reason = "investigate", f"{reason} {few}"
    else:
        verdict = "investigate"
        reason = f"up to {figure(high, 4)}" if math.isfinite(high) else "no upper end"
    ends = (low, high if math.isfinite(high) else None)
    said = f"{names}: {reason}{basis}."
    return Judgment(contrast.groups, verdict, said, threshold.value, ends)


def _in_units(
    threshold: Threshold,
    contrast: Examination | Between,
    base: Callable[[Examination | Between], PercentBase] | None,
) -> tuple[Threshold, str]:
    """A threshold in units of the score, and how it came about if it was a percentage."""
    if not threshold.percent:
        return threshold, ""
    if base is None:
        raise InputError("threshold must be in units of the score here, not a percentage.")
    whole, group = base(contrast)
    value = threshold.value / 100.0 * whole
    said = f"{threshold.value:g}%"
    if group is None:
        basis = f" ({said} is {threshold.value:g} points: {figure(value, 4)})"
    else:
        named = group_name(group, contrast.columns[0]) if len(contrast.columns) == 1 else group
        basis = f" ({said} of the mean of {named}, {figure(whole, 4)}: {figure(value, 4)})"
    return replace(threshold, value=value, percent=False), basis


def _few_compared(contrast: Examination | Between, least: float) -> str | None:
    """Who was compared, if these are too few for a verdict about all; else `None`."""
    if min(contrast.coverage.values()) >= least:
        return None
    return f"among those who could be compared, {covered_words(contrast.coverage)}"


def covered_words(coverage: Mapping[str, float]) -> str:
    """How much of each group was compared, as a sentence has it."""
    shares = [f"{share:.3g}%" for share in (100.0 * share for share in coverage.values())]
    if len(set(shares)) == 1:
        return f"{shares[0]} of each group"
    return " and ".join(
        f"{share} of {group}" for share, group in zip(shares, coverage, strict=True)
    )


def _unmet(
    contrasts: Sequence[Examination | Between],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
) -> list[Judgment]:
    """Thresholds for two groups that were never set against each other."""
    known = [set(each.groups) for each in contrasts]
    known += [set(each.groups) for each in unexamined]
    return [
        Judgment(
            each.groups,
            "investigate",
            f"{_names(each.groups, [sensitive])}: they have a threshold, but were not compared.",
            each.value,
        )
        for each in thresholds
        if each.groups is not None and set(each.groups) not in known
    ]


def _interval(contrast: Examination | Between, of: ThresholdOf) -> tuple[float, float]:
    """Lower and upper end of the distance, or of the size of the gap whatever its sign."""
    if of == "gap":
        low, high = contrast.gap.interval
        return max(0.0, low, -high), max(abs(low), abs(high))
    if contrast.estimate is None:
        raise InputError("a gate needs an interval; audit with permutations of at least 1.")
    return contrast.estimate.interval


def _names(groups: Sequence[str], columns: Sequence[str]) -> str:
    """Groups as sentences call them; crossed ones have a name that says it all."""
    if len(columns) != 1:
        return " and ".join(groups)
    return " and ".join(group_name(group, columns[0]) for group in groups)


def classical_figures(
    contrasts: Sequence[Examination], roles: Roles, settings: Settings, table: TableCells
) -> tuple[ClassicalFigures, ...]:
    """Figures by convention of every contrast, in the same order.

    The reference of a contrast, or else its first group, is what the other is compared with.
    """
    chosen, _ = chosen_contrasts(table.cells, roles, settings.reference, settings.min_cell)
    known = {(each.columns, tuple(map(str, each.contrast.groups))): each for each in chosen}
    names = dict(zip(table.cells.levels, table.level_names, strict=True))
    return tuple(
        _figures(
            _found(known[each.columns, each.groups], settings), each.columns, each.levels, names
        )
        for each in contrasts
    )


def _found(chosen: Chosen, settings: Settings) -> Conventions:
    contrast = chosen.contrast.narrow()
    first, second = contrast.groups
    if str(second) == chosen.reference:
        first, second = second, first
    return conventions(contrast.cells, second, first, confidence=settings.confidence)


def _figures(
    found: Conventions,
    columns: tuple[str, ...],
    levels: Sequence[LevelAudit],
    names: Mapping[Hashable, str],
) -> ClassicalFigures:
    groups = str(found.group), str(found.reference)
    by_level = {entry.level: entry for entry in found.levels}
    return ClassicalFigures(
        groups=groups,
        columns=columns,
        decisions=found.decisions,
        confidence=found.confidence,
        overall=_entry(found.overall, "everybody", groups),
        levels=tuple(_entry(by_level[each.level], names[each.level], groups) for each in levels),
        mantel_haenszel=found.mantel_haenszel,
        breslow_day=found.breslow_day,
        van_elteren=found.van_elteren,
        wachter=found.wachter,
    )


def _entry(entry: LevelConventions, name: str, groups: tuple[str, str]) -> ClassicalLevel:
    return ClassicalLevel(
        name=name,
        rows=dict(zip(groups, entry.rows, strict=True)),
        mean=dict(zip(groups, entry.mean, strict=True)),
        median=dict(zip(groups, entry.median, strict=True)),
        gap=entry.gap,
        ratio=entry.ratio,
        ratio_interval=entry.ratio_interval,
        smd=entry.smd,
    )


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


# Differences of this size, relative to the scores, are rounding.
_HAIR = 1e-12

Adverse = Literal["low", "high"]
"""Which scores are adverse: low ones, as of a credit score, or high ones, as of a risk.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import make_loans
>>> roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
>>> audit = lfl.audit(make_loans(500).frame, **roles, permutations=0)
>>> high = audit.pairs(n=1, adverse="high")[0]
>>> high.score > high.comparator_score
True
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A person with an adverse score, and the equal of the other group whom the plan pairs.

    Attributes
    ----------
    level : name of the level both are in.
    group, score : of the person with the adverse score.
    comparator_group, comparator_score : of the equal.
    difference : between the scores, more than 0.
    share : of the plan of this level; costs of all pairs, share times difference, sum to W_1.
    people : rows of the group that this share stands for; the plan may divide one.
    at_least : rows of the group whose comparator is at least as far away.
    by_chance : what `at_least` would be on average if groups were permuted inside the level;
        `None` for weights and clusters, which cannot be.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> audit = lfl.audit(load_loans(1000).frame, **roles, permutations=0)
    >>> pair = audit.pairs("income low")[0]
    >>> pair.group, pair.score, pair.comparator_group, pair.comparator_score, pair.people
    ('female', 0.0, 'male', 1.0, 10.0)
    """

    level: str
    group: str
    score: float
    comparator_group: str
    comparator_score: float
    difference: float
    share: float
    people: float
    at_least: float
    by_chance: float | None

    @property
    def cost(self) -> float:
        """What the pair adds to W_1 of the level."""
        return self.share * self.difference


def level_pairs(
    cells: Cells,
    groups: tuple[Hashable, Hashable],
    level: Hashable,
    name: str,
    *,
    n: int | None,
    adverse: Adverse,
    permutations: int,
    seed: int,
) -> tuple[Pair, ...]:
    """The pairs of one level whose scores are furthest apart."""
    if not is_one_of(adverse, get_args(Adverse)):
        raise InputError(f"adverse must be one of {get_args(Adverse)}, not {adverse!r}.")
    if n is not None and n < 1:
        raise InputError(f"n must be 1 or more, not {n!r}.")
    places = [
        cells.levels.index(level) * len(cells.groups) + cells.groups.index(group)
        for group in groups
    ]
    atoms = cells.rounded
    spans = [slice(atoms.offsets[place], atoms.offsets[place + 1]) for place in places]
    values = [atoms.values[span] for span in spans]
    rows = [int(atoms.counts[span].sum()) for span in spans]
    plan = sorted_plan(*(atoms.mass[span] for span in spans))
    signed = values[1][plan.target] - values[0][plan.source]
    # Whose score is adverse: 0 for the first group, 1 for the second.
    whose = np.where((signed > 0.0) == (adverse == "low"), 0, 1)
    distance, people = np.abs(signed), plan.mass * np.array(rows)[whose]
    order = np.lexsort((plan.source, whose, -distance))
    order = order[distance[order] > 0.0]
    # Decimals such as 0.1 are apart by a hair after subtraction; that is no difference.
    bar = distance - _HAIR * max(float(np.abs(side).max()) for side in values)
    reached = np.zeros(signed.size)
    for side in (0, 1):
        mine = order[whose[order] == side]
        reached[mine] = _at_least(distance[mine], bar[mine], people[mine])
    chosen = order[:n]
    chance = (
        None
        if cells.weighted or cells.cluster is not None
        else _by_chance(cells, spans, bar[chosen], whose[chosen], adverse, permutations, seed)
    )
    names = [str(group) for group in groups]
    return tuple(
        Pair(
            name,
            names[whose[k]],
            float((values[0][plan.source[k]], values[1][plan.target[k]])[whose[k]]),
            names[1 - whose[k]],
            float((values[1][plan.target[k]], values[0][plan.source[k]])[whose[k]]),
            float(distance[k]),
            float(plan.mass[k]),
            float(people[k]),
            float(reached[k]),
            None if chance is None else float(chance[place]),
        )
        for place, k in enumerate(chosen)
    )


def _at_least(falling: FloatArray, bar: FloatArray, people: FloatArray) -> FloatArray:
    """People whose difference reaches each bar."""
    total = np.cumsum(people)
    last = np.searchsorted(-falling, -bar, side="right") - 1
    reached: FloatArray = total[last]
    return reached


def _by_chance(
    cells: Cells,
    spans: Sequence[slice],
    bar: FloatArray,
    whose: np.typing.NDArray[np.int64],
    adverse: Adverse,
    permutations: int,
    seed: int,
) -> FloatArray:
    """People at least as far from their comparator if groups were permuted."""
    atoms = cells.rounded
    values, place = np.unique(
        np.concatenate([atoms.values[span] for span in spans]), return_inverse=True
    )
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, place, np.concatenate([atoms.counts[span] for span in spans]))
    rows = np.array([int(atoms.counts[span].sum()) for span in spans])
    differences = np.unique(bar)
    lower, higher = pairs_by_chance(
        values, counts, int(rows[0]), differences, permutations=permutations, seed=seed
    )
    # The first group is adverse where it is the lower one, or the higher one.
    sides = np.stack([lower, higher] if adverse == "low" else [higher, lower])
    expected: FloatArray = sides[whose, np.searchsorted(differences, bar)] * rows[whose]
    return expected


def pairs_csv(pairs: Iterable[Pair]) -> str:
    """Pairs as a CSV file."""
    out = io.StringIO()
    names = [field.name for field in fields(Pair)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, "cost"])
    for pair in pairs:
        writer.writerow([*(_cell(getattr(pair, name)) for name in names), pair.cost])
    return out.getvalue()


def _cell(value: str | float | None) -> str | float | None:
    """A value for a table; text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def group_rows(
    table: TableCells,
    roles: Roles,
    chosen: Sequence[Chosen],
    examined: Sequence[Examination] = (),
) -> tuple[GroupRows, ...]:
    """The rows of every group, column after column, those of crossed columns last.

    Along numbers every two groups have windows of their own, so that only those `examined` know
    which rows were compared.
    """

    def along(columns: tuple[str, ...]) -> dict[str, int] | None:
        return None if table.lines is None else _compared_along(examined, columns)

    return tuple(
        each
        for columns in families(roles.all_sensitive)
        for each in _rows_in(columns, table, roles, chosen, along(columns))
    )


def _compared_along(examined: Sequence[Examination], columns: tuple[str, ...]) -> dict[str, int]:
    """Rows of every group in the comparison that most of them are in."""
    compared: dict[str, int] = {}
    for contrast in examined:
        for group in contrast.groups if contrast.columns == columns else ():
            rows = sum(level.rows[group] for level in contrast.levels)
            compared[group] = max(rows, compared.get(group, 0))
    return compared


def _rows_in(
    columns: tuple[str, ...],
    table: TableCells,
    roles: Roles,
    chosen: Sequence[Chosen],
    along: dict[str, int] | None,
) -> list[GroupRows]:
    compared = along
    if compared is None:
        compared = _compared([each for each in chosen if each.columns == columns])
    own = [each for each in table.lost if each.columns == columns]
    lost = {each.group: each.lost for each in own if each.group is not None}
    used = _used(columns, table, roles)
    found = []
    for name in sorted(used | lost):
        gone = lost.get(name, 0)
        rows = gone + used.get(name, 0)
        found.append(_count_rows(columns, name, rows, compared.get(name, 0), gone))
    unknown = sum(each.rows for each in own if each.group is None)
    return [*found, _count_rows(columns, None, unknown, 0, unknown)] if unknown else found


def _count_rows(
    columns: tuple[str, ...], group: str | None, rows: int, compared: int, missing: int
) -> GroupRows:
    return GroupRows(columns, group, rows, compared, rows - compared - missing, missing)


def _used(columns: tuple[str, ...], table: TableCells, roles: Roles) -> dict[str, int]:
    """Rows of every group that lack nothing."""
    places = [roles.all_sensitive.index(column) for column in columns]
    used: dict[str, int] = {}
    for group, rows in table.group_rows.items():
        values: list[Hashable] = [group]
        if roles.also_sensitive:
            assert isinstance(group, tuple)
            values = [group[place] for place in places]
        if None not in values:
            name = crossed_name(values, columns)
            used[name] = used.get(name, 0) + rows
    return used


def _compared(chosen: Sequence[Chosen]) -> dict[str, int]:
    """Rows of every group in levels where it meets one that it is compared with."""
    if not chosen:
        return {}
    cells = chosen[0].contrast.cells
    held = {}
    for position, group in enumerate(cells.groups):
        met = [each.contrast.support for each in chosen if position in each.contrast.positions]
        if met:
            somewhere = sum(met) > 0
            held[str(group)] = int(cells.counts[somewhere, position].sum())
    return held
