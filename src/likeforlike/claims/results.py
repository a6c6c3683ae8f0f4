"""The claims of the paper, one function each, decided by what was measured.

Those of the section Results are here, those of the appendix in `appendix`. What vague words
are taken to mean is said in each claim's evidence: *generally* is more than half of the panels, a
trade-off is *better* when its normalised hypervolume is larger, by steps and by lines, *loss* is
the way from no regularisation (0) to legitimate only (1), and a *cut* is the share of the disparity
of no regularisation that is gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likeforlike.claims.appendix import APPENDIX_CLAIMS
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
    together,
)
from likeforlike.claims.published import DATASET_LABELS
from likeforlike.claims.resampled import Resampled
from likeforlike.experiments.paper import PAPER_DATASETS
from likeforlike.experiments.reproduction import Reproduction

__all__ = ["paper_claims"]

_SHOWN = ("cdd_wass", "cdd_uniform")
_CLASSIFICATION = ("adult", "drug")
_REGRESSION = ("law_school", "communities")
_RESULTS = "Results"
_NOTHING = 1e-6


def always_on_the_frontier(evidence: Evidence) -> Claim:
    """All four proposed methods, on every panel of the main figure."""
    parts = evidence.parts(
        PAPER_DATASETS, _SHOWN, lambda panel: [on_frontier(panel, name) for name in PROPOSED]
    )
    return concluded(
        "FairBiT and the variants of FairLeap are consistently part of the Pareto frontier",
        "caption of the main figure",
        "Points on the frontier of all methods, and how often there are any when runs are drawn "
        "again",
        parts,
    )


def better_than_rivals(evidence: Evidence) -> Claim:
    """The best of four against the best of the others."""
    parts = evidence.parts(PAPER_DATASETS, _SHOWN, lambda panel: ahead(panel, PROPOSED, RIVALS))
    return concluded(
        "FairBiT and the three variants of FairLeap generally provide better trade-offs than the "
        "other methods",
        _RESULTS,
        "Hypervolume of the best of the four less that of the best other method",
        parts,
        mostly,
    )


def fairbit_on_the_frontier(evidence: Evidence) -> Claim:
    """FairBiT by its own disparity."""
    return concluded(
        "By CDD-wass, FairBiT has points on the Pareto frontier for every experiment",
        _RESULTS,
        "Points on the frontier",
        evidence.parts(PAPER_DATASETS, ["cdd_wass"], lambda panel: on_frontier(panel, "FairBiT")),
    )


def fairbit_outperforms(evidence: Evidence) -> Claim:
    """FairBiT by its own disparity against everything else, the other proposed methods included."""
    others = (*PROPOSED[1:], *RIVALS)
    return concluded(
        "By CDD-wass, FairBiT generally outperforms all other methods",
        _RESULTS,
        "Hypervolume of FairBiT less that of the best other method",
        evidence.parts(PAPER_DATASETS, ["cdd_wass"], lambda panel: ahead(panel, "FairBiT", others)),
        mostly,
    )


def fairleap_on_the_frontier(evidence: Evidence) -> Claim:
    """FairLeap (uniform) by its own disparity."""
    method = "FairLeap, uniform"
    return concluded(
        "By CDD-lp uniform, FairLeap (uniform) has points on the Pareto frontier for all 4 data "
        "sets",
        _RESULTS,
        "Points on the frontier",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform"], lambda panel: on_frontier(panel, method)),
    )


def all_among_the_best(evidence: Evidence) -> Claim:
    """Each of the four against the best of the others."""

    def ask(panel: Resampled) -> list[Part]:
        parts = [(name, ahead(panel, name, RIVALS)) for name in PROPOSED]
        return [Part(part.holds, f"{name} on {part.seen}") for name, part in parts]

    return concluded(
        "Whether by CDD-wass or CDD-lp, all proposed methods are among the best performing",
        _RESULTS,
        "Hypervolume of each of the four less that of the best other method, taken to hold if "
        "most are ahead",
        evidence.parts(PAPER_DATASETS, _SHOWN, ask),
        mostly,
    )


def wide_range(evidence: Evidence) -> Claim:
    """Cuts from nearly nothing to more than half, with strengths in between."""

    def ask(panel: Resampled) -> list[Part]:
        parts = []
        for name in PROPOSED:
            cuts = panel.cuts(name)
            span = panel.estimate(cuts.max(axis=1) - cuts.min(axis=1))
            between = int(((cuts[0] > SLIGHT) & (cuts[0] < 1 - SLIGHT)).sum())
            seen = f"{named(panel)}: {name} spans {span}, {between} strengths between"
            parts.append(Part(span.exceeds(0.5), seen))
        return parts

    return concluded(
        "The regularised methods provide a wide range of points",
        _RESULTS,
        "Largest less smallest cut over the strengths, taken to be wide above one half",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform"], ask),
    )


def adversarial_is_poor(evidence: Evidence) -> Claim:
    """Both versions lose power and gain nothing."""

    def ask(panel: Resampled) -> list[Part]:
        parts = []
        for name in ("adversarial, CDP", "adversarial, DP"):
            loss = panel.estimate(panel.losses(name)[:, 0])
            cut = panel.estimate(panel.cuts(name)[:, 0])
            holds = together(loss.exceeds(SLIGHT), below(cut, SLIGHT))
            parts.append(Part(holds, f"{named(panel)}: {name} loss {loss}, cut {cut}"))
        return parts

    return concluded(
        "Both versions of adversarial debiasing show poor predictive performance and conditional "
        "fairness on Adult, Drug and Law School",
        _RESULTS,
        "Taken to mean a loss above and a cut below a tenth",
        evidence.parts(("adult", "drug", "law_school"), ["cdd_uniform"], ask),
    )


def adversarial_on_communities(evidence: Evidence) -> Claim:
    """A cut, but less of one than the proposed methods have for the same error."""

    def ask(panel: Resampled) -> list[Part]:
        parts = []
        for name in ("adversarial, CDP", "adversarial, DP"):
            cut = panel.estimate(panel.cuts(name)[:, 0])
            parts.append(Part(cut.exceeds(0.0), f"{name} cut {cut}"))
            place = panel.of(name)[0]
            cost, gap = panel.cost[:, place], panel.gaps[:, place]
            least = np.array([panel.least_gap(method, cost) for method in PROPOSED])
            excess = [panel.estimate(gap - own) for own in least]
            holds = together(*(own.exceeds(0.0) for own in excess))
            told = ", ".join(
                f"{method} {own}" for method, own in zip(PROPOSED, excess, strict=True)
            )
            parts.append(Part(holds, f"{name} less the least disparity at its error: {told}"))
        return parts

    return concluded(
        "On Communities they slightly improve CDD but underperform FairBiT and FairLeap at "
        "similar errors",
        _RESULTS,
        "CDD-lp uniform",
        evidence.parts(["communities"], ["cdd_uniform"], ask),
    )


def repair_keeps_power(evidence: Evidence) -> Claim:
    """On par with no regularisation at every repair level."""

    def ask(panel: Resampled) -> Part:
        worst = panel.estimate(panel.losses("repair").max(axis=1))
        return Part(below(worst, SLIGHT), f"{named(panel)}: largest loss {worst}")

    return concluded(
        "Pre-processing repair is on par with no regularisation in predictive performance",
        _RESULTS,
        "Taken to mean a loss below a tenth at every repair level",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform"], ask),
    )


def repair_fails_to_enforce(evidence: Evidence) -> Claim:
    """Less than half of the disparity is gone at any repair level."""

    def ask(panel: Resampled) -> Part:
        best = panel.estimate(panel.cuts("repair").max(axis=1))
        return Part(below(best, 0.5), f"{named(panel)}: largest cut {best}")

    return concluded(
        "Pre-processing repair fails to enforce conditional fairness",
        _RESULTS,
        "Taken to mean a cut below one half at every repair level",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform"], ask),
    )


def dcfr_on_law_school(evidence: Evidence) -> Claim:
    """DCFR where it is said to do well."""
    return concluded(
        "DCFR performs well on Law School by CDD-lp",
        _RESULTS,
        "Taken to mean points on the frontier, as the paper goes on to deny elsewhere",
        evidence.parts(["law_school"], ["cdd_uniform"], lambda panel: on_frontier(panel, "DCFR")),
    )


def dcfr_elsewhere(evidence: Evidence) -> Claim:
    """DCFR where it is said not to."""

    def ask(panel: Resampled) -> Part:
        part = on_frontier(panel, "DCFR")
        return Part(None if part.holds is None else not part.holds, part.seen)

    return concluded(
        "DCFR is not part of the Pareto frontier in the other data sets",
        _RESULTS,
        "Points on the frontier",
        evidence.parts(("adult", "drug", "communities"), _SHOWN, ask),
    )


def wasserstein_enforces_in_regression(evidence: Evidence) -> Claim:
    """The penalty on the demographic disparity cuts the conditional one."""

    def ask(panel: Resampled) -> Part:
        best = panel.estimate(panel.cuts("Wasserstein").max(axis=1))
        return Part(best.exceeds(0.5), f"{named(panel)}: largest cut {best}")

    return concluded(
        "Wasserstein regularisation enforces conditional fairness well in regression",
        _RESULTS,
        "Taken to mean a cut above one half at some strength",
        evidence.parts(_REGRESSION, _SHOWN, ask),
    )


def wasserstein_costs_in_regression(evidence: Evidence) -> Claim:
    """The error for the same disparity, at cuts by a quarter, a half and three quarters."""

    def ask(panel: Resampled) -> list[Part]:
        cuts = (0.25, 0.5, 0.75)
        rival = np.mean([panel.least_cost("Wasserstein", cut) for cut in cuts], axis=0)
        parts = []
        for name in PROPOSED:
            own = np.mean([panel.least_cost(name, cut) for cut in cuts], axis=0)
            more = panel.estimate((rival - own) / panel.free[0])
            parts.append(Part(more.exceeds(0.0), f"{named(panel)}, against {name}: {more}"))
        return parts

    return concluded(
        "In regression, Wasserstein regularisation has a higher error than FairBiT and FairLeap "
        "for the same CDD",
        _RESULTS,
        "Least error for a cut of 25, 50 and 75%, on average, less that of each method, as a share "
        "of the error of no regularisation",
        evidence.parts(_REGRESSION, ["cdd_uniform"], ask),
    )


def wasserstein_is_close_in_classification(evidence: Evidence) -> Claim:
    """On the frontier, or nearly as large a one as the best method's."""
    return concluded(
        "In classification, Wasserstein regularisation is often close to or on the Pareto frontier",
        _RESULTS,
        "Taken to be close when its hypervolume is less than a tenth short of the largest",
        evidence.parts(
            _CLASSIFICATION, _SHOWN, lambda panel: close_to_frontier(panel, "Wasserstein")
        ),
        mostly,
    )


