"""Groups, amounts and verdicts in words, as people read them.

What the page, the terminal, pipelines and trackers say about a verdict is written here. Sentences
are those of `words_en.toml`, which `say` fills in: a translation is another such file.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from likeforlike._text import figure, group_name, plural
from likeforlike.document._request import Threshold
from likeforlike.document._results import (
    AuditDocument,
    ContrastAudit,
    Judgment,
    Verdict,
)

OTHER_LEVELS = "other levels"
"""Name of the levels that are shown together, each of them being too small to be shown."""
OTHER_GROUPS = "other groups"
"""Name of the groups that are too small to be named."""
_WOMEN, _MEN = ("female", "woman", "women", "f"), ("male", "man", "men", "m")
_PEOPLE = {**dict.fromkeys(_WOMEN, "women"), **dict.fromkeys(_MEN, "men")}
# Columns in which f and m are women and men.
_SEX = ("sex", "gender")
# Scores that are what people earn.
_PAY = re.compile(r"(?i)(?<![a-z])(pay|salar(y|ies)|wages?|earnings|compensation)(?![a-z])")
_CATALOG = "words_en.toml"
# Fields that hold names of groups, of columns, and amounts in units of the score.
_GROUPS = ("group", "groups", "reference")
_COLUMNS = ("score", "sensitive", "legitimate", "weight", "cluster", "also_sensitive", "columns")
_KEPT = (
    "sensitivity",
    "specifications",
    "drivers",
    "settings",
    "data",
    "provenance",
    "finding",
    "verdicts",
    "omnibus",
)
_KEYED = ("missing", "nulls", "values", "edges", "calendar")
_AMOUNTS = frozenset(
    ("value", "gap", "interval", "gap_interval", "error", "rounding", "distance", "null_distance")
) | frozenset(
    ("excess", "detectable", "lower", "upper", "compared_gap", "confounding", "gap_confounding")
)
# Of sensitivity and specifications; drivers are in units of the model's own score.
_DOUBTFUL = _AMOUNTS | {"threshold", "scale", "bias", "change"}
_DOUBTFUL |= {"change_interval", "distance_interval"}
_AMOUNTS |= {"root", "threshold"}
_RATES = ("decision", "probability")


@cache
def _catalog() -> Any:  # noqa: ANN401
    text = (resources.files("likeforlike.document") / _CATALOG).read_text("utf-8")
    return tomllib.loads(text)


def say(key: str, /, **parts: object) -> str:
    """Return a sentence of the catalog, "section.name", with its parts filled in."""
    section, _, name = key.partition(".")
    text: str = _catalog()[section][name]
    return text.format(**parts)


def list_words(key: str, **parts: object) -> list[str]:
    """Return several words of the catalog, such as the headings of a table."""
    section, _, name = key.partition(".")
    words: list[str] = _catalog()[section][name]
    return [word.format(**parts) for word in words]


def join_names(names: Sequence[str]) -> str:
    """Join names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def start(text: str) -> str:
    """Begin a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def spoken(document: AuditDocument, *, quoted: bool = False) -> AuditDocument:
    """Rename groups, columns and levels of a document as people call them.

    That is by the labels that were given; else female and male are women and men, and what is no
    word is named with its column, "sex 0". `quoted` puts other names of groups between quotation
    marks, for sentences, where "white" would not be seen to be a name.
    """
    labels = document.settings.labels
    rename = _group_namer(document, quoted=quoted)
    document = _rename_groups(document, rename)
    return _rename_columns(document, labels) if labels or document.roles.legitimate else document


def name_groups(document: AuditDocument) -> AuditDocument:
    """Rename groups for programs, which need names that stay: "sex 0" instead of "0"."""
    return _rename_groups(
        document, lambda group, own: group_name(group, own[0]) if len(own) == 1 else group
    )


def _group_namer(document: AuditDocument, *, quoted: bool) -> Callable[[str, tuple[str, ...]], str]:
    """Make what names a group of some columns."""
    labels, people = document.settings.labels, _people(document)

    def name(value: str, column: str) -> tuple[str, bool]:
        for key in (f"{column}={value}", value):
            if key in labels:
                return labels[key], True
        if value in people.get(column, {}):
            return people[column][value], True
        if value == OTHER_GROUPS:
            return value, True
        named = group_name(value, labels.get(column, column))
        return named, named != value

    def rename(group: str, columns: tuple[str, ...]) -> str:
        values = group.split(" × ")
        if len(columns) < 2 or len(values) != len(columns):
            values = [group]
        parts = [name(value, column) for value, column in zip(values, columns, strict=False)]
        whole = " × ".join(text for text, _ in parts) or group
        plain = all(known or not text[:1].islower() for text, known in parts)
        return whole if plain or not quoted else f"“{whole}”"

    return rename


def _people(document: AuditDocument) -> dict[str, dict[str, str]]:
    """Find columns of which all groups are women and men, and what each of their labels means."""
    found: dict[str, set[str]] = {}
    parts: tuple[Any, ...] = (*document.contrasts, *document.unexamined)
    for part in parts:
        for group in part.groups if len(part.columns) == 1 else ():
            found.setdefault(part.columns[0], set()).add(group)
    return {
        column: {group: _PEOPLE[group.casefold()] for group in groups}
        for column, groups in found.items()
        if all(
            group.casefold() in _PEOPLE and (len(group) > 1 or column.casefold() in _SEX)
            for group in groups
        )
        and len({_PEOPLE[group.casefold()] for group in groups}) == len(groups)
    }


def _rename_groups(
    document: AuditDocument, rename: Callable[[str, tuple[str, ...]], str]
) -> AuditDocument:
    def names_of(part: Any) -> dict[str, str]:  # noqa: ANN401
        groups = part.groups if hasattr(part, "groups") else (part.group,)
        named = {group: rename(group, part.columns) for group in groups if group is not None}
        changed = {group: name for group, name in named.items() if group != name}
        return changed if len(set(named.values())) == len(named) else {}

    def each(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(_rename(part, names_of(part)) for part in parts)

    data = document.data
    known: tuple[Any, ...] = (*document.contrasts, *document.unexamined)
    pairs = {(group, rename(group, part.columns)) for part in known for group in part.groups}
    # A label of two columns may have two names, and then it has none.
    met = [group for group, _ in pairs]
    single = {group: name for group, name in pairs if met.count(group) == 1}
    return replace(
        document,
        contrasts=each(document.contrasts),
        unexamined=each(document.unexamined),
        classical=each(document.classical),
        verdicts=_rename(document.verdicts, single),
        data=replace(data, lost=each(data.lost), groups=each(data.groups)),
    )


def _rename(part: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Rename groups in a part of the document, wherever they are named."""
    if not names:
        return part
    if isinstance(part, tuple):
        return tuple(_rename(each, names) for each in part)
    if isinstance(part, Mapping):
        return {names.get(key, key): _rename(value, names) for key, value in part.items()}
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    changed = {
        field.name: _replace_names(getattr(part, field.name), names)
        if field.name in _GROUPS
        else _rename(getattr(part, field.name), names)
        for field in dataclasses.fields(part)
    }
    return replace(part, **changed)


