"""The page about scale shows the costs that were measured."""

import json

from benchmarks.summaries import PAGE, RESULTS, page


def test_the_page_shows_the_results_that_are_kept() -> None:
    kept, text = json.loads(RESULTS.read_text("utf-8")), PAGE.read_text("utf-8")
    assert not kept["quick"]
    assert page(kept, text) == text, "run python -m benchmarks.summaries --read"


def test_summaries_of_ten_billion_rows_take_less_than_a_minute_and_two_gigabytes() -> None:
    [year] = [
        each
        for each in json.loads(RESULTS.read_text("utf-8"))["drawn"]
        if 0.9e10 < each["rows"] < 1.1e10
    ]
    assert year["seconds"] < 60.0
    assert year["megabytes"] < 2000.0
