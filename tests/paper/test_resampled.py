"""Means drawn again, against loops and closed forms."""

import math

import numpy as np
import polars as pl
import pytest

from likeforlike.errors import InputError
from likeforlike.experiments import Frontier
from likeforlike.experiments._split import MEASURED
from likeforlike.paper import Reproduction
from likeforlike.paper._resampled import Resampled, RunMean, resample
from tests.paper.synthetic_reproductions import AS_CLAIMED, reproduction

NAMES = ("no regularization", "legitimate only", "a", "a", "a", "a", "b", "b", "b", "b")


def drawn(seed: int, draws: int = 6) -> Resampled:
    """Random means with ties; legitimate only has the largest loss."""
    rng = np.random.default_rng(seed)
    loss, gaps = np.round(rng.random((2, draws, len(NAMES))), 1 if seed % 2 else 9)
    loss[:, 1] = 1.1
    gaps[:, 0] = 0.9
    return Resampled("drug", "dd", NAMES, loss, gaps, 10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("methods", [("a",), ("a", "b"), ("no regularization",)])
def test_volumes_are_those_of_frontiers(seed: int, methods: tuple[str, ...]) -> None:
    panel = drawn(seed)
    places = panel.of(*methods)
    volumes = panel.volumes(*methods)
    for k in range(len(panel.loss)):
        frontier = Frontier.of(panel.loss[k, places], panel.gaps[k, places], places.tolist())
        area = frontier.hypervolume(loss=1.1, disparity=1.1 * 0.9)
        whole = (1.1 - panel.loss[k].min()) * 1.1 * 0.9
        assert volumes[k] == pytest.approx(area / whole)
    assert ((volumes >= 0.0) & (volumes <= 1.0)).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("methods", [("a",), ("a", "b"), ("no regularization",)])
def test_volumes_by_lines_join_neighbors(seed: int, methods: tuple[str, ...]) -> None:
    panel = drawn(seed)
    places = panel.of(*methods)
    volumes = panel.volumes(*methods, between="lines")
    for k in range(len(panel.loss)):
        frontier = Frontier.of(panel.loss[k, places], panel.gaps[k, places], places.tolist())
        corners = panel.loss[k, frontier.best], panel.gaps[k, frontier.best]
        fine = np.linspace(corners[0][0], 1.1, 20_001)
        heights = np.maximum(1.1 * 0.9 - np.interp(fine, *corners), 0.0)
        area = np.trapezoid(heights, fine)
        whole = (1.1 - panel.loss[k].min()) * 1.1 * 0.9
        assert volumes[k] == pytest.approx(area / whole, abs=1e-4)
    assert (volumes >= panel.volumes(*methods) - 1e-12).all()


def test_steps_and_lines_are_cut_off_at_the_reference() -> None:
    """By hand: a line from (0, 2) to (1, 0) with a reference at (0.8, 1)."""
    names = ("no regularization", "legitimate only", "a", "a")
    loss, gaps = np.array([[0.0, 0.8, 0.0, 1.0]]), np.array([[1.0 / 1.1, 0.0, 2.0, 0.0]])
    panel = Resampled("drug", "dd", names, loss, gaps, 10)
    assert panel.volumes("a")[0] == 0.0
    # The line comes under 1 at loss 0.5, and is 0.6 below it at loss 0.8.
    assert panel.volumes("a", between="lines")[0] == pytest.approx(0.5 * 0.3 * 0.6 / 0.8)


def test_the_best_volume_is_that_of_one_method() -> None:
    panel = drawn(0)
    both = panel.best_volumes(("a", "b"))
    np.testing.assert_array_equal(both, np.maximum(panel.volumes("a"), panel.volumes("b")))
    assert (panel.volumes("a", "b") >= both - 1e-12).all()


@pytest.mark.parametrize("seed", range(6))
def test_on_the_frontier_is_what_nothing_beats(seed: int) -> None:
    panel = drawn(seed)
    unbeaten = panel.on_frontier("a", ("a", "b", "no regularization"))
    others = panel.of("a", "b", "no regularization")
    for k in range(len(panel.loss)):
        for place, found in zip(panel.of("a"), unbeaten[k], strict=True):
            mine = panel.loss[k, place], panel.gaps[k, place]
            theirs = [(panel.loss[k, j], panel.gaps[k, j]) for j in others]
            beaten = any(c <= mine[0] and g <= mine[1] and (c, g) != mine for c, g in theirs)
            assert found == (not beaten)


def test_loss_and_cut_are_shares() -> None:
    panel = drawn(0)
    loss, gap = panel.free
    expected = (panel.loss[:, 2:6] - loss[:, None]) / (1.1 - loss[:, None])
    np.testing.assert_allclose(panel.relative_loss("a"), expected)
    np.testing.assert_allclose(panel.cuts("a"), 1.0 - panel.gaps[:, 2:6] / gap[:, None])


@pytest.mark.parametrize("seed", range(4))
def test_the_least_for_a_limit(seed: int) -> None:
    panel = drawn(seed)
    least_loss = panel.least_loss("b", 0.5)
    limit = np.full(len(panel.loss), 0.4)
    least_gap = panel.least_gap("b", limit)
    for k in range(len(panel.loss)):
        points = list(zip(panel.loss[k, 6:], panel.gaps[k, 6:], strict=True))
        enough = [loss for loss, gap in points if gap <= 0.45]
        assert least_loss[k] == min([*enough, 1.1])
        points.append((panel.loss[k, 0], panel.gaps[k, 0]))
        assert least_gap[k] == min([gap for loss, gap in points if loss <= 0.4], default=math.inf)


def test_a_scale_that_ends_before_it_begins_gives_nothing() -> None:
    panel = drawn(0)
    backwards = panel.loss.copy()
    backwards[:, 1] = -1.0
    broken = Resampled("drug", "dd", NAMES, backwards, panel.gaps, 10)
    assert np.isnan(broken.volumes("a")).all()
    assert np.isnan(broken.relative_loss("a")).all()
    assert broken.estimate(broken.volumes("a")).exceeds(0.0) is None


def runs_of(values: np.ndarray) -> Reproduction:
    rows = [
        {"dataset": "drug", "method": name, "strength": 0.0, "seed": seed, "rows": 9}
        | dict.fromkeys(MEASURED, 0.5)
        | {"performance": 1.0 - loss}
        for name, own in zip(NAMES[:3], values, strict=True)
        for seed, loss in enumerate(own)
    ]
    return Reproduction(pl.DataFrame(rows), pl.DataFrame(), {})


def test_the_standard_error_is_that_of_a_mean_within_runs() -> None:
    rng = np.random.default_rng(0)
    losses = rng.random(10) + 0.01 * rng.standard_normal((3, 10))
    panel = resample(runs_of(losses).of("drug"), "dd")
    difference = panel.estimate(panel.loss[:, 2] - panel.loss[:, 0])
    within = losses[2] - losses[0]
    assert difference.value == pytest.approx(within.mean())
    assert difference.error == pytest.approx(within.std(ddof=1) / math.sqrt(10), rel=0.1)
    # Costs themselves vary a hundred times as much.
    assert panel.estimate(panel.loss[:, 0]).error > 20 * difference.error


def test_one_run_has_no_error() -> None:
    panel = resample(runs_of(np.ones((3, 1))).of("drug"), "dd")
    found = panel.estimate(panel.loss[:, 0])
    assert math.isnan(found.error)
    assert str(found) == "+1.000"
    assert found.exceeds(0.0) is None


@pytest.mark.parametrize(
    ("value", "runs", "expected"),
    [(0.31, 10, True), (-0.31, 10, False), (0.29, 10, None), (0.31, 4, None), (math.nan, 9, None)],
)
def test_what_counts(value: float, runs: int, expected: bool | None) -> None:
    assert RunMean(value, 0.1, runs).exceeds(0.0) is expected


def test_equal_settings_keep_equal_means() -> None:
    panel = resample(reproduction(AS_CLAIMED, datasets=["adult"]).of("adult"), "cdd_wass")
    free, first = panel.of("no regularization")[0], panel.of("FairBiT")[0]
    np.testing.assert_array_equal(panel.loss[:, free], panel.loss[:, first])


def test_only_runs_that_all_share_count() -> None:
    found = reproduction(AS_CLAIMED, datasets=["drug"], runs=6)
    less = found.runs.filter((pl.col("method") != "DCFR") | (pl.col("seed") > 0))
    panel = resample(Reproduction(less, found.times, found.setting).of("drug"), "dd")
    assert panel.runs == 5


def test_bad_questions_are_refused() -> None:
    found = reproduction(AS_CLAIMED, datasets=["drug"], runs=2)
    with pytest.raises(InputError, match="disparity must be one of"):
        resample(found.of("drug"), "performance")
    with pytest.raises(InputError, match="no runs of magic"):
        resample(found.of("drug"), "dd").of("magic")
    apart = found.runs.filter((pl.col("method") == "DCFR") == (pl.col("seed") == 0))
    with pytest.raises(InputError, match="no run that all methods share"):
        resample(Reproduction(apart, found.times, found.setting).of("drug"), "dd", "drug")
