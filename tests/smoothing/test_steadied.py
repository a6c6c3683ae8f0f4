"""Gaps of windows are drawn to their mean as far as chance explains how they differ."""

from __future__ import annotations

import numpy as np
import pytest

from likeforlike._arrays import FloatArray
from likeforlike.smoothing._comparison import shrink_gaps


def slowly(gaps: FloatArray, noise: FloatArray) -> list[float]:
    """The formulas of one column, as they are written down, for gaps that are all known."""
    p = [1.0 / v for v in noise]
    mean = sum(p_j * d for p_j, d in zip(p, gaps, strict=True)) / sum(p)
    q = sum(p_j * (d - mean) ** 2 for p_j, d in zip(p, gaps, strict=True))
    more = (q - (len(p) - 1)) / (sum(p) - sum(p_j**2 for p_j in p) / sum(p))
    more = max(0.0, more)
    return [mean + more / (more + v) * (d - mean) for d, v in zip(gaps, noise, strict=True)]


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_the_formulas(spread: float) -> None:
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.2, 2.0, (12, 3))
    gaps = 0.5 + spread * rng.normal(size=(12, 3)) + np.sqrt(noise) * rng.normal(size=(12, 3))
    found = shrink_gaps(gaps, noise)
    for column in range(3):
        np.testing.assert_allclose(found[:, column], slowly(gaps[:, column], noise[:, column]))


def test_noise_goes_and_differences_stay() -> None:
    rng = np.random.default_rng(2)
    noise = np.geomspace(0.01, 1.0, 20)[:, None] * np.ones(200)
    chance = np.sqrt(noise) * rng.normal(size=noise.shape)
    assert np.square(shrink_gaps(0.3 + chance, noise) - 0.3).mean() < 0.1 * noise.mean()
    waves = 10.0 * np.cos(np.arange(20.0))[:, None]
    np.testing.assert_allclose(shrink_gaps(waves + chance, noise), waves + chance, atol=0.6)


def test_what_is_not_known_is_the_mean_of_what_is() -> None:
    gaps = np.array([[0.2], [0.4], [9.0]])
    noise = np.array([[0.1], [0.1], [np.inf]])
    np.testing.assert_allclose(shrink_gaps(gaps, noise), [[0.3]] * 3)
    np.testing.assert_array_equal(shrink_gaps(gaps[1:], noise[1:]), [[0.4]] * 2)
    np.testing.assert_array_equal(shrink_gaps(gaps, np.full((3, 1), np.inf)), np.zeros((3, 1)))


def test_gaps_without_noise_stay() -> None:
    gaps = np.array([[0.2, 0.0], [0.4, 0.0], [9.0, 0.0]])
    noise = np.array([[0.0, 0.0], [0.0, 0.0], [np.inf, np.inf]])
    np.testing.assert_allclose(shrink_gaps(gaps, noise)[:, 0], [0.2, 0.4, 0.3])
    np.testing.assert_array_equal(shrink_gaps(gaps, noise)[:, 1], np.zeros(3))
