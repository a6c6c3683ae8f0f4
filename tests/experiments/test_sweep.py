"""Sweeps: complete, resumable, the same whatever happens to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import Dataset, dataset_of_table, make_loans
from likeforlike.experiments import (
    DCFR,
    Adversarial,
    Journal,
    LegitimateOnly,
    Method,
    Penalized,
    Plain,
    PostProcessed,
    Repaired,
    Task,
    split,
    sweep,
)
from likeforlike.experiments._split import MEASURED, Split

pytestmark = pytest.mark.training


def task(**settings: object) -> Task:
    return Task(make_loans(600, gap=0.2), max_epochs=3, **settings)  # type: ignore[arg-type]


METHODS: list[Method] = [
    Plain(),
    LegitimateOnly(),
    Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap()),
    Penalized("FairBiT, paper", (1.0,), lfl.FairBiT.paper(), penalty_rows=None),
    Repaired("repair", (0.0, 1.0)),
    Adversarial("adversarial", (1.0,)),
    DCFR("DCFR", (1.0,)),
]


def test_every_method_is_measured_at_every_strength_and_seed(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    found = sweep(
        task(),
        METHODS,
        seeds=2,
        journal=tmp_path / "runs.jsonl",
        workers=2,
        progress=lambda *counts: done.append(counts),
    )
    assert found.runs.shape[0] == 2 * sum(len(method.strengths) for method in METHODS)
    assert set(MEASURED) <= set(found.runs.columns)
    assert not found.runs.null_count().sum_horizontal().item()
    assert done[-1] == (len(METHODS), len(METHODS))
    blind = found.means().filter(method="legitimate only")
    assert blind["cdd_uniform"].item() == 0.0
    plain, repaired = (
        found.means().filter(method=name)["performance"][0]
        for name in ("no regularization", "repair")
    )
    assert plain == repaired  # repair at level 0 changes nothing
    assert len(found.frontier("cdd_marginal").best) >= 1
    found.write(tmp_path / "out")
    assert (tmp_path / "out" / "means.csv").read_text().startswith("method,strength,performance")


def test_finished_runs_are_not_repeated(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    first = sweep(task(), METHODS[:1], seeds=2, journal=journal, workers=0)
    before = journal.read_bytes()
    again = sweep(task(), METHODS[:1], seeds=2, journal=journal, workers=0)
    assert journal.read_bytes() == before
    assert again.runs.equals(first.runs)
    more = sweep(task(), METHODS[:3], seeds=2, journal=journal, workers=0)
    assert more.runs.filter(method="no regularization").equals(first.runs)


def test_what_is_stacked_together_makes_little_difference(tmp_path: Path) -> None:
    one, all_at_once = (
        sweep(
            task(),
            [METHODS[2]],
            seeds=4,
            journal=tmp_path / f"{together}.jsonl",
            workers=0,
            seeds_in_unit=together,
        ).runs
        for together in (1, 4)
    )
    for name in MEASURED:
        np.testing.assert_allclose(one[name], all_at_once[name], atol=1e-4)


def results(path: Path) -> dict[str, dict[str, object]]:
    """All that a journal holds, apart from how long it took and in how much memory."""
    used = ("seconds", "cpu_seconds", "peak_mb")
    with Journal(path) as journal:
        return {
            key: {name: value for name, value in entry.items() if name not in used}
            for key, entry in journal
        }


def test_a_sweep_killed_twenty_times_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_sweep.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "20"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 20
    expected, found = (results(tmp_path / f"{name}.jsonl") for name in ("undisturbed", "killed"))
    assert len(expected) == 2 * 8 + 3
    assert found == expected


def test_a_journal_of_another_sweep_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    sweep(task(), METHODS[:1], seeds=1, journal=journal, workers=0)
    before = journal.read_bytes()
    with pytest.raises(lfl.errors.InputError, match="other data or other settings"):
        sweep(task(batch_size=32), METHODS[:1], seeds=1, journal=journal, workers=0)
    other = Penalized("no regularization", (1.0,), lfl.FairLeap())
    with pytest.raises(
        lfl.errors.InputError, match="runs of 'no regularization' with other settings"
    ):
        sweep(task(), [other], seeds=1, journal=journal, workers=0)
    assert journal.read_bytes() == before


def test_a_single_group_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    data = make_loans(200)
    alone = replace(data, frame=data.frame.filter(sex="female"))
    with pytest.raises(lfl.errors.InputError, match="single value 'female'"):
        sweep(Task(alone), [Plain()], seeds=1, journal=tmp_path / "runs.jsonl", workers=0)
    assert not list(tmp_path.iterdir())


def test_a_rare_target_leaves_nothing_behind(tmp_path: Path) -> None:
    frame = make_loans(40).frame.with_columns(approved=(pl.int_range(pl.len()) == 0).cast(pl.Int64))
    data, _ = dataset_of_table(
        frame, target="approved", sensitive="sex", legitimate=["income"], features=["debt"]
    )
    with pytest.raises(lfl.errors.InputError, match=r"target \(--target\) is 0 in all rows"):
        sweep(Task(data, max_epochs=1), [Plain()], seeds=1, journal=tmp_path / "j", workers=0)
    assert not list(tmp_path.iterdir())


def test_bad_sweeps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lfl.errors.InputError, match="names that differ"):
        sweep(task(), [Plain(), Plain()], seeds=1, journal=tmp_path / "runs.jsonl")
    with pytest.raises(lfl.errors.InputError, match="seeds and seeds_in_unit"):
        sweep(task(), [Plain()], seeds=0, journal=tmp_path / "runs.jsonl")
    assert not list(tmp_path.iterdir())
    found = sweep(task(), [Plain()], seeds=1, journal=tmp_path / "runs.jsonl", workers=0)
    with pytest.raises(lfl.errors.InputError, match="disparity must be one of"):
        found.frontier("performance")


class TestJournal:
    def test_a_damaged_last_line_is_cut_off_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        with Journal(path) as journal:
            journal.add("a", {"performance": 1.0})
            journal.add("b", {"performance": 2.0})
        whole = path.read_bytes()
        kept = whole.rindex(b"\n", 0, -1) + 1
        for end in range(len(whole) - 1, kept, -7):
            path.write_bytes(whole[:end])
            with Journal(path) as journal:
                assert dict(journal) == {"a": {"performance": 1.0}}
                assert journal.cut_off == end - kept
                journal.add("b", {"performance": 2.0})
            assert path.read_bytes() == whole

    def test_a_changed_last_line_is_cut_off(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        with Journal(path) as journal:
            journal.add("a", {"performance": 1.0})
        path.write_bytes(path.read_bytes().replace(b'"performance": 1.0', b'"performance": 1.5'))
        with Journal(path) as journal:
            assert len(journal) == 0

    def test_damage_in_the_middle_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        with Journal(path) as journal:
            journal.add("a", {"performance": 1.0})
            journal.add("b", {"performance": 2.0})
        damaged = path.read_bytes().replace(b'"performance": 1.0', b'"performance": 1.5')
        path.write_bytes(damaged)
        with pytest.raises(lfl.errors.InputError, match="line 2 of the journal"):
            Journal(path)
        assert path.read_bytes() == damaged

    def test_a_run_is_written_once(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "runs.jsonl") as journal:
            journal.add("a", {"performance": 1.0})
            journal.add("a", {"performance": 2.0})
            assert dict(journal) == {"a": {"performance": 1.0}}

    @pytest.mark.process
    def test_two_processes_do_not_share_a_journal(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        code = f"from likeforlike.experiments._workers import Journal; Journal({str(path)!r})"
        with Journal(path):
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=False
            )
        assert "is in use by another process" in done.stderr

    def test_a_folder_that_cannot_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(lfl.errors.InputError, match="cannot be opened"):
            Journal(tmp_path / "file" / "runs.jsonl")

    @pytest.mark.process
    def test_a_full_disk_loses_no_finished_run(self, tmp_path: Path) -> None:
        # A limit on the size of files stands for a disk that is full.
        path = tmp_path / "runs.jsonl"
        code = f"""
