from typing import Any

import numpy as np
import pytest
from scipy import stats

from likeforlike import Cells, cdd_lp
from likeforlike.disparity import Contrast, contrasts
from likeforlike.inference import adjust, certificate, level_gaps, take_sample


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


def test_effective_sample_sizes_count_weights() -> None:
    weight = np.array([1.0, 1.0, 2.0, 4.0, 3.0])
    contrast = contrast_of([1, 2, 3, 4, 5], list("ffmmm"), sample_weight=weight)
    np.testing.assert_allclose(take_sample(contrast).units.effective, [2.0, 81 / 29])


def test_effective_sample_sizes_count_clusters() -> None:
    contrast = contrast_of([1, 2, 3, 4, 5], list("ffmmm"), cluster=[1, 1, 2, 2, 3])
    np.testing.assert_allclose(take_sample(contrast).units.effective, [1.0, 9 / 5])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_certificate_counts_what_a_cluster_can_move(weighted: bool) -> None:
    """Twenty people in both levels: changing one moves the means of all cells that hold it."""
    rng = np.random.default_rng(4)
    person = np.arange(200) % 20
    groups, levels = person % 2, np.arange(200) // 100
    weight = rng.random(200) + 0.1 if weighted else np.ones(200)
    measure = np.array([0.3, 0.7])
    contrast = contrast_of(rng.random(200), groups, levels, sample_weight=weight, cluster=person)
    found = certificate(contrast, measure, score_range=(0, 1))
    moved = np.zeros(20)
    for k in range(2):
        for g in range(2):
            here = (levels == k) & (groups == g)
            share = np.bincount(person[here], weight[here], 20) / weight[here].sum()
            moved += measure[k] * share
    plug_in = cdd_lp(contrast.cells, measure=dict(enumerate(measure)))
    deviation = np.sqrt(0.5 * np.log(20.0) * (moved**2).sum())
    np.testing.assert_allclose(found.upper, plug_in.value + deviation)
    plain = certificate(
        contrast_of(
            contrast.cells.atoms.values, np.repeat([0, 1, 0, 1], 50), np.repeat([0, 1], 100)
        ),
        measure,
        score_range=(0, 1),
    )
    assert found.upper > plain.upper + 0.2


def test_a_certificate_holds_for_people_with_many_rows() -> None:
    """Rows of one person taken for many people used to give bounds that miss the truth."""
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(24), 200)
    held = 0
    for _ in range(100):
        scores = rng.beta(0.5, 0.5, 24)[person]
        contrast = contrast_of(scores, person % 2, cluster=person)
        found = certificate(contrast, np.ones(1), score_range=(0, 1))
        held += found.lower <= 0.0 <= found.upper
    assert held == 100


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
