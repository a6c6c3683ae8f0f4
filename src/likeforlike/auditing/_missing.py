"""Rows that lack a value: who lost how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw

_ROWS, _LOST = "likeforlike rows", "likeforlike lost"


@dataclass(frozen=True, slots=True)
class LostRows:
    """Rows of one group that were left out because a value is missing.

    Attributes
    ----------
    group : its name, or `None` for rows whose own group is not known.
    rows, lost : all of them, and those left out.

    Examples
    --------
    >>> from likeforlike.auditing import LostRows
    >>> LostRows("f", rows=200, lost=50).share
    0.25
    """

    group: str | None
    rows: int
    lost: int

    @property
    def share(self) -> float:
        """The share of the group that was left out."""
        return self.lost / self.rows


def lost_rows(
    frame: nw.LazyFrame[Any], sensitive: str, lacking: Mapping[str, nw.Expr]
) -> tuple[LostRows, ...]:
    """Rows and lost rows of every group by one `group by`; those without a group come last."""
    conditions = list(lacking.values())
    lost = conditions[0]
    for condition in conditions[1:]:
        lost = lost | condition
    # A missing label may be null or, in a column of floats, NaN: both are nobody's.
    flagged = frame.select(
        nw.col(sensitive),
        lost.cast(nw.Int64).alias(_LOST),
        lacking[sensitive].cast(nw.Int64).alias(_ROWS),
    )
    counted = (
        flagged.group_by(sensitive)
        .agg(
            nw.col(_LOST).sum(),
            nw.col(_ROWS).sum().alias(f"{_ROWS} unknown"),
            nw.len().alias(_ROWS),
        )
        .collect()
    )
    known: dict[str, LostRows] = {}
    unknown = 0
    columns = (counted[name].to_list() for name in (sensitive, _ROWS, _LOST, f"{_ROWS} unknown"))
    for group, rows, gone, nobody in zip(*columns, strict=True):
        if nobody:
            unknown += int(rows)
        else:
            known[str(group)] = LostRows(str(group), int(rows), int(gone))
    nobodies = (LostRows(None, unknown, unknown),) if unknown else ()
    return (*(known[name] for name in sorted(known)), *nobodies)
