"""Levels that are numbers, alone or together with categories."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError


class Numbered(NamedTuple):
    """Levels taken apart: a number, and the category it belongs to.

    Attributes
    ----------
    numbers : (K,) finite floats.
    category : (K,) integers.
    categories : what is left of the labels without the number.
    """

    numbers: FloatArray
    category: IntArray
    categories: tuple[Hashable, ...]


def numbered_levels(levels: Sequence[Hashable], who: str) -> Numbered:
    """Take levels apart into one number and what else they are made of.

    Parameters
    ----------
    levels : K labels, numbers or tuples of one number and other things.
    who : asks for a number, for complaints.
    """
    if not isinstance(levels[0], tuple):
        alone = np.zeros(len(levels), np.int64)
        return Numbered(_as_numbers(levels, who), alone, ("all",))
    columns = list(zip(*levels, strict=True))
    numeric = [j for j, column in enumerate(columns) if not _odd_types(column)]
    if len(numeric) != 1:
        raise InputError(
            f"{who} compares along one number, but {len(numeric)} of the "
            f"{len(columns)} columns of the levels hold numbers only; give categories as text, and "
            "cut any other number into bins."
        )
    rest = list(zip(*(column for j, column in enumerate(columns) if j != numeric[0]), strict=True))
    labels = list(dict.fromkeys(rest))
    code = {label: k for k, label in enumerate(labels)}
    category = np.array([code[label] for label in rest])
    return Numbered(_as_numbers(columns[numeric[0]], who), category, tuple(labels))


def _odd_types(labels: Iterable[Hashable]) -> list[type]:
    """Types among labels that are not numbers; there are far fewer types than labels."""
    types = set(map(type, labels))
    return [one for one in types if one is bool or not issubclass(one, Real)]


def _as_numbers(labels: Sequence[Hashable], who: str) -> FloatArray:
    odd_types = _odd_types(labels)
    if odd_types:
        odd = next(label for label in labels if type(label) is odd_types[0])
        raise InputError(
            f"{who} compares along a number, but {odd!r} is among the levels; give levels as "
            "numbers, or compare inside levels, without it."
        )
    numbers = np.array(labels, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("levels hold numbers that are not finite; remove those rows.")
    return numbers