def wasserstein_is_worse_in_classification(evidence: Evidence) -> Claim:
    """Each of the four against Wasserstein regularisation."""

    def ask(panel: Resampled) -> list[Part]:
        parts = [(name, ahead(panel, name, ("Wasserstein",))) for name in PROPOSED]
        return [Part(part.holds, f"{name} on {part.seen}") for name, part in parts]

    return concluded(
        "In classification, Wasserstein regularisation has worse trade-offs than FairBiT and the "
        "variants of FairLeap",
        _RESULTS,
        "Hypervolume of each of the four less that of Wasserstein regularisation",
        evidence.parts(_CLASSIFICATION, _SHOWN, ask),
    )


def legitimate_only_is_at_parity(evidence: Evidence) -> Claim:
    """No disparity among equals, by any measure over the levels."""

    def ask(panel: Resampled) -> Part:
        gap = float(panel.gaps[0, panel.of("legitimate only")[0]])
        return Part(gap < _NOTHING, f"{named(panel)}: {gap:.1e}")

    return concluded(
        "Legitimate only achieves full conditional demographic parity",
        _RESULTS,
        "Mean disparity, 0 up to single precision",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform", "cdd_marginal"], ask),
    )


def legitimate_only_loses_power(evidence: Evidence) -> Claim:
    """What that costs."""

    def ask(panel: Resampled) -> Part:
        lost = panel.estimate(panel.legitimate_cost - panel.free[0])
        return Part(lost.exceeds(0.0), f"{DATASET_LABELS[panel.dataset]}: {lost}")

    return concluded(
        "Legitimate only suffers significantly in predictive performance",
        _RESULTS,
        "AUC lost, or mean squared error gained, against no regularisation",
        evidence.parts(PAPER_DATASETS, ["cdd_uniform"], ask),
    )


