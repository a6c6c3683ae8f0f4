"""One network fitted to a table: rows held back, inputs scaled, a strength or a limit obeyed.

Inputs are standardised, and so is the target of a regression. The objective is that of the target
in its own unit: with y = μ + σ y', squared errors carry σ² and a penalty of order p carries σ^p, so
a strength is multiplied by σ^{p-2} inside.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch

from likeforlike.cells import Cells
from likeforlike.columns import Codes
from likeforlike.contrasts import contrasts
from likeforlike.errors import UnmetLimitWarning
from likeforlike.inference import Estimate, estimate
from likeforlike.measures import level_weights
from likeforlike.nn.batches import spread_order
from likeforlike.nn.data import Rows
from likeforlike.nn.objectives import Loss, scores_of
from likeforlike.nn.path import Candidate, search_path
from likeforlike.nn.stacked import StackedMLP
from likeforlike.nn.training import Epoch, Follow, Recipe, train
from likeforlike.penalties import Layout
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = [
    "Fitted",
    "Scale",
    "Table",
    "fit_network",
    "held_out",
    "scale_of",
    "tensors",
    "validation_disparity",
]

# Fewer rows than this are too few to hold any back; so few also afford double precision.
_SMALL = 100


@dataclass(frozen=True, slots=True)
class Table:
    """What a network is fitted to.

    Attributes
    ----------
    inputs : (n, d) floats.
    targets : (n,) floats, or classes as integers.
    weight : (n,) positive floats, or `None`.
    layout : groups and levels, or `None` where there is nothing to penalise.
    """

    inputs: FloatArray
    targets: FloatArray | IntArray
    weight: FloatArray | None
    layout: Layout | None

    def take(self, rows: IntArray) -> Table:
        """Some of the rows."""
        return Table(
            self.inputs[rows],
            self.targets[rows],
            None if self.weight is None else self.weight[rows],
            None if self.layout is None else self.layout.take(rows),
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Standardisation of the inputs, and of the target of a regression."""

    mean: FloatArray
    spread: FloatArray
    target_mean: float = 0.0
    target_spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network that predicts in the unit of the target.

    Attributes
    ----------
    network : a stack of one.
    scale, loss : what surrounds it.
    strength : what it was trained with.
    path : strengths tried for a limit.
    curve : what every epoch found.
    disparity : on the validation rows; `None` without groups.
    """

    network: StackedMLP
    scale: Scale
    loss: Loss
    strength: float
    path: tuple[Candidate, ...]
    curve: tuple[Epoch, ...]
    disparity: Estimate | None

    @torch.no_grad()
    def scores(self, inputs: FloatArray) -> FloatArray:
        """Scores (n,) or (n, c) of inputs (n, d)."""
        scaled = (inputs - self.scale.mean) / self.scale.spread
        dtype = self.network.weights[0].dtype
        outputs = self.network(torch.tensor(scaled, dtype=dtype)[None])
        plain: FloatArray = scores_of(outputs, self.loss)[0].double().numpy()
        return self.scale.target_mean + self.scale.target_spread * plain


def fit_network(
    table: Table,
    recipe: Recipe,
    sizes: tuple[int, ...],
    *,
    strength: float,
    limit: float | None,
    validation_fraction: float,
    seed: int,
    follow: Follow | None = None,
) -> Fitted:
    """Fit one network with a strength, or within a limit of its disparity.

    Parameters
    ----------
    table : rows to train on; some are held back for validation, with their share of every cell.
    recipe : how; its penalty is used where the table has a layout.
    sizes : of the network, outputs included.
    strength : of the penalty, for targets in their own unit.
    limit : the largest disparity allowed on the validation rows, instead of a strength.
    validation_fraction : share of rows held back; none below 100 rows.
    seed : of everything random.
    follow : called after every epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.nn.fit import Table, fit_network
    >>> from likeforlike.nn.training import Recipe
    >>> inputs = np.linspace(0, 1, 50)[:, None]
    >>> table = Table(inputs, 3.0 * inputs[:, 0], None, None)
    >>> recipe = Recipe(learning_rate=0.03, max_epochs=200)
    >>> fitted = fit_network(
    ...     table, recipe, (1, 8, 1), strength=0.0, limit=None, validation_fraction=0.2, seed=0
    ... )
    >>> bool(abs(fitted.scores(inputs) - table.targets).max() < 0.3)
    True
    """
    held = held_out(table, recipe.loss, validation_fraction, seed)
    rest = np.setdiff1d(np.arange(len(table.inputs)), held)
    seen = table.take(rest)
    scale = scale_of(seen, recipe.loss)
    dtype = torch.float32 if held.size else torch.float64
    rows = tensors(seen, scale, recipe.loss, dtype)
    validation = tensors(table.take(held), scale, recipe.loss, dtype) if held.size else rows
    unit = 1.0
    if recipe.penalty is not None:
        unit = scale.target_spread ** (recipe.penalty.order - 2.0)
    curve: list[Epoch] = []

    def note(epoch: Epoch) -> None:
        curve.append(epoch)
        if follow is not None:
            follow(epoch)

    path: tuple[Candidate, ...] = ()
    if limit is None or table.layout is None:
        network = StackedMLP([seed], sizes).to(rows.inputs.dtype)
        strengths = np.array([strength * unit])
        found = train(
            network,
            rows,
            validation,
            recipe,
            strengths=strengths,
            seeds=np.array([seed]),
            follow=note,
        )
        chosen = found.network
    else:
        chosen, strength, path = _within(
            limit, rows, validation, recipe, sizes, seed, unit, scale, note
        )
    grouped = validation.layout if table.layout is not None else None
    disparity = None if grouped is None else _disparity_of(chosen, validation, recipe.loss, scale)
    return Fitted(chosen, scale, recipe.loss, strength, path, tuple(curve), disparity)


def _within(
    limit: float,
    rows: Rows,
    validation: Rows,
    recipe: Recipe,
    sizes: tuple[int, ...],
    seed: int,
    unit: float,
    scale: Scale,
    follow: Follow,
) -> tuple[StackedMLP, float, tuple[Candidate, ...]]:
    def disparity(scores: FloatArray) -> float:
        return validation_disparity(scores, validation.layout).value * scale.target_spread

    path = search_path(
        sizes,
        rows,
        validation,
        recipe,
        limit=limit,
        disparity=disparity,
        seed=seed,
        unit=unit,
        follow=follow,
    )
    if not path.met:
        warnings.warn(
            f"no strength kept the disparity on the validation rows at {limit:g} or below; the "
            f"least was {path.chosen.disparity:.4g}, at strength {path.chosen.strength:g}.",
            UnmetLimitWarning,
            stacklevel=5,
        )
    network = path.trained.network.select(torch.tensor([path.member]))
    return network, path.chosen.strength, path.candidates


@torch.no_grad()
def _disparity_of(network: StackedMLP, rows: Rows, loss: Loss, scale: Scale) -> Estimate:
    plain = scores_of(network(rows.inputs), loss)[0].double().numpy()
    return validation_disparity(scale.target_mean + scale.target_spread * plain, rows.layout)


def validation_disparity(scores: FloatArray, layout: Layout) -> Estimate:
    """Conditional disparity of scores without small-sample bias, as an audit finds it.

    The largest of all pairs of groups and of all classes; levels weigh P(L).

    Parameters
    ----------
    scores : (n,) or (n, c) floats.
    layout : of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.nn.fit import validation_disparity
    >>> from likeforlike.penalties import Layout
    >>> scores = np.r_[np.linspace(0, 1, 500), np.linspace(0.2, 1.2, 500)]
    >>> found = validation_disparity(scores, Layout.of_rows(["f"] * 500 + ["m"] * 500))
    >>> found.interval[0] < 0.2 < found.interval[1]
    True
    """
    columns = scores[:, None] if scores.ndim == 1 else scores
    level = Codes(layout.segments[0] // len(layout.groups), layout.levels)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    weight = layout.mass[0] if layout.mass.size else None
    found: list[Estimate] = []
    for column in columns.T:
        values = np.ascontiguousarray(column)
        cells = Cells.from_codes(level, group, values, sample_weight=weight)
        found.extend(
            estimate(contrast, level_weights(contrast, "marginal"))
            for contrast in contrasts(cells, "pairwise")
            if contrast.support.any()
        )
    return max(found, key=lambda one: one.squared)


def held_out(table: Table, loss: Loss, fraction: float, seed: int) -> IntArray:
    """Rows held back, with their share of every cell and of the classes inside it.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.nn.fit import Table, held_out
    >>> table = Table(np.zeros((200, 1)), np.zeros(200), None, None)
    >>> held_out(table, "squared", 0.2, seed=0).size
    40
    """
    size = len(table.inputs)
    if size < _SMALL:
        return np.empty(0, np.int64)
    cells = np.zeros(size, np.int64) if table.layout is None else table.layout.segments[0]
    if loss != "squared":
        combined = cells * (int(table.targets.max()) + 1) + table.targets.astype(np.int64)
        cells = np.unique(combined, return_inverse=True)[1]
    order = spread_order(cells, np.random.default_rng([seed, 2]))
    return np.sort(order[: max(1, int(fraction * size))])


def scale_of(table: Table, loss: Loss) -> Scale:
    """Standardisation by the rows of a table, with their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.nn.fit import Table, scale_of
    >>> table = Table(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]), None, None)
    >>> found = scale_of(table, "squared")
    >>> found.mean, found.target_mean
    (array([1.]), 2.0)
    """
    size, weight = len(table.inputs), table.weight
    share = np.full(size, 1.0 / size) if weight is None else weight / weight.sum()
    mean = share @ table.inputs
    spread = np.sqrt(share @ (table.inputs - mean) ** 2)
    # A constant input says nothing; one that is constant up to rounding must not be blown up.
    spread[spread <= 1e-12 * np.maximum(np.abs(mean), 1.0)] = 1.0
    if loss != "squared":
        return Scale(mean, spread)
    middle = float(share @ table.targets)
    height = float(np.sqrt(share @ (table.targets - middle) ** 2))
    return Scale(mean, spread, middle, height if height > 0.0 else 1.0)


def tensors(table: Table, scale: Scale, loss: Loss, dtype: torch.dtype) -> Rows:
    """Rows of a table, standardised, as one data set of a stack.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from likeforlike.nn.fit import Table, scale_of, tensors
    >>> table = Table(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]), None, None)
    >>> tensors(table, scale_of(table, "squared"), "squared", torch.float64).targets
    tensor([[-1.,  1.]], dtype=torch.float64)
    """
    size = len(table.inputs)
    inputs = torch.tensor((table.inputs - scale.mean) / scale.spread, dtype=dtype)
    targets = (table.targets - scale.target_mean) / scale.target_spread
    kind = torch.int64 if loss == "softmax" else dtype
    weight = None if table.weight is None else torch.tensor(table.weight, dtype=dtype)[None]
    layout = Layout.single(size) if table.layout is None else table.layout
    return Rows(inputs[None], torch.tensor(targets, dtype=kind)[None], layout, weight)
