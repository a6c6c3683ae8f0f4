"""CSV files as people have them: separators, encodings, missing values, and ways to write numbers.

A CSV file has no types, so none are guessed: every column is read as text, by every engine, and
only those that must hold numbers are turned into numbers. "01" and "1" stay different groups, and
a column that begins with whole numbers may go on with others.

Numbers and decisions are read as people write them: 52.301,00 EUR, $100,040, 12,5 %, (1,234.50),
yes. How a column is written is found from all of its texts together, where these leave one way to
read them; where they leave two, as 1.234 alone does, nothing is guessed. Every number is read by
the same rule, and what the rule is can be said in a sentence.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple, NoReturn, cast, get_args

from likeforlike._text import quote
from likeforlike.errors import InputError
from likeforlike.files._columns import tell_apart

Decimal = Literal[".", ","]
"""The mark between whole numbers and their fractions."""

DECISIONS: Final = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"))
"""Words for 1 and 0."""

SAY_DECIMAL: Final = (
    "say which mark is decimal: csv={'decimal': ','} or csv={'decimal': '.'} (--decimal)."
)
"""What to do about numbers that can be read in two ways."""

_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u2008\u2002\u2003\t"), " ")
_SIGNS = {ord("\u2212"): "-", ord("\u2013"): "-", ord("\ufe63"): "-", ord("\u2019"): "'"}
_CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES "
    "KRW MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RMB RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD "
    "VND ZAR"
)
_NAMES = "Euro|euro|Fr\\.|kr\\.?|zł|Kč|Ft|lei|Rs\\.?|R\\$|US\\$|A\\$|C\\$"
_UNIT = rf"(?:{'|'.join(_CODES.split())}|{_NAMES}|[%‰$€£¥₹₽₩₺₪₫₱฿₦₴₸₼¢])"
_CURRENCY = re.compile(rf"(?![%‰]){_UNIT}(?!\w)")
_BODY = (
    rf"(?P<before>{_UNIT})?\s*(?P<sign>[+-])?\s*(?P<inner>{_UNIT})?\s*"
    rf"(?P<digits>[0-9.,'][0-9.,' ]*?(?:[eE][+-]?[0-9]+)?)\s*(?P<after>{_UNIT})?(?P<behind>-)?"
)
_NUMBER = re.compile(_BODY)
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
# How digits may be grouped with each decimal mark; two digits in a group are Indian.
_GROUPS = {".": r"[, ']", ",": r"[. ']"}
_DIGITS = {
    mark: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:(?P<group>{group})[0-9]{{3}})(?:(?P=group)[0-9]{{3}})*"
        rf"|[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}{'' if mark == '.' else '(?!)'})"
        rf"(?:{re.escape(mark)}[0-9]*)?{_EXPONENT}|{re.escape(mark)}[0-9]+{_EXPONENT}"
    )
    for mark, group in _GROUPS.items()
}
_ISO = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9](?:[T ][0-9:.]+)?")
_DAY = re.compile(r"\s*[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}")
_AMBIGUOUS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_EPOCH = datetime(1970, 1, 1)


class ReadTexts(NamedTuple):
    """Texts as numbers.

    Attributes
    ----------
    values : {text: its number}.
    note : how they were read, to follow the name of the column; `None` if they are plain numbers.
    unit : that all of them carry, such as "EUR" or "%"; `None` without one.
    dates : whether they are dates, as days since 1970.
    """

    values: dict[str, float]
    note: str | None = None
    unit: str | None = None
    dates: bool = False


def is_currency(unit: str) -> bool:
    """Whether a unit begins with a currency, as "EUR" and "€ per month" do."""
    return _CURRENCY.match(unit.strip()) is not None


def check_decimal(decimal: object) -> Decimal | None:
    """Return the decimal mark that was given, if one was; refuse anything else."""
    if decimal is None:
        return None
    for mark in get_args(Decimal):
        if decimal == mark:
            found: Decimal = mark
            return found
    raise InputError(f"decimal must be '.' or ',', not {decimal!r}.")


def is_ambiguous(text: str) -> bool:
    """Whether a text is one number with a decimal point, and another with a decimal comma."""
    return _AMBIGUOUS.fullmatch(text.strip()) is not None


def are_numbers(texts: Iterable[str]) -> bool:
    """Whether every text is a number in some way of writing."""
    return all(_parts(text) is not None for text in texts)


def decision_words(texts: Collection[str]) -> tuple[str, str] | None:
    """Find the words for 1 and 0 that all texts are, in any case and with 1 and 0 among them."""
    lower = {text.strip().lower() for text in texts} - {"1", "0"}
    return next((pair for pair in DECISIONS if lower and lower <= set(pair)), None)


def decision_note(pair: tuple[str, str]) -> str:
    """How decisions were read."""
    return f"was read as decisions: {pair[0]!r} is 1 and {pair[1]!r} is 0"


def read_texts(
    texts: Mapping[str, int], column: str, decimal: Decimal | None = None, *, dates: bool = False
) -> ReadTexts:
    """Read the texts of a column, {text: how often}, as numbers, or refuse them with what to do.

    With `dates` they may all be dates as ISO 8601 has them, which become days since 1970.
    """
    every = list(texts)
    pair = decision_words(every)
    if pair is not None:
        ones = {pair[0], "1"}
        values = {text: float(text.strip().lower() in ones) for text in every}
        return ReadTexts(values, decision_note(pair))
    if dates and (days := _days(every)) is not None:
        return ReadTexts(days, dates=True)
    parts = {text: _parts(text) for text in every}
    unread = [text for text, part in parts.items() if part is None]
    if unread:
        refuse_texts(column, {text: texts[text] for text in unread}, texts, dates=dates)
    digits = {text: part[1] for text, part in parts.items() if part is not None}
    mark = _mark(column, digits, decimal)
    values = {
        text: part[0] * _value(part[1], mark) for text, part in parts.items() if part is not None
    }
    unit = _one_unit(column, {part[2]: text for text, part in parts.items() if part is not None})
    return ReadTexts(values, _how_read(digits.values(), mark, unit), unit)


def _parts(text: str) -> tuple[float, str, str | None] | None:
    """Sign, digits and unit of a number; `None` of what is none."""
    bare = text.translate(_SPACES).translate(_SIGNS).strip()
    sign = 1.0
    if bare.startswith("(") and bare.endswith(")"):
        bare, sign = bare[1:-1].strip(), -1.0
    found = _NUMBER.fullmatch(bare)
    if found is None:
        return None
    digits = found["digits"].strip()
    if not any(each.fullmatch(digits) for each in _DIGITS.values()):
        return None
    units = [found[name] for name in ("before", "inner", "after") if found[name]]
    minus = (found["sign"] == "-") + (found["behind"] == "-")
    if len(units) > 1 or minus > 1 or (sign < 0.0 and (minus or found["sign"])):
        return None
    return (-sign if minus else sign), digits, units[0] if units else None


def _value(digits: str, mark: Decimal) -> float:
    group = "," if mark == "." else "."
    return float(
        digits.translate({ord(each): None for each in (group, " ", "'")}).replace(mark, ".")
    )


def _mark(column: str, digits: dict[str, str], said: Decimal | None) -> Decimal:
    """Find the decimal mark that all texts have; the point where it makes no difference."""
    fits: dict[Decimal, bool] = {}
    for mark in get_args(Decimal):
        fits[mark] = all(_DIGITS[mark].fullmatch(each) for each in digits.values())
    if said is not None:
        if not fits[said]:
            odd = next(t for t, each in digits.items() if not _DIGITS[said].fullmatch(each))
            raise InputError(
                f"column {column!r} holds {quote(odd)}, which is no number with {said!r} as "
                "decimal mark; correct it, or leave out decimal (--decimal)."
            )
        return said
    point: Decimal = "."
    comma: Decimal = ","
    if fits[point] and fits[comma]:
        two = [t for t, d in digits.items() if _value(d, point) != _value(d, comma)]
        if two:
            raise InputError(
                f"column {column!r} can be read in two ways: {quote(two[0])} is one number with a "
                f"decimal point and another with a decimal comma, and no other value settles it; "
                f"{SAY_DECIMAL}"
            )
        return point
    if not fits[point] and not fits[comma]:
        odd_point = next(t for t, each in digits.items() if not _DIGITS[point].fullmatch(each))
        odd_comma = next(t for t, each in digits.items() if not _DIGITS[comma].fullmatch(each))
        raise InputError(
            f"column {column!r} mixes decimal marks: {quote(odd_point)} has a decimal comma, and "
            f"{quote(odd_comma)} a decimal point; write all numbers in one way."
        )
    return point if fits[point] else comma


def _one_unit(column: str, units: dict[str | None, str]) -> str | None:
    """Find the unit of all numbers; some may lack one, except next to a percent sign."""
    named = [unit for unit in units if unit is not None]
    if len(named) > 1 or (None in units and {"%", "‰"} & set(named)):
        shown = " and ".join(unit or "no unit" for unit in units)
        raise InputError(
            f"column {column!r} mixes units ({shown}), as in "
            f"{' and '.join(quote(text) for text in units.values())}; convert all values to one."
        )
    return named[0] if named else None


def _how_read(digits: Iterable[str], mark: Decimal, unit: str | None) -> str | None:
    """How numbers were read, with an example from no row; `None` of plain ones."""
    every = list(digits)
    group = next((g for g in (",.'" + " ") if g != mark and any(g in each for each in every)), "")
    if mark == "." and not group and unit is None:
        return None
    fraction = any(mark in each for each in every)
    number = f"1{group}234{mark + '50' if fraction else ''}" if group else f"12{mark}5"
    if not group and not fraction:
        number = "12"
    value = {True: "1234.5" if fraction else "1234", False: "12.5" if fraction else "12"}[
        bool(group)
    ]
    how = []
    if fraction:
        how.append(f"with a decimal {'comma' if mark == ',' else 'point'}")
    if group:
        names = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}
        how.append(f"with {names[group]} between thousands")
    if unit is not None:
        how.append(f"in {unit}")
    space = " " if unit is not None and (unit.isalpha() or unit == "%") else ""
    before = unit is not None and len(unit) == 1 and unicodedata.category(unit) == "Sc"
    example = f"{unit}{number}" if before else f"{number}{space}{unit or ''}"
    return f"was read {' and '.join(how)}: '{example}' is {value}"


def _days(texts: Collection[str]) -> dict[str, float] | None:
    """Days since 1970 of texts that are all dates, else `None`."""
    found = {}
    for text in texts:
        if not _ISO.fullmatch(text.strip()):
            return None
        try:
            day = datetime.fromisoformat(text.strip())
        except ValueError:
            return None
        found[text] = (day - _EPOCH).total_seconds() / 86400.0
    return found


def refuse_texts(
    column: str, unread: Mapping[str, int], texts: Collection[str], *, dates: bool = False
) -> NoReturn:
    """Refuse texts of a column that are no numbers, show some of them and say what to do."""
    shown = sorted(unread)
    if len(unread) == len(texts) <= 2 and not dates:
        raise InputError(
            f"column {column!r} must hold numbers, or decisions as 1 and 0, but its values are "
            f"{' and '.join(quote(text) for text in shown)}; write decisions as 1 and 0, yes and "
            "no, or true and false."
        )
    if dates and any(_DAY.match(text) for text in unread):
        advice = (
            f"Write dates as 2024-03-31; bins={{{column!r}: 'month'}} (--bins {column}=month) then "
            "cuts them by the calendar."
        )
    elif any(letter.isdigit() for text in unread for letter in text):
        advice = (
            "Write one number and nothing else in each cell; if it is a missing value, say so: "
            "csv={'null_values': [...]} (--null-value)."
        )
    else:
        advice = "If that is a missing value, say so: csv={'null_values': [...]} (--null-value)."
    listed = ", ".join(quote(text) for text in shown[:3])
    raise InputError(
        f"column {column!r} must hold numbers, but {sum(unread.values()):,} of its values are "
        f"none: {listed}{', ...' if len(shown) > 3 else ''}. {advice}"
    )


USUAL_NULLS = (
    *("?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What stands for a missing value in CSV files, with nothing: what pandas takes for it, and ?."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number in text, as all engines understand it."""

