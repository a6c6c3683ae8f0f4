"""Scores rounded to bins: what counts and sums say contains what rows say."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import Cells
from likeforlike.auditing import Summary, summarize
from likeforlike.auditing._tables import read_cells
from likeforlike.disparity import Contrast, contrasts, distance_bounds, inside_bins, level_weights
from likeforlike.document import Roles
from likeforlike.inference import certificate, estimate_distance, level_gaps, signed_gap
from likeforlike.transport import pair_costs

ROLES = Roles("s", "a", ("l",))
NAMED: dict[str, Any] = {"score": "s", "sensitive": "a", "legitimate": "l"}
WIDTHS = (0.01, 0.05, 0.1, 0.2)
TABLES = 120
# How often the noise of a distance is drawn anew.
SEEDS = 4


def scores(
    random: np.random.Generator, kind: int, rows: int, shift: float
) -> npt.NDArray[np.float64]:
    """Scores of one cell: normal, skewed, tied, decisions, zero-inflated, wider."""
    normal = random.normal(size=rows)
    return (
        normal + shift,
        random.exponential(size=rows) + shift,
        np.round(normal + shift, 1),
        (random.random(rows) < 0.4 + 0.2 * shift).astype(np.float64),
        np.where(random.random(rows) < 0.7, 0.0, np.exp(normal) * (1 + shift / 2)),
        normal * (1 + shift),
    )[kind]


def made(seed: int) -> pl.DataFrame:
    """A table of one to five levels with cells of 1 to 200 rows."""
    random = np.random.default_rng(seed)
    parts = []
    for level, group in product(range(int(random.integers(1, 6))), (0, 1)):
        rows = int(random.choice([1, 2, 3, 5, 8, 20, 60, 200]))
        shift = group * float(random.choice([-1.0, -0.3, 0.0, 0.3, 1.0]))
        cell = scores(random, seed % 6, rows, shift)
        parts.append(pl.DataFrame({"s": cell, "a": [group] * rows, "l": [level] * rows}))
    return pl.concat(parts)


def contrast_of(table: pl.DataFrame, resolution: float | None = None) -> Contrast:
    return contrasts(read_cells(table, ROLES, resolution=resolution).cells, "pairwise")[0]


def example() -> pl.DataFrame:
    """Groups .04 apart in every level, among scores that all lie in three bins of width .1."""
    random = np.random.default_rng(1)
    group, level = random.integers(0, 2, 20_000), random.integers(0, 5, 20_000)
    score = 0.43 + 0.02 * random.normal(size=20_000) + 0.04 * group
    return pl.DataFrame({"s": score, "a": group, "l": level})


@pytest.mark.simulation
@pytest.mark.parametrize("seeds", [range(k, TABLES, 10) for k in range(10)])
def test_intervals_from_counts_contain_those_from_rows(seeds: range) -> None:
    for seed in seeds:
        table = made(seed)
        score = table["s"].to_numpy()
        ends = (float(score.min()), float(score.max()))
        reach = ends[1] - ends[0]
        if reach == 0.0:
            continue
        rows = contrast_of(table)
        measure = level_weights(rows, "marginal")
        gap = signed_gap(rows, measure)
        distances = [estimate_distance(rows, measure, random_state=k) for k in range(SEEDS)]
        bounds = certificate(rows, measure, score_range=(ends[0] - 1, ends[1] + 1))
        for width in WIDTHS:
            counts = contrast_of(table, width * reach)
            hair = 1e-7 * width * reach
            from_counts = signed_gap(counts, measure)
            assert from_counts.value == pytest.approx(gap.value, abs=hair)
            assert from_counts.method == gap.method
            assert from_counts.error == pytest.approx(gap.error, rel=1e-6)
            assert from_counts.interval[0] <= gap.interval[0] + hair
            assert from_counts.interval[1] >= gap.interval[1] - hair
            wide = [estimate_distance(counts, measure, random_state=k) for k in range(SEEDS)]
            assert max(d.interval[0] for d in wide) <= distances[0].interval[0] + hair
            # Noise is drawn anew, which moves the upper end by more than fine bins do.
            least = min(d.interval[1] for d in distances)
            assert max(d.interval[1] for d in wide) >= least - hair
            held = certificate(counts, measure, score_range=(ends[0] - 1, ends[1] + 1))
            assert held.lower <= bounds.lower + hair
            assert held.upper >= bounds.upper - hair


@pytest.mark.parametrize("seed", range(60))
def test_distance_of_rows_lies_between_the_bounds(seed: int) -> None:
    table = made(seed)
    exact = contrast_of(table)
    for width in (0.03, 0.3, 3.0):
        counts = contrast_of(table, width)
        atoms, pairs = counts.cells.atoms, counts.segments()
        assert counts.cells.sums is not None
        bounds = distance_bounds(
            atoms.values, atoms.mass, atoms.counts, atoms.offsets, pairs, counts.cells.sums, width
        )
        own = exact.segments()
        rows = pair_costs(exact.cells.atoms, own[:, 0], own[:, 1], 1.0)
        places = pair_costs(atoms, pairs[:, 0], pairs[:, 1], 1.0)
        hair = 1e-7 * width
        assert (bounds[:, 0] <= rows + hair).all()
        assert (rows <= bounds[:, 1] + hair).all()
        assert (bounds[:, 0] <= places + hair).all()
        assert (places <= bounds[:, 1] + hair).all()
        assert (bounds[:, 1] - bounds[:, 0] <= width + hair).all()


def test_what_is_known_inside_bins_is_true() -> None:
    random = np.random.default_rng(3)
    for shape in (random.random, random.standard_exponential, lambda n: random.integers(0, 2, n)):
        score = np.sort(shape(int(random.integers(1, 30))) % 1.0)
        cells = read_cells(
            pl.DataFrame({"s": np.append(score, 0.5), "a": [0] * score.size + [1]}),
            Roles("s", "a"),
            resolution=1.0,
            part=True,
        ).cells
        assert cells.sums is not None
        variance, third, doubt, deviation = (
            part[0] for part in inside_bins(cells.atoms.counts, cells.sums)
        )
        apart = score - score.mean()
        assert variance == pytest.approx(float((apart**2).mean()), abs=2e-9)
        assert abs(float((apart**3).mean()) - third) <= doubt + 1e-8
        assert float(np.abs(apart).mean()) <= deviation + 1e-9


def test_shifted_groups_have_no_rounding_where_their_order_is_known() -> None:
    table = pl.DataFrame(
        {"s": [0.11, 0.17, 0.31, 0.38, 0.52, 0.55, 0.71, 0.74], "a": [0, 0, 0, 0, 1, 1, 1, 1]}
    )
    counts = contrasts(read_cells(table, Roles("s", "a"), resolution=0.1).cells, "pairwise")[0]
    measure = np.ones(1)
    bounds = certificate(counts, measure, score_range=(0, 1))
    exact = contrasts(read_cells(table, Roles("s", "a")).cells, "pairwise")[0]
    assert bounds.lower == certificate(exact, measure, score_range=(0, 1)).lower
    assert estimate_distance(counts, measure).rounding < 0.02


@pytest.mark.parametrize("resolution", [0.1, 0.3])
def test_gate_does_not_pass_what_rounding_hides(resolution: float) -> None:
    table = example()
    exact = lfl.audit(table, **NAMED, score_range=(0, 1), permutations=99)
    audits = [
        lfl.audit(table, **NAMED, resolution=resolution, score_range=(0, 1), permutations=99),
        lfl.audit(
            table.lazy(), **NAMED, resolution=resolution, score_range=(0, 1), permutations=99
        ),
        summarize(table, **NAMED, resolution=resolution).audit(score_range=(0, 1), permutations=99),
    ]
    for audit in audits:
        assert audit.gate(0.03) == ("fail" if resolution < 0.2 else "investigate")
        assert audit.gate(0.03, of="gap") == "fail"
        assert audit.gap_interval == pytest.approx(exact.gap_interval, rel=1e-6)
        assert audit.contrasts[0].estimate is not None
        assert (audit.contrasts[0].estimate.interval[1] or 1.0) >= 0.04
        bounds, known = audit.contrasts[0].certificate, exact.contrasts[0].certificate
        assert bounds is not None
        assert known is not None
        assert bounds.upper >= known.upper
        estimate = audit.to_dict()["contrasts"][0]["estimate"]
        assert estimate is not None
        assert 0.0 < estimate["rounding"] <= 1.125 * resolution
        told = f"rounded to bins of width {resolution:g}; both ends of every interval"
        assert any(told in caution for caution in audit.finding.cautions)


def test_duckdb_adds_up_the_same_sums() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = example()
    connection = duckdb.connect()
    connection.register("scores", table.to_arrow())
    own = read_cells(table, ROLES, resolution=0.1).cells
    for other in (connection.sql("select * from scores"), table.to_pandas(), table.to_arrow()):
        assert read_cells(other, ROLES, resolution=0.1).cells.fingerprint == own.fingerprint
    again = read_cells(table.sample(fraction=1.0, shuffle=True), ROLES, resolution=0.1)
    assert again.cells.fingerprint == own.fingerprint


def test_merged_summaries_are_the_summary_of_all_rows(tmp_path: Path) -> None:
    table = example()
    whole = summarize(table, **NAMED, resolution=0.1)
    for part in range(3):
        summarize(table[part::3], **NAMED, resolution=0.1, part=str(part)).write(
            tmp_path / f"{part}.cells"
        )
    merged = Summary.read(*(tmp_path / f"{part}.cells" for part in range(3)))
    assert merged.table.cells.fingerprint == whole.table.cells.fingerprint
    assert merged.table.cells.sums is not None


def test_summary_without_sums_is_read_and_allows_a_bin(tmp_path: Path) -> None:
    table = example()
    new = summarize(table, **NAMED, resolution=0.1)
    cells = new.table.cells
    level, group = (
        np.repeat(part, np.diff(cells.atoms.offsets))
        for part in (np.repeat(np.arange(5), 2), np.tile(np.arange(2), 5))
    )
    plain = Cells.from_counts(level, group, cells.middles, cells.atoms.counts, resolution=0.1)
    plain.write(tmp_path / "old.cells")
    old = contrasts(Cells.read(tmp_path / "old.cells"), "pairwise")[0]
    measure = level_weights(old, "marginal")
    gap, distance = signed_gap(old, measure), estimate_distance(old, measure)
    assert gap.interval[1] - gap.interval[0] > 0.2
    assert distance.interval[0] == 0.0
    assert distance.interval[1] > 0.1
    assert gap.interval[0] < 0.04 < gap.interval[1]
    # With sums of one part missing nothing is known inside bins of all.
    both = plain.merge(cells)
    assert both.sums is None
    assert both.resolution == 0.1


def test_decisions_stay_decisions_whatever_the_bins() -> None:
    random = np.random.default_rng(5)
    group, level = random.integers(0, 2, 600), random.integers(0, 3, 600)
    table = pl.DataFrame({"s": (random.random(600) < 0.4) * 1.0, "a": group, "l": level})
    exact = lfl.audit(table, **NAMED, permutations=99)
    for resolution in (0.1, 0.25, 0.01):
        found = lfl.audit(table, **NAMED, resolution=resolution, permutations=99)
        assert found.contrasts[0].gap.method == "rates"
        assert found.gap_interval == pytest.approx(exact.gap_interval, abs=1e-12)
        assert found.interval == pytest.approx(exact.interval, abs=1e-9)


def test_scores_of_one_bin_vary() -> None:
    random = np.random.default_rng(6)
    table = pl.DataFrame({"s": random.random(200), "a": [0, 1] * 100})
    found, exact = (
        contrasts(read_cells(table, Roles("s", "a"), resolution=width).cells, "pairwise")[0]
        for width in (1.0, None)
    )
    assert signed_gap(found, np.ones(1)).error == pytest.approx(
        signed_gap(exact, np.ones(1)).error, rel=1e-6
    )
    one, other = level_gaps(found), level_gaps(exact)
    assert one.low <= other.low + 1e-8
    assert one.high >= other.high - 1e-8


def test_labels_that_are_no_labels_are_refused() -> None:
    """A column of dictionaries, which an engine cannot count by."""
    table = pd.DataFrame({"s": np.arange(20) / 20, "a": ["f", "m"] * 10, "l": [{}] * 20})
    for resolution in (None, 0.1):
        with pytest.raises(lfl.errors.InputError, match=r"\bl\b"):
            lfl.audit(table, **NAMED, resolution=resolution, permutations=0)


def rounded_by_hand(table: pl.DataFrame, width: float) -> dict[tuple[Any, ...], list[int]]:
    """Rows and the three sums of every level, group and bin, row after row."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for score, group, level in table.select("s", "a", "l").iter_rows():
        place = score * (1.0 / width)
        bin_ = math.floor(place + 1e-9)
        at = int((place - bin_) * 2**30) if place >= bin_ else 0
        high, low = divmod(at, 2**15)
        line = found.setdefault((level, group, bin_), [0, 0, 0, 0])
        for k, part in enumerate((1, at, high * high, high * low)):
            line[k] += part
    return found


@pytest.mark.parametrize("width", [1e-9, 0.01, 0.1, 50.0])
@pytest.mark.parametrize("seed", range(6))
def test_rows_in_memory_are_counted_as_by_hand_and_by_an_engine(seed: int, width: float) -> None:
    table = made(seed)
    cells = read_cells(table, ROLES, resolution=width).cells
    assert cells.fingerprint == read_cells(table.lazy(), ROLES, resolution=width).cells.fingerprint
    assert cells.sums is not None
    level, group = cells._lines()
    bins = np.rint(cells.middles / width - 0.5).astype(int).tolist()
    keys = [
        (level.labels[k], group.labels[g], bin_)
        for k, g, bin_ in zip(level.codes, group.codes, bins, strict=True)
    ]
    lines = np.column_stack([cells.atoms.counts, cells.sums]).tolist()
    assert dict(zip(keys, lines, strict=True)) == rounded_by_hand(table, width)
