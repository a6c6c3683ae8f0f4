"""What a test needs is seen; what cannot be had is left out by name; nothing else is skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.needs import NEEDS, required

ROOT = Path(__file__).parents[2]
# A repository with the needs of this one, each of which is there or is not.
CONFTEST = """
from dataclasses import replace
from tests.support.needs import NEEDS

for name, need in NEEDS.items():
    NEEDS[name] = replace(need, find=lambda: {found})
pytest_plugins = ["tests.support.left_out"]
"""
TESTS = """
import os
import pytest

def test_nothing_is_needed(): ...

@pytest.mark.browser
def test_a_marker(): ...

@pytest.fixture(scope="module")
def browser():
    assert os.environ["LED"] == "there"

def test_a_fixture(browser): ...

@pytest.mark.parametrize("name", [
    "adult", pytest.param("law_school", marks=pytest.mark.law_school)
])
def test_a_case(name):
    assert name == "adult" or os.environ["LED"] == "there"
"""
PAGE = """
    >>> import os; "pyspark needs Java", os.environ["LED"]
    ('pyspark needs Java', 'there')
"""
SKIPS = """
import pytest

def test_that_runs(): ...

def test_that_skips():
    pytest.skip("I would rather not")

@pytest.mark.xfail
def test_that_may_fail():
    raise ValueError
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest somewhere, with nothing required but what `environment` says."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    options = ("--strict-markers", "--doctest-glob=*.md", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env={**os.environ, "LIKEFORLIKE_REQUIRE": "", "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def put_needs(folder: Path, *, found: str = "None") -> None:
    """Settings of a repository where all that is outside is `found`."""
    (folder / "conftest.py").write_text(CONFTEST.format(found=found))


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "page.md").write_text(PAGE)
    put_needs(tmp_path)
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_missing_is_left_out_and_counted(tests: Path, workers: str) -> None:
    done = run(tests, "-rs", "--numprocesses", workers)
    assert done.returncode == 0, done.stdout
    *_, closing, result = done.stdout.splitlines()
    assert closing == (
        "left out: 2 tests, no browser; 1 test, no Java runtime; 1 test, no Law School data"
    )
    assert "2 passed, 4 skipped" in result
    for need in NEEDS.values():
        assert f"no {need.what}: {need.bring}" in done.stdout


@pytest.mark.process
def test_what_is_there_is_used(tests: Path) -> None:
    put_needs(tests, found='{"LED": "there"}')
    done = run(tests)
    assert done.returncode == 0, done.stdout
    *_, closing, result = done.stdout.splitlines()
    assert closing == "left out: nothing"
    assert "6 passed" in result


@pytest.mark.process
def test_what_is_required_and_missing_ends_the_run_at_once(tests: Path) -> None:
    done = run(tests, LIKEFORLIKE_REQUIRE="browser,law_school")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stdout == ""
    assert [line.removeprefix("ERROR: ") for line in done.stderr.split("\n") if line] == [
        NEEDS["browser"].missing,
        NEEDS["law_school"].missing,
    ]


@pytest.mark.process
def test_any_other_skip_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('nothing_here')\n")
    put_needs(tmp_path)
    done = run(tmp_path)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    *lines, closing, result = done.stdout.splitlines()
    assert lines[-3:] == [
        "skipped, and nothing may be: test_module.py",
        "skipped, and nothing may be: test_skips.py::test_that_skips",
        "skipped, and nothing may be: test_skips.py::test_that_may_fail",
    ]
    assert closing == "left out: nothing"
    assert "1 passed, 2 skipped, 1 xfailed" in result


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({}, []),
        ({"CI": "false"}, []),
        ({"CI": "true"}, ["browser", "java", "law_school"]),
        ({"LIKEFORLIKE_REQUIRE": "all"}, ["browser", "java", "law_school"]),
        ({"LIKEFORLIKE_REQUIRE": "java, browser"}, ["java", "browser"]),
        ({"LIKEFORLIKE_REQUIRE": "java", "CI": "true"}, ["java"]),
        ({"LIKEFORLIKE_REQUIRE": "", "CI": "true"}, []),
    ],
)
def test_what_is_required(environment: dict[str, str], names: list[str]) -> None:
    assert required(environment) == names


def test_an_unknown_need_cannot_be_required() -> None:
    with pytest.raises(pytest.UsageError, match=r"some of browser, java, law_school .* not 'jav'"):
        required({"LIKEFORLIKE_REQUIRE": "jav"})


@pytest.mark.process
def test_examples_are_seen_to_need_something() -> None:
    spark, law_school = "docs/scale.md", "src/likeforlike/datasets/_public.py"
    found = run(
        ROOT,
        *("--collect-only", "-q", "--doctest-modules", "-m", "java or law_school"),
        *(spark, law_school, "docs/index.md", "src/likeforlike/datasets/_loans.py"),
    )
    assert found.returncode == 0, found.stdout
    assert [line for line in found.stdout.splitlines() if "::" in line] == [
        f"{spark}::scale.md",
        f"{law_school}::likeforlike.datasets._public.load_law_school",
    ]


def test_the_quick_lane_leaves_out_every_kind_that_takes_long() -> None:
    makefile = (ROOT / "Makefile").read_text()
    left_out = re.findall(r"^SLOW +:= (.*)$", makefile, re.MULTILINE)[0].split(" or ")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    kinds = [line.partition(":")[0] for line in project["tool"]["pytest"]["ini_options"]["markers"]]
    assert left_out == sorted([*kinds, "browser", "java"])


def test_long_files_come_first_for_workers_too(pytestconfig: pytest.Config) -> None:
    """By default pytest-xdist begins with the files that have the most tests, however short."""
    assert pytestconfig.getoption("loadscopereorder") is False


def test_no_example_is_skipped() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert [page.name for page in pages if "doctest: +SKIP" in page.read_text("utf-8")] == []