SAY_ENCODING = "say what it is, for instance csv={'encoding': 'latin-1'} (--encoding latin-1)."
"""What to do about a file that is not UTF-8."""

_READING = ("separator", "encoding", "null_values", "usual_nulls")
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
    """How a CSV file is written, as far as it was given.

    Attributes
    ----------
    separator : one character; `None` is the one that splits the header into the columns asked for.
    encoding : as Python calls it; `None` is UTF-8, or what the mark at the beginning says.
    null_values : what stands for a missing value, in addition to nothing and `USUAL_NULLS`.
    usual_nulls : whether `USUAL_NULLS` are missing values; `False` takes them for values.
    decimal : the mark of numbers in text, "." or ","; `None` finds it where only one fits.
    sheet : of an Excel file; `None` is the only one.
    """

    separator: str | None = None
    encoding: str | None = None
    null_values: tuple[str, ...] = ()
    usual_nulls: bool = True
    decimal: Decimal | None = None
    sheet: str | None = None

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
        check_decimal(self.decimal)
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise InputError(f"sheet must be the name of a sheet, not {self.sheet!r}.")

    @property
    def nulls(self) -> tuple[str, ...]:
        """Texts that are missing values, without the one that is empty."""
        usual = USUAL_NULLS if self.usual_nulls else ()
        return tuple(dict.fromkeys(value for value in (*usual, *self.null_values) if value))

    def refuse(self, why: str, *, text: bool = False) -> None:
        """Complain if anything was said about a file that it is not; a decimal mark is no matter.

        With `text` the file is an Excel sheet, which has words for missing values.
        """
        if not text:
            self.refuse_sheet(why)
        usual = CsvOptions()
        names = ("separator", "encoding") if text else _READING
        if any(getattr(self, name) != getattr(usual, name) for name in names):
            said = f"{', '.join(names[:-1])} and {names[-1]}"
            raise InputError(f"{said} say how a CSV file is read, but {why}; leave them out.")

    def refuse_sheet(self, why: str) -> None:
        """Complain if a sheet was named where there are none."""
        if self.sheet is not None:
            raise InputError(f"sheet names a sheet of an Excel file, but {why}; leave it out.")


