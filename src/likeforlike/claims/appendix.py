"""The claims of the paper's appendix and of its tables, one function each."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from likeforlike.claims.evidence import (
    PROPOSED,
    RIVALS,
    SLIGHT,
    Claim,
    Evidence,
    Part,
    ahead,
    below,
    close_to_frontier,
    concluded,
    mostly,
    named,
    on_frontier,
)
from likeforlike.claims.published import (
    DATASET_LABELS,
    PUBLISHED_DISPARITIES,
    published_rows,
)
from likeforlike.claims.resampled import FEWEST_RUNS, Resampled
from likeforlike.experiments.paper import PAPER_DATASETS

__all__ = ["APPENDIX_CLAIMS"]

_ADDITIONAL = "appendix, Additional Results"
_DETAILS = "appendix, Implementation Details"
_HOUR = 3600.0
_TEN_MINUTES = 600.0


def better_than_rivals_by_other_measures(evidence: Evidence) -> Claim:
    """The best of four against the best of the others, by the other two measures over levels."""
    return concluded(
        "By CDD-lp with P(L) and average, FairBiT and FairLeap often provide better trade-offs "
        "than the other methods",
        _ADDITIONAL,
        "Hypervolume of the best of the four less that of the best other method",
        evidence.parts(
            PAPER_DATASETS,
            ["cdd_marginal", "cdd_average"],
            lambda panel: ahead(panel, PROPOSED, RIVALS),
        ),
        mostly,
    )


def wasserstein_is_best_by_dd(evidence: Evidence) -> Claim:
    """Wasserstein regularisation by its own disparity."""
    others = (*PROPOSED, *(name for name in RIVALS if name != "Wasserstein"))
    return concluded(
        "By DD, Wasserstein regularisation performs the best",
        _ADDITIONAL,
        "Its hypervolume less that of the best other method",
        evidence.parts(PAPER_DATASETS, ["dd"], lambda panel: ahead(panel, "Wasserstein", others)),
    )


def dcfr_by_dd(evidence: Evidence) -> Claim:
    """DCFR by the demographic disparity, in regression."""
    return concluded(
        "By DD, DCFR has some points on the Pareto frontier in regression",
        _ADDITIONAL,
        "Points on the frontier",
        evidence.parts(
            ("law_school", "communities"), ["dd"], lambda panel: on_frontier(panel, "DCFR")
        ),
    )


def proposed_lag_by_dd(evidence: Evidence) -> Claim:
    """Each of the four against Wasserstein regularisation."""

    def ask(panel: Resampled) -> list[Part]:
        parts = [(name, ahead(panel, "Wasserstein", (name,))) for name in PROPOSED]
        return [Part(part.holds, f"{name} on {part.seen}") for name, part in parts]

    return concluded(
        "FairBiT and FairLeap generally do not perform as well by DD",
        _ADDITIONAL,
        "Hypervolume of Wasserstein regularisation less that of each of the four",
        evidence.parts(PAPER_DATASETS, ["dd"], ask),
        mostly,
    )


def proposed_do_little_for_dd(evidence: Evidence) -> Claim:
    """The largest cut of the demographic disparity."""

    def ask(panel: Resampled) -> list[Part]:
        best = [(name, panel.estimate(panel.cuts(name).max(axis=1))) for name in PROPOSED]
        return [Part(below(cut, 0.5), f"{named(panel)}: {name} {cut}") for name, cut in best]

    return concluded(
        "FairBiT and FairLeap generally do not improve the demographic disparity by much",
        "caption of the appendix's second figure",
        "Largest cut over the strengths, taken to be much above one half",
        evidence.parts(PAPER_DATASETS, ["dd"], ask),
        mostly,
    )


def proposed_are_close_by_dd(evidence: Evidence) -> Claim:
    """On the frontier, or nearly as large a one as the best method's, in classification."""
    return concluded(
        "By DD, FairBiT and FairLeap are part of or close to the Pareto frontier in classification",
        _ADDITIONAL,
        "Taken to be close when the hypervolume is less than a tenth short of the largest",
        evidence.parts(
            ("adult", "drug"),
            ["dd"],
            lambda panel: [close_to_frontier(panel, name) for name in PROPOSED],
        ),
    )


