"""A run of a sweep as a model to keep: trained once more, from the same seed."""

from __future__ import annotations

from dataclasses import replace

from likeforlike.disparity._columns import encode
from likeforlike.errors import InputError
from likeforlike.experiments._methods import Method, as_network
from likeforlike.experiments._split import input_scale
from likeforlike.experiments._task import Task
from likeforlike.training._saved_model import InputColumn, SavedModel


def fit_model(task: Task, method: Method, *, strength: float, random_state: int = 0) -> SavedModel:
    """The network of one run, as a model to keep.

    A sweep keeps figures, not networks. The same seed gives the same network again, to the rounding
    of stacked arithmetic, so the one that was chosen is trained once more.

    Parameters
    ----------
    task, method : of the sweep.
    strength : of the run.
    random_state : of the run; the rows it trains on follow from it.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Penalized, Task, fit_model
    >>> loans = make_loans(500)
    >>> method = Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())
    >>> model = fit_model(Task(loans, max_epochs=2), method, strength=10.0)
    >>> model.scores(loans.frame).shape
    (500,)
    """
    network_method = as_network(method)
    if task.encoding != "one-hot":
        raise InputError("only models of one-hot inputs can be kept.")
    visible = network_method.seen(task)
    parts = visible.split([random_state])
    network = replace(network_method, strengths=(strength,)).networks(visible, parts)
    matrix = visible.data.inputs(with_sensitive=visible.with_sensitive).matrix[parts.train_rows[0]]
    mean, spread = input_scale(matrix)
    *weights, last, bias = (weight[0].detach().double().numpy() for weight in network.weights)
    # The last layer gives scores in the unit of the target.
    weights += [last * parts.target_spread[0], parts.natural(bias[None])[0]]
    return SavedModel(
        _columns(visible),
        mean,
        spread,
        tuple(weights),
        visible.data.task,
        {"method": method.name, "strength": strength, "seed": random_state},
    )


def _columns(task: Task) -> tuple[InputColumn, ...]:
    """The columns that the networks of a task read."""
    data = task.data
    last = (data.sensitive,) if task.with_sensitive else ()
    columns = []
    for name in dict.fromkeys((*data.features, *last)):
        column = data.frame[name].alias("column")  # polars takes some names for patterns
        if column.dtype.is_numeric():
            columns.append(InputColumn(name))
        else:
            values = encode(column.cast(str), f"column {name!r}").labels
            columns.append(InputColumn(name, tuple(str(value) for value in values)))
    return tuple(columns)
