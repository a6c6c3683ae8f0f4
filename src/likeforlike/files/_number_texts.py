"""Numbers and decisions as people write them: 52.301,00 EUR, $100,040, 12,5 %, (1,234.50), yes.

How a column is written is found from all of its texts together, where these leave one way to read
them; where they leave two, as 1.234 alone does, nothing is guessed. Every number is read by the
same rule, and what the rule is can be said in a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final, Literal, NamedTuple, NoReturn, get_args

from likeforlike._text import quoted
from likeforlike.errors import InputError

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
    """The decimal mark that was said, if one was."""
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
    """The words for 1 and 0 that all texts are, in any case and with 1 and 0 among them."""
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
    """The decimal mark that all texts have; the point where it makes no difference."""
    fits: dict[Decimal, bool] = {}
    for mark in get_args(Decimal):
        fits[mark] = all(_DIGITS[mark].fullmatch(each) for each in digits.values())
    if said is not None:
        if not fits[said]:
            odd = next(t for t, each in digits.items() if not _DIGITS[said].fullmatch(each))
            raise InputError(
                f"column {column!r} holds {quoted(odd)}, which is no number with {said!r} as "
                "decimal mark; correct it, or leave out decimal (--decimal)."
            )
        return said
    point: Decimal = "."
    comma: Decimal = ","
    if fits[point] and fits[comma]:
        two = [t for t, d in digits.items() if _value(d, point) != _value(d, comma)]
        if two:
            raise InputError(
                f"column {column!r} can be read in two ways: {quoted(two[0])} is one number with a "
                f"decimal point and another with a decimal comma, and no other value settles it; "
                f"{SAY_DECIMAL}"
            )
        return point
    if not fits[point] and not fits[comma]:
        odd_point = next(t for t, each in digits.items() if not _DIGITS[point].fullmatch(each))
        odd_comma = next(t for t, each in digits.items() if not _DIGITS[comma].fullmatch(each))
        raise InputError(
            f"column {column!r} mixes decimal marks: {quoted(odd_point)} has a decimal comma, and "
            f"{quoted(odd_comma)} a decimal point; write all numbers in one way."
        )
    return point if fits[point] else comma


def _one_unit(column: str, units: dict[str | None, str]) -> str | None:
    """The unit of all numbers; some without one are no matter, except next to a percent sign."""
    named = [unit for unit in units if unit is not None]
    if len(named) > 1 or (None in units and {"%", "‰"} & set(named)):
        shown = " and ".join(unit or "no unit" for unit in units)
        raise InputError(
            f"column {column!r} mixes units ({shown}), as in "
            f"{' and '.join(quoted(text) for text in units.values())}; convert all values to one."
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
            f"{' and '.join(quoted(text) for text in shown)}; write decisions as 1 and 0, yes and "
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
    listed = ", ".join(quoted(text) for text in shown[:3])
    raise InputError(
        f"column {column!r} must hold numbers, but {sum(unread.values()):,} of its values are "
        f"none: {listed}{', ...' if len(shown) > 3 else ''}. {advice}"
    )
