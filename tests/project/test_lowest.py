"""The lowest versions we promise, as the job of CI that holds them reads them."""

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tools.lowest import lowest, main

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOY = {
    "dependencies": ["numpy>=2.0"],
    "optional-dependencies": {
        "one": ["torch>=2.13", "Some.Name>=1.0,<2"],
        "linux": ["xgboost-cpu>=2.1.1; sys_platform == 'linux'"],
        "all": ["likeforlike[one,linux]", "numpy>=2.0"],
        "open": ["anything"],
        "newest": ["pandas>2"],
    },
}


def test_bounds_become_constraints_and_machines_stay() -> None:
    assert lowest(TOY) == ["numpy==2.0"]
    assert lowest(TOY, ["one"]) == ["Some.Name==1.0", "numpy==2.0", "torch==2.13"]
    assert "xgboost-cpu==2.1.1; sys_platform == 'linux'" in lowest(TOY, ["linux"])


def test_extras_of_extras_are_followed_and_nothing_is_told_twice() -> None:
    assert lowest(TOY, ["all", "one"]) == lowest(TOY, ["one", "linux"])


@pytest.mark.parametrize("extra", ["open", "newest"])
def test_a_dependency_without_a_lowest_version_is_refused(extra: str) -> None:
    with pytest.raises(SystemExit, match="has no lowest version"):
        lowest(TOY, [extra])


def test_an_unknown_extra_is_refused() -> None:
    with pytest.raises(SystemExit, match="no extra 'tea'; it has one, linux"):
        lowest(TOY, ["tea"])


def test_every_dependency_of_the_project_has_one_lowest_version() -> None:
    extras = list(PROJECT["optional-dependencies"])
    versions = defaultdict(set)
    for line in lowest(PROJECT, extras):
        name, _, version = line.partition(";")[0].partition("==")
        versions[name.lower()].add(version)
    assert len(versions) > len(PROJECT["dependencies"])
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_command_prints_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train"])
    printed = capsys.readouterr().out.splitlines()
    assert printed == lowest(PROJECT, ["train"])
    assert any(line.startswith("torch==") for line in printed)
