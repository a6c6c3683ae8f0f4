"""Which groups are compared with which, who cannot be compared, and which rows lack a value.

One sensitive column: every two groups, or all against a reference. Several: in each column and in
all of them crossed every group against one. A difference between any two groups is one from that
group, too, so the test needs no other pairs; verdicts also look at those (`other_pairs`).

Rows that lack a value are counted by group in one `group by`, and a chi-square test says whether
groups differ in how many they lack.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import cross_names
from likeforlike.disparity import Cells, Contrast, contrasts
from likeforlike.document import LossTest, LostRows, Roles, Unexamined
from likeforlike.errors import InputError
from likeforlike.files import column_key, pick_column
from likeforlike.inference import homogeneity

_ROWS, _LOST = "likeforlike rows", "likeforlike lost"
# Weights of one person add up to the same, to this relative precision.
_SAME = 1e-6
_FEW_ROWS = 10
# With more groups than this, not every two of them are compared.
_MANY_GROUPS = 20
# Intervals, errors and shifts that a test detects are multiples of how far the scores reach, and
# the largest number there is is about 1e308.
_FARTHEST = 1e250

Reference = Hashable | Mapping[str, Hashable]
"""The group that all others are compared with, or {sensitive column: that group of it}."""

Chosen = tuple[Contrast, tuple[str, ...], str | None]
"""Two groups that meet in a level, their sensitive columns, and the name of the reference."""


def families(sensitive: Sequence[str]) -> list[tuple[str, ...]]:
    """List every sensitive column alone and, if there are several, all of them crossed."""
    alone: list[tuple[str, ...]] = [(column,) for column in sensitive]
    return [*alone, tuple(sensitive)] if len(sensitive) > 1 else alone


def name_group(group: Hashable, columns: Sequence[str], sensitive: Sequence[str]) -> str | None:
    """Name a group by some of the sensitive columns; `None` if it lacks a value there."""
    values = group if len(sensitive) > 1 and isinstance(group, tuple) else (group,)
    own = [values[sensitive.index(column)] for column in columns]
    return None if None in own else cross_names(own, columns)


def rename_groups(
    groups: Sequence[Hashable], columns: Sequence[str], sensitive: Sequence[str]
) -> tuple[dict[Hashable, Hashable], dict[Hashable, list[Hashable]]]:
    """Map groups of all sensitive columns to those of some, and list the values of the latter.

    Values of one column stay as they are; crossed ones become text. Groups that lack a value are
    left out.
    """
    places = [sensitive.index(column) for column in columns]
    names: dict[Hashable, Hashable] = {}
    members: dict[Hashable, list[Hashable]] = {}
    for group in groups:
        assert isinstance(group, tuple)
        values = [group[place] for place in places]
        if None not in values:
            names[group] = values[0] if len(values) == 1 else cross_names(values, columns)
            members[names[group]] = values
    return names, members


def group_cells(cells: Cells, columns: Sequence[str], sensitive: Sequence[str]) -> Cells:
    """Give cells the groups of some of the sensitive columns, without rows that lack a value."""
    if len(sensitive) < 2:
        return cells
    return cells.regroup(rename_groups(cells.groups, columns, sensitive)[0])


def select_contrasts(
    cells: Cells, roles: Roles, reference: Reference | None, min_cell: int
) -> tuple[list[Chosen], tuple[Unexamined, ...]]:
    """Select the contrasts of an audit, and list the groups that could not be compared.

    Without a reference, groups of several sensitive columns are compared with the largest. Those of
    fewer than `min_cell` rows are named and counted there: crossed columns have many of them, and
    each comparison that cannot find anything makes the others less sharp.
    """
    wanted, several = _references_by_column(reference, roles), bool(roles.also_sensitive)
    chosen: list[Chosen] = []
    unexamined: list[Unexamined] = []
    for columns in families(roles.all_sensitive):
        small: list[Hashable] = []
        if several:
            own, named = _group_family(cells, columns, roles, wanted)
            small = [g for g, n in _count_groups(own).items() if n < min_cell and g != named]
        else:
            own, named = cells, _find_group(cells, wanted.get(roles.sensitive))
            if named is None and len(cells.groups) > _MANY_GROUPS:
                largest = cells.groups[int(cells.counts.sum(axis=0).argmax())]
                raise InputError(
                    f"{len(cells.groups)} groups would be "
                    f"{len(cells.groups) * (len(cells.groups) - 1) // 2:,} comparisons; say which "
                    "one all others are compared with, for instance "
                    f"reference={str(largest)!r} (--reference), which has most rows, or put small "
                    "groups together."
                )
        asked = [
            pair
            for pair in (contrasts(own, "pairwise") if len(own.groups) > 1 else [])
            if (named is None or named in pair.groups) and not set(small) & set(pair.groups)
        ]
        name = None if named is None else str(named)
        unexamined += _missing_comparisons(own, asked, columns, name)
        few = f"they have fewer than {min_cell} rows."
        unexamined += [_missing_comparison(own, [group], few, columns) for group in small]
        chosen += [(pair, columns, name) for pair in asked if pair.support.any()]
    if chosen:
        return chosen, tuple(unexamined)
    if several and any("fewer" in each.reason for each in unexamined):
        raise InputError(
            "no group has enough rows to be compared with another; use coarser groups, or a "
            "smaller min_cell (--min-cell)."
        )
    raise InputError(
        f"no level holds two of the groups {list(cells.groups)}, so nothing can be compared; "
        "use coarser levels, with fewer columns in legitimate (--legitimate) or with bins (--bins)."
    )


def other_pairs(
    cells: Cells, roles: Roles, reference: Reference | None, min_cell: int
) -> tuple[list[Chosen], tuple[Unexamined, ...]]:
    """Select every two groups that were compared only with a third one, not with each other.

    A verdict is about them as well. With a reference, no others are asked for.
    """
    if not roles.also_sensitive:
        return [], ()
    wanted = _references_by_column(reference, roles)
    pairs: list[Chosen] = []
    apart: list[Unexamined] = []
    for columns in families(roles.all_sensitive):
        if set(columns) <= wanted.keys():
            continue
        own, named = _group_family(cells, columns, roles, wanted)
        others = {g for g, n in _count_groups(own).items() if g != named and n >= min_cell}
        for pair in contrasts(own, "pairwise") if len(others) > 1 else []:
            if not set(pair.groups) <= others:
                continue
            if pair.support.any():
                pairs.append((pair, columns, None))
            else:
                apart.append(_missing_comparison(own, pair.groups, "they share no level.", columns))
    return pairs, tuple(apart)


def _references_by_column(reference: Reference | None, roles: Roles) -> dict[str, Hashable]:
    """Find the reference of every column that has one."""
    if reference is None:
        return {}
    if isinstance(reference, Mapping):
        for column in reference:
            if column not in roles.all_sensitive:
                raise InputError(
                    f"reference names {column!r}, which is not a sensitive column; these are "
                    f"{list(roles.all_sensitive)}."
                )
        return dict(reference)
    if roles.also_sensitive:
        raise InputError(
            "with several sensitive columns reference must say of which column it is a value, as "
            f"reference={{{roles.sensitive!r}: {reference!r}}} "
            f"(--reference {roles.sensitive}={reference}) does."
        )
    return {roles.sensitive: reference}


def _find_group(cells: Cells, reference: Hashable | None) -> Hashable | None:
    """Find the group that is meant; it may be named by its text, as a command line does."""
    if reference is None or reference in cells.groups:
        return reference
    for group in cells.groups:
        if str(group) == str(reference):
            return group
    raise InputError(
        f"reference {reference!r} is not a group; the groups are {list(cells.groups)}."
    )


def _group_family(
    cells: Cells, columns: tuple[str, ...], roles: Roles, wanted: Mapping[str, Hashable]
) -> tuple[Cells, Hashable]:
    """Regroup cells by some columns; find the largest of the groups that references allow."""
    names, members = rename_groups(cells.groups, columns, roles.all_sensitive)
    own = cells.regroup(names)
    for place, column in enumerate(columns):
        there = {str(values[place]) for values in members.values()}
        if column in wanted and str(wanted[column]) not in there:
            raise InputError(
                f"reference {wanted[column]!r} is no value of {column!r}; its values are "
                f"{sorted(there)}."
            )
    allowed = [
        group
        for group, values in members.items()
        if all(
            column not in wanted or str(value) == str(wanted[column])
            for column, value in zip(columns, values, strict=True)
        )
    ]
    rows = _count_groups(own)
    # Possibly no row has all reference values; then the largest group stands in.
    return own, max(allowed or rows, key=lambda group: rows.get(group, 0))


def _count_groups(cells: Cells) -> dict[Hashable, int]:
    """Count the rows of every group."""
    return dict(zip(cells.groups, cells.counts.sum(axis=0).tolist(), strict=True))


def _missing_comparison(
    cells: Cells, groups: Sequence[Hashable], reason: str, columns: tuple[str, ...]
) -> Unexamined:
    """Describe groups that could not be compared."""
    rows = _count_groups(cells)
    names = tuple(map(str, groups))
    return Unexamined(names, {str(group): rows[group] for group in groups}, reason, columns)


def _missing_comparisons(
    cells: Cells, asked: Sequence[Contrast], columns: tuple[str, ...], reference: str | None
) -> list[Unexamined]:
    """List groups that are in no comparison, then pairs of others that never meet."""
    compared = {group for pair in asked if pair.support.any() for group in pair.groups}
    apart = [pair.groups for pair in asked if not pair.support.any()]
    missed = {group for pair in apart for group in pair if str(group) != reference} - compared
    why = f"they share no level with {reference or 'any other group'}."
    return [
        *(
            _missing_comparison(cells, [each], why, columns)
            for each in cells.groups
            if each in missed
        ),
        *(
            _missing_comparison(cells, pair, "they share no level.", columns)
            for pair in apart
            if compared.issuperset(pair)
        ),
    ]


def check_scores(cells: Cells) -> None:
    """Refuse scores too far apart for intervals, and weights that are probabilities of groups."""
    if cells.reach > _FARTHEST:
        lowest, highest = cells.atoms.values.min(), cells.atoms.values.max()
        raise InputError(
            f"scores reach from {lowest:g} to {highest:g}, and an interval might reach further "
            "than numbers do; divide the scores by 1e100."
        )
    _check_no_probabilities(cells)


def _check_no_probabilities(cells: Cells) -> None:
    """Refuse rows that name every person once in each group, with weights that add up.

    Weights of this kind are probabilities of groups. Averages by such weights move every group
    towards all others, so that a disparity looks smaller than it is.
    """
    if not cells.weighted or len(cells.groups) < 2:
        return
    atoms, n_groups = cells.atoms, len(cells.groups)
    sizes = np.diff(atoms.offsets).reshape(-1, n_groups)
    if atoms.values.size < _FEW_ROWS or (sizes != sizes[:, :1]).any():
        return
    group = np.repeat(np.tile(np.arange(n_groups), len(cells.levels)), sizes.ravel())
    values = [atoms.values[group == g] for g in range(n_groups)]
    if any(not np.array_equal(values[0], other) for other in values[1:]):
        return
    level = np.repeat(np.arange(len(cells.levels)), sizes[:, 0])
    totals = _person_totals([atoms.mass[group == g] for g in range(n_groups)], values[0], level)
    if np.ptp(totals) <= _SAME * totals.max() and np.ptp(atoms.mass) > _SAME * atoms.mass.max():
        raise InputError(
            "every person seems to be in the table once for each group, with weights that add up "
            "to the same: these look like probabilities of groups. Weighted averages would mix "
            "the groups and make a disparity look smaller than it is; audit with known groups."
        )


def _person_totals(masses: Sequence[FloatArray], values: FloatArray, level: IntArray) -> FloatArray:
    """Add up the weights of every person, if rows belong together as this would need.

    With two groups, rows of the same level and score are matched the lightest with the heaviest;
    with more, only the total of all rows of the same level and score is known.
    """
    if len(masses) == 2:
        rising = np.lexsort((masses[0], values, level))
        falling = np.lexsort((-masses[1], values, level))
        totals: FloatArray = masses[0][rising] + masses[1][falling]
        return totals
    tie = np.cumsum(np.r_[True, (np.diff(values) != 0.0) | (np.diff(level) != 0)]) - 1
    mean: FloatArray = np.bincount(tie, np.sum(masses, axis=0)) / np.bincount(tie)
    return mean


def unknown_as_null(lacking: Mapping[str, nw.Expr], columns: Sequence[str]) -> list[nw.Expr]:
    """Set whatever stands for a missing value in columns to null."""
    return [
        nw.when(~lacking[column]).then(pick_column(column)).alias(column_key(column))
        for column in columns
    ]


def count_missing(
    frame: nw.LazyFrame[Any], sensitive: Sequence[str], lacking: Mapping[str, nw.Expr]
) -> tuple[LostRows, ...]:
    """Count rows and lost rows of every group by one `group by`; those without a group come last.

    A row that lacks one of several sensitive columns is lost to the groups of that column only.
    """
    needed = [lacks for column, lacks in lacking.items() if column not in sensitive]
    flagged = frame.select(
        *unknown_as_null(lacking, sensitive),
        reduce(or_, needed).cast(nw.Int64).alias(_LOST),
    )
    keys = [column_key(column) for column in sensitive]
    with refuse_unhashable(sensitive):
        counted = flagged.group_by(*keys).agg(nw.col(_LOST).sum(), nw.len().alias(_ROWS)).collect()
    labels = zip(*(_read_labels(counted[key].to_list()) for key in keys), strict=True)
    groups = [label if len(sensitive) > 1 else label[0] for label in labels]
    rows, lost = (list(map(int, counted[name].to_list())) for name in (_ROWS, _LOST))
    found: list[LostRows] = []
    for columns in families(sensitive):
        known: dict[str, tuple[int, int]] = {}
        unknown = 0
        for group, there, gone in zip(groups, rows, lost, strict=True):
            if (name := name_group(group, columns, sensitive)) is None:
                unknown += there
            else:
                before = known.get(name, (0, 0))
                known[name] = before[0] + there, before[1] + gone
        found += [LostRows(name, *known[name], columns) for name in sorted(known)]
        found += [LostRows(None, unknown, unknown, columns)] if unknown else []
    return tuple(found)


@contextmanager
def refuse_unhashable(columns: Sequence[str]) -> Iterator[None]:
    """Refuse lists or dictionaries as labels, as pandas does when it groups by them."""
    try:
        yield
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise InputError(
            f"a column among {', '.join(columns)} holds values that are no labels ({error}); "
            "write them as text."
        ) from error


def _read_labels(values: Sequence[Any]) -> list[Hashable]:
    """Read labels of groups: whole numbers become integers, and missing values `None`."""
    unknown = [v is None or (isinstance(v, float) and math.isnan(v)) for v in values]
    known = [value for value, is_unknown in zip(values, unknown, strict=True) if not is_unknown]
    whole = all(isinstance(value, float) and value.is_integer() for value in known)
    return [
        None if is_unknown else int(value) if whole else value
        for value, is_unknown in zip(values, unknown, strict=True)
    ]


def missingness_tests(lost: Sequence[LostRows]) -> tuple[LossTest, ...]:
    """Test every sensitive column, and all of them crossed, for uneven missing values."""
    tests = []
    for columns in dict.fromkeys(each.columns for each in lost):
        groups = [each for each in lost if each.columns == columns and each.group is not None]
        counts = np.array([[each.lost, each.rows - each.lost] for each in groups], np.float64)
        if len(groups) > 1:
            tests.append(LossTest(columns, *homogeneity(counts)))
    return tuple(tests)
