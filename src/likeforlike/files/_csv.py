"""CSV files as people have them: which separator and encoding, what stands for a missing value.

A CSV file has no types, so none are guessed: every column is read as text, by every engine, and
only those that must hold numbers are turned into numbers. "01" and "1" stay different groups, and
a column that begins with whole numbers may go on with others.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from likeforlike.errors import InputError

USUAL_NULLS = (
    *("?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What stands for a missing value in CSV files, beside nothing: what pandas takes for it, and ?."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number in text, as all engines understand it."""

SAY_ENCODING = "say what it is, for instance encoding='latin-1' (--encoding latin-1)."
"""What to do about a file that is not UTF-8."""

_SEPARATORS = ",;\t|"
# Enough for any header, and to see whether quoted values go over several lines.
_SAMPLE = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like the next one
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written, as far as somebody said so.

    Attributes
    ----------
    separator : one character; `None` is the one that splits the header into the columns asked for.
    encoding : as Python calls it; `None` is UTF-8, or what the mark at the beginning says.
    null_values : what stands for a missing value, beside nothing and `USUAL_NULLS`.
    usual_nulls : whether `USUAL_NULLS` are missing values; `False` takes them for values.
    """

    separator: str | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] = ()
    usual_nulls: bool = True

    def __post_init__(self) -> None:
        if self.separator in ("\\t", "tab"):  # as one types it in a shell
            object.__setattr__(self, "separator", "\t")
        separator = str(self.separator)
        if self.separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
            raise InputError(
                f"separator must be a single character such as ';', not {self.separator!r}."
            )
        if self.encoding is not None:
            _check_encoding(self.encoding)
        _check_nulls(self.null_values)

    @property
    def nulls(self) -> tuple[str, ...]:
        """Texts that are missing values, without the one that is empty."""
        usual = USUAL_NULLS if self.usual_nulls else ()
        return tuple(dict.fromkeys(value for value in (*usual, *self.null_values) if value))

    def refuse(self, why: str) -> None:
        """Complain if anything was said about a table that is not a CSV file."""
        if self != CsvOptions():
            raise InputError(
                f"separator, encoding, null_values and usual_nulls say how a CSV file is read, "
                f"but {why}; leave them out."
            )


def _check_nulls(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"null_values must be texts, as in the file, not {value!r}.")


def _check_encoding(encoding: str) -> None:
    try:
        known = codecs.lookup(encoding)
        "".encode(known.name)
    except (LookupError, TypeError) as error:
        raise InputError(
            f"encoding must be one that Python knows, such as 'latin-1', not {encoding!r}."
        ) from error


class TextTable(NamedTuple):
    """A CSV file, opened by an engine.

    Attributes
    ----------
    table : of the engine, with every column as text; those that should hold numbers are there as
        numbers, too, by the name `number_column` gives them. What is no number is null there.
    nulls : texts that stand for a missing value, beside the empty one.
    """

    table: Any
    nulls: tuple[str, ...]


def number_column(name: str) -> str:
    """What the numbers in a column of text are called."""
    return f"likeforlike number {name}"


class Layout(NamedTuple):
    """How a CSV file is written.

    Attributes
    ----------
    separator : between values.
    encoding : as Python calls it.
    columns : names in the header; those that occur again have a number behind them.
    broken_lines : whether a quoted value goes over several lines.
    old_lines : whether lines end as they did on machines of the last century, in CR alone.
    """

    separator: str
    encoding: str
    columns: tuple[str, ...]
    broken_lines: bool
    old_lines: bool

    def demand_utf8(self, engine: str) -> None:
        """Complain if an engine would have to read another encoding."""
        if self.encoding != "utf-8":
            raise InputError(
                f"engine {engine!r} reads UTF-8 only, and the file is {self.encoding}: use "
                "engine 'polars', or save the file as UTF-8."
            )


def read_layout(
    path: Path, options: CsvOptions, named: Sequence[str] = (), *, tab: bool = False
) -> Layout:
    """Find out how a CSV file is written, from its beginning.

    Unless a separator was said, it is the one that splits the header into the columns named; with
    `tab`, a tab is what is tried first.
    """
    with _opened(path) as file:
        sample = file.read(_SAMPLE)
    begins = (name for mark, name in _MARKS if sample.startswith(mark))
    encoding = codecs.lookup(options.encoding or next(begins, "utf-8")).name.removesuffix("-sig")
    text = _decoded(sample, encoding, path, whole=len(sample) < _SAMPLE)
    usual = _SEPARATORS if not tab else "\t" + _SEPARATORS
    headers = {each: next(_lines(text, each), []) for each in options.separator or usual}
    separator = _best_separator(headers, named)
    header = headers[separator]
    _check_header(header, named, path, encoding)
    return Layout(
        separator,
        encoding,
        _told_apart(header),
        broken_lines='"' in text and any("\n" in "".join(line) for line in _lines(text, separator)),
        old_lines="\r" in text and "\n" not in text,
    )


def utf8_content(path: Path, layout: Layout) -> bytes | None:
    """A file as UTF-8 with ordinary lines, in memory; `None` if it is so on the disk."""
    ordinary = layout.encoding == "utf-8" and not layout.old_lines
    if ordinary and not _is_compressed(path):
        return None
    with _opened(path) as file:
        content = file.read()
    if ordinary:
        return content
    text = _decoded(content, layout.encoding, path)
    return (text.replace("\r", "\n") if layout.old_lines else text).encode()


def is_even(path: Path, layout: Layout) -> bool:
    """Whether every line surely has as many values as the header, by a count of separators.

    With quotes in it a file takes more than counting, and so do lines that are shorter.
    """
    import numpy as np

    content = np.memmap(path, np.uint8, "r")
    counts = dict.fromkeys((layout.separator, "\n", '"'), 0)
    for first in range(0, content.size, _SAMPLE):
        part = content[first : first + _SAMPLE]
        for letter in counts:
            counts[letter] += int(np.count_nonzero(part == ord(letter)))
    lines = counts["\n"] + (content[-1] != ord("\n"))
    even = counts[layout.separator] == lines * (len(layout.columns) - 1)
    return bool(even) and counts['"'] == 0


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if _is_compressed(path) else path.open("rb")


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _decoded(content: bytes, encoding: str, path: Path, *, whole: bool = True) -> str:
    """Text of a file; one of another encoding is reported with what to do about it."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(content, whole)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding} (byte {error.start + 1:,} is {content[error.start]:#04x}); "
            f"{SAY_ENCODING}"
        ) from error
    return text.removeprefix("\ufeff")


def _lines(text: str, separator: str) -> Iterator[list[str]]:
    """The values of every line that has any, up to the first that cannot be understood."""
    try:
        yield from filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        return


def _best_separator(headers: Mapping[str, Sequence[str]], named: Sequence[str]) -> str:
    """The first that gives all columns named; without one, the first that gives several columns."""
    complete = (each for each, header in headers.items() if named and set(named) <= set(header))
    several = (each for each, header in headers.items() if len(header) > 1)
    return next(complete, None) or next(several, next(iter(headers)))


def _check_header(header: Sequence[str], named: Sequence[str], path: Path, encoding: str) -> None:
    if not any(header):
        raise InputError(
            f"{path} cannot be read: it is empty, and its first line must name columns."
        )
    if "\0" in "".join(header):
        raise InputError(f"{path} is not {encoding}; {SAY_ENCODING}")
    twice = next((name for name in named if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{path} has {header.count(twice)} columns called {twice!r}; rename all but one."
        )


def _told_apart(header: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with a number behind those that were there before."""
    names: dict[str, None] = {}
    for name in header:
        again = (f"{name} ({k})" for k in count(2))
        names[name if name not in names else next(n for n in again if n not in names)] = None
    return tuple(names)