def csv_options(csv: Mapping[str, object] | None) -> CsvOptions:
    """How a file is to be read, from the argument `csv` of an audit."""
    if not isinstance(csv, Mapping | None):
        raise InputError(f"csv must be a dictionary such as {{'separator': ';'}}, not {csv!r}.")
    given = dict(csv or {})
    known = [field.name for field in fields(CsvOptions)]
    if unknown := [name for name in given if name not in known]:
        near = get_close_matches(str(unknown[0]), known, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
        raise InputError(f"csv has no entry {unknown[0]!r}; {advice}")
    kinds = {"separator": (str, type(None)), "null_values": (str, list, tuple), "usual_nulls": bool}
    for name in kinds.keys() & given.keys():
        if not isinstance(given[name], kinds[name]):  # type: ignore[arg-type]
            raise InputError(f"{name} of csv cannot be {given[name]!r}.")
    if "null_values" in given:
        given["null_values"] = texts(given["null_values"])
    return CsvOptions(**given)  # type: ignore[arg-type]  # they are checked there


def texts(values: object) -> tuple[str, ...]:
    """One text or several, as a tuple."""
    return (values,) if isinstance(values, str) else tuple(cast("Sequence[str]", values))


def _check_nulls(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"null_values must be texts, as in the file, not {value!r}.")


def _check_encoding(encoding: str) -> None:
    try:
        known = codecs.lookup(encoding)
        "".encode(known.name)
        codecs.getincrementaldecoder(known.name)
    except (LookupError, TypeError, UnicodeError) as error:
        raise InputError(
            f"encoding must be one that Python knows, such as 'latin-1', not {encoding!r}."
        ) from error


class TextTable(NamedTuple):
    """A file without types, opened by an engine.

    Attributes
    ----------
    table : of the engine, with every column as text, `text_column(k)` in place k; those that should
        hold numbers are there as numbers, too, as `number_column(k)`. What is no number is null
        there.
    columns : the names in the header, in order; some may be equal.
    options : how the file was to be read.
    typed : places of columns that the file itself holds as numbers, as Excel does.
    """

    table: Any
    columns: tuple[str, ...]
    options: CsvOptions
    typed: frozenset[int] = frozenset()


def text_column(place: int) -> str:
    """Return the name inside an engine of the texts in this place."""
    return f"text{place}"


def number_column(place: int) -> str:
    """Return the name inside an engine of the numbers among the texts in this place."""
    return f"number{place}"


class CsvLayout(NamedTuple):
    """How a CSV file is written.

    Attributes
    ----------
    separator : between values.
    encoding : as Python calls it.
    columns : names in the header, as they are written.
    header_lines : how many lines end before the first row begins.
    broken_lines : whether a quoted value goes over several lines.
    old_lines : whether lines end as they did on machines of the last century, in CR alone.
    """

    separator: str
    encoding: str
    columns: tuple[str, ...]
    header_lines: int
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
) -> CsvLayout:
    """Find out how a CSV file is written, from its beginning.

    Unless a separator was said, it is the one that splits the header into the columns named; with
    `tab`, a tab is what is tried first.
    """
    with _open_bytes(path) as file:
        sample = file.read(_SAMPLE)
    begins = (name for mark, name in _MARKS if sample.startswith(mark))
    encoding = codecs.lookup(options.encoding or next(begins, "utf-8")).name.removesuffix("-sig")
    text = "".join(_decode(io.BytesIO(sample), encoding, path, whole=len(sample) < _SAMPLE))
    usual = _SEPARATORS if not tab else "\t" + _SEPARATORS
    headers = {each: next(_lines(text, each), []) for each in options.separator or usual}
    separator = _best_separator(headers, named)
    header = headers[separator]
    _check_header(header, path, encoding)
    return CsvLayout(
        separator,
        encoding,
        tuple(header),
        header_lines=_header_lines(text, separator),
        broken_lines='"' in text and any("\n" in "".join(line) for line in _lines(text, separator)),
        old_lines="\r" in text and "\n" not in text,
    )


