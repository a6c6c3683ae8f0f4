"""`likeforlike reproduce`: the quick profile from end to end, and the kept results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from likeforlike.datasets import Dataset, load_law_school, make_loans
from likeforlike.experiments._split import MEASURED
from likeforlike.paper import Profile, paper_claims, publish, read_reproduction, reproduce
from likeforlike.paper._comparison import unit_evidence
from likeforlike.paper._protocol import _SETTINGS, ALL_METHODS, PAPER_METHODS
from likeforlike.paper._resampled import hypervolumes, volume_differences
from tests.support.command import call

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def short_law_school(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law School with one row in eight; with all of them it would take longer than the others."""

    def load() -> Dataset:
        data = load_law_school()
        return replace(data, frame=data.frame.gather_every(8))

    _, batch_size = _SETTINGS["law_school"]
    monkeypatch.setitem(_SETTINGS, "law_school", (load, batch_size))


@pytest.mark.law_school
@pytest.mark.training
@pytest.mark.usefixtures("short_law_school")
def test_the_quick_profile_runs_from_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    done = call("reproduce", "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    sizes = {m.name: len(m.strengths) for m in Profile.quick().methods(ALL_METHODS)}
    # Decisions are for classes.
    settings = 4 * sum(sizes.values()) - 2 * sum(name.endswith("hard") for name in sizes)
    runs = pl.read_csv(out / "runs.csv")
    assert runs.height == settings * Profile.quick().runs
    assert not runs.null_count().sum_horizontal().item()
    assert set(MEASURED) <= set(runs.columns)
    page = (out / "reproduction.md").read_text()
    assert "# The paper's experiments, run again" in page
    for drawing in out.glob("*.svg"):
        ET.parse(drawing)
        assert f"({drawing.name})" in page
    assert len(list(out.glob("*.svg"))) == 6
    assert len(list(out.glob("*_fairleap.csv"))) + len(list(out.glob("*_rest.csv"))) == 8
    # Nothing that is finished is trained again.
    assert reproduce(out, profile=Profile.quick()).setting["units_run"] == 0
    # What is trained again elsewhere stands beside what was kept, and the page says so. Its figures
    # would be drawn of the same numbers again.
    monkeypatch.setattr("likeforlike.paper._publishing.reproduction_figures", lambda _: {})
    part = ("--method", "legitimate only", "--dataset", "drug", "--quick")
    read = call("reproduce", "--read", out, *part, "--out", tmp_path / "b")
    assert read.returncode == 0, read.stderr
    assert (tmp_path / "b" / "runs.csv").read_bytes() == (out / "runs.csv").read_bytes()
    assert (
        "minutes of processor time: legitimate only."
        in (tmp_path / "b" / "reproduction.md").read_text()
    )


@pytest.mark.training
def test_the_protocol_runs_on_a_table_of_ones_own(tmp_path: Path) -> None:
    table, out = tmp_path / "wages.csv", tmp_path / "out"
    loans = make_loans(300, gap=0.2).frame
    loans.with_columns(pl.col("score") * 45_000.0).drop("approved").write_csv(table)
    methods = ["no regularization", "legitimate only", "FairBiT, Algorithm 1", "fairlearn, hard"]
    asked = [word for name in methods for word in ("--method", name)]
    columns = ("--target", "score", "--sensitive", "sex", "--legitimate", "income")
    done = call("reproduce", "--file", table, *columns, *asked, "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    runs = pl.read_csv(out / "runs.csv")
    # Decisions are left out of a regression.
    assert set(runs["method"]) == set(methods[:3])
    assert set(runs["dataset"]) == {"wages"}
    assert "on wages, under the paper's protocol" in (out / "reproduction.md").read_text()
    assert not (out / "claims.md").exists()


@pytest.mark.process
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--dataset", "compas"), "compas"),
        (("--runs", "0"), "at least 1"),
        (("--method", "our best"), "method must be among"),
        (("--read", "nowhere"), "holds no results"),
        (("--page", "/nowhere/page.md"), "no folder /nowhere"),
        (("--target", "salary"), "need --file"),
        (("--file", "wages.csv"), "--file needs --target"),
    ],
)
def test_wrong_arguments_leave_nothing_behind(
    wrong: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = call("reproduce", *wrong, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def _told(path: Path) -> str:
    """All of a file; of a figure its title and description, which has every point in words."""
    text = path.read_text("utf-8")
    if path.suffix != ".svg":
        return text
    return "".join(re.findall(r"<dc:(?:title|description)>(.*?)</dc:", text, re.DOTALL))


@pytest.mark.simulation
class TestKept:
    """What the repository keeps of the full run."""

    FOUND = read_reproduction(DOCS / "reproduction")

    def test_it_is_the_whole_protocol(self) -> None:
        counts = self.FOUND.runs.group_by("dataset").agg(
            paper=pl.col("method").is_in([method.name for method in PAPER_METHODS]).sum()
        )
        assert sorted(counts["paper"]) == [760] * 4
        assert self.FOUND.setting["profile"]["runs"] == 10
        assert not self.FOUND.runs.null_count().sum_horizontal().item()

    def test_it_ran_in_one_go_within_its_limits(self) -> None:
        setting = self.FOUND.setting
        assert setting["units_run"] == setting["units"]
        assert setting["wall_seconds"] <= 120 * 60
        assert 2 * setting["peak_mb_of_a_worker"] + setting["peak_mb_of_the_parent"] <= 8000

    def test_the_page_and_the_figures_are_made_of_it(self, tmp_path: Path) -> None:
        folder, page = tmp_path / "reproduction", tmp_path / "reproduction.md"
        for path in publish(self.FOUND, folder, page):
            kept = DOCS / path.relative_to(tmp_path)
            # Versions of matplotlib differ in how they write a figure, not in what it tells.
            same = _told(kept) == _told(path)
            assert same, f"{kept.name} is another; make it anew as its page says"
        assert sum(kept.stat().st_size for kept in (DOCS / "reproduction").iterdir()) < 8e6

    def test_our_recipe_has_the_larger_frontier_on_three_data_sets(self) -> None:
        """By hypervolume, CDD-lp with measure P(L), on test rows."""
        volumes = hypervolumes(self.FOUND).filter(pl.col("disparity") == "cdd_marginal")
        best = volume_differences(self.FOUND).filter(
            (pl.col("disparity") == "cdd_marginal") & (pl.col("ours") == "our better")
        )
        assert volumes["dataset"].n_unique() == best.height == 4
        assert (best["difference"] > 0.0).sum() >= 3

    def test_dcfr_on_communities_errs_as_little_as_printed(self) -> None:
        own = self.FOUND.of("communities").means().filter(pl.col("method") == "DCFR")
        assert own.height == 11
        assert own["performance"].to_numpy().max() < 0.035

    def test_models_without_a_penalty_beat_a_constant(self) -> None:
        for name in self.FOUND.datasets:
            poor = set(self.FOUND.of(name).underfitted()["method"])
            assert not poor & {"no regularization", "legitimate only", "repair", "barycenter"}

    def test_the_unit_of_the_print_fits_three_data_sets_and_not_the_fourth(self) -> None:
        """As `printed.md` says in words."""
        for row in unit_evidence(self.FOUND).to_dicts():
            ratio = row["w2sq"] / row["printed"]
            if row["dataset"] != "drug":
                assert 0.8 < ratio < 1.4, row
                assert not 0.8 < row["w1"] / row["printed"] < 1.25
        drug = unit_evidence(self.FOUND).filter(pl.col("dataset") == "drug")
        uniform, average, _ = drug["printed"]
        assert uniform < average
        assert drug["w2sq"][0] > drug["w2sq"][1]

    def test_claims_are_decided_both_ways(self) -> None:
        verdicts = {claim.verdict for claim in paper_claims(self.FOUND)}
        assert {"reproduced", "not reproduced"} <= verdicts
