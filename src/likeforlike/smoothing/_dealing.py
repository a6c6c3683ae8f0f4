"""Dealing: give every line one of few values, so that every block has as much of each as is due.

A line stays a row, or rows, with one of the values each. Drawn for every line, the share of
a value in a block would vary by more than the data do. So the rows of a block are cut, one after
the other, where the mass is reached that is due at or below each value: systematic sampling, with
one lot a block that says where the rounding begins. The sum is off by less than a row, however many
rows and values there are, and right on average over lots. In a block of few rows, where one row is
much, it is the nearest row.

Reference: Madow and Madow (1944), *On the theory of systematic sampling*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray

# Sums of masses are off by rounding; a row must not be lost to it.
_ROUNDING = 1e-9
# Below this many rows the noise of a draw is worse than the little that rounding takes back.
_FEW = 20.0
# Tables are made for this many lines at a time.
_AT_A_TIME = 65_536


class Assignment(NamedTuple):
    """Which lines have got which values, (m,) integers each, in the order of the lines.

    Attributes
    ----------
    line, value, rows : how many rows of this line have got this value; at least one.
    """

    line: IntArray
    value: IntArray
    rows: IntArray


class Deck(NamedTuple):
    """Lines to be assigned.

    Attributes
    ----------
    block : (n,) integers, within which the mass at each value is to be what is due.
    order : (n,) integers, the lines as they are cut: block after block, by rising value.
    mass, rows : (n,) positive floats, weight and number of rows of every line.
    lot : (n,) floats in [0, 1); that of a block is what remains of their sum.
    """

    block: IntArray
    order: IntArray
    mass: FloatArray
    rows: FloatArray
    lot: FloatArray


def deal(deck: Deck, due: FloatArray) -> Assignment:
    """Deal the rows of all lines to k values.

    Parameters
    ----------
    due : (B, k) floats, mass at or below each value that every block should have.
    """
    before, lot = _before(deck)
    of_row = deck.mass / deck.rows
    assigned = []
    for first in range(0, before.size, _AT_A_TIME):
        some = np.arange(first, min(first + _AT_A_TIME, before.size))
        rows = deck.rows[some, None]
        room = (due[deck.block[some]] - before[some, None]) / of_row[some, None]
        reached = np.clip(np.ceil(room - lot[some, None] - _ROUNDING * rows), 0.0, rows)
        reached[:, -1] = rows[:, 0]
        counted = np.diff(reached, axis=1, prepend=0.0).astype(np.int64)
        line, value = np.nonzero(counted)
        assigned.append(Assignment(some[line], value, counted[line, value]))
    return Assignment(*(np.concatenate(column) for column in zip(*assigned, strict=True)))


def _before(deck: Deck) -> tuple[FloatArray, FloatArray]:
    """Mass of the lines before each one in its block, and the lot of the block, (n,) each."""
    block, mass = deck.block[deck.order], deck.mass[deck.order]
    first = np.flatnonzero(np.r_[True, np.diff(block) > 0])
    of_line = np.repeat(first, np.diff(np.r_[first, block.size]))
    reached = np.cumsum(mass) - mass
    before = np.empty(mass.size)
    before[deck.order] = reached - reached[of_line]
    lot: FloatArray = np.remainder(np.bincount(deck.block, deck.lot), 1.0)
    lot = np.where(np.bincount(deck.block, deck.rows) < _FEW, 0.5, lot)
    return before, lot[deck.block]
