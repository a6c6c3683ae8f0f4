"""Conditional demographic disparity as Wachter, Mittelstadt and Russell proposed it.

In every level, the share of the group among those who were refused less its share among those who
were accepted, averaged over the levels by their rows:

    CDD = Σ_l n_l / n (refused of the group / refused - accepted of the group / accepted).

A level without anybody refused, or accepted, has 0 in the place of that share, as Amazon's
SageMaker Clarify has it.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from likeforlike.classical._cell_figures import CellFigures, cell_figures, is_decision
from likeforlike.classical._mantel_haenszel import positions
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError


def wachter_cdd(cells: Cells, group: Hashable, reference: Hashable) -> float | None:
    """Wachter's CDD of a group, among its rows and those of its reference.

    Parameters
    ----------
    cells : decisions, 0 or 1.
    group, reference : labels of the group asked about and of the other.

    Returns
    -------
    between -1 and 1; positive if the group has more of those refused than of those accepted.
    `None` if no row, or every row, was accepted.

    References
    ----------
    Wachter, Mittelstadt and Russell (2021), *Why fairness cannot be automated: bridging the gap
    between EU non-discrimination law and AI*.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import wachter_cdd
    >>> cells = Cells.from_rows([0, 0, 1, 0, 1, 1], ["f", "f", "f", "m", "m", "m"])
    >>> round(wachter_cdd(cells, "f", "m"), 3)
    0.333
    """
    if not is_decision(cells):
        raise InputError("wachter_cdd needs decisions, scores of 0 and 1.")
    return disparity_of(cell_figures(cells), *positions(cells, group, reference))


def disparity_of(figures: CellFigures, asked: int, other: int) -> float | None:
    """The same from figures of cells, of groups by position."""
    accepted, mass = figures.positive, np.where(figures.rows > 0, figures.mass, 0.0)
    refused = mass - accepted
    both = [asked, other]
    if not accepted[:, both].sum() > 0.0 or not refused[:, both].sum() > 0.0:
        return None
    shares = []
    for amount in (refused, accepted):
        whole = amount[:, both].sum(axis=1)
        shares.append(np.divide(amount[:, asked], whole, out=np.zeros(whole.size), where=whole > 0))
    weight = mass[:, both].sum(axis=1)
    return float(weight @ (shares[0] - shares[1]) / weight.sum())
