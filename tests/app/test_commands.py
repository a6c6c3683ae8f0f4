"""The command that is run is the command that is shown."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from likeforlike.app._jobs import command_of, missing_choices, shell_line, words_of
from likeforlike.datasets import make_loans
from tests.support.command import call

NAMES = ["approved", "sex", "income", "debt", "tenure", "w"]
COLUMNS = [{"name": name} for name in NAMES]
FORM = {"threshold": " 5% ", "role0": "score", "role1": "sensitive", "role2": "legitimate"}
HOSTILE = [
    *("-", "--report=x", "a b", "it's", '"', "$(touch x)", "`id`", "a;b", "*", "~", "a\\b", ""),
    *("new\nline", "\u202etxt.csv", "tab\there", "\x7f\x80", "😀é", "=1+1", "a=b", "\U000e0041"),
]


def test_choices_become_options() -> None:
    form = FORM | {"role3": "bins", "role4": "smooth", "role5": "weight", "suppress": "1"}
    command = command_of("pay.csv", COLUMNS, form, {"encoding": "latin-1", "decimal": ""})
    assert shell_line(command) == (
        "likeforlike audit pay.csv --score approved --sensitive sex --legitimate income "
        "--weight w --legitimate debt --bins debt=10 --legitimate tenure --smooth tenure "
        "--threshold 5% --suppress-below 10 --encoding latin-1"
    )
    assert words_of(command)[:4] == ["audit", "pay.csv", "--score=approved", "--sensitive=sex"]


def test_what_is_missing_is_said_by_field() -> None:
    assert set(missing_choices(COLUMNS, {})) == {"score", "sensitive"}
    assert set(missing_choices(COLUMNS, FORM)) == set()
    twice = FORM | {"role3": "score", "role4": "weight", "role5": "weight"}
    assert set(missing_choices(COLUMNS, twice)) == {"score", "weight"}


def test_pay_reports_take_one_category() -> None:
    form = FORM | {"kind": "pay"}
    assert missing_choices(COLUMNS, form) == {}
    assert shell_line(command_of("staff.xlsx", COLUMNS, form, {"sheet": "2026"})) == (
        "likeforlike pay staff.xlsx --base approved --sensitive sex --category income "
        "--trigger 5% --sheet 2026"
    )
    more = form | {"role3": "variable", "role4": "hours"}
    assert missing_choices(COLUMNS, more) == {}
    assert "--variable debt --hours tenure" in shell_line(command_of("a.csv", COLUMNS, more, {}))
    for role in ("legitimate", "smooth", "weight", "sensitive"):
        assert set(missing_choices(COLUMNS, form | {"role3": role})) == {"columns"}
    assert set(missing_choices(COLUMNS, FORM | {"role3": "hours"})) == {"columns"}


@pytest.mark.process
def test_a_shell_reads_names_as_they_are() -> None:
    columns = [{"name": name} for name in HOSTILE]
    form = {f"role{place}": "legitimate" for place in range(len(HOSTILE))} | {"threshold": ""}
    line = shell_line(command_of("-x\u202e.csv", columns, form, {}))
    assert line.isprintable()
    shown = 'likeforlike() { printf "%s\\0" "$@"; }; ' + line
    done = subprocess.run(["bash", "-c", shown], capture_output=True, check=True, cwd="/")
    words = done.stdout.decode().split("\0")[:-1]
    assert words[:2] == ["audit", "./-x\u202e.csv"]
    values = [word.removeprefix("--legitimate=") for word in words[2:] if word != "--legitimate"]
    assert values == HOSTILE


def test_plain_names_are_not_quoted() -> None:
    line = shell_line(command_of("a b.csv", COLUMNS, FORM, {}))
    assert shlex.split(line)[2] == "a b.csv"
    assert "'a b.csv'" in line
    assert "$'" not in line


def test_progress_goes_to_a_program_that_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_PROGRESS", "lines")
    make_loans(300).frame.write_csv(tmp_path / "loans.csv")
    roles = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")
    done = call("audit", "loans.csv", *roles, cwd=tmp_path)
    assert done.returncode == 0
    found = [re.fullmatch(r"progress (\d+) (\d+)", line) for line in done.stderr.splitlines()]
    shares = [int(each[1]) / int(each[2]) for each in found if each is not None]
    assert len(shares) == len(found) > 10
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0
