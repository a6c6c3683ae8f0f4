"""Tables as text: levels, contrasts, excluded levels, settings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from likeforlike.report.format import (
    count,
    interval,
    listed,
    number,
    p_value,
    percent,
    shortened,
    tick,
)

__all__ = ["contrast_rows", "excluded_rows", "level_rows", "settings_rows"]

Part = Mapping[str, Any]
Row = list[str]

TABLED = 1000
"""At most so many levels are in the table; the rest are in the JSON."""
EXCLUDED = 50
"""At most so many excluded levels are listed."""

_TOLD_PARADOX = {"none": "", "masked": "hidden overall", "reversed": "reversed overall"}


def level_rows(contrast: Part) -> list[Row]:
    """The levels that contribute most, one row of texts each.

    Parameters
    ----------
    contrast : of the document of `Audit.to_dict`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.report.tables import level_rows
    >>> audit = lfl.audit(
    ...     load_loans(1000).frame, score="approved", sensitive="sex", legitimate="income"
    ... )
    >>> level_rows(audit.to_dict()["contrasts"][0])[0][:6]
    ['income high', '300', '50', '0.350', '0.200', '0.0615']
    """
    return [
        [
            level["name"],
            *(count(level["rows"][group]) for group in contrast["groups"]),
            number(level["weight"]),
            number(level["distance"]),
            number(level["null_distance"]),
            number(level["gap"]),
            interval(level["gap_interval"]),
            percent(level["contribution"]),
            p_value(level["p_value"]),
            p_value(level["p_adjusted"]),
            "thin" if level["thin"] else "",
        ]
        for level in contrast["levels"][:TABLED]
    ]


def excluded_rows(contrast: Part) -> list[tuple[str, str]]:
    """Levels that lack a group, and the rows they hold."""
    return [
        (name, ", ".join(f"{count(n)} {group}" for group, n in rows.items() if n))
        for name, rows in islice(contrast["excluded"].items(), EXCLUDED)
    ]


def contrast_rows(document: Part) -> list[Row]:
    """Every two groups compared, one row of texts each."""
    return [_contrast_row(contrast) for contrast in document["contrasts"]]


def _contrast_row(contrast: Part) -> Row:
    sized = contrast["estimate"]
    return [
        " and ".join(contrast["groups"]),
        " and ".join(count(rows) for rows in contrast["rows"]),
        number(None if sized is None else sized["value"]),
        interval(None if sized is None else sized["interval"]),
        p_value(contrast["p_value"]),
        number(contrast["conditional"]["value"]),
        number(contrast["unconditional"]["value"]),
        " and ".join(percent(contrast["coverage"][group]) for group in contrast["groups"]),
        _TOLD_PARADOX[contrast["paradox"]],
    ]


def settings_rows(document: Part) -> list[tuple[str, str]]:
    """What was asked, of which data, by which versions, when."""
    roles, data, made = document["roles"], document["data"], document["provenance"]
    resolution = data["resolution"]
    return [
        ("Score", roles["score"]),
        ("Sensitive column", roles["sensitive"]),
        ("Legitimate columns", listed(roles["legitimate"])),
        ("Weight column", roles["weight"] or "none"),
        *((_setting(name), _told(value)) for name, value in document["settings"].items()),
        ("Rows", f"{count(data['used'])} used of {count(data['rows'])}"),
        ("Missing values", _missing(data["missing"])),
        *((f"Edges of {name}", _edges(edges)) for name, edges in data["edges"].items()),
        ("Engine", data["engine"]),
        ("Resolution of scores", number(resolution) if resolution else "exact"),
        ("Fingerprint of the data", made["fingerprint"]),
        ("Versions", ", ".join(f"{name} {value}" for name, value in made["versions"].items())),
        ("Created", made["created"].replace("T", " ").replace("+00:00", " UTC")),
    ]


def _setting(name: str) -> str:
    told = {
        "measure": "Measure over levels",
        "min_cell": "A level is thin below (rows of a group)",
        "random_state": "Random seed",
        "reference": "Reference group",
        "adjustment": "Adjustment of p-values",
    }
    return told.get(name, name.replace("_", " ").capitalize())


def _told(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return tick(value)
    return count(value) if isinstance(value, int) else str(value)


def _missing(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{shortened(name, 60)}: {count(n)}" for name, n in missing.items())


def _edges(edges: list[float]) -> str:
    return ", ".join(number(edge) for edge in edges)
