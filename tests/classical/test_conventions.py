"""Every convention beside its oracle, to 1e-10, on twenty tables."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.stats.contingency import relative_risk
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.weightstats import DescrStatsW

import likeforlike as lfl
from likeforlike import Cells
from likeforlike.auditing._tables import read_cells
from likeforlike.classical import (
    NOTES,
    breslow_day,
    cell_figures,
    conventions,
    local_law_144,
    mantel_haenszel,
    van_elteren,
    wachter_cdd,
)
from likeforlike.document import Roles
from tests.classical.tables import DECISIONS, SCORES, TABLES, Rows

CLOSE = 1e-10


def close(value: float | None, expected: float) -> bool:
    """Equal to 1e-10, relatively where numbers are large; what cannot be had is None."""
    if value is None:
        return not math.isfinite(expected)
    return math.isclose(value, expected, rel_tol=CLOSE, abs_tol=CLOSE)


def two_by_two(rows: Rows, *, free: bool = False) -> StratifiedTable:
    """The tables of statsmodels; with `free` those in which decisions of both kinds occur."""
    tables = []
    for level in rows.met:
        counts = [
            [float(rows.of(g, level).sum()), float((1.0 - rows.of(g, level)).sum())] for g in "fm"
        ]
        if not free or np.array(counts).sum(axis=0).all():
            tables.append(np.array(counts))
    return StratifiedTable(tables)


def test_there_are_twenty_tables() -> None:
    assert len(TABLES) == 20


@pytest.mark.parametrize("name", TABLES)
def test_rows_means_and_medians_of_cells(name: str) -> None:
    rows = TABLES[name]
    found = conventions(rows.cells, "f", "m")
    assert [entry.level for entry in found.levels] == rows.met
    for entry in (*found.levels, found.overall):
        level = None if entry is found.overall else int(str(entry.level))
        own, other = rows.of("f", level), rows.of("m", level)
        assert entry.rows == (own.size, other.size)
        for k, scores in enumerate((own, other)):
            assert close(entry.mean[k], float(np.mean(scores)))
            assert close(entry.median[k], float(np.median(scores)))
        assert close(entry.gap, float(np.mean(own) - np.mean(other)))


@pytest.mark.parametrize("name", TABLES)
def test_standardized_differences_are_in_deviations_of_everybody(name: str) -> None:
    rows = TABLES[name]
    found = conventions(rows.cells, "f", "m")
    for entry in (*found.levels, found.overall):
        level = None if entry is found.overall else int(str(entry.level))
        both = np.concatenate([rows.of("f", level), rows.of("m", level)])
        spread = float(np.std(both))
        expected = entry.gap / spread if spread > 1e-14 else math.nan
        assert close(entry.smd, expected)


@pytest.mark.parametrize("name", DECISIONS)
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_impact_ratios_of_rates_are_those_of_scipy(name: str, confidence: float) -> None:
    rows = DECISIONS[name]
    found = conventions(rows.cells, "f", "m", confidence=confidence)
    assert found.decisions
    for entry in (*found.levels, found.overall):
        level = None if entry is found.overall else int(str(entry.level))
        own, other = rows.of("f", level), rows.of("m", level)
        risk = relative_risk(int(own.sum()), own.size, int(other.sum()), other.size)
        assert close(entry.ratio, risk.relative_risk)
        interval = risk.confidence_interval(confidence)
        if entry.ratio_interval is None:
            assert not (math.isfinite(interval.low) and math.isfinite(interval.high))
        else:
            assert close(entry.ratio_interval[0], interval.low)
            assert close(entry.ratio_interval[1], interval.high)


@pytest.mark.parametrize("name", SCORES)
def test_impact_ratios_of_means_follow_the_closed_form(name: str) -> None:
    rows = SCORES[name]
    for entry in conventions(rows.cells, "f", "m").levels:
        own, other = (rows.of(group, int(str(entry.level))) for group in "fm")
        assert close(entry.ratio, float(own.mean() / other.mean()))
        if min(own.size, other.size) < 2:
            assert entry.ratio_interval is None
            continue
        error = math.sqrt(sum(np.var(x, ddof=1) / (x.size * x.mean() ** 2) for x in (own, other)))
        assert entry.ratio is not None
        assert entry.ratio_interval is not None
        for sign, end in zip((-1.0, 1.0), entry.ratio_interval, strict=True):
            assert close(end, entry.ratio * math.exp(sign * stats.norm.ppf(0.975) * error))


@pytest.mark.parametrize("name", DECISIONS)
def test_mantel_haenszel_is_that_of_statsmodels(name: str) -> None:
    rows = DECISIONS[name]
    found, theirs = mantel_haenszel(rows.cells, "f", "m"), two_by_two(rows)
    assert close(found.odds_ratio, float(theirs.oddsratio_pooled))
    assert close(found.statistic, float(theirs.test_null_odds().statistic))
    assert close(found.p_value, float(theirs.test_null_odds().pvalue))
    if found.odds_ratio and found.interval is not None:
        low, high = theirs.oddsratio_pooled_confint()
        assert close(found.interval[0], float(low))
        assert close(found.interval[1], float(high))
    whole = conventions(rows.cells, "f", "m").mantel_haenszel
    assert whole == found


@pytest.mark.parametrize("name", SCORES)
def test_the_test_of_mean_scores_permutes_within_levels(name: str) -> None:
    rows = SCORES[name]
    found = mantel_haenszel(rows.cells, "f", "m")
    excess, spread = 0.0, 0.0
    for level in rows.met:
        own = rows.of("f", level)
        both = np.concatenate([own, rows.of("m", level)])
        m, n = own.size, both.size
        excess += float(own.sum() - m * both.mean())
        spread += m * (n - m) / n * float(np.var(both, ddof=1))
    assert found.odds_ratio is None
    assert close(found.statistic, excess**2 / spread)
    assert close(found.p_value, float(stats.chi2.sf(found.statistic, 1)))


@pytest.mark.parametrize("name", DECISIONS)
def test_breslow_day_is_that_of_statsmodels(name: str) -> None:
    rows = DECISIONS[name]
    found, theirs = breslow_day(rows.cells, "f", "m"), two_by_two(rows, free=True)
    odds = float(theirs.oddsratio_pooled)
    if found is None:
        assert theirs.table.shape[2] < 2 or odds == 0.0 or not math.isfinite(odds)
        return
    assert found.degrees == theirs.table.shape[2] - 1
    if odds == 1.0:
        # Their root of a quadratic is 0 / 0 here; at an odds ratio of 1 a is what its totals say.
        tables = theirs.table
        n = tables.sum(axis=(0, 1))
        margins = tables.sum(axis=1)[0] * tables.sum(axis=0)[0] / n
        across = tables.sum(axis=1)[1] * tables.sum(axis=0)[1] / n**2
        expected = float(((tables[0, 0] - margins) ** 2 / (margins * across)).sum())
    else:
        expected = float(theirs.test_equal_odds().statistic)
    assert close(found.statistic, expected)
    assert close(found.p_value, float(stats.chi2.sf(expected, found.degrees)))


@pytest.mark.parametrize("name", TABLES)
def test_van_elteren_adds_up_rank_sums(name: str) -> None:
    rows = TABLES[name]
    excess, variance = 0.0, 0.0
    for level in rows.met:
        own = rows.of("f", level)
        ranks = stats.rankdata(np.concatenate([own, rows.of("m", level)]))
        m, n = own.size, ranks.size
        excess += float(ranks[:m].sum() - m * (n + 1) / 2) / (n + 1)
        variance += m * (n - m) / n * float(np.var(ranks, ddof=1)) / (n + 1) ** 2
    found = van_elteren(rows.cells, "f", "m")
    assert close(found.z, excess / math.sqrt(variance))
    assert close(found.p_value, 2.0 * float(stats.norm.sf(abs(found.z))))


def test_van_elteren_of_one_level_is_wilcoxon() -> None:
    rows = SCORES["one level of scores"]
    theirs = stats.mannwhitneyu(
        rows.of("f"), rows.of("m"), use_continuity=False, method="asymptotic"
    )
    assert close(van_elteren(rows.cells, "f", "m").p_value, float(theirs.pvalue))


@pytest.mark.parametrize("name", DECISIONS)
def test_wachters_disparity_is_what_clarify_computes(name: str) -> None:
    rows = DECISIONS[name]
    total = 0.0
    for level in np.unique(rows.levels):
        here = rows.levels == level
        share = {}
        for kind in (0.0, 1.0):
            among = rows.groups[here & (rows.scores == kind)]
            share[kind] = float(np.mean(among == "f")) if among.size else 0.0
        total += here.sum() * (share[0.0] - share[1.0])
    assert close(wachter_cdd(rows.cells, "f", "m"), total / rows.scores.size)


def test_nobody_accepted_has_no_wachter_disparity_and_no_odds() -> None:
    cells = Cells.from_rows([0.0] * 6, ["f", "m"] * 3)
    found = conventions(cells, "f", "m")
    assert found.wachter is None
    assert found.mantel_haenszel is not None
    assert found.mantel_haenszel.odds_ratio is None
    assert found.mantel_haenszel.p_value is None
    assert found.breslow_day is None
    assert found.overall.ratio is None
    assert found.overall.smd is None


def test_medians_and_means_obey_weights() -> None:
    rng = np.random.default_rng(0)
    scores, weights = rng.integers(0, 9, 400).astype(float), rng.integers(1, 5, 400).astype(float)
    groups, levels = rng.choice(["f", "m"], 400), rng.integers(0, 3, 400)
    figures = cell_figures(Cells.from_rows(scores, groups, levels, sample_weight=weights))
    for level in range(3):
        for k, group in enumerate("fm"):
            kept = (levels == level) & (groups == group)
            theirs = DescrStatsW(scores[kept], weights[kept])
            repeated = np.repeat(scores[kept], weights[kept].astype(int))
            assert close(float(figures.mean[level, k]), float(theirs.mean))
            assert close(float(figures.deviation[level, k]), float(theirs.std))
            assert close(float(figures.median[level, k]), float(np.median(repeated)))


def test_tests_that_know_no_weights_are_not_given_with_weights() -> None:
    cells = Cells.from_rows([1.0, 0.0, 1.0, 0.0], ["f", "f", "m", "m"], sample_weight=[1, 2, 3, 4])
    found = conventions(cells, "f", "m")
    assert found.mantel_haenszel is None
    assert found.van_elteren is None
    assert found.breslow_day is None
    assert found.overall.ratio_interval is None
    assert close(found.overall.ratio, (1 / 3) / (3 / 7))
    assert found.wachter is not None


def test_counts_give_what_rows_give() -> None:
    rows = SCORES["grades with ties"]
    cells = rows.cells
    level, group = cells._lines()
    counted = Cells.from_counts(
        [level.labels[k] for k in level.codes],
        [group.labels[k] for k in group.codes],
        cells.atoms.values,
        cells.atoms.counts,
    )
    assert conventions(counted, "f", "m") == conventions(cells, "f", "m")


def test_scores_of_any_size_are_carried() -> None:
    rows = SCORES["pay"]
    for factor in (1e200, 1e-200):
        cells = Cells.from_rows(rows.scores * factor, rows.groups, rows.levels)
        found, usual = conventions(cells, "f", "m"), conventions(rows.cells, "f", "m")
        assert close(found.overall.ratio, usual.overall.ratio or 0.0)
        assert close(found.overall.smd, usual.overall.smd or 0.0)


def test_ratios_of_scores_below_nothing_are_not_given() -> None:
    cells = Cells.from_rows([-1.0, 2.0, -3.0, -4.0], ["f", "f", "m", "m"])
    found = conventions(cells, "f", "m").overall
    assert found.ratio is None
    assert found.ratio_interval is None
    assert found.gap == 4.0


def test_groups_that_are_not_there_are_named() -> None:
    cells = SCORES["pay"].cells
    for call in (conventions, mantel_haenszel, van_elteren):
        with pytest.raises(lfl.errors.InputError, match="groups has no 'x'"):
            call(cells, "x", "m")
    for decided in (breslow_day, wachter_cdd):
        with pytest.raises(lfl.errors.InputError, match="needs decisions"):
            decided(cells, "f", "m")


def test_notes_say_what_a_figure_says_and_where_it_misleads() -> None:
    for note in NOTES.values():
        assert note.says.endswith(".")
        assert note.misleads.endswith(".")


# -- New York's Local Law 144 ---------------------------------------------------------------------


def test_rates_and_ratios_by_sex_race_and_both_with_unknowns_and_small_ones() -> None:
    rng = np.random.default_rng(3)
    sex = rng.choice(np.array(["f", "m", None]), 2000, p=[0.45, 0.5, 0.05])
    race = rng.choice(np.array(["a", "b", "c"]), 2000, p=[0.6, 0.39, 0.01])
    chosen = rng.random(2000) < np.where(sex == "m", 0.5, 0.3)
    table = pl.DataFrame({"chosen": chosen, "sex": sex.tolist(), "race": race.tolist()})
    roles = Roles("chosen", "sex", also_sensitive=("race",))
    found = local_law_144(read_cells(table, roles).cells, ["sex", "race"])
    assert {each.columns for each in found} == {("sex",), ("race",), ("sex", "race")}
    for columns in {each.columns for each in found}:
        assert sum(each.rows for each in found if each.columns == columns) == 2000
    by_name = {(each.columns, each.category): each for each in found}
    rate = {s: float(chosen[sex == s].mean()) for s in "fm"}
    assert close(by_name[("sex",), "f"].rate, rate["f"])
    assert close(by_name[("sex",), "f"].ratio, rate["f"] / max(rate.values()))
    assert by_name[("sex",), None].rows == int((sex == None).sum())  # noqa: E711
    small = by_name[("race",), "c"]
    assert small.small
    assert small.ratio is None
    assert close(small.rate, float(chosen[race == "c"].mean()))
    crossed = by_name[("sex", "race"), "f × a"]
    assert close(crossed.rate, float(chosen[(sex == "f") & (race == "a")].mean()))


def test_the_rate_of_scores_is_the_share_above_the_median_of_all() -> None:
    rng = np.random.default_rng(4)
    scores, sex = rng.random(501), rng.choice(["f", "m"], 501)
    found = local_law_144(Cells.from_rows(scores, sex, rng.integers(0, 3, 501)), ["sex"])
    for each in found:
        own = scores[sex == each.category]
        assert close(each.rate, float((own > np.median(scores)).mean()))
    assert max(each.ratio or 0.0 for each in found) == 1.0
