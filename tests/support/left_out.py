"""A pytest plugin: tests whose need is not met are left out by name, and nothing else is skipped.

The last line of a run counts what was left out. Where something is required, a run without it ends
before the first test.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

from tests.support.needs import NEEDS, found, needed, required

MARK = "left out"


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers; and end at once if something that is required is missing."""
    for name, need in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: needs a {need.what} or is left out")
    if hasattr(config, "workerinput"):  # the process that started this one has looked
        return
    missing = [NEEDS[name].missing for name in required(os.environ) if found(NEEDS[name]) is None]
    if missing:
        raise pytest.UsageError("\n".join(missing))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with what they need, before `-m` chooses among them."""
    for item in items:
        for name in needed(item):
            item.add_marker(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Lead a test to what it needs, or leave it out before its fixtures are made."""
    for name in needed(item):
        settings = found(NEEDS[name])
        if settings is None:
            item.user_properties.append((MARK, name))
            pytest.skip(NEEDS[name].missing)
        os.environ.update(settings)


def skipped(reporter: TerminalReporter) -> tuple[Counter[str], list[str]]:
    """How many tests were left out for what, and the names of others that did not run."""
    left_out: Counter[str] = Counter()
    others = []
    for report in (*reporter.getreports("skipped"), *reporter.getreports("xfailed")):
        name = dict(getattr(report, "user_properties", ())).get(MARK)
        if name is None:
            others.append(report.nodeid)
        else:
            left_out[str(name)] += 1
    return left_out, others


def closing_line(left_out: Counter[str]) -> str:
    """The line that says what was left out, in the order of the needs."""
    parts = [
        f"{left_out[name]} test{'s' if left_out[name] > 1 else ''}, no {need.what}"
        for name, need in NEEDS.items()
        if left_out[name]
    ]
    return f"left out: {'; '.join(parts) or 'nothing'}"


def of_this_run(config: pytest.Config) -> TerminalReporter | None:
    """Who writes to the terminal; workers have nobody."""
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    return reporter


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that skipped anything else has failed."""
    reporter = of_this_run(session.config)
    if reporter is not None and skipped(reporter)[1]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter) -> Generator[None]:
    """Say last what was left out."""
    yield
    if terminalreporter.config.option.collectonly:
        return
    left_out, others = skipped(terminalreporter)
    for name in others:
        terminalreporter.write_line(f"skipped, and nothing may be: {name}", red=True)
    terminalreporter.write_line(closing_line(left_out))
