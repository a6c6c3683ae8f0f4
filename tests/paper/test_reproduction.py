"""The paper's protocol: its settings, what is run of it, and what is kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import likeforlike as lfl
from likeforlike.experiments import DCFR, PAPER_DATASETS, Penalized, Plain, WithoutSensitive
from likeforlike.experiments import _workers as pool
from likeforlike.experiments._split import MEASURED
from likeforlike.paper import Profile, read_reproduction, reproduce
from likeforlike.paper._protocol import OWN_METHODS, PAPER_METHODS, paper_task

TINY = Profile(runs=2, max_epochs=2, patience=2, every=9)


class TestProtocol:
    def test_3040_models(self) -> None:
        settings = sum(len(method.strengths) for method in PAPER_METHODS)
        assert settings * len(PAPER_DATASETS) * Profile().runs == 3040

    def test_strengths_are_those_the_tables_label(self) -> None:
        by_name = {method.name: method.strengths for method in PAPER_METHODS}
        fairbit = [1e-4, 4e-4, 13e-4, 46e-4, 167e-4, 599e-4, 0.2154, 0.7743, 2.7826, 10.0]
        assert by_name["FairBiT"] == pytest.approx(fairbit, abs=5e-5)
        assert by_name["Wasserstein"] == by_name["FairBiT"]
        fairleap = [1e-4, 5e-4, 22e-4, 0.01, 0.0464, 0.2154, 1.0, 4.6416, 21.5443, 100.0]
        for variant in ("uniform", "P(L)", "average"):
            assert by_name[f"FairLeap, {variant}"] == pytest.approx(fairleap, abs=5e-5)
        assert by_name["repair"] == pytest.approx([k / 10 for k in range(11)])
        assert len(by_name["DCFR"]) == 11

    def test_penalties_are_the_papers_own(self) -> None:
        by_name = {method.name: method for method in PAPER_METHODS if isinstance(method, Penalized)}
        assert all(method.penalty_rows is None for method in by_name.values())
        assert by_name["FairBiT"].penalty == lfl.FairBiT(2.0, "ordinal", 1.0, off_diagonal=True)
        assert by_name["FairLeap, uniform"].penalty == lfl.FairLeap("uniform", 1.0, summed=True)
        assert by_name["FairLeap, P(L)"].penalty == lfl.FairLeap("marginal", 1.0)
        assert by_name["Wasserstein"].penalty == lfl.WassersteinPenalty(1.0)

    def test_our_recipe_penalizes_large_samples(self) -> None:
        seen, unseen = OWN_METHODS[0], OWN_METHODS[3]
        assert isinstance(seen, Penalized)
        assert (seen.penalty, seen.penalty_rows) == (lfl.FairLeap(), 4096)
        assert isinstance(unseen, WithoutSensitive)
        assert unseen.method == seen

    @pytest.mark.parametrize(
        ("name", "rows", "batch"),
        [
            ("adult", 5000, 1024),
            ("drug", 1885, 256),
            pytest.param("law_school", 21027, 128, marks=pytest.mark.law_school),
            ("communities", 1994, 128),
        ],
    )
    def test_data_sets(self, name: str, rows: int, batch: int) -> None:
        task = paper_task(name)
        assert (task.data.frame.height, task.batch_size) == (rows, batch)
        assert (task.max_epochs, task.patience, task.hidden) == (500, 50, (50, 20))
        assert task.with_sensitive
        assert task.data.sensitive in task.data.inputs(with_sensitive=True).names[-1]

    def test_an_unknown_data_set_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(lfl.errors.InputError, match="dataset must be one of"):
            paper_task("compas")
        with pytest.raises(lfl.errors.InputError, match="compas"):
            reproduce(tmp_path, datasets=["drug", "compas"])
        assert not list(tmp_path.iterdir())

    def test_a_shorter_profile_keeps_the_largest_strength(self) -> None:
        for method, kept in zip(PAPER_METHODS, TINY.methods(PAPER_METHODS), strict=True):
            assert kept.strengths[-1] == method.strengths[-1]
            assert set(kept.strengths) <= set(method.strengths)

    def test_dcfr_is_small_where_inputs_are_few(self) -> None:
        task = replace(paper_task("drug"), max_epochs=1)
        parts = task.split([0])
        assert DCFR("DCFR", (1.0,)).networks(task, parts).sizes[1] == 8
        assert DCFR("DCFR", (1.0,), few=3).networks(task, parts).sizes[1] == 60


METHODS = (Plain(), Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap()))


@pytest.mark.training
class TestRun:
    def test_every_run_is_there_and_kept(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        found = reproduce(
            tmp_path / "a",
            datasets=["communities", "drug"],
            methods=METHODS,
            profile=replace(TINY, every=1),
            workers=2,
            progress=lambda *counts: seen.append(counts),
        )
        assert found.datasets == ["drug", "communities"]
        assert Counter(found.runs["dataset"]) == {"drug": 6, "communities": 6}
        assert seen[-1] == (12, 12)
        assert found.setting["units_run"] == found.setting["units"] == 4
        assert found.times["runs"].sum() == 12
        assert found.of("drug").task == "classification"
        assert found.of("communities").task == "regression"
        found.write(tmp_path / "b")
        again = read_reproduction(tmp_path / "b")
        assert_frame_equal(again.runs, found.runs, rel_tol=1e-6)
        assert again.setting == json.loads(json.dumps(found.setting))

    def test_what_is_finished_is_not_run_again(self, tmp_path: Path) -> None:
        first = reproduce(tmp_path, datasets=["drug"], methods=METHODS[:1], profile=TINY, workers=0)
        more = reproduce(tmp_path, datasets=["drug"], methods=METHODS, profile=TINY, workers=0)
        assert more.setting["units_run"] == 1
        assert_frame_equal(more.runs.head(2), first.runs)

    def test_a_method_can_be_renewed(self, tmp_path: Path) -> None:
        kept = reproduce(
            tmp_path / "a", datasets=["drug"], methods=METHODS, profile=TINY, workers=0
        )
        other = replace(TINY, max_epochs=2)
        part = reproduce(
            tmp_path / "b", datasets=["drug"], methods=METHODS[1:], profile=other, workers=0
        )
        both = kept.renewed(part)
        name = METHODS[1].name
        assert_frame_equal(both.runs.filter(method=name), part.runs)
        assert_frame_equal(both.times.filter(method=name), part.times)
        assert_frame_equal(
            both.runs.filter(pl.col("method") != name), kept.runs.filter(pl.col("method") != name)
        )
        assert both.runs.select("method", "seed").equals(kept.runs.select("method", "seed"))
        assert both.setting["renewed"]["methods"] == [name]
        assert both.setting["wall_seconds"] == kept.setting["wall_seconds"]

    def test_other_settings_need_another_folder(self, tmp_path: Path) -> None:
        reproduce(tmp_path, datasets=["drug"], methods=METHODS[:1], profile=TINY, workers=0)
        longer = replace(TINY, max_epochs=3)
        with pytest.raises(lfl.errors.InputError, match="other settings"):
            reproduce(tmp_path, datasets=["drug"], methods=METHODS, profile=longer, workers=0)

    def test_a_folder_without_results_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(lfl.errors.InputError, match=r"runs\.csv is missing"):
            read_reproduction(tmp_path)


@pytest.mark.training
@pytest.mark.parametrize("name", ["drug", "communities"])
@pytest.mark.parametrize("which", [2, 4, 11])
def test_a_run_does_not_depend_on_what_it_is_stacked_with(name: str, which: int) -> None:
    """Same seed, same figures, whatever else is in the stack: to 1e-5 after 20 epochs.

    Single precision rounds differently by the place in a stack, and what is rounded differently
    grows with every epoch; a unit repeated as it was is the same to the last bit.
    """
    task = replace(paper_task(name), max_epochs=20)
    method = (*PAPER_METHODS, *OWN_METHODS)[which]
    strength = method.strengths[6]
    together = pool.Unit(task, replace(method, strengths=method.strengths[3:8]), (0, 1, 2))
    alone = pool.Unit(task, replace(method, strengths=(strength,)), (1,))
    ((_, many),) = pool.run_units([together], 0)
    ((_, again),) = pool.run_units([together], 0)
    ((_, one),) = pool.run_units([alone], 0)
    assert many["runs"] == again["runs"]
    found = next(run for run in many["runs"] if (run["seed"], run["strength"]) == (1, strength))
    for measured in MEASURED:
        assert found[measured] == pytest.approx(one["runs"][0][measured], abs=1e-5), measured


@pytest.mark.training
def test_times_are_kept(tmp_path: Path) -> None:
    begin = time.monotonic()
    found = reproduce(tmp_path, datasets=["drug"], methods=METHODS[:1], profile=TINY, workers=0)
    assert 0.0 < found.times["seconds"].sum() <= time.monotonic() - begin
    # Rounded to thousandths.
    assert 0.0 < found.setting["wall_seconds"] <= time.monotonic() - begin + 0.0005
    assert found.setting["peak_mb_of_a_worker"] > 0.0
    assert isinstance(found.runs, pl.DataFrame)
