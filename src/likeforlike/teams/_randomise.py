"""Randomised response of a column of groups, without a ledger: for those who publish once."""

from __future__ import annotations

from collections.abc import Hashable

from likeforlike.disparity._columns import Column, encode
from likeforlike.errors import InputError
from likeforlike.teams._accounting import as_fraction
from likeforlike.teams._samplers import randomised


def randomise(groups: Column, *, epsilon: float) -> list[Hashable]:
    """Groups of which each is kept with probability e^ε / (e^ε + G - 1), else another one.

    ε-differentially private for every row, and exactly so: coins are whole numbers. It keeps no
    books: calling it twice tells twice as much. `Custodian.randomise` books it in a ledger, knows
    people with several rows, and answers the same request with the same file.

    Parameters
    ----------
    groups : (n,) labels, two or more different ones.
    epsilon : > 0.

    References
    ----------
    Warner (1965), *Randomized response*; Wang, Wu & Hu (2016), for more than two groups.

    Examples
    --------
    >>> from likeforlike.teams import randomise
    >>> told = randomise(["f", "m"] * 500, epsilon=1.0)
    >>> kept = sum(a == b for a, b in zip(told, ["f", "m"] * 500))
    >>> 600 < kept < 860
    True
    """
    held = encode(groups, "groups")
    if len(held.labels) < 2:
        raise InputError("groups has a single value; there is nothing to hide.")
    exact = as_fraction(epsilon, "epsilon")
    told = randomised(held.codes, exact, len(held.labels))
    return [held.labels[code] for code in told.tolist()]
