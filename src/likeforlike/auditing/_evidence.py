"""Everything an audit computed, and what verdicts and single pairs of people need of it.

- `evaluate_thresholds`, the gate: intervals against thresholds, and why a verdict is what it is.
- `level_pairs`, similarly situated people. Inside a level all are equal in what is legitimate. The
  plan that W_1 rests on pairs the lowest of one group with the lowest of the other; where their
  scores differ, one of the two has the adverse one.
- `group_rows`: where the rows of every group are, compared, not compared, or missing.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import is_one_of
from likeforlike._text import figure, group_name
from likeforlike.auditing._comparisons import (
    Chosen,
    families,
    group_cells,
    name_group,
    other_pairs,
)
from likeforlike.auditing._contrast_audit import Between, Examination, estimate_between
from likeforlike.auditing._disclosure import Disclosure, RoundingGrid
from likeforlike.auditing._smooth import find_separation, map_contrast
from likeforlike.auditing._tables import TableCells
from likeforlike.classical import Category, LevelConventions, conventions, local_law_144
from likeforlike.disparity import Cells, Contrast
from likeforlike.document import (
    ClassicalFigures,
    ClassicalLevel,
    GroupRows,
    Judgment,
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
from likeforlike.inference import OmnibusTest, expected_pairs
from likeforlike.transport import monotone_plan

PercentBase = tuple[float, str | None]
"""The size of 100% in units of the score, and the group whose mean that is; none of rates."""


def evaluate_thresholds(
    contrasts: Sequence[Examination | Between],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
    policy: str | None,
    min_coverage: float,
    base: Callable[[Examination | Between], PercentBase],
) -> Verdict:
    """Compare the interval of every two groups with the threshold that is for them.

    "fail" if one lies above it. "pass" if all lie at or below it, no row was left out of every
    comparison, and at least `min_coverage` of each group was compared. Otherwise the evidence does
    not settle it: "investigate". `base` is what a percentage is one of.
    """
    judgments: list[Judgment] = []
    for contrast in contrasts:
        own = [each for each in thresholds if set(each.groups or ()) == set(contrast.groups)]
        common = [each for each in thresholds if each.groups is None]
        judgments.append(_judge(contrast, next(iter([*own, *common]), None), min_coverage, base))
    judgments += [
        Judgment(each.groups, "investigate", f"{_names(each.groups, each.columns)}: {each.reason}")
        for each in unexamined
    ]
    known = [set(each.groups) for each in (*contrasts, *unexamined)]
    judgments += [
        Judgment(
            each.groups,
            "investigate",
            f"{_names(each.groups, [sensitive])}: they have a threshold, but were not compared.",
            each.value,
        )
        for each in thresholds
        if each.groups is not None and set(each.groups) not in known
    ]
    # A failure settles it, and what is unsettled keeps it from passing.
    given = {judgment.verdict for judgment in judgments}
    verdict: Outcome = "fail" if "fail" in given else "pass"
    if verdict == "pass" and "investigate" in given:
        verdict = "investigate"
    reasons = tuple(judgment.reason for judgment in judgments if judgment.verdict == verdict)
    return Verdict(verdict, reasons, tuple(judgments), tuple(thresholds), policy)


def _judge(
    contrast: Examination | Between,
    threshold: Threshold | None,
    min_coverage: float,
    base: Callable[[Examination | Between], PercentBase],
) -> Judgment:
    """Compare the interval of two groups with their threshold, and say why it is met or not."""
    names = _names(contrast.groups, contrast.columns)
    if threshold is None:
        return Judgment(contrast.groups, "investigate", f"{names}: no threshold is for them.")
    limit, basis = threshold.value, ""
    if threshold.percent:
        whole, group = base(contrast)
        limit, percent = threshold.value / 100.0 * whole, f"{threshold.value:g}%"
        if group is None:
            basis = f" ({percent} is {threshold.value:g} points: {figure(limit, 4)})"
        else:
            mean = f"the mean of {_names([group], contrast.columns)}, {figure(whole, 4)}"
            basis = f" ({percent} of {mean}: {figure(limit, 4)})"
    low, high = _interval(contrast, threshold.of)
    verdict: Outcome = "investigate"
    if low > limit:
        verdict, reason = "fail", f"at least {figure(low, 4)}"
    elif high <= limit:
        reason = f"at most {figure(high, 4)}"
        if min(contrast.coverage.values()) >= min_coverage:
            verdict = "pass"
        else:
            reason += f" among those who could be compared, {_coverage_words(contrast)}"
    else:
        reason = f"up to {figure(high, 4)}" if math.isfinite(high) else "no upper end"
    ends = (low, high if math.isfinite(high) else None)
    return Judgment(contrast.groups, verdict, f"{names}: {reason}{basis}.", limit, ends)


def _coverage_words(contrast: Examination | Between) -> str:
    """Write how much of each group was compared."""
    shares = {group: f"{100.0 * share:.3g}%" for group, share in contrast.coverage.items()}
    if len(set(shares.values())) == 1:
        return f"{next(iter(shares.values()))} of each group"
    return " and ".join(f"{share} of {group}" for group, share in shares.items())


def _interval(contrast: Examination | Between, of: ThresholdOf) -> tuple[float, float]:
    """Return the interval of the distance, or of the size of the gap whatever its sign."""
    if of == "gap":
        low, high = contrast.gap.interval
        return max(0.0, low, -high), max(abs(low), abs(high))
    if contrast.estimate is None:
        raise InputError("a gate needs an interval; audit with permutations of at least 1.")
    return contrast.estimate.interval


def _names(groups: Sequence[str], columns: Sequence[str]) -> str:
    """Name groups as sentences do; crossed ones have a name that says it all."""
    if len(columns) != 1:
        return " and ".join(groups)
    return " and ".join(group_name(group, columns[0]) for group in groups)


def percent_base(cells: Cells, contrast: Examination | Between, settings: Settings) -> PercentBase:
    """Find what a percentage is taken of: points of rates, else the mean of one group.

    The group is the reference, or the larger one, and its rows are those in levels where both
    groups occur. Where others read the audit, its mean is rounded as all averages are.
    """
    if settings.unit == "%":
        return 100.0, None
    low, high = settings.score_range or cells.ends
    if low >= 0.0 and high <= 1.0:
        return 1.0, None
    places = [[str(group) for group in cells.groups].index(name) for name in contrast.groups]
    both = (cells.counts[:, places] > 0).all(axis=1)
    rows = cells.counts[both][:, places].sum(axis=0)
    reference = contrast.reference if isinstance(contrast, Examination) else None
    name = reference if reference in contrast.groups else contrast.groups[int(rows.argmax())]
    side = contrast.groups.index(name)
    taken = np.zeros(cells.counts.shape, np.bool_)
    taken[both, places[side]] = True
    kept = np.repeat(taken.ravel(), np.diff(cells.atoms.offsets))
    values, mass = cells.atoms.values[kept], cells.atoms.mass[kept]
    mean = float(np.average(values, weights=mass))
    spread = math.sqrt(float(np.average((values - mean) ** 2, weights=mass)))
    error = spread / math.sqrt(float(rows[side]))
    negative = float(mass[values < 0.0].sum() / mass.sum())
    if mean <= 2.0 * error or negative > 0.05:
        raise InputError(
            f"threshold cannot be a percentage: the mean score of {name} is not clearly positive "
            "or scores below 0 are many, so that a share of it says nothing; give the threshold in "
            "units of the score."
        )
    if settings.suppress_below is not None:
        mean = RoundingGrid.from_noise(error, (mean,)).nearest(mean)
    return mean, name


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
    read : reads cells of the same table with other roles; `None` if it is not at hand.
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
    read: partial[TableCells] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Leave the table behind: those of an engine cannot be sent to another process."""
        return {**self.__dict__, "read": None}

    @cached_property
    def disclosure(self) -> Disclosure | None:
        """What may be shown, if small cells are to be hidden."""
        limit = self.settings.suppress_below
        if limit is None:
            return None
        return Disclosure(
            self.contrasts, self.unexamined, self.table, self.roles, limit, self.contrast_cells
        )

    @cached_property
    def contrast_cells(self) -> list[tuple[Cells, Cells]]:
        """The cells of each contrast: with scores as compared, and as they are."""
        if self.table.lines is None:
            return [(self._group_cells(each.columns),) * 2 for each in self.contrasts]
        mappings = (
            map_contrast(
                self.table.lines, self.roles, each.columns, each.groups, self.settings.random_state
            )
            for each in self.contrasts
        )
        return [(each.for_estimates.cells, each.together.cells) for each in mappings]

    def _group_cells(self, columns: tuple[str, ...]) -> Cells:
        return group_cells(self.table.cells, columns, self.roles.all_sensitive)

    @cached_property
    def classical(self) -> tuple[ClassicalFigures, ...]:
        """Figures by convention; none along a number, and none where small cells are hidden.

        The reference of a contrast, or else its first group, is what the other is compared with.
        """
        hidden = self.settings.suppress_below is not None
        if hidden or self.table.lines is not None or not self.conventional:
            return ()
        columns = dict.fromkeys(each.columns for each in self.contrasts)
        cells = {each: self._group_cells(each) for each in columns}
        return tuple(self._classical_figures(cells[each.columns], each) for each in self.contrasts)

    def _classical_figures(self, cells: Cells, contrast: Examination) -> ClassicalFigures:
        """Compute the figures by convention of one contrast."""
        names = list(map(str, cells.groups))
        low, high = (names.index(group) for group in contrast.groups)
        pair = Contrast(cells, (low, high)).narrow()
        first, second = pair.groups
        if str(second) == contrast.reference:
            first, second = second, first
        confidence = self.settings.confidence
        found = conventions(pair.cells, second, first, confidence=confidence)
        groups = str(found.group), str(found.reference)
        by_level = {entry.level: entry for entry in found.levels}
        level_names = dict(zip(self.table.cells.levels, self.table.level_names, strict=True))

        def entry(figures: LevelConventions, name: str) -> ClassicalLevel:
            return ClassicalLevel(
                name=name,
                rows=dict(zip(groups, figures.rows, strict=True)),
                mean=dict(zip(groups, figures.mean, strict=True)),
                median=dict(zip(groups, figures.median, strict=True)),
                gap=figures.gap,
                ratio=figures.ratio,
                ratio_interval=figures.ratio_interval,
                smd=figures.smd,
            )

        return ClassicalFigures(
            groups=groups,
            columns=contrast.columns,
            decisions=found.decisions,
            confidence=found.confidence,
            overall=entry(found.overall, "everybody"),
            levels=tuple(
                entry(by_level[each.level], level_names[each.level]) for each in contrast.levels
            ),
            mantel_haenszel=found.mantel_haenszel,
            breslow_day=found.breslow_day,
            van_elteren=found.van_elteren,
            wachter=found.wachter,
        )

    @cached_property
    def local_law_144(self) -> tuple[Category, ...]:
        """Rates and impact ratios of every category."""
        return local_law_144(self.table.cells, self.roles.all_sensitive)

    def judge(self, thresholds: Sequence[Threshold], policy: str | None) -> Verdict:
        """Compare every two groups with the threshold that is for them.

        Groups that were each compared with a third one only are judged by what is known between
        them: two that are close to a third may be twice as far apart.
        """
        contrasts, apart = self.contrasts, self.unexamined
        between, never = self._between
        if self.disclosure is not None:
            # A verdict and its reasons are shown to others, so they rest on what is shown.
            contrasts, apart = self.disclosure.basis, self.disclosure.not_visible
            between, never = self.disclosure.between(between, never)
        return evaluate_thresholds(
            [*contrasts, *between],
            [*apart, *never],
            thresholds,
            self.roles.sensitive,
            policy,
            self.settings.min_coverage,
            lambda each: percent_base(self._group_cells(each.columns), each, self.settings),
        )

    @cached_property
    def _between(self) -> tuple[tuple[Between, ...], tuple[Unexamined, ...]]:
        """Every two groups that were compared only with a third: what a verdict says of them.

        A distance may be 0 unless one of the two was found to differ from the third: if the two
        differ, so does one of them from any third; nothing else was tested.
        """
        settings, table = self.settings, self.table
        pairs, apart = other_pairs(table.cells, self.roles, settings.reference, settings.min_cell)
        family = len(self.contrasts) + len(pairs)
        significant = {
            (contrast.columns, group)
            for contrast in self.contrasts
            if contrast.p_value is not None and contrast.p_value <= 1.0 - settings.confidence
            for group in contrast.groups
        }
        found: list[Between] = []
        for each in pairs:
            pair, columns, _ = each
            mapping = None
            if table.lines is not None:
                seed = settings.random_state
                mapping = map_contrast(table.lines, self.roles, columns, pair.groups, seed)
                if (never := find_separation(mapping, columns)) is not None:
                    apart = (*apart, never)
                    continue
            known = estimate_between(each, table, settings, mapping=mapping, family=family)
            distance = known.estimate
            if distance is not None and not significant & {(columns, g) for g in known.groups}:
                interval = (0.0, distance.interval[1])
                known = known._replace(estimate=replace(distance, interval=interval))
            found.append(known)
        return tuple(found), apart


