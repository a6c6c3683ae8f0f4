"""The figures of New York City's Local Law 144 on automated tools for hiring.

For each category of sex, of race, and of both together: the rows assessed, the rate at which they
were selected (or, for scores, scored above the median of all), and the impact ratio, which is
that rate over the highest rate of a category. Categories of less than 2% of all may be left out of
the ratios, and are named. Rows of unknown category are counted. Nothing here is conditional.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import cross_names
from likeforlike.classical._cell_figures import cell_figures, is_decision
from likeforlike.disparity import Cells
from likeforlike.transport import sum_parts

SMALL = 0.02
"""Categories with a smaller share of all may be left out of the ratios."""


@dataclass(frozen=True, slots=True)
class Category:
    """One line of the summary.

    Attributes
    ----------
    columns : the sensitive columns it is a value of; several if they are crossed.
    category : its name; `None` for those whose category is unknown.
    rows, share : rows assessed, and their share of all.
    rate : selected, or scored above the median of all; `None` if unknown.
    ratio : the rate over the highest rate of a category that is not small; `None` for small and
        unknown ones.
    small : whether the share is below 2%.
    """

    columns: tuple[str, ...]
    category: str | None
    rows: int
    share: float
    rate: float | None
    ratio: float | None
    small: bool


def local_law_144(cells: Cells, columns: Sequence[str]) -> tuple[Category, ...]:
    """Summarize by each column alone and, if there are several, by all of them crossed.

    Parameters
    ----------
    cells : decisions, or scores, of all who were assessed. With several columns the label of a
        group is a tuple of its values, with `None` for one that is unknown.
    columns : names of the sensitive columns.

    References
    ----------
    Rules of the City of New York, title 6, § 5-301.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import local_law_144
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3, 0.4], ["f", "f", "m", "m"])
    >>> [each.rate for each in local_law_144(cells, ["sex"])]
    [0.0, 1.0]
    """
    pooled = cells.pool_levels()
    rows, mass = pooled.counts[0], cell_figures(pooled).mass[0]
    selected = _select_mass(pooled)
    several = len(columns) > 1
    families: list[list[int]] = [[place] for place in range(len(columns))]
    if several:
        families.append(list(range(len(columns))))
    found: list[Category] = []
    for places in families:
        named = tuple(columns[place] for place in places)
        groups = [_category(group, places, named, several) for group in cells.groups]
        found += _summarize_categories(groups, rows, mass, selected, named)
    return tuple(found)


def _category(
    group: Hashable, places: Sequence[int], columns: Sequence[str], several: bool
) -> str | None:
    """Name the category of a group; `None` if some value is unknown."""
    values = [group[place] for place in places] if several and isinstance(group, tuple) else [group]
    return None if None in values else cross_names(values, columns)


def _select_mass(pooled: Cells) -> FloatArray:
    """Sum the weight selected, or scored above the median of all, of each group."""
    atoms = pooled.atoms
    cut = 0.5
    if not is_decision(pooled):
        together = pooled.regroup(dict.fromkeys(pooled.groups, "all"))
        cut = float(cell_figures(together).median[0, 0])
    above = atoms.values > cut
    segment = np.repeat(np.arange(len(pooled.groups)), np.diff(atoms.offsets))
    return sum_parts(segment[above], atoms.mass[above], len(pooled.groups))


def _summarize_categories(
    groups: Sequence[str | None],
    rows: IntArray,
    mass: FloatArray,
    selected: FloatArray,
    columns: tuple[str, ...],
) -> list[Category]:
    """Compute the lines of one column, or of columns crossed; the unknown come last."""
    names = sorted({group for group in groups if group is not None})
    held = {name: [g for g, group in enumerate(groups) if group == name] for name in names}
    whole = int(rows.sum())
    known = {name: int(rows[of].sum()) for name, of in held.items()}
    rate = {name: float(selected[of].sum() / mass[of].sum()) for name, of in held.items()}
    large = [name for name in names if known[name] >= SMALL * whole]
    highest = max((rate[name] for name in large), default=0.0)
    found = [
        Category(
            columns,
            name,
            known[name],
            known[name] / whole,
            rate[name],
            rate[name] / highest if name in large and highest > 0.0 else None,
            name not in large,
        )
        for name in names
    ]
    unknown = int(sum(rows[g] for g, group in enumerate(groups) if group is None))
    small = unknown < SMALL * whole
    return (
        [*found, Category(columns, None, unknown, unknown / whole, None, None, small)]
        if unknown
        else found
    )