import resource, signal
from likeforlike.errors import InputError
from likeforlike.experiments._workers import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Journal({str(path)!r}) as journal:
    journal.add("a", {{"performance": 1.0}})
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    try:
        journal.add("b", {{"text": "x" * 200}})
    except InputError as error:
        print(error)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert "cannot be written" in done.stdout
        assert "The 1 finished runs in it are kept" in done.stdout
        with Journal(path) as journal:
            assert dict(journal) == {"a": {"performance": 1.0}}
        last = path.read_text().splitlines()[-1]
        assert json.loads(last.partition(" ")[2])["key"] == "a"


def salaries() -> Dataset:
    """A target with a mean of 45,000 and a standard deviation of 18,000."""
    data = make_loans(1500, gap=0.2)
    score = data.frame["score"].to_numpy()
    money = 45_000.0 + 18_000.0 * (score - score.mean()) / score.std()
    frame = data.frame.with_columns(pl.Series("salary", money)).drop("approved", "score")
    return dataset_of_table(frame, target="salary", sensitive="sex", legitimate=["income"])[0]


RIVALS: list[Method] = [
    Plain(),
    LegitimateOnly(),
    Repaired("repair", (0.0, 1.0)),
    PostProcessed("barycenter", (0.0, 1.0)),
    Adversarial("adversarial", (0.0,)),
    DCFR("DCFR", (0.0,)),
]


