"""The claims of the paper, each with the question that decides it.

What the paper says, and where, is in `claims.toml`; here is how each claim is decided. A claim is
asked of *panels*, a data set seen by one disparity, and holds if all of its parts do, or most of
them where the paper says so. What vague words are taken to mean is said in each claim's evidence:
*generally* is more than half of the panels, a trade-off is *better* when its normalized hypervolume
is larger, by steps and by lines, *loss* is the way from no regularization (0) to legitimate only
(1), and a *cut* is the share of the disparity of no regularization that is gone. Every claim is
decided under three readings of the paper (`READINGS`). What the paper's tables contradict is no
claim of its; that is in `inconsistencies`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any

from likeforlike.experiments._names import CLASSIFICATION, PAPER_DATASETS, REGRESSION
from likeforlike.paper._comparison import stands_for
from likeforlike.paper._evidence import (
    PROPOSED,
    READINGS,
    RIVALS,
    Claim,
    Evidence,
    EvidencePart,
    Verdict,
    every,
    mostly,
    seen_in,
    somewhere,
)
from likeforlike.paper._questions import (
    Question,
    adversaries_are_poor,
    adversaries_cut_less,
    affordable_cuts_are_small,
    comes_close,
    dcfr_is_beaten,
    each_lags,
    each_leads,
    is_at_parity,
    largest_cut,
    leads,
    loses_performance,
    reaches_frontier,
    repair_cuts_little,
    repair_loses_little,
    spans_wide_range,
    wasserstein_errs_more,
)
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import FEWEST_RUNS

_TEN_MINUTES = 600.0
_TASKS = {"all": PAPER_DATASETS, "classification": CLASSIFICATION, "regression": REGRESSION}


@dataclass(frozen=True, slots=True)
class Words:
    """A claim as `claims.toml` has it.

    Attributes
    ----------
    said, where : the claim, and its place in the paper.
    meaning : what is looked at, and what vague words are taken to mean.
    datasets, disparities : the panels that are asked, if any are.
    judge : `"every"`, `"mostly"` or `"somewhere"`: how many of its parts must hold.
    """

    said: str
    where: str
    meaning: str
    datasets: Sequence[str] = ()
    disparities: Sequence[str] = ()
    judge: str = "every"

    @classmethod
    def read(cls, entry: dict[str, Any]) -> Words:
        """From an entry of the file, with names of tasks spelled out."""
        datasets = entry.get("datasets", ())
        return cls(
            **entry | {"datasets": _TASKS[datasets] if datasets in list(_TASKS) else datasets}
        )


@cache
def claim_words() -> dict[str, Words]:
    """All claims by a name, in the order of the paper."""
    text = (resources.files("likeforlike.paper") / "claims.toml").read_text("utf-8")
    return {name: Words.read(entry) for name, entry in tomllib.loads(text).items()}


# Questions that are not about panels --------------------------------------------------------------


def _timed(
    evidence: Evidence, *, methods: tuple[str, ...], holds: Callable[[float], bool]
) -> list[EvidencePart]:
    """Seconds of the slowest of some methods on Law School."""
    panel = evidence.panel("law_school", "cdd_wass")
    seconds = evidence.seconds_a_model("law_school")
    ours = [stands_for(name, "law_school", evidence.reading.way) for name in methods]
    known = {name: seconds[name] for name in ours if name in seconds}
    if panel is None or not known:
        return [EvidencePart(None, "Law School was not run in full")]
    slowest = max(known, key=known.__getitem__)
    # A quick look trains few epochs on few runs, and its times say nothing.
    verdict = holds(known[slowest]) if panel.runs >= FEWEST_RUNS else None
    return [EvidencePart(verdict, f"{slowest}: {known[slowest]:.1f} s a model")]


# All of them --------------------------------------------------------------------------------------

# What each panel of a claim is asked.
_ASKED: dict[str, Question] = {
    "better_than_rivals": leads(PROPOSED, *RIVALS),
    "always_on_the_frontier": reaches_frontier(*PROPOSED),
    "fairbit_on_the_frontier": reaches_frontier("FairBiT"),
    "fairbit_outperforms": leads("FairBiT", *PROPOSED[1:], *RIVALS),
    "fairleap_on_the_frontier": reaches_frontier("FairLeap, uniform"),
    "all_among_the_best": each_leads(*RIVALS),
    "wide_range": spans_wide_range,
    "adversarial_is_poor": adversaries_are_poor,
    "adversarial_on_communities": adversaries_cut_less,
    "repair_keeps_performance": repair_loses_little,
    "repair_fails_to_enforce": repair_cuts_little,
    "dcfr_on_law_school": reaches_frontier("DCFR"),
    "dcfr_elsewhere": dcfr_is_beaten,
    "wasserstein_enforces_in_regression": partial(
        largest_cut, method="Wasserstein", holds=lambda cut: cut.exceeds(0.5)
    ),
    "wasserstein_errs_more_in_regression": wasserstein_errs_more,
    "wasserstein_is_close_in_classification": comes_close("Wasserstein"),
    "wasserstein_is_worse_in_classification": each_leads("Wasserstein"),
    "legitimate_only_is_at_parity": is_at_parity,
    "legitimate_only_loses_performance": loses_performance,
    "better_than_rivals_by_other_measures": leads(PROPOSED, *RIVALS),
    "wasserstein_is_best_by_dd": leads(
        "Wasserstein", *PROPOSED, *(name for name in RIVALS if name != "Wasserstein")
    ),
    "dcfr_by_dd": reaches_frontier("DCFR"),
    "proposed_lag_by_dd": each_lags,
    "proposed_do_little_for_dd": affordable_cuts_are_small,
    "proposed_are_close_by_dd": comes_close(*PROPOSED),
}
# What is asked of everything that was run.
_LOOKED_UP: dict[str, Callable[[Evidence], list[EvidencePart]]] = {
    "others_take_minutes": partial(
        _timed,
        methods=(*PROPOSED[1:], *RIVALS),
        holds=lambda seconds: seconds < _TEN_MINUTES,
    ),
}


_JUDGES = {"every": every, "mostly": mostly, "somewhere": somewhere}


def _decided(name: str, words: Words, readings: Mapping[str, Evidence]) -> Claim:
    """A claim with its verdict under every reading."""
    verdicts: dict[str, Verdict] = {}
    seen: dict[str, str] = {}
    for reading, evidence in readings.items():
        if name in _LOOKED_UP:
            parts = _LOOKED_UP[name](evidence)
        else:
            parts = evidence.parts(words.datasets, words.disparities, _ASKED[name])
        verdicts[reading], seen[reading] = _JUDGES[words.judge](parts), seen_in(parts)
    return Claim(words.said, words.where, words.meaning, verdicts, seen)


def paper_claims(reproduction: Reproduction) -> list[Claim]:
    """All claims of the paper with their verdicts, in its order.

    Parameters
    ----------
    reproduction : all of it or a part; what was not run cannot be decided.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction, paper_claims
    >>> names = ["no regularization", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> reproduction = Reproduction(runs, pl.DataFrame(schema=["dataset", "method"]), {})
    >>> claim = paper_claims(reproduction)[0]
    >>> claim.verdict, "Drug was not run in full" in claim.evidence["exact, W_1"]
    ('not decidable', True)
    """
    readings = {reading.name: Evidence(reproduction, reading) for reading in READINGS}
    return [_decided(name, words, readings) for name, words in claim_words().items()]
