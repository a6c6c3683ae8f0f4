"""FairLeap: conditional disparity in the l_p sense, level by level; and its case of one level.

    V(f) = Σ_l Q(l) W_p^p(P_0^l, P_1^l),

with P_a^l the distribution of the scores of group a in level l and Q a measure over the levels
that have several groups. With more than two groups the inner cost of a level is the mean over
pairs of groups,

    Σ_{a<b} ω_a ω_b W_p^p(P_a^l, P_b^l) / Σ_{a<b} ω_a ω_b,   ω_a = P(A = a | L = l),

which for p = 2 is the spread Σ_a ω_a W_2²(P_a^l, B^l) around the barycenter B^l, up to the same
factor, and for two groups the cost between them.

Wasserstein regularization ignores levels, V(f) = W_p^p(P_0, P_1). It is the method the paper
compares with, and enforces demographic parity, not conditional parity.

References: Ghassemi et al. (2025), FairLeap; Jiang et al. (2020), *Wasserstein fair
classification*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import MEASURES, Measure, MeasureName, is_one_of, real
from likeforlike.disparity import check_cost_order, check_reg
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import (
    Penalty,
    mass_between_groups,
    pair_weights,
    restore_models,
    scale_models,
)
from likeforlike.transport import (
    Stack,
    add_pair,
    compiled,
    entropic_pair,
    model_constant,
    model_mass,
    moderate_weights,
    run_models,
    sort_atoms,
    split_slopes,
    weight_factor,
)


@compiled
def moderate_mass(mass: FloatArray) -> FloatArray:
    """Scale mass of groups so that products of two do not overflow. A kernel."""
    most = 0.0
    for part in mass:
        most = max(most, part)
    if most == 0.0 or 1e-100 < most < 1e100:
        return mass
    moderated = np.empty(mass.size)
    exponent = max(math.frexp(most)[1], -1000)  # 2^1024 overflows
    for group in range(mass.size):
        moderated[group] = math.ldexp(mass[group], -exponent)
    return moderated


@compiled
def group_mass(cells: FloatArray, n_groups: int) -> FloatArray:
    """Compute the mass of each group over all levels, shape (G,). A kernel."""
    mass = np.zeros(n_groups)
    for cell in range(cells.size):
        mass[cell % n_groups] += cells[cell]
    return mass


@compiled
def pair_mass(mass: FloatArray) -> float:
    """Compute Σ_{a<b} m_a m_b. A kernel."""
    whole, pairs = 0.0, 0.0
    for part in mass:
        pairs += whole * part
        whole += part
    return pairs


# Kernels take measures by number, with weights (K,) of levels where these are given.
_MARGINAL, _AVERAGE = MEASURES.index("marginal"), MEASURES.index("average")
_UNIFORM, _OVERLAP = MEASURES.index("uniform"), MEASURES.index("overlap")
_GIVEN = len(MEASURES)


@compiled
def _level_measure(
    totals: FloatArray, n_levels: int, n_groups: int, measure: int, given: FloatArray
) -> FloatArray:
    """Compute unscaled Q(l) from the mass of the cells, 0 where fewer than two groups occur."""
    of_group = group_mass(totals, n_groups)
    raw = np.zeros(n_levels)
    for level in range(n_levels):
        present, mass, share, least = 0, 0.0, 0.0, np.inf
        for group in range(n_groups):
            here = totals[level * n_groups + group]
            if here > 0.0:
                present += 1
                mass += here
                part = here / of_group[group]
                share += part
                least = min(least, part)
        if present < 2:
            continue
        if measure == _MARGINAL:
            raw[level] = mass
        elif measure == _AVERAGE:
            raw[level] = share
        elif measure == _UNIFORM:
            raw[level] = 1.0
        elif measure == _OVERLAP:
            raw[level] = least
        else:
            raw[level] = given[level]
    return raw


@compiled
def _normalize(weights: FloatArray) -> FloatArray:
    """Divide weights in place by their sum, unless that is 0."""
    whole = 0.0
    for weight in weights:
        whole += weight
    if whole > 0.0:
        for k in range(weights.size):
            weights[k] /= whole
    return weights


@compiled
def _weigh_pairs(
    totals: FloatArray, n_levels: int, n_groups: int, measure: int, given: FloatArray, summed: bool
) -> tuple[IntArray, FloatArray]:
    """Return segments (k, 2) of the pairs of groups that are compared, and their weights (k,)."""
    weight = _level_measure(totals, n_levels, n_groups, measure, given)
    if not summed:
        _normalize(weight)
    most = n_levels * n_groups * (n_groups - 1) // 2
    segments, shares, found = np.empty((most, 2), np.int64), np.empty(most), 0
    for level in range(n_levels):
        if weight[level] == 0.0:
            continue
        begin = level * n_groups
        here = moderate_mass(totals[begin : begin + n_groups])
        pairs = pair_mass(here)
        for g in range(n_groups):
            for h in range(g + 1, n_groups):
                share = weight[level] * here[g] * here[h] / pairs
                if share > 0.0:
                    segments[found, 0], segments[found, 1] = begin + g, begin + h
                    shares[found] = share
                    found += 1
    return segments[:found], shares[:found]


@compiled
def _evaluate_levels(
    stack: Stack, measure: int, given: FloatArray, summed: bool, order: float, first: int, last: int
) -> None:
    """Fill in values and gradients of some models: one sort and one sweep of the rows each."""
    for k in range(first, last):
        packed, rows, atom_of = sort_atoms(stack, k)
        slopes, value = np.zeros(packed.values.size), 0.0
        n_levels, n_groups = stack.n_levels, stack.n_groups
        segments, shares = _weigh_pairs(packed.totals, n_levels, n_groups, measure, given, summed)
        for pair in range(shares.size):
            left, right = segments[pair]
            value += shares[pair] * add_pair(packed, left, right, order, shares[pair], slopes)
        stack.values[k] = value
        split_slopes(slopes, packed.mass, atom_of, rows, model_mass(stack, k), stack.gradients[k])


@compiled
def _evaluate_entropic(
    stack: Stack,
    measure: int,
    given: FloatArray,
    summed: bool,
    order: float,
    regs: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fill in values and gradients of some models by entropic transport."""
    for k in range(first, last):
        packed, rows, atom_of = sort_atoms(stack, k)
        slopes, value, reg = np.zeros(packed.values.size), 0.0, model_constant(regs, k)
        n_levels, n_groups = stack.n_levels, stack.n_groups
        segments, shares = _weigh_pairs(packed.totals, n_levels, n_groups, measure, given, summed)
        for pair in range(shares.size):
            left, right = segments[pair]
            share = shares[pair]
            value += share * entropic_pair(packed, left, right, order, reg, share, slopes, slopes)
        stack.values[k] = value
        split_slopes(slopes, packed.mass, atom_of, rows, model_mass(stack, k), stack.gradients[k])


