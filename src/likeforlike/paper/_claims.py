"""The claims of the paper, each with the question that decides it.

What the paper says, and where, is in `claims.toml`; here is how each claim is decided. A claim is
asked of *panels*, a data set seen by one disparity, and holds if all of its parts do, or most of
them where the paper says so. What vague words are taken to mean is said in each claim's evidence:
*generally* is more than half of the panels, a trade-off is *better* when its normalized hypervolume
is larger, by steps and by lines, *loss* is the way from no regularization (0) to legitimate only
(1), and a *cut* is the share of the disparity of no regularization that is gone. Every claim is
decided under three readings of the paper (`READINGS`). What the paper's tables contradict is no
claim of its; that is in `inconsistencies`.

A claim over several data sets has one part for each. A part holds, or does not, when a difference
is more than three standard errors over runs away from its limit, or when at least 95% or at most 5%
of draws of runs say so (`resampled`); anything else cannot be separated from noise and is open, as
is a data set that was not run. Hypervolumes have to differ both by steps and by lines between
neighbors on the frontier.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from likeforlike._text import plural
from likeforlike.errors import InputError
from likeforlike.experiments import (
    CLASSIFICATION,
    DATASET_LABELS,
    DISPARITY_LABELS,
    FAIRLEAPS,
    PAPER_DATASETS,
    REGRESSION,
    Sweep,
)
from likeforlike.paper._comparison import stands_for
from likeforlike.paper._protocol import PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import FEWEST_RUNS, Resampled, RunMean, resample

Verdict = Literal["reproduced", "partly reproduced", "not reproduced", "not decidable"]
"""What is said of a claim."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the paper is taken when a claim is decided.

    Attributes
    ----------
    name : as pages call it.
    way : how runs of ours stand for its methods (`comparison.WAYS`).
    squared : whether CDD-lp is W_2², as its tables seem to have it, or W_1, as its text says.
    """

    name: str
    way: str
    squared: bool

    def disparity(self, name: str) -> str:
        """Return the name of the column that holds a disparity."""
        return name.replace("cdd_", "w2sq_") if self.squared and name != "cdd_wass" else name


READINGS = (
    Reading("exact, W_1", "exact", squared=False),
    Reading("exact, W_2²", "exact", squared=True),
    Reading("to the letter, W_2²", "to the letter", squared=True),
)
"""Claims are decided in all of these: with exact transport in the unit of the text and in that of
the tables, and with the paper's own regularizers."""

PROPOSED = ("FairBiT", *FAIRLEAPS)
"""The paper's own methods."""

RIVALS = ("DCFR", "adversarial, CDP", "adversarial, DP", "repair", "Wasserstein")
"""What the paper compares them with."""

CONTENDERS = (*PROPOSED, *RIVALS, "no regularization")
"""Everything in the paper's main figure, which leaves legitimate only out."""

SLIGHT = 0.1
"""A tenth: what is less than that is taken for slight, or close."""

