"""Penalty: a disparity with its gradient.

A penalty is an un-rooted disparity V(f) of scores f in R^n given their groups and levels, with
∂V / ∂f. Scores with several columns, one per class, are penalized class by class and summed.
Levels where only one group occurs cannot be compared; their rows get gradient 0, and
`Layout.coverage` reports how many they are.

Limits have to hold for every pair of groups, and a mean over pairs depends little on a small group.
`WorstPair` is the penalty of the pair that differs most at the moment,

    V(f) = max_{a<b} V_ab(f),

with V_ab the penalty of the rows of groups a and b alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity import Column, numbers, refuse_mask
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout
from likeforlike.transport import Scale, choose_scale, is_moderate, moderate_weights, rescale_cost

# Disparities below this share of the reach do not make parabolas any steeper.
_LEAST = 0.01


def scale_models(
    scores: FloatArray, layout: Layout, order: float
) -> tuple[FloatArray, FloatArray, Layout]:
    """Scale scores (m, n) so that costs can be computed; return them, their sizes, and the layout.

    With s = size the cost of scores is s^p times that of scores divided by s, and its gradient is
    s^{p-1} times theirs (`restore_models`). Sizes are (m,), or (1,) where all are 1. Rows of soft
    groups, which have several copies, become rows of their own.
    """
    scores, layout = layout.repeat_copies(scores), layout.separate_copies()
    ends = zip(scores.min(axis=1).tolist(), scores.max(axis=1).tolist(), strict=True)
    scales = [_choose_scale(lowest, highest, order) for lowest, highest in ends]
    if scales.count(Scale()) == len(scales):
        return scores, np.ones(1), layout
    scaled = np.stack([scale.inward(row) for scale, row in zip(scales, scores, strict=True)])
    return scaled, np.array([scale.size for scale in scales]), layout


def restore_models(
    values: FloatArray, gradients: FloatArray, sizes: FloatArray, layout: Layout, order: float
) -> tuple[FloatArray, FloatArray]:
    """Return values and gradients of scores from those of scaled ones; values may be infinite.

    The layout is the one before scaling: gradients of copies of a row are added up.
    """
    for k, size in enumerate(sizes.tolist()):
        if size != 1.0:
            values[k] = Scale(size=size).powered(float(values[k]), order)
            gradients[k] = rescale_cost(gradients[k], size, order - 1.0)
    return values, layout.sum_copies(gradients)


def _choose_scale(lowest: float, highest: float, order: float) -> Scale:
    """Choose the scale of one model's scores; a model that has diverged is not scaled."""
    # Where they lie does not matter here: costs and slopes are made of differences.
    if not math.isfinite(highest - lowest) or is_moderate(highest - lowest, order):
        return Scale()
    return choose_scale(lowest, highest, order)


class AnchorSlopes(NamedTuple):
    """Values and slopes of a penalty at every place of every row; rows have one place, or two.

    Attributes
    ----------
    values : (m,) floats.
    scores : (m, c n) floats, as they are compared there.
    slopes : (m, c n) floats, how the value changes with each of them.
    lines : (m, K, 3) floats where a line is subtracted from the scores of every level: its slope,
        its center, and the adjoint of its slope; else (0, 0, 0).
    """

    values: FloatArray
    scores: FloatArray
    slopes: FloatArray
    lines: FloatArray


