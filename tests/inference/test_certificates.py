from typing import Any

import numpy as np
from scipy import stats

from likeforlike import Cells
from likeforlike.disparity._contrasts import Contrast, contrasts
from likeforlike.inference import adjust, certificate, effective_rows, level_gaps


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


def test_certificate_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    scores, groups = np.concatenate([[0.0, 1.0], rng.random(98)]), np.arange(100) % 2
    levels = np.arange(100) // 50
    measure = np.array([0.3, 0.7])
    found = certificate(
        contrast_of(scores, groups, levels), measure, score_range=(0, 1), confidence=0.9
    )
    plug_in = sum(
        q
        * stats.wasserstein_distance(
            scores[(levels == k) & (groups == 0)], scores[(levels == k) & (groups == 1)]
        )
        for k, q in enumerate(measure)
    )
    reach = np.sqrt(0.5 * np.log(10) * (measure**2 * (1 / 25 + 1 / 25)).sum())
    np.testing.assert_allclose(found.upper, plug_in + reach)
    bias = (measure * (0.5 / 5 + 0.5 / 5)).sum()
    np.testing.assert_allclose(found.lower, max(0.0, plug_in - reach - bias))


def test_certificate_holds_far_more_often_than_it_promises() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        groups, levels = np.arange(400) % 2, np.arange(400) // 2 % 4
        scores = np.clip(rng.random(400) * 0.8 + 0.1 * groups, 0, 1)
        found = certificate(
            contrast_of(scores, groups, levels), np.full(4, 0.25), score_range=(0, 1)
        )
        held += found.lower <= 0.1 <= found.upper
    assert held == 200


def test_effective_rows_count_weights() -> None:
    weight = np.array([1.0, 1.0, 2.0, 4.0, 3.0])
    contrast = contrast_of([1, 2, 3, 4, 5], list("ffmmm"), sample_weight=weight)
    np.testing.assert_allclose(effective_rows(contrast), [[2.0, 81 / 29]])


def test_gap_errors_are_those_of_welch() -> None:
    rng = np.random.default_rng(2)
    x, y = np.round(rng.random(30), 1), np.round(rng.random(50), 1)
    contrast = contrast_of(np.concatenate([x, y]), np.repeat(["f", "m"], [30, 50]))
    expected = np.sqrt(x.var(ddof=1) / 30 + y.var(ddof=1) / 50)
    np.testing.assert_allclose(level_gaps(contrast).error, [expected], rtol=1e-12)


def test_the_gap_of_a_single_row_has_no_known_error() -> None:
    assert not np.isfinite(level_gaps(contrast_of([0.1, 0.2, 0.3], list("fmm"))).error[0])


def test_adjusted_p_values_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        p = np.round(rng.random(12) ** 3, 2)
        order = np.argsort(p)
        holm = np.empty(12)
        for rank, k in enumerate(order):
            holm[k] = min(1.0, max((12 - r) * p[order[r]] for r in range(rank + 1)))
        np.testing.assert_allclose(adjust(p, "holm"), holm)
        np.testing.assert_allclose(adjust(p, "bh"), stats.false_discovery_control(p, method="bh"))