_RESULTS_CLAIMS: tuple[Callable[[Evidence], Claim], ...] = (
    better_than_rivals,
    always_on_the_frontier,
    fairbit_on_the_frontier,
    fairbit_outperforms,
    fairleap_on_the_frontier,
    all_among_the_best,
    wide_range,
    adversarial_is_poor,
    adversarial_on_communities,
    repair_keeps_power,
    repair_fails_to_enforce,
    dcfr_on_law_school,
    dcfr_elsewhere,
    wasserstein_enforces_in_regression,
    wasserstein_costs_in_regression,
    wasserstein_is_close_in_classification,
    wasserstein_is_worse_in_classification,
    legitimate_only_is_at_parity,
    legitimate_only_loses_power,
)


def paper_claims(found: Reproduction) -> list[Claim]:
    """All claims of the paper with their verdicts, in its order.

    Parameters
    ----------
    found : a reproduction, all of it or a part; what was not run cannot be decided.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.results import paper_claims
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(schema=["dataset", "method"]), {})
    >>> claim = paper_claims(found)[0]
    >>> claim.verdict, "Drug was not run in full" in claim.evidence
    ('not decidable', True)
    """
    evidence = Evidence(found)
    return [claim(evidence) for claim in (*_RESULTS_CLAIMS, *APPENDIX_CLAIMS)]
