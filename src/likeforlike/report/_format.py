"""Figures as text: three significant digits, thousands separators, a true minus sign."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from likeforlike._text import p_text, plural, visible
from likeforlike.document import ContrastAudit

NONE = "–"
"""What stands in place of a figure that was not computed."""

# Below this a figure is what rounding left of 0.
_DUST = 1e-12
# From one letter that is written from right to left to the last before others follow.
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RIGHT_TO_LEFT = re.compile(f"({_LETTER}(?:[^A-Za-z]*{_LETTER})*)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """Write a figure with three significant digits, or a dash if there is none."""
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


def p_value(value: float | None, permutations: int | None = None) -> str:
    """Write a p-value: up to three significant digits, and no more than permutations can give."""
    if value is None:
        return NONE
    text = p_text(value, permutations).removeprefix("p ")
    return text if text.startswith("<") else f"{value:.3g}"


def p_equals(value: float | None) -> str:
    """Write a p-value behind a "p", for a sentence."""
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def contrast_p(contrast: ContrastAudit) -> str:
    """Write the p-value of two groups, and no more than their permutations could have counted."""
    test = contrast.test
    return p_value(contrast.p_value, None if test is None else test.permutations)


def decimals(values: Iterable[float]) -> int:
    """Places after the point that give the largest of some values three significant digits."""
    largest = max((abs(value) for value in values), default=0.0)
    return 2 if largest < _DUST else max(0, 2 - math.floor(math.log10(largest)))


def format_places(value: float, places: int) -> str:
    """Write a figure in a column of others, all with as many places after the point."""
    text = f"{value:,.{places}f}"
    if text.startswith("-") and not text.strip("-0.,"):
        return text[1:]
    return text.replace("-", "−", 1)


def count(value: float) -> str:
    """Write a whole number with thousands separators."""
    return f"{value:,.0f}"


def interval(bounds: Sequence[float] | None, joint: str = " to ") -> str:
    """Two bounds as text, or a dash if there are none."""
    return NONE if bounds is None else joint.join(number(bound) for bound in bounds)


def open_interval(bounds: Sequence[float | None]) -> str:
    """Write an interval whose upper end may be missing."""
    low, high = bounds
    if low is None or high is None:
        return f"{number(low)} or more"
    return interval((low, high))


def percent(share: float | None) -> str:
    """Write a share as a percentage; what is not quite none or all never reads as none or all."""
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
    """Write a confidence as a percentage, of at most four digits."""
    return f"{100.0 * share:.4g}%"


def tick(value: float) -> str:
    """Write a round value on an axis, as short as it can be."""
    if abs(value) < _DUST:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.6g}"
    return text.replace("-", "−", 1) if value < 0.0 else text


def shorten(text: str, length: int) -> str:
    """Text cut to this many characters, with an ellipsis where something is missing."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1].rstrip() + "…"


def wrap_text(text: str, length: int) -> list[str]:
    """Text in one or two lines of this many characters."""
    first, *rest = textwrap.wrap(text, length, max_lines=2, placeholder="…") or [""]
    # A first word that is itself too long would leave an empty line.
    return [first, *rest] if first != "…" else [shorten(text, length)]


def list_names(names: Sequence[str]) -> str:
    """Names in a sentence."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def escape_hidden(text: str) -> str:
    """Text with hidden characters as escapes; markup is our own and stays as it is."""
    return text if isinstance(text, Markup) else visible(text)


def label(text: str) -> Markup:
    """Mark up a name from the data, so that its direction of writing turns no neighbors around."""
    return Markup("<bdi>{}</bdi>").format(escape_hidden(text))


def sentence(text: str) -> Markup:
    """Mark up a sentence with names in it, keeping apart those written from right to left."""
    parts = _RIGHT_TO_LEFT.split(escape_hidden(text))
    return Markup("").join(label(part) if k % 2 else part for k, part in enumerate(parts))


FILTERS: dict[str, Callable[..., object]] = {
    each.__name__: each
    for each in (
        confidence,
        count,
        plural,
        decimals,
        format_places,
        interval,
        label,
        list_names,
        number,
        open_interval,
        p_value,
        percent,
        sentence,
        shorten,
        tick,
        wrap_text,
    )
}
"""What templates may call."""
