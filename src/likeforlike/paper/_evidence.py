"""What claims are decided by: parts that hold, do not hold, or cannot be separated from noise.

A claim over several data sets has one part for each. A part holds, or does not, when a difference
is more than three standard errors over runs away from its limit, or when at least 95% or at most 5%
of draws of runs say so (`resampled`); anything else, a data set that was not run included, is open.
Hypervolumes have to differ both by steps and by lines between neighbors on the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from likeforlike._text import counted
from likeforlike.errors import InputError
from likeforlike.experiments import Sweep
from likeforlike.experiments._names import DATASET_LABELS, DISPARITY_LABELS, FAIRLEAPS
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
        """The column that holds a disparity."""
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

    Examples
    --------
    >>> from likeforlike.paper._evidence import Claim
    >>> reading, verdict = "exact, W_1", "reproduced"
    >>> claim = Claim("FairBiT leads", "Results", "", {reading: verdict}, {reading: ""})
    >>> claim.verdict
    'reproduced'
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
    """The verdict on a claim that needs all its parts; some of them make it true in part."""
    holding, failing = (sum(part.holds is kind for part in parts) for kind in (True, False))
    if failing:
        return "partly reproduced" if holding else "not reproduced"
    return "reproduced" if holding == len(parts) else "not decidable"


def mostly(parts: Sequence[EvidencePart]) -> Verdict:
    """The verdict on a claim that something is generally so: in more than half of its parts."""
    holding, failing = (sum(part.holds is kind for part in parts) for kind in (True, False))
    if 2 * holding > len(parts):
        return "reproduced"
    return "not reproduced" if 2 * failing >= len(parts) else "not decidable"


def somewhere(parts: Sequence[EvidencePart]) -> Verdict:
    """The verdict on a claim that something is so somewhere: in at least one of its parts."""
    if any(part.holds for part in parts):
        return "reproduced"
    return "not reproduced" if all(part.holds is False for part in parts) else "not decidable"


def seen_in(parts: Sequence[EvidencePart]) -> str:
    """What was seen in the parts of a claim; of many parts only those that fail are shown."""
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


def named(panel: Resampled) -> str:
    """Data set and disparity, as people write them."""
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
    points = f"{counted(int(unbeaten[0].sum()), 'point')}, {real} with a cut above a tenth"
    return EvidencePart(holds, f"{named(panel)}: {method} {points} ({share:.0%} of draws)")


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
    return EvidencePart(leading.exceeds(0.0), f"{named(panel)}: {leading}")


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