def _replace_names(names: Any, new: Mapping[str, str]) -> Any:  # noqa: ANN401
    """One name or several by new ones; `None` stays."""
    if isinstance(names, tuple):
        return tuple(new.get(name, name) for name in names)
    return new.get(names, names)


def _rename_columns(document: AuditDocument, labels: Mapping[str, str]) -> AuditDocument:
    """Rename columns, and name levels by their values, with the column where there are several."""
    legitimate, data = document.roles.legitimate, document.data
    alone = len(legitimate) == 1 and not document.settings.smooth

    def level(name: str) -> str:
        return ", ".join(
            _level_part(part, legitimate, labels, alone=alone) for part in name.split(", ")
        )

    def change(name: str, value: Any) -> Any:  # noqa: ANN401
        if name in _COLUMNS:
            return _replace_names(value, labels)
        if name == "excluded":
            return {level(one): rows for one, rows in value.items()}
        if name == "levels":
            return tuple(replace(one, name=level(one.name)) for one in value)
        if name in ("distributions", "windows"):
            return tuple(replace(one, level=level(one.level)) for one in value)
        return value if name in _KEPT else walk(value)

    def walk(part: Any) -> Any:  # noqa: ANN401
        if isinstance(part, tuple):
            return tuple(walk(each) for each in part)
        if not dataclasses.is_dataclass(part) or isinstance(part, type):
            return part
        names = (field.name for field in dataclasses.fields(part))
        return replace(part, **{name: change(name, getattr(part, name)) for name in names})

    renamed = {
        name: {labels.get(key, key): value for key, value in getattr(data, name).items()}
        for name in _KEYED
    }
    data = replace(
        data, lost=walk(data.lost), groups=walk(data.groups), loss_tests=walk(data.loss_tests)
    )
    found: AuditDocument = replace(
        walk(document),
        data=replace(data, **renamed),  # type: ignore[arg-type]  # by their names
    )
    return found


