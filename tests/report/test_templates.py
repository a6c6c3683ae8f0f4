"""Templates are compiled once, and whatever happens to what is kept, pages are the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2.environment import Environment

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.report import _page

AUDIT = lfl.audit(
    make_loans(200, gap=0.2).frame,
    score="approved",
    sensitive="sex",
    legitimate="income",
    permutations=0,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where compiled templates are kept, empty at first."""
    kept = tmp_path / "kept"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    begin = _page._CompiledTemplates.__init__

    def elsewhere(self: _page._CompiledTemplates) -> None:
        begin(self)
        self.directory = str(kept)

    monkeypatch.setattr(_page._CompiledTemplates, "__init__", elsewhere)
    yield kept
    _page.templates.cache_clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Names of templates as they are compiled."""
    names: list[str | None] = []
    compile_template = Environment.compile

    def note(
        self: Environment,
        source: str,
        name: str | None = None,
        filename: str | None = None,
    ) -> object:
        names.append(name)
        return compile_template(self, source, name, filename)

    monkeypatch.setattr(Environment, "compile", note)
    return names


def draw() -> str:
    """Write the page as another process would."""
    _page.templates.cache_clear()
    return _page.page(AUDIT.document)


def test_templates_are_compiled_once(folder: Path, compiled: list[str | None]) -> None:
    first = draw()
    assert "page.html.j2" in compiled
    assert len(list(folder.iterdir())) == len(compiled)
    compiled.clear()
    assert draw() == first
    assert compiled == []


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_what_is_damaged_is_compiled_again(
    share: float, folder: Path, compiled: list[str | None]
) -> None:
    first = draw()
    for path in folder.iterdir():
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
    compiled.clear()
    assert draw() == first
    assert "page.html.j2" in compiled


def test_a_folder_that_cannot_be_made_is_done_without(folder: Path) -> None:
    folder.write_text("a file")
    assert draw().startswith("<!doctype html>")


def test_nothing_is_kept_where_python_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert draw().startswith("<!doctype html>")
    assert not folder.exists()
