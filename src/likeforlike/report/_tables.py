"""Tables as text: levels, contrasts, excluded levels, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from likeforlike._text import date_words, figure, null_words
from likeforlike.document._plain import plain
from likeforlike.document._results import AuditDocument, ContrastAudit, LostRows
from likeforlike.report._format import (
    contrast_p,
    count,
    interval,
    listed,
    number,
    open_interval,
    p_value,
    percent,
    shortened,
    tick,
)

Row = list[str]

TABLED = 1000
"""At most this many levels are in the table; the rest are in the JSON."""
EXCLUDED = 50
"""At most this many excluded levels are listed."""

_PARADOX_WORDS = {"none": "", "masked": "hidden overall", "reversed": "reversed overall"}


def level_rows(contrast: ContrastAudit) -> list[Row]:
    """The levels that contribute most, one row of texts each."""
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


def excluded_rows(contrast: ContrastAudit) -> list[tuple[str, str]]:
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


_KINDS = {
    "decision": "decisions, 0 or 1",
    "probability": "numbers from 0 to 1, as probabilities are",
    "money": "amounts of money",
    "number": "numbers",
}


def settings_rows(document: AuditDocument) -> list[tuple[str, str]]:
    """What was asked, of which data, by which versions, when."""
    roles, data, made = document.roles, document.data, document.provenance
    resolution = data.resolution
    return [
        ("Score", roles.score),
        ("Scores are", _KINDS[data.kind]),
        (
            "Sensitive columns" if roles.also_sensitive else "Sensitive column",
            listed([roles.sensitive, *roles.also_sensitive]),
        ),
        ("Legitimate columns", listed(roles.legitimate)),
        ("Weight column", roles.weight or "none"),
        ("Cluster column", roles.cluster or "none"),
        *((_setting(name), _value_text(value)) for name, value in plain(document.settings).items()),
        ("Rows", f"{count(data.used)} used of {count(data.rows)}"),
        ("Missing values", _missing(data.missing)),
        *(("Rows left out", _lost(data.lost)) for _ in data.lost[:1]),
        *((("Read as missing", null_words(data.nulls)),) if data.nulls else ()),
        *(
            (f"Edges of {name}", _edges(edges, dates=data.calendar.get(name) == "day"))
            for name, edges in data.edges.items()
        ),
        ("Engine", data.engine),
        ("Resolution of scores", number(resolution) if resolution else "exact"),
        ("Fingerprint of the data", made.fingerprint),
        ("Versions", ", ".join(f"{name} {value}" for name, value in made.versions.items())),
        ("Created", made.created.replace("T", " ").replace("+00:00", " UTC")),
    ]


def _setting(name: str) -> str:
    labels = {
        "measure": "Measure over levels",
        "min_cell": "A level is thin below (rows of a group)",
        "min_coverage": "A pass needs so much of each group compared",
        "random_state": "Random seed",
        "reference": "Reference group",
        "adjustment": "Adjustment of p-values",
        "suppress_below": "Nothing is shown about fewer people than",
    }
    return labels.get(name, name.replace("_", " ").capitalize())


def _value_text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return tick(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {inner}" for name, inner in value.items())
    if isinstance(value, list):
        return _listed_setting(value)
    return count(value) if isinstance(value, int) else str(value)


def _listed_setting(values: list[object]) -> str:
    """Two numbers as a range, names as a list."""
    if all(isinstance(value, str) for value in values):
        return listed([str(value) for value in values]) if values else "none"
    return " to ".join(tick(float(str(value))) for value in values)


def _missing(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{shortened(name, 60)}: {count(n)}" for name, n in missing.items())


def _lost(lost: Sequence[LostRows]) -> str:
    return ", ".join(
        f"{_lost_name(part)}: {count(part.lost)} of {count(part.rows)}" for part in lost
    )


def _lost_name(part: LostRows) -> str:
    """The group, or the column of which it is not known."""
    name = part.group
    return shortened(f"{' × '.join(part.columns)} unknown" if name is None else name, 60)


def _edges(edges: Sequence[float], *, dates: bool) -> str:
    return ", ".join(date_words(edges) if dates else [figure(edge, 12) for edge in edges])