def test_targets_of_any_unit_are_learned(tmp_path: Path) -> None:
    task = Task(salaries(), max_epochs=60, learning_rate=0.005)
    found = sweep(task, RIVALS, seeds=2, journal=tmp_path / "runs.jsonl", workers=0)
    variance = 18_000.0**2
    assert found.runs["baseline"].to_numpy() == pytest.approx(variance, rel=0.2)
    assert (found.runs["performance"] < found.runs["baseline"]).all()
    assert found.underfitted().is_empty()
    plain = found.means().filter(method="no regularization").row(0, named=True)
    # In money, not in standard deviations.
    assert 1_000.0 < plain["cdd_marginal"] < 20_000.0


def test_a_unit_changes_nothing_but_the_unit(tmp_path: Path) -> None:
    """The same table in thousands: strengths of order 2 mean the same, errors a million times."""
    data = salaries()
    small = replace(data, frame=data.frame.with_columns(pl.col("salary") / 1000.0))
    methods = [Penalized("FairLeap", (1.0,), lfl.FairLeap())]
    one, other = (
        sweep(
            Task(each, max_epochs=15), methods, seeds=1, journal=tmp_path / f"{k}.jsonl", workers=0
        ).runs.row(0, named=True)
        for k, each in enumerate((data, small))
    )
    assert one["performance"] == pytest.approx(1e6 * other["performance"], rel=1e-3)
    assert one["cdd_marginal"] == pytest.approx(1e3 * other["cdd_marginal"], rel=1e-2)


def test_splits_standardize_targets_by_training_rows() -> None:
    data = salaries()
    parts = split(data, [0, 1])
    for k in range(2):
        train = data.targets[parts.train_rows[k]]
        assert parts.target_mean[k] == pytest.approx(train.mean())
        assert parts.target_spread[k] == pytest.approx(train.std())
        np.testing.assert_allclose(
            parts.train.targets[k].numpy(), (train - train.mean()) / train.std(), atol=1e-5
        )
        np.testing.assert_array_equal(parts.test_targets[k], data.targets[parts.test_rows[k]])
    natural = parts.natural(parts.test.targets.double().numpy())
    np.testing.assert_allclose(natural, parts.test_targets, rtol=1e-5)
    classes = split(make_loans(200), [0])
    assert classes.target_spread.tolist() == [1.0]
    np.testing.assert_array_equal(classes.natural(np.ones((1, 3))), np.ones((1, 3)))


def test_models_worse_than_a_constant_are_named(tmp_path: Path) -> None:
    found = sweep(task(), [Plain()], seeds=1, journal=tmp_path / "a.jsonl", workers=0)
    worse = replace(found, runs=found.runs.with_columns(pl.lit(0.45).alias("performance")))
    assert worse.underfitted().height == 1
    assert found.underfitted().is_empty()

    class Inverted(Plain):
        def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
            scores, parts = super().scores(task, seeds)
            return -scores, parts

    with pytest.warns(
        lfl.errors.UnderfitWarning, match="1 of 1 settings predict worse than a constant"
    ):
        sweep(task(), [Inverted("inverted")], seeds=1, journal=tmp_path / "b.jsonl", workers=0)


def of_money(
    scores: FloatArray, targets: FloatArray, groups: FloatArray, levels: FloatArray
) -> float:
    """A measure of one's own: the gap of the mean scores in the highest level."""
    high = levels == 4
    means = [scores[high & (groups == sex)].mean() for sex in ("female", "male")]
    assert set(targets) == {0.0, 1.0}
    return float(means[1] - means[0])


