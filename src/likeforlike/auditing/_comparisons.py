"""Which contrasts an audit examines, and who could not be compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from likeforlike.disparity._cells import Cells
from likeforlike.disparity._contrasts import Contrast, contrasts
from likeforlike.errors import InputError

# Weights of one person add up to the same, to this relative precision.
_SAME = 1e-6
_FEW_ROWS = 10
# With more groups than this, not every two of them are compared.
_MANY_GROUPS = 20


@dataclass(frozen=True, slots=True)
class Unexamined:
    """Groups that could not be compared with each other.

    Attributes
    ----------
    groups : their names; a single one if it shares no level with anybody.
    rows : {group: rows}.
    reason : why, as a sentence.

    Examples
    --------
    >>> import polars as pl
    >>> import likeforlike as lfl
    >>> table = {"score": [0.1, 0.2, 0.3], "group": ["a", "b", "d"], "level": ["x", "x", "y"]}
    >>> audit = lfl.audit(
    ...     pl.DataFrame(table), score="score", sensitive="group", legitimate="level"
    ... )
    >>> audit.unexamined[0].groups, audit.unexamined[0].rows
    (('d',), {'d': 1})
    """

    groups: tuple[str, ...]
    rows: dict[str, int]
    reason: str


def chosen_contrasts(
    cells: Cells, reference: Hashable | None
) -> tuple[list[Contrast], tuple[Unexamined, ...]]:
    """Every two groups, or all against a reference: those that meet, and those that never do."""
    reference = _reference(cells, reference)
    if reference is None and len(cells.groups) > _MANY_GROUPS:
        _refuse_many(cells)
    asked = [
        contrast
        for contrast in contrasts(cells, "pairwise")
        if reference is None or reference in contrast.groups
    ]
    met = [contrast for contrast in asked if contrast.support.any()]
    if not met:
        raise InputError(
            f"no level holds two of the groups {list(cells.groups)}, so nothing can be compared; "
            "use coarser levels."
        )
    apart = [contrast for contrast in asked if not contrast.support.any()]
    return met, _unexamined(cells, met, apart)


def _refuse_many(cells: Cells) -> None:
    pairs = len(cells.groups) * (len(cells.groups) - 1) // 2
    largest = cells.groups[int(cells.counts.sum(axis=0).argmax())]
    raise InputError(
        f"{len(cells.groups)} groups would be {pairs:,} comparisons; say which one all others "
        f"are compared with, for instance reference={str(largest)!r} (--reference), which has "
        "most rows, or put small groups together."
    )


def refuse_probabilities(cells: Cells) -> None:
    """Refuse rows that name everybody once in each group, with weights that add up.

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
    cells: Cells, met: Sequence[Contrast], apart: Sequence[Contrast]
) -> tuple[Unexamined, ...]:
    """Groups that are in no comparison, then pairs of others that never meet."""
    rows = dict(zip(map(str, cells.groups), cells.counts.sum(axis=0).tolist(), strict=True))
    compared = {str(group) for contrast in met for group in contrast.groups}
    asked = {str(group) for contrast in apart for group in contrast.groups}
    alone = [
        Unexamined((name,), {name: rows[name]}, "they share no level with any other group.")
        for name in rows
        if name in asked - compared
    ]
    pairs = [tuple(map(str, contrast.groups)) for contrast in apart]
    return (
        *alone,
        *(
            Unexamined(pair, {name: rows[name] for name in pair}, "they share no level.")
            for pair in pairs
            if compared.issuperset(pair)
        ),
    )