def levels_are_taken_off(evidence: Evidence) -> Claim:
    """What is printed as normalised is nearly 0 for the most regular model, and never negative."""
    printed = published_rows()
    parts = []
    for dataset in PAPER_DATASETS:
        own = printed.filter(pl.col("dataset") == dataset)
        free = own.filter(pl.col("method") == "no regularisation")["printed_cdd_wass"].item()
        least = min(own["printed_cdd_wass"].to_list())
        panel = evidence.panel(dataset, "cdd_wass")
        ours = "not run in full"
        if panel is not None:
            ours = f"{panel.gaps[0].min():.4f} of {panel.free[1][0]:.4f}"
        holds = 0.0 <= least <= SLIGHT * free
        label = DATASET_LABELS[dataset]
        parts.append(Part(holds, f"{label}: printed {least:.3f} of {free:.3f}, ours {ours}"))
    return concluded(
        "CDD-wass is normalised by taking off what the levels alone cost",
        _ADDITIONAL,
        "Smallest value of all settings beside that of no regularisation; it cannot be negative on "
        "one sample, and strong penalties should bring it near 0",
        parts,
    )


def fairbit_takes_hours(evidence: Evidence) -> Claim:
    """Time to train one FairBiT model on Law School."""
    return _timed(
        evidence,
        "One FairBiT model on Law School takes about 2 hours",
        ("FairBiT",),
        lambda seconds: seconds >= _HOUR,
        "Exact transport for nested Sinkhorn iterations, models side by side, another machine",
    )


def others_take_minutes(evidence: Evidence) -> Claim:
    """Time to train one model of any other method on Law School."""
    return _timed(
        evidence,
        "One model of FairLeap or any other method on Law School takes less than 10 minutes",
        (*PROPOSED[1:], *RIVALS),
        lambda seconds: seconds < _TEN_MINUTES,
        "Models side by side, another machine",
    )


def _timed(
    evidence: Evidence,
    said: str,
    methods: tuple[str, ...],
    holds: Callable[[float], bool],
    meaning: str,
) -> Claim:
    """A claim on the slowest of some methods on Law School."""
    panel = evidence.panel("law_school", "cdd_wass")
    seconds = evidence.seconds_a_model("law_school")
    known = {name: seconds[name] for name in methods if name in seconds}
    if panel is None or not known:
        return concluded(said, _DETAILS, meaning, [Part(None, "Law School was not run in full")])
    slowest = max(known, key=known.__getitem__)
    # A quick look trains few epochs on few runs, and its times say nothing.
    verdict = holds(known[slowest]) if panel.runs >= FEWEST_RUNS else None
    return concluded(
        said, _DETAILS, meaning, [Part(verdict, f"{slowest}: {known[slowest]:.1f} s a model")]
    )


def adversarial_versions_agree(evidence: Evidence) -> Claim:
    """The two versions of adversarial debiasing, printed and measured."""
    printed = published_rows()
    parts = []
    for dataset in ("drug", "law_school", "communities"):
        panels = [evidence.panel(dataset, name) for name in PUBLISHED_DISPARITIES]
        label = DATASET_LABELS[dataset]
        both = printed.filter(
            pl.col("dataset") == dataset, pl.col("method").str.starts_with("adversarial")
        ).select(pl.selectors.starts_with("printed_"))
        said = "equal" if both.row(0) == both.row(1) else "different"
        known = [panel for panel in panels if panel is not None]
        if not known:
            parts.append(Part(None, f"{label}: printed {said}, not run in full"))
            continue
        differences = [_between_versions(panel) for panel in known]
        power = differences[0][0]
        gap = max(own for _, own in differences)
        same = power < 0.005 and gap < 0.0005
        seen = f"{label}: printed {said}, ours differ by {power:.4f} in power and up to {gap:.4f}"
        parts.append(Part(same, seen))
    return concluded(
        "Adversarial debiasing with and without the level has the same figures to every digit on "
        "Drug, Law School and Communities",
        "tables of the appendix",
        "Means of the two versions; they should differ, since one adversary sees the level",
        parts,
    )


def _between_versions(panel: Resampled) -> tuple[float, float]:
    """Differences of the two versions in power and disparity."""
    places = [panel.of(f"adversarial, {version}")[0] for version in ("CDP", "DP")]
    cost, gaps = (own[0, places] for own in (panel.cost, panel.gaps))
    return abs(float(cost[0] - cost[1])), abs(float(gaps[0] - gaps[1]))


APPENDIX_CLAIMS: tuple[Callable[[Evidence], Claim], ...] = (
    better_than_rivals_by_other_measures,
    wasserstein_is_best_by_dd,
    dcfr_by_dd,
    proposed_lag_by_dd,
    proposed_do_little_for_dd,
    proposed_are_close_by_dd,
    levels_are_taken_off,
    fairbit_takes_hours,
    others_take_minutes,
    adversarial_versions_agree,
)
"""All of them, in the order of the paper."""
