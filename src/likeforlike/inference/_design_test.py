"""A test for rows with weights, or for clusters that lie in several levels.

Labels of such rows cannot be permuted: weights that depend on the score, or people who turn up in
many levels, look like a disparity to a permutation test. Here figures that are sums of means are
compared with their jackknife errors (`units`), by Student's t:

- `gap`: the signed gap of the scores;
- `ranks`: that of the ranks inside levels, which no large score can sway;
- `spread`: that of the distances from the median of the level;
- `level`: the level whose gap is the clearest, times the number of levels.

Each has a fixed share of the error allowed, so that p = min p_c / share_c. With heavy weights only
the first two speak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._gap_moments import gap_moments, level_freedom, level_variances
from likeforlike.inference._level_order import order_levels
from likeforlike.inference._multiplicity import adjust
from likeforlike.inference._single_rows import single_levels
from likeforlike.inference._student import t_tail
from likeforlike.inference._units import Jackknife, Sample, take_sample

DesignComponent = Literal["gap", "ranks", "spread", "level"]
"""What the test looks at."""

_SHARES: dict[DesignComponent, float] = {"gap": 0.70, "ranks": 0.15, "spread": 0.05, "level": 0.10}


@dataclass(frozen=True, slots=True)
class DesignTest:
    """Whether two groups differ among equals, for weighted rows and clusters in several levels.

    Attributes
    ----------
    p_value : the smallest p-value of a component over its share of the error allowed.
    leading_component : the component it comes from.
    components : the p-value of every component that was looked at.
    level_p_values, level_adjusted : (k,) floats, of the gap of each level, before and after Holm's
        adjustment; 1 where the error of a level is not known.
    method : how the test works.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import jackknife_test
    >>> scores, groups = np.arange(80) % 20 + 10.0 * (np.arange(80) % 2), np.arange(80) % 2
    >>> cells = Cells.from_rows(scores, groups, sample_weight=1 + np.arange(80) % 3)
    >>> test = jackknife_test(contrasts(cells, "pairwise")[0], np.ones(1))
    >>> test.p_value < 0.001, test.leading_component, sorted(test.components)
    (True, 'gap', ['gap', 'ranks', 'spread'])
    """

    p_value: float
    leading_component: DesignComponent
    components: dict[DesignComponent, float]
    level_p_values: FloatArray
    level_adjusted: FloatArray
    method: Literal["design"] = "design"


def jackknife_test(contrast: Contrast, measure: FloatArray) -> DesignTest:
    """Test whether two groups differ among equals, by jackknife errors.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import jackknife_test
    >>> person, groups = np.repeat(np.arange(40), 5), np.repeat(np.arange(40) % 2, 5)
    >>> cells = Cells.from_rows(np.sin(person), groups, cluster=person)
    >>> jackknife_test(contrasts(cells, "pairwise")[0], np.ones(1)).p_value > 0.1
    True
    """
    sample = take_sample(contrast)
    components: dict[DesignComponent, float] = {"gap": _p_of_gap(sample, sample.scores, measure)}
    if not sample.rates:
        merged = order_levels(sample)
        components["ranks"] = _p_of_gap(sample, sample.jackknife(merged.ranks), measure)
        if not sample.heavy:
            folded = sample.jackknife(merged.from_median)
            components["spread"] = _p_of_gap(sample, folded, measure)
    levels = _p_of_levels(sample)
    if sample.n_levels > 1 and not sample.heavy:
        clear = levels[~(single_levels(sample.units) | sample.dominated)]
        components["level"] = min(1.0, clear.size * float(clear.min(initial=1.0)))
    allowed = sum(_SHARES[name] for name in components)
    scaled = {name: p * allowed / _SHARES[name] for name, p in components.items()}
    leading_component = min(scaled, key=scaled.__getitem__)
    return DesignTest(
        p_value=min(1.0, scaled[leading_component]),
        leading_component=leading_component,
        components=components,
        level_p_values=levels,
        level_adjusted=adjust(levels, "holm"),
    )


def _p_of_gap(sample: Sample, means: Jackknife, measure: FloatArray) -> float:
    """Two-sided p-value of a gap, of the one nearer to 0 if weighted means may be biased."""
    moments = gap_moments(sample, means, measure)
    if not moments.known:
        return 1.0
    nearest = _nearer(np.array(moments.value), np.array(moments.shift))
    ratio = nearest / math.sqrt(moments.spread.variance)
    return min(1.0, 2.0 * float(t_tail(ratio, moments.spread.df)))


def _nearer(value: FloatArray, shift: FloatArray) -> FloatArray:
    """Distance from 0 of the interval between a value and the value with its shift."""
    moved = value + shift
    nearer: FloatArray = np.where(
        value * moved > 0.0, np.minimum(np.abs(value), np.abs(moved)), 0.0
    )
    return nearer


def _p_of_levels(sample: Sample) -> FloatArray:
    """Two-sided p-values of the gaps of the levels; 1 where the error is not known. Shape (k,)."""
    means = sample.scores
    # A bias that is not small next to the error would make a p-value too small.
    variances = level_variances(means) + (means.bias**2).reshape(-1, 2).sum(axis=1)
    unknown = single_levels(sample.units) | (variances <= 0.0)
    ratio = np.abs(means.gaps) / np.sqrt(np.where(unknown, 1.0, variances))
    p_values: FloatArray = np.where(unknown, 1.0, 2.0 * t_tail(ratio, level_freedom(means)))
    return np.minimum(p_values, 1.0)