def _level_part(
    part: str, columns: Sequence[str], labels: Mapping[str, str], *, alone: bool
) -> str:
    """Name the value of one column in the name of a level; words of the only one stand alone."""
    column = next((each for each in columns if part.startswith(f"{each} ")), None)
    if column is None:
        return part
    value = part[len(column) + 1 :]
    said = labels.get(f"{column}={value}", labels.get(value, value))
    words = said not in ("inf", "-inf", "nan") and not any(map(str.isdigit, said))
    return said if alone and words else f"{labels.get(column, column)} {said}"


def in_units(document: AuditDocument) -> AuditDocument:
    """Give differences of rates in points, everywhere in a document that is to be shown."""
    if not _has_points(document):
        return document
    points = say("unit.points")
    classical = tuple(
        _multiply(part, frozenset(["gap", *([] if part.decisions else ["mean", "median"])]))
        for part in document.classical
    )
    return replace(
        document,
        settings=replace(document.settings, kind=None, unit=points),
        contrasts=tuple(
            _contrast_in_points(each, decided=document.data.kind == "decision")
            for each in document.contrasts
        ),
        verdicts=_multiply(document.verdicts, _AMOUNTS),
        sensitivity=_multiply(document.sensitivity, _DOUBTFUL),
        specifications=_multiply(document.specifications, _DOUBTFUL),
        classical=classical,
    )


def _contrast_in_points(contrast: ContrastAudit, *, decided: bool) -> ContrastAudit:
    found: ContrastAudit = _multiply(replace(contrast, nested=None), _AMOUNTS)
    nested = contrast.nested
    if nested is not None:
        factor = 100.0**nested.order
        parts = ("value", "diagonal", "off_diagonal", "level_transport", "excess", "level_cost")
        nested = replace(
            nested,
            root=100.0 * nested.root,
            **{name: factor * getattr(nested, name) for name in parts},
        )
    edges = [
        each if decided else replace(each, edges=tuple(100.0 * edge for edge in each.edges))
        for each in contrast.distributions
    ]
    return replace(found, nested=nested, distributions=tuple(edges))


def _multiply(part: Any, names: frozenset[str], *, now: bool = False) -> Any:  # noqa: ANN401
    """Multiply amounts by 100, wherever they stand; shares, p-values and weights stay."""
    if isinstance(part, tuple):
        return tuple(_multiply(each, names, now=now) for each in part)
    if isinstance(part, dict) and now:
        return {key: _multiply(each, names, now=now) for key, each in part.items()}
    if isinstance(part, float):
        return 100.0 * part if now else part
    if isinstance(part, Threshold) or not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    changed = {
        field.name: _multiply(getattr(part, field.name), names, now=field.name in names)
        for field in dataclasses.fields(part)
        if field.name not in ("components", "coverage", "thin_share", "windows")
    }
    return replace(part, **changed)


