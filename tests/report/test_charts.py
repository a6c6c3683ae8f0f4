"""Charts say with their shapes what the figures say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from likeforlike.document import as_document
from likeforlike.report import AxisScale, number, ticks
from likeforlike.report._charts import (
    NARROW_GAPS,
    WIDE_GAPS,
    ChartLayout,
    comparison_chart,
    coverage_chart,
    distribution_charts,
    gap_chart,
    split_chart,
)
from likeforlike.report._format import percent
from likeforlike.report._svg import element
from tests.report.documents import fresh, typed

LAYOUTS = pytest.mark.parametrize("layout", [WIDE_GAPS, NARROW_GAPS], ids=["wide", "narrow"])


def places(chart: str) -> list[float]:
    """Where the marks of a chart of gaps lie, from top to bottom."""
    marks = re.findall(r'<circle cx="([-\d.]+)|<path d="M([-\d.]+) [\d.]+l6.5', chart)
    # A diamond is written from its left corner.
    return [float(dot) if dot else float(corner) + 6.5 for dot, corner in marks]


def zero(chart: str) -> float:
    found = re.search(r'<(?:path d="M|line x1=")([-\d.]+)[ "][^>]* class="zero"', chart)
    assert found
    return float(found[1])


@LAYOUTS
def test_marks_lie_in_the_order_of_the_gaps_on_their_side_of_zero(layout: ChartLayout) -> None:
    document = fresh("scores")
    chart = gap_chart(as_document(document), layout)
    gaps = [level["gap"] for level in document["contrasts"][0]["levels"]]
    drawn = places(chart)
    assert len(drawn) == len(gaps)
    assert sorted(range(8), key=gaps.__getitem__) == sorted(range(8), key=drawn.__getitem__)
    for gap, place in zip(gaps, drawn, strict=True):
        assert (place > zero(chart)) == (gap > 0.0)
    slopes = [(place - zero(chart)) / gap for gap, place in zip(gaps, drawn, strict=True)]
    assert max(slopes) - min(slopes) < 0.1 * max(slopes)


@LAYOUTS
def test_evidence_changes_the_shape(layout: ChartLayout) -> None:
    document = fresh("scores")
    levels = document["contrasts"][0]["levels"]
    for k, level in enumerate(levels):
        level["p_adjusted"] = 0.05 if k < 3 else 0.051
    chart = gap_chart(as_document(document), layout)
    assert chart.count(" full") == 3
    assert chart.count("<circle") == 5


@LAYOUTS
def test_thin_levels_are_dashed_and_named(layout: ChartLayout) -> None:
    document = fresh("scores")
    assert "dashed" not in gap_chart(as_document(document), layout)
    document["contrasts"][0]["levels"][2]["thin"] = True
    chart = gap_chart(as_document(document), layout)
    assert chart.count("dashed") == 1
    assert chart.count(">thin<") == 1


@LAYOUTS
def test_the_interval_of_a_thin_level_does_not_squeeze_the_others(layout: ChartLayout) -> None:
    document = fresh("scores")
    before = places(gap_chart(as_document(document), layout))
    level = document["contrasts"][0]["levels"][-1]
    level["thin"], level["gap_interval"] = True, [-1e6, 1e6]
    chart = gap_chart(as_document(document), layout)
    assert places(chart) == before
    assert chart.count("span open") == 2


@LAYOUTS
def test_directions_are_named(layout: ChartLayout) -> None:
    chart = gap_chart(typed("scores"), layout)
    assert "← female higher" in chart
    assert "male higher →" in chart


@LAYOUTS
def test_equal_scores_can_be_drawn(layout: ChartLayout) -> None:
    document = fresh("scores")
    for level in document["contrasts"][0]["levels"]:
        level["gap"], level["gap_interval"] = 0.0, [0.0, 0.0]
    chart = gap_chart(as_document(document), layout)
    assert set(places(chart)) == {zero(chart)}


def bar_widths(chart: Markup) -> list[float]:
    return [
        float(width)
        for width in re.findall(r'<rect x="[-\d.]+" y="[-\d.]+" width="([\d.]+)', chart)
    ]


def test_bars_of_the_comparison_are_as_long_as_their_figures() -> None:
    document = fresh("scores")
    contrast = document["contrasts"][0]
    test = contrast["test"]
    assert test is not None
    values = [
        contrast["unconditional"]["value"],
        contrast["conditional"]["value"],
        test["null_distance"],
    ]
    drawn = bar_widths(comparison_chart(as_document(document)))
    assert len(drawn) == 3
    for value, width in zip(values, drawn, strict=True):
        assert value is not None
        assert width / drawn[1] == pytest.approx(value / (values[1] or 0.0), rel=0.01)


def test_all_zero_can_be_compared() -> None:
    document = fresh("untested")
    contrast = document["contrasts"][0]
    contrast["unconditional"]["value"] = contrast["conditional"]["value"] = 0.0
    assert bar_widths(comparison_chart(as_document(document))) == [0.0, 0.0]


def test_coverage_is_cut_into_three() -> None:
    document = fresh("scores")
    contrast = document["contrasts"][0]
    contrast["coverage"]["female"], contrast["thin_share"]["female"] = 0.9, 0.2
    chart = coverage_chart(as_document(document).contrasts[0])
    assert "female: 70.0% compared · 20.0% in thin levels · 10.0% not compared" in chart
    assert bar_widths(chart)[:3] == pytest.approx([306.6, 87.6, 43.8])


def test_the_split_adds_up() -> None:
    nested = typed("scores").contrasts[0].nested
    assert nested is not None
    chart = split_chart(nested)
    parts = [width for width in bar_widths(chart) if width != 18.0]
    assert sum(parts) == pytest.approx(438.0, abs=0.2)


def test_decisions_are_columns_and_scores_are_histograms() -> None:
    (_, columns), *_ = distribution_charts(typed("decisions").contrasts[0])
    assert columns.count("<rect") == 4
    for share in ("40.0%", "20.0%", "60.0%", "80.0%"):
        assert f">{share}<" in columns
    (_, histogram), *_ = distribution_charts(typed("scores").contrasts[0])
    assert "a area" in histogram
    assert "b outline" in histogram
    assert "<rect" not in histogram


@given(st.text(), st.text())
def test_any_text_is_escaped(words: str, value: str) -> None:
    written = element("text", words, class_=value)
    inner = written.removeprefix("<text class=").removesuffix("</text>")
    assert inner.count("<") == 0
    assert inner.count(">") == 1
    assert inner.count('"') == 2


@given(st.floats(1e-11, 1e9) | st.floats(-1e9, -1e-11))
def test_numbers_keep_three_digits(value: float) -> None:
    text = number(value).replace("−", "-").replace(",", "")
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    read = float(text.replace(" × 10", "e").translate(superscripts))
    assert read == pytest.approx(value, rel=0.00501)


@given(st.floats(0.0, 1.0))
def test_only_all_is_all_and_only_none_is_none(share: float) -> None:
    assert (percent(share) == "100%") == (share > 1.0 - 1e-12)
    assert (percent(share) == "0%") == (share <= 1e-12)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 8))
def test_ticks_are_few_and_inside(low: float, wide: float, about: int) -> None:
    found = ticks(low, low + wide, about)
    assert len(found) <= 2 * about + 2
    slack = 1e-6 * max(1.0, abs(low), wide)
    assert all(low - slack <= value <= low + wide + slack for value in found)


def test_a_scale_of_no_width_puts_everything_in_its_middle() -> None:
    assert AxisScale(1.0, 1.0, 0.0, 10.0)(1.0) == 5.0
