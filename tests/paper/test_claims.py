"""Every claim gives every verdict it can give, on runs that are made up."""

import polars as pl
import pytest

from likeforlike.experiments._vocabulary import PAPER_DATASETS
from likeforlike.paper._claims import claim_words, paper_claims
from likeforlike.paper._evidence import (
    PROPOSED,
    Claim,
    Evidence,
    Part,
    concluded,
    every,
    lead,
    mostly,
)
from likeforlike.paper._protocol import PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction
from tests.paper.synthetic_reproductions import AS_CLAIMED, DENIED, World, reproduction

pytestmark = pytest.mark.simulation

# These two do not rest on differences between runs.
ABOUT_DIGITS = "Adversarial debiasing with and without"
ABOUT_PARITY = "Legitimate only achieves"
# This one is about what is printed, and that does not change.
ABOUT_PRINT = "CDD-wass is normalised"


def verdicts(found: Reproduction) -> dict[str, str]:
    return {claim.said: claim.verdict for claim in paper_claims(found)}


def one(found: list[Claim], begin: str) -> Claim:
    (claim,) = [claim for claim in found if claim.said.startswith(begin)]
    return claim


def test_all_claims_are_told_apart() -> None:
    found = paper_claims(reproduction(AS_CLAIMED, runs=5))
    assert len({claim.said for claim in found}) == len(found) == 29
    assert all(claim.where and claim.evidence.endswith(".") for claim in found)


def test_where_all_is_as_claimed_all_is_reproduced() -> None:
    found = verdicts(reproduction(AS_CLAIMED))
    failed = {said for said, verdict in found.items() if verdict != "reproduced"}
    assert failed == {said for said in found if said.startswith(ABOUT_PRINT)}


def test_where_nothing_is_as_claimed_nothing_is_reproduced() -> None:
    found = verdicts(reproduction(DENIED))
    held = {said for said, verdict in found.items() if verdict != "not reproduced"}
    # A model that sees the level only must lose something for losses to have a unit.
    assert held == {"Legitimate only suffers significantly in predictive performance"}


def test_legitimate_only_may_lose_nothing() -> None:
    def loss(dataset: str, method: str, t: float) -> float:
        own = AS_CLAIMED.loss(dataset, method, t)
        return -0.5 if method == "legitimate only" else own

    found = paper_claims(reproduction(World(loss, AS_CLAIMED.cut, AS_CLAIMED.seconds)))
    assert one(found, "Legitimate only suffers").verdict == "not reproduced"
    # No loss can be measured on a scale that ends before it begins.
    assert one(found, "Pre-processing repair is on par").verdict == "not decidable"


@pytest.mark.parametrize("world", [AS_CLAIMED, DENIED])
@pytest.mark.parametrize("runs", [1, 4])
def test_few_runs_decide_nothing(world: World, runs: int) -> None:
    found = verdicts(reproduction(world, runs=runs))
    exact = (ABOUT_DIGITS, ABOUT_PARITY, ABOUT_PRINT)
    assert {verdict for said, verdict in found.items() if not said.startswith(exact)} == {
        "not decidable"
    }


def test_noise_decides_nothing() -> None:
    found = paper_claims(reproduction(AS_CLAIMED, noise=2.0))
    for begin in (
        "FairBiT and the three variants of FairLeap generally",
        "By CDD-wass, FairBiT generally",
        "Both versions of adversarial",
        "Pre-processing repair is on par",
        "In regression, Wasserstein",
        "By DD, Wasserstein",
    ):
        assert one(found, begin).verdict == "not decidable", begin


def test_differences_are_taken_within_runs() -> None:
    """Splits that differ more than methods do no harm, as long as methods share them."""
    found = reproduction(AS_CLAIMED)
    shaken = found.runs.with_columns(
        pl.when(pl.col("dataset").is_in(["adult", "drug"]))
        .then(pl.col("performance") - 0.02 * pl.col("seed"))
        .otherwise(pl.col("performance") + 0.5 * pl.col("seed"))
        .alias("performance")
    )
    again = Reproduction(shaken, found.times, found.setting)
    assert verdicts(again) == verdicts(found)


def test_data_sets_that_were_not_run_leave_claims_open() -> None:
    found = paper_claims(reproduction(AS_CLAIMED, datasets=["drug"]))
    assert one(found, "By CDD-wass, FairBiT has points").verdict == "not decidable"
    assert "Law School was not run in full" in one(found, "DCFR performs well").evidence
    assert one(found, "One FairBiT model").verdict == "not decidable"
    denied = paper_claims(reproduction(DENIED, datasets=["drug"]))
    # One data set is enough to contradict what is claimed of all.
    assert one(denied, "By CDD-wass, FairBiT has points").verdict == "not reproduced"


