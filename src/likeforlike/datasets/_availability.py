"""Availability: which of the public data sets are at hand, and on what terms."""

from __future__ import annotations

from typing import NamedTuple

from likeforlike.datasets._adult import SOURCE as ADULT
from likeforlike.datasets._communities import SOURCE as COMMUNITIES
from likeforlike.datasets._drug import SOURCE as DRUG
from likeforlike.datasets._law_school import SOURCE as LAW_SCHOOL
from likeforlike.datasets._storage import State, state

SOURCES = (ADULT, DRUG, LAW_SCHOOL, COMMUNITIES)
"""The public data sets, in the order of the paper."""

# A data set is where the worst placed of its files is.
_WORST_FIRST: tuple[State, ...] = (
    "damaged",
    "to be fetched",
    "in the cache",
    "with the package",
    "in LIKEFORLIKE_DATA",
)


class Availability(NamedTuple):
    """A public data set and where its files are.

    Attributes
    ----------
    name : as in `load_<name>`.
    rows : how many rows its loader returns by default.
    size : bytes of its files.
    state : where they are; `"damaged"` files are never used.
    license : on what terms they may be used.

    Examples
    --------
    >>> from likeforlike.datasets import available
    >>> drug = available()[1]
    >>> drug.name, drug.rows, drug.license
    ('drug', 1885, 'CC BY 4.0')
    """

    name: str
    rows: int
    size: int
    state: State
    license: str


def available() -> tuple[Availability, ...]:
    """List the public data sets; nothing is fetched.

    Examples
    --------
    >>> from likeforlike.datasets import available
    >>> [(dataset.name, dataset.rows) for dataset in available()]
    [('adult', 46033), ('drug', 1885), ('law_school', 21027), ('communities', 1994)]
    """
    listed = []
    for source in SOURCES:
        states = [state(file) for file in source.files]
        worst = min(states, key=_WORST_FIRST.index)
        listed.append(Availability(source.name, source.rows, source.size, worst, source.license))
    return tuple(listed)