# Shown in the evidence of some claims, and part of none.
_OTHERS = ("repair, A unseen", "fairlearn, hard", "fairlearn", "adversarial, CDP, hard")
_SURE = 0.95
_LISTED = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and what became of it.

    Attributes
    ----------
    said : the claim, quoted or in short.
    where : in the paper.
    meaning : what is looked at, and what vague words are taken to mean.
    verdicts : by the name of a reading: `"reproduced"`, `"partly reproduced"`, `"not reproduced"`
        or `"not decidable"`.
    evidence : by the name of a reading, what was measured.
    """

    said: str
    where: str
    meaning: str
    verdicts: dict[str, Verdict]
    evidence: dict[str, str]

    @property
    def verdict(self) -> Verdict:
        """That of the first reading."""
        return next(iter(self.verdicts.values()))

    @property
    def depends(self) -> bool:
        """Whether readings lead to different verdicts."""
        return len(set(self.verdicts.values())) > 1


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """A part of a claim.

    Attributes
    ----------
    holds : whether it does; `None` if that is open.
    seen : what was measured.
    """

    holds: bool | None
    seen: str


Judge = Callable[[Sequence[EvidencePart]], Verdict]
"""From the parts of a claim to a verdict."""


def every(parts: Sequence[EvidencePart]) -> Verdict:
    """Judge a claim that needs all its parts; some of them make it true in part."""
    holding, failing = (sum(part.holds is kind for part in parts) for kind in (True, False))
    if failing:
        return "partly reproduced" if holding else "not reproduced"
    return "reproduced" if holding == len(parts) else "not decidable"


def mostly(parts: Sequence[EvidencePart]) -> Verdict:
    """Judge a claim that something is generally so: in more than half of its parts."""
    holding, failing = (sum(part.holds is kind for part in parts) for kind in (True, False))
    if 2 * holding > len(parts):
        return "reproduced"
    return "not reproduced" if 2 * failing >= len(parts) else "not decidable"


def somewhere(parts: Sequence[EvidencePart]) -> Verdict:
    """Judge a claim that something is so somewhere: in at least one of its parts."""
    if any(part.holds for part in parts):
        return "reproduced"
    return "not reproduced" if all(part.holds is False for part in parts) else "not decidable"


def summarize_parts(parts: Sequence[EvidencePart]) -> str:
    """Say what was seen in the parts of a claim; of many parts show only those that fail."""
    shown = [part.seen for part in parts]
    counts = ""
    if len(parts) > _LISTED:
        kinds = [sum(part.holds is kind for part in parts) for kind in (True, False, None)]
        shown = [part.seen for part in parts if part.holds is False]
        counts = f"Holds in {kinds[0]} of {len(parts)}, fails in {kinds[1]}, open in {kinds[2]}"
        counts += ". Fails: " if shown else ""
    return f"{counts}{'; '.join(dict.fromkeys(shown))}."


def together(*signs: bool | None) -> bool | None:
    """Whether all hold; one that does not is enough to know."""
    if False in signs:
        return False
    return None if None in signs else True


class Evidence:
    """Measured runs under one reading of the paper, ready to be asked."""

    def __init__(self, reproduction: Reproduction, reading: Reading = READINGS[0]) -> None:
        self.reproduction, self.reading = reproduction, reading
        self._panels: dict[tuple[str, str], Resampled | None] = {}

    def panel(self, dataset: str, disparity: str) -> Resampled | None:
        """Means of a data set with all the paper's methods; `None` if it was not run in full."""
        key = dataset, disparity
        if key not in self._panels:
            self._panels[key] = self._made(dataset, disparity)
        return self._panels[key]

    def _made(self, dataset: str, disparity: str) -> Resampled | None:
        sweep, column = self.reproduction.of(dataset), self.reading.disparity(disparity)
        names = [method.name for method in PAPER_METHODS]
        more = [name for name in _OTHERS if name in set(sweep.runs["method"])]
        stood = {name: stands_for(name, dataset, self.reading.way) for name in names}
        if not set(stood.values()) <= set(sweep.runs["method"]) or column not in sweep.measured:
            return None
        runs = [
            sweep.runs.filter(pl.col("method") == ours).with_columns(pl.lit(name).alias("method"))
            for name, ours in (*stood.items(), *zip(more, more, strict=True))
        ]
        try:
            return resample(Sweep(pl.concat(runs), sweep.task), column, dataset)
        except InputError:  # no seed that all methods share
            return None

    def parts(
        self,
        datasets: Iterable[str],
        disparities: Iterable[str],
        ask: Callable[[Resampled], EvidencePart | list[EvidencePart]],
    ) -> list[EvidencePart]:
        """Ask each panel; what was not run is open."""
        wanted = tuple(disparities)
        answers: list[EvidencePart] = []
        for dataset in datasets:
            for disparity in wanted:
                panel = self.panel(dataset, disparity)
                if panel is None:
                    answers.append(
                        EvidencePart(None, f"{DATASET_LABELS[dataset]} was not run in full")
                    )
                else:
                    answer = ask(panel)
                    answers += answer if isinstance(answer, list) else [answer]
        return answers

    def seconds_a_model(self, dataset: str) -> dict[str, float]:
        """Seconds of training and measuring for one model of each method."""
        times = self.reproduction.times.filter(pl.col("dataset") == dataset)
        return {row["method"]: row["seconds"] / row["runs"] for row in times.to_dicts()}


