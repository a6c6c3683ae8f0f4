"""A trained network as a plain file, and its scores for a new table.

The file is JSON: which columns the network reads, how they are scaled, and its weights. It is read
without torch, and nothing in it is executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of
from likeforlike.disparity import encode, numbers, refuse_mask
from likeforlike.errors import InputError
from likeforlike.files import write_whole

TaskName = Literal["classification", "regression"]
"""What a model was trained for."""

_FORMAT = "likeforlike model 1"


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column that a model reads.

    Attributes
    ----------
    name : of the column.
    values : of a nominal column, which becomes one input 1{x = v} for each; `None` for numbers.

    Examples
    --------
    >>> from likeforlike.training import InputColumn
    >>> InputColumn("city", ("Oslo", "Rome")).matrix(["Rome"])
    array([[0., 1.]])
    """

    name: str
    values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"the name of a column must be text, not {self.name!r}.")
        if self.values is None:
            return
        values: object = self.values
        known = isinstance(values, tuple) and all(isinstance(v, str) for v in values)
        if not known or not 0 < len(set(self.values)) == len(self.values):
            raise InputError(
                f"column {self.name!r} must have None or different texts as its values."
            )

    @property
    def width(self) -> int:
        """How many inputs it becomes."""
        return 1 if self.values is None else len(self.values)

    def matrix(self, column: Any) -> FloatArray:  # noqa: ANN401
        """Return inputs (n, 1) or (n, k) of a column of n values."""
        label = f"column {self.name!r}"
        if self.values is None:
            return numbers(column, label)[:, None]
        refuse_mask(column, label)
        # The same text for a value as in training, where polars wrote it: True is "true".
        codes, labels = encode(_texts(column, label), label)
        known = {value: place for place, value in enumerate(self.values)}
        names = [str(value) for value in labels]
        for code, name in enumerate(names):
            if name not in known:
                row = int(np.flatnonzero(codes == code)[0])
                raise InputError(
                    f"{label} has the value {name!r} in row {row}, which the model has never seen; "
                    f"it knows {list(self.values)}."
                )
        places = np.array([known[name] for name in names], dtype=np.int64)
        matrix = np.zeros((codes.size, len(self.values)))
        matrix[np.arange(codes.size), places[codes]] = 1.0
        return matrix


@dataclass(frozen=True)
class SavedModel:
    """A trained network: s = g(relu(...relu(x W_1 + b_1)...) W_k + b_k) of scaled inputs x.

    Attributes
    ----------
    columns : what it reads.
    mean, spread : (d,) floats that scale the inputs, x = (raw - mean) / spread.
    weights : W_1 (d, h_1), b_1 (1, h_1), W_2 (h_1, h_2), and so on.
    task : `"classification"`, where g is the logistic function, or `"regression"`.
    made_by : method, strength and seed, and whatever else should be known of it.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.training import InputColumn, SavedModel
    >>> model = SavedModel(
    ...     (InputColumn("debt"),), np.zeros(1), np.ones(1), (np.eye(1), np.zeros((1, 1))),
    ...     "regression", {"method": "by hand"},
    ... )
    >>> model.scores({"debt": [1.0, 2.0]})
    array([1., 2.])
    """

    columns: tuple[InputColumn, ...]
    mean: FloatArray
    spread: FloatArray
    weights: tuple[FloatArray, ...]
    task: TaskName
    made_by: dict[str, Any]

    def __post_init__(self) -> None:
        if not is_one_of(self.task, get_args(TaskName)):
            raise InputError(f"task must be one of {get_args(TaskName)}, not {self.task!r}.")
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            raise InputError(f"columns must be at least one, with different names, not {names}.")
        width = sum(column.width for column in self.columns)
        for name, part in (("mean", self.mean), ("spread", self.spread)):
            _check_array(name, part, (width,))
        if not (self.spread > 0.0).all():
            raise InputError("spread must be more than 0 for every input.")
        _check_layers(self.weights, width)

    def scores(self, table: Any) -> FloatArray:  # noqa: ANN401
        """Compute scores (n,) of a table: pandas, polars, Arrow, or a mapping of columns."""
        parts = [column.matrix(_column(table, column.name)) for column in self.columns]
        for column, part in zip(self.columns[1:], parts[1:], strict=True):
            if len(part) != len(parts[0]):
                raise InputError(
                    f"column {column.name!r} has {len(part)} row(s), but column "
                    f"{self.columns[0].name!r} has {len(parts[0])}."
                )
        inputs = np.hstack(parts)
        with np.errstate(over="ignore", invalid="ignore"):
            hidden = (inputs - self.mean) / self.spread
            for weight, bias in zip(self.weights[:-2:2], self.weights[1:-2:2], strict=True):
                hidden = np.maximum(hidden @ weight + bias, 0.0)
            outputs = (hidden @ self.weights[-2] + self.weights[-1])[:, 0]
        scores: FloatArray = (
            outputs if self.task == "regression" else 0.5 * (1.0 + np.tanh(0.5 * outputs))
        )
        refuse_lost_rows(scores)
        return scores

    def save(self, path: Path | str) -> None:
        """Write the model to `path` as JSON, whole or not at all; `likeforlike.load` reads it."""
        document = {
            "format": _FORMAT,
            "made_by": self.made_by,
            "task": self.task,
            "columns": [asdict(column) for column in self.columns],
            "mean": self.mean.tolist(),
            "spread": self.spread.tolist(),
            "weights": [weight.tolist() for weight in self.weights],
        }
        write_whole(path, json.dumps(document, allow_nan=False) + "\n")


