"""The lower end of a distance: what the groups are apart at least.

W_1 is the largest gap of all functions that rise or fall by at most one for one (Kantorovich and
Rubinstein), so every such gap is a bound. Three are taken, each at a third of the error allowed on
the lower side, and the largest counts:

- |Δ| of the signed gap;
- the root mean square of the gaps by level, which gaps of opposite sign do not cancel;
- the gap of the distances from the median of the level, for groups that differ in spread.

Where scores were rounded to bins of width w with sums inside, the first is that of the rows, and
the second that of the rows with fewer degrees of freedom. The third is lowered by w: the rows of a
bin are w / 2 away from their mean at most, on average, in either group.
"""

from __future__ import annotations

import math

import numpy as np

from likeforlike.inference._distance_parts import DistanceParts
from likeforlike.inference._gap import gap_of_sample
from likeforlike.inference._student import t_quantile
from likeforlike.inference._units import Jackknife

# Squares below this cannot be divided by.
_NOTHING = 1e-150
_BISECTIONS = 50


def lower_end(parts: DistanceParts, confidence: float) -> float:
    """The lower end of the interval of D, in scaled scores."""
    third = 1.0 - (1.0 - confidence) / 3.0
    rates = parts.sample.rates
    bounds = [_away_from_0(parts, parts.scores, third, rates=rates), _of_squares(parts, third)]
    if not rates:
        folded = parts.sample.jackknife(parts.merged.from_median)
        apart = _away_from_0(parts, folded, third, rates=False)
        bounds.append(apart - parts.sample.width)
    return max(0.0, *bounds)


def _away_from_0(
    parts: DistanceParts, means: Jackknife, confidence: float, *, rates: bool
) -> float:
    """How far the interval of a gap stays away from 0."""
    gap = gap_of_sample(parts.sample, means, parts.measure, confidence, rates=rates)
    low, high = gap.interval
    return parts.sample.scaled(max(0.0, low, -high))


def _of_squares(parts: DistanceParts, confidence: float) -> float:
    """Lower bound for (Σ_l Q(l) (m_1l - m_0l)²)^½ over replicated levels."""
    measure = np.where(parts.alone, 0.0, parts.measure)
    gaps = parts.scores.gaps
    # Two rows may differ little by chance; the other levels know better how much people do.
    variances = parts.scores.shrunk.reshape(-1, 2).sum(axis=1)
    total, noise = float(measure @ gaps**2), float(measure @ variances)
    if not total > noise:
        return 0.0
    seeming = measure * gaps / math.sqrt(total)
    slope = max(
        parts.variance(parts.scores, measure),
        parts.variance(parts.scores, seeming),
        float(seeming**2 @ variances),
    )
    spread = float((measure**2 * 2.0 * variances**2 * (1.0 + 2.0 / parts.level_freedom)).sum())
    if parts.sample.units.crossing:
        spread = max(spread, float(parts.noise.totals[:, 2].var(ddof=1)))
    freedom = min(parts.freedom(measure), parts.freedom(seeming))
    if parts.sample.moved is not None:
        # Those of the rows cannot be fewer than those of the smallest level.
        freedom = min(freedom, max(float(parts.level_freedom[measure > 0.0].min()), 2.0))
    quantile = float(t_quantile(0.5 + confidence / 2.0, freedom))
    return smallest_gap(total, noise, slope, spread, quantile) - parts.sample.blur


def smallest_gap(total: float, noise: float, slope: float, spread: float, quantile: float) -> float:
    """The smallest d at which a sum of squares as large as `total` is not yet too rare.

    Mean d² + noise, variance 4 slope d² + spread, by Wilson and Hilferty's cube root.
    """

    def largest_total(distance: float) -> float:
        mean = distance * distance + noise
        if mean < _NOTHING:  # rows of a cell that all have the same score make no noise
            return mean
        ninth = (4.0 * slope * distance * distance + spread) / (9.0 * mean * mean)
        return float(mean * (1.0 - ninth + quantile * math.sqrt(ninth)) ** 3)

    low, high = 0.0, math.sqrt(total)
    if largest_total(low) >= total:
        return 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if largest_total(middle) < total:
            low = middle
        else:
            high = middle
    return low
