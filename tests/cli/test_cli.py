"""The command line: in a process of its own where that matters, else called as one would."""

from __future__ import annotations

import html
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import available, load_loans, make_loans
from likeforlike.datasets._public import LAW_SCHOOL
from tests.support.command import call
from tests.support.schema import read_audit

pytestmark = pytest.mark.process

COMMAND = [sys.executable, "-m", "likeforlike"]


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
    )


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    load_loans(1000).frame.write_csv(path)
    return path


ROLES = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")


FINDING = "Women are approved less often than men with the same income: 20 points"


def test_demo_audits_then_trains_and_writes_one_document_twice(tmp_path: Path) -> None:
    done = run("demo", "--json", "demo.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said = " ".join(done.stdout.split())
    assert FINDING in said
    assert "Simpson's paradox" in said
    page = (tmp_path / "loans.html").read_text()
    document = read_audit((tmp_path / "demo.json").read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"loans.html", "demo.json"}
    for sentence in (document["finding"]["headline"], *document["finding"]["sentences"]):
        assert " ".join(sentence.split()) in said
        assert sentence in html.unescape(page)
    rows = [
        line for line in done.stdout.splitlines() if line.startswith(("│ no penalty", "│ limit"))
    ]
    gaps = [float(row.split("│")[3]) for row in rows]
    assert len(gaps) == 2
    assert abs(gaps[1]) < 0.5 * abs(gaps[0])
    assert "fair" not in said.replace("FairLeap", "").lower()


WITHOUT = """
import sys
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def hidden(name, path=None, target=None):
    return None if name.partition(".")[0] == sys.argv[1] else real(name, path, target)
PathFinder.find_spec = hidden
from likeforlike.cli import app
app(sys.argv[2:])
"""


@pytest.mark.parametrize("lacking", ["torch", "sklearn"])
def test_demo_without_the_extra_audits_and_says_what_brings_the_rest(
    lacking: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, lacking, "demo", "--json", "-"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert FINDING in " ".join(done.stderr.split())
    (line,) = (line for line in done.stderr.splitlines() if lacking in line)
    assert line == (
        f"No model was trained: {lacking} is not installed; pip install 'likeforlike[train]' "
        "brings it."
    )
    read_audit(done.stdout)
    page = (tmp_path / "loans.html").read_text()
    assert "What training can do about it" not in page
    assert FINDING in page


def test_an_interrupted_demo_leaves_no_page(tmp_path: Path) -> None:
    """Stopped as soon as the bar of the training is seen."""
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "demo"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
        cwd=tmp_path,
    ) as process:
        os.close(slave)
        seen = b""
        while b"training" not in seen and (chunk := _read(master)):
            seen += chunk
        process.send_signal(signal.SIGINT)
        while chunk := _read(master):
            seen += chunk
        said = process.stdout.read() if process.stdout else b""
    assert b"training" in seen
    assert process.returncode == 130
    assert b"interrupted; nothing more was written." in seen
    assert FINDING in " ".join(said.decode().split())
    assert list(tmp_path.iterdir()) == []


# Interrupts at moments that nobody can hit by waiting: before the commands are there, and in text
# that is run, as that of a dataclass is, after which `python -m` would end by the signal itself.
WHILE_IMPORTING = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
"""
WHILE_TEXT_RUNS = """
from likeforlike import datasets
datasets.load_loans = lambda _: exec("raise KeyboardInterrupt")
"""


@pytest.mark.parametrize("moment", [WHILE_IMPORTING, WHILE_TEXT_RUNS])
def test_an_interrupt_at_any_moment_ends_with_its_exit_code(moment: str, tmp_path: Path) -> None:
    (tmp_path / "started.py").write_text(f"{moment}\nfrom likeforlike.cli import main\nmain()\n")
    done = subprocess.run(
        [sys.executable, "-m", "started", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "loans.html").exists()


@pytest.mark.parametrize("option", ["--report", "--json"])
def test_demo_refuses_a_place_it_cannot_write_before_it_works(option: str, tmp_path: Path) -> None:
    done = call("demo", option, "/nowhere/file", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "cannot be written: no folder /nowhere" in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_datasets_are_listed_with_where_they_are_and_on_what_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LIKEFORLIKE_DATA": "", "LIKEFORLIKE_CACHE": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("COLUMNS", "200")
    done = call("datasets")
    assert done.returncode == 0, done.stderr
    cells = [
        [cell.strip() for cell in line.strip("│┃").split("│" if "│" in line else "┃")]
        for line in done.stdout.splitlines()
        if line[:1] in ("│", "┃")
    ]
    assert cells[0] == ["name", "rows", "size", "state", "license"]
    assert ["drug", "1,885", "0.3 MB", "with the package", "CC BY 4.0"] in cells
    assert ["law_school", "21,027", "3.6 MB", "to be fetched", LAW_SCHOOL.license] in cells
    assert [row[0] for row in cells[1:]] == [found.name for found in available()]
    assert list(tmp_path.iterdir()) == []


def test_brackets_in_messages_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    load_loans(100).frame.write_csv(path)
    done = call("audit", path, "--score", "[bold]", "--sensitive", "sex")
    assert done.returncode == 2
    assert "no column '[bold]'" in " ".join(done.stderr.split())


@pytest.mark.parametrize(("threshold", "code"), [(0.5, 0), (0.05, 1), (0.2, 3)])
def test_exit_codes_for_pipelines(loans: Path, threshold: float, code: int) -> None:
    done = (run if code else call)("audit", loans, *ROLES, "--threshold", threshold)
    assert done.returncode == code, done.stderr
    assert f"Threshold {threshold:g}" in done.stdout


def test_json_to_standard_output_is_only_json(loans: Path) -> None:
    done = run("audit", loans, *ROLES, "--permutations", 99, "--json", "-")
    assert done.returncode == 0
    document = read_audit(done.stdout)
    assert document["contrasts"][0]["groups"] == ["female", "male"]
    assert "with the same income" in done.stderr


def test_page_and_json_are_written(loans: Path, tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "audit.json"
    done = call("audit", loans, *ROLES, "--permutations", 99, "--report", page, "--json", data)
    assert done.returncode == 0
    assert read_audit(data.read_text())["finding"]["headline"] in page.read_text()
    assert str(page) in done.stdout.replace("\n", "")


def read_by(engine: str, folder: Path) -> None:
    """Check that an engine reads a file for the command line."""
    path = folder / "loans.parquet"
    make_loans(2000).frame.write_parquet(path)
    roles = ("--score", "score", "--sensitive", "sex", "--legitimate", "income")
    settings = ("--permutations", 49, "--resolution", 0.01, "--json", "-", "--engine", engine)
    done = call("audit", path, *roles, *settings)
    assert done.returncode == 0, done.stderr
    document = read_audit(done.stdout)
    assert document["data"]["used"] == 2000
    assert document["contrasts"][0]["conditional"]["value"] == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_every_engine_reads_the_file(engine: str, tmp_path: Path) -> None:
    read_by(engine, tmp_path)


def test_bins_are_taken_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    make_loans(2000).frame.write_csv(path)
    done = call(
        *("audit", path, "--score", "score", "--sensitive", "sex", "--legitimate", "debt"),
        *("--bins", "debt=4", "--permutations", 49, "--json", "-"),
    )
    assert done.returncode == 0, done.stderr
    assert len(read_audit(done.stdout)["data"]["edges"]["debt"]) == 3


BAD_CALLS: list[tuple[tuple[str, ...], str]] = [
    (("--score", "nothing"), "no column 'nothing'; the table has"),
    (("--score", "income", "--legitimate", "approved"), "column 'income' must hold numbers"),
    (("--sensitive", "constant"), "has the single value"),
    (("--sensitive", "id"), "different values in 1000 rows"),
    (("--engine", "pandas"), "--engine must be auto, polars, duckdb or spark"),
    (("--bins", "income"), "--bins must look like COLUMN=10"),
    (("--report", "/nowhere/page.html"), "cannot be written: no folder /nowhere"),
    (("--json", "/nowhere/a.json"), "cannot be written: no folder /nowhere"),
    (("--threshold", "-1"), "threshold must be a finite number of 0 or more"),
    (("--permutations", "-5"), "permutations must lie between 0 and 10,000,000"),
]


@pytest.mark.parametrize(("change", "message"), BAD_CALLS)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    change: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    frame = load_loans(1000).frame.with_columns(
        pl.lit("x").alias("constant"), pl.int_range(pl.len()).alias("id")
    )
    path = tmp_path / "loans.csv"
    frame.write_csv(path)
    given = dict(zip(change[::2], change[1::2], strict=True))
    options = {
        "--score": "approved",
        "--sensitive": "sex",
        "--legitimate": "income",
        "--permutations": "99",
        **given,
    }
    done = call("audit", path, *(part for option in options.items() for part in option))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == [path]


def test_unreadable_files_are_one_clear_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing")
    for path, message in (
        (broken, "cannot be read"),
        (tmp_path / "absent.csv", "does not exist"),
        (tmp_path / "loans.doc", "must end in .csv or .tsv"),
    ):
        done = call("audit", path, *ROLES)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_an_interrupt_stops_a_permutation_run_at_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "many.parquet"
    pl.DataFrame(
        {"f": rng.random(500_000), "a": np.arange(500_000) % 2, "l": rng.integers(0, 20, 500_000)}
    ).write_parquet(path)
    page = tmp_path / "page.html"
    arguments = [
        *(*COMMAND, "audit", str(path), "--score", "f", "--sensitive", "a", "--legitimate", "l"),
        *("--permutations", "1000000", "--report", str(page)),
    ]
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(slave)
        seen = b""
        # The bar says that permutations have begun, which alone would take hours.
        while b"resampling" not in seen and (chunk := _read(master)):
            seen += chunk
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        while chunk := _read(master):
            seen += chunk
        # Hours of work are left; even a crowded machine drops them within this time.
        process.wait(timeout=20)
    assert process.returncode == 130
    assert b"likeforlike: interrupted; nothing more was written." in seen
    assert not page.exists()


def test_a_terminal_gets_a_progress_bar_and_a_pipe_gets_none(loans: Path) -> None:
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "audit", str(loans), *ROLES, "--permutations", "3000"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(slave)
        seen = b""
        while chunk := _read(master):
            seen += chunk
    assert process.returncode == 0
    assert b"resampling" in seen
    assert run("audit", loans, *ROLES, "--permutations", 99).stderr == ""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1024)
    except OSError:  # the other side has gone
        return b""


def test_it_says_which_version_it_is() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"likeforlike {lfl.__version__}\n")


def test_spark_without_java_says_what_to_install(loans: Path, tmp_path: Path) -> None:
    bare = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [*COMMAND, "audit", str(loans), *ROLES, "--engine", "spark"],
        capture_output=True,
        text=True,
        check=False,
        env={**bare, "PATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert "install Java 17" in " ".join(done.stderr.split())


def test_two_columns_of_scores_are_refused(loans: Path) -> None:
    """Of several the last won, and no word was said of the others."""
    refused = run("audit", loans, *ROLES, "--score", "income")
    assert refused.returncode == 2
    assert "--score takes one column, not 2; audit each of them by itself." in refused.stderr
