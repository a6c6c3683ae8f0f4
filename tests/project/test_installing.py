"""One way to install, told everywhere: `pip install likeforlike`, or with extras in quotes.

It works from PyPI, and it works after `pip install .` in a clone, since pip then finds the package
in place and adds what the extra lacks.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
)
# The two places that say how to begin in a clone.
CLONE = {"README.md", "docs/index.md"}
INSTALL = re.compile(r"pip install\s+(?P<what>'[^'`]*'|[^\s`,;]+)")
NAMED = re.compile(r"likeforlike|'likeforlike\[(?P<extras>[\w,]+|\{name\})\]'")


def files() -> Iterator[Path]:
    """What users read: pages, scripts to copy and the messages of the library."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from sorted((ROOT / "examples").rglob("*.py"))
    yield from sorted((ROOT / "src").rglob("*.py"))


def complaints(text: str, *, clone: bool) -> list[str]:
    """What follows `pip install` and is not in the one form."""
    wrong = []
    for found in INSTALL.finditer(text):
        what = " ".join(found["what"].split())
        named = NAMED.fullmatch(what)
        if named is None:
            if not (clone and what == "."):
                wrong.append(what)
        elif (
            named["extras"] not in (None, "{name}")
            and not set(named["extras"].split(",")) <= EXTRAS
        ):
            wrong.append(what)
    return wrong


@pytest.mark.parametrize("path", [*files()], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_install_line_has_the_one_form(path: Path) -> None:
    clone = path.relative_to(ROOT).as_posix() in CLONE
    assert complaints(path.read_text("utf-8"), clone=clone) == []


def test_install_lines_are_found_where_they_are() -> None:
    telling = {path.relative_to(ROOT).as_posix() for path in files() if INSTALL.search(_text(path))}
    assert CLONE | {"src/likeforlike/_lazy.py", "docs/scale.md"} <= telling
    for place in CLONE:
        assert [found["what"] for found in INSTALL.finditer(_text(ROOT / place))].count(".") == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`pip install likeforlike`.", []),
        ("`pip install\n'likeforlike[train,duckdb]'`", []),
        ("`pip install .`", ["."]),
        ("`pip install '.[train]'`", ["'.[train]'"]),
        ("pip install likeforlike[train]", ["likeforlike[train]"]),
        ("pip install 'likeforlike[tea]'", ["'likeforlike[tea]'"]),
        ('pip install "likeforlike[train]"', ['"likeforlike[train]"']),
        ("pip install torch", ["torch"]),
    ],
)
def test_another_form_is_seen(text: str, wrong: list[str]) -> None:
    assert complaints(text, clone=False) == wrong


def _text(path: Path) -> str:
    return path.read_text("utf-8")
