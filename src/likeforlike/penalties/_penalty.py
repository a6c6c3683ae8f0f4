"""Penalty: a disparity with its gradient.

A penalty is an un-rooted disparity V(f) of scores f in R^n given their groups and levels, with
∂V / ∂f. Scores with several columns, one per class, are penalized class by class and summed.
Levels where only one group occurs cannot be compared; their rows get gradient 0, and
`Layout.coverage` says how many they are.

Limits have to hold for every pair of groups, and a mean over pairs depends little on a small group.
`WorstPair` is the penalty of the pair that differs most at the moment,

    V(f) = max_{a<b} V_ab(f),

with V_ab the penalty of the rows of groups a and b alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity import Column, numbers, refuse_masked
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout
from likeforlike.transport import Scale, is_moderate, moderate, powered, scale_of

# Disparities below this share of the reach do not make parabolas any steeper.
_LEAST = 0.01


def evaluate_scaled(
    evaluate: Callable[[FloatArray, Layout, Scale], tuple[FloatArray, FloatArray]],
    scores: FloatArray,
    layout: Layout,
    order: float,
) -> tuple[FloatArray, FloatArray]:
    """Values and gradients of scores (m, n) of any size, by what evaluates those of moderate size.

    With s = size the cost of scores is s^p times that of scores divided by s, and its gradient is
    s^{p-1} times theirs. A value that is too large to be held is infinite; its gradient may not be.
    Rows that are there several times, as those of soft groups are, have the sum of the slopes.
    """
    if layout.copies > 1:
        copied = layout.repeat_copies(scores)
        found, slopes = evaluate_scaled(evaluate, copied, layout.separate_copies(), order)
        return found, layout.sum_copies(slopes)
    ends = list(zip(scores.min(axis=1).tolist(), scores.max(axis=1).tolist(), strict=True))
    scales = [_scale_between(lowest, highest, order) for lowest, highest in ends]
    if scales.count(Scale()) == len(scales):
        return evaluate(scores, layout, Scale())
    values, gradients = np.empty(len(scores)), np.empty(scores.shape)
    for k, scale in enumerate(scales):
        rows = layout.select_model(k)
        value, gradient = evaluate(scale.inward(scores[k : k + 1]), rows, scale)
        values[k] = scale.powered(float(value[0]), order)
        gradients[k] = powered(gradient[0], scale.size, order - 1.0)
    return values, gradients


def _scale_between(lowest: float, highest: float, order: float) -> Scale:
    """Scale of the scores of one model. A model that has diverged keeps what it has."""
    # Where they lie does not matter here: costs and slopes are made of differences.
    if not math.isfinite(highest - lowest) or is_moderate(highest - lowest, order):
        return Scale()
    return scale_of(lowest, highest, order)


class AnchorSlopes(NamedTuple):
    """What a penalty finds at every place of every row; rows have one place, or two.

    Attributes
    ----------
    values : (m,) floats.
    scores : (m, c n) floats, as they are compared there.
    slopes : (m, c n) floats, how the value changes with each of them.
    lines : (m, K, 3) floats where a line is taken off the scores of every level: its slope, its
        center, and what pulls at it; else (0, 0, 0).
    """

    values: FloatArray
    scores: FloatArray
    slopes: FloatArray
    lines: FloatArray


class Penalty(ABC):
    """A differentiable disparity.

    A new penalty is a frozen dataclass that says in `evaluate` how to evaluate itself on the scores
    of many models at once; everything else follows.

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
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""

    @abstractmethod
    def transported_mass(self, layout: Layout) -> FloatArray:
        """Mass (n,) that the plan moves to or from each row of a layout, whatever the scores."""

    def prepare(self, layout: Layout) -> Layout:
        """The layout as this penalty takes it, with all that does not depend on scores worked out.

        Do this once to evaluate a penalty many times on the same rows.
        """
        return layout.expand_soft_groups()

    def evaluate_at_anchors(self, scores: FloatArray, layout: Layout) -> AnchorSlopes:
        """Return what slope fields are made of; with one place a row it is what `evaluate` says.

        Parameters
        ----------
        scores, layout : as for `evaluate`.
        """
        copied = layout.repeat_copies(scores)
        values, gradients = self.evaluate(copied, layout.separate_copies())
        return AnchorSlopes(values, copied, gradients, np.empty((0, 0, 0)))

    def comparison_layout(self, layout: Layout) -> Layout:
        """Return the layout in whose levels rows are compared: itself, unless levels are ignored.

        Parameters
        ----------
        layout : prepared.
        """
        return layout

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Rows whose groups differ by chance alone among those that are compared with each other.

        The value there is what a penalty of so few rows has without any disparity. `None` where
        groups cannot be permuted: rows in several places, or of soft groups.

        Parameters
        ----------
        layout : prepared.
        rng : generator of the permutation.
        """
        return layout.permute_groups(rng) if layout.places == 1 else None

    def check(self, layout: Layout) -> None:
        """Raise unless there is something to compare in the rows of the layout."""
        layout.check_common_support()

    def hessian_diagonal(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """A diagonal (n,) that bounds the second derivative, for Newton steps: sound and positive.

        With the plan held fixed, V(f + d) is at most Σ m_k |u + d_i - v - d_j|^p over its moves k,
        and (d_i - d_j)² <= 2 d_i² + 2 d_j². For order 2 therefore

            V(f + d) <= V(f) + ∂V·d + ½ Σ_i c_i d_i²,   c_i = 4 * moved_i.

        For p > 2 the second derivative of |x|^p takes its largest value over the reach R of the
        scores, p (p - 1) R^{p-2}; for p < 2, where it is not bounded, that of the parabola which
        touches |x|^p at the size of the disparity.

        Parameters
        ----------
        scores : (n,) finite floats.
        layout : of the rows.
        """
        prepared = self.prepare(layout)
        moved = prepared.sum_places(self.transported_mass(prepared))
        bound: FloatArray = np.zeros(moved.size)
        np.multiply(2.0 * self.max_curvature(scores, prepared), moved, out=bound, where=moved > 0.0)
        return bound

    def max_curvature(self, scores: FloatArray, layout: Layout) -> float:
        """How strongly a move of scores (n,) is bent at the most, for a unit of moved mass: 2 for
        order 2; see `hessian_diagonal`.

        The layout is that of the rows as `prepare` gives it.
        """
        scale = scale_of(float(scores.min()), float(scores.max()), self.order)
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
        scores : (n,) finite numbers, or (n, c), one column a class.
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
        """Values (m,) and gradients (m, n, c) of scores (m, n, c): the sum over the c classes.

        The layout is that of the n rows.
        """
        models, rows, classes = scores.shape
        flat = np.ascontiguousarray(scores.transpose(0, 2, 1)).reshape(models * classes, rows)
        repeated = layout.select_splits(np.repeat(np.arange(len(layout.segments)), classes))
        values, gradients = self.evaluate(flat, repeated)
        by_class = gradients.reshape(models, classes, rows).transpose(0, 2, 1)
        return values.reshape(models, classes).sum(axis=1), np.ascontiguousarray(by_class)


def _score_array(scores: Column, axes: tuple[int, int]) -> FloatArray:
    """Scores as floats with as many axes as one of those named; nothing missing or infinite."""
    refuse_masked(scores, "scores")
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
    """Weights ω_a ω_b / Σ_{a<b} ω_a ω_b of pairs of groups, with the mass (G,) of each group."""
    mass = moderate(mass)
    products = np.outer(mass, mass)
    np.fill_diagonal(products, 0.0)
    shares: FloatArray = products / max(products.sum() / 2.0, np.finfo(float).tiny)
    return shares


def group_transported_mass(layout: Layout) -> FloatArray:
    """Compute mass moved to or from each row between whole groups: 1 / n_a for two. Shape (n,)."""
    mass = layout.cell_mass().sum(axis=0)
    per_row = pair_weights(mass).sum(axis=1) / np.maximum(mass, np.finfo(float).tiny)
    return layout.cell_values_by_row(np.broadcast_to(per_row, (len(layout.levels), per_row.size)))


def worst_pair_penalty(penalty: Penalty, layout: Layout) -> Penalty:
    """Return the penalty of the worst pair of a layout's groups; itself for two groups.

    Where groups are compared along a number all of them share their anchors, and the penalty stays
    as it is.
    """
    if len(layout.groups) < 3 or penalty.prepare(layout).away.size:
        return penalty
    return WorstPair(penalty)


@dataclass(frozen=True)
class WorstPair(Penalty):
    """The largest penalty of any two groups.

    Parameters
    ----------
    penalty : what is evaluate_scaled for every two groups.
    """

    penalty: Penalty
    order: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.penalty.order)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        largest, slopes = np.full(len(scores), -np.inf), np.zeros(scores.shape)
        for pair in _pairs(layout):
            values, gradients = self.penalty.evaluate(scores, pair)
            larger = values > largest
            largest[larger], slopes[larger] = values[larger], gradients[larger]
        return largest, slopes

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Mass (n,) that the plans of all pairs move to or from each row, whichever is worst."""
        moved: FloatArray = np.sum(
            [self.penalty.transported_mass(pair) for pair in _pairs(layout)], axis=0
        )
        return moved

    def prepare(self, layout: Layout) -> Layout:
        """Return the layout as the penalty inside takes it."""
        return self.penalty.prepare(layout)

    def comparison_layout(self, layout: Layout) -> Layout:
        """Return the layout in whose levels the penalty inside compares rows.

        Parameters
        ----------
        layout : prepared.
        """
        return self.penalty.comparison_layout(layout)

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Return rows whose groups differ by chance alone, as the penalty inside deals them.

        Parameters
        ----------
        layout : prepared.
        rng : generator of the permutation.
        """
        return self.penalty.permute_under_parity(layout, rng)

    def check(self, layout: Layout) -> None:
        """Raise unless the penalty inside finds something to compare."""
        self.penalty.check(layout)


def _pairs(layout: Layout) -> Iterator[Layout]:
    """Return the rows with weight for two groups at a time."""
    group = layout.segments % len(layout.groups)
    for pair in combinations(range(len(layout.groups)), 2):
        inside = np.isin(group, pair).astype(np.float64)
        yield replace(layout, mass=layout.mass * inside if layout.mass.size else inside)
