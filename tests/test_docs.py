"""What pages name is there: files of the repository, files of the library, public names."""

import importlib
import re
from pathlib import Path

import pytest

import likeforlike

ROOT = Path(__file__).parents[1]
PACKAGE = Path(likeforlike.__file__).parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
CODE = re.compile(r"`([^`\n]+)`")
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples", "docs")
ROOMS = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}


def absent(code: str) -> bool:
    """Whether code names a file, or something of a package, that is not there."""
    name = code.partition("::")[0].rstrip("/")
    if re.fullmatch(r"[\w./-]+", name) and "/" in name:
        first = name.partition("/")[0]
        if first in FOLDERS:
            return not (ROOT / name).exists()
        return first in ROOMS and not (PACKAGE / name).exists()
    named = re.fullmatch(r"(?:likeforlike\.)?(\w+)\.(\w+)(?:\(.*\))?", code)
    if named is None or named[1] not in ROOMS:
        return False
    return not hasattr(importlib.import_module(f"likeforlike.{named[1]}"), named[2])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert [code for code in CODE.findall(page.read_text("utf-8")) if absent(code)] == []


@pytest.mark.parametrize(
    "code",
    ["tests/test_nothing.py", "disparity/_nothing.py", "transport.line", "likeforlike.nn.train"],
)
def test_the_look_sees_what_is_not_there(code: str) -> None:
    assert absent(code)


def test_the_look_passes_over_what_is_there() -> None:
    names = ["tests/oracles.py::parts", "disparity/_cells.py", "transport.cost", "W_p^p", "a/b"]
    assert not any(map(absent, names))
