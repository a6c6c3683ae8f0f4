"""A command that fails says so in a line and with an exit code that is no verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from likeforlike.datasets import load_loans
from tests.support.command import call

ROLES = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")
COMMAND = [sys.executable, "-m", "likeforlike"]


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    load_loans(400).frame.write_csv(path)
    return path


@contextmanager
def broken_by(error: BaseException) -> Iterator[None]:
    """While this is open, whoever asks whether a file exists gets an error nobody expects."""

    def broken(*_: object) -> bool:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "exists", broken)
        yield


@pytest.mark.parametrize("error", [RuntimeError, EOFError, MemoryError, KeyError, AssertionError])
def test_what_nobody_expected_is_a_line_and_exit_code_70(
    error: type[Exception], loans: Path
) -> None:
    with broken_by(error("something\nin two lines \x1b[31m")):
        done = call("audit", loans, *ROLES, "--threshold", 0.5)
    assert done.returncode == 70
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"likeforlike: unexpected error: {error.__name__}: ")
    assert "something" in done.stderr
    assert "\x1b" not in done.stderr
    assert "--debug shows where" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("before", [True, False])
def test_debug_shows_where_an_error_came_from(before: bool, loans: Path) -> None:
    debug: list[str] = ["--debug"]
    with broken_by(RuntimeError("something")):
        done = call(*debug * before, "audit", loans, *ROLES, *debug * (not before))
    assert done.returncode == 70
    assert "Traceback" in done.stderr
    assert "in broken" in done.stderr


def test_a_panic_inside_an_engine_is_no_verdict(loans: Path) -> None:
    class PanicException(BaseException):
        """As engines written in Rust raise it."""

    with broken_by(PanicException("index out of bounds")):
        assert call("audit", loans, *ROLES).returncode == 70


def test_an_interrupt_is_130(loans: Path) -> None:
    with broken_by(KeyboardInterrupt()):
        done = call("audit", loans, *ROLES)
    assert done.returncode == 130
    assert done.stderr == "likeforlike: interrupted; nothing more was written.\n"


def started(arguments: list[Any], cwd: Path, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], cwd=cwd, text=True, stderr=subprocess.PIPE, **settings
    )


# What prints a lot, what prints a little, and what prints JSON.
PRINTING: list[list[Any]] = [
    ["schema"],
    ["--help"],
    ["audit", "loans.csv", *ROLES, "--permutations", 9, "--threshold", 0.5],
    ["audit", "loans.csv", *ROLES, "--permutations", 9, "--json", "-"],
]


@pytest.mark.process
@pytest.mark.parametrize("arguments", PRINTING, ids=lambda each: " ".join(map(str, each[::9])))
def test_full_disk_is_an_error_and_closed_pipe_is_none(arguments: list[Any], loans: Path) -> None:
    with Path("/dev/full").open("w") as full:
        on_full = started(arguments, loans.parent, stdout=full)
    in_pipe = started(arguments, loans.parent, stdout=subprocess.PIPE)
    assert in_pipe.stdout is not None
    in_pipe.stdout.close()
    said = on_full.communicate(timeout=300)[1]
    assert on_full.returncode == 70, said
    assert said.splitlines()[-1] == "likeforlike: cannot go on: No space left on device."
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    said = in_pipe.communicate(timeout=300)[1]
    assert in_pipe.returncode == 0, said
    assert not any(word in said for word in ("likeforlike:", "Traceback", "Exception ignored"))


@pytest.mark.process
def test_verdict_is_the_exit_code_of_a_closed_pipe(loans: Path) -> None:
    arguments = ["audit", "loans.csv", *ROLES, "--permutations", 9, "--threshold", 0.1]
    process = started(arguments, loans.parent, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate(timeout=300)[1] == ""
    assert process.returncode == 3


@pytest.mark.process
def test_results_are_written_even_if_nobody_reads_what_is_printed(loans: Path) -> None:
    arguments = ["audit", "loans.csv", *ROLES, "--permutations", 9, "--report", "page.html"]
    process = started(arguments, loans.parent, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    process.communicate(timeout=300)
    assert (loans.parent / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.process
def test_letters_that_a_terminal_lacks_are_shown_by_their_number(loans: Path) -> None:
    import os

    loans.write_text(loans.read_text().replace("female", "žena"))
    done = subprocess.run(
        [*COMMAND, "audit", "loans.csv", *ROLES, "--permutations", "9"],
        cwd=loans.parent,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert r'between "male" and "\u017eena"' in " ".join(done.stdout.split())


def test_an_infinite_level_is_a_level(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "x.parquet"
    table = {
        "s": [0.1, 0.2, 0.3, 0.4] * 10,
        "g": ["f", "m"] * 20,
        "l": [1.0, 1.0, 1e999, 1e999] * 10,
    }
    pl.DataFrame(table).write_parquet(path)
    done = call("audit", path, "--score", "s", "--sensitive", "g", "--legitimate", "l")
    assert done.returncode == 0, done.stderr
    assert "l inf" in done.stdout


def test_two_sensitive_columns_are_not_taken_for_the_last(loans: Path) -> None:
    roles = ("--sensitive", "sex", "--sensitive", "income")
    refused = call("sweep", loans, "--target", "approved", *roles)
    assert refused.returncode == 2
    assert "--sensitive takes one column, not 2" in refused.stderr
    both = call("audit", loans, "--score", "approved", *roles, "--permutations", 9, "--json", "-")
    document = json.loads(both.stdout)
    assert both.returncode == 0
    assert document["roles"]["sensitive"] == "sex"
    assert document["roles"]["also_sensitive"] == ["income"]
    alone = {tuple(each["columns"]) for each in document["contrasts"]}
    assert {("sex",), ("income",)} <= alone


def test_settings_of_an_audit_are_options_of_the_command(loans: Path) -> None:

    options = ("--measure", "uniform", "--confidence", 0.9, "--adjustment", "bh")
    done = call("audit", loans, *ROLES, *options, "--permutations", 9, "--json", "-")
    settings = json.loads(done.stdout)["settings"]
    assert (settings["measure"], settings["confidence"]) == ("uniform", 0.9)
    assert settings["adjustment"] == "bh"
    for option, value, message in (
        ("--measure", "x", "measure must be one of"),
        ("--adjustment", "x", "adjustment must be one of"),
        ("--confidence", "95", "confidence must lie between 0 and 1"),
    ):
        done = call("audit", loans, *ROLES, option, value, "--permutations", 0)
        assert done.returncode == 2
        assert message in done.stderr


def test_bins_can_be_cut_where_one_says(tmp_path: Path) -> None:

    path = tmp_path / "x.csv"
    rows = [f"{k % 7},{'fm'[k % 2]},{k // 2 % 60}" for k in range(600)]
    path.write_text("\n".join(["score,sex,age", *rows]))
    options = ("--score", "score", "--sensitive", "sex", "--legitimate", "age", "--json", "-")
    done = call("audit", path, *options, "--bins", "age=20,40.5", "--permutations", 0)
    document = json.loads(done.stdout)
    assert document["data"]["edges"] == {"age": [20.0, 40.5]}
    names = {level["name"] for level in document["contrasts"][0]["levels"]}
    assert names == {"age up to 20", "age above 20 up to 40.5", "age above 40.5"}
    for wrong in ("age", "age=", "age=a,b", "age=1,,2"):
        done = call("audit", path, *options, "--bins", wrong)
        assert done.returncode == 2
        assert (
            "--bins must look like COLUMN=10, COLUMN=20000,40000 or, for dates, COLUMN=month"
            in done.stderr
        )