# Differences of this size, relative to the scores, are rounding.
_HAIR = 1e-12

Adverse = Literal["low", "high"]
"""Which scores are adverse: low ones, as of a credit score, or high ones, as of a risk."""


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
    """List the pairs of one level whose scores are furthest apart."""
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
    plan = monotone_plan(*(atoms.mass[span] for span in spans))
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
        # People whose difference reaches each bar.
        last = np.searchsorted(-distance[mine], -bar[mine], side="right") - 1
        reached[mine] = np.cumsum(people[mine])[last]
    chosen = order[:n]
    chance = (
        None
        if cells.weighted or cells.cluster is not None
        else _expect_at_least(cells, spans, bar[chosen], whose[chosen], adverse, permutations, seed)
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


def _expect_at_least(
    cells: Cells,
    spans: Sequence[slice],
    bar: FloatArray,
    whose: IntArray,
    adverse: Adverse,
    permutations: int,
    seed: int,
) -> FloatArray:
    """Count people at least as far from their comparator if groups were permuted, on average."""
    atoms = cells.rounded
    values, place = np.unique(
        np.concatenate([atoms.values[span] for span in spans]), return_inverse=True
    )
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, place, np.concatenate([atoms.counts[span] for span in spans]))
    rows = np.array([int(atoms.counts[span].sum()) for span in spans])
    differences = np.unique(bar)
    lower, higher = expected_pairs(
        values, counts, int(rows[0]), differences, permutations=permutations, seed=seed
    )
    # The first group is adverse where it is the lower one, or the higher one.
    sides = np.stack([lower, higher] if adverse == "low" else [higher, lower])
    expected: FloatArray = sides[whose, np.searchsorted(differences, bar)] * rows[whose]
    return expected


