"""The claims of the paper, each with the question that decides it.

A claim is asked of *panels*, a data set seen by one disparity, and holds if all of its parts do, or
most of them where the paper says so. What vague words are taken to mean is said in each claim's
evidence: *generally* is more than half of the panels, a trade-off is *better* when its normalised
hypervolume is larger, by steps and by lines, *loss* is the way from no regularisation (0) to
legitimate only (1), and a *cut* is the share of the disparity of no regularisation that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import polars as pl

from likeforlike.experiments._vocabulary import (
    CLASSIFICATION,
    DATASET_LABELS,
    PAPER_DATASETS,
    REGRESSION,
)
from likeforlike.paper._evidence import (
    PROPOSED,
    RIVALS,
    SLIGHT,
    Claim,
    Evidence,
    Judge,
    Part,
    below,
    concluded,
    every,
    mostly,
)
from likeforlike.paper._published import PUBLISHED_DISPARITIES, published_rows
from likeforlike.paper._questions import (
    Question,
    adversaries_are_poor,
    adversaries_cut_less,
    comes_close,
    dcfr_is_beaten,
    each_lags,
    each_leads,
    is_at_parity,
    largest_cut,
    largest_cuts_are_small,
    leads,
    loses_performance,
    reaches_frontier,
    repair_loses_little,
    spans_wide_range,
    wasserstein_errs_more,
)
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import FEWEST_RUNS, Resampled

_SHOWN = ("cdd_wass", "cdd_uniform")
_UNIFORM = ("cdd_uniform",)
_RESULTS = "Results"
_ADDITIONAL = "appendix, Additional Results"
_DETAILS = "appendix, Implementation Details"
_HOUR = 3600.0
_TEN_MINUTES = 600.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim that is decided by asking panels.

    Attributes
    ----------
    said, where : the claim, and its place in the paper.
    meaning : what is looked at, and what vague words are taken to mean.
    datasets, disparities : the panels.
    ask : what each panel is asked.
    judge : from the answers to a verdict.
    """

    said: str
    where: str
    meaning: str
    datasets: Iterable[str]
    disparities: Iterable[str]
    ask: Question
    judge: Judge = every

    def __call__(self, evidence: Evidence) -> Claim:
        """The claim with its verdict."""
        parts = evidence.parts(self.datasets, self.disparities, self.ask)
        return concluded(self.said, self.where, self.meaning, parts, self.judge)


# Claims that panels cannot be asked ---------------------------------------------------------------


def _levels_are_taken_off(evidence: Evidence) -> Claim:
    """What is printed as normalised is nearly 0 for the most regular model, and never negative."""
    printed = published_rows()
    parts = []
    for dataset in PAPER_DATASETS:
        of_dataset = printed.filter(pl.col("dataset") == dataset)
        free = of_dataset.filter(pl.col("method") == "no regularisation")["printed_cdd_wass"].item()
        least = min(of_dataset["printed_cdd_wass"].to_list())
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


