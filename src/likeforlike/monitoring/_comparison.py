"""Two scores or more on the same rows: which has the smaller disparity, and at what performance.

The same people have both scores, so that errors are paired:

- the gap of the difference of two scores is the difference of their gaps, Δ_1 - Δ_0;
- |Δ_1| - |Δ_0| follows from intervals of Δ_1 - Δ_0 and of Δ_1 + Δ_0 (`_pairs.size_limits`);
- D_1 - D_0 has an interval of its own (`_pairs.difference_limits`);
- performance is AUC where the target is 0 or 1 (DeLong), else mean squared error (paired t).

More than two scores are all compared with the first, and with more than two groups every two; all
intervals hold together by Bonferroni.

Reference: DeLong, DeLong and Clarke-Pearson (1988), *Comparing the areas under two or more
correlated receiver operating characteristic curves*.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import Engine, Measure, is_one_of, real
from likeforlike._text import figure, group_name
from likeforlike.auditing import (
    Summary,
    column_names,
    native_frame,
    provenance,
    read_cells,
    select_contrasts,
)
from likeforlike.disparity import Cells, Codes, Contrast, level_weights
from likeforlike.document import PlainValues, Provenance, Roles, ThresholdOf, json_text, plain
from likeforlike.errors import InputError
from likeforlike.files import csv_options, write_whole
from likeforlike.inference import (
    Gap,
    bonferroni_confidence,
    check_confidence,
    estimate_distance,
    level_gaps,
    signed_gap,
    t_quantile,
    take_sample,
)
from likeforlike.monitoring._pairs import (
    Interval,
    Pairs,
    count_units,
    difference_limits,
    estimate_moments,
    size_limits,
)
from likeforlike.transport import sum_parts

Relation = Literal["better", "not worse", "worse", "undecided"]
"""What is known of a challenger: its disparity is smaller; larger by no more than the margin;
larger; or none of these."""

ScoreScale = Literal["same", "ranks"]
_ORDER: tuple[Relation, ...] = ("worse", "undecided", "not worse", "better")
# Scores whose reaches differ by more than this hardly have the same unit.
_SAME_UNIT = 5.0
# Beyond this confidence it is taken as known which of two gaps is larger in size.
_CLEAR = 20.0


@dataclass(frozen=True, slots=True)
class PairedFigure:
    """A figure of two scores, and its difference, second minus first, with intervals.

    Attributes
    ----------
    name : of the figure: "gap", "size of the gap", "distance", "AUC of women", a level.
    first, second : of each score by itself; `None` where it has no value.
    first_interval, second_interval : of each by itself; `None` where there is none.
    difference : second minus first.
    interval : of the difference; `None` where there is none.
    rows : that it rests on.
    """

    name: str
    first: float | None
    first_interval: tuple[float, float | None] | None
    second: float | None
    second_interval: tuple[float, float | None] | None
    difference: float | None
    interval: Interval | None
    rows: int


@dataclass(frozen=True, slots=True)
class ScorePair:
    """A challenger against the first score, for two groups.

    Attributes
    ----------
    scores : both, the first score first.
    groups : whose scores are compared among equals.
    verdict : about the challenger.
    gap : Δ, second group minus first.
    size : |Δ|.
    distance : D; without an interval where the data give none.
    change : D of the difference of the scores: whether what changed fell on the groups differently.
    levels : the gap of each level, those with the largest change first.
    coverage : share of each group that is compared.
    reasons : what a reader of the intervals should know.
    """

    scores: tuple[str, str]
    groups: tuple[str, str]
    verdict: Relation
    gap: PairedFigure
    size: PairedFigure
    distance: PairedFigure
    change: tuple[float, float | None]
    levels: tuple[PairedFigure, ...]
    coverage: dict[str, float]
    reasons: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`. Nothing changes it.

    Attributes
    ----------
    scores : their columns; the first is what others are compared with.
    sensitive, legitimate, target : columns.
    margin, of, confidence : as they were asked for.
    pairs : every challenger and every two groups.
    performance : {challenger: figures of all rows, then of every group}; empty without a target.
    rows : that have all values.
    provenance : versions, time, and the fingerprint of the first score.
    """

    scores: tuple[str, ...]
    sensitive: str
    legitimate: tuple[str, ...]
    target: str | None
    margin: float
    of: ThresholdOf
    confidence: float
    pairs: tuple[ScorePair, ...]
    performance: dict[str, tuple[PairedFigure, ...]]
    rows: int
    provenance: Provenance

    @property
    def verdict(self) -> Relation:
        """The least favorable verdict of all pairs; "better" than "not worse" where one is."""
        found = {pair.verdict for pair in self.pairs}
        worst = min(found, key=_ORDER.index)
        return "better" if worst == "not worse" and "better" in found else worst

    @property
    def headline(self) -> str:
        """What was found of the first pair, in one sentence."""
        return self.sentences[0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found of each pair, a sentence each."""
        return tuple(map(self._sentence, self.pairs))

    def _sentence(self, pair: ScorePair) -> str:
        asked = pair.distance if self.of == "distance" else pair.size
        first, challenger = pair.scores
        groups = " and ".join(group_name(each, self.sensitive) for each in pair.groups)
        equal = f" with equal {' and '.join(self.legitimate)}" if self.legitimate else ""
        what = f"the {asked.name} between {groups}{equal}"
        if asked.interval is None or not asked.interval[0] * asked.interval[1] > 0.0:
            ends = "" if asked.interval is None else f" ({_ends(asked.interval)})"
            said = f"The data do not say whether {what} is smaller under {challenger} or {first}"
            said += f"{ends}"
        else:
            said = f"Under {challenger} {what} is {_moved(asked)} than under {first}"
        if pair.scores[1] in self.performance:
            said += f"; its {_performance(self.performance[challenger][0])}"
        return f"{said}."

    def to_dict(self) -> PlainValues:
        """Return everything as plain values; the JSON is made of this."""
        values: PlainValues = plain(self)
        return {
            "schema": "likeforlike.comparison",
            "verdict": self.verdict,
            "sentences": list(self.sentences),
            **values,
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything as JSON; also to `path`, whole or not at all."""
        text = json_text(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """Make one self-contained page; also write it to `path`, whole or not at all."""
        from likeforlike.monitoring._page import comparison_page

        text = comparison_page(self)
        if path is not None:
            write_whole(path, text)
        return text

    def to_frame(self) -> Any:  # noqa: ANN401
        """Tabulate all figures with their intervals, one row each, as a polars table."""
        lines: list[tuple[Any, ...]] = [
            (*pair.scores, *pair.groups, each)
            for pair in self.pairs
            for each in (pair.gap, pair.size, pair.distance, *pair.levels)
        ]
        lines += [
            (self.scores[0], challenger, None, None, each)
            for challenger, figures in self.performance.items()
            for each in figures
        ]
        columns: dict[str, list[Any]] = {
            name: [line[place] for line in lines]
            for place, name in enumerate(("first", "second", "group", "other_group"))
        }
        for name in ("name", "first", "second", "difference", "rows"):
            key = f"{name}_value" if name in columns else name
            columns[key] = [getattr(line[4], name) for line in lines]
        ends = [line[4].interval or (None, None) for line in lines]
        return native_frame(
            columns | {"low": [low for low, _ in ends], "high": [high for _, high in ends]},
            "polars",
        )

    def __repr__(self) -> str:
        """Say in one line what was compared and what was found."""
        return f"<Comparison of {' and '.join(self.scores)}, {self.rows:,} rows: {self.verdict}>"

    def __str__(self) -> str:
        """Return what the terminal shows."""
        lines = [*self.sentences, f"Against a margin of {figure(self.margin)}: {self.verdict}."]
        for pair in self.pairs:
            lines += [
                f"  {' and '.join(pair.groups)}, {_line(each, pair.scores)}"
                for each in (pair.gap, pair.size, pair.distance)
            ]
            lines += [f"  ! {reason}" for reason in pair.reasons]
        for challenger, figures in self.performance.items():
            lines += [f"  {_line(each, (self.scores[0], challenger))}" for each in figures]
        return "\n".join(lines)


def _ends(interval: Interval) -> str:
    return f"{figure(interval[0])} to {figure(interval[1])}"


def _moved(asked: PairedFigure) -> str:
    """Say by how much a figure is smaller or larger."""
    assert asked.interval is not None
    sizes = sorted(abs(end) for end in asked.interval)
    smaller = asked.interval[1] < 0.0
    by = f"by {figure(abs(asked.difference or 0.0))} ({figure(sizes[0])} to {figure(sizes[1])})"
    return f"{'smaller' if smaller else 'larger'} {by}"


def _performance(asked: PairedFigure) -> str:
    ends = asked.interval
    if ends is None or not ends[0] * ends[1] > 0.0:
        known = "" if ends is None else f" ({_ends(ends)})"
        return f"{asked.name} is not known to differ{known}"
    return (
        f"{asked.name} is {_moved(asked).replace('smaller', 'lower').replace('larger', 'higher')}"
    )


def _line(each: PairedFigure, scores: tuple[str, str]) -> str:
    own = [
        f"{name} {'–' if value is None else figure(value)}"
        for name, value in zip(scores, (each.first, each.second), strict=True)
    ]
    change = "–" if each.difference is None else figure(each.difference)
    ends = "no interval" if each.interval is None else _ends(each.interval)
    return f"{each.name}: {', '.join(own)}, difference {change} ({ends})"


class ScoreLines(NamedTuple):
    """Lines of a table: scores (s, n), outcomes (n,), codes, weight and rows of each."""

    scores: FloatArray
    truth: FloatArray | None
    level: Codes
    group: Codes
    mass: FloatArray
    counts: IntArray
    cluster: Codes | None
    weighted: bool

    def cells(self, score: FloatArray) -> Cells:
        """Make cells of one score."""
        return Cells.from_codes(
            self.level,
            self.group,
            score,
            sample_weight=self.mass if self.weighted else None,
            counts=None if (self.counts == 1).all() else self.counts,
            cluster=self.cluster,
        )


def compare(
    data: Any,  # noqa: ANN401
    *,
    scores: Sequence[str],
    sensitive: str,
    legitimate: str | Sequence[str] | None = (),
    target: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    bins: Mapping[str, Any] | None = None,
    measure: Measure = "marginal",
    margin: float = 0.0,
    of: ThresholdOf = "distance",
    scale: ScoreScale | None = None,
    reference: Hashable | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
) -> Comparison:
    """Compare scores of the same rows: disparity among equals, and performance.

    Parameters
    ----------
    data : a table or a path, as for `audit`; or a `Summary` whose legitimate columns hold the
        other scores, with all different values of both.
    scores : two columns or more; all others are compared with the first.
    sensitive, legitimate, weight, cluster, bins, measure, reference : as for `audit`.
    target : column of outcomes; 0 and 1, or numbers.
    margin : a challenger whose disparity is larger by no more than this is "not worse".
    of : what the verdict is about, "distance" or "gap", which is the size of the gap.
    scale : `"same"` says that the scores have the same unit, `"ranks"` puts each on its ranks among
        all rows. Without it scores are refused that look as if their units differ.
    confidence : of all intervals together.
    random_state, engine, csv : as for `audit`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(4000, gap=0.2, random_state=1).frame
    >>> rows = loans.with_columns(challenger=loans["score"] - 0.1 * (loans["sex"] == "male"))
    >>> found = lfl.compare(
    ...     rows, scores=["score", "challenger"], sensitive="sex", legitimate="income"
    ... )
    >>> found.verdict, round(found.pairs[0].gap.difference, 3)
    ('better', -0.1)
    """
    names = (scores,) if isinstance(scores, str) else tuple(scores)
    _check_questions(names, sensitive, margin, of, scale)
    check_confidence(confidence)
    if isinstance(data, Summary):
        lines, roles, width = _summary_lines(data, names)
    else:
        levels = column_names(legitimate, "legitimate")
        roles, width = Roles(names[0], sensitive, levels, weight, cluster), 0.0
        lines = _table_lines(data, roles, names, target, bins, engine, csv)
    values = _common_scale(lines.scores, names, scale)
    champion = lines.cells(values[0])
    contrasts, _ = select_contrasts(champion, roles, reference, 1)
    each = bonferroni_confidence(confidence, (len(names) - 1) * len(contrasts))
    pairs, performance = [], {}
    for name, score in zip(names[1:], values[1:], strict=True):
        both = np.stack([values[0], score])
        others = [lines.cells(x) for x in (score, score - values[0], score + values[0])]
        for contrast, _, _ in contrasts:
            found = _compare_pair(
                (names[0], name),
                [Contrast(cells, contrast.positions) for cells in (champion, *others)],
                _select(contrast, lines, both),
                level_weights(contrast, measure),
                each,
                width,
                random_state,
            )
            asked = (found.distance if of == "distance" else found.size).interval
            pairs.append(replace(found, verdict=_verdict(asked, margin)))
        if lines.truth is not None:
            sure = bonferroni_confidence(confidence, len(names) - 1)
            performance[name] = _performances(lines, lines.truth, both, sure)
    return Comparison(
        names,
        roles.sensitive,
        roles.legitimate,
        target,
        float(margin),
        of,
        confidence,
        tuple(pairs),
        performance,
        int(lines.counts.sum()),
        provenance(champion.fingerprint),
    )


def _check_questions(
    names: tuple[str, ...], sensitive: object, margin: object, of: object, scale: object
) -> None:
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"scores must be two different columns or more, not {list(names)!r}.")
    if not isinstance(sensitive, str):
        raise InputError("sensitive must be one column; compare each of several by itself.")
    if not is_one_of(of, get_args(ThresholdOf)):
        raise InputError(f"of must be one of {get_args(ThresholdOf)}, not {of!r}.")
    if scale is not None and not is_one_of(scale, get_args(ScoreScale)):
        raise InputError(f"scale must be one of {get_args(ScoreScale)}, not {scale!r}.")
    if not 0.0 <= real(margin) < math.inf:
        raise InputError(f"margin must be 0 or more, not {margin!r}.")


def _verdict(interval: Interval | None, margin: float) -> Relation:
    """Judge a difference, challenger minus champion: each claim errs with one end only."""
    if interval is None:
        return "undecided"
    low, high = interval
    if high < 0.0:
        return "better"
    if high <= margin:
        return "not worse"
    return "worse" if low > 0.0 else "undecided"


def _table_lines(
    data: object,
    roles: Roles,
    names: tuple[str, ...],
    target: str | None,
    bins: Mapping[str, Any] | None,
    engine: Engine,
    csv: Mapping[str, object] | None,
) -> ScoreLines:
    """Read rows with all scores, which are numbers next to the levels."""
    more = (*names[1:], *(() if target is None else (target,)))
    twice = [c for c in more if [*roles.columns, *more].count(c) > 1]
    if twice:
        raise InputError(f"{twice[0]!r} plays two parts; give it a column of its own for each.")
    table = read_cells(
        data, replace(roles, legitimate=(*roles.legitimate, *more)), bins=bins, smooth=more,
        engine=engine, options=csv_options(csv),
    )  # fmt: skip
    lines = table.lines
    assert lines is not None
    return ScoreLines(
        np.concatenate([lines.scores[None], lines.numbers.T[: len(names) - 1]]),
        None if target is None else lines.numbers[:, -1],
        Codes(lines.category, tuple(name or "all" for name in lines.category_names)),
        lines.group,
        lines.mass,
        np.ones(lines.scores.size, np.int64),
        lines.cluster,
        roles.weight is not None,
    )


def _summary_lines(summary: Summary, names: tuple[str, ...]) -> tuple[ScoreLines, Roles, float]:
    """Take lines of a summary in which the other scores are legitimate columns."""
    roles, cells = summary.roles, summary.table.cells
    lacking = [name for name in names[1:] if name not in roles.legitimate]
    if names[0] != roles.score or lacking or roles.also_sensitive:
        raise InputError(
            f"the summary is of {roles.score!r} by {roles.sensitive!r}; to compare {list(names)}, "
            f"summarize score={names[0]!r} with {', '.join(map(repr, lacking or names[1:]))} among "
            "its legitimate columns, rounded, and one sensitive column."
        )
    columns: tuple[str, ...] = roles.legitimate
    labels = [x if len(columns) > 1 and isinstance(x, tuple) else (x,) for x in cells.levels]
    own = [columns.index(name) for name in names[1:]]
    left = [place for place in range(len(columns)) if place not in own]
    scores = np.array([[real(x[place]) for x in labels] for place in own])
    if not np.isfinite(scores).all():
        raise InputError(f"{list(names[1:])} must hold numbers in every row of the summary.")
    kept = [", ".join(str(x[place]) for place in left) or "all" for x in labels]
    place_of = {name: k for k, name in enumerate(dict.fromkeys(kept))}
    segment = np.repeat(np.arange(cells.counts.size), np.diff(cells.atoms.offsets))
    old, group = np.divmod(segment, len(cells.groups))
    lines = ScoreLines(
        np.concatenate([cells.atoms.values[None], scores[:, old]]),
        None,
        Codes(np.array([place_of[name] for name in kept])[old], tuple(place_of)),
        Codes(group, cells.groups),
        cells.atoms.mass.astype(np.float64),
        cells.atoms.counts.astype(np.int64),
        None if cells.cluster is None else Codes(cells.cluster, cells.cluster_labels),
        roles.weight is not None,
    )
    return lines, replace(roles, legitimate=tuple(columns[x] for x in left)), cells.resolution


def _common_scale(
    values: FloatArray, names: tuple[str, ...], scale: ScoreScale | None
) -> FloatArray:
    """Refuse scores that seem to have different units, or put each on its ranks."""
    if scale == "ranks":
        ranks = [np.unique(each, return_inverse=True)[1] for each in values]
        counts = [np.bincount(each) for each in ranks]
        middle = [(np.cumsum(n) - 0.5 * n)[r] for r, n in zip(ranks, counts, strict=True)]
        return np.asarray(np.stack(middle) / values.shape[1])
    reach = np.ptp(values, axis=1)
    decisions = [bool(np.isin(each, (0.0, 1.0)).all()) for each in values]
    if scale is None and (
        len(set(decisions)) > 1 or (reach.min() > 0.0 and reach.max() > _SAME_UNIT * reach.min())
    ):
        reaches = ", ".join(
            f"{name} {figure(low)} to {figure(high)}"
            for name, low, high in zip(names, values.min(axis=1), values.max(axis=1), strict=True)
        )
        raise InputError(
            f"the scores may have different units ({reaches}), so their disparities cannot be "
            "subtracted; scale='ranks' compares ranks, scale='same' says that the units are equal."
        )
    return values


def _select(contrast: Contrast, lines: ScoreLines, values: FloatArray) -> Pairs:
    """Take the lines of two groups in their common levels, level after level."""
    group, level = lines.group, lines.level
    side_of = {label: side for side, label in enumerate(contrast.groups)}
    there = np.flatnonzero(contrast.support)
    place_of = {contrast.cells.levels[k]: place for place, k in enumerate(there.tolist())}
    side = np.array([side_of.get(label, -1) for label in group.labels])[group.codes]
    at = np.array([place_of.get(label, -1) for label in level.labels])[level.codes]
    kept = np.flatnonzero((side >= 0) & (at >= 0) & (lines.mass > 0.0))
    kept = kept[np.argsort(at[kept], kind="stable")]
    cluster = None
    if lines.cluster is not None:
        cluster = np.unique(lines.cluster.codes[kept], return_inverse=True)[1]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(at[kept], minlength=there.size))])
    return Pairs(
        values[:, kept], side[kept], offsets, lines.mass[kept], lines.counts[kept], cluster
    )


