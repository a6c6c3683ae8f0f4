"""What the pages tell people to type is typed: every block of every page, in a folder of its own.

Python blocks are doctests, which pytest runs by itself. Commands run here, page by page and in
order, in an empty folder with what the Python blocks of the page write. Commands that cannot run
inside a test are listed with the reason, and what can be checked of them is.
"""

from __future__ import annotations

import ast
import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
import yaml

from likeforlike.cli import app
from tests.support.command import Called, call

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md")),
]
PYTHON, CONSOLE, OUTPUT, WORKFLOW = {"python"}, {"console", "bash"}, {"text"}, {"yaml"}

FENCE = re.compile(
    r"^(?P<margin> *)```(?P<language>[^`\n]*)\n(?P<text>.*?)^(?P=margin)```$", re.M | re.S
)
INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
# Tables for commands to read; pages and documents are what commands write themselves.
WRITES = re.compile(
    r"\.(write_csv|write_parquet|write_text|to_csv|to_parquet|mkdir|rename)\(|\bCOPY\b|\.write\(f"
)
EXTRAS = re.compile(r"likeforlike\[([\w,]+)\]")

# A sweep or a demonstration is as long as its reader wants; here a trial will do.
SHORTER = {"sweep": "--seeds 1 --epochs 2"}


class Block(NamedTuple):
    """A fenced block: language, text, and whether it follows another without a word between."""

    language: str
    text: str
    follows: bool


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found, end = [], -1
    for fence in FENCE.finditer(text):
        follows = end >= 0 and not text[end : fence.start()].strip()
        found.append(Block(fence["language"].strip(), fence["text"], follows))
        end = fence.end()
    return found


def commands(text: str) -> list[str]:
    """Commands of a block. Where some lines have a prompt, the others are output."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    prompted = [line[2:] for line in lines if line.startswith("$ ")]
    without_comment = (re.sub(r"(^|\s)#.*", "", line).strip() for line in prompted or lines)
    return [line for line in without_comment if line]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- What cannot run inside a test ----------------------------------------------------------------


def is_target(command: str) -> bool:
    """Whether every word after `make` is a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    return set(command.split()[1:]) <= targets


def has_extras(command: str) -> bool:
    """Whether all extras named are extras of the project."""
    named = {extra for found in EXTRAS.findall(command) for extra in found.split(",")}
    return named <= set(PROJECT["project"]["optional-dependencies"])


def is_module(command: str) -> bool:
    """Whether `python -m MODULE` could start, and knows the options."""
    words = command.split()
    known = manual(words[words.index("-m") + 1])
    return bool(known) and all(word in known for word in words if word.startswith("--"))


@cache
def manual(module: str) -> str:
    """What `python -m MODULE --help` says; nothing if there is no such module.

    The module is run in this process, which has imported most of what it imports.
    """
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(sys, "argv", [module, "--help"])
        try:
            with warnings.catch_warnings():
                # It says that the module is imported already; a process of its own it is not.
                warnings.simplefilter("ignore", RuntimeWarning)
                runpy.run_module(module, run_name="__main__", alter_sys=True)
        except ImportError:
            return ""
        except SystemExit as done:
            return "" if done.code else said.getvalue()
    return ""


def is_script(command: str) -> bool:
    """Whether the script is part of the project."""
    return (ROOT / command.split()[1]).is_file()


