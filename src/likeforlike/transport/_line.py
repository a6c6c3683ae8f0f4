"""Exact transport on the line: cost, plan and gradient between two weighted samples.

On the line the cheapest plan keeps the order: the lowest goes to the lowest. `pairs` holds the
sweep that this rests on, with its formulas; here two samples are sorted and handed to it.

Reference: Santambrogio (2015), *Optimal Transport for Applied Mathematicians*, chapter 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import atoms_of_rows
from likeforlike.transport._pairs import pair_costs, pair_gradient, row_gradient
from likeforlike.transport._scale import moderate
from likeforlike.transport._sorting import sort_rows


class Plan(NamedTuple):
    """A transport plan as a list of moves: `mass[k]` goes from `source[k]` to `target[k]`.

    Attributes
    ----------
    source, target : (m,) integers, positions in the two samples.
    mass : (m,) positive floats that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import plan
    >>> moves = plan(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    >>> moves.source, moves.target, moves.mass
    (array([0, 1]), array([0, 1]), array([0.5, 0.5]))
    """

    source: IntArray
    target: IntArray
    mass: FloatArray


def sorted_plan(a: FloatArray, b: FloatArray) -> Plan:
    """Moves of the monotone plan between masses a and b, whose values rise."""
    below_a, below_b = np.cumsum(a), np.cumsum(b)
    # Scaled by the other side's total: equal shares meet exactly.
    ends_a, ends_b = below_a * below_b[-1], below_b * below_a[-1]
    ends = np.union1d(ends_a, ends_b)
    mass = np.diff(ends, prepend=0.0) / ends[-1]
    return Plan(np.searchsorted(ends_a, ends), np.searchsorted(ends_b, ends), mass)


def _two_samples(
    x: FloatArray, y: FloatArray, x_mass: FloatArray | None, y_mass: FloatArray | None
) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """Stack two samples: values, segments 0 and 1, masses (or `None` when every row counts one)."""
    values = np.concatenate([x, y])
    segments = np.repeat(np.arange(2), [x.size, y.size])
    if x_mass is None and y_mass is None:
        return values, segments, None
    parts = [np.ones(x.size) if x_mass is None else x_mass]
    parts.append(np.ones(y.size) if y_mass is None else y_mass)
    return values, segments, np.concatenate([moderate(part) for part in parts])


_LEFT, _RIGHT = np.array([0]), np.array([1])


def cost(
    x: FloatArray,
    y: FloatArray,
    *,
    order: float = 2.0,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> float:
    """Transport cost W_p^p between two weighted samples on the line.

    Parameters
    ----------
    x, y : (n,) and (m,) finite floats, neither empty.
    order : p >= 1, any real number.
    x_mass, y_mass : (n,) and (m,) positive floats, scaled to sum to one; `None` means equal.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import cost
    >>> cost(np.array([0.0, 1.0]), np.array([2.0, 3.0]), order=2)
    4.0
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    atoms = atoms_of_rows(sort_rows(values, segments, 2), mass)
    return float(pair_costs(atoms, _LEFT, _RIGHT, order)[0])


def cost_and_gradient(
    x: FloatArray,
    y: FloatArray,
    *,
    order: float = 2.0,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray]:
    """Transport cost W_p^p and its gradient with respect to x and to y.

    At ties, and for p = 1 where values of the two samples coincide, W_p^p has a kink; what is
    returned is the symmetric choice described at the head of `pairs`.

    Parameters
    ----------
    x, y, order, x_mass, y_mass : as for `cost`.

    Returns
    -------
    cost : W_p^p.
    grad_x, grad_y : (n,) and (m,) floats.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import cost_and_gradient
    >>> cost_and_gradient(np.array([0.0, 1.0]), np.array([2.0, 3.0]), order=2)
    (4.0, array([-2., -2.]), array([2., 2.]))
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    ordered = sort_rows(values, segments, 2)
    atoms = atoms_of_rows(ordered, mass)
    value = float(pair_costs(atoms, _LEFT, _RIGHT, order)[0])
    by_atom = pair_gradient(atoms, _LEFT, _RIGHT, np.ones(1), order)
    by_row = row_gradient(by_atom, atoms, ordered, mass)
    return value, by_row[: x.size], by_row[x.size :]


def plan(
    x: FloatArray,
    y: FloatArray,
    *,
    x_mass: FloatArray | None = None,
    y_mass: FloatArray | None = None,
) -> Plan:
    """Find the monotone plan between two samples; it is optimal for every order p >= 1.

    Parameters
    ----------
    x, y, x_mass, y_mass : as for `cost`.

    Returns
    -------
    At most n + m - 1 moves between rows of x and rows of y, in order of value.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import plan
    >>> plan(np.array([5.0, 1.0]), np.array([3.0]))
    Plan(source=array([1, 0]), target=array([0, 0]), mass=array([0.5, 0.5]))
    """
    values, segments, mass = _two_samples(x, y, x_mass, y_mass)
    ordered = sort_rows(values, segments, 2)
    sorted_mass = np.ones(values.size) if mass is None else mass[ordered.rows]
    moves = sorted_plan(sorted_mass[: x.size], sorted_mass[x.size :])
    rows_x, rows_y = ordered.rows[: x.size], ordered.rows[x.size :] - x.size
    return Plan(rows_x[moves.source], rows_y[moves.target], moves.mass)
