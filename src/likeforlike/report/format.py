"""Figures as text: three significant digits, thousands separators, a true minus sign."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

__all__ = [
    "confidence",
    "count",
    "counted",
    "decimals",
    "fixed",
    "interval",
    "listed",
    "number",
    "p_value",
    "percent",
    "shortened",
    "tick",
    "wrapped",
]

NONE = "–"
"""What stands in place of a figure that was not computed."""

# Below this a figure is what rounding left of 0.
_DUST = 1e-12
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """A figure with three significant digits, or a dash if there is none.

    Parameters
    ----------
    value : any finite number, or `None`.

    Examples
    --------
    >>> from likeforlike.report.format import number
    >>> number(0.2), number(-1234.5), number(4.02e-7), number(0), number(None)
    ('0.200', '−1,234', '4.02 × 10⁻⁷', '0', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if abs(value) < _DUST:
        return "0"
    if abs(value) >= 999.5:
        text = f"{value:,.0f}"
    elif abs(value) < 1e-4:
        digits, _, power = f"{value:.2e}".partition("e")
        text = f"{digits} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"
    else:
        text = f"{value:#.3g}".removesuffix(".")
    return text.replace("-", "−", 1) if value < 0.0 else text


def p_value(value: float | None) -> str:
    """A p-value: up to three significant digits, and no more than permutations can give.

    Examples
    --------
    >>> from likeforlike.report.format import p_value
    >>> p_value(0.001), p_value(0.13245), p_value(1.0), p_value(None)
    ('0.001', '0.132', '1', '–')
    """
    return NONE if value is None else f"{value:.3g}" if value >= 1e-4 else number(value)


def decimals(values: Iterable[float]) -> int:
    """Places after the point that give the largest of some values three significant digits.

    Examples
    --------
    >>> from likeforlike.report.format import decimals
    >>> decimals([0.149, -0.004]), decimals([640.0, 2.0])
    (3, 0)
    """
    largest = max((abs(value) for value in values), default=0.0)
    return 2 if largest < _DUST else max(0, 2 - math.floor(math.log10(largest)))


def fixed(value: float, places: int) -> str:
    """A figure in a column of others, all with as many places after the point.

    Examples
    --------
    >>> from likeforlike.report.format import fixed
    >>> fixed(-0.00391, 3), fixed(-0.0001, 3), fixed(1234.5, 0)
    ('−0.004', '0.000', '1,234')
    """
    text = f"{value:,.{places}f}"
    if text.startswith("-") and not text.strip("-0.,"):
        return text[1:]
    return text.replace("-", "−", 1)


def count(value: float) -> str:
    """A whole number with thousands separators.

    Examples
    --------
    >>> from likeforlike.report.format import count
    >>> count(12345)
    '12,345'
    """
    return f"{value:,.0f}"


def counted(value: int, thing: str) -> str:
    """How many of a thing there are, in the singular or the plural.

    Examples
    --------
    >>> from likeforlike.report.format import counted
    >>> counted(1, "level"), counted(2500, "level")
    ('1 level', '2,500 levels')
    """
    return f"{count(value)} {thing}{'' if value == 1 else 's'}"


def interval(bounds: Sequence[float] | None, joint: str = " to ") -> str:
    """Two bounds as text, or a dash if there are none.

    Examples
    --------
    >>> from likeforlike.report.format import interval
    >>> interval([-0.1, 0.25])
    '−0.100 to 0.250'
    """
    return NONE if bounds is None else joint.join(number(bound) for bound in bounds)


def percent(share: float | None) -> str:
    """A share of one as a percentage; what is not quite none or all never reads as none or all.

    Examples
    --------
    >>> from likeforlike.report.format import percent
    >>> percent(0.35), percent(1.0), percent(0.9999), percent(0.0002)
    ('35.0%', '100%', '> 99.9%', '< 0.1%')
    """
    if share is None:
        return NONE
    if share <= _DUST:
        return "0%"
    if share >= 1.0 - _DUST:
        return "100%"
    if share < 0.001:
        return "< 0.1%"
    return "> 99.9%" if share > 0.999 else f"{share:.1%}"


def confidence(share: float) -> str:
    """A confidence as a percentage, as many digits as it was asked with.

    Examples
    --------
    >>> from likeforlike.report.format import confidence
    >>> confidence(0.95), confidence(0.999)
    ('95%', '99.9%')
    """
    return f"{100.0 * share:.6g}%"


def tick(value: float) -> str:
    """A round value on an axis, as short as it can be.

    Examples
    --------
    >>> from likeforlike.report.format import tick
    >>> tick(-0.05), tick(20000.0), tick(0.0)
    ('−0.05', '20,000', '0')
    """
    if abs(value) < _DUST:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.6g}"
    return text.replace("-", "−", 1) if value < 0.0 else text


def shortened(text: str, length: int) -> str:
    """Text cut to so many characters, with an ellipsis where something is missing.

    Examples
    --------
    >>> from likeforlike.report.format import shortened
    >>> shortened("income medium", 8), shortened("income", 8)
    ('income…', 'income')
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1].rstrip() + "…"


def wrapped(text: str, length: int) -> list[str]:
    """Text in one or two lines of so many characters.

    Examples
    --------
    >>> from likeforlike.report.format import wrapped
    >>> wrapped("income 4, debt above 0.5 up to 0.6", 20)
    ['income 4, debt above', '0.5 up to 0.6']
    """
    first, *rest = textwrap.wrap(text, length, max_lines=2, placeholder="…") or [""]
    # A first word that is itself too long would leave an empty line.
    return [first, *rest] if first != "…" else [shortened(text, length)]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> from likeforlike.report.format import listed
    >>> listed(["income", "debt", "tenure"]), listed(["income"]), listed([])
    ('income, debt and tenure', 'income', 'none')
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