def _has_points(document: AuditDocument) -> bool:
    return document.data.kind in _RATES and document.settings.unit is None


def unit_name(document: AuditDocument) -> str:
    """Name the unit of differences of scores."""
    if _has_points(document):
        return say("unit.points")
    return document.settings.unit or f"units of {document.roles.score}"


def mean_name(document: AuditDocument) -> str:
    """Name the mean of the scores."""
    kind, score = document.data.kind, document.roles.score
    return f"rate of {score}" if kind == "decision" else f"mean {score}"


def score_words(document: AuditDocument) -> str:
    """Name the scores in the plural."""
    return {"decision": "rates", "money": "amounts"}.get(document.data.kind, "scores")


def amount(document: AuditDocument, value: float, digits: int = 3, *, bare: bool = False) -> str:
    """Write a difference of scores for a sentence: in points for rates, else with its unit.

    `bare` leaves the unit to another amount behind this one.
    """
    points = _has_points(document)
    size = figure(100.0 * value if points else value, digits)
    if bare:
        return size
    unit = document.settings.unit
    if points or unit == say("unit.points"):
        unit = say("unit.point") if size == "1" else say("unit.points")
    return f"{size}%" if unit == "%" else f"{size} {unit}" if unit else size


def _phrase(document: AuditDocument) -> str:
    """Choose how a difference is put: by the kind of score, and by what it is called."""
    kind, score = document.data.kind, document.roles.score
    last = score.split()[-1] if score.split() else ""
    if kind == "decision" and last.isalpha() and last.endswith("ed") and not last.endswith("eed"):
        return "verb"
    return "pay" if kind == "money" and _PAY.search(score.replace("_", " ")) else kind


def equals(document: AuditDocument) -> str:
    """Say who is compared: behind the groups, "with the same income"."""
    roles = document.roles
    if not roles.legitimate:
        return say("equals.none")
    key = "near" if document.settings.smooth else "same"
    return say(f"equals.{key}", columns=join_names(roles.legitimate))


def question(document: AuditDocument) -> str:
    """Ask what the audit answers."""
    roles, contrasts = document.roles, document.contrasts
    if len(contrasts) > 1 or document.unexamined:
        key = "many" if roles.legitimate else "overall"
        by = join_names(roles.all_sensitive)
        return start(
            say(f"question.{key}", score=roles.score, sensitive=by, equals=equals(document))
        )
    return start(say(f"question.{_phrase(document)}", **_names(document, contrasts[0])))


def _names(document: AuditDocument, contrast: ContrastAudit) -> dict[str, str]:
    first, second = contrast.groups
    score = document.roles.score
    if _phrase(document) == "verb":
        score = score.replace("_", " ")
    return {"first": first, "second": second, "score": score, "equals": equals(document)}


def difference(document: AuditDocument, contrast: ContrastAudit, gap: float) -> str:
    """Say who has less, or who is worse off where that is known, and by how much."""
    low, high = contrast.groups if gap > 0.0 else contrast.groups[::-1]
    names = {**_names(document, contrast), "size": amount(document, abs(gap), 2)}
    if document.settings.favorable == "low":
        return say(f"higher.{_phrase(document)}", one=high, other=low, **names)
    return say(f"lower.{_phrase(document)}", one=low, other=high, **names)


def is_evidence(contrast: ContrastAudit) -> bool:
    """Whether the test or the interval of a contrast speaks against equal treatment.

    A gate that fails looks at the lower end of the interval, so the finding does too: the two never
    contradict each other.
    """
    if contrast.p_value is None:
        return False
    estimate = contrast.estimate
    low = None if estimate is None else estimate.interval[0]
    return contrast.p_value <= EVIDENCE or (low is not None and low > 0.0)


EVIDENCE = 0.05
"""A p-value up to this speaks against equal treatment."""


