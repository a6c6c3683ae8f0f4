"""The scripts to copy, each run from the first line to the last, in an empty folder.

The docstring of a script shows the command and what it prints. A new script is found by listing
the folder, so none can be forgotten. A script that asks something of its process (its memory, a
Java machine) gets one of its own; the others run in this one, which has imported what they import.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest
from _pytest.mark import ParameterSet

from likeforlike.training import limit_to_one_thread
from tests.support.command import Called, called

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))

# Of itself or its children, or a Java machine, which writes past Python.
OF_ITS_PROCESS = re.compile(r"^(import resource|from pyspark)", re.M)
# Java says this of a flag that Spark starts it with; no setting of Spark's reaches it.
OF_JAVA = "WARNING: Using incubator modules: jdk.incubator.vector\n"


def promised(script: Path) -> list[str]:
    """The lines that a docstring shows below the command."""
    docstring = ast.get_docstring(ast.parse(script.read_text())) or ""
    _, command, shown = docstring.partition(f"    $ python examples/{script.name}\n")
    assert command, f"{script.name} does not show how it is run"
    return textwrap.dedent(shown).splitlines()


def kept(promise: str, line: str) -> bool:
    """Whether a line is what was promised; # stands for digits."""
    return (
        re.fullmatch(re.sub("#+", r"\\d+", re.escape(promise).replace(r"\#", "#")), line)
        is not None
    )


def marked(script: Path) -> ParameterSet:
    """A script as a case of a test, which needs Java if the script needs Spark."""
    marks = [pytest.mark.java] if "pyspark" in script.read_text() else []
    return pytest.param(script, id=script.stem, marks=marks)


def run(script: Path, folder: Path) -> Called:
    """Run a script; a warning is an error."""
    if OF_ITS_PROCESS.search(script.read_text()):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Called(done.returncode, done.stdout, done.stderr)
    with limit_to_one_thread(), catch_warnings(), called(folder) as outcome:
        simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    return outcome()


@pytest.mark.training
@pytest.mark.parametrize("script", [marked(script) for script in EXAMPLES])
def test_an_example_runs_and_prints_what_it_promises(script: Path, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.removeprefix(OF_JAVA) == ""
    lines, promises = done.stdout.splitlines(), promised(script)
    assert len(promises) >= 2
    assert len(lines) == len(promises), done.stdout
    for promise, line in zip(promises, lines, strict=True):
        assert kept(promise, line), f"promised {promise!r}, printed {line!r}"
    assert not list(tmp_path.iterdir())


def test_tutorials_and_examples_know_each_other() -> None:
    named = {name for page in PAGES for name in re.findall(r"examples/(\w+\.py)", page.read_text())}
    assert named == {script.name for script in EXAMPLES}


@pytest.mark.parametrize(
    ("promise", "line", "holds"),
    [
        ("AUC 0.6##, pass", "AUC 0.654, pass", True),
        ("AUC 0.6##, pass", "AUC 0.554, pass", False),
        ("took # s (more)", "took 12 s (more)", True),
        ("took # s", "took a s", False),
        ("one", "one more", False),
    ],
)
def test_a_promise_that_is_not_kept_is_seen(promise: str, line: str, holds: bool) -> None:
    assert kept(promise, line) is holds
