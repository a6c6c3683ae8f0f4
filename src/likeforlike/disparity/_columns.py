"""Columns: one-dimensional input of any kind, checked, as plain arrays.

NumPy arrays, lists, and whatever series narwhals knows (pandas, polars, pyarrow, ...) come in;
floats or codes come out. Every error names the argument and the first offending row.

Labels of groups and levels are written to files as plain values, and read back as the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike._arrays import BoolArray, FloatArray, IntArray, plain
from likeforlike._text import quote
from likeforlike.errors import InputError
from likeforlike.transport import compiled, n_threads

# Types that JSON lacks: their names, and how to read their text.
_KINDS: dict[type, str] = {
    float: "float",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "seconds",
}
_BACK: dict[str, Any] = {
    "float": float,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "seconds": lambda text: timedelta(seconds=float(text)),
}


def plain_label(label: Hashable) -> object:
    """Return a label as JSON stores it: a tuple as a list, other types than JSON's with their name.

    In a tuple a value may be unknown.
    """
    if isinstance(label, tuple):
        return [None if part is None else plain_label(part) for part in label]
    if isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    kind = _KINDS.get(type(label))
    if kind is None:
        raise InputError(
            f"the label {label!r} ({type(label).__name__}) cannot be kept in a file; make it text."
        )
    if isinstance(label, date | time):
        return {kind: label.isoformat()}
    return {kind: str(label.total_seconds() if isinstance(label, timedelta) else label)}


def parse_label(plain: object) -> Hashable:
    """Return the label that a plain value stands for."""
    if isinstance(plain, list):
        return tuple(None if part is None else parse_label(part) for part in plain)
    if isinstance(plain, dict):
        [(kind, text)] = plain.items()
        back: Hashable = _BACK[kind](text)
        return back
    if isinstance(plain, str | bool | int | float):
        return plain
    raise ValueError(f"{plain!r} stands for no label")


_LARGEST = np.iinfo(np.int64).max
# Most groups that are compared pairwise: numbers that were not binned have more.
_MOST_NUMBERS, _MOST_GROUPS = 20, 100
# Above this many rows NumPy's passes over a column take longer than one of a kernel.
_MANY_ROWS = 20_000
# Rows in which labels of text are looked for, how many labels every row is compared with, and their
# length.
_GLANCE, _FEW, _SHORT = 1_000, 6, 12

Column = Sequence[Any] | npt.NDArray[Any] | Any
"""A one-dimensional column: NumPy array, list, or a series narwhals accepts."""


class Codes(NamedTuple):
    """A categorical column: `labels[codes[i]]` is the value of row i.

    Attributes
    ----------
    codes : (n,) integers.
    labels : the distinct values that occur, in order.
    """

    codes: IntArray
    labels: tuple[Hashable, ...]


def narrow(column: Codes) -> Codes:
    """Return the codes in the smallest integer type, for a column that is only looked up later."""
    small = np.min_scalar_type(-len(column.labels))
    return Codes(column.codes.astype(small), column.labels)


def use_codes_as_labels(codes: IntArray | None) -> Codes | None:
    """Use codes as their own labels; `None` stays `None`."""
    return None if codes is None else Codes(codes, tuple(range(int(codes.max()) + 1)))


def refuse_mask(column: object, name: str) -> None:
    """Raise if an array has masked values, which a plain array would lose."""
    if isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column):
        hidden = np.ma.getmaskarray(column)
        first = tuple(int(k) for k in np.argwhere(hidden)[0])
        raise InputError(
            f"{name} is an array with {hidden.sum()} masked value(s), the first at "
            f"{first[0] if len(first) == 1 else first}; remove those rows or fill them."
        )


def _array(column: Column, name: str) -> npt.NDArray[Any]:
    """Turn any one-dimensional column into a NumPy array."""
    refuse_mask(column, name)
    if isinstance(column, np.ndarray):
        array = np.asarray(column)
    else:
        native = nw.from_native(column, series_only=True, pass_through=True)
        if not isinstance(native, nw.Series):
            array = _list_to_array(column, name)
        elif native.dtype in (nw.Int128, nw.UInt128):  # NumPy has no such type
            array = _objects(native.to_list())
        else:
            array = native.to_numpy()
    if array.ndim != 1:
        raise InputError(
            f"{name} must be one-dimensional, but its shape is {array.shape}; pass one column."
        )
    if array.size == 0:
        raise InputError(f"{name} is empty; there is nothing to measure.")
    return array


def _objects(items: Sequence[Any]) -> npt.NDArray[Any]:
    """Return an array of objects, one per item."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _list_to_array(column: Column, name: str) -> npt.NDArray[Any]:
    """Turn a list, or anything else with rows, into an array."""
    table = nw.from_native(column, pass_through=True)
    if isinstance(table, nw.DataFrame | nw.LazyFrame):
        columns = table.collect_schema().names()
        raise InputError(
            f"{name} must be one column, but it is a table of {len(columns)}: {columns}. Pass one "
            "of them; to compare combinations, put them together in a column first."
        )
    if hasattr(column, "__array__"):
        return np.asarray(column)
    # Soft groups set __iter__ to None: they have no rows one by one.
    no_column = isinstance(column, str | bytes | AbstractSet | Mapping)
    if no_column or not hasattr(column, "__len__") or getattr(column, "__iter__", 0) is None:
        raise InputError(
            f"{name} must be a one-dimensional array, list or series, not {type(column).__name__}."
        )
    items = list(column)
    # By itself NumPy turns [1, "a"] into strings, and drops a zero at the end of a string.
    if any(isinstance(item, str | bytes) for item in items):
        return _objects(items)
    try:
        return np.asarray(items)
    except ValueError as error:  # lists of different lengths
        raise InputError(
            f"{name} must be one-dimensional, but it holds lists of different lengths."
        ) from error