def _compare_pair(
    names: tuple[str, str],
    contrasts: Sequence[Contrast],
    pairs: Pairs,
    measure: FloatArray,
    confidence: float,
    width: float,
    seed: int,
) -> ScorePair:
    """Compare the second score with the first, for two groups; `width` is that of bins."""
    champion, challenger, change, total = contrasts
    rows, half = int(pairs.counts.sum()), 0.5 * (1.0 + confidence)
    samples = [take_sample(each) for each in (champion, challenger)]
    gaps = [signed_gap(each, measure, confidence=confidence) for each in samples]
    equal = bool((pairs.scores[0] == pairs.scores[1]).all())
    moved = signed_gap(change, measure, confidence=confidence)
    interval = (0.0, 0.0) if equal else _known(moved, width)
    gap = _figure("gap", gaps, moved.value, interval, rows)
    size = _figure("size of the gap", gaps, abs(gaps[1].value) - abs(gaps[0].value), None, rows)
    sides = [(max(0.0, i[0], -i[1]), max(-i[0], i[1])) for i in (g.interval for g in gaps)]
    known = [None if g.method == "none" else s for g, s in zip(gaps, sides, strict=True)]
    if interval is not None:
        ends = interval if equal else _size_interval(change, total, measure, confidence, width)
        size = replace(size, interval=ends)
    size = replace(
        size, first=abs(gaps[0].value), second=abs(gaps[1].value), first_interval=known[0],
        second_interval=known[1],
    )  # fmt: skip
    single = [
        [estimate_distance(s, measure, confidence=c, random_state=seed) for s in samples]
        for c in (confidence, half)
    ]
    (one, two), wide = single[0], [each.interval for each in single[1]]
    reasons = [each.reason for each in (one, two) if each.reason is not None]
    low, high = wide[1][0] - wide[0][1], wide[1][1] - wide[0][0]
    units = count_units(pairs)
    if equal:
        low, high = 0.0, 0.0
        reasons.append("The scores are equal.")
    elif all(each.rates for each in samples) and measure.size == 1 and size.interval is not None:
        low, high = size.interval
    elif units.numbers.min() < 2.0:
        reasons.append("A level holds a single row of a group: the distances are not paired.")
    elif math.isfinite(low) and math.isfinite(high):
        moments = estimate_moments(_scaled(pairs), measure, seed=seed)
        reach = float(np.ptp(pairs.scores))
        near = tuple(reach * end for end in difference_limits(moments, confidence))
        if max(low, near[0] - width) <= min(high, near[1] + width):
            low, high = max(low, near[0] - width), min(high, near[1] + width)
    values = [each.value for each in (one, two)]
    both = None if values[0] is None or values[1] is None else values[1] - values[0]
    if both is not None:
        both = min(max(both, low), high)
    distance = PairedFigure(
        "distance", values[0], _open(one.interval), values[1], _open(two.interval), both,
        (low, high) if math.isfinite(low) and math.isfinite(high) else None, rows,
    )  # fmt: skip
    shift = estimate_distance(change, measure, confidence=confidence, random_state=seed)
    first, second = map(str, champion.groups)
    coverage = {str(name): share for name, share in champion.coverage.items()}
    levels = _levels(contrasts[:3], confidence)
    return ScorePair(
        names, (first, second), "undecided", gap, size, distance,
        (0.0, 0.0) if equal else _open(shift.interval), levels, coverage,
        tuple(dict.fromkeys(reasons)),
    )  # fmt: skip


