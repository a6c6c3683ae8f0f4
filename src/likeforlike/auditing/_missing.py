"""Rows that lack a value: who lost how many, and whether groups differ in that."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np

from likeforlike._text import crossed_name
from likeforlike.document._results import LossTest, LostRows
from likeforlike.files._columns import column_key, keyed
from likeforlike.inference._chi_square import homogeneity

_ROWS, _LOST = "likeforlike rows", "likeforlike lost"


def families(sensitive: Sequence[str]) -> list[tuple[str, ...]]:
    """Every sensitive column alone and, if there are several, all of them crossed."""
    alone: list[tuple[str, ...]] = [(column,) for column in sensitive]
    return [*alone, tuple(sensitive)] if len(sensitive) > 1 else alone


def unknown_as_null(lacking: Mapping[str, nw.Expr], columns: Sequence[str]) -> list[nw.Expr]:
    """Columns in which whatever stands for a missing value is null."""
    return [
        nw.when(~lacking[column]).then(keyed(column)).alias(column_key(column))
        for column in columns
    ]


def lost_rows(
    frame: nw.LazyFrame[Any], sensitive: Sequence[str], lacking: Mapping[str, nw.Expr]
) -> tuple[LostRows, ...]:
    """Rows and lost rows of every group by one `group by`; those without a group come last.

    A row that lacks one of several sensitive columns is lost to the groups of that column only.
    """
    needed = [lacks for column, lacks in lacking.items() if column not in sensitive]
    flagged = frame.select(
        *unknown_as_null(lacking, sensitive),
        reduce(or_, needed).cast(nw.Int64).alias(_LOST),
    )
    keys = [column_key(column) for column in sensitive]
    counted = flagged.group_by(*keys).agg(nw.col(_LOST).sum(), nw.len().alias(_ROWS)).collect()
    labels = [_labels(counted[key].to_list()) for key in keys]
    rows, gone = (counted[name].to_list() for name in (_ROWS, _LOST))
    values = list(zip(*labels, strict=True))
    return tuple(
        lost
        for columns in families(sensitive)
        for lost in _lost_in(columns, sensitive, values, rows, gone)
    )


def _labels(values: Sequence[Any]) -> list[Hashable]:
    """Labels of groups as the audit has them: whole numbers are integers, nothing is `None`."""
    known = [value for value in values if not _is_unknown(value)]
    whole = all(isinstance(value, float) and value == int(value) for value in known)
    return [None if _is_unknown(value) else int(value) if whole else value for value in values]


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _lost_in(
    columns: tuple[str, ...],
    sensitive: Sequence[str],
    values: Sequence[tuple[Hashable, ...]],
    rows: Sequence[int],
    gone: Sequence[int],
) -> list[LostRows]:
    """Rows and lost rows of the groups of some of the sensitive columns."""
    places = [sensitive.index(column) for column in columns]
    known: dict[str, tuple[int, int]] = {}
    unknown = 0
    for combination, there, lost in zip(values, rows, gone, strict=True):
        group = [combination[place] for place in places]
        if None in group:
            unknown += int(there)
        else:
            name = crossed_name(group, columns)
            before = known.get(name, (0, 0))
            known[name] = before[0] + int(there), before[1] + int(lost)
    found = [LostRows(name, *known[name], columns) for name in sorted(known)]
    return [*found, LostRows(None, unknown, unknown, columns)] if unknown else found


def loss_tests(lost: Sequence[LostRows]) -> tuple[LossTest, ...]:
    """One test for every sensitive column, and one for all of them crossed."""
    tests = []
    for columns in dict.fromkeys(each.columns for each in lost):
        groups = [each for each in lost if each.columns == columns and each.group is not None]
        counts = np.array([[each.lost, each.rows - each.lost] for each in groups], np.float64)
        if len(groups) > 1:
            tests.append(LossTest(columns, *homogeneity(counts)))
    return tuple(tests)