def numbers(column: Column, name: str) -> FloatArray:
    """Check that a column holds finite numbers and return it as contiguous floats, shape (n,)."""
    array = _array(column, name)
    if array.dtype.kind not in "fiub":
        # Text is refused rather than parsed.
        if array.dtype != object or any(isinstance(item, str) for item in array):
            raise InputError(
                f"{name} must hold numbers, but its type is {array.dtype}; convert it first."
            )
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name} must hold numbers: {error}.") from error
    floats = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(floats)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise InputError(
            f"{name} has {bad.size} value(s) that are not finite, the first at row {bad[0]} "
            f"({quote(float(floats[bad[0]]))}); remove those rows or fill them."
        )
    return floats


def weights(column: Column, name: str, size: int) -> FloatArray:
    """Check sample weights: finite, not negative, not all zero, one for each of `size` rows."""
    floats = numbers(column, name)
    same_length(size, floats.size, name)
    negative = np.flatnonzero(floats < 0.0)
    if negative.size:
        raise InputError(
            f"{name} has {negative.size} negative value(s), the first at row {negative[0]} "
            f"({quote(float(floats[negative[0]]))}); weights must be 0 or more."
        )
    if not floats.any():
        raise InputError(f"{name} is zero for every row; at least one row must count.")
    return floats


def same_length(expected: int, actual: int, name: str) -> None:
    """Raise unless a column has as many rows as the scores."""
    if expected != actual:
        raise InputError(f"{name} has {actual} row(s), but scores have {expected}.")


def encode(column: Column, name: str) -> Codes:
    """Encode the distinct values of a column in sorted order (by text where types are mixed)."""
    if not isinstance(column, np.ndarray):  # narwhals takes as long as to encode a batch
        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series) and series.dtype in (nw.String, nw.Categorical, nw.Enum):
            return _encode_texts(series, name)
    array = _array(column, name)
    if array.dtype.kind in "biu":
        return _encode_integers(array)
    if array.dtype.kind in "fmM":
        _refuse_missing(np.isnan(array) if array.dtype.kind == "f" else np.isnat(array), name)
        labels, codes = np.unique(array, return_inverse=True)
        return Codes(codes.astype(np.int64), tuple(labels.tolist()))
    return encode_labels(array.tolist(), name)


@compiled
def _mark_present(codes: IntArray, present: BoolArray) -> None:
    for code in codes:
        present[code] = True