def test_a_data_set_without_one_of_the_methods_was_not_run_in_full() -> None:
    methods = [method for method in PAPER_METHODS if method.name != "DCFR"]
    found = paper_claims(reproduction(AS_CLAIMED, datasets=["drug"], methods=methods))
    open_ones = [claim for claim in found if not claim.said.startswith(ABOUT_PRINT)]
    assert {claim.verdict for claim in open_ones} == {"not decidable"}
    assert "Drug was not run in full" in found[0].evidence


def test_methods_that_share_no_run_are_not_compared() -> None:
    found = reproduction(AS_CLAIMED, datasets=["drug"], runs=2)
    own = pl.col("method") == "FairBiT"
    apart = found.runs.filter((own & (pl.col("seed") == 0)) | (~own & (pl.col("seed") == 1)))
    evidence = Evidence(Reproduction(apart, found.times, found.setting))
    assert evidence.panel("drug", "cdd_wass") is None


def test_fewer_strengths_are_enough() -> None:
    found = verdicts(reproduction(AS_CLAIMED, every=5))
    assert found["By CDD-wass, FairBiT has points on the Pareto frontier for every experiment"]
    assert "reproduced" in found.values()


def test_evidence_names_what_was_measured() -> None:
    found = paper_claims(reproduction(AS_CLAIMED))
    repair = one(found, "Pre-processing repair fails")
    assert "Drug, CDD-lp uniform: largest cut +0.050 ± 0.000" in repair.evidence
    legit = one(found, "Legitimate only suffers")
    assert "Adult: +0.200 ± 0.000" in legit.evidence
    fairbit = one(found, "By CDD-wass, FairBiT has points")
    assert "FairBiT 10 points, 9 with a cut above a tenth (100% of draws)" in fairbit.evidence
    hours = one(found, "One FairBiT model")
    assert "FairBiT: 7200.0 s a model" in hours.evidence
    levels = one(found, "CDD-wass is normalised")
    assert "Communities: printed 2.815 of 2.887" in levels.evidence


def test_of_many_parts_those_that_fail_are_told() -> None:
    holds = [True] * 9 + [False, None]
    parts = [Part(sign, f"part {k}") for k, sign in enumerate(holds)]
    claim = concluded("It is so", "here", "Seen", parts, mostly)
    assert claim == Claim(
        "It is so",
        "here",
        "reproduced",
        "Seen. Holds in 9 of 11, fails in 1, open in 1. Fails. part 9.",
    )


def test_volumes_that_depend_on_where_strengths_lie_decide_nothing() -> None:
    """A rival on the same curve, tried at two strengths only: behind by steps, not by lines."""

    def loss(dataset: str, method: str, t: float) -> float:
        if method == "Wasserstein":
            return 0.6 if t > 0.5 else 0.0
        return 0.6 * t if method in PROPOSED else AS_CLAIMED.loss(dataset, method, t)

    def cut(dataset: str, disparity: str, method: str, t: float) -> float:
        if method == "Wasserstein":
            return 0.9 if t > 0.5 else 0.0
        return 0.9 * t if method in PROPOSED else AS_CLAIMED.cut(dataset, disparity, method, t)

    evidence = Evidence(reproduction(World(loss, cut, AS_CLAIMED.seconds), datasets=["drug"]))
    panel = evidence.panel("drug", "cdd_average")
    assert panel is not None
    found = lead(panel, ("FairBiT",), ("Wasserstein",))
    assert found.steps.value > 0.1
    assert found.lines.value == pytest.approx(0.0, abs=1e-9)
    assert found.exceeds(-1.0) is True
    assert found.exceeds(0.05) is None


def test_verdicts_on_parts() -> None:
    yes, no, open_ = (Part(sign, "") for sign in (True, False, None))
    assert every([yes, yes]) == mostly([yes, yes, open_]) == "reproduced"
    assert every([yes, open_]) == mostly([yes, open_]) == "not decidable"
    assert every([no, open_]) == mostly([yes, no]) == "not reproduced"


def test_no_claim_is_forgotten() -> None:
    claims = paper_claims(reproduction(AS_CLAIMED, runs=1, datasets=["drug"]))
    assert len({claim.said for claim in claims}) == len(claim_words()) == 29


def test_all_data_sets_have_labels() -> None:
    evidence = Evidence(reproduction(AS_CLAIMED, runs=5))
    assert all(evidence.panel(name, "dd") is not None for name in PAPER_DATASETS)
