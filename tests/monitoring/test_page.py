"""The pages in a real browser: three years and twelve levels on a phone."""

from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from tests.monitoring.test_comparison import ROLES, rows
from tests.report.test_browser import WORDS_OUTSIDE, WORDS_OVER_WORDS
from tests.support.window import Window

# Text smaller than this is hard to read on a phone, in its pixels.
SMALLEST = 9.0
TINY = """
() => [...document.querySelectorAll('svg.chart text')].filter(text => {
  const chart = text.closest('svg'), box = chart.getBoundingClientRect()
  const size = parseFloat(getComputedStyle(text).fontSize) * box.width / chart.viewBox.baseVal.width
  return box.width > 0 && size < %s
}).map(text => text.textContent)
"""


@cache
def three_years() -> str:
    rng, parts = np.random.default_rng(0), []
    for month in range(36):
        sex, band = rng.integers(0, 2, 500), rng.integers(0, 12, 500)
        score = rng.normal(size=500) + 0.3 * band + 0.3 * sex * (month >= 20)
        day = date(2022 + month // 12, month % 12 + 1, 1)
        parts.append(
            pl.DataFrame(
                {"score": score, "sex": np.where(sex, "male", "female"), "band": band}
            ).with_columns(applied=day)
        )
    found = lfl.audit(
        pl.concat(parts),
        score="score",
        sensitive="sex",
        legitimate="band",
        by={"applied": "month"},
        permutations=19,
    )
    return found.to_html()


@cache
def two_scores() -> str:
    frame = rows(1, n=3000, levels=12).with_columns(level=pl.int_range(pl.len()) % 12)
    return lfl.compare(frame, scores=["one", "two"], target="y", **ROLES).to_html()


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("page_of", [three_years, two_scores])
def test_pages_are_readable(window: Window, tmp_path: Path, page_of: object, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(), encoding="utf-8")  # type: ignore[operator]
    page = window.open(path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WORDS_OUTSIDE) == []
    assert page.evaluate(WORDS_OVER_WORDS) == []
    assert page.evaluate(TINY % SMALLEST) == []
    assert window.said == []
    assert window.asked == [path.as_uri()]


def test_charts_have_names_and_the_alarm(window: Window, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(three_years(), encoding="utf-8")
    page = window.open(path, width=390)
    for name, number in (("Gap by period, band", 12), ("E-value by period", 1)):
        assert page.get_by_role("img", name=name).count() == number
    chart = page.get_by_role("img", name="Gap by period", exact=True)
    assert chart.locator("circle").count() == 36
    assert page.get_by_role("table").get_by_role("row").count() == 37
    assert chart.get_by_text("alarm").is_visible()
