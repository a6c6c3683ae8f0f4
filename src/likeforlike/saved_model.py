"""A trained network as a plain file, and its scores for a new table.

The file is JSON: which columns the network reads, how they are scaled, and its weights. It is read
without torch, and nothing in it is executed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from likeforlike.columns import encode, numbers
from likeforlike.errors import InputError
from likeforlike.files import write_whole
from likeforlike.transport.atoms import FloatArray

__all__ = ["InputColumn", "SavedModel", "read_model"]

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
    >>> from likeforlike.saved_model import InputColumn
    >>> InputColumn("city", ("Oslo", "Rome")).matrix(["Rome"])
    array([[0., 1.]])
    """

    name: str
    values: tuple[str, ...] | None = None

    def matrix(self, column: Any) -> FloatArray:  # noqa: ANN401
        """Inputs (n, 1) or (n, k) of a column of n values."""
        label = f"column {self.name!r}"
        if self.values is None:
            return numbers(column, label)[:, None]
        # The same text for a value as in training, where polars wrote it: True is "true".
        codes, labels = encode(pl.Series(column).cast(pl.String), label)
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
    >>> from likeforlike.saved_model import InputColumn, SavedModel
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
    task: Literal["classification", "regression"]
    made_by: dict[str, Any]

    def scores(self, table: Any) -> FloatArray:  # noqa: ANN401
        """Scores (n,) of the rows of a table: pandas, polars, Arrow, or a mapping of columns."""
        inputs = np.hstack([column.matrix(_column(table, column.name)) for column in self.columns])
        hidden = (inputs - self.mean) / self.spread
        for weight, bias in zip(self.weights[:-2:2], self.weights[1:-2:2], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        outputs: FloatArray = (hidden @ self.weights[-2] + self.weights[-1])[:, 0]
        if self.task == "regression":
            return outputs
        scores: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * outputs))
        return scores

    def write(self, path: Path | str) -> None:
        """Write the model to `path` as JSON, whole or not at all."""
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


def _column(table: Any, name: str) -> Any:  # noqa: ANN401
    """One column of a table, whatever kind of table it is."""
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


def read_model(path: Path | str) -> SavedModel:
    """Read a model that `SavedModel.write` has written to `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from likeforlike.saved_model import InputColumn, SavedModel, read_model
    >>> model = SavedModel(
    ...     (InputColumn("debt"),), np.zeros(1), np.ones(1), (np.eye(1), np.zeros((1, 1))),
    ...     "regression", {},
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.write(Path(folder) / "model.json")
    ...     read_model(Path(folder) / "model.json").scores({"debt": [3.0]})
    array([3.])
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the model {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is no model: it is not JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path} is no model: it does not say {_FORMAT!r}.")
    columns = tuple(
        InputColumn(each["name"], None if each["values"] is None else tuple(each["values"]))
        for each in document["columns"]
    )
    return SavedModel(
        columns,
        np.array(document["mean"]),
        np.array(document["spread"]),
        tuple(np.array(weight) for weight in document["weights"]),
        document["task"],
        document["made_by"],
    )
