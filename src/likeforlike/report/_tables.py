"""Tables as text: levels, contrasts, excluded levels, settings, conventions and key figures.

Figures by convention have one line per convention, and tables by level and by contrast. The public
summary of LL144 has a page of its own, whose fields are made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from likeforlike._text import date_words, figure, null_words, plural
from likeforlike.classical import NOTES, Category
from likeforlike.document import (
    OTHER_LEVELS,
    AuditDocument,
    ClassicalFigures,
    ClassicalLevel,
    ContrastAudit,
    LostRows,
    list_words,
    plain,
    say,
    unit_name,
)
from likeforlike.errors import InputError
from likeforlike.report._format import (
    NONE,
    confidence,
    contrast_p,
    count,
    interval,
    list_names,
    number,
    open_interval,
    p_equals,
    p_value,
    percent,
    shorten,
    tick,
)

Row = list[str]
Table = tuple[str, list[str], list[Row], str, str]
"""Caption, headings, rows, the words it is folded behind (if it is), and how it looks."""

TABLED = 1000
"""At most this many levels are in the table; the rest are in the JSON."""
EXCLUDED = 50
"""At most this many excluded levels are listed."""

_PARADOX_WORDS = {"none": "", "masked": "hidden overall", "reversed": "reversed overall"}


def level_rows(contrast: ContrastAudit) -> list[Row]:
    """List the levels that contribute most, one row of texts each."""
    return [
        [
            level.name,
            *(count(level.rows[group]) for group in contrast.groups),
            number(level.weight),
            number(level.distance),
            number(level.null_distance),
            number(level.gap),
            interval(level.gap_interval),
            percent(level.contribution),
            p_value(level.p_value),
            p_value(level.p_adjusted),
            "thin" if level.thin else "",
        ]
        for level in contrast.levels[:TABLED]
    ]


def missing_level_rows(contrast: ContrastAudit) -> list[tuple[str, str]]:
    """Levels that lack a group, and the rows they hold."""
    return [
        (name, ", ".join(f"{count(n)} {group}" for group, n in rows.items() if n) or "few")
        for name, rows in islice(contrast.excluded.items(), EXCLUDED)
    ]


def contrast_rows(document: AuditDocument) -> list[Row]:
    """Every two groups compared, one row of texts each."""
    return [_contrast_row(contrast) for contrast in document.contrasts]


def _contrast_row(contrast: ContrastAudit) -> Row:
    distance, gap = contrast.estimate, contrast.gap
    return [
        " and ".join(contrast.groups),
        number(gap.value),
        interval(gap.interval),
        contrast_p(contrast),
        number(None if distance is None else distance.value),
        "" if distance is None else open_interval(distance.interval),
        number(contrast.conditional.value),
        number(contrast.unconditional.value),
        " and ".join(count(rows) for rows in contrast.rows),
        " and ".join(percent(contrast.coverage[group]) for group in contrast.groups),
        _PARADOX_WORDS[contrast.paradox],
    ]


def settings_rows(document: AuditDocument) -> list[tuple[str, str]]:
    """List what was asked, of which data, by which versions, when."""
    roles, data, made = document.roles, document.data, document.provenance
    resolution = data.resolution
    weight, cluster = roles.weight or say("setting.none"), roles.cluster or say("setting.none")
    lines = {
        "score": roles.score,
        "kind": say(f"kind.{data.kind}"),
        "sensitive": list_names(roles.all_sensitive),
        "legitimate": list_names(roles.legitimate),
        "weight": weight,
        "cluster": cluster,
    }
    for name, value in plain(document.settings).items():
        if name not in ("kind", "title", "about"):
            lines[name] = _value_text(value)
    lines |= {
        "rows": say("setting.rows_used", used=count(data.used), rows=count(data.rows)),
        "missing": _missing(data.missing),
        **({"lost": _lost(data.lost)} if data.lost else {}),
        **({"nulls": null_words(data.nulls)} if data.nulls else {}),
    }
    edges = [
        (say("setting.edges", column=name), _edges(cut, dates=data.calendar.get(name) == "day"))
        for name, cut in data.edges.items()
    ]
    found = {
        "engine": data.engine,
        "resolution": number(resolution) if resolution else say("setting.exact"),
        "fingerprint": made.fingerprint,
        "versions": ", ".join(f"{name} {value}" for name, value in made.versions.items()),
        "created": made.created.replace("T", " ").replace("+00:00", " UTC"),
    }
    return [
        *((say(f"setting.{name}"), text) for name, text in lines.items()),
        *edges,
        *((say(f"setting.{name}"), text) for name, text in found.items()),
    ]


def _value_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return tick(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {inner}" for name, inner in value.items())
    if isinstance(value, list):
        return _format_setting(value)
    return count(value) if isinstance(value, int) else str(value)


def _format_setting(values: list[object]) -> str:
    """Two numbers as a range, names as a list."""
    if all(isinstance(value, str) for value in values):
        return list_names([str(value) for value in values]) if values else "none"
    return " to ".join(tick(float(str(value))) for value in values)


def _missing(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{shorten(name, 60)}: {count(n)}" for name, n in missing.items())


def _lost(lost: Sequence[LostRows]) -> str:
    return ", ".join(
        f"{_lost_name(part)}: {count(part.lost)} of {count(part.rows)}" for part in lost
    )


def _lost_name(part: LostRows) -> str:
    """Name the group, or the column of which it is not known."""
    name = part.group
    return shorten(f"{' × '.join(part.columns)} unknown" if name is None else name, 60)


def _edges(edges: Sequence[float], *, dates: bool) -> str:
    return ", ".join(date_words(edges) if dates else [figure(edge, 12) for edge in edges])


def convention_lines(document: AuditDocument) -> list[tuple[str, str]]:
    """List the conventions of the first contrast, next to the transport estimate."""
    if not document.classical:
        return []
    part, contrast = document.classical[0], document.contrasts[0]
    overall = part.overall
    figures = {
        "gap": f"{number(overall.gap)} overall{_among_equals(document, part, contrast)}",
        "ratio": _with_interval(overall.ratio, overall.ratio_interval, "overall"),
        "smd": "" if overall.smd is None else f"{number(overall.smd)} overall",
        "mantel_haenszel": _mantel_haenszel(part),
        "breslow_day": _breslow_day(part),
        "van_elteren": _van_elteren(part),
        "wachter": "" if part.wachter is None else number(part.wachter),
        "transport": _transport(contrast),
    }
    return [
        (
            NOTES[name].title,
            f"{figure}. {NOTES[name].says} {say('note.misleads')} {NOTES[name].misleads}",
        )
        for name, figure in figures.items()
        if figure
    ]


def _among_equals(document: AuditDocument, part: ClassicalFigures, contrast: ContrastAudit) -> str:
    """Write the gap within levels, if there are any, with the sign of the convention."""
    if not document.roles.legitimate:
        return ""
    same = part.groups[0] == contrast.groups[1]
    gap = contrast.gap.value if same else -contrast.gap.value
    return f", {number(gap)} among equals"


def _with_interval(value: float | None, ends: tuple[float, float] | None, where: str) -> str:
    if value is None:
        return ""
    return f"{number(value)} {where}" + (f" ({interval(ends)})" if ends else "")


def _mantel_haenszel(part: ClassicalFigures) -> str:
    found = part.mantel_haenszel
    if found is None or found.p_value is None:
        return ""
    odds = _with_interval(found.odds_ratio, found.interval, "odds ratio")
    return f"{odds}{', ' if odds else ''}{p_equals(found.p_value)}"


def _breslow_day(part: ClassicalFigures) -> str:
    found = part.breslow_day
    if found is None:
        return ""
    chi = f"χ² {number(found.statistic)} with {count(found.degrees)} degrees of freedom"
    return f"{chi}, {p_equals(found.p_value)}"


def _van_elteren(part: ClassicalFigures) -> str:
    found = part.van_elteren
    if found is None or found.p_value is None:
        return ""
    return f"z {number(found.z)}, {p_equals(found.p_value)}"


def _transport(contrast: ContrastAudit) -> str:
    distance = contrast.estimate
    if distance is None:
        return f"{number(contrast.conditional.value)} as observed"
    return f"{number(distance.value)} ({open_interval(distance.interval)})"


def level_convention_rows(document: AuditDocument, most: int) -> list[Row]:
    """By cell the rows, mean or rate and median; by level the gap, ratio and standardized one."""
    if not document.classical:
        return []
    part = document.classical[0]
    return [_level_row(entry, part) for entry in (part.overall, *part.levels[:most])]


def _level_row(entry: ClassicalLevel, part: ClassicalFigures) -> Row:
    of = percent if part.decisions else number
    groups = part.groups
    return [
        entry.name,
        " and ".join(count(entry.rows[group]) for group in groups),
        " and ".join(of(entry.mean[group]) for group in groups),
        " and ".join(number(entry.median[group]) for group in groups),
        number(entry.gap),
        number(entry.ratio),
        interval(entry.ratio_interval),
        number(entry.smd),
    ]


def contrast_convention_rows(document: AuditDocument) -> list[Row]:
    """List the conventions of every contrast, one row each."""
    return [_convention_row(part) for part in document.classical]


def _convention_row(part: ClassicalFigures) -> Row:
    overall, odds, ranks = part.overall, part.mantel_haenszel, part.van_elteren
    return [
        " compared with ".join(part.groups),
        number(overall.gap),
        number(overall.ratio),
        interval(overall.ratio_interval),
        number(overall.smd),
        number(None if odds is None else odds.odds_ratio),
        NONE if odds is None else p_value(odds.p_value),
        NONE if ranks is None else p_value(ranks.p_value),
        number(part.wachter),
    ]


def category_rows(document: AuditDocument) -> list[Row]:
    """Write the summary of Local Law 144, one row per category."""
    return [_category_row(part) for part in document.local_law_144]


def _category_row(part: Category) -> Row:
    return [
        f"{' × '.join(part.columns)}: {part.category or say('setting.unknown')}",
        count(part.rows),
        percent(part.share),
        percent(part.rate),
        NONE if part.ratio is None else f"{part.ratio:.2f}",
        "below 2%" if part.small and part.category is not None else "",
    ]


def group_rows(document: AuditDocument) -> list[Row]:
    """Where the rows of every group are."""
    return [
        [
            f"{' × '.join(part.columns)}: {part.group or say('setting.unknown')}",
            *(count(n) for n in (part.rows, part.compared, part.not_compared, part.missing)),
        ]
        for part in document.data.groups
    ]


def key_figures(document: AuditDocument) -> list[tuple[str, str]]:
    """Direction and size, certainty, distances, rows and coverage, each in a line."""
    contrast = document.contrasts[0]
    unit = unit_name(document)
    gap, distance, test = contrast.gap, contrast.estimate, contrast.test
    (first, second), equal = contrast.groups, bool(document.roles.legitimate)
    sure = "" if gap.interval is None else f" ({confidence(gap.confidence)} {_ends(gap.interval)})"
    found = [
        (
            say("figure.gap_equals" if equal else "figure.gap"),
            f"{number(gap.value)} {unit}{sure}, {second} minus {first}",
        )
    ]
    if distance is not None:
        within = f"{confidence(distance.confidence)} {open_interval(distance.interval)}"
        found.append((say("figure.distance"), f"{number(distance.value)} ({within})"))
    found.append((say("figure.p"), contrast_p(contrast)))
    lines = [say("setting.of_all", figure=number(contrast.unconditional.value))]
    if equal:
        lines.insert(0, say("setting.of_equals", figure=number(contrast.conditional.value)))
    if test is not None and test.null_distance is not None:
        lines.append(say("setting.of_chance", figure=number(test.null_distance)))
    found.append((say("figure.average"), ", ".join(lines)))
    both = zip(contrast.rows, contrast.groups, strict=True)
    levels = [level for level in contrast.levels if level.name != OTHER_LEVELS]
    rows = list_names([f"{count(rows)} {group}" for rows, group in both])
    found.append((say("figure.rows"), f"{rows} in {plural(len(levels), 'level')}"))
    shares = [f"{percent(share)} of {group}" for group, share in contrast.coverage.items()]
    found.append((say("figure.coverage"), list_names(shares)))
    return found


def _ends(ends: Sequence[float]) -> str:
    return f"interval {interval(ends)}"


def public_fields(document: AuditDocument) -> dict[str, object]:
    """Collect what the public summary of LL144 must say, and its tables."""
    about, categories = document.settings.about, document.local_law_144
    if not categories:
        raise InputError(
            "the public summary of LL144 needs its figures; audit with preset='ll144' "
            "(--preset ll144)."
        )
    way = "selected" if all(part.decisions for part in document.classical) else "above"
    unstated = say("ll144.unstated")
    whole, alone = document.data.used, [part for part in categories if len(part.columns) == 1]
    tool = " ".join(about[name] for name in ("model", "version") if name in about)
    fields = {
        "audited": about.get("date", document.provenance.created[:10]),
        "distributed": about.get("distributed", unstated),
        "data": about.get("data", unstated),
        "auditor": about.get("measured_by", unstated),
        "owner": about.get("owner", unstated),
        "applicants": count(whole),
        "unknown": ", ".join(
            f"{part.columns[0]}: {count(part.rows)}" for part in alone if part.category is None
        )
        or "0",
    }
    small = [str(part.category) for part in categories if part.small and part.category is not None]
    unknown = [
        say(
            "ll144.unknown_text",
            rows=count(part.rows),
            all=count(whole),
            column=" × ".join(part.columns),
        )
        for part in categories
        if part.category is None
    ]
    return {
        "title": document.settings.title or say("ll144.title", tool=tool or say("ll144.tool")),
        "fields": [(say(f"ll144.{name}"), text) for name, text in fields.items()],
        "how": say(f"ll144.how_{way}"),
        "grids": [
            (
                say("ll144.caption", column=" × ".join(columns)),
                list_words(f"ll144.headings_{way}"),
                [
                    _public_row(part, counted=document.roles.weight is None)
                    for part in categories
                    if part.columns == columns
                ],
                "",
                "",
            )
            for columns in dict.fromkeys(part.columns for part in categories)
        ],
        "notes": [*unknown, *([say("ll144.small", names=list_names(small))] if small else [])],
        "version": document.provenance.versions["likeforlike"],
    }


def _public_row(part: Category, *, counted: bool) -> Row:
    """Write one category; a rate of weighted rows is no count."""
    known = counted and part.rate is not None
    selected = count(round((part.rate or 0.0) * part.rows)) if known else NONE
    return [
        part.category or say("setting.unknown"),
        count(part.rows),
        selected,
        percent(part.rate),
        NONE if part.ratio is None else f"{part.ratio:.2f}",
    ]
