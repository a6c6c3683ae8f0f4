"""Sizes of frontiers: in [0, 1], those of `Frontier`, and compared within runs."""

import math

import polars as pl
import pytest

from likeforlike.errors import InputError
from likeforlike.experiments import Frontier
from likeforlike.paper._protocol import PAPER_METHODS
from likeforlike.paper._resampled import COMPARED_DISPARITIES, hypervolumes, volume_differences
from tests.paper.synthetic_reproductions import AS_CLAIMED, World, reproduction

pytestmark = pytest.mark.simulation


def better_cut(dataset: str, disparity: str, method: str, t: float) -> float:
    """Ours cut more, but for the one that does not see A."""
    own = AS_CLAIMED.cut(dataset, disparity, method, t)
    if method.startswith("our"):
        return 0.5 * own if method.endswith("unseen") else min(1.0, 1.05 * own)
    return own


WORLD = World(AS_CLAIMED.loss, better_cut, AS_CLAIMED.seconds)


def _root(square: float) -> float:
    return math.sqrt(max(square, 0.0))


def test_volumes_are_those_of_the_frontiers_of_means() -> None:
    found = reproduction(WORLD, datasets=["law_school"], noise=0.1)
    means = found.of("law_school").means()
    volumes = hypervolumes(found)
    assert volumes["volume"].is_between(0.0, 1.0).all()
    assert volumes.height == len(COMPARED_DISPARITIES) * means["method"].n_unique()
    corner = {
        name: means.filter(pl.col("method") == name).row(0, named=True)
        for name in ("legitimate only", "no regularization")
    }
    far = corner["legitimate only"]["performance"]
    for row in volumes.to_dicts():
        own = means.filter(pl.col("method") == row["method"])
        root = _root if row["disparity"] == "squared" else float
        gaps = [root(value) for value in own[row["disparity"]]]
        top = 1.1 * root(corner["no regularization"][row["disparity"]])
        area = Frontier.of(own["performance"], gaps, range(own.height)).hypervolume(
            loss=far, disparity=top
        )
        whole = (far - means["performance"].to_numpy().min()) * top
        assert row["volume"] == pytest.approx(area / whole)
        assert (row["settings"], row["runs"]) == (own.height, 10)
        assert row["error"] >= 0.0


def test_every_pair_is_reported() -> None:
    found = volume_differences(reproduction(WORLD))
    pairs = set(found.select("ours", "theirs").rows())
    variants = ("FairLeap, uniform", "FairLeap, P(L)", "FairLeap, average")
    expected = set()
    for end in ("", ", A unseen"):
        expected |= {(f"our FairLeap{end}", variant) for variant in variants}
        expected |= {(f"our FairBiT{end}", "FairBiT")}
        expected |= {(f"our better{end}", "paper's best of four")}
    expected |= {("our FairLeap, by batch", variant) for variant in variants}
    expected |= {("our better, by batch", "paper's best of four")}
    assert pairs == expected
    assert found.height == len(pairs) * 4 * len(COMPARED_DISPARITIES)


def test_differences_have_the_sign_of_what_was_made() -> None:
    found = volume_differences(reproduction(WORLD, datasets=["drug"])).filter(
        pl.col("disparity") == "cdd_uniform"
    )
    blind = pl.col("ours").str.ends_with("unseen")
    assert found.filter(~blind)["larger"].all()
    assert not found.filter(blind)["larger"].any()
    assert found["larger"].null_count() == 0


def test_differences_are_those_of_volumes() -> None:
    made = reproduction(WORLD, datasets=["drug"], noise=0.2)
    volumes = {
        (row["disparity"], row["method"]): row["volume"] for row in hypervolumes(made).to_dicts()
    }
    for row in volume_differences(made).to_dicts():
        if row["theirs"] != "paper's best of four":
            ours, theirs = (volumes[row["disparity"], row[side]] for side in ("ours", "theirs"))
            assert row["difference"] == pytest.approx(ours - theirs)


def test_noise_and_few_runs_leave_differences_open() -> None:
    few = volume_differences(reproduction(WORLD, datasets=["drug"], runs=4))
    assert few["larger"].null_count() == few.height
    one = volume_differences(reproduction(WORLD, datasets=["drug"], runs=1))
    assert one["error"].null_count() == one.height
    noisy = volume_differences(reproduction(WORLD, datasets=["drug"], noise=2.0))
    assert noisy["larger"].null_count() > noisy.height / 2


def test_what_was_not_run_is_left_out() -> None:
    found = reproduction(WORLD, datasets=["drug"], methods=PAPER_METHODS)
    assert volume_differences(found).height == 0
    assert hypervolumes(found).height == len(PAPER_METHODS) * len(COMPARED_DISPARITIES)
    without = [method for method in PAPER_METHODS if method.name != "legitimate only"]
    with pytest.raises(InputError, match="no runs of legitimate only"):
        hypervolumes(reproduction(WORLD, datasets=["drug"], methods=without))
