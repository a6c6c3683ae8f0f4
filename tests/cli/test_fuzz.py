"""More than 20,000 calls with what nobody would send on purpose; `python -m tools.fuzz` makes more.

Every call succeeds or is refused in our own words. Another exception, a warning about arithmetic, a
number that is not finite or out of range, and a crash are failures; so is a call that never ends.
"""

from __future__ import annotations

import pytest

from tools.fuzz import TARGETS, auditing, commands, saving
from tools.fuzz.__main__ import main
from tools.fuzz.draw import Draw
from tools.fuzz.runner import Report, Target, run_case, run_cases

LEAST = 20_000


def test_there_are_enough_calls() -> None:
    assert sum(target.share for target in TARGETS.values()) >= LEAST


@pytest.mark.simulation
@pytest.mark.parametrize("name", TARGETS)
def test_odd_calls_are_answered_or_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "1")
    target, report = TARGETS[name], Report()
    run_cases({name: target}, {name: target.share}, report, watched=False)
    assert report.calls == target.share
    assert not report.failures, "\n".join(report.lines())
    # Calls that are all refused would try nothing.
    least = 0.5 if name in commands.TARGETS else 0.05
    assert report.done[name] >= least * target.share


# The runner itself -------------------------------------------------------------------------------


def _fails(draw: Draw) -> None:
    draw.call(int, "no number")


def _divides(draw: Draw) -> None:
    import numpy as np

    draw.call(np.divide, np.ones(1), np.zeros(1))


def _panics(draw: Draw) -> None:
    class PanicException(BaseException):
        """As engines raise it: no `Exception`."""

    def panic() -> None:
        raise PanicException("index out of bounds")

    draw.call(panic)


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (_fails, "ValueError: invalid literal"),
        (_divides, "RuntimeWarning: divide"),
        (_panics, "PanicException: index"),
    ],
)
def test_foreign_errors_panics_and_arithmetic_are_failures(run: object, error: str) -> None:
    report = Report()
    run_case("toy:1", Target(run, 1), report)  # type: ignore[arg-type]  # what a target calls
    [failure] = report.failures
    assert failure.error.startswith(error)
    assert failure.case == "toy:1"
    assert failure.calls
    assert "1 times" in "\n".join(report.lines())


def test_a_column_that_makes_an_engine_panic_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As engines raise it: no `Exception`."""

    def panic(_: object) -> object:
        raise PanicException("not implemented")

    monkeypatch.setattr(auditing, "_TABLES", (panic,))
    report = Report()
    for number in range(20):
        run_case(f"audit:{number}", TARGETS["audit"], report)
    assert not report.failures, "\n".join(report.lines())


def test_a_seed_that_scikit_learn_refuses_is_refused() -> None:
    from sklearn.utils import check_random_state

    report = Report()
    run_case(
        "toy:1",
        Target(lambda draw: draw.call(check_random_state, -1), 1, scikit_learn=True),
        report,
    )
    assert (report.failures, report.refused["toy"]) == ([], 1)


def test_a_call_does_not_depend_on_those_before() -> None:
    odd, report = repr(saving._ODD), Report()
    run_cases(
        {"saved models": TARGETS["saved models"]}, {"saved models": 1500}, report, watched=False
    )
    assert repr(saving._ODD) == odd
    assert not report.failures


@pytest.mark.parametrize(
    "case",
    [
        "Cells.from_counts:53808",  # groups without a length
        "cdd_lp:205738",  # weights of which one is less than numbers reach of another
        "audit:20303",  # a structure, which pandas cannot filter
        "audit:21549",  # levels that are complex numbers
        "audit:23538",  # clusters, and a group in no level that is compared
        "ConditionalBarycenter:43947",  # scores whose variance is next to none
        "estimators:4103",  # groups of which one is an array
        "trees:4328",  # a regularization without end
        "trees:20482",  # raw scores beyond numbers
    ],
)
def test_odd_input_is_no_failure_of_the_library(case: str) -> None:
    report = Report()
    run_case(case, TARGETS[case.partition(":")[0]], report)
    assert not report.failures, "\n".join(report.lines())


def test_a_call_can_be_made_once_more(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "dd:7"]) == 0
    assert main(["--calls", "0.001", "--only", "dd", "--reasons"]) == 0
    assert capfd.readouterr().out.count("\ndd ") == 2
