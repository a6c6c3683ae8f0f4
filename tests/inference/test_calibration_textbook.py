"""The usual methods that an audit is compared with, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration_textbook import (
    TESTS,
    TEXTBOOK,
    bootstrap_interval,
    main,
    regression_p_value,
    tables,
)
from benchmarks.made_rows import Rows, contrast_of
from likeforlike import cdd_lp

KEPT = Path(__file__).parents[2] / "benchmarks" / "calibration_textbook.json"


def unequal(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    levels = np.repeat([0, 1, 2], [9, 12, 30])
    groups = np.r_[0, 1, rng.integers(0, 2, levels.size - 2)]
    return Rows(np.round(rng.normal(size=levels.size) + levels + 0.5 * groups, 1), groups, levels)


@pytest.mark.parametrize("seed", range(5))
def test_the_regression_is_least_squares_with_dummies(seed: int) -> None:
    rows = unequal(seed)
    design = np.column_stack([rows.groups, rows.levels[:, None] == np.arange(3)]).astype(float)
    slopes, left = np.linalg.lstsq(design, rows.scores)[:2]
    freedom = rows.scores.size - 4
    error = np.sqrt(left[0] / freedom * np.linalg.inv(design.T @ design)[0, 0])
    expected = 2.0 * stats.t.sf(abs(slopes[0]) / error, freedom)
    assert regression_p_value(rows) == pytest.approx(expected, rel=1e-9)


def test_the_plug_in_distance_lies_in_the_reach_of_its_bootstrap() -> None:
    rows = unequal(0)
    _, measure = contrast_of(rows)
    low, high, plug_in = bootstrap_interval(rows, measure, 0)
    expected = cdd_lp(rows.scores, rows.groups, rows.levels, order=1.0, p=2.0)
    assert plug_in == pytest.approx(float(expected), rel=1e-12)
    assert 0.0 < low < high < np.ptp(rows.scores)
    # A cell of one row is drawn as it is.
    pair = Rows(np.array([0.1, 0.4]), np.array([0, 1]), np.array([0, 0]))
    assert bootstrap_interval(pair, np.ones(1), 0) == pytest.approx((0.3, 0.3, 0.3))


class TestKept:
    """What the command counted."""

    RESULTS: ClassVar[dict[str, Any]] = json.loads(KEPT.read_text("utf-8"))
    SETTINGS: ClassVar[dict[str, Any]] = {one["setting"]: one for one in RESULTS["settings"]}

    def test_every_setting_and_test_is_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert list(self.SETTINGS) == list(TEXTBOOK)
        assert all(list(one["rejected"]) == list(TESTS) for one in self.SETTINGS.values())
        assert main(["--read", str(KEPT)]) == 0
        assert capsys.readouterr().out == tables(self.RESULTS)

    def test_ours_hold_what_they_promise_everywhere(self) -> None:
        for name, one in self.SETTINGS.items():
            of = one["repetitions"]
            assert of >= 300, name
            assert one["covered"][0] >= 0.93 * of, name
            assert one["passed"][0] <= 0.05 * of, name
            if one["distance"] == 0.0:
                assert one["rejected"]["headline"] <= stats.binom(of, 0.05).ppf(0.999), name

    def test_what_the_page_says_of_the_others_is_so(self) -> None:
        def rate(setting: str, test: str) -> float:
            one = self.SETTINGS[setting]
            return float(one["rejected"][test] / one["repetitions"])

        assert rate("parity among equals, .2 among everybody", "welch") > 0.9
        assert rate("-.2 among equals, 0 among everybody", "welch") < 0.1
        for unseen in (
            "decisions, +- .25 alternating, 40 x (12 + 12)",
            "spread 1 v 1.3, 10 x (30 + 30)",
        ):
            assert rate(unseen, "regression") < 0.15
            assert rate(unseen, "headline") > 2.0 * rate(unseen, "regression")
        for test in TESTS[1:]:
            assert rate("clusters: five rows a person, parity", test) > 0.2
        for one in self.SETTINGS.values():
            if one["distance"] == 0.0:
                assert one["covered"][1] == 0
                assert one["value"][1] > one["value"][0]
