"""Settings: orders, exponents, measures, costs, thresholds, names; right, extreme and wrong."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tools.fuzz.draw import Draw

__all__ = ["any_of", "count", "measure", "number", "order"]

_WRONG: tuple[Any, ...] = (
    None,
    "2",
    "",
    b"2",
    [2],
    (),
    {},
    1j,
    object(),
    math.nan,
    math.inf,
    -math.inf,
    -1,
    0,
    True,
    10**400,
    -(10**400),
    1e308,
    5e-324,
    np.array([1.0, 2.0]),
    np.array(2.0),
    np.float32(1.5),
    np.int64(2),
    Decimal(2),
    Fraction(3, 2),
    int,
)


def order(draw: Draw) -> Any:  # noqa: ANN401
    """Of a distance."""
    right = (1, 2, 2.0, 1.5, 3, 7.25, 32, 400, 1e6, np.float64(2.0))
    return draw.pick(_WRONG) if draw.happens(0.04) else draw.pick(right)


def number(draw: Draw, *right: Any) -> Any:  # noqa: ANN401
    """A setting that is a number, mostly one of those that are right."""
    if draw.happens(0.05):
        return draw.pick(_WRONG)
    return draw.pick(right) if draw.happens(0.8) else 10.0 ** draw.uniform(-320.0, 308.0)


def count(draw: Draw, *right: int) -> Any:  # noqa: ANN401
    """A setting that is a whole number, mostly one of those that are right."""
    return draw.pick(_WRONG) if draw.happens(0.05) else draw.pick(right)


def any_of(draw: Draw, *right: Any) -> Any:  # noqa: ANN401
    """A setting with a few choices, mostly one of them."""
    return draw.pick((*_WRONG, "no such thing")) if draw.happens(0.03) else draw.pick(right)


def measure(draw: Draw, levels: Any) -> Any:  # noqa: ANN401
    """Q: a name, or weights of levels that are there or not."""
    if draw.happens(0.85):
        return any_of(draw, "marginal", "average", "uniform", "overlap")
    try:
        known = list(dict.fromkeys(list(levels)))
    except Exception:  # noqa: BLE001
        known = [0, 1]
    if draw.happens(0.2):
        known.append("another")
    if draw.happens(0.1) and known:
        known.pop()
    return {level: number(draw, 0.0, 1.0, 2.5) for level in known}
