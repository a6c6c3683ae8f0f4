"""Cross-fitted regressions against plain ridge regression, and what they explain."""

from copy import copy

import numpy as np
import pytest

from likeforlike.smoothing import FOLDS, SplineBasis, cross_fit
from likeforlike.smoothing._propensity import _ridge, linear_splines


def test_hats_sum_to_one_and_are_lines_between_knots() -> None:
    hat = linear_splines(np.array([0.0, 0.1, 0.5, 1.0]), 5)
    np.testing.assert_allclose(hat.sum(axis=1), 1.0)
    np.testing.assert_allclose(hat[1], [0.6, 0.4, 0.0, 0.0, 0.0])


def test_ridge_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    columns = np.c_[np.ones(200), rng.normal(size=(200, 3)) * [1.0, 5.0, 0.1] + 2.0]
    target, fold = rng.normal(size=200), np.arange(200) % FOLDS
    gram = np.stack([columns[fold == k].T @ columns[fold == k] for k in range(FOLDS)])
    cross = np.stack([columns[fold == k].T @ target[fold == k] for k in range(FOLDS)])
    found = _ridge(gram, cross, 2, 0.3)
    kept = columns[fold != 2]
    centered = kept[:, 1:] - kept[:, 1:].mean(axis=0)
    spread = np.sqrt((centered**2).sum(axis=0))
    scaled = centered / spread
    y = target[fold != 2]
    slope = np.linalg.solve(scaled.T @ scaled + 0.3 * np.eye(3), scaled.T @ (y - y.mean())) / spread
    np.testing.assert_allclose(found[1:], slope, rtol=1e-8)
    np.testing.assert_allclose(found[0], y.mean() - kept[:, 1:].mean(axis=0) @ slope, rtol=1e-8)


def test_a_column_that_does_not_vary_has_no_part() -> None:
    gram = np.zeros((FOLDS, 2, 2))
    gram[:, 0, 0] = 10.0
    assert _ridge(gram, np.full((FOLDS, 2), [20.0, 0.0]), 0, 0.1).tolist() == [2.0, 0.0]


def test_what_features_explain_is_found_from_other_folds() -> None:
    rng = np.random.default_rng(1)
    numbers, category = rng.normal(size=(6000, 2)), rng.integers(0, 3, 6000)
    mean = np.sin(numbers[:, 0]) + 0.3 * numbers[:, 1] ** 2 * (category == 1)
    targets = (mean + 0.1 * rng.normal(size=6000))[:, None]
    fold = rng.integers(0, FOLDS, 6000)
    known = SplineBasis(numbers, category)
    predicted = cross_fit(known, targets, np.ones(6000), fold)[:, 0]
    assert np.corrcoef(predicted, mean)[0, 1] > 0.93
    noise = cross_fit(known, rng.normal(size=(6000, 1)), np.ones(6000), fold)[:, 0]
    assert np.std(noise) < 0.15


def test_predictions_do_not_see_their_own_fold() -> None:
    rng = np.random.default_rng(2)
    known = SplineBasis(rng.normal(size=(500, 2)), np.zeros(500, np.int64))
    targets, fold = rng.normal(size=(500, 1)), np.arange(500) % FOLDS
    changed = targets.copy()
    changed[fold == 3] += 100.0 * rng.normal(size=(100, 1))
    own = cross_fit(known, targets, np.ones(500), fold)
    assert own[fold == 3].shape == (100, 1)
    alone = np.abs(cross_fit(known, changed, np.ones(500), fold) - own)
    # The strength is chosen by all folds; with one that explains nothing all are drawn to means.
    assert alone[fold != 3].max() > alone[fold == 3].max()


@pytest.mark.parametrize("many", [1, 200])
def test_rare_categories_share_a_column(many: int) -> None:
    category = np.arange(1000) % many
    known = SplineBasis(np.arange(1000.0)[:, None], category)
    assert known.n_categories == min(60, many - 1)
    assert np.isfinite(known.columns(np.arange(10))).all()


def test_curves_of_categories_may_bend_where_others_do_not() -> None:
    rng = np.random.default_rng(3)
    numbers, category = rng.random((9000, 2)), rng.integers(0, 3, 9000)
    bend = 4.0 * (numbers - 0.5) ** 2
    mean = np.where(category == 1, bend[:, 0], np.where(category == 2, -bend[:, 1], 0.0))
    fold = rng.integers(0, FOLDS, 9000)
    predicted = cross_fit(SplineBasis(numbers, category), mean[:, None], np.ones(9000), fold)[:, 0]
    assert np.mean((mean - predicted) ** 2) < 0.02 * np.var(mean)


def test_categories_with_many_rows_have_all_hats_of_their_own() -> None:
    rng = np.random.default_rng(4)
    category = np.repeat([0, 1, 2], [900, 800, 700])
    known = SplineBasis(rng.normal(size=(2400, 2)), category)
    columns = known.columns(np.arange(2400))
    assert known.n_bent == 2
    for of in (0, 1):
        for j in range(2):
            wanted = (category == of)[:, None] * linear_splines(known.ranks[:, j], 5)
            coefficients = np.linalg.lstsq(columns, wanted, rcond=None)[0]
            np.testing.assert_allclose(columns @ coefficients, wanted, atol=1e-9)


def without_bends(known: SplineBasis) -> SplineBasis:
    straight = copy(known)
    straight.n_bent = 0
    return straight


@pytest.mark.parametrize(
    ("many", "rows", "n_numbers", "bent"),
    [(3, 1_500, 2, 0), (3, 2_100, 2, 2), (3, 2_100, 3, 0), (50, 50_000, 2, 20), (50, 50_000, 8, 0)],
)
def test_few_rows_and_many_categories_do_not_make_many_columns(
    many: int, rows: int, n_numbers: int, bent: int
) -> None:
    numbers = np.random.default_rng(5).normal(size=(rows, n_numbers))
    known = SplineBasis(numbers, np.arange(rows) % many)
    assert known.n_bent == bent
    straight = without_bends(known).columns(np.arange(2)).shape[1]
    more = known.columns(np.arange(2)).shape[1] - straight
    assert more == bent * 3 * n_numbers <= 120