@contextmanager
def as_utf8(path: Path, layout: CsvLayout) -> Iterator[Path]:
    """Provide a file as UTF-8 with ordinary lines: itself, or a private copy, deleted afterwards.

    A copy is written block by block, so that what a compressed file holds need not fit in memory.
    """
    ordinary = layout.encoding == "utf-8" and not layout.old_lines
    if ordinary and not _has_compression(path):
        yield path
        return
    folder = tempfile.mkdtemp(prefix="likeforlike-")  # which only its owner may read
    try:
        copy = Path(folder) / "table.csv"
        with _open_bytes(path) as source, copy.open("wb") as target:
            if ordinary:
                shutil.copyfileobj(source, target, _SAMPLE)
            else:
                for text in _decode(source, layout.encoding, path):
                    plain = text.replace("\r", "\n") if layout.old_lines else text
                    target.write(plain.encode())
        yield copy
    finally:  # an interrupt comes here too
        shutil.rmtree(folder, ignore_errors=True)


def is_even(path: Path, layout: CsvLayout) -> bool:
    """Whether every line surely has as many values as the header, by a count of separators.

    With quotes in it a file takes more than counting, and so do lines that are shorter.
    """
    import numpy as np

    counts, last = dict.fromkeys((layout.separator, "\n", '"'), 0), 0
    with path.open("rb") as file:
        while (part := np.fromfile(file, np.uint8, _SAMPLE)).size:
            for letter in counts:
                counts[letter] += int(np.count_nonzero(part == ord(letter)))
            last = part[-1]
    lines = counts["\n"] + (last != ord("\n"))
    even = counts[layout.separator] == lines * (len(layout.columns) - 1)
    return bool(even) and counts['"'] == 0


