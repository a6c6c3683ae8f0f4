"""Columns: one-dimensional input of any kind, checked, as plain arrays.

Numpy arrays, lists, and whatever series narwhals knows (pandas, polars, pyarrow, ...) come in;
floats or codes come out. Every complaint names the argument and the first offending row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike.errors import InputError
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.threads import n_threads

__all__ = ["Codes", "Column", "encode", "encode_columns", "numbers", "same_length", "weights"]

Column = Sequence[Any] | npt.NDArray[Any] | Any
"""A one-dimensional column: numpy array, list, or a series narwhals accepts."""


class Codes(NamedTuple):
    """A categorical column: `labels[codes[i]]` is the value of row i.

    Attributes
    ----------
    codes : (n,) integers.
    labels : the distinct values that occur, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.columns import Codes
    >>> column = Codes(np.array([1, 0, 1]), ("low", "high"))
    >>> [column.labels[code] for code in column.codes]
    ['high', 'low', 'high']
    """

    codes: IntArray
    labels: tuple[Hashable, ...]


def _array(column: Column, name: str) -> npt.NDArray[Any]:
    """Turn any one-dimensional column into a numpy array."""
    if isinstance(column, np.ndarray):
        array = column
    else:
        native = nw.from_native(column, series_only=True, pass_through=True)
        array = native.to_numpy() if isinstance(native, nw.Series) else _listed(column, name)
    if array.ndim != 1:
        raise InputError(
            f"{name} must be one-dimensional, but its shape is {array.shape}; pass one column."
        )
    if array.size == 0:
        raise InputError(f"{name} is empty; there is nothing to measure.")
    return array


def _listed(column: Column, name: str) -> npt.NDArray[Any]:
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise InputError(
            f"{name} must be a one-dimensional array, list or series, not {type(column).__name__}."
        )
    items = list(column)
    # Left to itself numpy turns [1, "a"] into strings; mixed values must stay what they are.
    if len({type(item) for item in items}) > 1 and any(isinstance(item, str) for item in items):
        mixed = np.empty(len(items), dtype=object)
        mixed[:] = items
        return mixed
    return np.asarray(items)


def numbers(column: Column, name: str) -> FloatArray:
    """Check that a column holds finite numbers and return it as contiguous floats, shape (n,).

    Parameters
    ----------
    column : (n,) numbers.
    name : of the argument, for complaints.

    Examples
    --------
    >>> from likeforlike.columns import numbers
    >>> numbers([1, 2], "scores")
    array([1., 2.])
    """
    array = _array(column, name)
    if array.dtype.kind not in "fiub":
        array = _parsed(array, name)
    floats = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(floats)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise InputError(
            f"{name} has {bad.size} value(s) that are not finite, the first at row {bad[0]} "
            f"({floats[bad[0]]}); remove those rows or fill them."
        )
    return floats


def _parsed(array: npt.NDArray[Any], name: str) -> FloatArray:
    """Floats from an object array of numbers; text is refused rather than guessed at."""
    if array.dtype == object and not any(isinstance(item, str) for item in array):
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must hold numbers: {error}.") from error
    raise InputError(f"{name} must hold numbers, but its type is {array.dtype}; convert it first.")


def weights(column: Column, name: str, size: int) -> FloatArray:
    """Check sample weights: finite, not negative, not all zero, one for each of `size` rows.

    Parameters
    ----------
    column : (n,) numbers.
    name : of the argument, for complaints.
    size : n, how many rows there must be.

    Returns
    -------
    (n,) floats.

    Examples
    --------
    >>> from likeforlike.columns import weights
    >>> weights([1.0, 0.0], "sample_weight", 2)
    array([1., 0.])
    """
    floats = numbers(column, name)
    same_length(size, floats.size, name)
    negative = np.flatnonzero(floats < 0.0)
    if negative.size:
        raise InputError(
            f"{name} has {negative.size} negative value(s), the first at row {negative[0]} "
            f"({floats[negative[0]]}); weights must be 0 or more."
        )
    if not floats.any():
        raise InputError(f"{name} is 0 for every row; at least one row must count.")
    return floats


def same_length(expected: int, found: int, name: str) -> None:
    """Raise unless a column has as many rows as the scores.

    Parameters
    ----------
    expected, found : rows of the scores, and of the column.
    name : of the column, for complaints.

    Examples
    --------
    >>> from likeforlike.columns import same_length
    >>> same_length(3, 3, "groups")
    """
    if expected != found:
        raise InputError(f"{name} has {found} row(s), but scores have {expected}.")


def encode(column: Column, name: str) -> Codes:
    """Number the distinct values of a column, in sorted order (by text where types are mixed).

    Parameters
    ----------
    column : (n,) values that can be told apart, none missing.
    name : of the argument, for complaints.

    Examples
    --------
    >>> from likeforlike.columns import encode
    >>> encode(["b", "a", "b"], "groups")
    Codes(codes=array([1, 0, 1]), labels=('a', 'b'))
    """
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
    return _encode_objects(array.tolist(), name)


def _encode_integers(array: npt.NDArray[Any]) -> Codes:
    """Codes of integers, by table look-up where their range is not much wider than the data."""
    low, high = int(array.min()), int(array.max())
    if high - low > 4 * array.size + 1024:
        labels, codes = np.unique(array, return_inverse=True)
        return Codes(codes.astype(np.int64), tuple(labels.tolist()))
    shifted: IntArray = array.astype(np.int64, copy=False)
    if low:
        shifted = shifted - low
    present = np.bincount(shifted, minlength=high - low + 1) > 0
    values = np.flatnonzero(present) + low
    labels_out = tuple(values.astype(array.dtype).tolist())
    if present.all():
        return Codes(shifted, labels_out)
    return Codes((np.cumsum(present) - 1)[shifted], labels_out)


def _encode_texts(series: nw.Series[Any], name: str) -> Codes:
    """Codes of a column of text, numbered by its own library where that is faster."""
    if len(series) == 0:
        raise InputError(f"{name} is empty; there is nothing to measure.")
    if series.null_count():
        _refuse_missing(series.is_null().to_numpy(), name)
    if series.implementation.is_pandas_like():
        return _encode_pandas(series.to_native())
    texts = series.cast(nw.String)
    if series.implementation.is_polars():
        import polars as pl

        labels = sorted(texts.unique().to_list())
        codes = texts.to_native().cast(pl.Enum(labels)).to_physical().to_numpy()
        return Codes(codes.astype(np.int64), tuple(labels))
    return _encode_objects(texts.to_list(), name)


def _encode_pandas(series: Any) -> Codes:  # noqa: ANN401
    """Codes of a pandas column of text: parts are numbered side by side, then put together."""
    edges = np.linspace(0, len(series), n_threads() + 1).astype(int).tolist()
    parts = [series.iloc[low:high] for low, high in pairwise(edges)]
    with ThreadPoolExecutor(len(parts)) as pool:
        numbered = list(pool.map(lambda part: part.factorize(), parts))
    labels = sorted({str(label) for _, found in numbered for label in found})
    code_of = {label: code for code, label in enumerate(labels)}
    codes = np.empty(len(series), np.int64)
    for (low, high), (places, found) in zip(pairwise(edges), numbered, strict=True):
        own = np.array([code_of[str(label)] for label in found], np.int64)
        np.take(own, places, out=codes[low:high])
    return Codes(codes, tuple(labels))


def _encode_objects(items: list[Any], name: str) -> Codes:
    """Codes of strings and other hashable values, by hashing."""
    try:
        distinct = list(dict.fromkeys(items))
    except TypeError as error:
        raise InputError(f"{name} holds values that cannot be told apart: {error}.") from error
    missing = {label for label in distinct if label is None or label != label}  # noqa: PLR0124
    if missing:
        _refuse_missing(np.array([item in missing for item in items]), name)
    try:
        labels = sorted(distinct)
    except TypeError:
        labels = sorted(distinct, key=lambda label: (type(label).__name__, str(label)))
    code_of = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(code_of.__getitem__, items), np.int64, len(items))
    return Codes(codes, tuple(labels))


def _refuse_missing(missing: npt.NDArray[np.bool_], name: str) -> None:
    if missing.any():
        raise InputError(
            f"{name} has {int(missing.sum())} missing value(s), the first at row "
            f"{int(np.argmax(missing))}; remove those rows or give them a value of their own."
        )


def encode_columns(features: Column, name: str, size: int) -> Codes:
    """Codes of one column, or of the combinations that occur in several (labels are tuples).

    Parameters
    ----------
    features : one column (n,), a dataframe of several, or an array (n, k).
    name : of the argument, for complaints.
    size : how many rows there must be.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.columns import encode_columns
    >>> encode_columns(np.array([[1, 7], [1, 8], [1, 7]]), "legitimate_features", 3)
    Codes(codes=array([0, 1, 0]), labels=((1, 7), (1, 8)))
    """
    try:
        table = nw.from_native(features, eager_only=True, pass_through=True)
    except NarwhalsError as error:
        raise InputError(f"{name} cannot be read: {' '.join(str(error).split())}.") from error
    if isinstance(table, nw.DataFrame):
        columns = [(str(column.name), column.to_native()) for column in table.iter_columns()]
    elif isinstance(features, np.ndarray) and features.ndim == 2:
        columns = [(str(j), column) for j, column in enumerate(features.T)]
    else:
        columns = [("", features)]
    if not columns:
        raise InputError(f"{name} has no columns; leave it out, or name one at least.")
    parts = [encode(column, f"{name} {title}".strip()) for title, column in columns]
    found = parts[0] if len(parts) == 1 else _combined(parts)
    same_length(size, found.codes.size, name)
    return found


def _combined(parts: Sequence[Codes]) -> Codes:
    """Codes of the combinations that occur in several columns."""
    labels: list[tuple[Hashable, ...]] = [()]
    codes: IntArray = np.zeros(parts[0].codes.size, np.int64)
    for part in parts:
        pairs = encode(codes * len(part.labels) + part.codes, "levels")
        places = np.divmod(np.array(pairs.labels, np.int64), len(part.labels))
        labels = [(*labels[k], part.labels[m]) for k, m in zip(*places, strict=True)]
        codes = pairs.codes
    return Codes(codes, tuple(labels))