def _timed(
    evidence: Evidence,
    *,
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


def _adversarial_versions_agree(evidence: Evidence) -> Claim:
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
        differences = [_between_versions(panel) for panel in panels if panel is not None]
        if not differences:
            parts.append(Part(None, f"{label}: printed {said}, not run in full"))
            continue
        performance, gap = differences[0][0], max(gap for _, gap in differences)
        ours = f"ours differ by {performance:.4f} in performance and up to {gap:.4f}"
        same = performance < 0.005 and gap < 0.0005
        parts.append(Part(same, f"{label}: printed {said}, {ours}"))
    return concluded(
        "Adversarial debiasing with and without the level has the same figures to every digit on "
        "Drug, Law School and Communities",
        "tables of the appendix",
        "Means of the two versions; they should differ, since one adversary sees the level",
        parts,
    )


def _between_versions(panel: Resampled) -> tuple[float, float]:
    """Differences of the two versions in performance and disparity."""
    places = [panel.of(f"adversarial, {version}")[0] for version in ("CDP", "DP")]
    loss, gaps = (figures[0, places] for figures in (panel.loss, panel.gaps))
    return abs(float(loss[0] - loss[1])), abs(float(gaps[0] - gaps[1]))


# All of them --------------------------------------------------------------------------------------

CLAIMS: dict[str, Callable[[Evidence], Claim]] = {
    "better_than_rivals": Asked(
        "FairBiT and the three variants of FairLeap generally provide better trade-offs than the "
        "other methods",
        _RESULTS,
        "Hypervolume of the best of the four less that of the best other method",
        PAPER_DATASETS,
        _SHOWN,
        leads(PROPOSED, *RIVALS),
        mostly,
    ),
    "always_on_the_frontier": Asked(
        "FairBiT and the variants of FairLeap are consistently part of the Pareto frontier",
        "caption of the main figure",
        "Points on the frontier of all methods, and how often there are any when runs are drawn "
        "again",
        PAPER_DATASETS,
        _SHOWN,
        reaches_frontier(*PROPOSED),
    ),
    "fairbit_on_the_frontier": Asked(
        "By CDD-wass, FairBiT has points on the Pareto frontier for every experiment",
        _RESULTS,
        "Points on the frontier",
        PAPER_DATASETS,
        ("cdd_wass",),
        reaches_frontier("FairBiT"),
    ),
    "fairbit_outperforms": Asked(
        "By CDD-wass, FairBiT generally outperforms all other methods",
        _RESULTS,
        "Hypervolume of FairBiT less that of the best other method",
        PAPER_DATASETS,
        ("cdd_wass",),
        leads("FairBiT", *PROPOSED[1:], *RIVALS),
        mostly,
    ),
    "fairleap_on_the_frontier": Asked(
        "By CDD-lp uniform, FairLeap (uniform) has points on the Pareto frontier for all 4 data "
        "sets",
        _RESULTS,
        "Points on the frontier",
        PAPER_DATASETS,
        _UNIFORM,
        reaches_frontier("FairLeap, uniform"),
    ),
    "all_among_the_best": Asked(
        "Whether by CDD-wass or CDD-lp, all proposed methods are among the best performing",
        _RESULTS,
        "Hypervolume of each of the four less that of the best other method, taken to hold if "
        "most are ahead",
        PAPER_DATASETS,
        _SHOWN,
        each_leads(*RIVALS),
        mostly,
    ),
    "wide_range": Asked(
        "The regularised methods provide a wide range of points",
        _RESULTS,
        "Largest less smallest cut over the strengths, taken to be wide above one half",
        PAPER_DATASETS,
        _UNIFORM,
        spans_wide_range,
    ),
    "adversarial_is_poor": Asked(
        "Both versions of adversarial debiasing show poor predictive performance and conditional "
        "fairness on Adult, Drug and Law School",
        _RESULTS,
        "Taken to mean a loss above and a cut below a tenth",
        ("adult", "drug", "law_school"),
        _UNIFORM,
        adversaries_are_poor,
    ),
    "adversarial_on_communities": Asked(
        "On Communities they slightly improve CDD but underperform FairBiT and FairLeap at "
        "similar errors",
        _RESULTS,
        "CDD-lp uniform",
        ("communities",),
        _UNIFORM,
        adversaries_cut_less,
    ),
    "repair_keeps_performance": Asked(
        "Pre-processing repair is on par with no regularisation in predictive performance",
        _RESULTS,
        "Taken to mean a loss below a tenth at every repair level",
        PAPER_DATASETS,
        _UNIFORM,
        repair_loses_little,
    ),
    "repair_fails_to_enforce": Asked(
        "Pre-processing repair fails to enforce conditional fairness",
        _RESULTS,
        "Taken to mean a cut below one half at every repair level",
        PAPER_DATASETS,
        _UNIFORM,
        partial(largest_cut, method="repair", holds=lambda cut: below(cut, 0.5)),
    ),
    "dcfr_on_law_school": Asked(
        "DCFR performs well on Law School by CDD-lp",
        _RESULTS,
        "Taken to mean points on the frontier, as the paper goes on to deny elsewhere",
        ("law_school",),
        _UNIFORM,
        reaches_frontier("DCFR"),
    ),
    "dcfr_elsewhere": Asked(
        "DCFR is not part of the Pareto frontier in the other data sets",
        _RESULTS,
        "Points on the frontier",
        ("adult", "drug", "communities"),
        _SHOWN,
        dcfr_is_beaten,
    ),
    "wasserstein_enforces_in_regression": Asked(
        "Wasserstein regularisation enforces conditional fairness well in regression",
        _RESULTS,
        "Taken to mean a cut above one half at some strength",
        REGRESSION,
        _SHOWN,
        partial(largest_cut, method="Wasserstein", holds=lambda cut: cut.exceeds(0.5)),
    ),
    "wasserstein_errs_more_in_regression": Asked(
        "In regression, Wasserstein regularisation has a higher error than FairBiT and FairLeap "
        "for the same CDD",
        _RESULTS,
        "Least error for a cut of 25, 50 and 75%, on average, less that of each method, as a share "
        "of the error of no regularisation",
        REGRESSION,
        _UNIFORM,
        wasserstein_errs_more,
    ),
    "wasserstein_is_close_in_classification": Asked(
        "In classification, Wasserstein regularisation is often close to or on the Pareto frontier",
        _RESULTS,
        "Taken to be close when its hypervolume is less than a tenth short of the largest",
        CLASSIFICATION,
        _SHOWN,
        comes_close("Wasserstein"),
        mostly,
    ),
    "wasserstein_is_worse_in_classification": Asked(
        "In classification, Wasserstein regularisation has worse trade-offs than FairBiT and the "
        "variants of FairLeap",
        _RESULTS,
        "Hypervolume of each of the four less that of Wasserstein regularisation",
        CLASSIFICATION,
        _SHOWN,
        each_leads("Wasserstein"),
    ),
    "legitimate_only_is_at_parity": Asked(
        "Legitimate only achieves full conditional demographic parity",
        _RESULTS,
        "Mean disparity, 0 up to single precision",
        PAPER_DATASETS,
        ("cdd_uniform", "cdd_marginal"),
        is_at_parity,
    ),
    "legitimate_only_loses_performance": Asked(
        "Legitimate only suffers significantly in predictive performance",
        _RESULTS,
        "AUC lost, or mean squared error gained, against no regularisation",
        PAPER_DATASETS,
        _UNIFORM,
        loses_performance,
    ),
    "better_than_rivals_by_other_measures": Asked(
        "By CDD-lp with P(L) and average, FairBiT and FairLeap often provide better trade-offs "
        "than the other methods",
        _ADDITIONAL,
        "Hypervolume of the best of the four less that of the best other method",
        PAPER_DATASETS,
        ("cdd_marginal", "cdd_average"),
        leads(PROPOSED, *RIVALS),
        mostly,
    ),
    "wasserstein_is_best_by_dd": Asked(
        "By DD, Wasserstein regularisation performs the best",
        _ADDITIONAL,
        "Its hypervolume less that of the best other method",
        PAPER_DATASETS,
        ("dd",),
        leads("Wasserstein", *PROPOSED, *(name for name in RIVALS if name != "Wasserstein")),
    ),
    "dcfr_by_dd": Asked(
        "By DD, DCFR has some points on the Pareto frontier in regression",
        _ADDITIONAL,
        "Points on the frontier",
        REGRESSION,
        ("dd",),
        reaches_frontier("DCFR"),
    ),
    "proposed_lag_by_dd": Asked(
        "FairBiT and FairLeap generally do not perform as well by DD",
        _ADDITIONAL,
        "Hypervolume of Wasserstein regularisation less that of each of the four",
        PAPER_DATASETS,
        ("dd",),
        each_lags,
        mostly,
    ),
    "proposed_do_little_for_dd": Asked(
        "FairBiT and FairLeap generally do not improve the demographic disparity by much",
        "caption of the appendix's second figure",
        "Largest cut over the strengths, taken to be much above one half",
        PAPER_DATASETS,
        ("dd",),
        largest_cuts_are_small,
        mostly,
    ),
    "proposed_are_close_by_dd": Asked(
        "By DD, FairBiT and FairLeap are part of or close to the Pareto frontier in classification",
        _ADDITIONAL,
        "Taken to be close when the hypervolume is less than a tenth short of the largest",
        CLASSIFICATION,
        ("dd",),
        comes_close(*PROPOSED),
    ),
    "levels_are_taken_off": _levels_are_taken_off,
    "fairbit_takes_hours": partial(
        _timed,
        said="One FairBiT model on Law School takes about 2 hours",
        methods=("FairBiT",),
        holds=lambda seconds: seconds >= _HOUR,
        meaning="Exact transport for nested Sinkhorn iterations, models side by side, another "
        "machine",
    ),
    "others_take_minutes": partial(
        _timed,
        said="One model of FairLeap or any other method on Law School takes less than 10 minutes",
        methods=(*PROPOSED[1:], *RIVALS),
        holds=lambda seconds: seconds < _TEN_MINUTES,
        meaning="Models side by side, another machine",
    ),
    "adversarial_versions_agree": _adversarial_versions_agree,
}
"""All claims by a name, in the order of the paper."""


def paper_claims(reproduction: Reproduction) -> list[Claim]:
    """All claims of the paper with their verdicts, in its order.

    Parameters
    ----------
    reproduction : all of it or a part; what was not run cannot be decided.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import MEASURED
    >>> from likeforlike.paper import Reproduction, paper_claims
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> reproduction = Reproduction(runs, pl.DataFrame(schema=["dataset", "method"]), {})
    >>> claim = paper_claims(reproduction)[0]
    >>> claim.verdict, "Drug was not run in full" in claim.evidence
    ('not decidable', True)
    """
    evidence = Evidence(reproduction)
    return [claim(evidence) for claim in CLAIMS.values()]
