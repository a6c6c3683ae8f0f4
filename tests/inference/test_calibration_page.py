"""The pages of the calibrations are those of the results that are kept."""

from benchmarks.calibration import kept, pages, summary


def test_the_pages_show_the_results_that_are_kept() -> None:
    for path, text in pages(kept()).items():
        assert path.read_text("utf-8") == text, "run python -m benchmarks.calibration --read"


def test_what_is_summed_up_is_what_was_promised() -> None:
    """Every promise is held in the median setting, whatever chance did to the extremes."""
    for what, meant, rates, drawn in summary(kept()):
        middle = sorted(rates)[len(rates) // 2]
        assert drawn >= 1000, what
        if meant.startswith("at most"):
            assert middle <= 0.05, what
        elif meant.startswith("at least"):
            assert middle >= 0.94, what
        else:
            assert 0.75 <= middle <= 0.85, what