def levelwise_cost(
    scores: FloatArray,
    layout: Layout,
    order: float,
    measure: Measure = "marginal",
    *,
    summed: bool = False,
    reg: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Compute Σ_l Q(l) W_p^p(l) of m models and its gradient; entropic with `reg`."""
    weighed = layout.with_moderate_weights()
    if summed and measure == "marginal" and weighed is not layout:
        raise InputError("summed=True adds weights up, and these are too large or too small.")
    number, given = _encode_measure(measure, layout, summed=summed)
    scaled, sizes, rows = scale_models(scores, weighed, order)
    stack, (m, n) = rows.stack(scaled), scaled.shape
    if reg == 0.0:
        kernel = partial(_evaluate_levels, stack, number, given, summed, float(order))
        run_models(kernel, m, n)
    else:
        regs = rows.convert_constant(reg, sizes, order)
        entropic = partial(_evaluate_entropic, stack, number, given, summed, float(order), regs)
        run_models(entropic, m, n**2)
    return restore_models(stack.values, stack.gradients, sizes, weighed, order)


def _encode_measure(measure: Measure, layout: Layout, *, summed: bool) -> tuple[int, FloatArray]:
    """Return Q as kernels take it: the number of its name, and weights of levels if given."""
    if not isinstance(measure, Mapping):
        return MEASURES.index(measure), np.empty(0)
    absent = [level for level in layout.levels if level not in measure]
    if absent:
        raise InputError(
            f"measure has no weight for level {absent[0]!r}; give it 0 to leave it out."
        )
    given = np.array([real(measure[level]) for level in layout.levels])
    if not (np.isfinite(given) & (given >= 0.0)).all() or not given.any():
        raise InputError("measure must give finite weights of 0 or more, not all of them 0.")
    if summed and weight_factor(float(given.max())) != 1.0:
        raise InputError("summed=True adds weights up, and these are too large or too small.")
    return _GIVEN, given if summed else moderate_weights(given)


@dataclass(frozen=True)
class FairLeap(Penalty):
    """Penalty on the distances between groups in each level, Σ_l Q(l) W_p^p(P_0^l, P_1^l).

    Parameters
    ----------
    measure : Q, `"marginal"` (P(L), the default), `"average"`, `"uniform"`, `"overlap"` or
        {level: weight}; always scaled to sum to one over the levels where groups meet.
    order : p from 1 to 32. Order 2 is smooth; order 1 has kinks.
    summed : leave Q unscaled: `"uniform"` is then a sum over levels, as in the paper's tables.
    reg : 0 is exact. Above 0 the inner costs are entropic, as the paper's are (see `transport`):
        for comparison with it, since the entropic term rewards scores that do not vary.

    References
    ----------
    Ghassemi et al. (2025), FairLeap.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> penalty = lfl.FairLeap(measure="uniform", order=2)
    >>> value, gradient = penalty.value_and_grad(
    ...     [0.2, 0.6, 0.5, 0.5], ["f", "m", "f", "m"], ["low", "low", "high", "high"]
    ... )
    >>> round(value, 12), gradient
    (0.08, array([-0.4,  0.4,  0. ,  0. ]))
    """

    measure: Measure = "marginal"
    order: float = 2.0
    summed: bool = False
    reg: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_cost_order(self.order))
        object.__setattr__(self, "reg", check_reg(self.reg))
        if not isinstance(self.measure, Mapping) and not is_one_of(self.measure, MEASURES):
            raise InputError(
                f"measure must be one of {MEASURES} or a mapping from level to weight, not "
                f"{self.measure!r}."
            )

    @classmethod
    def paper(
        cls, measure: MeasureName = "uniform", *, order: float = 1.0, reg: float = 0.0
    ) -> FairLeap:
        """Return the paper's settings: W_1 in each level, with a sum over levels for `"uniform"`.

        The paper trains with entropic costs and does not say how strong the entropic term is: give
        `reg`. Its text has `order` 1; its tables look like 2.
        """
        return cls(measure=measure, order=order, summed=measure == "uniform", reg=reg)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Compute values (m,) and gradients (m, n) of the scores (m, n) of m models on a layout."""
        return levelwise_cost(
            scores, layout, self.order, self.measure, summed=self.summed, reg=self.reg
        )

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute the mass that the plan moves to or from each row of a layout, shape (n,).

        For two groups that is Q(l) / n_al.
        """
        mass = layout.cell_mass()
        number, given = _encode_measure(self.measure, layout, summed=self.summed)
        weight = _level_measure(mass.ravel(), len(mass), len(layout.groups), number, given)
        if not self.summed:
            _normalize(weight)
        shares = np.array([pair_weights(level).sum(axis=1) for level in mass])
        with np.errstate(divide="ignore", invalid="ignore"):
            per_mass = np.where(mass > 0.0, weight[:, None] * shares / mass, 0.0)
        return layout.cell_values_by_row(per_mass)


@dataclass(frozen=True)
class WassersteinPenalty(Penalty):
    """Penalty on the distance between groups, W_p^p(P_0, P_1); levels are ignored.

    Parameters
    ----------
    order : p from 1 to 32.
    reg : 0 is exact; above 0 the cost is entropic, as for `FairLeap`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> value, gradient = lfl.WassersteinPenalty().value_and_grad([0.2, 0.6], ["f", "m"], [1, 2])
    >>> round(value, 12), gradient
    (0.16, array([-0.8,  0.8]))
    """

    order: float = 2.0
    reg: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_cost_order(self.order))
        object.__setattr__(self, "reg", check_reg(self.reg))

    @classmethod
    def paper(cls, *, order: float = 1.0, reg: float = 0.0) -> WassersteinPenalty:
        """Return the paper's settings: W_1, entropic with `reg`."""
        return cls(order=order, reg=reg)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Compute values (m,) and gradients (m, n) of the scores (m, n) of m models on a layout."""
        return levelwise_cost(scores, _pool_levels(layout), self.order, reg=self.reg)

    def comparison_layout(self, layout: Layout) -> Layout:
        """Pool all levels of a layout, so that all rows are compared."""
        return _pool_levels(layout)

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Permute groups of a prepared layout among all rows, by `rng`, whatever their levels."""
        return _pool_levels(layout).permute_groups(rng) if layout.places == 1 else None

    def check(self, layout: Layout) -> None:
        """Raise unless the layout has two groups; they need not share a level."""
        _pool_levels(layout).check_common_support()

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute the mass (n,) moved to or from each row of a layout: 1 / n_a for two groups."""
        return mass_between_groups(layout)


def _pool_levels(layout: Layout) -> Layout:
    """Pool all levels of the same rows."""
    return replace(layout, segments=layout.segments % len(layout.groups), levels=("all",))
