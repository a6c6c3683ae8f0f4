"""The headline test: whether the groups differ anywhere among equals.

Labels are permuted within levels, and five components look at each replicate: the gap of the
means, ranks, spread, the distance Σ Q W_2² and the largest level statistic (`_components`). The
strongest evidence counts, by weights that favor gap and ranks, which is what a disparity usually
is (`_combination`); where scores have long tails, or levels very different scales, means and
squares say little, and ranks count for most. That is seen from the scores of both groups together,
which permutations do not change. The p-value is exact, as long as the model was fixed before it saw
these rows and rows, or clusters of them, are exchangeable within their level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._combination import (
    Combination,
    CubeRoots,
    combine,
    exact_p_value,
    linear_evidence,
    tail_p_value,
)
from likeforlike.inference._components import (
    COST,
    GAP,
    LARGEST,
    RANKS,
    SPREAD,
    Component,
    permuted_components,
)
from likeforlike.inference._detectable import critical_evidence, detectable_shift
from likeforlike.inference._normal_tail import two_sided_evidence
from likeforlike.inference._replicates import Progress
from likeforlike.inference._scored_levels import (
    ARRANGEMENTS,
    VARIANCE,
    Clusters,
    ScoredLevels,
    score_clusters,
    score_contrast,
)
from likeforlike.inference._step_down import step_down

TestMethod = Literal["permutation", "design"]
"""Where the p-value comes from: permuted labels, or standard errors that know the design."""

WEIGHTS: dict[Component, float] = {
    "gap": 1.0,
    "ranks": 1.0,
    "spread": 0.05,
    "distance": 0.2,
    "level": 0.12,
}
# Beyond so much more kurtosis than normal scores have, means and squares count less.
_LONG_TAILS = 2.0
_LONG_TAILED: dict[Component, float] = {
    "gap": 0.1,
    "ranks": 1.0,
    "spread": 0.02,
    "distance": 0.17,
    "level": 0.05,
}
# Atoms whose squares are held at once.
_SUMMED_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class HeadlineTest:
    """Test of conditional parity between two groups.

    Attributes
    ----------
    p_value : exact; with B permutations a multiple of 1 / (B + 1).
    tail_p_value : the same, continued below 1 / (B + 1); for adjustment over many contrasts.
    leading_component : the component with the strongest evidence, or the gap where it alone gives
        the same p-value; `None` if permutations change nothing, as where all scores are equal.
    components : {component: its p-value by itself}, not adjusted for there being five.
    method : "permutation".
    level_p_values, level_adjusted : (k,) floats, of each level by itself and by step-down, so that
        the chance of any false alarm among levels is kept.
    null_distance : what Σ Q W_1 averages to at parity.
    level_null_distance : (k,) floats, what W_1 of each level averages to at parity.
    detectable : the smallest shift, the same in every level, that this test detects at 5% in 80%
        of samples like this one; for decisions a shift of the rate. `None` if there is none.
    permutations : how many there were.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> rng = np.random.default_rng(0)
    >>> groups, levels = np.arange(400) % 2, np.arange(400) // 100
    >>> scores = rng.normal(size=400) * np.where(groups == 1, 2.0, 1.0)
    >>> contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
    >>> test = headline_test(contrast, np.full(4, 0.25))
    >>> test.p_value, test.leading_component, test.components["gap"] > 0.05
    (0.001, 'spread', True)
    """

    p_value: float
    tail_p_value: float
    leading_component: Component | None
    components: dict[Component, float]
    method: TestMethod
    level_p_values: FloatArray
    level_adjusted: FloatArray
    null_distance: float
    level_null_distance: FloatArray
    detectable: float | None
    permutations: int


def headline_test(
    compared: Contrast | Clusters,
    measure: FloatArray,
    *,
    permutations: int = 999,
    random_state: int = 0,
    contrasts: int = 1,
    progress: Progress | None = None,
) -> HeadlineTest:
    """Test conditional parity by permuting group labels within levels.

    Parameters
    ----------
    compared : two groups, of rows or counts without weights; or clusters of rows. k levels hold
        both groups.
    measure : (k,) floats, Q(l).
    permutations : B.
    random_state : the same seed gives the same result on any number of threads.
    contrasts : how many contrasts there are in all, for the detectable shift.
    progress : called with the number of permutations done.

    References
    ----------
    Phipson and Smyth (2010), *Permutation P-values should never be zero*.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> pairs = np.arange(200) // 2, np.arange(200) % 2
    >>> scores = pairs[0] + 0.5 * pairs[1] + np.sin(np.arange(200.0))
    >>> contrast = contrasts(Cells.from_rows(scores, pairs[1], pairs[0]), "pairwise")[0]
    >>> test = headline_test(contrast, np.full(100, 0.01))
    >>> test.p_value, test.leading_component
    (0.001, 'gap')
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    levels = (
        score_contrast(compared) if isinstance(compared, Contrast) else score_clusters(compared)
    )
    if measure.shape != (levels.sizes.shape[0],):
        raise InputError(
            f"measure has shape {measure.shape}, but {levels.sizes.shape[0]} level(s) hold both "
            "groups; give one weight for each."
        )
    replicates = permuted_components(
        levels, measure, permutations=permutations, seed=random_state, progress=progress
    )
    combined = combined_evidence(levels, replicates.totals)
    detectable = detectable_shift(
        levels,
        replicates.totals,
        combined.offsets,
        critical_evidence(combined.evidence),
        contrasts,
    )
    null_distance = levels.reach * replicates.null_distance
    return HeadlineTest(
        p_value=exact_p_value(combined.evidence),
        tail_p_value=tail_p_value(combined.evidence, float(levels.facts[:, ARRANGEMENTS].sum())),
        leading_component=combined.leading_component,
        components=combined.components,
        method="permutation",
        level_p_values=replicates.reached / (permutations + 1.0),
        level_adjusted=step_down(replicates.level_statistic, replicates.stepped, permutations + 1),
        null_distance=float(measure @ null_distance),
        level_null_distance=null_distance,
        detectable=None if detectable is None else levels.reach * detectable,
        permutations=permutations,
    )