def _encode_integers(array: npt.NDArray[Any]) -> Codes:
    """Encode integers, by table look-up where their range is not much wider than the data."""
    low, high = int(array.min()), int(array.max())
    if high - low > 4 * array.size + 1024 or high > _LARGEST:
        labels, codes = np.unique(array, return_inverse=True)
        return Codes(codes.astype(np.int64), tuple(labels.tolist()))
    shifted: IntArray = array.astype(np.int64, copy=False)
    if low:
        shifted = shifted - low
    if shifted.size > _MANY_ROWS:
        present = np.zeros(high - low + 1, np.bool_)
        _mark_present(plain(shifted), present)
    else:
        present = np.bincount(shifted, minlength=high - low + 1) > 0
    values = np.flatnonzero(present) + low
    labels_out = tuple(values.astype(array.dtype).tolist())
    if present.all():
        return Codes(shifted, labels_out)
    return Codes((np.cumsum(present) - 1)[shifted], labels_out)


def _encode_texts(series: nw.Series[Any], name: str) -> Codes:
    """Encode a column of text, by its own library where that is faster."""
    if len(series) == 0:
        raise InputError(f"{name} is empty; there is nothing to measure.")
    if series.null_count():
        _refuse_missing(series.is_null().to_numpy(), name)
    if series.implementation.is_pandas_like():
        return _encode_pandas(series.to_native(), name)
    if series.implementation.is_polars():
        import polars as pl

        native = series.to_native()
        if native.dtype == pl.String and (few := _encode_few(native)) is not None:
            return few
        labels = sorted(series.unique().cast(nw.String).to_list())
        codes = native.cast(pl.Enum(labels)).to_physical().to_numpy()
        return Codes(codes.astype(np.int64), tuple(labels))
    texts = series.cast(nw.String)
    if series.implementation.is_pyarrow():
        return _encode_arrow(texts.to_native())
    return encode_labels(texts.to_list(), name)


def _encode_few(texts: Any) -> Codes | None:  # noqa: ANN401
    """Encode polars text if all labels are among those of the first rows, and are few.

    Comparing each row with a few labels is faster than looking it up among them.
    """
    labels = sorted(texts.head(_GLANCE).unique().to_list())
    if len(labels) > _FEW or max(map(len, labels)) > _SHORT:
        return None
    codes = np.full(len(texts), -1, np.int8)
    for code, label in enumerate(labels):
        codes += (texts == label).to_numpy().view(np.int8) * np.int8(code + 1)
    return Codes(codes.astype(np.int64), tuple(labels)) if codes.min() >= 0 else None


def _encode_arrow(texts: Any) -> Codes:  # noqa: ANN401
    """Encode a column of Arrow text by Arrow."""
    parts = texts.dictionary_encode().unify_dictionaries().chunks
    labels = parts[0].dictionary.to_pylist()
    order = sorted(range(len(labels)), key=labels.__getitem__)
    places = np.argsort(np.array(order))
    codes = np.concatenate([part.indices.to_numpy() for part in parts])
    return Codes(places[codes], tuple(labels[k] for k in order))


def _encode_pandas(series: Any, name: str) -> Codes:  # noqa: ANN401
    """Encode a pandas column of text, in parts that threads encode."""
    edges = np.linspace(0, len(series), n_threads() + 1).astype(int).tolist()
    parts = [series.iloc[low:high] for low, high in pairwise(edges)]
    with ThreadPoolExecutor(len(parts)) as pool:
        numbered = list(pool.map(lambda part: part.factorize(), parts))
    distinct = {label for _, values in numbered for label in values}
    labels = sorted({str(label) for label in distinct})
    if len(labels) < len(distinct):
        _refuse_look_alikes(distinct, name)
    code_of = {label: code for code, label in enumerate(labels)}
    codes = np.empty(len(series), np.int64)
    for (low, high), (places, values) in zip(pairwise(edges), numbered, strict=True):
        new_codes = np.array([code_of[str(label)] for label in values], np.int64)
        np.take(new_codes, places, out=codes[low:high])
    return Codes(codes, tuple(labels))