def headline(document: AuditDocument) -> str:
    """Say in one sentence, without its full stop, what was found."""
    return _cover(document, _headline(document))


def _cover(document: AuditDocument, text: str) -> str:
    """Begin a sentence about those who could be compared, and say so where they are few."""
    least = min(document.contrasts[0].coverage.values())
    if document.roles.legitimate and least < document.settings.min_coverage:
        text = say("equals.covered", share=f"{100.0 * least:.2g}%", text=text)
    return start(text)


def _headline(document: AuditDocument, *, alone: bool = False) -> str:
    """Say what was found; `alone` leaves other pairs of groups out."""
    contrasts, omnibus = document.contrasts, document.omnibus
    names = _names(document, contrasts[0])
    if contrasts[0].p_value is None:
        size = amount(document, contrasts[0].conditional.value)
        return say("headline.untested", size=size, **names)
    clear = [contrast for contrast in contrasts if is_evidence(contrast)]
    if clear:
        text, others = _contrast_words(document, clear[0]), len(clear) - 1
        if alone or not others:
            return text
        differ = say("headline.one_differs" if others == 1 else "headline.many_differ")
        return say("headline.others", text=text, pairs=plural(others, "other pair"), differ=differ)
    if omnibus is not None and omnibus.p_value <= EVIDENCE:
        return say("headline.omnibus", groups=omnibus.groups, **names)
    if len(contrasts) > 1:
        pairs = plural(len(contrasts), "pair")
        return say("headline.none_of_many", pairs=pairs, equals=names["equals"])
    return say("headline.none", **names)


def _contrast_words(document: AuditDocument, contrast: ContrastAudit) -> str:
    """Say how much less one group has; where that is not clear, that they differ."""
    ends = contrast.gap.interval
    if ends is not None and not ends[0] <= 0.0 <= ends[1]:
        return difference(document, contrast, contrast.gap.value)
    names, estimate = _names(document, contrast), contrast.estimate
    if estimate is None or estimate.value is None:
        return say("headline.apart_unsized", **names)
    return say("headline.apart", size=amount(document, estimate.value, 2), **names)


def answer(document: AuditDocument) -> str:
    """Say who differs, by how much, how sure that is, and about whom, in one sentence."""
    contrast = next(filter(is_evidence, document.contrasts), document.contrasts[0])
    (first, second), rows = contrast.groups, contrast.rows
    compared = say(
        "answer.rows",
        first=f"{rows[0]:,}",
        one=first,
        second=f"{rows[1]:,}",
        other=second,
    )
    found = {"headline": _cover(document, _headline(document, alone=True)), "rows": compared}
    gap = contrast.gap
    if gap.interval is None:
        return say("answer.unsure", **found)
    low, high = gap.interval if gap.value > 0.0 else (-gap.interval[1], -gap.interval[0])
    ends = {
        "confidence": f"{100 * gap.confidence:.4g}%",
        "low": amount(document, low, bare=True),
        "high": amount(document, high),
    }
    clear = is_evidence(contrast) and not low <= 0.0 <= high
    if clear:
        return say("answer.sure", **found, **ends)
    size = amount(document, abs(gap.value), 2)
    return say("answer.none", **found, **ends, size=size, first=first, second=second)


def family_words(document: AuditDocument) -> list[str]:
    """Explain intervals of several pairs where they first stand, and say how many pairs differ."""
    contrasts = document.contrasts
    each, whole = contrasts[0].gap.confidence, document.settings.confidence
    clear = sum(map(is_evidence, contrasts))
    said = []
    if len(contrasts) > 1 and clear > 0:
        pairs = plural(len(contrasts), "pair")
        said.append(say("answer.clear", clear=f"{clear:,}", pairs=pairs))
    if each > whole:
        said.append(say("answer.family", each=f"{100 * each:.4g}%", all=f"{100 * whole:.4g}%"))
    return said


_MEANING = {
    "pass": "every interval lies at or below it",
    "fail": "an interval lies above it",
    "investigate": "the evidence does not settle it",
}


