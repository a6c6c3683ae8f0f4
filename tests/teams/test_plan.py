"""Audits of plans: bins, figures beside an audit that sees A, and calibration."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import likeforlike as lfl
from likeforlike.datasets import load_adult
from likeforlike.errors import InputError
from likeforlike.teams import AuditPlan, Custodian, Ledger, PlanAudit, Release, audit_plan
from likeforlike.teams._noise import laplace_variance
from likeforlike.teams._noisy import (
    NoisyCounts,
    NoisyPair,
    compare,
    estimate,
    observed,
    parity_test,
    read_counts,
)
from likeforlike.teams._score_bins import ScoreBins, cut_scores
from tests.support import schema
from tests.teams.made import without_noise

# So large that noise is 0 nearly always, and the law of noise is that of nothing.
NO_NOISE = 1e3


def scored(rows: int, shift: float, seed: int = 0, groups: int = 2) -> pl.DataFrame:
    """Scores in five levels of different sizes, the last group shifted."""
    rng = np.random.default_rng(seed)
    level = rng.choice(5, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    group = np.minimum((rng.random(rows) * (groups + level / 5)).astype(int), groups - 1)
    score = rng.beta(2 + level, 4) + shift * (group == groups - 1)
    return pl.DataFrame({"id": np.arange(rows), "level": level, "group": group, "score": score})


def planned(table: pl.DataFrame) -> AuditPlan:
    return audit_plan(table["score"], table["level"], table["id"], legitimate="level")


def released(table: pl.DataFrame, plan: AuditPlan, epsilon: float, folder: Path) -> Release:
    declared = table["group"].unique().sort().to_list()
    ledger = Ledger(folder / f"{epsilon}.ledger", epsilon=1e6, groups=declared)
    custodian = Custodian.of_columns(table["id"], table["group"], ledger)
    return custodian.counts(plan.request, epsilon=epsilon)


# Bins -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [0, 1, 2, 9])
def test_bins_are_quantiles_of_the_level_and_keep_ties_together(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    level = rng.choice(4, 3000, p=[0.7, 0.25, 0.049, 0.001])
    level = np.unique(level, return_inverse=True)[1]
    scores = np.round(rng.normal(size=3000), decimals)
    bins, codes = cut_scores(scores, level, int(level.max()) + 1)
    assert (np.bincount(codes) == bins.rows).all()
    for k in range(bins.rows.size):
        inside = codes == k
        assert set(level[inside]) == {bins.level[k]}
        parts = bins.bin == k
        assert bins.share[parts].sum() == pytest.approx(1.0)
        mean = bins.share[parts] @ bins.places[parts]
        assert mean == pytest.approx(scores[inside].mean())
    for one in np.unique(level):
        rows = level == one
        assert (np.diff(codes[rows][np.argsort(scores[rows], kind="stable")]) >= 0).all()
        for value in np.unique(scores[rows]):
            assert np.unique(codes[rows & (scores == value)]).size == 1
        assert np.unique(codes[rows]).size <= max(4, min(rows.sum() // 100, 64))


def small_bins() -> ScoreBins:
    rng = np.random.default_rng(5)
    return cut_scores(rng.normal(size=900), rng.integers(0, 3, 900), 3)[0]


def test_gathering_is_the_transpose_of_spreading() -> None:
    bins, rng = small_bins(), np.random.default_rng(6)
    x, h = rng.normal(size=(2, bins.rows.size)), rng.normal(size=(2, bins.places.size))
    for a, b in zip(x, h, strict=True):
        assert bins.spread(a) @ b == pytest.approx(a @ bins.gather(b))
    assert np.allclose(bins.spread(x)[1], bins.spread(x[1]))
    assert np.allclose(bins.gather(h)[1], bins.gather(h[1]))
    whole = np.add.reduceat(bins.spread(x[0]), np.flatnonzero(np.diff(bins.bin, prepend=-1)))
    assert np.allclose(whole, x[0])


def test_a_share_that_rises_evenly_is_spread_evenly() -> None:
    """What is linear in the rank is told without error, which a constant inside bins would not."""
    bins, _ = cut_scores(np.arange(800.0), np.zeros(800, np.int64), 1)
    counts = np.bincount(np.arange(800) // 100, np.arange(800.0))
    parts = bins.spread(counts.astype(np.float64))
    exact = np.add.reduceat(
        np.arange(800.0), np.r_[0, np.cumsum(np.rint(bins.share * 100))[:-1]].astype(int)
    )
    assert np.allclose(parts, exact, rtol=2e-3)


# Figures ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.0, 0.04])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PlanAudit, lfl.Audit]:
    """An audit of a plan without noise, and one that sees A."""
    table = scored(20_000, request.param)
    plan = planned(table)
    with without_noise():
        release = released(table, plan, NO_NOISE, tmp_path_factory.mktemp("custodian"))
    seen = lfl.audit(table, score="score", sensitive="group", legitimate="level", permutations=199)
    return plan.read(release, permutations=199), seen


def test_without_noise_it_says_what_an_audit_says(both: tuple[PlanAudit, lfl.Audit]) -> None:
    """Bins take away less than a third of a standard error."""
    plan, seen = both
    third = (seen.contrasts[0].gap.error or 0.0) / 3
    assert plan.gap == pytest.approx(seen.gap, abs=third)
    assert np.allclose(np.array(plan.gap_interval), np.array(seen.gap_interval), atol=third)
    assert plan.conditional.value == pytest.approx(seen.conditional.value, abs=third)
    assert plan.estimate == pytest.approx(seen.estimate, abs=third)
    assert np.allclose(np.array(plan.interval), np.array(seen.interval), atol=third)
    overall = plan.contrasts[0].unconditional.value
    assert overall == pytest.approx(seen.unconditional.value, abs=third)
    assert plan.coverage == pytest.approx(seen.coverage)
    by_name = {level.name: level for level in seen.levels}
    for level in plan.levels:
        other = by_name[level.name]
        assert level.rows == other.rows
        low, high = other.gap_interval or (0.0, 0.0)
        third = (high - low) / 12
        assert level.gap == pytest.approx(other.gap, abs=third)
        assert level.distance == pytest.approx(other.distance, abs=third)
        assert level.null_distance == pytest.approx(other.null_distance or 0.0, rel=0.2)
    assert ((plan.p_value or 0.0) < 0.01) == ((seen.p_value or 0.0) < 0.01)


def test_distances_are_those_of_scipy() -> None:
    """On bins of single scores nothing is approximated."""
    rng = np.random.default_rng(2)
    score, level = rng.integers(0, 4, 2000) / 4, rng.integers(0, 3, 2000)
    group = rng.integers(0, 2, 2000)
    bins, codes = cut_scores(score, level, 3)
    second = np.bincount(codes, group, minlength=bins.rows.size)
    known = NoisyCounts(("a", "b"), np.stack([bins.rows - second, second]), 1e-3, 0.0)
    pair = compare(bins, known, (0, 1))
    assert pair is not None
    for k in range(3):
        sides = [score[(level == k) & (group == g)] for g in range(2)]
        assert pair.distances[k] == pytest.approx(wasserstein_distance(*sides))
        assert pair.scores.gaps[k] == pytest.approx(sides[1].mean() - sides[0].mean())
        assert pair.scores.sampling[k] == pytest.approx(
            sum(side.var() / side.size for side in sides)
        )


@pytest.mark.parametrize("groups", [2, 3])
def test_the_noise_of_a_gap_has_the_variance_that_is_stated(groups: int) -> None:
    """Noise drawn over and over around the same counts, beside the formula."""
    table = scored(8000, 0.02, groups=groups)
    score, level, group = (table[name].to_numpy() for name in ("score", "level", "group"))
    bins, codes = cut_scores(score, level, 5)
    counts = np.stack(
        [np.bincount(codes[group == g], minlength=bins.rows.size) for g in range(groups)]
    )
    scale = Fraction(4)
    known = NoisyCounts(tuple("abc"[:groups]), counts.astype(float), 4.0, laplace_variance(scale))
    pair = compare(bins, known, (0, 1))
    assert pair is not None
    rng = np.random.default_rng(0)
    noise = known.draw(rng, (0, 1), (4000, bins.rows.size))
    shares = pair.update_counts(noise[..., pair.kept[bins.level]])
    worth = pair.bins.gather(pair.bins.places)
    gaps = pair.bins.by_level((shares[1] - shares[0]) * worth)
    assert gaps.var(axis=0) == pytest.approx(pair.scores.noise, rel=0.15)
    assert noise.var() == pytest.approx(known.own_variance, rel=0.05)


def test_several_groups_are_compared_two_at_a_time(tmp_path: Path) -> None:
    table = scored(20_000, 0.05, groups=3)
    plan = planned(table)
    found = plan.read(released(table, plan, 2.0, tmp_path), permutations=99)
    assert {contrast.groups for contrast in found.contrasts} == {("0", "1"), ("0", "2"), ("1", "2")}
    seen = lfl.audit(table, score="score", sensitive="group", legitimate="level", permutations=0)
    by_pair = {contrast.groups: contrast for contrast in seen.contrasts}
    for contrast in found.contrasts:
        assert contrast.gap.confidence == pytest.approx(1 - 0.05 / 3)
        assert contrast.gap.value == pytest.approx(by_pair[contrast.groups].gap.value, abs=0.006)
    assert found.contrasts[0].groups != ("0", "1")


# Document and page ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> PlanAudit:
    table = scored(6000, 0.05)
    plan = planned(table)
    release = released(table, plan, 0.5, tmp_path_factory.mktemp("custodian"))
    return plan.read(release, permutations=99)


def test_the_document_is_that_of_an_audit(found: PlanAudit) -> None:
    document = json.loads(found.to_json())
    schema.check(document)
    assert document["data"]["engine"] == "custodian"


def test_noise_is_stated_with_every_interval(found: PlanAudit) -> None:
    words = "epsilon = 0.5, discrete Laplace of scale 2"
    for contrast in found.to_dict()["contrasts"]:
        assert words in (contrast["gap"]["reason"] or "")
        assert contrast["estimate"] is not None
        assert words in (contrast["estimate"]["reason"] or "")
    assert sum(words in caution for caution in found.finding.cautions) == 1
    assert "epsilon = 0.5" in found.to_html()
    assert "epsilon = 0.5" in found._repr_html_()
    sampling, noise = found.errors["0", "1"]
    assert found.contrasts[0].gap.error == pytest.approx(np.hypot(sampling, noise))


def test_the_gate_is_that_of_an_audit(found: PlanAudit) -> None:
    assert found.contrasts[0].estimate is not None
    low, high = found.contrasts[0].estimate.interval
    assert high is not None
    assert found.gate(high + 1e-9) == "pass"
    assert found.gate(low - 1e-9) == "fail"
    assert found.gate((low + high) / 2) == "investigate"
    kept = found.with_threshold(high + 1e-9)
    assert kept.to_dict()["verdicts"][0]["verdict"] == "pass"
    assert kept.epsilon == found.epsilon
    assert "with the same level" in found.headline


def test_the_same_seed_says_the_same(tmp_path: Path) -> None:
    table = scored(3000, 0.05)
    plan = planned(table)
    release = released(table, plan, 1.0, tmp_path)
    first, again = (plan.read(release, permutations=99) for _ in range(2))
    assert first.to_dict()["contrasts"] == again.to_dict()["contrasts"]


def test_small_levels_are_left_out_and_named(tmp_path: Path) -> None:
    table = scored(4000, 0.0).with_columns(
        pl.when(pl.col("id") < 30).then(9).otherwise(pl.col("level")).alias("level")
    )
    plan = planned(table)
    found = plan.read(released(table, plan, 2.0, tmp_path), permutations=99)
    assert "level 9" in found.contrasts[0].excluded
    assert all(share < 1.0 for share in found.coverage.values())


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    table = scored(3000, 0.0)
    plan = planned(table)
    release = released(table, plan, 1.0, tmp_path)
    other = audit_plan(table["score"] * 2, table["level"], table["id"].reverse())
    with pytest.raises(InputError, match="answers another request"):
        other.read(release)
    with pytest.raises(InputError, match="permutations must be 19"):
        plan.read(release, permutations=9)
    with pytest.raises(InputError, match="confidence"):
        plan.read(release, confidence=1.0)
    few = scored(40, 0.0)
    small = planned(few)
    with pytest.raises(InputError, match="larger epsilon"):
        small.read(released(few, small, 0.5, tmp_path))
    with pytest.raises(InputError, match="ids has 2"):
        audit_plan([1, 2, 3], None, [1, 2])
    with pytest.raises(InputError, match="twice"):
        audit_plan([1, 2, 3], None, [1, 2, 1])
    with pytest.raises(InputError, match="rows_per_bin"):
        audit_plan([1, 2], None, [1, 2], rows_per_bin=0)


# Calibration: few replicates here, many in benchmarks/teams.py -----------------------------------


def read_noisily(
    table: pl.DataFrame, plan: AuditPlan, epsilon: float, rng: np.random.Generator
) -> NoisyPair:
    """A release with noise from NumPy, which is faster than from the operating system."""
    group = table["group"].to_numpy()
    second = np.bincount(plan.request.codes, group, minlength=plan.bins.rows.size)
    stay = -np.expm1(-epsilon)
    noisy = second + rng.geometric(stay, second.size) - rng.geometric(stay, second.size)
    scale = 1 / Fraction(repr(epsilon))
    counts = np.stack([plan.bins.rows - noisy, noisy]).astype(float)
    known = NoisyCounts(("0", "1"), counts, float(scale), laplace_variance(scale))
    pair = compare(plan.bins, known, (0, 1))
    assert pair is not None
    return pair


@pytest.mark.simulation
@pytest.mark.parametrize("shift", [0.0, 0.03])
def test_intervals_cover_and_the_test_keeps_its_level(shift: float) -> None:
    """A hundred samples at ε = .5: fewer than 93 covered, or 12 rejected, would be four errors."""
    covered = [0, 0]
    rejected = 0
    for seed in range(100):
        table = scored(5000, shift, seed)
        rng = np.random.default_rng([9, seed])
        pair = read_noisily(table, planned(table), 0.5, rng)
        said = estimate(pair, 0.95, rng)
        covered[0] += said.gap.interval[0] <= shift <= said.gap.interval[1]
        covered[1] += said.distance.interval[0] <= shift <= said.distance.interval[1]
        if not shift:
            rejected += parity_test(pair, 99, rng).p_value <= 0.05
    assert min(covered) >= 87
    assert rejected <= 13


def test_the_observed_distance_on_adult_is_within_two_thousandths() -> None:
    """30 releases at ε = 1, root mean square error against the exact W_1 of these rows."""
    data = load_adult()
    inputs = np.log1p(np.abs(np.asarray(data.inputs("one-hot").matrix, float)))
    design = np.column_stack([np.ones(len(inputs)), inputs])
    fitted, *_ = np.linalg.lstsq(design[::3], data.targets[::3].astype(float), rcond=None)
    scores = np.clip(design @ fitted, 0.0, 1.0)
    group = np.unique(data.groups, return_inverse=True)[1]
    exact = float(lfl.cdd_lp(scores, group, data.levels))
    table = pl.DataFrame({"group": group})
    plan = audit_plan(scores, data.levels, np.arange(scores.size))
    errors = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pair = read_noisily(table, plan, 1.0, rng)
        errors.append(float(pair.measure @ observed(pair, rng)) - exact)
    assert np.sqrt(np.mean(np.square(errors))) <= 0.002


def test_counts_are_read_as_they_were_asked(tmp_path: Path) -> None:
    table = scored(500, 0.0)
    plan = planned(table)
    release = released(table, plan, 1.0, tmp_path)
    other = planned(scored(3000, 0.0))
    with pytest.raises(InputError, match="were asked for"):
        read_counts(release, other.bins)


# What intervals allow ---------------------------------------------------------------------------


def test_headline_never_differs_where_the_test_does_not_reject(tmp_path: Path) -> None:
    differs = 0
    for seed in range(40):
        table = scored(2000, 0.0, seed)
        plan = planned(table)
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = plan.read(released(table, plan, 2.0, folder), permutations=99, random_state=seed)
        assert found.p_value is not None
        assert found.contrasts[0].estimate is not None
        if found.p_value > 0.05:
            assert found.contrasts[0].estimate.interval[0] == 0.0
            assert "No difference" in found.headline
        differs += "No difference" not in found.headline
    assert differs <= 6


def test_intervals_allow_for_what_is_inside_bins(tmp_path: Path) -> None:
    table = scored(4000, 0.1)
    plan = planned(table)
    found = plan.read(released(table, plan, NO_NOISE, tmp_path), permutations=99)
    estimate = found.contrasts[0].estimate
    assert estimate is not None
    assert 0.0 < estimate.rounding < 0.05
    assert "where in their bins they lie" in str(estimate.reason)
    decided = table.with_columns(score=(table["score"] > 0.5).cast(float))
    plan = planned(decided)
    found = plan.read(released(decided, plan, NO_NOISE, tmp_path), permutations=99)
    estimate = found.contrasts[0].estimate
    assert estimate is not None
    assert estimate.rounding == pytest.approx(0.0, abs=1e-12)