def combined_evidence(levels: ScoredLevels, totals: FloatArray) -> Combination[Component]:
    """The five components of every replicate, combined."""
    variances = levels.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0)
    # In a single level the largest level statistic says again what three components say.
    largest = totals[:, LARGEST] if levels.sizes.shape[0] > 1 else np.zeros(totals.shape[0])
    evidence: dict[Component, FloatArray] = {
        "gap": linear_evidence(totals[:, GAP], float(variances[GAP])),
        "ranks": linear_evidence(totals[:, RANKS], float(variances[RANKS])),
        "spread": linear_evidence(totals[:, SPREAD], float(variances[SPREAD])),
        "distance": CubeRoots.of(totals[:, COST]).evidence(totals[:, COST]),
        "level": two_sided_evidence(largest),
    }
    return combine(evidence, _weights(levels))


def _weights(levels: ScoredLevels) -> dict[Component, float]:
    """How much each component counts, by the tails of the scores around the means of levels."""
    if levels.two_valued:
        return WEIGHTS
    n_rows = float(levels.rows.sum())
    second = _sum_of_rows(levels, lambda gap: gap**2) / n_rows
    if not second > 0.0:
        return WEIGHTS
    kurtosis = _sum_of_rows(levels, lambda gap: (gap**2 / second) ** 2) / n_rows
    return _LONG_TAILED if kurtosis > 3.0 + _LONG_TAILS else WEIGHTS


def _sum_of_rows(levels: ScoredLevels, function: Callable[[FloatArray], FloatArray]) -> float:
    """Σ over rows of a function of their distance from the mean, without arrays as long as those.

    Sums and not products: threads of BLAS would fight over them.
    """
    total = 0.0
    for begin in range(0, levels.rows.size, _SUMMED_AT_ONCE):
        part = slice(begin, begin + _SUMMED_AT_ONCE)
        total += float((levels.rows[part] * function(levels.scores[GAP, part])).sum())
    return total