def _scaled(pairs: Pairs) -> Pairs:
    """Divide both scores by their common reach."""
    low, reach = float(pairs.scores.min()), float(np.ptp(pairs.scores))
    decisions = bool(np.isin(pairs.scores, (0.0, 1.0)).all())
    return pairs if decisions else pairs._replace(scores=(pairs.scores - low) / reach)


def _size_interval(
    change: Contrast, total: Contrast, measure: FloatArray, confidence: float, width: float
) -> Interval | None:
    """Return the interval of |Δ_1| - |Δ_0|; where signs are clear it is that of ±(Δ_1 - Δ_0)."""
    samples = [take_sample(each) for each in (change, total)]
    sure = 1.0 - (1.0 - confidence) / _CLEAR
    found = [signed_gap(s, measure, confidence=sure) for s in samples]
    if any(each.method == "none" for each in found):
        return None
    far = [(each.interval[0] - width, each.interval[1] + width) for each in found]
    least = [max(0.0, low, -high) for low, high in far]
    most = [max(-low, high) for low, high in far]
    signs = [far[1][0] > 0.0, far[0][0] > 0.0]
    for own in (0, 1):
        if most[own] < least[1 - own]:
            # Which of both is smaller is clear, and so is the sign of the other.
            near = signed_gap(samples[own], measure, confidence=confidence)
            low, high = near.interval[0] - width, near.interval[1] + width
            return (low, high) if signs[own] else (-high, -low)
    half = 0.5 * (1.0 + confidence)
    ends = [signed_gap(s, measure, confidence=half).interval for s in samples]
    wider = [(low - width, high + width) for low, high in ends]
    return size_limits(wider[0], wider[1])


