"""The page of the calibrations is that of the results that are kept."""

import json

from benchmarks.calibration import ESTIMATES, PAGE, TESTS, page


def test_the_page_shows_the_results_that_are_kept() -> None:
    kept = (json.loads(path.read_text("utf-8")) for path in (TESTS, ESTIMATES))
    assert PAGE.read_text("utf-8") == page(*kept), "run python -m benchmarks.calibration --read"