def _open_bytes(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if _has_compression(path) else path.open("rb")


def _has_compression(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _decode(file: BinaryIO, encoding: str, path: Path, *, whole: bool = True) -> Iterator[str]:
    """Text of a file by blocks; one of another encoding is reported with what to do about it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    done, first = 0, True
    while True:
        block = file.read(_SAMPLE)
        done += len(block)
        try:
            text = decoder.decode(block, final=whole and not block)
        except UnicodeDecodeError as error:
            at = done - len(error.object) + error.start
            raise InputError(
                f"{path} is not {encoding} (byte {at + 1:,} is {error.object[error.start]:#04x}); "
                f"{SAY_ENCODING}"
            ) from error
        except UnicodeError as error:
            raise InputError(f"{path} is not {encoding} ({error}); {SAY_ENCODING}") from error
        yield text.removeprefix("\ufeff") if first else text
        first = first and not text
        if not block:
            return


def _header_lines(text: str, separator: str) -> int:
    """How many lines end with the header, those without anything before it among them."""
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            read.append(line)
            yield line

    with suppress(csv.Error):
        next(filter(None, csv.reader(lines(), delimiter=separator)), None)
    whole = "".join(read)
    return max(1, whole.count("\n") or whole.count("\r"))


def _lines(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the values of every line that has any, up to the first that cannot be understood."""
    try:
        yield from filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        return


def _best_separator(headers: Mapping[str, Sequence[str]], named: Sequence[str]) -> str:
    """Find the first separator that gives all columns named, else the first that gives several."""
    complete = (
        each for each, header in headers.items() if named and set(named) <= set(tell_apart(header))
    )
    several = (each for each, header in headers.items() if len(header) > 1)
    return next(complete, None) or next(several, next(iter(headers)))


def _check_header(header: Sequence[str], path: Path, encoding: str) -> None:
    if not any(header):
        raise InputError(
            f"{path} cannot be read: it is empty, and its first line must name columns."
        )
    if "\0" in "".join(header):
        raise InputError(f"{path} is not {encoding}; {SAY_ENCODING}")
