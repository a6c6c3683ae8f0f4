"""Every figure about pay, beside the same by its definition in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import fmean, median

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import likeforlike as lfl
from likeforlike.payroll import PayReport
from likeforlike.payroll._categories import average_parts, close_gap, split_gap
from tests.payroll.staff import FORTY, ROLES, forty

POINT = 0.01
AVERAGES: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "median": median}


@pytest.fixture(scope="module")
def report() -> PayReport:
    return lfl.pay(forty(), **ROLES, suppress_below=None, permutations=199)


def pays(sex: str, part: str, per: str, category: str | None = None) -> list[float]:
    """Pay of one sex, from the rows."""
    found = []
    for own, grade, base, variable, hours in FORTY:
        if own == sex and category in (None, grade):
            amount = {"base": base, "variable": variable, "total": base + variable}[part]
            found.append(amount / hours if per == "hour" else amount)
    return found


def percent(women: list[float], men: list[float], average: Callable[[list[float]], float]) -> float:
    return 100.0 * (average(men) - average(women)) / average(men)


def test_there_are_forty() -> None:
    assert len(FORTY) == 40
    assert {sex for sex, *_ in FORTY} == {"f", "m", "x"}


def test_gaps_are_those_of_the_definition(report: PayReport) -> None:
    seen = set()
    for gap in report.gaps:
        women, men = (pays(sex, gap.part, gap.per) for sex in "fm")
        if gap.receivers:
            women, men = ([each for each in part if each > 0] for part in (women, men))
        average = AVERAGES[gap.average]
        assert gap.people == (len(women), len(men))
        if average(men) == 0.0:
            assert gap.percent is None
            assert gap.note is not None
        else:
            assert gap.percent == pytest.approx(percent(women, men, average), abs=POINT)
            assert gap.pay == pytest.approx((average(women), average(men)))
        seen.add((gap.part, gap.per, gap.average, gap.receivers))
    assert len(seen) == len(report.gaps) == 12


def test_shares_that_receive_variable_pay_count_zeros(report: PayReport) -> None:
    for sex, found in zip("fm", report.document.receiving or (), strict=True):
        own = pays(sex, "variable", "year")
        assert found == pytest.approx(100.0 * sum(each > 0 for each in own) / len(own), abs=POINT)


def test_quarters_spread_ties_evenly(report: PayReport) -> None:
    """By fractions: person by person, each tie takes its average share of every quarter."""
    for bands in report.document.bands:
        rates = [
            (Fraction(base + variable) / Fraction(hours if bands.per == "hour" else 1), sex)
            for sex, _, base, variable, hours in FORTY
        ]
        shares = {sex: [Fraction(0)] * 4 for sex in "fmx"}
        for rate, sex in rates:
            below = sum(other < rate for other, _ in rates)
            tied = sum(other == rate for other, _ in rates)
            for quarter in range(4):
                inside = min(below + tied, 10 * quarter + 10) - max(below, 10 * quarter)
                shares[sex][quarter] += Fraction(max(inside, 0), tied)
        for found, sex in zip((bands.women, bands.men, bands.others), "fmx", strict=True):
            assert found == pytest.approx([float(10 * each) for each in shares[sex]], abs=1e-9)
        totals = np.add(np.add(bands.women, bands.men), bands.others)
        assert totals == pytest.approx([100.0] * 4)


def test_ties_of_a_quarter_are_there() -> None:
    totals = [base + variable for _, _, base, variable, _ in FORTY]
    assert totals.count(36_000.0) >= 5


def test_categories_have_base_and_variable(report: PayReport) -> None:
    assert [each.name for each in report.categories] == ["a", "b", "c"]
    for category in report.categories:
        for gap in category.gaps:
            women, men = (pays(sex, gap.part, gap.per, category.name) for sex in "fm")
            assert gap.percent == pytest.approx(percent(women, men, fmean), abs=POINT)
    assert {each.name: each.standing for each in report.categories}["c"] == "not compared"
    assert report.document.one_sex == 2


def test_within_and_between_add_up_to_the_whole(report: PayReport) -> None:
    document = report.document
    assert document.within_pay is not None
    assert document.between_pay is not None
    whole = fmean(pays("m", "total", "hour")) - fmean(pays("f", "total", "hour"))
    assert document.within_pay + document.between_pay == pytest.approx(whole, rel=1e-12)
    by_hand = 0.0
    for name in "abc":
        women, men = (pays(sex, "total", "hour", name) for sex in "fm")
        share = [
            len(part) / sum(s == sex for s, *_ in FORTY) for part, sex in ((women, "f"), (men, "m"))
        ]
        by_hand += fmean(share) * (fmean(men) - fmean(women))
    assert document.within_pay == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_split_is_exact_with_categories_of_one_sex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, (9, 2))
    sizes[0] = 3
    parts = [(rng.gamma(2.0, 1e4, w), rng.gamma(2.0, 1e4, m)) for w, m in sizes]
    women, men = (np.concatenate(side) for side in zip(*parts, strict=True))
    within, between = split_gap(parts)
    assert math.isclose(within + between, men.mean() - women.mean(), rel_tol=1e-12, abs_tol=1e-8)


def test_counterparts_are_averages_of_the_quantile_function() -> None:
    others = np.array([3.0, 1.0, 2.0, 10.0])
    assert average_parts(others, 2).tolist() == [1.5, 6.5]
    assert average_parts(others, 8).tolist() == [1, 1, 2, 2, 3, 3, 10, 10]
    assert average_parts(others, 3) == pytest.approx([1.25, 2.5, 8.25])
    assert average_parts(np.array([4.0]), 5) == pytest.approx([4.0] * 5)


@pytest.mark.parametrize("seed", range(40))
def test_closing_costs_no_more_than_a_linear_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    women, men = rng.gamma(3.0, 8.0, rng.integers(1, 9)), rng.gamma(3.0, 8.0, rng.integers(1, 9))
    women[: seed % 3] = men[0]
    hours = rng.choice([1.0, 2.0, 3.5], women.size), rng.choice([1.0, 2.0, 3.5], men.size)
    limit = float(rng.choice([0.0, 5.0, 20.0]))
    raises, even, of_women = close_gap(women, men, hours, limit)
    own, others, worked = (women, men, hours[0]) if of_women else (men, women, hours[1])
    assert (raises >= 0.0).all()
    assert (even >= 0.0).all()
    aim = others.mean() * (1.0 - limit / 100.0 if of_women else 1.0 / (1.0 + limit / 100.0))
    room = np.empty(own.size)
    room[np.argsort(own, kind="stable")] = average_parts(others, own.size)
    room = np.maximum(room - own, 0.0)
    program = linprog(
        worked,
        A_ub=[-np.ones(own.size)],
        b_ub=[own.sum() - own.size * aim],
        bounds=list(zip(np.zeros(own.size), room + 1e-12, strict=True)),
    )
    assert program.status == 0
    assert float(raises @ worked) == pytest.approx(program.fun, rel=1e-7, abs=1e-7)
    assert float(even @ worked) >= program.fun - 1e-7
    for found in (raises, even):
        raised = own + found
        w, m = (raised, men) if of_women else (women, raised)
        gap = 100.0 * (m.mean() - w.mean()) / m.mean()
        assert abs(gap) <= limit + 1e-9 or (found == 0.0).all()
        assert (found <= room + 1e-9).all()


def test_by_the_year_nobody_can_close_the_gap_for_less() -> None:
    """Without the limit of the counterpart, too: every euro is worth the same then."""
    women, men = np.array([10.0, 12.0, 30.0]), np.array([20.0, 22.0, 24.0, 30.0])
    ones = np.ones(3), np.ones(4)
    raises, even, _ = close_gap(women, men, ones, 5.0)
    free = linprog(np.ones(3), A_ub=[-np.ones(3)], b_ub=[women.sum() - 3 * 0.95 * men.mean()])
    assert raises.sum() == pytest.approx(free.fun)
    assert even.sum() == pytest.approx(free.fun)


def test_sums_of_the_report_are_those_of_its_categories(report: PayReport) -> None:
    document = report.document
    assert document.cost == pytest.approx(sum(each.cost for each in report.categories))
    assert document.cost <= document.even_cost
    assert document.raised == sum(each.raised for each in report.categories)


def test_a_table_without_hours_compares_years() -> None:
    report = lfl.pay(forty(), base="base", sensitive="sex", suppress_below=None)
    assert [(gap.part, gap.per) for gap in report.gaps] == [("total", "year")] * 2
    assert report.document.receiving is None
    assert "part-time" in " ".join(report.finding.cautions)
    assert report.verdict == "investigate"


def test_a_change_of_currency_changes_no_percentage() -> None:
    one = lfl.pay(forty(), **ROLES, suppress_below=None, permutations=99)
    scaled = forty().with_columns(pl.col("base", "variable") * 7.5)
    other = lfl.pay(scaled, **ROLES, suppress_below=None, permutations=99)
    for mine, theirs in zip(one.gaps, other.gaps, strict=True):
        assert mine.percent == pytest.approx(theirs.percent)
        assert mine.interval == pytest.approx(theirs.interval)


def test_women_and_men_exchanged_turn_the_sign_round() -> None:
    women, men = "f", "m"
    rows = forty().filter(pl.col("sex") != "x")
    one = lfl.pay(rows, **ROLES, suppress_below=None, women=women, men=men)
    other = lfl.pay(rows, **ROLES, suppress_below=None, women=men, men=women)
    for mine, theirs in zip(one.categories, other.categories, strict=True):
        a, b = mine.gaps[0].percent or 0.0, theirs.gaps[0].percent or 0.0
        assert (1 - a / 100) * (1 - b / 100) == pytest.approx(1.0)
        assert mine.p_value == pytest.approx(theirs.p_value, abs=0.03)
