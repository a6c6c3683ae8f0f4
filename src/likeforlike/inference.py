"""Honest statistics: whether there is a disparity, how large it is, how sure we can be.

- *Test.* Under conditional parity the scores do not depend on the group inside a level, so the
  labels may be permuted there. p = (1 + #{T* >= T}) / (B + 1) is exact for any statistic T, as
  long as the model was fixed before it saw these rows.
- *Estimate.* A plug-in W_2² lies above the truth, the more so the smaller the cells. Its bias is
  ¼ Σ_a E W_2²(half of group a, other half), estimated by cutting each group in random halves, and
  the interval adds the spread of the bootstrap.
- *Certificate.* For scores in a range R, with probability 1 - α (McDiarmid),
  CDD <= plug-in + R sqrt(½ log(1/α) Σ_l Q(l)² (1/n_0l + 1/n_1l)), for any sample size.

References: Phipson and Smyth (2010), *Permutation P-values should never be zero*; Holm (1979);
Benjamini and Hochberg (1995); McDiarmid (1989).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from likeforlike.contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.resampling import Progress, bootstrap, permute, split_halves
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.line import pair_costs

__all__ = [
    "Adjustment",
    "Certificate",
    "Estimate",
    "PermutationTest",
    "adjust",
    "certificate",
    "effective_rows",
    "estimate",
    "gap_errors",
    "permutation_test",
]

Adjustment = Literal["holm", "bh"]
"""How p-values of many levels are adjusted: family-wise error, or false discovery rate."""

# The p-value that calls a disparity detected, and how often it should be when there is one.
_LEVEL, _POWER = 0.05, 0.8
_SPLITS = 100
_BOOTSTRAPS = 200


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Within-level permutation test of conditional parity.

    Attributes
    ----------
    p_value : of the statistic Σ_l Q(l) W_2²(l).
    p_value_gap : of the declared second statistic, |Σ_l Q(l) gap(l)|.
    null_distance, null_cost : what Σ Q W_1 and Σ Q W_2² average to at parity.
    level_p_values, level_adjusted : (k,) floats, of each level's W_2², before and after.
    level_null_distance : (k,) floats, what W_1 of each level averages to at parity.
    detectable : the smallest shift, the same in every level, that this test would have detected
        in 80% of samples like this one, at 5%.
    permutations : how many there were.
    """

    p_value: float
    p_value_gap: float
    null_distance: float
    null_cost: float
    level_p_values: FloatArray
    level_adjusted: FloatArray
    level_null_distance: FloatArray
    detectable: float
    permutations: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Conditional disparity with its small-sample bias removed, in units of the score.

    Attributes
    ----------
    value : (Σ_l Q(l) [W_2²(l) - bias(l)])^{1/2}, 0 where that is negative.
    interval : confidence interval for it.
    confidence : its nominal coverage.
    plug_in : the same without the correction.
    cost, bias, error : Σ Q W_2² as observed, its bias, and its standard error, un-rooted.
    levels : how many levels took part; those with a single row in a cell cannot.
    """

    value: float
    interval: tuple[float, float]
    confidence: float
    plug_in: float
    cost: float
    bias: float
    error: float
    levels: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds on Σ_l Q(l) W_1(l) that hold in finite samples, each with the given confidence."""

    lower: float
    upper: float
    confidence: float