def panel_name(panel: Resampled) -> str:
    """Name the data set and the disparity of a panel by their labels."""
    return f"{DATASET_LABELS[panel.dataset]}, {DISPARITY_LABELS[panel.disparity]}"


def on_frontier(panel: Resampled, method: str) -> EvidencePart:
    """Whether a method has points on the frontier of the paper's methods."""
    unbeaten = panel.on_frontier(method, CONTENDERS)
    share = float(unbeaten[1:].any(axis=1).mean())
    holds: bool | None = None
    if panel.runs >= FEWEST_RUNS and not 1.0 - _SURE < share < _SURE:
        holds = share >= _SURE
    # Where nothing is cut yet a method is no regularization under another name.
    real = int((unbeaten[0] & (panel.cuts(method)[0] > SLIGHT)).sum())
    points = f"{plural(int(unbeaten[0].sum()), 'point')}, {real} with a cut above a tenth"
    return EvidencePart(holds, f"{panel_name(panel)}: {method} {points} ({share:.0%} of draws)")


@dataclass(frozen=True, slots=True)
class Lead:
    """By how much one hypervolume is larger than another, by steps and by lines.

    Attributes
    ----------
    steps, lines : differences; where strengths lie matters more for the first.
    """

    steps: RunMean
    lines: RunMean

    def exceeds(self, limit: float) -> bool | None:
        """Whether both are above a limit, or both are not; `None` if they do not agree."""
        signs = self.steps.exceeds(limit), self.lines.exceeds(limit)
        return signs[0] if signs[0] is signs[1] else None

    def __str__(self) -> str:
        return f"{self.steps} (lines {self.lines})"


def lead(panel: Resampled, ours: tuple[str, ...], others: tuple[str, ...]) -> Lead:
    """Hypervolume of the best of some methods less that of the best of others."""
    steps = panel.best_volumes(ours) - panel.best_volumes(others)
    lines = panel.best_volumes(ours, "lines") - panel.best_volumes(others, "lines")
    return Lead(panel.estimate(steps), panel.estimate(lines))


def ahead(panel: Resampled, method: str | tuple[str, ...], others: tuple[str, ...]) -> EvidencePart:
    """Whether a method, or the best of several, has more hypervolume than the best of others."""
    leading = lead(panel, (method,) if isinstance(method, str) else method, others)
    return EvidencePart(leading.exceeds(0.0), f"{panel_name(panel)}: {leading}")


def close_to_frontier(panel: Resampled, method: str) -> EvidencePart:
    """Whether a method is on the frontier, or its hypervolume nearly the largest."""
    part = on_frontier(panel, method)
    short = lead(panel, (*PROPOSED, *RIVALS), (method,))
    signs = part.holds, below(short, SLIGHT)
    holds = True if True in signs else (None if None in signs else False)
    return EvidencePart(holds, f"{part.seen}, {short} short of the largest hypervolume")


def below(figure: RunMean | Lead, limit: float) -> bool | None:
    """Whether a figure is below a limit; `None` if runs do not tell."""
    above = figure.exceeds(limit)
    return None if above is None else not above


Question = Callable[[Resampled], EvidencePart | list[EvidencePart]]
"""What a panel is asked; the answer may have several parts."""

_NOTHING = 1e-6


def reaches_frontier(*methods: str) -> Question:
    """Whether methods have points on the frontier."""
    return lambda panel: [on_frontier(panel, name) for name in methods]


