"""`likeforlike sweep`: goes on where it was, keeps what it is asked to, stops at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from likeforlike.datasets import make_loans
from likeforlike.estimators._saved_model import read_model
from tests.command import call
from tests.test_cli import COMMAND


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
            (
                "--target",
                "approved",
                "--method",
                "barycentre",
                "--model",
                "m",
                "--max-disparity",
                "1",
            ),
            "'barycentre' is more than a network, so it cannot be kept as one",
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
    assert read_model(model).scores(pl.read_csv(path)).shape == (600,)
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
