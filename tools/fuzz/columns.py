"""Scores, labels and weights: of any size, in any container, and such as are none at all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tools.fuzz.draw import Draw

__all__ = ["hostile", "labels", "plain_scores", "scores", "weights"]

Maker = Callable[[Draw, int], Any]


def _magnitudes(draw: Draw, size: int) -> Any:  # noqa: ANN401
    """Numbers of all sizes side by side."""
    exponents = draw.numpy.uniform(-300.0, 300.0, size)
    return draw.numpy.choice([-1.0, 1.0], size) * 10.0**exponents


SCORES: tuple[Maker, ...] = (
    lambda draw, size: draw.numpy.random(size),
    lambda draw, size: np.round(draw.numpy.random(size), 1),
    lambda draw, size: draw.numpy.integers(0, 2, size),
    lambda draw, size: draw.numpy.integers(0, 2, size).astype(bool),
    lambda draw, size: draw.numpy.integers(-5, 5, size),
    lambda draw, size: np.full(size, draw.uniform(-1.0, 1.0)),
    lambda draw, size: np.full(size, 10.0 ** draw.uniform(-300.0, 300.0)),
    lambda draw, size: draw.numpy.normal(size=size) * 10.0 ** draw.uniform(-290.0, 290.0),
    lambda draw, size: draw.numpy.random(size) + draw.pick([1e9, -1e9, 1e15, 1e200]),
    lambda draw, size: draw.numpy.random(size) * 5e-324 * draw.pick([1.0, 10.0, 1e10]),
    _magnitudes,
    lambda draw, size: np.where(draw.numpy.random(size) < 0.5, 0.0, draw.numpy.random(size)),
    lambda draw, size: np.where(draw.numpy.random(size) < 0.5, -0.0, 0.0),
    lambda draw, size: draw.numpy.integers(0, 2**63, size, dtype=np.uint64),
    lambda draw, size: draw.numpy.integers(-(2**62), 2**62, size),
    lambda _, size: np.arange(size),
)
WEIGHTS: tuple[Maker, ...] = (
    lambda _, size: np.ones(size),
    lambda draw, size: draw.numpy.random(size) + 0.01,
    lambda draw, size: draw.numpy.integers(1, 5, size),
    lambda draw, size: draw.numpy.integers(0, 2, size),
    lambda draw, size: draw.numpy.random(size) * 10.0 ** draw.uniform(-300.0, 307.0),
    lambda draw, size: np.abs(_magnitudes(draw, size)),
    lambda draw, size: np.where(draw.numpy.random(size) < 0.3, 1e308, 1.0),
)
_WORDS = (
    ["f", "m"],
    ["a", "b", "c"],
    ["x"],
    ["", " "],
    ["\x1b[31mred", "\x00", "\u202e", "\U0001f469\u200d\U0001f9b0"],
    ["a", "A", "á"],
    ["x" * 3000, "y"],
    ["<script>", "&amp;", "[/b]", ":skull:"],
    ["1", "01", "1.0"],
    ["NA", "nan", "None", "?"],
)
_ITEMS: tuple[list[Any], ...] = (
    [0, 1],
    [0, 1, 2, 3],
    [7],
    [True, False],
    [0.5, 1.5, -0.0, 0.0],
    [1, "1", 1.0, True],
    [(1, 2), (1, 3)],
    [None, 1],
    [float("nan"), 1.0],
    [float("inf"), 1.0, -float("inf")],
    [2**70, 1],
    [-(2**63), 2**63 - 1],
    [Decimal("1.5"), Decimal(2)],
    [Fraction(1, 3), 2],
    [b"a", b"b"],
    [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
    [frozenset([1]), frozenset([2])],
    [[1], [2]],
    [10**400, 1],
    [np.int8(1), np.float32(2)],
)


def _pandas(values: Any) -> Any:  # noqa: ANN401
    return pd.Series(values, index=np.arange(len(values))[::-1] * 2)


CONTAINERS: tuple[Callable[[Any], Any], ...] = (
    np.asarray,
    np.asarray,
    lambda values: values.tolist() if isinstance(values, np.ndarray) else list(values),
    tuple,
    _pandas,
    pl.Series,
    pa.array,
    lambda values: pa.chunked_array([values]),
    lambda values: np.repeat(np.asarray(values), 2)[::2],
    lambda values: np.asarray(values)[::-1],
    np.ma.masked_array,
    lambda values: np.asarray(values, dtype=object),
    lambda values: np.asarray(values, dtype=">f8"),
    lambda values: np.asarray(values, dtype=np.float32),
    lambda values: pd.Series(values).astype("category"),
    lambda values: pd.Series(values).convert_dtypes(),
    lambda values: pl.Series([str(value) for value in values]).cast(pl.Categorical),
    pd.Index,
)

HOSTILE: tuple[Maker, ...] = (
    lambda _, __: None,
    lambda _, __: "text",
    lambda _, __: b"bytes",
    lambda _, __: 3.5,
    lambda _, __: np.float64(1.0),
    lambda _, __: [],
    lambda _, __: np.array(1.0),
    lambda _, size: np.zeros((size, 2)),
    lambda _, size: np.zeros((size, 1)),
    lambda _, size: [[1.0, 2.0]] * size,
    lambda _, size: [[1.0], [1.0, 2.0]] * (size // 2),
    lambda _, size: np.full(size, np.nan),
    lambda _, size: [*[1.0] * (size - 1), float("nan")],
    lambda _, size: [*[1.0] * (size - 1), float("inf")],
    lambda _, size: [*[1.0] * (size - 1), None],
    lambda _, size: [*[1.0] * (size - 1), "a"],
    lambda _, size: [*[1] * (size - 1), 10**400],
    lambda _, size: [1.7e308, -1.7e308] * (size // 2 + 1),
    lambda _, size: [1j] * size,
    lambda _, size: [object()] * size,
    lambda _, size: [{}] * size,
    lambda _, size: [pd.NA] * size,
    lambda _, size: [pd.NA, *[1.0] * (size - 1)],
    lambda _, size: pd.Series([pd.NA, *[1.0] * (size - 1)], dtype="Float64"),
    lambda _, size: pl.Series([None, *[1.0] * (size - 1)]),
    lambda _, size: pa.array([None, *[1.0] * (size - 1)]),
    lambda _, size: np.ma.masked_array(np.ones(size), mask=np.arange(size) == 0),
    lambda _, size: np.ones(size + 1),
    lambda _, size: np.ones(max(size - 1, 0)),
    lambda _, size: np.array(["2020-01-01"] * size, dtype="datetime64[D]"),
    lambda _, size: np.array([1] * size, dtype="timedelta64[s]"),
    lambda _, size: np.zeros(size, dtype=[("a", float)]),
    lambda _, size: [Decimal("NaN")] * size,
    lambda _, size: [Decimal("1e400")] * size,
    lambda _, size: dict.fromkeys(range(size), 1.0),
    lambda _, size: set(range(size)),
    lambda _, size: (k for k in range(size)),
    lambda _, size: range(size),
    lambda _, size: pd.DataFrame({"a": [1.0] * size, "b": [1.0] * size}),
    lambda _, size: pl.LazyFrame({"a": [1.0] * size}),
    lambda _, size: memoryview(np.ones(size).tobytes()).cast("d"),
    lambda _, size: -np.ones(size),
    lambda _, size: np.zeros(size),
    lambda _, size: np.array([-1.0, *[1.0] * (size - 1)]),
    lambda _, size: np.full(size, 2**64 - 1, dtype=np.uint64),
    lambda _, size: np.ones(size, dtype=np.complex128),
    lambda _, size: np.array(["1.0"] * size),
    lambda _, size: np.array([[], [1.0]] * (size // 2), dtype=object),
)


def _contained(draw: Draw, values: Any) -> Any:  # noqa: ANN401
    """Values in some container, or as they are if that cannot hold them."""
    try:
        with np.errstate(all="ignore"):
            return values if draw.happens(0.5) else draw.pick(CONTAINERS)(values)
    except Exception:  # noqa: BLE001
        return values


def scores(draw: Draw, size: int) -> Any:  # noqa: ANN401
    """A column of numbers."""
    return _contained(draw, draw.pick(SCORES)(draw, size))


def weights(draw: Draw, size: int) -> Any:  # noqa: ANN401
    """A column of weights."""
    return _contained(draw, draw.pick(WEIGHTS)(draw, size))


def labels(draw: Draw, size: int) -> Any:  # noqa: ANN401
    """A column of labels."""
    if draw.happens(0.5):
        return draw.numpy.integers(0, draw.pick((2, 3)), size)
    kinds: Sequence[Sequence[Any]] = _WORDS if draw.happens(0.4) else _ITEMS[: draw.randint(2, 20)]
    kind = draw.pick(kinds)
    chosen = [kind[int(k)] for k in draw.numpy.integers(0, len(kind), size)]
    return _contained(draw, chosen)


def hostile(draw: Draw, size: int) -> Any:  # noqa: ANN401
    """Something that is no column, or none of numbers, or of another length."""
    return draw.pick(HOSTILE)(draw, size)


def plain_scores(draw: Draw, size: int, make: Maker | None = None) -> Any:  # noqa: ANN401
    """Scores, or what else is made, as an array of floats; plain ones where they are none."""
    try:
        return np.asarray((make or scores)(draw, size), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return draw.numpy.random(size)