def verdict_title(part: Verdict) -> str:
    """State the threshold and the verdict in a few words."""
    return f"Threshold {_values(part)}: {part.verdict}"


def verdict_meaning(part: Verdict) -> str:
    """Say what the verdict means."""
    return _MEANING[part.verdict]


def verdict_words(document: AuditDocument, part: Verdict) -> str:
    """Say in a few words whether it passes: how large, how sure, how much is allowed."""
    known = [each for each in part.judgments if each.interval is not None]
    own = [each for each in known if each.verdict == part.verdict]
    if not own:
        return say("verdict.apart")
    lead = max(own, key=lambda each: _weigh(each, part.verdict))
    if part.verdict != "pass":
        # The pair that the headline is about, where it decides: one story on one screen.
        main = set(document.contrasts[0].groups)
        lead = next((each for each in own if set(each.groups) == main), lead)
    key, figures = _judgment_figures(document, lead)
    percent = next((_value(each) for each in part.thresholds if each.percent), None)
    if percent is not None and not _in_percent(document):
        figures["limit"] = say("verdict.percent", limit=figures["limit"], percent=percent)
    value = _value_of(document, part, lead)
    if value is None:
        text = say(f"verdict.{key}_unsized", **figures)
    else:
        shown = amount(document, value, _digits(document, value, lead))
        text = say(f"verdict.{key}", **figures, value=shown)
    if len(part.judgments) > 1:
        first, second = lead.groups
        text = say("verdict.pair", text=text, first=first, second=second)
    return text


def _in_percent(document: AuditDocument) -> bool:
    """Whether a percentage and an amount are the same figure."""
    unit = document.settings.unit
    return _has_points(document) or unit in ("%", say("unit.points"))


def _weigh(judgment: Judgment, verdict: str) -> float:
    """How much a judgment decides: the lower end of a failure, the upper end of all else."""
    low, high = judgment.interval or (0.0, 0.0)
    if verdict == "fail":
        return low
    return float("inf") if high is None else high


def _judgment_figures(document: AuditDocument, judgment: Judgment) -> tuple[str, dict[str, str]]:
    """Choose the words of a judgment, and write its figures, with as many digits as it takes."""
    low, high = judgment.interval or (0.0, None)
    limit = judgment.threshold or 0.0
    key = str(judgment.verdict)
    if key == "investigate":
        key = "open" if high is None else "covered" if high <= limit else key
    digits = _digits(document, limit, judgment)
    return key, {
        "low": amount(document, low, digits, bare=True),
        "high": "" if high is None else amount(document, high, digits, bare=True),
        "low_unit": amount(document, low, digits),
        "high_unit": "" if high is None else amount(document, high, digits),
        "limit": amount(document, limit, max(4, digits), bare=True),
    }


def _digits(document: AuditDocument, value: float, judgment: Judgment) -> int:
    """Find how many digits keep ends apart from the threshold, where they are apart."""
    limit = judgment.threshold or 0.0
    ends = [end for end in (*(judgment.interval or ()), value) if end is not None and end != limit]
    for digits in range(2, 7):
        written = [amount(document, end, digits) for end in ends]
        if amount(document, limit, digits) not in written:
            return digits
    return 6


def _value_of(document: AuditDocument, part: Verdict, judgment: Judgment) -> float | None:
    """Find what was estimated of two groups: their distance, or the size of their gap."""
    found = (each for each in document.contrasts if set(each.groups) == set(judgment.groups))
    contrast = next(found, None)
    if contrast is None:
        return None
    own = [each for each in part.thresholds if set(each.groups or ()) == set(judgment.groups)]
    common = [each for each in part.thresholds if each.groups is None]
    if [*own, *common][0].of == "gap":
        return abs(contrast.gap.value)
    return None if contrast.estimate is None else contrast.estimate.value


_SHOWN_REASONS = 6


