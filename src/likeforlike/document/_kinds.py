"""Kinds of plain values in a document, with what the schema says of them beyond their type."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Limits(NamedTuple):
    """What the schema says of a number, or of the length of a list, beyond its type."""

    least: int
    most: int | None = None


Count = Annotated[int, Limits(0)]
Amount = Annotated[float, Limits(0)]
Probability = Annotated[float, Limits(0, 1)]
Pair = Annotated[list[str], Limits(2, 2)]
Counts = Annotated[list[Count], Limits(2, 2)]
Interval = Annotated[list[float], Limits(2, 2)]
OpenInterval = Annotated[list[float | None], Limits(2, 2)]
Scalar = str | bool | int | float
Label = Scalar | list[Scalar]