def _known(gap: Gap, width: float) -> Interval | None:
    """Return the interval of a gap, wider by what bins leave open; `None` without one."""
    low, high = gap.interval
    return None if gap.method == "none" else (low - width, high + width)


def _open(interval: Interval) -> tuple[float, float | None]:
    return interval[0], interval[1] if math.isfinite(interval[1]) else None


def _figure(
    name: str, gaps: Sequence[Gap], difference: float, interval: Interval | None, rows: int
) -> PairedFigure:
    known = [None if gap.method == "none" else gap.interval for gap in gaps]
    return PairedFigure(
        name, gaps[0].value, known[0], gaps[1].value, known[1], difference, interval, rows
    )


def _levels(contrasts: Sequence[Contrast], confidence: float) -> tuple[PairedFigure, ...]:
    """Compare the gap of each level, those that changed most first."""
    found = [level_gaps(each, confidence=confidence) for each in contrasts]
    ends = [
        [
            (low, high) if math.isfinite(low) and math.isfinite(high) else None
            for low, high in zip(each.low.tolist(), each.high.tolist(), strict=True)
        ]
        for each in found
    ]
    support = contrasts[0].support
    names = [x for x, there in zip(contrasts[0].cells.levels, support, strict=True) if there]
    rows = contrasts[0].counts[support].sum(axis=1).tolist()
    lines = [
        PairedFigure(
            str(names[k]),
            float(found[0].value[k]),
            ends[0][k],
            float(found[1].value[k]),
            ends[1][k],
            float(found[2].value[k]),
            ends[2][k],
            int(rows[k]),
        )
        for k in range(len(names))
    ]
    return tuple(sorted(lines, key=lambda each: -abs(each.difference or 0.0)))