def pairs_csv(pairs: Iterable[Pair]) -> str:
    """Write pairs as a CSV file; text that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    names = [field.name for field in fields(Pair)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, "cost"])
    for pair in pairs:
        cells = [getattr(pair, name) for name in names]
        formula = [isinstance(c, str) and c[:1] in ("=", "+", "-", "@", "\t", "\r") for c in cells]
        quoted = [f"'{c}" if is_one else c for c, is_one in zip(cells, formula, strict=True)]
        writer.writerow([*quoted, pair.cost])
    return out.getvalue()


def group_rows(
    table: TableCells,
    roles: Roles,
    chosen: Sequence[Chosen],
    contrasts: Sequence[Examination] = (),
) -> tuple[GroupRows, ...]:
    """Count the rows of every group, column after column, those of crossed columns last.

    Along numbers every two groups have windows of their own, so that only the `contrasts` know
    which rows were compared: those of the comparison that most of them are in.
    """
    found: list[GroupRows] = []
    for columns in families(roles.all_sensitive):
        compared: dict[str, int] = {}
        if table.lines is None:
            pairs = [pair for pair, own, _ in chosen if own == columns]
            compared = _rows_with_common_support(pairs)
        for contrast in () if table.lines is None else contrasts:
            for group in contrast.groups if contrast.columns == columns else ():
                rows = sum(level.rows[group] for level in contrast.levels)
                compared[group] = max(rows, compared.get(group, 0))
        used: dict[str, int] = {}
        for label, rows in table.group_rows.items():
            if (name := name_group(label, columns, roles.all_sensitive)) is not None:
                used[name] = used.get(name, 0) + rows
        own = [each for each in table.lost if each.columns == columns]
        lost = {each.group: each.lost for each in own if each.group is not None}
        for name in sorted(used | lost):
            gone, there, met = lost.get(name, 0), used.get(name, 0), compared.get(name, 0)
            found.append(GroupRows(columns, name, gone + there, met, there - met, gone))
        unknown = sum(each.rows for each in own if each.group is None)
        found += [GroupRows(columns, None, unknown, 0, 0, unknown)] if unknown else []
    return tuple(found)


def _rows_with_common_support(pairs: Sequence[Contrast]) -> dict[str, int]:
    """Count the rows of every group in levels where it meets one that it is compared with."""
    rows: dict[str, int] = {}
    for position, group in enumerate(pairs[0].cells.groups if pairs else ()):
        met = [pair.support for pair in pairs if position in pair.positions]
        if met:
            counts = pairs[0].cells.counts
            rows[str(group)] = int(counts[np.any(met, axis=0), position].sum())
    return rows