def encode_labels(items: Sequence[Any], name: str) -> Codes:
    """Encode strings and other hashable values by hashing, each as it is: 1 stays 1 next to 1.5."""
    try:
        distinct = list(dict.fromkeys(items))
    except TypeError as error:
        raise InputError(f"{name} contains unhashable values: {error}.") from error
    if any(map(is_nothing, distinct)):
        _refuse_missing(np.array([is_nothing(item) for item in items]), name)
    if len({str(label) for label in distinct}) < len(distinct):
        _refuse_look_alikes(distinct, name)
    try:
        labels = sorted(distinct)
    except TypeError:
        labels = sorted(distinct, key=lambda label: (type(label).__name__, str(label)))
    code_of = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(code_of.__getitem__, items), np.int64, len(items))
    return Codes(codes, tuple(labels))


def is_nothing(item: object) -> bool:
    """Return whether a value is missing: None, NaN, or unknown when compared, as NA of pandas."""
    try:
        return item is None or bool(item != item)  # noqa: PLR0124
    except (TypeError, ValueError) as error:  # an array among the values is no missing one
        return isinstance(error, TypeError)


def _refuse_look_alikes(labels: Iterable[Hashable], name: str) -> None:
    """Raise for values that are different and read the same, as 1 and "1"."""
    seen: dict[str, Hashable] = {}
    for label in labels:
        if str(label) in seen:
            raise InputError(
                f"{name} holds {quote(seen[str(label)])} ({type(seen[str(label)]).__name__}) and "
                f"{quote(label)} ({type(label).__name__}), which read the same; make them one "
                "type."
            )
        seen[str(label)] = label


def refuse_many_groups(labels: Sequence[Hashable], name: str) -> None:
    """Raise if the groups are numbers that were not binned, or far too many to compare."""
    if len(labels) <= _MOST_NUMBERS:
        return
    number = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    if not number and len(labels) <= _MOST_GROUPS:
        return
    kind = "different numbers" if number else "different values"
    pairs = len(labels) * (len(labels) - 1) // 2
    raise InputError(
        f"{name} has {len(labels):,} {kind}, from {labels[0]!r} to {labels[-1]!r}, which would be "
        f"{pairs:,} comparisons of two groups. Put them into a few groups first"
        + (", for instance with pandas.cut." if number else ".")
    )


def _refuse_missing(missing: BoolArray, name: str) -> None:
    """Raise if a value is missing."""
    if missing.any():
        raise InputError(
            f"{name} has {int(missing.sum())} missing value(s), the first at row "
            f"{int(np.argmax(missing))}; remove those rows or give them a value of their own."
        )


def encode_columns(features: Column, name: str, size: int) -> Codes:
    """Encode one column, or the combinations that occur in several (labels are tuples)."""
    parts = [
        encode(column, f"{name} {title}".strip())
        for title, column in _columns_with_titles(features, name)
    ]
    codes = combine_codes(parts)
    same_length(size, codes.codes.size, name)
    return codes


def _columns_with_titles(features: Column, name: str) -> list[tuple[str, Column]]:
    """Return the columns of a table or of a matrix with their titles, or one column without."""
    try:
        table = nw.from_native(features, eager_only=True, pass_through=True)
    except NarwhalsError as error:
        raise InputError(f"{name} cannot be read: {' '.join(str(error).split())}.") from error
    if isinstance(table, nw.DataFrame):
        columns = [(str(column.name), column.to_native()) for column in table.iter_columns()]
    elif isinstance(features, np.ndarray) and features.ndim == 2:
        refuse_mask(features, name)
        columns = [(str(j), column) for j, column in enumerate(features.T)]
    else:
        columns = [("", features)]
    if not columns:
        raise InputError(f"{name} has no columns; leave it out, or name at least one.")
    return columns


