"""A pytest plugin: `--processor-time` ends a run with the processor seconds of every file.

What a test takes on a clock depends on what else the machine does. Processor seconds hardly do, and
they count the programs that a test started and waited for.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from itertools import chain

import pytest
from _pytest.terminal import TerminalReporter

NAME = "processor seconds"
_spent = 0.0


def since_last_time() -> float:
    """Processor seconds of this process and its children since the last call."""
    global _spent
    before, _spent = _spent, sum(os.times()[:4])
    return _spent - before


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-time", action="store_true", help="show the processor seconds of every file"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Set-up, call and tear-down each say what they took."""
    report = yield
    report.user_properties.append((NAME, since_last_time()))
    return report


def pytest_collection_finish() -> None:
    """What was imported to find the tests is nobody's."""
    since_last_time()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Files, then tests that took a second or more, the longest first."""
    if not terminalreporter.config.getoption("--processor-time"):
        return
    files: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        seconds = dict(getattr(report, "user_properties", ())).get(NAME, 0.0)
        files[report.nodeid.partition("::")[0]] += seconds
        tests[report.nodeid] += seconds
    terminalreporter.section(f"{files.total():.1f} {NAME}")
    longest = [(test, seconds) for test, seconds in tests.most_common() if seconds >= 1]
    for name, seconds in (*files.most_common(), *longest):
        terminalreporter.write_line(f"{seconds:8.2f}  {name}")