def is_call(command: str) -> bool:
    """Whether the command line has this command with these options."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    words = command.split()[1:]
    if words[:1] in ([], ["COMMAND"]):
        return True
    if words[0].startswith("--"):
        return words[0] in {"--help"} | {option for each in group.params for option in each.opts}
    known: object = group
    while isinstance(known, typer.core.TyperGroup):
        known = known.commands.get(words.pop(0)) if words else None
    if not isinstance(known, typer.core.TyperCommand):
        return False
    options = {option for parameter in known.params for option in parameter.opts} | {"--help"}
    return {word.partition("=")[0] for word in words if word.startswith("--")} <= options


def needs_nothing(command: str) -> bool:
    """Whether the command belongs to a package that the extra `dev` or `docs` brings."""
    extras = PROJECT["project"]["optional-dependencies"]
    brought = {
        re.split(r"[^\w-]", each)[0] for key in ("dev", "docs") for each in extras.get(key, [])
    }
    return Path(command.split(maxsplit=1)[0]).name in brought


class Unrun(NamedTuple):
    """Commands that begin like this are not run: why not, and what is checked instead."""

    begins: str
    reason: str
    sound: Callable[[str], bool]


NOT_RUN = [
    Unrun("make ", "builds an environment, or runs this very test", is_target),
    Unrun("pip install", "changes the environment of the tests", has_extras),
    Unrun("python -m benchmarks", "takes many minutes and wants a quiet machine", is_module),
    Unrun(
        "python -m tools", "writes into the repository, which a test of its own watches", is_module
    ),
    Unrun("python examples/", "tests/docs/test_examples.py runs it", is_script),
    Unrun("likeforlike reproduce", "takes an hour", is_call),
    Unrun(".venv/bin/pre-commit", "changes the repository", needs_nothing),
    Unrun("likeforlike app", "serves until it is stopped", is_call),
    Unrun("mkdocs ", "serves until it is stopped", needs_nothing),
]


def unrun(command: str) -> Unrun | None:
    return next((each for each in NOT_RUN if command.startswith(each.begins)), None)


# -- What runs ------------------------------------------------------------------------------------


def file_makers(sources: list[str]) -> list[str]:
    """Of the statements of a page those that write files, and those that these depend on."""
    kept: list[str] = []
    needed: set[str] = set()
    for source in reversed(sources):
        nodes = list(ast.walk(ast.parse(source)))
        bound = {node.id for node in nodes if isinstance(node, ast.Name) and _stored(node)}
        bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if WRITES.search(source) or bound & needed:
            used = {node.id for node in nodes if isinstance(node, ast.Name) and not _stored(node)}
            needed = (needed - bound) | used
            kept.append(source)
    return kept[::-1]


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def statements(text: str) -> list[str]:
    """The examples of a block that are meant to succeed."""
    examples = doctest.DocTestParser().get_examples(text)
    return [example.source for example in examples if example.exc_msg is None]


def run(command: str, folder: Path) -> Called:
    """Type a command, with `likeforlike` and `python` of this environment, 80 columns wide.

    What is `likeforlike` and nothing for a shell is called in this process.
    """
    words = shlex.split(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        if words[0] == "likeforlike" and not set("<>|&;$") & set(command):
            return call(*words[1:], cwd=folder)
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    return Called(done.returncode, done.stdout, done.stderr)


def shortened(command: str) -> str:
    words = command.split()
    more = SHORTER.get(words[1]) if words[0] == "likeforlike" and len(words) > 1 else None
    return command if more is None else f"{command} {more}"


def typed(page: Path) -> Iterator[tuple[str, str | None]]:
    """Commands of a page that can run, each with the output shown for it, if there is one."""
    nothing = Block("", "", follows=False)
    for block, following in pairwise([*blocks(page), nothing]):
        if block.language not in CONSOLE:
            continue
        runnable = [command for command in commands(block.text) if unrun(command) is None]
        shown = following.text if following.language in OUTPUT and following.follows else None
        for command in runnable:
            told = command == runnable[-1] and shortened(command) == command
            yield command, shown if told else None


def check(command: str, shown: str | None, folder: Path) -> None:
    done = run(shortened(command), folder)
    options = {"--threshold", "--policy", "--by"} & set(command.split())
    judges = bool(command.startswith("likeforlike audit") and options)
    judges = judges or command.startswith(("likeforlike compare", "likeforlike monitor"))
    fine = (0, 1, 3) if judges else (0,)
    assert done.returncode in fine, f"$ {command}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, f"$ {command}\n{done.stderr}"
    if shown is not None:
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        same = doctest.OutputChecker().check_output(shown, done.stdout, flags)
        assert same, f"$ {command}\nThe page shows\n{shown}\nand the command says\n{done.stdout}"


@pytest.mark.process
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(True for _ in typed(page))], ids=name
)
def test_commands_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    python = [block.text for block in blocks(page) if block.language in PYTHON]
    names: dict[str, object] = {}
    for source in file_makers([source for text in python for source in statements(text)]):
        exec(compile(source, name(page), "single"), names)
    for command, shown in typed(page):
        check(command, shown, tmp_path)


# -- What holds for every page --------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_run_or_read(page: Path) -> None:
    languages = [block.language for block in blocks(page)]
    assert set(languages) <= PYTHON | CONSOLE | OUTPUT | WORKFLOW | {"bibtex"}, languages
    # A fence that is not closed, or closed at another margin, would hide all that follows.
    assert page.read_text().count("```") == 2 * len(languages)


def test_steps_of_workflows_can_be_read_and_call_what_there_is() -> None:
    texts = [block.text for page in PAGES for block in blocks(page) if block.language in WORKFLOW]
    steps = [step for text in texts for step in yaml.safe_load(text)]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    for command in commands:
        assert command.startswith("likeforlike ")
        assert is_call(command), command


def test_python_blocks_are_doctests_that_pytest_runs() -> None:
    settings = PROJECT["tool"]["pytest"]["ini_options"]
    assert {"README.md", "docs"} <= set(settings["testpaths"])
    assert "--doctest-glob=*.md" in settings["addopts"]
    for page in PAGES:
        python = [block.text for block in blocks(page) if block.language in PYTHON]
        assert not python or page.name == "README.md" or ROOT / "docs" in page.parents
        for text in python:
            assert text.lstrip().startswith(">>>"), f"{name(page)}: no prompt in\n{text}"
            assert "+SKIP" not in text, f"{name(page)}: skipped\n{text}"


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_cannot_run_is_at_least_there(page: Path) -> None:
    """In blocks and in the middle of sentences."""
    text = page.read_text()
    inside = [" ".join(found.split()) for found in INLINE.findall(FENCE.sub("", text))]
    shown = [
        command
        for block in blocks(page)
        if block.language in CONSOLE
        for command in commands(block.text)
    ]
    for command in [*shown, *inside]:
        found = unrun(command)
        if found is not None:
            assert found.sound(command), f"{name(page)} names {command}"
        elif command.startswith("likeforlike "):
            assert is_call(command), f"{name(page)} names {command}"


# -- The look itself ------------------------------------------------------------------------------


def test_commands_are_told_from_comments_continuations_and_output() -> None:
    assert commands("make demo    # a page\n\nls \\\n    -l\n") == ["make demo", "ls -l"]
    assert commands("$ ls\nloans.csv\n$ cat loans.csv  # all\n") == ["ls", "cat loans.csv"]


def test_only_what_makes_files_is_run() -> None:
    page = ["import polars as pl", "x = 1", "y = x + 1", "slow = x * 2", 'pl.f(y).write_csv("a")']
    assert file_makers(page) == ["import polars as pl", "x = 1", "y = x + 1", page[-1]]


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "sound"),
    [
        ("make demo", True),
        ("make coffee", False),
        ("pip install 'likeforlike[train,duckdb]'", True),
        ("pip install 'likeforlike[tea]'", False),
        ("likeforlike reproduce --out folder", True),
        ("likeforlike reproduce --slowly", False),
        ("python examples/nothing.py", False),
        ("python -m tools.nothing", False),
    ],
)
def test_what_is_named_but_not_there_is_seen(command: str, sound: bool) -> None:
    found = unrun(command)
    assert found is not None
    assert found.sound(command) is sound


def test_options_of_the_command_itself_are_known() -> None:
    assert is_call("likeforlike --version")
    assert is_call("likeforlike --help")
    assert not is_call("likeforlike --tea")


@pytest.mark.process
def test_a_wrong_command_of_a_page_is_seen(tmp_path: Path) -> None:
    for shell in ("", "; exit 2"):
        with pytest.raises(AssertionError, match="does not exist"):
            check(f"likeforlike audit absent.csv --score f --sensitive a{shell}", None, tmp_path)
    with pytest.raises(AssertionError, match="the command says"):
        check("echo one", "two", tmp_path)


# A refused command leaves nothing behind --------------------------------------------------


def _refused_cleanly(folder: Path, *arguments: object) -> str:
    (folder / "t.csv").write_text("score,sex,debt\n" + "1,f,3\n0,m,4\n1,m,5\n0,f,6\n" * 15)
    before = set(folder.rglob("*"))
    done = call(*arguments, cwd=folder)
    assert done.returncode == 2, done
    assert set(folder.rglob("*")) == before
    return done.stderr


def test_refused_audit_leaves_no_salt(tmp_path: Path) -> None:
    roles = ["--score", "score", "--sensitive", "sex"]
    said = _refused_cleanly(
        tmp_path, "audit", "t.csv", *roles, "--salt-file", "salt", "--reference", "nobody"
    )
    assert "nobody" in said


def test_refused_sweep_leaves_no_journal(tmp_path: Path) -> None:
    roles = ["--target", "score", "--sensitive", "sex", "--feature", "debt", "--seeds", 1]
    said = _refused_cleanly(
        tmp_path, "sweep", "t.csv", *roles, "--method", "legitimate-only", "--out", "deep/results"
    )
    assert "no features" in said


@pytest.mark.parametrize("limit", ["-1", "nan", "inf"])
def test_sweep_with_no_limit_at_all_is_refused_before_it_trains(limit: str, tmp_path: Path) -> None:
    roles = ["--target", "score", "--sensitive", "sex", "--feature", "debt", "--seeds", 1]
    said = _refused_cleanly(tmp_path, "sweep", "t.csv", *roles, f"--max-disparity={limit}")
    assert "max_disparity must be a finite number of 0 or more" in " ".join(said.split())


def test_too_long_ledger_name_is_refused(tmp_path: Path) -> None:
    assert "too long" in _refused_cleanly(tmp_path, "custodian", "status", "--ledger", "x" * 300)


def test_endless_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_bytes(b"#" * 2_000_000)
    assert "too large" in _refused_cleanly(tmp_path, "audit", "t.csv", "--policy", "long.toml")
