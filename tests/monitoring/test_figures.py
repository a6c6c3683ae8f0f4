"""The pages of measured figures are those of the results that are kept, and these hold."""

from pathlib import Path

from benchmarks import comparing, monitoring
from benchmarks.commands import kept

ROOT = Path(__file__).parents[2]
COMPARED = [comparing.Found(**x) for x in kept(ROOT / "benchmarks" / "comparing.json")["found"]]
MONITORED = kept(ROOT / "benchmarks" / "monitoring.json")


def test_pages_show_the_results_that_are_kept() -> None:
    for name, text in (
        ("comparing", comparing.page(COMPARED)),
        ("monitor", monitoring.page(MONITORED)),
    ):
        assert (ROOT / "docs" / f"{name}_figures.md").read_text("utf-8") == text, (
            f"run python -m benchmarks.{name} with --read and --page"
        )


def test_every_setting_was_compared_and_held() -> None:
    assert [each.number for each in COMPARED] == list(range(len(comparing.SETTINGS)))
    for each in COMPARED:
        # Four standard errors of a share of .025, and of .05.
        n = each.repetitions
        assert max(each.better, each.worse) <= 0.025 * n + 4.0 * (0.025 * 0.975 * n) ** 0.5
        assert each.gap <= 0.05 * n + 4.0 * (0.05 * 0.95 * n) ** 0.5


def test_the_monitor_held() -> None:
    assert set(MONITORED["false"]) == set(monitoring.SETTINGS)
    for each in MONITORED["false"].values():
        assert each["alarms"] <= 0.05 * each["histories"]
    for each in MONITORED["delays"].values():
        assert each["median"] <= (3 if each["from"] == 1 else 5)
    kills = MONITORED["kills"]
    assert kills["kills"] >= 200
    assert kills["lost"] == kills["twice"] == kills["damaged"] == 0


def test_a_setting_can_be_run_again() -> None:
    found = comparing.simulate(47, 2)
    assert found.repetitions == 2
    assert monitoring.false_alarms("40 rows per month", 1)["histories"] == 1
