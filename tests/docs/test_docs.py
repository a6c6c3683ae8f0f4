"""What pages name is there: files of the repository, files of the library, public names."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import likeforlike

ROOT = Path(__file__).parents[2]
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
    package = importlib.import_module(f"likeforlike.{named[1]}")
    found = getattr(package, named[2], None)
    return named[2] not in dir(package) and not isinstance(found, ModuleType)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert [code for code in CODE.findall(page.read_text("utf-8")) if absent(code)] == []


@pytest.mark.parametrize(
    "code",
    [
        "tests/test_nothing.py",
        "disparity/_nothing.py",
        "transport.line",
        "likeforlike.training.train",
    ],
)
def test_the_look_sees_what_is_not_there(code: str) -> None:
    assert absent(code)


def test_the_look_passes_over_what_is_there() -> None:
    names = [
        "tests/support/oracles.py::parts",
        "disparity/_cells.py",
        "transport.cost",
        "W_p^p",
        "a/b",
    ]
    assert not any(map(absent, names))


# What was measured, setting by setting: to look something up, not to be read from end to end.
APPENDICES = ("reference", "reproduction", "calibration")
READ = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.relative_to(ROOT / "docs").parts[0] not in APPENDICES
]
LONGEST = 3_000


def words(page: Path) -> int:
    """How many words a page has; what has neither letter nor digit is none, as lines of tables."""
    return sum(any(map(str.isalnum, word)) for word in page.read_text("utf-8").split())


@pytest.mark.parametrize("page", READ, ids=lambda page: page.stem)
def test_a_page_is_short_enough_to_be_read(page: Path) -> None:
    assert words(page) <= LONGEST


def test_words_are_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two words\n\n| a table | of 5 |\n|---|---|\n", "utf-8")
    assert words(page) == 6
    assert len(READ) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    blocks = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for block in re.findall(r"(?:^\|.*\n)+", blocks, re.MULTILINE):
        rows = [re.sub(r"`[^`]*`|\\\|", "", row).count("|") for row in block.splitlines()]
        assert len(set(rows)) == 1, block
