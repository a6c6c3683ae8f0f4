"""Every claim gives every verdict it can give, on runs that are made up."""

from functools import cache, partial

import polars as pl
import pytest

from likeforlike.experiments import PAPER_DATASETS
from likeforlike.paper import Reproduction, paper_claims
from likeforlike.paper._claims import (
    PROPOSED,
    READINGS,
    Claim,
    Evidence,
    EvidencePart,
    claim_words,
    every,
    lead,
    mostly,
    somewhere,
    summarize_parts,
)
from likeforlike.paper._protocol import LITERAL_METHODS, PAPER_METHODS
from tests.paper.synthetic_reproductions import AS_CLAIMED, DENIED, World
from tests.paper.synthetic_reproductions import reproduction as of_world

pytestmark = pytest.mark.simulation

# Our own methods play no part in the paper's claims.
reproduction = partial(of_world, methods=(*PAPER_METHODS, *LITERAL_METHODS))

# This one does not rest on differences between runs.
ABOUT_PARITY = "Legitimate only achieves"
LETTER = READINGS[2].name


@cache
def claims_of(world: World) -> list[Claim]:
    """Claims of a world without noise, decided once."""
    return paper_claims(reproduction(world))


def verdicts(found: Reproduction, reading: str = READINGS[0].name) -> dict[str, str]:
    return {claim.said: claim.verdicts[reading] for claim in paper_claims(found)}


def evidence_of(claim: Claim) -> str:
    return claim.evidence[READINGS[0].name]


def one(found: list[Claim], begin: str) -> Claim:
    (claim,) = [claim for claim in found if claim.said.startswith(begin)]
    return claim


def test_all_claims_are_told_apart() -> None:
    found = paper_claims(reproduction(AS_CLAIMED, runs=5))
    assert len({claim.said for claim in found}) == len(found) == 26
    assert all(claim.where and claim.meaning for claim in found)
    for claim in found:
        assert list(claim.verdicts) == list(claim.evidence) == [one.name for one in READINGS]
        assert all(text.endswith(".") for text in claim.evidence.values())


@pytest.mark.parametrize("reading", [reading.name for reading in READINGS])
def test_where_all_is_as_claimed_all_is_reproduced(reading: str) -> None:
    failed = [one.said for one in claims_of(AS_CLAIMED) if one.verdicts[reading] != "reproduced"]
    assert failed == []


@pytest.mark.parametrize("reading", [reading.name for reading in READINGS])
def test_where_nothing_is_as_claimed_nothing_is_reproduced(reading: str) -> None:
    found = {claim.said: claim.verdicts[reading] for claim in claims_of(DENIED)}
    held = {said: verdict for said, verdict in found.items() if verdict != "not reproduced"}
    # A model that sees the level only must lose something for losses to have a unit, and
    # adversaries must cut something to underperform.
    assert held == {
        "Legitimate only suffers significantly in predictive performance": "reproduced",
        "On Communities they slightly improve CDD but underperform FairBiT and FairLeap at similar "
        "errors": "partly reproduced",
    }


def test_readings_look_at_their_own_runs() -> None:
    """Claims that hold of exact transport need not hold of entropic, or in another unit."""
    claimed, denied = reproduction(AS_CLAIMED), reproduction(DENIED)
    literal = pl.col("method").str.contains("entropic|Algorithm 1|fairlearn")
    mixed = pl.concat([claimed.runs.filter(~literal), denied.runs.filter(literal)])
    found = paper_claims(Reproduction(mixed, claimed.times, claimed.setting))
    main = one(found, "FairBiT and the three variants of FairLeap generally")
    assert main.verdict == main.verdicts[READINGS[1].name] == "reproduced"
    assert main.verdicts[LETTER] != "reproduced"
    assert main.depends
    squares = [name for name in claimed.runs.columns if name.startswith("w2sq_")]
    swapped = claimed.runs.with_columns(denied.runs[name] for name in squares)
    found = paper_claims(Reproduction(swapped, claimed.times, claimed.setting))
    repair = one(found, "Pre-processing repair fails")
    assert repair.verdict == "reproduced"
    assert repair.verdicts[READINGS[1].name] == "not reproduced"


def test_a_claim_that_holds_in_some_places_is_partly_reproduced() -> None:
    def cut(dataset: str, disparity: str, method: str, t: float) -> float:
        if dataset == "drug" and method == "repair":
            return 0.9 * t
        return AS_CLAIMED.cut(dataset, disparity, method, t)

    found = paper_claims(reproduction(World(AS_CLAIMED.loss, cut, AS_CLAIMED.seconds)))
    assert one(found, "Pre-processing repair fails").verdict == "partly reproduced"