def refuse_lost_rows(scores: FloatArray, source: str = "") -> None:
    """Raise where scores (n,) or (n, c) of rows of a source, as " of X", are not finite."""
    lost = np.flatnonzero(~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1))
    if lost.size:
        raise InputError(
            f"row {lost[0]}{source} is so far from the training rows that it has no score; "
            f"there are {lost.size} such row(s)."
        )


def _check_array(name: str, part: FloatArray, shape: tuple[int, ...]) -> None:
    """Raise unless a part holds finite numbers in this shape."""
    if part.shape != shape:
        raise InputError(f"{name} must have the shape {shape}, not {part.shape}.")
    if not np.isfinite(part).all():
        raise InputError(f"{name} must hold finite numbers.")


def _check_layers(weights: tuple[FloatArray, ...], width: int) -> None:
    """Raise unless weights and biases follow each other from the inputs to one output."""
    if len(weights) < 2 or len(weights) % 2:
        raise InputError(f"weights must be pairs of a matrix and a bias, not {len(weights)} parts.")
    sizes = [width, *(bias.size for bias in weights[1::2])]
    if sizes[-1] != 1:
        raise InputError(f"weights must end in one output, not {sizes[-1]}.")
    for layer, (before, after) in enumerate(pairwise(sizes)):
        _check_array(f"weights {2 * layer}", weights[2 * layer], (before, after))
        _check_array(f"weights {2 * layer + 1}", weights[2 * layer + 1], (1, after))


def _texts(column: Any, label: str) -> pl.Series:  # noqa: ANN401
    if isinstance(column, list | tuple) or getattr(column, "dtype", None) == np.dtype(object):
        _refuse_no_numbers(column, label)
    try:
        return pl.Series(column).cast(pl.String)
    # polars calls decimals beyond 128 bits a RuntimeError.
    except (TypeError, ValueError, RuntimeError, OverflowError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{label} must be a column of values: {reason}.") from error


def _refuse_no_numbers(items: Iterable[object], label: str) -> None:
    """Refuse decimals that are no numbers: polars does not complain of them, it panics."""
    for row, item in enumerate(items):
        if isinstance(item, Decimal) and not item.is_finite():
            raise InputError(f"{label} has the value {item} in row {row}, which is no number.")


def _column(table: Any, name: str) -> Any:  # noqa: ANN401
    """Return one column of a table of any kind."""
    if isinstance(table, dict):
        if name in table:
            return table[name]
        names = list(table)
    else:
        frame = nw.from_native(table, eager_only=True)
        if name in frame.columns:
            return frame[name].to_polars()
        names = frame.columns
    raise InputError(f"there is no column {name!r}, which the model reads; the table has {names}.")


def model_from_document(document: dict[str, Any]) -> SavedModel:
    """Make the model that a document describes; `SavedModel` checks its parts."""
    if not isinstance(document["made_by"], dict):
        raise InputError("made_by must have named parts.")
    columns = tuple(
        InputColumn(
            each["name"],
            None if each["values"] is None else tuple(_list(each["values"], "values")),
        )
        for each in _list(document["columns"], "columns")
    )
    return SavedModel(
        columns,
        _floats(document["mean"], "mean"),
        _floats(document["spread"], "spread"),
        tuple(_floats(each, "weights") for each in _list(document["weights"], "weights")),
        document["task"],
        document["made_by"],
    )


def _list(part: object, name: str) -> list[Any]:
    if not isinstance(part, list):
        raise InputError(f"{name} must be a list.")
    return part


def _floats(part: object, name: str) -> FloatArray:
    """Return numbers of a document as an array; text, truth values and ragged lists are none."""
    array = np.array(_list(part, name))
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} must hold numbers in lists of equal length.")
    return array.astype(np.float64)