def comes_close(*methods: str) -> Question:
    """Whether methods are on the frontier, or their hypervolume is nearly the largest."""
    return lambda panel: [close_to_frontier(panel, name) for name in methods]


def leads(method: str | tuple[str, ...], *others: str) -> Question:
    """Whether a method, or the best of several, has more hypervolume than the best of others."""
    return lambda panel: ahead(panel, method, others)


def each_leads(*others: str) -> Question:
    """Ask whether each proposed method has more hypervolume than the best of others."""

    def ask(panel: Resampled) -> list[EvidencePart]:
        parts = [(name, ahead(panel, name, others)) for name in PROPOSED]
        return [EvidencePart(part.holds, f"{name} on {part.seen}") for name, part in parts]

    return ask


def each_lags(panel: Resampled) -> list[EvidencePart]:
    """Whether each proposed method has less hypervolume than Wasserstein regularization."""
    parts = [(name, ahead(panel, "Wasserstein", (name,))) for name in PROPOSED]
    return [EvidencePart(part.holds, f"{name} on {part.seen}") for name, part in parts]


def largest_cut(
    panel: Resampled, method: str, holds: Callable[[RunMean], bool | None]
) -> EvidencePart:
    """Whether the largest cut of a method is what it should be."""
    best = panel.estimate(panel.cuts(method).max(axis=1))
    return EvidencePart(holds(best), f"{panel_name(panel)}: largest cut {best}")


def affordable_cuts_are_small(panel: Resampled) -> list[EvidencePart]:
    """Whether each proposed method cuts less than half for a loss of at most a tenth.

    Without a bound on the loss any method cuts everything: its strongest models are constant.
    """
    parts = []
    for name in PROPOSED:
        cuts, loss = panel.cuts(name), panel.relative_loss(name)
        best = panel.estimate(np.where(loss <= SLIGHT, cuts, 0.0).max(axis=1))
        parts.append(EvidencePart(below(best, 0.5), f"{panel_name(panel)}: {name} {best}"))
    return parts


def repair_cuts_little(panel: Resampled) -> EvidencePart:
    """Whether repair cuts less than half however far it goes, A being among the inputs."""
    best = panel.estimate(panel.cuts("repair").max(axis=1))
    blind = ""
    if "repair, A unseen" in panel.methods:
        unseen = panel.estimate(panel.cuts("repair, A unseen").max(axis=1))
        blind = f" ({unseen} with A out of the inputs)"
    return EvidencePart(below(best, 0.5), f"{panel_name(panel)}: largest cut {best}{blind}")


def repair_loses_little(panel: Resampled) -> EvidencePart:
    """Whether repair loses less than a tenth, however far it goes."""
    worst = panel.estimate(panel.relative_loss("repair").max(axis=1))
    return EvidencePart(below(worst, SLIGHT), f"{panel_name(panel)}: largest loss {worst}")


def spans_wide_range(panel: Resampled) -> list[EvidencePart]:
    """Whether cuts go from nearly nothing to more than half, with strengths in between."""
    parts = []
    for name in PROPOSED:
        cuts = panel.cuts(name)
        span = panel.estimate(cuts.max(axis=1) - cuts.min(axis=1))
        between = int(((cuts[0] > SLIGHT) & (cuts[0] < 1 - SLIGHT)).sum())
        seen = f"{panel_name(panel)}: {name} spans {span}, {between} strengths between"
        parts.append(EvidencePart(span.exceeds(0.5), seen))
    return parts


def adversaries_are_poor(panel: Resampled) -> list[EvidencePart]:
    """Whether both versions lose performance and gain nothing."""
    parts = []
    for name in ("adversarial, CDP", "adversarial, DP"):
        loss = panel.estimate(panel.relative_loss(name)[:, 0])
        cut = panel.estimate(panel.cuts(name)[:, 0])
        holds = together(loss.exceeds(SLIGHT), below(cut, SLIGHT))
        parts.append(
            EvidencePart(holds, f"{panel_name(panel)}: {name} loss {loss}, cut {cut}{_hard(panel)}")
        )
    return parts


