"""Simpson's paradox: whether looking at all rows would mislead about people who are alike.

Two signed gaps are compared: A, between all rows of the groups, and Δ = Σ_l Q(l) (m_1l - m_0l),
among equals. A is

- *reversed* if both intervals exclude 0, on opposite sides;
- *masked* if Δ is not 0 and |A| < ½ |Δ|, by one-sided tests of ½ |Δ| - A and ½ |Δ| + A.

Both gaps come from the same rows, so the tests need their covariance. Each is a sum over units, up
to terms that vanish: a row of group g adds ±(x - m_g) / n_g to A, and to Δ its jackknife residual
times Q(l) and, since who is in which level is chance too, Q(l) (m_1l - m_0l - Δ) / n_l.

Only rows in levels where both groups occur are looked at, so that both gaps are about the same
people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._gap import Gap, gap_of_sample
from likeforlike.inference._gap_moments import level_errors, signed_measure
from likeforlike.inference._intervals import check_confidence
from likeforlike.inference._single_rows import read_single_rows
from likeforlike.inference._student import t_quantile
from likeforlike.inference._units import Sample, take_sample
from likeforlike.transport._atoms import sums_by

Paradox = Literal["none", "masked", "reversed"]
"""What looking at all rows hides.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import load_loans
>>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
>>> lfl.audit(load_loans(1000).frame, **roles).contrasts[0].paradox
'masked'
"""


@dataclass(frozen=True, slots=True)
class Simpson:
    """The gap among all rows next to the gap among equals.

    Attributes
    ----------
    kind : "reversed", "masked" or "none".
    overall : the gap between all rows of the groups, in levels where both occur.
    conditional : the gap among equals.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import compare_gaps
    >>> rng = np.random.default_rng(0)
    >>> groups = np.arange(2000) % 2
    >>> levels = rng.binomial(9, 0.4 + 0.2 * groups)
    >>> scores = levels / 9 + 0.1 * rng.normal(size=2000) - 0.05 * groups
    >>> contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
    >>> measure = contrast.mass[contrast.support].sum(axis=1) / 2000
    >>> found = compare_gaps(contrast, measure)
    >>> found.kind, found.overall.value > 0, found.conditional.value < 0
    ('reversed', True, True)
    """

    kind: Paradox
    overall: Gap
    conditional: Gap


def compare_gaps(contrast: Contrast, measure: FloatArray, *, confidence: float = 0.95) -> Simpson:
    """Compare the gap among all rows with the gap among equals.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : of the intervals and tests, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import compare_gaps
    >>> cells = Cells.from_rows(np.arange(40) % 7, np.arange(40) % 2)
    >>> compare_gaps(contrasts(cells, "pairwise")[0], np.ones(1)).kind
    'none'
    """
    return simpson_of_sample(take_sample(contrast), measure, confidence)


def simpson_of_sample(sample: Sample, measure: FloatArray, confidence: float) -> Simpson:
    """The same for a sample that was taken already."""
    check_confidence(confidence)
    pooled = sample.pooled()
    conditional = gap_of_sample(sample, sample.scores, measure, confidence, rates=sample.rates)
    overall = gap_of_sample(pooled, pooled.scores, np.ones(1), confidence, rates=sample.rates)
    return Simpson(_kind(sample, measure, overall, conditional), overall, conditional)


def _kind(sample: Sample, measure: FloatArray, overall: Gap, conditional: Gap) -> Paradox:
    low, high = conditional.interval
    if sample.n_levels < 2 or low <= 0.0 <= high or not math.isfinite(conditional.error):
        return "none"
    sign = math.copysign(1.0, low)
    if max(sign * overall.interval[0], sign * overall.interval[1]) < 0.0:
        return "reversed"
    half, whole = 0.5 * sample.scaled(conditional.value), sample.scaled(overall.value)
    if abs(half) <= abs(whole):
        return "none"
    covariance = _covariance(sample, measure)
    df = max(min(overall.df, conditional.df), 1.0)
    quantile = float(t_quantile(0.5 + conditional.confidence / 2.0, df))
    for side in (-1.0, 1.0):
        weight = np.array([side, 0.5])
        error = math.sqrt(max(float(weight @ covariance @ weight), 0.0))
        if sign * (half + side * whole) <= quantile * error:
            return "none"
    return "masked"


def _covariance(sample: Sample, measure: FloatArray) -> FloatArray:
    """Covariance of the gap among all rows and the gap among equals, shape (2, 2)."""
    singles = read_single_rows(sample.scores, measure)
    parts = np.stack([_to_overall(sample), _to_conditional(sample, measure)])
    units = sample.units
    together = singles.between[units.cell // 2]
    # Levels whose variance is read between levels are one unit each.
    of_level = units.cell[together] // 2
    levels = np.stack(
        [
            sums_by(of_level, (units.times * parts[0])[together], measure.size),
            level_errors(sample.scores, signed_measure(measure), singles),
        ]
    )
    apart, times = parts[:, ~together], units.times[~together]
    if units.cluster is not None:
        cluster = units.cluster[~together]
        n_clusters = int(units.cluster.max()) + 1
        apart = np.stack([sums_by(cluster, part, n_clusters) for part in apart])
        times = np.ones(n_clusters)
    covariance: FloatArray = (apart * times) @ apart.T + levels @ levels.T
    if sample.inside is not None:
        # Rows around the means of their bins.
        side = np.where(sample.cell % 2 == 1, 1.0, -1.0)
        totals = sums_by(sample.cell % 2, sample.mass, 2)[sample.cell % 2]
        among_equals = signed_measure(measure)[sample.cell] * units.lever
        slopes = np.stack([side / totals, among_equals / sample.totals[sample.cell]])
        covariance += (
            slopes * np.where(together, 0.0, sample.counts * sample.inside[0])
        ) @ slopes.T
    return covariance


def _to_overall(sample: Sample) -> FloatArray:
    """What each unit adds to the gap among all rows. Shape (u,)."""
    side = sample.cell % 2
    totals = sums_by(side, sample.mass, 2)
    means = sums_by(side, sample.mass * sample.values, 2) / totals
    added = np.where(side == 1, 1.0, -1.0) * (sample.values - means[side])
    return sample.by_unit(added * sample.mass / totals[side])


def _to_conditional(sample: Sample, measure: FloatArray) -> FloatArray:
    """What each unit adds to the gap among equals. Shape (u,)."""
    means, level = sample.scores, sample.cell // 2
    apart = measure * (means.gaps - float(measure @ means.gaps))
    of_level = sample.totals.reshape(-1, 2).sum(axis=1)
    chance = sample.by_unit((apart / of_level)[level] * sample.mass)
    inside: FloatArray = signed_measure(measure)[sample.units.cell] * means.residuals
    return inside + chance
