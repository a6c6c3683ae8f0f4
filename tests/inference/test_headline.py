"""The headline test as people meet it: what it finds, keeps quiet about, and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike.disparity import Contrast, contrasts, level_weights
from likeforlike.errors import InputError
from likeforlike.inference import HeadlineTest, adjust, headline_test, omnibus_test
from likeforlike.inference._contrast_test import adjust_contrasts
from likeforlike.inference._rank_scores import Clusters


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


def outcome_of(contrast: Contrast, **settings: Any) -> HeadlineTest:
    return headline_test(contrast, level_weights(contrast, "marginal"), **settings)


def scattered(seed: int, n: int = 600, n_levels: int = 10) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.beta(3, 3, n), rng.integers(0, 2, n), rng.integers(0, n_levels, n)


# What it finds ------------------------------------------------------------------------------------


def test_pairs_that_differ_are_found() -> None:
    rng = np.random.default_rng(0)
    groups, levels = np.tile([0, 1], 500), np.repeat(np.arange(500), 2)
    scores = rng.normal(size=1000)
    test = outcome_of(contrast_of(scores + groups, groups, levels))
    assert test.p_value == 0.001
    assert test.tail_p_value < 1e-20
    assert test.leading_component == "gap"
    # A pair has two arrangements, so neither its spread, its distance nor itself says anything.
    assert {name for name, p in test.components.items() if p == 1.0} == {
        "spread",
        "distance",
        "level",
    }
    assert (test.level_adjusted == 1.0).all()
    assert outcome_of(contrast_of(scores, groups, levels)).p_value > 0.05


@pytest.mark.parametrize(
    ("effect", "leading_component"),
    [
        (lambda x, g, _level: x + 0.1 * g, "gap"),
        (lambda x, g, _level: 0.5 + (x - 0.5) * (1 + 0.6 * g), "spread"),
        (lambda x, g, level: x + 0.12 * g * (1 - 2 * (level % 2)), "distance"),
        (lambda x, g, level: x + 0.3 * g * (level == 3), "level"),
        (lambda x, g, _level: np.exp(60 * (x - 0.5 + 0.07 * g)), "ranks"),
    ],
    ids=["gap", "spread", "distance", "level", "ranks"],
)
def test_the_component_that_sees_a_disparity_speaks(effect: Any, leading_component: str) -> None:
    x, groups, levels = scattered(1, 2000, 20 if leading_component == "level" else 10)
    test = outcome_of(contrast_of(effect(x, groups, levels), groups, levels))
    assert test.p_value <= 0.002
    assert test.leading_component == leading_component
    if leading_component == "level":
        assert test.level_adjusted[3] <= 0.002
        assert np.delete(test.level_adjusted, 3).min() > 0.02


def test_decisions_in_one_level() -> None:
    """50 of 100 against 35 of 100: every component is the same test, and nothing is paid for it."""
    decided = np.concatenate([np.repeat([0.0, 1.0], 50), np.repeat([0.0, 1.0], [65, 35])])
    test = outcome_of(contrast_of(decided, np.repeat([0, 1], 100)), permutations=9999)
    assert test.p_value == test.components["gap"] == test.components["ranks"]
    assert test.components["distance"] == test.p_value
    assert abs(test.p_value - 0.0446) < 0.006  # Fisher's, two-sided, by the hypergeometric law
    assert test.components["level"] == 1.0


def test_single_rows_of_a_group_are_used() -> None:
    """300 levels of 1 against 20 that differ, 100 of 5 against 20 that do not."""
    rng = np.random.default_rng(2)
    levels = np.concatenate([np.repeat(np.arange(300), 21), np.repeat(np.arange(300, 400), 25)])
    groups = np.concatenate([np.tile([1] + [0] * 20, 300), np.tile([1] * 5 + [0] * 20, 100)])
    scores = rng.beta(3, 3, levels.size) + 0.1 * groups * (levels < 300)
    assert outcome_of(contrast_of(scores, groups, levels)).p_value == 0.001


# What it keeps quiet about ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        (np.full(40, 0.1), np.arange(40) % 2),
        (np.repeat([0.1, 1 / 3, 0.7], 10), np.arange(30) % 2, np.repeat([0, 1, 2], 10)),
        ([0.1, 0.2], [0, 1]),
    ],
    ids=["all equal", "equal in levels", "two rows"],
)
def test_where_permutations_change_nothing_nobody_speaks(columns: Any) -> None:
    test = outcome_of(contrast_of(*columns))
    assert test.p_value == test.tail_p_value == 1.0
    assert test.leading_component is None
    assert set(test.components.values()) == {1.0}
    assert (test.level_adjusted == 1.0).all()
    assert test.detectable is None


def test_equal_groups_have_nothing_to_find() -> None:
    """The same scores in both groups: nothing is less remarkable, so every p-value is one."""
    x = np.random.default_rng(0).random(50)
    test = outcome_of(contrast_of(np.tile(x, 2), np.repeat([0, 1], 50)))
    assert test.p_value == 1.0
    assert set(test.components.values()) == {1.0}


def test_ten_billion_rows() -> None:
    rng = np.random.default_rng(3)
    lines = np.stack([a.ravel() for a in np.meshgrid(range(5), range(2), range(30), indexing="ij")])
    mean = 3.4e7
    parity = rng.poisson(mean, lines.shape[1])
    shifted = rng.poisson(mean * (1 + 2e-5 * (lines[2] - 14.5) * lines[1]))
    for counts, differs in ((parity, False), (shifted, True)):
        cells = Cells.from_counts(lines[0], lines[1], lines[2] / 29, counts, resolution=1 / 29)
        test = outcome_of(contrasts(cells, "pairwise")[0])
        assert cells.counts.sum() > 1e10
        assert (test.p_value == 0.001) == differs
        assert test.detectable is not None
        assert 0.0 < test.detectable < 1e-3


# Units, threads, streams --------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_units_do_not_matter(factor: float) -> None:
    x, groups, levels = scattered(4)
    x = x + 0.03 * groups
    plain = outcome_of(contrast_of(x, groups, levels))
    other = outcome_of(contrast_of(x * factor, groups, levels))
    assert other.p_value == plain.p_value
    assert other.components == plain.components
    np.testing.assert_array_equal(other.level_adjusted, plain.level_adjusted)
    assert plain.detectable is not None
    assert other.detectable is not None
    np.testing.assert_allclose(other.detectable, plain.detectable * factor, rtol=1e-6)
    np.testing.assert_allclose(other.null_distance, plain.null_distance * factor, rtol=1e-9)


def test_the_same_seed_gives_the_same_test(monkeypatch: pytest.MonkeyPatch) -> None:
    contrast = contrast_of(*scattered(5))
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
        results.append(outcome_of(contrast, permutations=300, random_state=4))
    for other in results[1:]:
        assert other.p_value == results[0].p_value
        assert other.tail_p_value == results[0].tail_p_value
        assert other.detectable == results[0].detectable
        np.testing.assert_array_equal(other.level_null_distance, results[0].level_null_distance)
        np.testing.assert_array_equal(other.level_adjusted, results[0].level_adjusted)
    assert (
        outcome_of(contrast, permutations=300, random_state=5).null_distance
        != results[0].null_distance
    )


def test_groups_may_change_places() -> None:
    x, groups, levels = scattered(6)
    one = outcome_of(contrast_of(x + 0.04 * groups, groups, levels), permutations=4999)
    other = outcome_of(contrast_of(x + 0.04 * groups, 1 - groups, levels), permutations=4999)
    assert abs(one.p_value - other.p_value) < 0.02
    np.testing.assert_allclose(one.null_distance, other.null_distance, rtol=0.02)


def test_the_null_distance_is_that_of_levels() -> None:
    contrast = contrast_of(*scattered(7))
    measure = level_weights(contrast, "uniform")
    test = headline_test(contrast, measure, permutations=200)
    np.testing.assert_allclose(test.null_distance, measure @ test.level_null_distance)
    assert (test.level_null_distance > 0.0).all()


def test_progress_is_reported_and_an_interrupt_passes() -> None:
    contrast = contrast_of(*scattered(0, 50, 1))
    done: list[int] = []
    outcome_of(contrast, permutations=100, progress=done.append)
    assert sum(done) == 100

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome_of(contrast, permutations=10_000_000, progress=interrupt)


def test_what_cannot_be_tested_is_refused() -> None:
    contrast = contrast_of(*scattered(0))
    with pytest.raises(InputError, match="permutations must be at least 1"):
        outcome_of(contrast, permutations=0)
    with pytest.raises(InputError, match=r"two of the groups .* legitimate_features"):
        headline_test(contrast_of([0.1, 0.2], [0, 1], [0, 1]), np.ones(1))
    three = contrasts(Cells.from_rows([0.1, 0.2, 0.3], [0, 1, 2]), "barycenter")[0]
    with pytest.raises(InputError, match="contrast compares 3 groups"):
        headline_test(three, np.ones(1))
    with pytest.raises(InputError, match=r"measure has shape \(3,\), but 10 level"):
        headline_test(contrast, np.full(3, 1 / 3))
    together = Cells.from_rows([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], cluster=[0, 0, 1, 1])
    with pytest.raises(InputError, match="contrast has clusters"):
        headline_test(contrasts(together, "pairwise")[0], np.ones(1))
    with pytest.raises(InputError, match="contrast has clusters"):
        omnibus_test(contrasts(together, "barycenter")[0])


# Clusters -----------------------------------------------------------------------------------------


def people(seed: int, shift: float) -> tuple[Clusters, Contrast]:
    """A hundred and twenty people with five rows each, as clusters and as if rows were people."""
    rng = np.random.default_rng(seed)
    levels, groups = np.repeat(np.arange(10), 12), np.tile([0, 1], 60)
    person = np.repeat(np.arange(120), 5)
    values = (rng.beta(3, 3, 120) + shift * groups)[person] + 0.02 * rng.normal(size=600)
    clusters = Clusters(values, np.arange(0, 601, 60), person, groups)
    return clusters, contrast_of(values, groups[person], levels[person])


def test_rows_of_a_person_are_not_people() -> None:
    as_people = [headline_test(people(seed, 0.0)[0], np.full(10, 0.1)) for seed in range(20)]
    as_rows = [outcome_of(people(seed, 0.0)[1]) for seed in range(20)]
    assert sum(test.p_value <= 0.05 for test in as_people) <= 4
    assert sum(test.p_value <= 0.05 for test in as_rows) >= 16
    found = headline_test(people(0, 0.2)[0], np.full(10, 0.1))
    assert found.p_value == 0.001
    assert found.detectable is not None
    assert found.detectable > 1.5 * float(as_rows[0].detectable or 0.0)


# Many contrasts -----------------------------------------------------------------------------------


def test_twelve_groups_can_be_told_apart() -> None:
    """Rates of .2 in one group and .7 in eleven: raw p-values stop at .001, times 66 is .066."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(12), 500)
    decided = (rng.random(6000) < np.where(groups == 0, 0.2, 0.7)).astype(float)
    cells = Cells.from_rows(decided, groups, rng.integers(0, 5, 6000))
    pairs = contrasts(cells, "pairwise")
    tests = [outcome_of(pair, permutations=999, contrasts=66) for pair in pairs]
    adjusted = adjust_contrasts(tests)
    differ = np.array([0 in pair.positions for pair in pairs])
    assert (adjusted[differ] < 1e-6).all()
    assert (adjusted[~differ] > 0.05).all()
    floored = adjust(np.array([test.p_value for test in tests]), "holm")
    assert floored.min() > 0.05


def test_a_single_contrast_keeps_its_exact_p_value() -> None:
    x, groups, levels = scattered(9)
    test = outcome_of(contrast_of(x + 0.3 * groups, groups, levels))
    assert test.tail_p_value < test.p_value == 0.001
    assert adjust_contrasts([test]).tolist() == [0.001]