def test_own_measures_are_columns(tmp_path: Path) -> None:
    own = task(measures={"gap at the top": of_money})
    found = sweep(own, [Plain()], seeds=2, journal=tmp_path / "runs.jsonl", workers=2)
    scores, parts = Plain().scores(own, [0, 1])
    rows = parts.test_rows[0]
    expected = of_money(
        scores[0, 0], parts.test_targets[0], own.data.groups[rows], own.data.levels[rows]
    )
    assert found.runs["gap at the top"][0] == pytest.approx(expected, abs=1e-5)
    assert "gap at the top_sd" in found.means().columns
    assert found.frontier("gap at the top").best
    assert found.plot("gap at the top") is not None
    with pytest.raises(lfl.errors.InputError, match="names of their own, not 'dd'"):
        sweep(task(measures={"dd": of_money}), [Plain()], journal=tmp_path / "b.jsonl")


def three_groups() -> Dataset:
    data = make_loans(600)
    sex = pl.Series("sex", ["a", "b", "c"] * 200)
    return replace(data, frame=data.frame.with_columns(sex))


def test_methods_that_cannot_are_left_out_before_training(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    rivals = [Plain(), Adversarial("adversarial", (1.0,)), DCFR("DCFR", (1.0,))]
    with pytest.warns(UserWarning, match="left out: an adversary tells two groups apart"):
        found = sweep(Task(three_groups(), max_epochs=2), rivals, seeds=1, journal=journal)
    assert set(found.runs["method"]) == {"no regularization"}
    assert set(found.refused) == {"adversarial", "DCFR"}
    before = journal.read_bytes()
    with pytest.raises(lfl.errors.InputError, match="two groups apart"):
        sweep(Task(three_groups()), rivals[1:], seeds=1, journal=tmp_path / "other.jsonl")
    assert not (tmp_path / "other.jsonl").exists()
    assert journal.read_bytes() == before


def along_debt(size: int = 1500) -> Dataset:
    frame = make_loans(size, gap=0.3).frame.drop("score")
    columns = {"target": "approved", "sensitive": "sex", "legitimate": ["income", "debt"]}
    return dataset_of_table(frame, **columns, smooth="debt")[0]  # type: ignore[arg-type]


def test_sweeps_along_a_number(tmp_path: Path) -> None:
    task = Task(along_debt(), max_epochs=30, learning_rate=0.005, smooth=True)
    methods = [
        Plain(),
        Penalized("SmoothFairLeap", (10.0,), lfl.SmoothFairLeap()),
        Penalized("FairBiT", (1.0,), lfl.FairBiT()),
        PostProcessed(),
    ]
    with (
        pytest.warns(UserWarning, match="FairBiT compares inside levels"),
        pytest.warns(UserWarning, match="barycenter compares inside levels"),
    ):
        found = sweep(task, methods, seeds=2, journal=tmp_path / "runs.jsonl", workers=0)
    assert set(found.refused) == {"FairBiT", "barycenter"}
    free, bound = (
        found.means().filter(method=name).row(0, named=True)
        for name in ("no regularization", "SmoothFairLeap")
    )
    assert bound["cdd_marginal"] < free["cdd_marginal"]
    # Windows in the place of levels: nearly all rows are compared.
    assert free["coverage"] > 0.9
    assert free["levels"] < 100
    with pytest.raises(lfl.errors.InputError, match="compares groups along a number"):
        Penalized("SmoothFairLeap", (1.0,), lfl.SmoothFairLeap()).check(Task(make_loans(100)))


def test_numbers_as_levels_are_warned_of(tmp_path: Path) -> None:
    frame = make_loans(2000).frame.drop("score")
    data = dataset_of_table(
        frame.with_columns(pl.col("debt").rank("ordinal").floordiv(8)),
        target="approved",
        sensitive="sex",
        legitimate=["debt"],
    )[0]
    with pytest.warns(
        lfl.errors.ThinLevelsWarning, match=r"251 different numbers in 2,000 rows.*--smooth"
    ):
        sweep(Task(data, max_epochs=5), [Plain()], seeds=1, journal=tmp_path / "a.jsonl", workers=0)