def encode_known(features: Column, name: str, size: int) -> tuple[Codes, BoolArray]:
    """Encode columns with missing values, and return which rows (n,) have a value in each column.

    The code of the other rows is 0 and has no meaning.
    """
    columns = _columns_with_titles(features, name)
    missing = [_missing_values(column, name) for _, column in columns]
    for rows in missing:
        same_length(size, rows.size, name)
    known: BoolArray = ~np.logical_or.reduce(missing)
    if known.all():
        return encode_columns(features, name, size), known
    if not known.any():
        raise InputError(f"{name} is missing in all {size:,} rows; there is nothing to compare.")
    parts = [
        encode(_array(column, name)[known], f"{name} {title}".strip()) for title, column in columns
    ]
    some = combine_codes(parts)
    codes = np.zeros(size, np.int64)
    codes[known] = some.codes
    return Codes(codes, some.labels), known


def _missing_values(column: Column, name: str) -> BoolArray:
    """Return which rows of a column have no value, shape (n,)."""
    if not isinstance(column, np.ndarray):
        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series) and series.dtype not in (nw.Object, nw.Unknown):
            missing = series.is_null()
            if series.dtype.is_float():
                missing = missing | series.fill_null(0.0).is_nan()
            return np.asarray(missing.to_numpy(), dtype=bool)
    array = _array(column, name)
    if array.dtype.kind in "biu":
        return np.zeros(array.size, bool)
    if array.dtype.kind in "fmM":
        return np.asarray(np.isnan(array) if array.dtype.kind == "f" else np.isnat(array))
    return np.array([is_nothing(item) for item in array.tolist()])


def combine_codes(parts: Sequence[Codes]) -> Codes:
    """Encode the combinations that occur in several columns, with tuples for labels.

    They are sorted by the first column, then by the second, and so on. A single column is returned
    as it is.
    """
    if len(parts) == 1:
        return parts[0]
    codes = parts[0].codes
    labels: list[tuple[Hashable, ...]] = [(label,) for label in parts[0].labels]
    for part in parts[1:]:
        both = codes.astype(np.int64)
        both *= len(part.labels)
        both += part.codes
        pairs = encode(both, "levels")
        places = np.divmod(np.array(pairs.labels, np.int64), len(part.labels))
        labels = [(*labels[k], part.labels[m]) for k, m in zip(*places, strict=True)]
        codes = pairs.codes
    return Codes(codes, tuple(labels))


def concatenate_codes(parts: Sequence[Codes], name: str) -> Codes:
    """Concatenate columns and encode them by one set of labels."""
    together = _merge_labels([label for part in parts for label in part.labels], name)
    begins = np.cumsum([0, *(len(part.labels) for part in parts)])
    codes = [together.codes[begin + part.codes] for begin, part in zip(begins, parts, strict=False)]
    return Codes(np.concatenate(codes), together.labels)


def _merge_labels(labels: Sequence[Hashable], name: str) -> Codes:
    """Encode labels; tuples by their first value, then by the second, and so on.

    A value of a tuple may be unknown, and comes last.
    """
    tuples = [label for label in labels if isinstance(label, tuple)]
    if len(tuples) < len(labels) or len({len(label) for label in tuples}) > 1:
        return encode_labels(labels, name)
    parts = []
    for column in zip(*tuples, strict=True):
        codes = encode_labels([value for value in column if value is not None], name)
        parts.append(with_unknown(codes, np.array([value is not None for value in column])))
    return combine_codes(parts)


def with_unknown(codes: Codes, known: BoolArray) -> Codes:
    """Expand codes of the rows with a value to all rows; the others get the label `None`."""
    if known.all():
        return codes
    every = np.full(known.size, len(codes.labels))
    every[known] = codes.codes
    return Codes(every, (*codes.labels, None))


def attach_labels(codes: npt.NDArray[Any], labels: Sequence[object], name: str) -> Codes:
    """Give codes of a file their labels, and check that each has one."""
    checked = np.ascontiguousarray(codes, dtype=np.int64)
    if checked.size and not 0 <= int(checked.min()) <= int(checked.max()) < len(labels):
        raise ValueError(f"a {name} has no label")
    return Codes(checked, tuple(parse_label(label) for label in labels))


def compact_labels(column: Codes) -> Codes:
    """Drop the labels that no row has."""
    present = np.bincount(column.codes, minlength=len(column.labels)) > 0
    if present.all():
        return column
    labels = tuple(column.labels[k] for k in np.flatnonzero(present))
    return Codes((np.cumsum(present) - 1)[column.codes], labels)
