"""What panels are asked, so that claims of the paper can be decided.

A *panel* is a data set seen by one disparity. A *cut* is the share of the disparity of no
regularization that is gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likeforlike.experiments._names import DATASET_LABELS
from likeforlike.paper._evidence import (
    PROPOSED,
    SLIGHT,
    EvidencePart,
    ahead,
    below,
    close_to_frontier,
    named,
    on_frontier,
    together,
)
from likeforlike.paper._resampled import Resampled, RunMean

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
    """The same of each proposed method."""

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
    return EvidencePart(holds(best), f"{named(panel)}: largest cut {best}")


def affordable_cuts_are_small(panel: Resampled) -> list[EvidencePart]:
    """Whether each proposed method cuts less than half for a loss of at most a tenth.

    Without a bound on the loss any method cuts everything: its strongest models are constant.
    """
    parts = []
    for name in PROPOSED:
        cuts, loss = panel.cuts(name), panel.relative_loss(name)
        best = panel.estimate(np.where(loss <= SLIGHT, cuts, 0.0).max(axis=1))
        parts.append(EvidencePart(below(best, 0.5), f"{named(panel)}: {name} {best}"))
    return parts


def repair_cuts_little(panel: Resampled) -> EvidencePart:
    """Whether repair cuts less than half however far it goes, A being among the inputs."""
    best = panel.estimate(panel.cuts("repair").max(axis=1))
    blind = ""
    if "repair, A unseen" in panel.methods:
        unseen = panel.estimate(panel.cuts("repair, A unseen").max(axis=1))
        blind = f" ({unseen} with A out of the inputs)"
    return EvidencePart(below(best, 0.5), f"{named(panel)}: largest cut {best}{blind}")


def repair_loses_little(panel: Resampled) -> EvidencePart:
    """Whether repair loses less than a tenth, however far it goes."""
    worst = panel.estimate(panel.relative_loss("repair").max(axis=1))
    return EvidencePart(below(worst, SLIGHT), f"{named(panel)}: largest loss {worst}")


def spans_wide_range(panel: Resampled) -> list[EvidencePart]:
    """Whether cuts go from nearly nothing to more than half, with strengths in between."""
    parts = []
    for name in PROPOSED:
        cuts = panel.cuts(name)
        span = panel.estimate(cuts.max(axis=1) - cuts.min(axis=1))
        between = int(((cuts[0] > SLIGHT) & (cuts[0] < 1 - SLIGHT)).sum())
        seen = f"{named(panel)}: {name} spans {span}, {between} strengths between"
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
            EvidencePart(holds, f"{named(panel)}: {name} loss {loss}, cut {cut}{_hard(panel)}")
        )
    return parts


def _hard(panel: Resampled) -> str:
    """The same of decisions in the place of probabilities, which is all that fairlearn gives."""
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
        parts.append(EvidencePart(more.exceeds(0.0), f"{named(panel)}, against {name}: {more}"))
    return parts


def is_at_parity(panel: Resampled) -> EvidencePart:
    """Whether legitimate only has no disparity."""
    gap = float(panel.gaps[0, panel.of("legitimate only")[0]])
    return EvidencePart(gap < _NOTHING, f"{named(panel)}: {gap:.1e}")


def loses_performance(panel: Resampled) -> EvidencePart:
    """Whether legitimate only predicts worse than no regularization."""
    lost = panel.estimate(panel.legitimate_loss - panel.free[0])
    return EvidencePart(lost.exceeds(0.0), f"{DATASET_LABELS[panel.dataset]}: {lost}")
