"""Audits by period: what each of them is, from columns, dates, engines and summaries."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import Audit
from likeforlike.auditing import Policy, summarize
from likeforlike.errors import InputError
from likeforlike.monitoring import PeriodAudits, audit_folder, watch

ROLES: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "income"}


def lender(months: int = 6, rows: int = 120, change: int = 3, seed: int = 0) -> pl.DataFrame:
    """Applications of some months, with a disparity from one of them on."""
    rng = np.random.default_rng(seed)
    parts = []
    for month in range(months):
        sex, income = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
        score = 0.3 * rng.normal(size=rows) + 0.1 * income + 0.4 * sex * (month >= change)
        parts.append(
            pl.DataFrame(
                {
                    "score": score,
                    "sex": np.where(sex, "male", "female"),
                    "income": income,
                    "applied": [date(2025, month + 1, 1 + k % 28) for k in range(rows)],
                    "person": rng.integers(0, 400, rows),
                    "w": rng.gamma(2.0, size=rows),
                }
            )
        )
    return pl.concat(parts)


def by_month(frame: Any, **more: Any) -> PeriodAudits:
    settings = {"by": {"applied": "month"}, "permutations": 19, **ROLES, **more}
    found = lfl.audit(frame, **settings)
    assert isinstance(found, PeriodAudits)
    return found


def test_each_period_is_the_audit_of_its_rows() -> None:
    frame = lender()
    found = by_month(frame)
    assert found.periods == tuple(f"2025-{k:02d}" for k in range(1, 7))
    for month, each in enumerate(found.audits, 1):
        own = frame.filter(pl.col("applied").dt.month() == month)
        alone = lfl.audit(own, permutations=19, confidence=1 - 0.05 / 6, **ROLES)
        assert each is not None
        assert each.gap == alone.gap
        assert each.gap_interval == alone.gap_interval
        assert each.p_value == alone.p_value
        assert [x.name for x in each.levels] == [x.name for x in alone.levels]


def test_all_rows_together_are_the_audit_without_periods() -> None:
    frame = lender()
    together = lfl.audit(frame, permutations=19, **ROLES)
    found = by_month(frame)
    assert found.gap == pytest.approx(together.gap, abs=1e-12)
    assert found.gap_interval == pytest.approx(together.gap_interval, abs=1e-12)
    assert found.gate(5.0) == "pass"
    assert isinstance(found, Audit)


def test_a_change_is_found_and_its_month_is_named() -> None:
    found = by_month(lender(rows=300))
    change = found.changes[0]
    assert change.heterogeneity_p is not None
    assert change.heterogeneity_p < 0.001
    assert change.slope_interval is not None
    assert change.slope_interval[0] > 0.0
    assert found.monitor is not None
    assert found.monitor.alarm in ("2025-04", "2025-05")
    assert "Alarm" in found.headline
    assert found.headline in str(found)


@pytest.mark.parametrize("kind", ["column", "text", "pandas", "csv", "counts", "no levels"])
def test_periods_are_read_from_whatever_holds_them(kind: str, tmp_path: Path) -> None:
    frame = lender(3)
    expected = by_month(frame)
    more: dict[str, Any] = {}
    if kind == "column":
        data: Any = frame.with_columns(applied=pl.col("applied").dt.strftime("%Y-%m"))
        more = {"by": "applied"}
    elif kind == "text":
        data = frame.with_columns(applied=pl.col("applied").cast(pl.String))
    elif kind == "pandas":
        data = frame.to_pandas()
    elif kind == "csv":
        data = tmp_path / "rows.csv"
        frame.write_csv(data)
    elif kind == "counts":
        data, more = frame.lazy(), {"resolution": 1e-7}
    else:
        data, more = frame, {"legitimate": ()}
        expected = by_month(frame, legitimate=())
    found = by_month(data, **more)
    assert found.periods == expected.periods
    assert [a.gap for a in found.audits if a] == pytest.approx(
        [a.gap for a in expected.audits if a], abs=1e-8
    )
    assert found.monitor is not None
    assert expected.monitor is not None
    assert found.monitor.log_e == pytest.approx(expected.monitor.log_e, abs=1e-4)


def test_e_values_of_summaries_are_those_of_rows_at_the_same_resolution(tmp_path: Path) -> None:
    frame = lender()
    rows = by_month(frame, resolution=0.01)
    for month in (3, 1, 2, 6, 5, 4):
        own = frame.filter(pl.col("applied").dt.month() == month)
        name = f"2025-{month:02d}"
        summarize(own, **ROLES, resolution=0.01, part=name).write(tmp_path / f"{name}.cells")
    counted, new = watch(tmp_path)
    assert rows.monitor is not None
    assert new == counted.periods == rows.periods
    assert np.array_equal(counted.log_e, rows.monitor.log_e)
    together = audit_folder(tmp_path, permutations=19)
    assert together.gap == pytest.approx(rows.gap, abs=1e-12)
    assert together.monitor is not None
    assert together.monitor.e_values == counted.e_values


def test_clusters_count_once_in_the_monitor_and_weights_not_at_all() -> None:
    frame = lender(3)
    clustered = by_month(frame, cluster="person")
    assert any("counts each person once" in note for note in clustered.notes)
    weighted = by_month(frame, weight="w")
    assert weighted.monitor is None
    assert any("weights" in note for note in weighted.notes)
    assert ", e-value" not in str(weighted)


def test_a_period_that_cannot_be_audited_is_named() -> None:
    frame = lender(3).filter((pl.col("applied").dt.month() != 2) | (pl.col("sex") == "male"))
    found = by_month(frame)
    assert found.audits[1] is None
    assert any(note.startswith("2025-02 was not audited") for note in found.notes)
    assert found.to_frame().height == 2
    assert "2025-02" in found.to_html()


def test_more_groups_have_a_line_each() -> None:
    frame = lender(3).with_columns(
        sex=pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("other")).otherwise("sex")
    )
    found = by_month(frame)
    assert found.to_frame().height == 9
    assert found.monitor is not None
    assert len(found.monitor.groups) == 3
    assert not np.isnan(found.to_frame()["e_value"].to_numpy()).any()
    two = by_month(frame, reference="other")
    assert two.monitor is not None
    assert len(two.monitor.groups) == 2


def test_results_are_written_as_json_and_frame() -> None:
    found = by_month(lender(3).to_pandas())
    written = json.loads(found.to_json())
    assert written["schema"] == "likeforlike.periods"
    assert [each["period"] for each in written["periods"]] == list(found.periods)
    assert type(found.to_frame()).__module__.startswith("pandas")
    assert "3 periods" in repr(found)


def test_a_policy_may_be_asked_by_period() -> None:
    policy = Policy("none", {**ROLES, "permutations": 19}, ())
    assert isinstance(policy.audit(lender(3), by={"applied": "quarter"}), PeriodAudits)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"by": {"applied": "week"}}, "by must be a column"),
        ({"by": 3}, "by must be a column"),
        ({"by": "income"}, "plays another part"),
        ({"by": "score"}, "plays another part"),
        ({"by": "nothing"}, "nothing"),
        ({"by": "month", "smooth": "w"}, "by and smooth do not go together"),
        ({"by": "person", "suppress_below": 10}, "by and suppress_below do not go together"),
        ({"by": "score2"}, "periods, and at most"),
    ],
)
def test_bad_periods_are_refused(asked: dict[str, Any], message: str) -> None:
    frame = lender(4, rows=300).with_columns(score2=(pl.int_range(pl.len()) % 450).cast(pl.String))
    with pytest.raises(InputError, match=message):
        lfl.audit(frame, **{**ROLES, **asked})
