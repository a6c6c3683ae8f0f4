"""Which contrasts an audit examines, and who could not be compared.

Rows that lack a value: who lost how many, and whether groups differ in that.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, NoReturn

import narwhals as nw
import numpy as np

from likeforlike._text import crossed_name
from likeforlike.disparity import Cells, Contrast, contrasts
from likeforlike.document import LossTest, LostRows, Roles, Unexamined
from likeforlike.errors import InputError
from likeforlike.files import column_key, keyed
from likeforlike.inference import homogeneity

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


class Chosen(NamedTuple):
    """A contrast to be examined.

    Attributes
    ----------
    contrast : two groups that meet in a level, in cells of the groups of `columns`.
    columns : the sensitive columns that the groups are values of.
    reference : name of the group that the other is compared with, if one was chosen.
    """

    contrast: Contrast
    columns: tuple[str, ...]
    reference: str | None


def chosen_contrasts(
    cells: Cells, roles: Roles, reference: Reference | None, min_cell: int
) -> tuple[list[Chosen], tuple[Unexamined, ...]]:
    """The contrasts of an audit, and the groups that could not be compared.

    One sensitive column: every two groups, or all against a reference. Several: in each column and
    in all of them crossed every group against one, the reference of its column or the largest; a
    difference between any two groups is one from it, too. Groups of fewer than `min_cell` rows are
    named and counted there: crossed columns have many of them, and each comparison that cannot
    find anything makes the others less sharp.
    """
    wanted = _by_column(reference, roles)
    chosen: list[Chosen] = []
    unexamined: list[Unexamined] = []
    for columns in families(roles.all_sensitive):
        if roles.also_sensitive:
            family = family_of(cells, columns, roles.all_sensitive)
            own, named = family.cells, _largest(family, columns, wanted)
            small = _small_groups(own, named, min_cell, columns)
        else:
            own, named, small = cells, _reference(cells, wanted.get(roles.sensitive)), ()
            if named is None and len(cells.groups) > _MANY_GROUPS:
                _refuse_many(cells)
        left_out = {name for each in small for name in each.groups}
        asked = [
            contrast
            for contrast in _asked(own, named)
            if left_out.isdisjoint(map(str, contrast.groups))
        ]
        met = [contrast for contrast in asked if contrast.support.any()]
        apart = [contrast for contrast in asked if not contrast.support.any()]
        of = None if named is None else str(named)
        unexamined += [*_unexamined(own, met, apart, columns, of), *small]
        chosen += [Chosen(contrast, columns, of) for contrast in met]
    if not chosen:
        _refuse_all(cells, roles, unexamined)
    return chosen, tuple(unexamined)


def other_pairs(
    cells: Cells, roles: Roles, reference: Reference | None, min_cell: int
) -> tuple[list[Chosen], tuple[Unexamined, ...]]:
    """Every two groups that were compared only with a third one, not with each other.

    A verdict is about them as well. With a reference, no others are asked for.
    """
    if not roles.also_sensitive:
        return [], ()
    wanted = _by_column(reference, roles)
    pairs: list[Chosen] = []
    apart: list[Unexamined] = []
    for columns in families(roles.all_sensitive):
        if set(columns) <= wanted.keys():
            continue
        family = family_of(cells, columns, roles.all_sensitive)
        named = _largest(family, columns, wanted)
        rows = dict(zip(family.cells.groups, family.cells.counts.sum(axis=0).tolist(), strict=True))
        others = [group for group in rows if group != named and rows[group] >= min_cell]
        for contrast in contrasts(family.cells, "pairwise") if len(others) > 1 else []:
            if not set(contrast.groups) <= set(others):
                continue
            if contrast.support.any():
                pairs.append(Chosen(contrast, columns, None))
            else:
                names = tuple(map(str, contrast.groups))
                held = {str(group): rows[group] for group in contrast.groups}
                apart.append(Unexamined(names, held, "they share no level.", columns))
    return pairs, tuple(apart)


def _asked(cells: Cells, reference: Hashable | None) -> list[Contrast]:
    """Every two groups, or all others against one."""
    if len(cells.groups) < 2:
        return []
    pairs = contrasts(cells, "pairwise")
    return [each for each in pairs if reference is None or reference in each.groups]


def _by_column(reference: Reference | None, roles: Roles) -> dict[str, Hashable]:
    """The reference of every column that has one."""
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


class _Family(NamedTuple):
    """Cells of the groups of some sensitive columns, and the values that each group has in them."""

    cells: Cells
    values: dict[Hashable, list[Hashable]]


def family_of(cells: Cells, columns: Sequence[str], sensitive: Sequence[str]) -> _Family:
    """The groups of some of the sensitive columns, without rows that lack a value there.

    Values of one column stay as they are; crossed ones become text.
    """
    names, members = family_names(cells.groups, columns, sensitive)
    return _Family(cells.regroup(names), members)


def family_names(
    groups: Sequence[Hashable], columns: Sequence[str], sensitive: Sequence[str]
) -> tuple[dict[Hashable, Hashable], dict[Hashable, list[Hashable]]]:
    """What groups of all sensitive columns are called in some of them, and their values there."""
    places = [sensitive.index(column) for column in columns]
    names: dict[Hashable, Hashable] = {}
    members: dict[Hashable, list[Hashable]] = {}
    for group in groups:
        assert isinstance(group, tuple)
        values = [group[place] for place in places]
        if None not in values:
            names[group] = values[0] if len(values) == 1 else crossed_name(values, columns)
            members[names[group]] = values
    return names, members


def _largest(family: _Family, columns: Sequence[str], wanted: Mapping[str, Hashable]) -> Hashable:
    """The group that all others are compared with: the largest of those that references allow."""
    for place, column in enumerate(columns):
        there = {str(values[place]) for values in family.values.values()}
        if column in wanted and str(wanted[column]) not in there:
            raise InputError(
                f"reference {wanted[column]!r} is no value of {column!r}; its values are "
                f"{sorted(there)}."
            )
    allowed = [
        group
        for group, values in family.values.items()
        if all(
            column not in wanted or str(value) == str(wanted[column])
            for column, value in zip(columns, values, strict=True)
        )
    ]
    rows = dict(zip(family.cells.groups, family.cells.counts.sum(axis=0).tolist(), strict=True))
    # Possibly no row has all reference values; then the largest group stands in.
    return max(allowed or rows, key=lambda group: rows.get(group, 0))


def _small_groups(
    cells: Cells, reference: Hashable, min_cell: int, columns: tuple[str, ...]
) -> tuple[Unexamined, ...]:
    """Groups of too few rows to be compared."""
    rows = zip(cells.groups, cells.counts.sum(axis=0).tolist(), strict=True)
    return tuple(
        Unexamined(
            (str(group),),
            {str(group): there},
            f"they have fewer than {min_cell} rows.",
            columns,
        )
        for group, there in rows
        if there < min_cell and group != reference
    )


def _refuse_all(cells: Cells, roles: Roles, unexamined: Sequence[Unexamined]) -> NoReturn:
    if roles.also_sensitive and any("fewer" in each.reason for each in unexamined):
        raise InputError(
            "no group has enough rows to be compared with another; use coarser groups, or a "
            "smaller min_cell (--min-cell)."
        )
    raise InputError(
        f"no level holds two of the groups {list(cells.groups)}, so nothing can be compared; "
        "use coarser levels, with fewer columns in legitimate (--legitimate) or with bins (--bins)."
    )


def _refuse_many(cells: Cells) -> None:
    pairs = len(cells.groups) * (len(cells.groups) - 1) // 2
    largest = cells.groups[int(cells.counts.sum(axis=0).argmax())]
    raise InputError(
        f"{len(cells.groups)} groups would be {pairs:,} comparisons; say which one all others "
        f"are compared with, for instance reference={str(largest)!r} (--reference), which has "
        "most rows, or put small groups together."
    )


def refuse_unfit(cells: Cells) -> None:
    """Refuse scores too far apart for intervals, and weights that are probabilities of groups."""
    if cells.reach > _FARTHEST:
        lowest, highest = cells.atoms.values.min(), cells.atoms.values.max()
        raise InputError(
            f"scores reach from {lowest:g} to {highest:g}, and an interval might reach further "
            "than numbers do; divide the scores by 1e100."
        )
    _refuse_probabilities(cells)


def _refuse_probabilities(cells: Cells) -> None:
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


def _person_totals(
    masses: Sequence[np.typing.NDArray[np.float64]],
    values: np.typing.NDArray[np.float64],
    level: np.typing.NDArray[np.int64],
) -> np.typing.NDArray[np.float64]:
    """What the weights of every person add up to, if rows belong together as this would need.

    With two groups, rows of the same level and score are matched the lightest with the heaviest;
    with more, only the total of all rows of the same level and score is known.
    """
    if len(masses) == 2:
        rising = np.lexsort((masses[0], values, level))
        falling = np.lexsort((-masses[1], values, level))
        totals: np.typing.NDArray[np.float64] = masses[0][rising] + masses[1][falling]
        return totals
    new = np.r_[True, (np.diff(values) != 0.0) | (np.diff(level) != 0)]
    tie = np.cumsum(new) - 1
    whole = np.bincount(tie, np.sum(masses, axis=0))
    mean: np.typing.NDArray[np.float64] = whole / np.bincount(tie)
    return mean


def _reference(cells: Cells, reference: Hashable | None) -> Hashable | None:
    """The group that is meant; a command line only has text, so it may be named by its text."""
    if reference is None or reference in cells.groups:
        return reference
    written = [group for group in cells.groups if str(group) == str(reference)]
    if not written:
        raise InputError(
            f"reference {reference!r} is not a group; the groups are {list(cells.groups)}."
        )
    return written[0]


def _unexamined(
    cells: Cells,
    met: Sequence[Contrast],
    apart: Sequence[Contrast],
    columns: tuple[str, ...],
    reference: str | None,
) -> tuple[Unexamined, ...]:
    """Groups that are in no comparison, then pairs of others that never meet."""
    rows = dict(zip(map(str, cells.groups), cells.counts.sum(axis=0).tolist(), strict=True))
    compared = {str(group) for contrast in met for group in contrast.groups}
    asked = {str(group) for contrast in apart for group in contrast.groups}
    alone = [
        Unexamined(
            (name,),
            {name: rows[name]},
            f"they share no level with {reference or 'any other group'}.",
            columns,
        )
        for name in rows
        if name in asked - compared - {reference}
    ]
    pairs = [tuple(map(str, contrast.groups)) for contrast in apart]
    return (
        *alone,
        *(
            Unexamined(pair, {name: rows[name] for name in pair}, "they share no level.", columns)
            for pair in pairs
            if compared.issuperset(pair)
        ),
    )
