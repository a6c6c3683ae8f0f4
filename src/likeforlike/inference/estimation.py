"""How large the disparity is: an estimate without small-sample bias, and its interval.

The target is the root mean square over levels of a distance D_l between the groups,

    (Σ_l Q(l) D_l²)^{1/2},

where D_l is W_2 between the scores, spread over the steps of their scale (`spread`), or the gap of
the rates where scores are decisions with two values. A plug-in lies above its target, the more so
the smaller the cells; its bias is estimated by cutting each group in random halves (`halves`), and
the interval adds the spread of the bootstrap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from likeforlike.contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.inference.draws import State, binomial, start
from likeforlike.inference.halves import between, biases, left_over, push
from likeforlike.inference.pooling import pool_levels, single_rows
from likeforlike.inference.replicates import Progress, block_size, refuse_weighted_counts
from likeforlike.inference.spread import Steps, steps_of
from likeforlike.transport.atoms import Atoms, FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.sorting import largest_segment
from likeforlike.transport.threads import in_blocks

__all__ = ["BOOTSTRAPS", "Estimate", "estimate"]

BOOTSTRAPS = 300
"""How often the rows are drawn again."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Conditional disparity with its small-sample bias removed, in units of the score.

    Attributes
    ----------
    value : (Σ_l Q(l) [D_l² - bias_l])^{1/2}, 0 where that is negative.
    interval : confidence interval for it.
    confidence : its nominal coverage.
    squared : what the value is the root of, Σ_l Q(l) [D_l² - bias_l]; unbiased, so that at parity
        it is negative half of the time. Averages over audits should be taken of this.
    plug_in : the same without the correction.
    distance : what D is, "W2" or, for scores with two values, "gap".
    levels : how many levels took part; those with a single row in a cell cannot.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> found = lfl.audit(load_loans(1000).frame, **roles).contrasts[0].estimate
    >>> found.distance, found.levels, found.value < found.plug_in
    ('gap', 3, True)
    >>> low, high = found.interval
    >>> low < 0.2 < high
    True
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    squared: float
    plug_in: float
    distance: str
    levels: int


@compiled
def _drawn_again(
    state: State,
    low: FloatArray,
    high: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    sample: FloatArray,
) -> int:
    """Draw as many rows as the cell has, with replacement; fills the sample, returns its size."""
    left = 0
    for count in counts:
        left += count
    draws = left
    size = 0
    for k in range(low.size):
        drawn = binomial(state, draws, counts[k] / left)
        left -= counts[k]
        draws -= drawn
        if drawn:
            size = push(sample, size, low[k], high[k], drawn * (mass[k] / counts[k]))
    return size


@compiled
def _bootstrap(
    low: FloatArray,
    high: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    measure: FloatArray,
    two_valued: bool,
    seed: int,
    begin: int,
    end: int,
) -> FloatArray:
    """Σ_l Q(l) D_l² of the replicates begin, ..., end - 1."""
    largest = largest_segment(offsets)
    sample, other = np.empty((3, largest)), np.empty((3, largest))
    totals = np.zeros(end - begin)
    for replicate in range(begin, end):
        state = start(seed, replicate)
        for k in range(pairs.shape[0]):
            left = slice(offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1])
            right = slice(offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1])
            size = _drawn_again(state, low[left], high[left], counts[left], mass[left], sample)
            rest = _drawn_again(state, low[right], high[right], counts[right], mass[right], other)
            squared = between(sample, size, other, rest, two_valued)
            totals[replicate - begin] += measure[k] * squared
    return totals


@compiled
def _squared_distances(
    low: FloatArray,
    high: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    two_valued: bool,
) -> FloatArray:
    """D_l² of every level as observed."""
    largest = largest_segment(offsets)
    samples = np.empty((2, 3, largest))
    squared = np.empty(pairs.shape[0])
    sizes = np.zeros(2, np.int64)
    for k in range(pairs.shape[0]):
        for side in range(2):
            sizes[side] = 0
            for i in range(offsets[pairs[k, side]], offsets[pairs[k, side] + 1]):
                sizes[side] = push(samples[side], sizes[side], low[i], high[i], mass[i])
        squared[k] = between(samples[0], sizes[0], samples[1], sizes[1], two_valued)
    return squared


def estimate(
    contrast: Contrast,
    measure: FloatArray,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate (Σ_l Q(l) D_l²)^{1/2} without small-sample bias, with an interval.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : nominal coverage of the interval, in (0, 1).
    seed : the same seed gives the same result on any number of threads.
    progress : called with the number of replicates done.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import estimate
    >>> scores = np.r_[np.arange(100), np.arange(100) + 20] / 100
    >>> contrast = contrasts(Cells.from_rows(scores, ["f"] * 100 + ["m"] * 100), "pairwise")[0]
    >>> found = estimate(contrast, np.ones(1))
    >>> found.interval[0] < 0.2 < found.interval[1]
    True
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}.")
    refuse_weighted_counts(contrast)
    atoms, pairs = contrast.cells.atoms, contrast.segments()
    steps = steps_of(atoms.values)
    usable: npt.NDArray[np.bool_] = np.all(contrast.counts[contrast.support] >= 2, axis=1)
    if not usable.any():
        usable = np.ones_like(usable)
    weights = np.where(usable, measure, 0.0)
    weights /= weights.sum()
    squared = _squared_distances(
        steps.low, steps.high, atoms.mass, atoms.offsets, pairs, steps.two_valued
    )
    weighted = contrast.cells.weighted
    pool = single_rows(pool_levels(contrast)) if weighted else pool_levels(contrast)
    bias = float(weights @ biases(atoms, steps, pairs, seed, progress)) + left_over(
        pool,
        steps_of(pool.values, atoms.values),
        weights,
        weighted=weighted,
        seed=seed + 1,
        progress=progress,
    )
    error = _bootstrap_error(atoms, steps, pairs, weights, seed + 2, progress)
    whole = float(weights @ squared)
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * error
    return Estimate(
        value=_root(whole - bias),
        # Below 0 the square is noise: an interval around it could end at 0 and claim exact parity.
        interval=(_root(whole - bias - reach), _root(max(0.0, whole - bias) + reach)),
        confidence=confidence,
        squared=whole - bias,
        plug_in=_root(whole),
        distance="gap" if steps.two_valued else "W2",
        levels=int(usable.sum()),
    )


def _root(squared: float) -> float:
    return math.sqrt(max(0.0, squared))


def _bootstrap_error(
    atoms: Atoms,
    steps: Steps,
    pairs: IntArray,
    weights: FloatArray,
    seed: int,
    progress: Progress | None,
) -> float:
    """Standard deviation of Σ_l Q(l) D_l² over bootstrap replicates."""

    def work(begin: int, end: int) -> FloatArray:
        return _bootstrap(
            steps.low,
            steps.high,
            atoms.counts,
            atoms.mass,
            atoms.offsets,
            pairs,
            weights,
            steps.two_valued,
            seed,
            begin,
            end,
        )

    totals = in_blocks(work, BOOTSTRAPS, block_size(atoms.values.size), progress)
    return float(np.concatenate(totals).std(ddof=1))
