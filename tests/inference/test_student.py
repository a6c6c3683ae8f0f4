"""Tails and quantiles of Student's law, beside SciPy's."""

import numpy as np
import pytest
from scipy import stats

from likeforlike._arrays import FloatArray
from likeforlike.inference import normal_quantile
from likeforlike.inference._tails import t_quantile, t_tail

FREEDOM = np.array([0.5, 1.0, 1.7, 2.0, 3.0, 4.5, 10.0, 29.3, 100.0, 1e3, 1e5, 1e9])
PLACES = np.concatenate([[0.0], np.logspace(-6, 2, 50)])
CHANCES = np.concatenate([10.0 ** -np.arange(1.0, 13.0), [0.3, 0.5, 0.7, 0.975, 0.995, 1 - 1e-9]])


def test_tails_are_those_of_scipy() -> None:
    found = t_tail(PLACES[:, None], FREEDOM)
    expected = stats.t.sf(PLACES[:, None], FREEDOM)
    # Far out SciPy's own tails lose digits.
    seen = expected > 1e-40
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-10)
    np.testing.assert_allclose(found[~seen], expected[~seen], rtol=1e-6, atol=1e-290)
    np.testing.assert_allclose(t_tail(-PLACES, 3.0), stats.t.cdf(PLACES, 3.0), rtol=1e-12)


def test_quantiles_are_those_of_scipy() -> None:
    found = t_quantile(CHANCES[:, None], FREEDOM)
    np.testing.assert_allclose(
        found, stats.t.ppf(CHANCES[:, None], FREEDOM), rtol=1e-10, atol=1e-12
    )


def test_infinite_freedom_is_the_normal_law() -> None:
    near = PLACES[PLACES < 20.0]
    np.testing.assert_allclose(t_tail(near, np.inf), stats.norm.sf(near), rtol=1e-10)
    found = t_quantile(CHANCES, np.inf)
    np.testing.assert_allclose(found, stats.norm.ppf(CHANCES), rtol=1e-10, atol=1e-12)
    for chance in CHANCES:
        np.testing.assert_allclose(
            normal_quantile(chance), stats.norm.ppf(chance), rtol=1e-12, atol=1e-15
        )


def test_quantiles_undo_tails() -> None:
    places, freedom = (part.ravel() for part in np.meshgrid(PLACES[1:], FREEDOM))
    chance = t_tail(places, freedom)
    inner = chance > 1e-12
    found = -t_quantile(chance[inner], freedom[inner])
    np.testing.assert_allclose(found, places[inner], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("repeated", [False, True])
def test_thousands_are_done_in_parts(repeated: bool) -> None:
    rng = np.random.default_rng(0)
    whole: FloatArray = rng.integers(1, 9, 9000).astype(np.float64)
    freedom: FloatArray = whole if repeated else 1.0 + 20.0 * rng.random(9000)
    found = t_quantile(0.975, freedom.reshape(3, -1))
    np.testing.assert_allclose(found.ravel(), stats.t.ppf(0.975, freedom), rtol=1e-10)
    np.testing.assert_allclose(t_tail(freedom, freedom), stats.t.sf(freedom, freedom), rtol=1e-10)


def test_the_farthest_tail_is_a_number() -> None:
    assert t_tail(1e300, 1e9) == 0.0
    assert 0.0 < t_tail(1e300, 0.5) < 1e-140