class Penalty(ABC):
    """A differentiable disparity.

    A new penalty is a frozen dataclass with a method `evaluate` for the scores of many models at
    once, and `transported_mass`; everything else follows.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> value, gradient = lfl.FairLeap().value_and_grad([0.2, 0.6], ["f", "m"])
    >>> round(value, 12), gradient
    (0.16, array([-0.8,  0.8]))
    """

    order: float

    @property
    def degree(self) -> float:
        """With scores twice as large the value is 2^degree times as large: p, but for roots."""
        return self.order

    @abstractmethod
    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Compute values (m,) and gradients (m, n) of the scores (m, n) of m models on a layout."""

    @abstractmethod
    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute the mass (n,) moved to or from each row of a layout, whatever the scores."""

    def prepare(self, layout: Layout) -> Layout:
        """Precompute all of a layout that does not depend on scores, for many evaluations."""
        return layout.expand_soft_groups()

    def evaluate_at_anchors(self, scores: FloatArray, layout: Layout) -> AnchorSlopes:
        """Evaluate scores on a layout, with what slope fields are made of."""
        copied = layout.repeat_copies(scores)
        values, gradients = self.evaluate(copied, layout.separate_copies())
        return AnchorSlopes(values, copied, gradients, np.empty((0, 0, 0)))

    def comparison_layout(self, layout: Layout) -> Layout:
        """Return the (prepared) layout in whose levels rows are compared."""
        return layout

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Permute groups of a prepared layout by `rng` among rows that are compared.

        The value there estimates that of a penalty of as few rows without any disparity. `None`
        where groups cannot be permuted: rows in several places, or of soft groups.
        """
        return layout.permute_groups(rng) if layout.places == 1 else None

    def check(self, layout: Layout) -> None:
        """Raise unless there is something to compare in the rows of the layout."""
        layout.check_common_support()

    def hessian_diagonal(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """Bound the second derivative at `scores` on a `layout` by a positive diagonal (n,).

        With the plan held fixed, V(f + d) is at most Σ m_k |u + d_i - v - d_j|^p over its moves k,
        and (d_i - d_j)² <= 2 d_i² + 2 d_j². For order 2 therefore

            V(f + d) <= V(f) + ∂V·d + ½ Σ_i c_i d_i²,   c_i = 4 * moved_i.

        For p > 2 the second derivative of |x|^p takes its largest value over the reach R of the
        scores, p (p - 1) R^{p-2}; for p < 2, where it is not bounded, that of the parabola which
        touches |x|^p at the size of the disparity.
        """
        prepared = self.prepare(layout)
        moved = prepared.sum_places(self.transported_mass(prepared))
        bound: FloatArray = np.zeros(moved.size)
        np.multiply(2.0 * self.max_curvature(scores, prepared), moved, out=bound, where=moved > 0.0)
        return bound

    def max_curvature(self, scores: FloatArray, layout: Layout) -> float:
        """Bound the curvature at scores (n,) per unit of moved mass of a prepared layout."""
        scale = choose_scale(float(scores.min()), float(scores.max()), self.order)
        scaled = scale.inward(scores)
        reach = float(np.ptp(scaled))
        steepness = 2.0
        if self.order > 2.0:
            steepness = self.order * (self.order - 1.0) * reach ** (self.order - 2.0)
        elif self.order < 2.0 and reach > 0.0:
            value = float(self.evaluate(scaled[None], layout)[0][0])
            size = max(value ** (1.0 / self.order), _LEAST * reach)
            steepness = self.order * size ** (self.order - 2.0)
        return scale.powered(steepness, self.order - 2.0)

    def value_and_grad(
        self,
        scores: Column,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> tuple[float, FloatArray]:
        """Compute the value of the penalty and its gradient with respect to the scores.

        Parameters
        ----------
        scores : (n,) finite numbers, or (n, c), one column per class.
        sensitive_features : (n,) labels of the sensitive feature, two or more, or `SoftGroups`.
        legitimate_features : (n,) labels of the legitimate features; `None` means one level.
        sample_weight : (n,) numbers >= 0.

        Returns
        -------
        value : float.
        gradient : floats in the shape of the scores.
        """
        values = _score_array(scores, axes=(1, 2))
        one, gradient = self.batch_value_and_grad(
            values[None], sensitive_features, legitimate_features, sample_weight
        )
        return float(one[0]), gradient[0]

    def batch_value_and_grad(
        self,
        scores: Column,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the same for the scores of many models on the same rows, in parallel.

        Parameters
        ----------
        scores : (m, n) finite numbers, or (m, n, c).
        sensitive_features, legitimate_features, sample_weight : (n,) each, as for `value_and_grad`.

        Returns
        -------
        values : (m,) floats.
        gradients : floats in the shape of the scores.
        """
        values = _score_array(scores, axes=(2, 3))
        layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
        if values.shape[1] != layout.size:
            raise InputError(f"groups has {layout.size} row(s), but scores have {values.shape[1]}.")
        layout = self.prepare(layout)
        self.check(layout)
        if values.ndim == 2:
            return self.evaluate(values, layout)
        return self.evaluate_classes(values, layout)

    def evaluate_classes(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Evaluate scores (m, n, c) on a layout of n rows; values (m,) are sums over classes."""
        models, rows, classes = scores.shape
        flat = np.ascontiguousarray(scores.transpose(0, 2, 1)).reshape(models * classes, rows)
        repeated = layout.select_splits(np.repeat(np.arange(len(layout.segments)), classes))
        values, gradients = self.evaluate(flat, repeated)
        by_class = gradients.reshape(models, classes, rows).transpose(0, 2, 1)
        return values.reshape(models, classes).sum(axis=1), np.ascontiguousarray(by_class)


def _score_array(scores: Column, axes: tuple[int, int]) -> FloatArray:
    """Convert scores to finite floats with one of the given numbers of axes."""
    refuse_mask(scores, "scores")
    try:
        if np.ndim(scores) == 1 and 1 in axes:
            return numbers(scores, "scores")
        values = np.ascontiguousarray(scores, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"scores must be numbers: {error}.") from error
    if values.ndim not in axes or values.size == 0:
        wanted = " or ".join(f"{n}-dimensional" for n in axes)
        raise InputError(
            f"scores must be {wanted} and not empty, but their shape is {values.shape}."
        )
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = tuple(int(k) for k in bad[0])
        raise InputError(
            f"scores have {len(bad)} missing or infinite value(s), the first at {where}."
        )
    return values


def pair_weights(mass: FloatArray) -> FloatArray:
    """Compute weights ω_a ω_b / Σ_{a<b} ω_a ω_b of pairs of groups from their mass (G,)."""
    mass = moderate_weights(mass)
    products = np.outer(mass, mass)
    np.fill_diagonal(products, 0.0)
    shares: FloatArray = products / max(products.sum() / 2.0, np.finfo(float).tiny)
    return shares


def mass_between_groups(layout: Layout) -> FloatArray:
    """Compute mass moved to or from each row between whole groups: 1 / n_a for two. Shape (n,)."""
    mass = layout.cell_mass().sum(axis=0)
    per_row = pair_weights(mass).sum(axis=1) / np.maximum(mass, np.finfo(float).tiny)
    return layout.cell_values_by_row(np.broadcast_to(per_row, (len(layout.levels), per_row.size)))


def worst_pair_penalty(penalty: Penalty, layout: Layout) -> Penalty:
    """Return the penalty of the worst pair of groups; the penalty itself for two groups.

    Groups that are compared along a number share their anchors, and the penalty stays as it is.
    """
    if len(layout.groups) < 3 or penalty.prepare(layout).away.size:
        return penalty
    return WorstPair(penalty)


@dataclass(frozen=True)
class WorstPair(Penalty):
    """The largest value of a penalty over all pairs of groups."""

    penalty: Penalty
    order: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.penalty.order)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Evaluate the penalty of all pairs; return those of each model's worst pair."""
        largest, slopes = np.full(len(scores), -np.inf), np.zeros(scores.shape)
        for pair in _pairs(layout):
            values, gradients = self.penalty.evaluate(scores, pair)
            larger = values > largest
            largest[larger], slopes[larger] = values[larger], gradients[larger]
        return largest, slopes

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Sum the mass (n,) that the plans of all pairs move to or from each row."""
        moved: FloatArray = np.sum(
            [self.penalty.transported_mass(pair) for pair in _pairs(layout)], axis=0
        )
        return moved

    def prepare(self, layout: Layout) -> Layout:
        """Prepare the layout for the inner penalty."""
        return self.penalty.prepare(layout)

    def comparison_layout(self, layout: Layout) -> Layout:
        """Return the layout in whose levels the inner penalty compares rows."""
        return self.penalty.comparison_layout(layout)

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Permute groups as the inner penalty does."""
        return self.penalty.permute_under_parity(layout, rng)

    def check(self, layout: Layout) -> None:
        """Raise unless the inner penalty has something to compare."""
        self.penalty.check(layout)


def _pairs(layout: Layout) -> Iterator[Layout]:
    """Yield the layout for each pair of groups, with weight 0 for rows of other groups."""
    group = layout.segments % len(layout.groups)
    for pair in combinations(range(len(layout.groups)), 2):
        inside = np.isin(group, pair).astype(np.float64)
        yield replace(layout, mass=layout.mass * inside if layout.mass.size else inside)
