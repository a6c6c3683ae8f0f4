"""Scores that differ by noise of a computation are equal, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import Cells
from likeforlike.auditing import summarize
from likeforlike.disparity import find_float_noise, remove_float_noise
from likeforlike.disparity._float_noise import NOISE, SINGLE, _replace_clusters, _usual_size

NAMED: dict[str, Any] = {"score": "s", "sensitive": "a", "legitimate": "l"}
RANDOM = np.random.default_rng(1)
SIZE = 2000
GROUP, LEVEL = RANDOM.integers(0, 2, SIZE), RANDOM.integers(0, 4, SIZE)
DECISIONS = (RANDOM.random(SIZE) < 0.4).astype(np.float64)
RATINGS = np.asarray(RANDOM.integers(0, 101, SIZE) / 100, np.float64)
SECOND = GROUP == 1


def table(score: npt.NDArray[np.float64]) -> pl.DataFrame:
    return pl.DataFrame({"s": score, "a": GROUP, "l": LEVEL})


NOISY: dict[str, npt.NDArray[np.float64]] = {
    "factor": np.where(SECOND, DECISIONS * (1 - 1e-12), DECISIONS),
    "each": DECISIONS + 1e-12 * RANDOM.normal(size=SIZE),
    "sum": np.where(SECOND, DECISIONS + 0.1 + 0.2 - 0.3, DECISIONS),
}


@pytest.mark.parametrize("resolution", [None, 0.1])
@pytest.mark.parametrize("name", NOISY)
def test_decisions_with_noise_are_decisions(name: str, resolution: float | None) -> None:
    exact = lfl.audit(table(DECISIONS), **NAMED, permutations=199)
    noisy = lfl.audit(table(NOISY[name]), **NAMED, resolution=resolution, permutations=199)
    assert noisy.p_value == exact.p_value
    assert noisy.p_value is not None
    assert noisy.p_value > 0.05
    assert noisy.contrasts[0].gap.method == "rates"
    assert noisy.interval == pytest.approx(exact.interval, abs=1e-9)
    if resolution is None:
        assert set(noisy.table.cells.atoms.values) == {0.0, 1.0}


def test_snapping_is_reported() -> None:
    found = lfl.audit(table(NOISY["factor"]), **NAMED, permutations=99)
    data = found.to_dict()["data"]
    assert (data["snapped"], data["snapped_within"]) == (1, 1e-9)
    sentence = "Scores that differ by less than 1e-09 of their range were taken as equal (1 value)."
    assert sentence in found.finding.cautions
    plain = lfl.audit(table(DECISIONS), **NAMED, permutations=99).to_dict()["data"]
    assert (plain["snapped"], plain["snapped_within"]) == (0, 0.0)


def test_single_precision_of_one_group_breaks_no_ties() -> None:
    single = np.where(SECOND, RATINGS.astype(np.float32).astype(np.float64), RATINGS)
    exact = lfl.audit(table(RATINGS), **NAMED, permutations=199)
    mixed = lfl.audit(table(single), **NAMED, permutations=199)
    assert mixed.p_value == exact.p_value
    assert mixed.table.cells.fingerprint == exact.table.cells.fingerprint
    assert mixed.table.snapped_within == 2.0**-24


def test_summaries_and_smooth_audits_snap_as_well() -> None:
    halves = [summarize(table(NOISY["factor"])[k::2], **NAMED, part=str(k)) for k in range(2)]
    merged = halves[0].merge(halves[1]).audit(permutations=199)
    assert merged.p_value == lfl.audit(table(DECISIONS), **NAMED, permutations=199).p_value
    number = RANDOM.normal(size=SIZE)
    audits = [
        lfl.audit(
            table(score).with_columns(z=number),
            score="s",
            sensitive="a",
            smooth="z",
            permutations=99,
        )
        for score in (DECISIONS, NOISY["factor"])
    ]
    assert audits[0].p_value == audits[1].p_value
    assert audits[1].table.snapped == 1


@pytest.mark.parametrize(
    "scores",
    [
        RANDOM.normal(size=200_000),
        np.append(np.repeat(np.arange(100) / 100, 5), 1e12),
        np.append(RANDOM.random(500), 1e10),
        np.repeat(np.round(np.exp(RANDOM.normal(10, 1, 500)), 2), 3),
        np.repeat(1e6 + np.arange(50) / 1e3, 4),
        np.zeros(10),
    ],
)
def test_other_scores_stay_as_they_are(scores: npt.NDArray[np.float64]) -> None:
    assert find_float_noise(scores)[0] == {}
    cells = Cells.from_rows(scores, np.arange(scores.size) % 2)
    assert remove_float_noise(cells)[0] is cells


def test_cluster_is_not_cut_by_a_grid() -> None:
    values = np.repeat([0.5 - 1e-10, 0.5, 0.5 + 1e-10, 1.0], 3)
    changed, _ = find_float_noise(values)
    assert changed == {0.5 - 1e-10: 0.5, 0.5 + 1e-10: 0.5}
    # A chain of neighbors that is longer than noise is left alone.
    chain = np.append(np.repeat(np.arange(100) * 5e-10, 2), 1.0)
    assert find_float_noise(chain)[0] == {}


def test_weights_and_clusters_are_kept() -> None:
    weight = np.ones(SIZE) + RANDOM.random(SIZE)
    cells = Cells.from_rows(NOISY["factor"], GROUP, LEVEL, sample_weight=weight)
    found, changed, _ = remove_float_noise(cells)
    exact = Cells.from_rows(DECISIONS, GROUP, LEVEL, sample_weight=weight)
    assert changed == {1 - 1e-12: 1.0}
    assert found.fingerprint == exact.fingerprint
    clusters = np.arange(SIZE) // 2
    held = Cells.from_rows(NOISY["factor"], GROUP, LEVEL, cluster=clusters)
    again = Cells.from_rows(DECISIONS, GROUP, LEVEL, cluster=clusters)
    snapped = remove_float_noise(held)[0]
    assert snapped.cluster is not None
    assert again.cluster is not None
    assert np.array_equal(snapped.cluster, again.cluster)


# Many rows ---------------------------------------------------------------------------------------


def test_usual_size_is_that_of_ordered_sizes() -> None:
    rng = np.random.default_rng(0)
    for size in [*range(1, 40), 1000]:
        for shift in (-5.0, -0.3, 0.0, 0.3, 5.0):
            for scores in (rng.normal(size=size) + shift, rng.integers(-2, 3, size) * 0.5):
                place = int(0.95 * (size - 1))
                wanted = np.partition(np.abs(scores), place)[place]
                assert _usual_size(np.sort(scores)) == wanted


def test_scores_that_are_near_by_chance_are_not_looked_at_singly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of very many scores, millions are: a dictionary of them would fill the memory."""
    looked_at: list[int] = []

    def counting(values: Any, *rest: Any) -> dict[float, float]:
        looked_at.append(len(values))
        return _replace_clusters(values, *rest)

    monkeypatch.setattr("likeforlike.disparity._float_noise._replace_clusters", counting)
    pairs = np.repeat(np.arange(1.0, 1000.0), 2)
    pairs[1::2] += 1e-8
    for order in (pairs, np.random.default_rng(0).permutation(pairs)):
        assert find_float_noise(order) == ({}, NOISE)
        assert not looked_at
        tied = np.r_[order, 3000.0, 3000.0, 3000.0 - 1e-8]
        assert find_float_noise(tied)[0] == {3000.0 - 1e-8: 3000.0}
        assert looked_at.pop() == 3


def test_five_rows_that_lie_together_are_no_chance() -> None:
    scores = np.r_[np.arange(1.0, 100.0), 200.0 + 1e-9 * np.arange(5)]
    assert len(find_float_noise(scores)[0]) == 4
    assert find_float_noise(scores[:-1])[0] == {}
    assert find_float_noise(scores[:-1], np.r_[np.ones(102, np.int64), 2])[0] != {}


def test_single_precision_is_seen_in_any_row() -> None:
    """A group is held in it only if all its rows are, also those that are looked at last."""
    rng = np.random.default_rng(0)
    group = np.arange(40_000) % 2
    double = rng.random(40_000)
    rounded = double.astype(np.float32).astype(np.float64)
    scores = np.where(group == 1, rounded, double)
    scores[:20] = rounded[0]
    scores[1] = rounded[0]
    scores[0] = rounded[0] * (1.0 + 2.0**-26)
    assert find_float_noise(scores, None, group)[1] == SINGLE
    scores[39_999] = double[39_998]
    assert find_float_noise(scores, None, group)[1] == NOISE