def test_one_regression_is_enough_for_dcfr_by_dd() -> None:
    def cut(dataset: str, disparity: str, method: str, t: float) -> float:
        if dataset == "communities" and method == "DCFR":
            return 0.1
        return AS_CLAIMED.cut(dataset, disparity, method, t)

    found = paper_claims(reproduction(World(AS_CLAIMED.loss, cut, AS_CLAIMED.seconds)))
    assert one(found, "By DD, DCFR has good performance").verdict == "reproduced"


def test_cuts_of_dd_count_where_they_can_be_afforded() -> None:
    """Models that have collapsed have no disparity of any kind, and no use."""

    def cut(dataset: str, disparity: str, method: str, t: float) -> float:
        if disparity == "dd" and method in PROPOSED:
            return t  # everything, at a loss of 0.6
        return AS_CLAIMED.cut(dataset, disparity, method, t)

    found = paper_claims(reproduction(World(AS_CLAIMED.loss, cut, AS_CLAIMED.seconds)))
    little = one(found, "FairBiT and FairLeap generally do not improve")
    assert little.verdict == "reproduced"
    assert "FairBiT +0.4" in evidence_of(little) or "Holds in" in evidence_of(little)


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
    assert {verdict for said, verdict in found.items() if not said.startswith(ABOUT_PARITY)} == {
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
    assert verdicts(again) == {claim.said: claim.verdict for claim in claims_of(AS_CLAIMED)}


def test_data_sets_that_were_not_run_leave_claims_open() -> None:
    found = paper_claims(reproduction(AS_CLAIMED, datasets=["drug"]))
    assert one(found, "By CDD-wass, FairBiT has points").verdict == "not decidable"
    assert "Law School was not run in full" in evidence_of(one(found, "DCFR performs well"))
    assert one(found, "One model of FairLeap").verdict == "not decidable"
    denied = paper_claims(reproduction(DENIED, datasets=["drug"]))
    # One data set is enough to contradict what is claimed of all.
    assert one(denied, "By CDD-wass, FairBiT has points").verdict == "not reproduced"


def test_a_data_set_without_one_of_the_methods_was_not_run_in_full() -> None:
    methods = [method for method in PAPER_METHODS if method.name != "DCFR"]
    found = paper_claims(reproduction(AS_CLAIMED, datasets=["drug"], methods=methods))
    assert {claim.verdict for claim in found} == {"not decidable"}
    assert "Drug was not run in full" in evidence_of(found[0])


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
    found = claims_of(AS_CLAIMED)
    repair = one(found, "Pre-processing repair fails")
    assert "Drug, CDD-lp uniform: largest cut +0.050 ± 0.000" in evidence_of(repair)
    legit = one(found, "Legitimate only suffers")
    assert "Adult: +0.200 ± 0.000" in evidence_of(legit)
    fairbit = one(found, "By CDD-wass, FairBiT has points")
    assert "FairBiT 10 points, 9 with a cut above a tenth (100% of draws)" in evidence_of(fairbit)
    minutes = one(found, "One model of FairLeap")
    assert "100.0 s a model" in evidence_of(minutes)


def test_of_many_parts_those_that_fail_are_told() -> None:
    holds = [True] * 9 + [False, None]
    parts = [EvidencePart(sign, f"part {k}") for k, sign in enumerate(holds)]
    assert mostly(parts) == "reproduced"
    assert summarize_parts(parts) == "Holds in 9 of 11, fails in 1, open in 1. Fails: part 9."
    assert summarize_parts(parts[:2]) == "part 0; part 1."


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
    yes, no, open_ = (EvidencePart(sign, "") for sign in (True, False, None))
    assert every([yes, yes]) == mostly([yes, yes, open_]) == "reproduced"
    assert every([yes, open_]) == mostly([yes, open_]) == "not decidable"
    assert every([no, open_]) == mostly([yes, no]) == "not reproduced"
    assert every([yes, no]) == every([yes, no, open_]) == "partly reproduced"
    assert somewhere([no, yes]) == somewhere([open_, yes]) == "reproduced"
    assert somewhere([no, open_]) == "not decidable"
    assert somewhere([no, no]) == "not reproduced"


def test_no_claim_is_forgotten() -> None:
    claims = paper_claims(reproduction(AS_CLAIMED, runs=1, datasets=["drug"]))
    assert len({claim.said for claim in claims}) == len(claim_words()) == 26


def test_all_data_sets_have_labels() -> None:
    evidence = Evidence(reproduction(AS_CLAIMED, runs=5))
    assert all(evidence.panel(name, "dd") is not None for name in PAPER_DATASETS)
