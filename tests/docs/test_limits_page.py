"""Pages about limits and stopping say what was measured, and the promise was kept there."""

from pathlib import Path

from benchmarks import limits, stopping

ROOT = Path(__file__).parents[2]


def test_limits_are_kept_on_test_rows() -> None:
    runs = limits.read(ROOT / "benchmarks" / "limits.json")
    assert (ROOT / "docs" / "limits.md").read_text("utf-8") == limits.page(runs)
    own = [one for one in runs if one.rule == "upper end"]
    assert len({one.data for one in own}) == 6
    assert len([one for one in own if one.promised]) >= 40
    for rule in {one.rule for one in runs} - {limits.USED_TO}:
        promised = [one for one in runs if one.rule == rule and one.promised]
        assert sum(one.broken for one in promised) <= 0.1 * len(promised)
        assert sum(one.above for one in promised) <= 0.1 * len(promised)


def test_the_page_of_stopping_says_what_was_measured() -> None:
    runs = stopping.read(ROOT / "benchmarks" / "stopping.json")
    assert (ROOT / "docs" / "stopping.md").read_text("utf-8") == stopping.page(runs)
    assert len({one.name for one in runs if one.kind == "data"}) == 6
