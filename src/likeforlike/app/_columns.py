"""What the columns of a file are, and what they are probably for.

Names and values are looked at, and the guess says which of them it is by. It is a proposal: what
makes people equal is for the reader to decide, so few columns are proposed for that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likeforlike._text import visible
from likeforlike.files import (
    TextTable,
    are_numbers,
    column_names_of,
    csv_options,
    decision_words,
    open_file,
    readable,
    tell_apart,
    text_column,
)

Column = dict[str, Any]
"""name, kind, samples, distinct, missing, role and why: plain values, to be written as JSON."""

_ROWS, _COLUMNS = 5_000, 300
_SAMPLES, _LENGTH, _DIGITS = 4, 40, 12
# Words of names, the most telling first.
_WORDS = {
    "score": "approved approve score decision accepted granted hired selected admitted prediction "
    "predicted probability prob decile rating champion salary pay wage compensation earnings bonus "
    "outcome",
    "sensitive": "sex gender race ethnicity ethnic nationality religion disability disabled origin "
    "citizenship minority marital veteran geschlecht sexe genre age",
    "weight": "weight weights wt wgt fnlwgt",
    "legitimate": "income grade band job position occupation function department level experience "
    "education degree qualification seniority tenure history role title",
    "each": "id key index nr no number person name",
}
_SPLIT = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")
_MOST_GROUPS, _MOST_LEVELS, _MOST_LEGITIMATE = 12, 50, 2


def describe_file(path: Path, reading: Mapping[str, object]) -> dict[str, Any]:
    """Look at every column of a file, at rows from all over it, and guess roles.

    Returns rows, columns, and how many further columns there are; or, of an Excel file of which no
    sheet was named, its sheets if it has several.
    """
    sheets = _sheets(path) if path.suffix.lower() in (".xlsx", ".xlsm") else []
    if len(sheets) > 1 and not reading.get("sheet"):
        return {"sheets": sheets}
    with open_file(path, options=csv_options(reading)) as opened, readable(path):
        import polars as pl

        texts = isinstance(opened, TextTable)
        frame: pl.LazyFrame = opened.table if texts else opened.lazy()
        names = tell_apart(opened.columns if texts else column_names_of(frame))
        every = [text_column(place) if texts else name for place, name in enumerate(names)]
        keys = every[:_COLUMNS]
        rows = int(frame.select(pl.len()).collect().item())
        sample = frame.select(keys).gather_every(max(1, -(-rows // _ROWS))).collect()
        nulls = opened.options.nulls if texts else ()
        values = [[None if v is None else str(v) for v in sample[key].to_list()] for key in keys]
    columns = [
        _describe(name, [None if v in ("", *nulls) else v for v in column])
        for name, column in zip(names, values, strict=False)
    ]
    guess_roles(columns)
    further = max(0, len(names) - _COLUMNS)
    return {"rows": rows, "columns": columns, "further": further, "sheets": sheets}


def _sheets(path: Path) -> list[str]:
    from likeforlike._lazy import extra

    with extra("excel"):
        import fastexcel
    with readable(path):
        return list(fastexcel.read_excel(path).sheet_names)


def _describe(name: str, values: Sequence[str | None]) -> Column:
    counted = Counter(value.strip() for value in values if value is not None)
    present = counted.total()
    if not counted:
        kind = "empty"
    elif set(counted) <= {"0", "1", "0.0", "1.0"} or decision_words(counted) is not None:
        kind = "decision"
    elif are_numbers(counted):
        kind = "number"
    else:
        kind = "text"
    unique = len(counted) > _MOST_GROUPS and len(counted) == present
    if unique and (kind == "text" or _rank(name, "each") < _UNNAMED):
        kind = "each"
    most = _DIGITS if kind == "number" else _LENGTH
    common = [value for value, _ in counted.most_common(_SAMPLES)]
    return {
        "name": name,
        "kind": kind,
        "samples": [visible(v if len(v) <= most else f"{v[:most]}…") for v in common],
        "distinct": len(counted),
        "missing": 1.0 - present / len(values) if values else 0.0,
        "role": "",
        "why": {"each": "each", "empty": "empty", "number": "number"}.get(kind, "free"),
    }


def guess_roles(columns: Sequence[Column]) -> None:
    """Give columns the roles they probably have, each with the reason."""
    free = list(columns)

    def give(column: Column | None, role: str, why: str) -> None:
        if column is not None:
            column.update(role=role, why=why)
            free.remove(column)

    def by_name(role: str, *kinds: str, most: int = _ROWS) -> Column | None:
        fits = [c for c in free if c["kind"] in kinds and 2 <= c["distinct"] <= most]
        ranks = {k: _rank(c["name"], role) for k, c in enumerate(fits)}
        best = min(ranks, key=lambda k: ranks[k], default=None)
        return None if best is None or ranks[best] == _UNNAMED else fits[best]

    def first(kind: str, least: int, most: int) -> Column | None:
        fits = (c for c in free if c["kind"] == kind and least <= c["distinct"] <= most)
        return next(
            (c for c in fits if not any(_rank(c["name"], r) < _UNNAMED for r in _WORDS)), None
        )

    give(by_name("weight", "number"), "weight", "weight_name")
    kinds = "text", "decision", "number"
    groups = by_name("sensitive", *kinds, most=_MOST_GROUPS)
    give(groups, "sensitive", "sensitive_name")
    score = by_name("score", "decision", "number")
    give(score, "score", "score_name")
    if score is None:
        decision = first("decision", 2, _ROWS)
        give(decision or first("number", _MOST_GROUPS, _ROWS), "score", "score_values")
    if groups is None:
        give(first("text", 2, 2), "sensitive", "sensitive_values")
    for _ in range(_MOST_LEGITIMATE):
        give(by_name("legitimate", *kinds, most=_MOST_LEVELS), "legitimate", "legitimate_name")


_UNNAMED = 1_000


def _rank(name: str, role: str) -> int:
    """How telling a name is for a role: the place of its first word that is in the list."""
    telling, words = _WORDS[role].split(), {word.lower() for word in _SPLIT.findall(name)}
    return next((place for place, word in enumerate(telling) if word in words), _UNNAMED)