def _hard(panel: Resampled) -> str:
    """State loss and cut of decisions, all that fairlearn gives, in the place of probabilities."""
    name = "fairlearn, hard"
    if name not in panel.methods:
        return ""
    loss = panel.estimate(panel.relative_loss(name)[:, 0])
    cut = panel.estimate(panel.cuts(name)[:, 0])
    return f" (fairlearn's decisions: loss {loss}, cut {cut})"


def adversaries_cut_less(panel: Resampled) -> list[EvidencePart]:
    """Whether both cut, but less than the proposed methods do for the same error."""
    parts = []
    for name in ("adversarial, CDP", "adversarial, DP"):
        cut = panel.estimate(panel.cuts(name)[:, 0])
        place = panel.of(name)[0]
        least = [panel.least_gap(method, panel.loss[:, place]) for method in PROPOSED]
        excess = [panel.estimate(panel.gaps[:, place] - gap) for gap in least]
        words = ", ".join(f"{method} {one}" for method, one in zip(PROPOSED, excess, strict=True))
        parts += [
            EvidencePart(cut.exceeds(0.0), f"{name} cut {cut}"),
            EvidencePart(
                together(*(one.exceeds(0.0) for one in excess)),
                f"{name} less the least disparity at its error: {words}",
            ),
        ]
    return parts


def dcfr_is_beaten(panel: Resampled) -> EvidencePart:
    """Whether DCFR has no points on the frontier."""
    part = on_frontier(panel, "DCFR")
    return EvidencePart(None if part.holds is None else not part.holds, part.seen)


def wasserstein_errs_more(panel: Resampled) -> list[EvidencePart]:
    """Whether its error is larger for the same cuts, by a quarter, a half and three quarters."""
    cuts = (0.25, 0.5, 0.75)
    rival = np.mean([panel.least_loss("Wasserstein", cut) for cut in cuts], axis=0)
    parts = []
    for name in PROPOSED:
        ours = np.mean([panel.least_loss(name, cut) for cut in cuts], axis=0)
        more = panel.estimate((rival - ours) / panel.free[0])
        parts.append(
            EvidencePart(more.exceeds(0.0), f"{panel_name(panel)}, against {name}: {more}")
        )
    return parts


def is_at_parity(panel: Resampled) -> EvidencePart:
    """Whether legitimate only has no disparity."""
    gap = float(panel.gaps[0, panel.of("legitimate only")[0]])
    return EvidencePart(gap < _NOTHING, f"{panel_name(panel)}: {gap:.1e}")


def loses_performance(panel: Resampled) -> EvidencePart:
    """Whether legitimate only predicts worse than no regularization."""
    lost = panel.estimate(panel.legitimate_loss - panel.free[0])
    return EvidencePart(lost.exceeds(0.0), f"{DATASET_LABELS[panel.dataset]}: {lost}")


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


def _slowest_time(
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
        _slowest_time,
        methods=(*PROPOSED[1:], *RIVALS),
        holds=lambda seconds: seconds < _TEN_MINUTES,
    ),
}


_JUDGES = {"every": every, "mostly": mostly, "somewhere": somewhere}


def _decide_claim(name: str, words: Words, readings: Mapping[str, Evidence]) -> Claim:
    """Decide a claim under every reading."""
    verdicts: dict[str, Verdict] = {}
    seen: dict[str, str] = {}
    for reading, evidence in readings.items():
        if name in _LOOKED_UP:
            parts = _LOOKED_UP[name](evidence)
        else:
            parts = evidence.parts(words.datasets, words.disparities, _ASKED[name])
        verdicts[reading], seen[reading] = _JUDGES[words.judge](parts), summarize_parts(parts)
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
    return [_decide_claim(name, words, readings) for name, words in claim_words().items()]