def _performances(
    lines: ScoreLines, truth: FloatArray, scores: FloatArray, confidence: float
) -> tuple[PairedFigure, ...]:
    """Compare performance on all rows, then on those of every group."""
    binary = bool(np.isin(truth, (0.0, 1.0)).all())
    name = "AUC" if binary else "mean squared error"
    group, mass = lines.group, lines.mass
    parts = [(name, np.ones(truth.size, np.bool_))]
    parts += [(f"{name} of {label}", group.codes == k) for k, label in enumerate(group.labels)]
    found: list[PairedFigure] = []
    for words, rows in parts:
        if binary and np.unique(truth[rows]).size < 2:
            if not found:
                raise InputError(
                    "target has one value only, so that there is no AUC; leave it out."
                )
            continue
        influence = _auc_influence if binary else _error_influence
        own = [influence(truth[rows], each[rows], mass[rows]) for each in scores]
        found.append(_paired_mean(words, own, rows, lines.cluster, confidence))
    return tuple(found)


def _paired_mean(
    words: str,
    own: list[tuple[float, FloatArray]],
    rows: BoolArray,
    clusters: Codes | None,
    confidence: float,
) -> PairedFigure:
    """Return two figures and their difference, from the part of each row in both."""
    parts = np.stack([own[0][1], own[1][1], own[1][1] - own[0][1]])
    if clusters is not None:
        codes = np.unique(clusters.codes[rows], return_inverse=True)[1]
        parts = np.stack([sum_parts(codes, each, int(codes.max()) + 1) for each in parts])
    units = parts.shape[1]
    errors = np.sqrt((parts**2).sum(axis=1) * units / max(units - 1.0, 1.0))
    reach = float(t_quantile(0.5 + confidence / 2.0, max(units - 1.0, 1.0))) * errors
    values = [own[0][0], own[1][0], own[1][0] - own[0][0]]
    low, high = (np.array(values) - reach).tolist(), (np.array(values) + reach).tolist()
    ends = list(zip(low, high, strict=True))
    return PairedFigure(
        words, values[0], ends[0], values[1], ends[1], values[2],
        ends[2] if units > 1 else None, int(rows.sum()),
    )  # fmt: skip


def _error_influence(
    truth: FloatArray, score: FloatArray, mass: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean squared error and the part of each row in its error."""
    squares = (truth - score) ** 2
    mean = float(np.average(squares, weights=mass))
    return mean, mass / mass.sum() * (squares - mean)


def _auc_influence(
    truth: FloatArray, score: FloatArray, mass: FloatArray
) -> tuple[float, FloatArray]:
    """Return the AUC, ties counted half, and the part of each row in its error (DeLong)."""
    _, place = np.unique(score, return_inverse=True)
    positive = truth == 1.0
    totals = [float(mass[own].sum()) for own in (~positive, positive)]
    below = []
    for own, total in zip((~positive, positive), totals, strict=True):
        there = np.bincount(place, mass * own)
        below.append(((np.cumsum(there) - 0.5 * there) / total)[place])
    auc = float(np.average(below[0][positive], weights=mass[positive]))
    part = np.where(positive, below[0], 1.0 - below[1]) - auc
    return auc, mass / np.where(positive, totals[1], totals[0]) * part