def permutation_test(
    contrast: Contrast,
    measure: FloatArray,
    *,
    permutations: int = 999,
    seed: int = 0,
    adjustment: Adjustment = "holm",
    progress: Progress | None = None,
) -> PermutationTest:
    """Test conditional parity by permuting group labels within levels.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    permutations : B; p-values are multiples of 1 / (B + 1).
    seed : the same seed gives the same result on any number of threads.
    adjustment : of the p-values of single levels.
    progress : called with the number of permutations done.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import permutation_test
    >>> scores = np.r_[np.arange(20), np.arange(20) + 15] / 40
    >>> contrast = contrasts(Cells.from_rows(scores, ["f"] * 20 + ["m"] * 20), "pairwise")[0]
    >>> permutation_test(contrast, np.ones(1)).p_value
    0.001
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    _refuse_weighted_counts(contrast)
    pairs = contrast.segments()
    observed = pair_costs(contrast.cells.atoms, pairs[:, 0], pairs[:, 1], 2.0)
    means = contrast.cells.means[:, contrast.positions][contrast.support]
    gap = float((measure * (means[:, 1] - means[:, 0])).sum())
    null = permute(
        contrast, measure, observed, replicates=permutations, seed=seed, progress=progress
    )
    costs, distances, gaps = null.totals.T
    by_level = ((1.0 + null.reached) / (permutations + 1.0)).astype(np.float64)
    return PermutationTest(
        p_value=_p_value(float((measure * observed).sum()), costs),
        p_value_gap=_p_value(abs(gap), np.abs(gaps)),
        null_distance=float(distances.mean()),
        null_cost=float(costs.mean()),
        level_p_values=by_level,
        level_adjusted=adjust(by_level, adjustment),
        level_null_distance=null.means[:, 1],
        detectable=_detectable(costs, gaps),
        permutations=permutations,
    )


def _refuse_weighted_counts(contrast: Contrast) -> None:
    atoms = contrast.cells.atoms
    if not contrast.cells.weighted and not np.array_equal(atoms.mass, atoms.counts):
        raise InputError(
            "weighted counts do not say which row has which weight, so they cannot be resampled; "
            "use rows (no resolution) or no weights."
        )


def _p_value(observed: float, null: FloatArray) -> float:
    """(1 + #{T* >= T}) / (B + 1); values equal up to rounding count as equal."""
    reached = int((null >= observed * (1.0 - 1e-9)).sum())
    return (1 + reached) / (null.size + 1)


def _detectable(costs: FloatArray, gaps: FloatArray) -> float:
    """Smallest shift of one group that the test would detect with the wanted power.

    Shifting a group by δ changes W_2² to W_2² + 2 δ gap + δ², exactly, so the permutations say
    what the statistic would be under every shift.
    """
    critical = np.quantile(costs, 1.0 - _LEVEL, method="higher")

    def power(shift: float) -> float:
        return float((costs + 2.0 * shift * gaps + shift**2 > critical).mean())

    low, high = 0.0, max(math.sqrt(float(critical)), 1e-12)
    while power(high) < _POWER:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= _POWER else (middle, high)
    return high


def adjust(p_values: FloatArray, adjustment: Adjustment) -> FloatArray:
    """Adjust the p-values of several tests.

    `"holm"`: the chance of any false alarm stays below the level. `"bh"`: the share of false
    alarms among all alarms does.

    Parameters
    ----------
    p_values : (k,) floats.
    adjustment : `"holm"` or `"bh"` (Benjamini-Hochberg).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.inference import adjust
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust(np.array([0.01, 0.04, 0.03]), "bh")
    array([0.03, 0.04, 0.04])
    """
    size = p_values.size
    order = np.argsort(p_values, kind="stable")
    ordered = p_values[order]
    if adjustment == "holm":
        stepped = np.maximum.accumulate(ordered * (size - np.arange(size)))
    elif adjustment == "bh":
        stepped = np.minimum.accumulate((ordered * size / np.arange(1, size + 1))[::-1])[::-1]
    else:
        raise InputError(f"adjustment must be 'holm' or 'bh', not {adjustment!r}.")
    adjusted = np.empty(size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def estimate(
    contrast: Contrast,
    measure: FloatArray,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Estimate:
    """Estimate (Σ_l Q(l) W_2²(l))^{1/2} without small-sample bias, with an interval.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : nominal coverage of the interval, in (0, 1).
    seed, progress : as for `permutation_test`.

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
    _refuse_weighted_counts(contrast)
    pairs = contrast.segments()
    usable: npt.NDArray[np.bool_] = np.all(contrast.counts[contrast.support] >= 2, axis=1)
    if not usable.any():
        usable = np.ones_like(usable)
    weights = np.where(usable, measure, 0.0)
    weights /= weights.sum()
    atoms = contrast.cells.atoms
    costs = pair_costs(atoms, pairs[:, 0], pairs[:, 1], 2.0)
    biases = split_halves(
        atoms, pairs.ravel(), replicates=_SPLITS, seed=seed, progress=progress
    ).reshape(pairs.shape)
    again = bootstrap(contrast, weights, replicates=_BOOTSTRAPS, seed=seed + 1, progress=progress)
    cost, bias = float(weights @ costs), float(weights @ biases.sum(axis=1))
    error = float(again.totals[:, 0].std(ddof=1))
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * error
    debiased = cost - bias
    return Estimate(
        value=_root(debiased),
        interval=(_root(debiased - reach), _root(debiased + reach)),
        confidence=confidence,
        plug_in=_root(cost),
        cost=cost,
        bias=bias,
        error=error,
        levels=int(usable.sum()),
    )


def _root(cost: float) -> float:
    return math.sqrt(max(0.0, cost))


@compiled
def _squares(
    values: FloatArray, mass: FloatArray, offsets: IntArray, counts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Of each segment: Σ (w / Σ w)² over rows, and the weighted variance of the values."""
    n_segments = offsets.size - 1
    share = np.zeros(n_segments)
    variance = np.zeros(n_segments)
    for s in range(n_segments):
        total, mean = 0.0, 0.0
        for i in range(offsets[s], offsets[s + 1]):
            total += mass[i]
            mean += mass[i] * values[i]
        if total == 0.0:
            continue
        mean /= total
        for i in range(offsets[s], offsets[s + 1]):
            share[s] += (mass[i] / total) ** 2 / counts[i]
            variance[s] += mass[i] / total * (values[i] - mean) ** 2
    return share, variance


def effective_rows(contrast: Contrast) -> FloatArray:
    """Rows of each supported level and group, (Σ w)² / Σ w² where they have weights. Shape (k, 2).

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import effective_rows
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["f", "f", "m"], sample_weight=[1, 1, 5])
    >>> effective_rows(contrasts(cells, "pairwise")[0])
    array([[2., 1.]])
    """
    atoms = contrast.cells.atoms
    share, _ = _squares(*atoms.line, atoms.counts)
    rows: FloatArray = 1.0 / share[contrast.segments()]
    return rows


def gap_errors(contrast: Contrast) -> FloatArray:
    """Standard error of the gap of means in each supported level, sqrt(s_0²/n_0 + s_1²/n_1).

    NaN where a cell has a single row and its spread cannot be known. Shape (k,).

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import gap_errors
    >>> cells = Cells.from_rows([0.0, 1.0, 0.0, 1.0], ["f", "f", "m", "m"])
    >>> gap_errors(contrasts(cells, "pairwise")[0])
    array([0.70710678])
    """
    atoms = contrast.cells.atoms
    share, variance = _squares(*atoms.line, atoms.counts)
    pairs = contrast.segments()
    with np.errstate(divide="ignore", invalid="ignore"):
        # variance / (1 - Σ share²) is unbiased; times Σ share² it is that of the mean.
        of_mean = variance * share / (1.0 - share)
    of_mean[share > 1.0 - 1e-12] = np.nan
    errors: FloatArray = np.sqrt(of_mean[pairs].sum(axis=1))
    return errors


def certificate(
    contrast: Contrast, measure: FloatArray, *, confidence: float = 0.95, reach: float | None = None
) -> Certificate:
    """Bounds on Σ_l Q(l) W_1(l) that hold for any sample size, with Q as given.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l), fixed beforehand.
    confidence : of each bound, in (0, 1).
    reach : R, the range of the scores; `None` takes the range seen, which is right for scores
        known to fill it.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import certificate
    >>> cells = Cells.from_rows(np.tile([0.0, 1.0], 5000), ["f"] * 5000 + ["m"] * 5000)
    >>> found = certificate(contrasts(cells, "pairwise")[0], np.ones(1))
    >>> found.lower, round(found.upper, 3)
    (0.0, 0.024)
    """
    cells, pairs = contrast.cells, contrast.segments()
    extent = cells.reach if reach is None else reach
    plug_in = float(measure @ pair_costs(cells.atoms, pairs[:, 0], pairs[:, 1], 1.0))
    inverse = 1.0 / effective_rows(contrast)
    spread = math.sqrt(float(measure**2 @ inverse.sum(axis=1)))
    deviation = extent * math.sqrt(0.5 * math.log(1.0 / (1.0 - confidence))) * spread
    bias = extent * float(measure @ (0.5 * np.sqrt(inverse)).sum(axis=1))
    return Certificate(
        lower=max(0.0, plug_in - deviation - bias),
        upper=min(extent, plug_in + deviation),
        confidence=confidence,
    )
