"""Journals: files of others are not touched, and settings that differ are distinguished."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import make_loans
from likeforlike.experiments import Journal, Penalized, Plain, Task, sweep
from likeforlike.experiments._workers import fingerprint

FOREIGN = {
    "a line without an end": b"shopping: eggs, flour",
    "one line": b"shopping: eggs, flour\n",
    "two lines": b"eggs\nflour\n",
    "JSON lines": b'{"key": "a", "run": {}}\n{"key": "b"}\n',
    "a byte": b"l",
    "no text": bytes(range(256)) * 8,
    "nothing but a line end": b"\n",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_file_that_is_no_journal_is_refused_and_stays_as_it_is(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        lfl.errors.InputError, match="is not a journal of a sweep and was left as it is"
    ):
        Journal(path)
    assert path.read_bytes() == content


def test_a_journal_says_which_version_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with Journal(path) as journal:
        journal.add("a", {"performance": 1.0})
    assert lfl.__version__ in path.read_text().splitlines()[0]


def test_runs_of_another_version_are_not_mixed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr("likeforlike.experiments._workers.version", lambda _: "0.0.1")
        with Journal(path) as journal:
            journal.add("a", {"performance": 1.0})
    before = path.read_bytes()
    with pytest.raises(lfl.errors.InputError, match=r"one of likeforlike 0\.0\.1, and this is"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_journal_killed_in_its_first_line_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with Journal(path) as journal:
        journal.add("a", {"performance": 1.0})
    header = path.read_bytes().partition(b"\n")[0] + b"\n"
    for end in range(10, len(header)):
        path.write_bytes(header[:end])
        with Journal(path) as journal:
            assert len(journal) == 0
        assert path.read_bytes() == header


def test_a_line_that_says_something_else_is_not_read_as_a_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with Journal(path) as journal:
        journal.add("a", {"performance": 1.0})
    header, run = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + header + run)
    with pytest.raises(lfl.errors.InputError, match="line 2 of the journal"):
        Journal(path)


def test_a_device_is_no_journal() -> None:
    with pytest.raises(lfl.errors.InputError, match="must be a file"):
        Journal(os.devnull)


def metric(last: float) -> FloatArray:
    """A metric between 40 levels, too long for a `repr`, that differs in the middle alone."""
    distance: FloatArray = np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))
    distance[20, 21] = distance[21, 20] = last
    return distance


@pytest.mark.training
@pytest.mark.filterwarnings("ignore::likeforlike.errors.UnderfitWarning")
def test_settings_that_look_alike_do_not_share_a_journal(tmp_path: Path) -> None:
    task = Task(make_loans(200), max_epochs=1)
    journal = tmp_path / "runs.jsonl"
    first, second = (
        Penalized("FairBiT", (0.0,), lfl.FairBiT(level_metric=metric(last))) for last in (1.0, 1.5)
    )
    assert repr(first) == repr(second)
    sweep(task, [Plain()], seeds=1, journal=journal, workers=0)
    with pytest.raises(lfl.errors.InputError, match=r"K x K|shape|runs of 'FairBiT'"):
        sweep(task, [first], seeds=1, journal=journal, workers=0)
    with pytest.raises(lfl.errors.InputError, match="runs of 'FairBiT' with other settings"):
        sweep(task, [second], seeds=1, journal=journal, workers=0)


@dataclass(frozen=True)
class Settings:
    name: str
    value: object


class Opaque:
    def __init__(self, value: object) -> None:
        self.value = value


def test_marks_differ_wherever_values_do() -> None:
    data = make_loans(200)
    wide = pl.DataFrame({f"column {k}": [k] for k in range(40)})
    other = wide.with_columns(pl.col("column 20").cast(pl.String))
    values: list[object] = [
        *(metric(last) for last in (1.0, 1.5)),
        *(metric(1.0).astype(kind) for kind in ("float32", "int64")),
        metric(1.0).reshape(-1),
        np.array(["a", None], dtype=object),
        np.array(["a", "None"], dtype=object),
        *(1, 1.0, True, "1", None, "None", b"1", np.float64(1.0), np.nextafter(1.0, 2.0)),
        *((1, 2), [1, 2], {1, 2}, {1: 2}, {"1": 2}, (1, (2,)), ((1, 2),), ("1, 2",), ("1", "2")),
        *(wide, other, wide.with_columns(pl.col("column 20") + 1)),
        *(data, replace(data, features=data.features[:2]), make_loans(201)),
        *(Settings("a", 1), Settings("a", metric(1.0)), Settings("a", metric(1.5))),
        *(Opaque(1), Opaque(2), len, max, int),
    ]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint(Opaque(metric(1.0))) == fingerprint(Opaque(metric(1.0)))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
