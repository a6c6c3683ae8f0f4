"""Text for people: labels made safe to show, and numbers as people write them.

Progress on long work is shown here, too: a bar on a terminal, silence elsewhere.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta

# Control characters (C0, C1), directions that turn text around, line and paragraph separators,
# halves of characters, and invisible tags. None of them is a letter of any script.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
# Below this a figure is what rounding left of 0.
_DUST = 1e-12


# Whether errors may quote values of single rows.
_QUOTES = ContextVar("quotes", default=True)


@contextmanager
def values_hidden(*, hidden: bool = True) -> Iterator[None]:
    """Let errors inside quote no value of a row: they end up where others read them."""
    before = _QUOTES.set(_QUOTES.get() and not hidden)
    try:
        yield
    finally:
        _QUOTES.reset(before)


def are_values_hidden() -> bool:
    """Whether nothing of a single row may be quoted."""
    return not _QUOTES.get()


def quote(value: object) -> str:
    """Quote a value of a row for an error message, where quoting is allowed."""
    return repr(value) if _QUOTES.get() else "(not shown)"


def visible(text: str, keep: str = "") -> str:
    r"""Text that cannot steer what shows it: hidden characters become escapes such as \x1b."""
    return _HIDDEN.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def json_visible(text: str) -> str:
    r"""Write hidden characters inside the strings of a JSON text as \u escapes."""

    def escape(match: re.Match[str]) -> str:
        units = match[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[k : k + 2].hex()}" for k in range(0, len(units), 2))

    return _HIDDEN.sub(lambda match: "\n" if match[0] == "\n" else escape(match), text)


def plural(number: int, noun: str) -> str:
    """How many there are of something: 1 run, 2 runs, 1,000 runs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def figure(value: float, digits: int = 3) -> str:
    """Format a number for a sentence: some significant digits, and never a power of ten.

    Thousands are separated and whole numbers stay whole: 2,320 and not 2.32e+03.
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) < _DUST:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


LEAST_P = 0.001
"""Smaller p-values are given as a bound."""


def p_text(p_value: float, permutations: int | None = None) -> str:
    """Format a p-value for a sentence; never below what the permutations can count."""
    least = LEAST_P if not permutations else max(LEAST_P, 1.0 / (permutations + 1))
    # A count is given as one: 1 of 1,000 is 0.001.
    return f"p = {p_value:.2g}" if p_value >= least * (1.0 - 1e-9) else f"p < {least:.2g}"


def null_words(nulls: Mapping[str, Mapping[str, int]]) -> str:
    """Words that were taken for missing values, and how often, column by column."""
    return "; ".join(
        f"{column} {', '.join(f'{word!r} ({times:,})' for word, times in words.items())}"
        for column, words in nulls.items()
    )


def group_name(group: str, column: str) -> str:
    """Name a group in a sentence: one that is no word is named with its column.

    "sex 0" says what "0" does not; so do "member True" and "member False".
    """
    speaks = any(letter.isalpha() for letter in group) and group not in ("True", "False")
    return group if speaks else f"{column} {group}"


def cross_names(values: Sequence[Hashable], columns: Sequence[str]) -> str:
    """Name a group by its value or, in several columns, by its values crossed.

    A value that is no word is named with its column there: "female × race 3".
    """
    if len(values) == 1:
        return str(values[0])
    named = (group_name(str(value), c) for value, c in zip(values, columns, strict=True))
    return " × ".join(named)


def date_words(numbers: Sequence[float]) -> list[str]:
    """Days since 1970 as dates, with the time of the day where it takes that to tell them apart."""
    times = [
        datetime(1970, 1, 1) + timedelta(seconds=round(86400.0 * number)) for number in numbers
    ]
    words = [time.date().isoformat() for time in times]
    if len(set(words)) == len(words):
        return words
    return [time.isoformat(sep=" ", timespec="seconds") for time in times]


@contextmanager
def epochs_bar(epochs: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar over the epochs of a fit; yield what takes the number of an epoch just done."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=epochs)
        yield lambda number: bar.update(task, completed=number + 1)