def verdict_reasons(document: AuditDocument, part: Verdict) -> list[str]:
    """Say why a verdict is what it is, a sentence for each two groups that decided it."""
    own = [each for each in part.judgments if each.verdict == part.verdict]
    own.sort(key=lambda each: -_weigh(each, part.verdict) if each.interval else -float("inf"))
    reasons = [_reason(document, each) for each in own[:_SHOWN_REASONS]]
    left = len(own) - len(reasons)
    return [*reasons, *([say("reason.more", count=f"{left:,}")] if left > 0 else [])]


def _reason(document: AuditDocument, judgment: Judgment) -> str:
    if judgment.interval is None or judgment.threshold is None:
        return judgment.reason
    key, figures = _judgment_figures(document, judgment)
    contrast = next((c for c in document.contrasts if set(c.groups) == set(judgment.groups)), None)
    shares = "" if contrast is None else _shares(contrast)
    return say(f"reason.{key}", **figures, names=join_names(judgment.groups), shares=shares)


def _shares(contrast: ContrastAudit) -> str:
    return join_names([f"{100.0 * share:.3g}% of {g}" for g, share in contrast.coverage.items()])


def next_steps(document: AuditDocument) -> list[str]:
    """Say what to do next, by what was found and by the verdict."""
    contrast, found = document.contrasts[0], any(map(is_evidence, document.contrasts))
    outcome = document.verdicts[-1].verdict if document.verdicts else None
    steps = []
    if found and outcome != "pass" and len(contrast.levels) > 1:
        level = max(contrast.levels, key=lambda each: each.contribution)
        share = f"{100.0 * level.contribution:.2g}%"
        steps.append(say("next.level", level=level.name, share=share))
    if outcome is None:
        steps.append(say("next.decide"))
    else:
        covered = min(contrast.coverage.values()) >= document.settings.min_coverage
        steps.append(
            say(f"next.{outcome}" if covered or outcome != "investigate" else "next.cover")
        )
    test = contrast.test
    if not found and test is not None and test.detectable is not None:
        steps.append(say("next.detect", size=amount(document, test.detectable, 2)))
    return steps


def page_title(document: AuditDocument) -> str:
    """Return the title that was given, or one made of the roles."""
    roles = document.roles
    made = say("title.plain", score=roles.score, sensitive=join_names(roles.all_sensitive))
    return document.settings.title or start(made.replace("_", " "))


def verdict_origin(part: Verdict) -> list[str]:
    """Who set which threshold, and when; a sentence each, and none if not given."""
    sentences = [_origin(each) for each in part.thresholds if each.set_by or each.set_on]
    if part.policy is not None:
        sentences.append(f"The policy is {part.policy}.")
    return sentences


def _values(part: Verdict) -> str:
    written = (
        _value(each)
        + ("" if each.of == "distance" else " of the gap")
        + ("" if each.groups is None else f" for {' and '.join(each.groups)}")
        for each in part.thresholds
    )
    return ", ".join(written)


def _origin(threshold: Threshold) -> str:
    by = f" by {threshold.set_by}" if threshold.set_by else ""
    on = f" on {threshold.set_on}" if threshold.set_on else ""
    whom = "" if threshold.groups is None else f" for {' and '.join(threshold.groups)}"
    return f"The threshold of {_value(threshold)}{whom} was set{by}{on}."


def _value(threshold: Threshold) -> str:
    return f"{figure(threshold.value, 6)}{'%' if threshold.percent else ''}"


def signatures(document: AuditDocument) -> list[tuple[str, str, str]]:
    """List who measured, who set which threshold and who accepted the result, and when."""
    about, created = document.settings.about, document.provenance.created[:10]
    found = [(say("signoff.measured"), about.get("measured_by", ""), about.get("date", created))]
    for part in document.verdicts:
        for each in part.thresholds:
            what = say("signoff.threshold", threshold=_value(each))
            found.append((what, each.set_by or "", each.set_on or ""))
    accepted = about.get("accepted_by", ""), about.get("accepted_on", "")
    return [*found, (say("signoff.accepted"), *accepted)]
