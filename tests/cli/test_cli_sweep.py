"""`likeforlike sweep`: goes on where it was, keeps what it is asked to, stops at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import make_loans
from tests.cli.test_cli import COMMAND
from tests.support.command import call


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    make_loans(200).frame.drop("score").write_csv(path)
    return path


@pytest.mark.training
def test_a_sweep_of_ones_own_file_goes_on_where_it_was(tmp_path: Path) -> None:
    path, out = tmp_path / "loans.csv", tmp_path / "out"
    make_loans(600, gap=0.2).frame.drop("score").write_csv(path)
    arguments = [
        *("sweep", path, "--target", "approved", "--sensitive", "sex", "--legitimate", "income"),
        *("--seeds", 2, "--epochs", 2, "--method", "none", "--method", "fairleap"),
        *("--strength", 1, "--out", out),
    ]
    done = call(*arguments)
    assert done.returncode == 0, done.stderr
    assert "FairLeap" in done.stdout
    assert not done.stderr
    assert pl.read_csv(out / "runs.csv").height == 4
    journal = (out / "journal.jsonl").read_bytes()
    again = call(*arguments, "--max-disparity", 1)
    assert (out / "journal.jsonl").read_bytes() == journal
    assert "Best within 1:" in again.stdout


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--target", "nothing"), "there is no column 'nothing'"),
        (("--target", "approved", "--method", "magic"), "there is no method 'magic'"),
        (("--target", "approved", "--strength", "-1"), "strengths must be numbers of 0 or more"),
        (
            ("--target", "approved", "--strength", "much"),
            "--strength takes a number, or METHOD=NUMBER",
        ),
        (
            ("--target", "approved", "--strength", "dcfr=1"),
            "'dcfr', which is not among the methods",
        ),
        (("--target", "approved", "--smooth", "sex"), "smooth names 'sex', which is"),
        (
            (
                "--target",
                "approved",
                "--method",
                "barycenter",
                "--model",
                "m",
                "--max-disparity",
                "1",
            ),
            "'barycenter' is more than a network, so it cannot be kept as one",
        ),
    ],
)
def test_a_sweep_with_bad_arguments_leaves_nothing_behind(
    loans: Path, tmp_path: Path, wrong: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "out"
    done = call("sweep", loans, "--sensitive", "sex", "--out", out, *wrong)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not out.exists()


@pytest.mark.training
def test_methods_have_strengths_of_their_own_and_the_papers_have_names(tmp_path: Path) -> None:
    path, out = tmp_path / "loans.csv", tmp_path / "out"
    make_loans(600, gap=0.2).frame.drop("score").write_csv(path)
    done = call(
        *("sweep", path, "--target", "approved", "--sensitive", "sex", "--legitimate", "income"),
        *("--seeds", 1, "--epochs", 8, "--method", "none", "--method", "fairleap"),
        *("--method", "dcfr", "--method", "paper-fairleap-uniform-entropic", "--out", out),
        *("--strength", 1, "--strength", "dcfr=0.1,5"),
    )
    assert done.returncode == 0, done.stderr
    runs = pl.read_csv(out / "runs.csv")
    by_method = {name: own["strength"].to_list() for (name,), own in runs.group_by("method")}
    assert by_method["FairLeap"] == [1.0]
    assert by_method["DCFR"] == [0.1, 5.0]
    assert len(by_method["FairLeap, uniform, entropic"]) == 10
    assert {"levels", "coverage", "baseline", "w2sq_marginal"} <= set(runs.columns)
    said = " ".join(done.stdout.split())
    assert "120 test rows per split; at least 100% of every group was compared, in 5 levels" in said


@pytest.mark.training
def test_salaries_are_learned_and_the_table_fits_a_terminal(tmp_path: Path) -> None:
    path, out = tmp_path / "pay.csv", tmp_path / "out"
    loans = make_loans(1500, gap=0.2).frame
    score = (pl.col("score") - pl.col("score").mean()) / pl.col("score").std()
    loans.with_columns(salary=45_000 + 18_000 * score).drop("score", "approved").write_csv(path)
    done = call(
        *("sweep", path, "--target", "salary", "--sensitive", "sex", "--legitimate", "income"),
        *("--seeds", 2, "--epochs", 60, "--method", "none", "--method", "legitimate-only"),
        *("--method", "repair", "--method", "barycenter", "--out", out),
    )
    assert done.returncode == 0, done.stderr
    assert "worse than a constant" not in done.stdout
    means = pl.read_csv(out / "means.csv")
    assert (means["performance"] < means["baseline"]).all()
    assert means["baseline"].to_numpy() == pytest.approx(18_000.0**2, rel=0.15)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "no regularization" in done.stdout


@pytest.mark.training
def test_what_cannot_be_done_is_said_and_the_rest_is_done(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    frame = make_loans(900, gap=0.2).frame.drop("score")
    groups, debt = pl.Series(["a", "b", "c"] * 300), pl.col("debt").rank("ordinal").floordiv(9)
    frame.with_columns(sex=groups, debt=debt).write_csv(path)
    arguments = ("sweep", path, "--target", "approved", "--sensitive", "sex", "--seeds", 1)
    done = call(
        *(*arguments, "--legitimate", "debt", "--epochs", 10, "--method", "none"),
        *("--method", "adversarial", "--strength", 1, "--out", tmp_path / "a"),
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Left out: an adversary tells two groups apart" in said
    assert "different numbers in 900 rows, and only rows with exactly the same number" in said
    smooth = call(
        *(*arguments, "--legitimate", "income", "--smooth", "debt", "--epochs", 10),
        *("--method", "none", "--method", "fairleap", "--strength", 1, "--out", tmp_path / "b"),
    )
    assert smooth.returncode == 0, smooth.stderr
    runs = pl.read_csv(tmp_path / "b" / "runs.csv")
    assert set(runs["method"]) == {"no regularization", "SmoothFairLeap"}
    assert runs["coverage"].to_numpy().min() > 0.8


@pytest.mark.training
def test_the_chosen_model_is_kept(tmp_path: Path) -> None:
    path, model = tmp_path / "loans.csv", tmp_path / "model.json"
    make_loans(600, gap=0.2).frame.drop("score").write_csv(path)
    arguments = [
        *("sweep", path, "--target", "approved", "--sensitive", "sex", "--legitimate", "income"),
        *("--seeds", 1, "--epochs", 2, "--method", "fairleap", "--strength", 1),
        *("--out", tmp_path / "out", "--model", model),
    ]
    without = call(*arguments)
    assert without.returncode == 2
    assert "--model needs --max-disparity" in without.stderr
    assert not (tmp_path / "out").exists()
    done = call(*arguments, "--max-disparity", 1)
    assert done.returncode == 0, done.stderr
    assert lfl.load(model).scores(pl.read_csv(path)).shape == (600,)
    assert (tmp_path / "out" / "frontier.svg").exists()


@pytest.mark.process
def test_an_interrupted_sweep_stops_at_once_and_keeps_what_is_finished(tmp_path: Path) -> None:
    path, journal = tmp_path / "loans.csv", tmp_path / "out" / "journal.jsonl"
    make_loans(3000, gap=0.2).frame.drop("score").write_csv(path)
    arguments = [
        *(*COMMAND, "sweep", str(path), "--target", "approved", "--sensitive", "sex"),
        *("--legitimate", "income", "--seeds", "1000", "--epochs", "20", "--method", "none"),
        *("--out", str(tmp_path / "out")),
    ]
    with subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "LIKEFORLIKE_THREADS": "2"},
        start_new_session=True,
    ) as process:
        # Until a unit is finished; the first lines of a journal are its settings.
        while process.poll() is None and not (
            journal.exists() and b"seeds" in journal.read_bytes()
        ):
            time.sleep(0.2)
        # As a terminal does: everybody in the group gets it, workers too.
        os.killpg(process.pid, signal.SIGINT)
        # Two hundred units are left; even a crowded machine drops them within this time.
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.decode().strip() == "likeforlike: interrupted; nothing more was written."
    assert journal.read_bytes().endswith(b"\n")
    assert not (tmp_path / "out" / "runs.csv").exists()
