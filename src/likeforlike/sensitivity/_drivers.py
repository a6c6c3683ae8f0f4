"""Drivers: how much of a disparity among equals each input of a model carries.

Contributions φ (n, d) add up to the score but for a constant: s_i = b + Σ_j φ_ij. Then both splits
are exact:

    Δ = Σ_j Δ_j,                          Δ_j the signed gap among equals of φ_j;
    W_2² = Σ_l Q(l) E_π (s - s')² = Σ_j Σ_l Q(l) E_π (s - s')(φ_j - φ'_j),

π the optimal plan of level l, which pairs sorted scores. Of tied scores the plan is not unique; it
is averaged over them. With T(s) the mean counterpart of a score the second line is

    Σ_j Σ_i g_i φ_ij,    g_i = ± Q(l) w_i (s_i - T(s_i)),

half the gradient of W_2² by the scores. Chance alone makes a W_2², of which each input has a part.
A jackknife that leaves out one of 20 random parts of the rows at a time removes it: with D the
part of an input, and D_(k) that without part k of the rows, the mean of 20 D - 19 D_(k) is left.
*Shares* are of that; they still add up to 1, have the jackknife's intervals, and exist where what
is left of W_2² is twice as far from 0 as its interval reaches. A share may be negative: that input
works against the disparity. Gaps have the intervals of any signed gap.

An input is *named* a driver only if the test of the audit rejects parity, and if the interval of
its gap, simultaneous with all others (Bonferroni), excludes 0 on the side of the gap of the score.

A *proxy* tells the group among equals: its AUC within levels, averaged, is far from ½. If an input
were *withheld*, the model would get draws from its distribution in the level (a permutation in the
level) instead; that is about this model, not about one trained without the input.

References: Lundberg and Lee (2017), *A unified approach to interpreting model predictions*;
Hanley and McNeil (1982), *The meaning and use of the area under a ROC curve*; Shao and Tu (1995),
*The jackknife and bootstrap*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import Measure
from likeforlike.disparity import Contrast, level_weights
from likeforlike.errors import InputError
from likeforlike.inference import Sample, level_gaps, signed_gap, t_quantile, take_sample
from likeforlike.transport import (
    Atoms,
    compiled,
    pair_gradient,
    run_in_threads,
    sort_rows,
    sum_parts,
)

SHOWN_INPUTS = 12
"""How many inputs a chart shows, and how many are withheld in turn."""

_PARTS, _AT_ONCE = 20, 5
# Noise of contributions that are kept in single precision, as shares of the range of scores.
_SAME, _NEARLY, _ROUNDING = 1e-5, 1e-4, 1e-12
_SHOWN_LEVELS = 20


@dataclass(frozen=True, slots=True)
class Withheld:
    """What becomes of a model's scores if an input is replaced by draws from its level.

    Attributes
    ----------
    gap, before : the signed gap of the scores then, and with the input.
    auc, auc_before : how well they tell the target then, and with it; null without a target.
    """

    gap: float
    before: float
    auc: float | None
    auc_before: float | None


@dataclass(frozen=True, slots=True)
class Driver:
    """An input of a model, and what of a disparity it carries.

    Attributes
    ----------
    name : of the input.
    gap, interval : Δ_j, the signed gap of its contributions; null where there is no interval.
    part : of W_2² as observed, chance included; all parts add up to it.
    share, share_interval : of W_2² without what chance gives; all shares add up to 1. Null where
        chance may give all of it.
    proxy : AUC of the group from it among equals, ½ to 1.
    named : whether it is a driver beyond chance.
    by_level : the gap with its interval in the levels with most weight.
    withheld : null unless it was asked for.
    """

    name: str
    gap: float
    interval: tuple[float, float] | None
    part: float
    share: float | None
    share_interval: tuple[float, float] | None
    proxy: float
    named: bool
    by_level: dict[str, tuple[float, float | None, float | None]]
    withheld: Withheld | None


@dataclass(frozen=True, slots=True)
class Drivers:
    """The inputs of a model by what they carry of a disparity.

    Attributes
    ----------
    groups, columns : who is compared; a positive gap means that the second group scores higher.
    scale : what the figures are about: "score" if the contributions add up to the score audited,
        "raw" for their sum, with which the score rises as a probability does with its log-odds.
    gap, squared : Δ and W_2² as observed, the sums over all inputs.
    confidence : of each interval by itself.
    rows : of the first and of the second group.
    tested : whether the test of the audit rejects parity; without that none is named.
    inputs : the largest gap first.
    """

    groups: tuple[str, str]
    columns: tuple[str, ...]
    scale: Literal["score", "raw"]
    gap: float
    squared: float
    confidence: float
    rows: tuple[int, int]
    tested: bool
    inputs: tuple[Driver, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """The drivers beyond chance."""
        return tuple(each.name for each in self.inputs if each.named)

    @property
    def table(self) -> dict[str, list[object]]:
        """One row for each input, by column."""
        ends = [each.interval or (None, None) for each in self.inputs]
        shares = [each.share_interval or (None, None) for each in self.inputs]
        taken = [each.withheld for each in self.inputs]
        return {
            "input": [each.name for each in self.inputs],
            "gap": [each.gap for each in self.inputs],
            "gap_low": [low for low, _ in ends],
            "gap_high": [high for _, high in ends],
            "part": [each.part for each in self.inputs],
            "share": [each.share for each in self.inputs],
            "share_low": [low for low, _ in shares],
            "share_high": [high for _, high in shares],
            "proxy": [each.proxy for each in self.inputs],
            "named": [each.named for each in self.inputs],
            "gap_withheld": [None if each is None else each.gap for each in taken],
            "auc_withheld": [None if each is None else each.auc for each in taken],
        }

    @property
    def sentences(self) -> list[str]:
        """Describe the figures in words."""
        words = []
        if self.scale == "raw":
            words.append(
                "The contributions add up to the raw score of the model (log-odds, say), with "
                "which the score audited rises; the figures here are about the raw score."
            )
        if not self.tested:
            words.append("The test does not reject parity, so no input is named a driver.")
        elif not self.named:
            words.append("No single input carries the gap beyond chance.")
        for each in self.inputs[:SHOWN_INPUTS]:
            if each.named:
                part = "" if self.gap == 0.0 else f", {100 * each.gap / self.gap:.3g}% of the gap"
                moved = "" if each.share is None else f" and {100 * each.share:.3g}% of W_2²"
                words.append(
                    f"{each.name} carries {each.gap:.3g}{part}{moved}; among equals it tells the "
                    f"groups apart with an AUC of {each.proxy:.2f}."
                )
        return words

    def __str__(self) -> str:
        """Return the figures in words, one sentence per line."""
        return "\n".join([f"Gap {self.gap:.4g}, W_2² {self.squared:.4g}.", *self.sentences])


def row_slopes(
    values: FloatArray, mass: FloatArray, offsets: IntArray, weights: FloatArray
) -> FloatArray:
    """Return half the gradient of Σ_l Q(l) W_2² by the scores, averaged over tied ones. (n,).

    Cells follow each other by level, two for each, with sorted scores.
    """
    pairs = np.arange(offsets.size - 1).reshape(-1, 2)
    atoms = Atoms(values, mass, np.broadcast_to(np.int64(1), values.shape), offsets)
    left, right = (np.ascontiguousarray(pairs[:, side]) for side in range(2))
    slopes = 0.5 * pair_gradient(atoms.packed, left, right, weights, 2.0)
    cell = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    begins = np.flatnonzero(np.r_[True, (np.diff(values) != 0.0) | (np.diff(cell) != 0)])
    if begins.size == values.size:
        return slopes
    heavy = np.add.reduceat(mass, begins)
    mean = np.add.reduceat(slopes, begins) / np.where(heavy > 0.0, heavy, 1.0)
    return np.repeat(mean, np.diff(np.r_[begins, values.size])) * mass


@compiled
def _fill_auc(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    found: FloatArray,
    first: int,
    last: int,
) -> None:
    """Write the chance that the second group is higher than the first in each level, ties half."""
    for level in range(first, last):
        i, end_i = offsets[2 * level], offsets[2 * level + 1]
        j, end_j = end_i, offsets[2 * level + 2]
        below, total_0, total_1, won = 0.0, 0.0, 0.0, 0.0
        while j < end_j:
            while i < end_i and values[i] < values[j]:
                below += mass[i]
                i += 1
            tied, at = 0.0, i
            while at < end_i and values[at] == values[j]:
                tied += mass[at]
                at += 1
            here = values[j]
            while j < end_j and values[j] == here:
                won += mass[j] * (below + 0.5 * tied)
                total_1 += mass[j]
                j += 1
        for at in range(offsets[2 * level], end_i):
            total_0 += mass[at]
        found[level] = won / (total_0 * total_1)


def group_auc(values: FloatArray, cell: IntArray, mass: FloatArray, weights: FloatArray) -> float:
    """Return the AUC of the group from a number within levels, averaged by Q and at least ½."""
    ordered = sort_rows(np.ascontiguousarray(values, np.float64), cell, 2 * weights.size)
    found = np.empty(weights.size)
    work = partial(_fill_auc, ordered.values, mass[ordered.rows], ordered.offsets, found)
    run_in_threads(work, np.diff(ordered.offsets[::2]))
    average = float(weights @ found)
    return max(average, 1.0 - average)


def find_scale(scores: FloatArray, sums: FloatArray) -> Literal["score", "raw"]:
    """Say whether sums of contributions are the score but for a constant, or what it rises with."""
    apart, reach = scores - sums, float(np.ptp(scores))
    if float(np.ptp(apart)) <= _SAME * max(reach, float(np.ptp(sums))):
        return "score"
    # Equal sums must have equal scores, too.
    falling = np.diff(scores[np.lexsort((-scores, sums))]).min(initial=0.0)
    if float(falling) >= -_NEARLY * reach and np.ptp(sums) > 0.0:
        return "raw"
    raise InputError(
        "contributions do not add up to the score: their sum is neither the score but for a "
        "constant, nor does the score rise with it; pass contributions of the model that gave "
        "the scores, one row for each row of the data and in its order."
    )


def find_drivers(
    contrast: Contrast,
    contributions: Mapping[str, FloatArray],
    rows: IntArray,
    *,
    clusters: IntArray | None,
    columns: tuple[str, ...],
    level_names: Sequence[str],
    measure: Measure,
    confidence: float,
    tested: bool,
    inputs: Mapping[str, FloatArray] | None = None,
    withhold: Callable[[Sequence[str], FloatArray], Mapping[str, Withheld]] | None = None,
) -> Drivers:
    """Split a disparity by the inputs of a model.

    Parameters
    ----------
    contrast : two groups in the levels they share, no others, every atom a row.
    contributions : {input: (N,) floats}, by row of the data.
    rows : (n,) integers, the row of each atom.
    clusters : (n,) integers, what rows have in common; `None` means that they are independent.
    columns : sensitive columns of the groups.
    level_names : of the levels, in order.
    measure : Q.
    confidence : of intervals; 1 minus it is the significance of names.
    tested : whether the test of the audit rejects parity.
    inputs : {input: (N,) floats} that tell the group; others do so by their contributions.
    withhold : says what becomes of scores without each of some inputs.
    """
    weights, names = level_weights(contrast, measure), sorted(contributions)
    sample = take_sample(contrast)
    sums, mixed = np.zeros(rows.size), np.zeros(rows.size)
    # Ties are put in order of a sum over inputs, which no order of rows or columns changes.
    for factor, name in zip(np.random.default_rng(0).normal(size=len(names)), names, strict=True):
        column = contributions[name][rows]
        sums += column
        mixed += factor * column
    scores = contrast.cells.atoms.values
    scale = find_scale(scores, sums)
    if scale == "raw" or float(np.ptp(scores - sums)) > _ROUNDING * float(np.ptp(scores)):
        # What is split is the sum. Sums that differ by rounding only are tied.
        unit = float(np.ptp(sums))
        scores = unit * np.round(sums / unit, 12)
    size = float(np.ptp(scores)) or 1.0
    rank = np.lexsort((mixed, scores, sample.cell))
    rows = rows[rank]
    phi = np.stack([contributions[name][rows] for name in names])
    phi /= size
    values, mass = (scores[rank] - scores.min()) / size, np.asarray(sample.mass, float)[rank]
    sample = replace(
        sample,
        values=values,
        mass=mass,
        cluster=None if clusters is None else clusters[rank],
        scale=1.0,
        stretch=1.0,
        rates=False,
    )
    simultaneous = 1.0 - (1.0 - confidence) / len(names)
    slopes = row_slopes(values, mass, sample.offsets, weights)
    parts = phi @ slopes
    whole = signed_gap(sample, weights, confidence=confidence)
    shares = _jackknife_shares(phi, sample, weights, parts, confidence)
    levels = np.argsort(-weights, kind="stable")[:_SHOWN_LEVELS]
    found: list[Driver] = []
    for j, name in enumerate(names):
        alone = replace(sample, values=phi[j])
        gap = signed_gap(alone, weights, confidence=confidence)
        joint = signed_gap(alone, weights, confidence=simultaneous)
        known = gap.method != "none"
        side = max(joint.interval[0], 0.0) - max(-joint.interval[1], 0.0) if known else 0.0
        at = None if inputs is None else inputs.get(name)
        number = phi[j] if at is None else at[rows]
        each = level_gaps(alone, confidence=confidence)
        found.append(
            Driver(
                name=name,
                gap=gap.value * size,
                interval=(gap.interval[0] * size, gap.interval[1] * size) if known else None,
                part=float(parts[j] * size**2),
                share=None if shares is None else shares[j][0],
                share_interval=None if shares is None else shares[j][1:],
                proxy=group_auc(number, sample.cell, mass, weights),
                named=tested and side * whole.value > 0.0,
                by_level={
                    level_names[k]: (
                        float(each.value[k] * size),
                        _finite(each.low[k] * size),
                        _finite(each.high[k] * size),
                    )
                    for k in levels.tolist()
                },
                withheld=None,
            )
        )
    found.sort(key=lambda each: -abs(each.gap))
    if withhold is not None:
        taken = withhold([each.name for each in found[:SHOWN_INPUTS]], weights)
        found = [replace(each, withheld=taken.get(each.name)) for each in found]
    first, second = sample.rows.reshape(-1, 2).sum(axis=0).astype(int).tolist()
    return Drivers(
        groups=(str(contrast.groups[0]), str(contrast.groups[1])),
        columns=columns,
        scale=scale,
        gap=whole.value * size,
        squared=float(parts.sum() * size**2),
        confidence=confidence,
        rows=(first, second),
        tested=tested,
        inputs=tuple(found),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _jackknife_shares(
    phi: FloatArray,
    sample: Sample,
    weights: FloatArray,
    parts: FloatArray,
    confidence: float,
) -> list[tuple[float, float, float]] | None:
    """Return share and interval of each input; `None` where chance may give all of W_2²."""
    values, mass, cluster = sample.values, sample.mass, sample.cluster
    random, cell, offsets = np.random.default_rng(1), sample.cell, sample.offsets
    if cluster is None:
        part = np.empty(values.size, np.int64)
        part[np.lexsort((random.random(values.size), cell))] = np.arange(values.size) % _PARTS
    else:
        part = random.permutation(int(cluster.max()) + 1)[cluster] % _PARTS
    if np.bincount(part, minlength=_PARTS).min() == 0:
        return None
    left: list[FloatArray] = []
    drawn: list[FloatArray] = []
    for k in range(_PARTS):
        there = np.where(part == k, 0.0, mass)
        # A cell whose rows would all be gone keeps them.
        gone = sum_parts(cell, there, offsets.size - 1) <= 0.0
        if gone.any():
            there = np.where(gone[cell], mass, there)
        left.append(row_slopes(values, there, offsets, weights))
        if len(left) == _AT_ONCE:
            drawn.append(phi @ np.stack(left, axis=1))
            left = []
    pseudo = _PARTS * parts[:, None] - (_PARTS - 1) * np.concatenate(drawn, axis=1)
    total, reach = pseudo.sum(axis=0), float(t_quantile(0.5 + confidence / 2.0, _PARTS - 1.0))
    whole, root = float(total.mean()), math.sqrt(_PARTS)
    if whole <= 2.0 * reach * float(total.std(ddof=1)) / root:
        return None
    share = pseudo.mean(axis=1) / whole
    error = (pseudo - share[:, None] * total).std(axis=1, ddof=1) / root / whole
    ends = share - reach * error, share + reach * error
    return list(zip(share.tolist(), *(each.tolist() for each in ends), strict=True))
