"""The tables of `benchmarks.rivals`: the least disparity at equal AUC, and who is behind.

At an AUC a method has the least disparity of its settings that reach it, and of the mixtures of
neighboring settings that reach it just so: a mean of two models' scores has at most the mean of
their squared distances, so the straight line between two settings can be had. The mean of the
squares over the splits is compared, without small-sample bias, and its error is that of a
jackknife over the splits, which chooses settings and methods anew every time. Behind is who is
behind by more than the 95% quantile of Student's t allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from likeforlike._arrays import FloatArray

__all__ = ["SECTION", "Cut", "cuts", "section", "summary"]

SECTION = "frontier beside rivals"
"""The part of the page that is made here."""

_BELOW = (0.002, 0.005, 0.01, 0.02, 0.04)
_SIDES = {
    "ours": ("LightGBM, FairLeap", "network, FairLeap", "network, FairBiT"),
    "fairret": ("fairret",),
    "fairlearn": ("fairlearn, chances", "fairlearn, probabilities"),
}
_RIVALS = ("fairret", "fairlearn")
_OF = {"squared": "scores", "squared_of_ranks": "ranks of the scores"}

_Curves = dict[str, FloatArray]
"""AUC and squared disparity of every setting of a method, shape (splits, settings, 2)."""


@dataclass(frozen=True)
class Cut:
    """What everybody has at one AUC.

    Attributes
    ----------
    auc : that is reached at least.
    squares : {side: mean squared disparity}, `None` for a side that does not reach it.
    best : our method that has ours.
    ahead : {rival: its squares less ours}, where both reach it; where we alone do not, our best AUC
        less its best.
    errors : {rival: standard error of that}.
    critical : how many standard errors count.
    """

    auc: float
    squares: dict[str, float | None]
    best: str
    ahead: dict[str, float]
    errors: dict[str, float]
    critical: float

    def verdict(self, rival: str) -> str:
        """Whether we are ahead of a rival, level within error, or behind."""
        if self.squares[rival] is None:
            return "not reached"
        difference, error = self.ahead[rival], self.errors[rival]
        if abs(difference) <= self.critical * error:
            return "level"
        return "ahead" if difference > 0.0 else "behind"


def cuts(methods: dict[str, Any], figure: str) -> list[Cut]:
    """Everybody at AUCs below the best that anybody has on average, on one data set."""
    curves = _curves(methods, figure)
    splits = len(next(iter(curves.values())))
    critical = float(student.ppf(0.95, splits - 1)) if splits > 1 else np.inf
    found = []
    for below in _BELOW:
        squares, best = _sides(curves, below)
        rivals = [one for one in _RIVALS if squares[one] is not None]
        compare = _difference if squares["ours"] is not None else _aucs_apart
        differences = {one: compare(curves, below, one) for one in rivals}
        errors = {one: _jackknife(compare, curves, below, one, splits) for one in rivals}
        found.append(Cut(_reference(curves) - below, squares, best, differences, errors, critical))
    return found


def _curves(methods: dict[str, Any], figure: str) -> _Curves:
    """Of the splits that every method has."""
    common = sorted(set.intersection(*(set(of_split) for of_split in methods.values())), key=int)
    return {
        name: np.array([[(one["auc"], one[figure]) for one in of_split[split]] for split in common])
        for name, of_split in methods.items()
    }


def _reference(curves: _Curves) -> float:
    """The best mean AUC of all settings of all methods."""
    return max(float(curve[:, :, 0].mean(axis=0).max()) for curve in curves.values())


def _sides(curves: _Curves, below: float) -> tuple[dict[str, float | None], str]:
    """The least disparity of every side, and our best method."""
    wanted = _reference(curves) - below
    least = {name: least_at(curve.mean(axis=0), wanted) for name, curve in curves.items()}
    squares: dict[str, float | None] = {}
    for side, names in _SIDES.items():
        reached = [square for name in names if (square := least.get(name)) is not None]
        squares[side] = min(reached, default=None)
    best = next((name for name in _SIDES["ours"] if least.get(name) == squares["ours"]), "")
    return squares, best


def least_at(path: FloatArray, auc: float) -> float | None:
    """Least of a path of (AUC, square) at an AUC or above; `None` if it is never reached."""
    reached = path[:, 0] >= auc
    if not reached.any():
        return None
    least = float(path[reached, 1].min())
    crossing = np.flatnonzero(reached[1:] != reached[:-1])
    (here, of_here), (there, of_there) = path[crossing].T, path[crossing + 1].T
    share = (auc - here) / (there - here)
    return min([least, *map(float, (1.0 - share) * of_here + share * of_there)])


def _difference(curves: _Curves, below: float, rival: str) -> float:
    """Squares of a rival less ours; not a number if somebody does not reach the AUC."""
    squares, _ = _sides(curves, below)
    ours, theirs = squares["ours"], squares[rival]
    return np.nan if ours is None or theirs is None else theirs - ours


def _aucs_apart(curves: _Curves, _: float, rival: str) -> float:
    """The best mean AUC that we have less the best that a rival has."""
    best = {
        side: max(float(curves[one][:, :, 0].mean(axis=0).max()) for one in names if one in curves)
        for side, names in _SIDES.items()
        if side in ("ours", rival)
    }
    return best["ours"] - best[rival]


def _jackknife(
    compare: Callable[[_Curves, float, str], float],
    curves: _Curves,
    below: float,
    rival: str,
    splits: int,
) -> float:
    """Standard error of a difference; infinite where leaving a split out takes the AUC away."""
    if splits < 2:
        return np.inf
    without = np.array(
        [
            compare(
                {name: np.delete(curve, k, axis=0) for name, curve in curves.items()}, below, rival
            )
            for k in range(splits)
        ]
    )
    if np.isnan(without).any():
        return np.inf
    return float(np.sqrt((splits - 1) * without.var()))


def _root(square: float | None) -> str:
    return "not reached" if square is None else f"{np.sqrt(max(square, 0.0)):.4f}"


_MARKS = {"ahead": " ▲", "behind": " ▼", "level": "", "not reached": ""}


def _row(cut: Cut) -> tuple[str, ...]:
    return (
        f"{cut.auc:.4f}",
        _root(cut.squares["ours"]),
        cut.best or "none",
        *(_root(cut.squares[one]) + _MARKS[cut.verdict(one)] for one in _RIVALS),
    )


def _counted(found: dict[str, Any], figure: str) -> str:
    """How often we are ahead, level and behind, by rival, and where behind."""
    sentences = []
    for rival in _RIVALS:
        verdicts = [
            (name, cut.auc, cut.verdict(rival))
            for name, of_data in found.items()
            for cut in cuts(of_data["methods"], figure)
        ]
        count = {one: sum(said == one for *_, said in verdicts) for one in _MARKS}
        behind = [f"{name} at {auc:.3f}" for name, auc, said in verdicts if said == "behind"]
        where = f" ({'; '.join(behind)})" if behind else ""
        sentences.append(
            f"Beside {rival}, of {len(verdicts)} cuts: ahead beyond error in {count['ahead']}, "
            f"level within error in {count['level']}, behind beyond error in "
            f"{count['behind']}{where}; {rival} does not reach the AUC in {count['not reached']}."
        )
    return " ".join(sentences)


def section(found: dict[str, Any]) -> str:
    """What was found, as tables of the documentation."""
    splits = min(
        len(of_split) for of_data in found.values() for of_split in of_data["methods"].values()
    )
    lines = [f"Means of {splits} splits. " + _counted(found, "squared"), ""]
    lines += [
        "A smaller spread of all scores makes every distance between them smaller and leaves the "
        "AUC alone, so the same once more for their ranks, which it does not change. "
        + _counted(found, "squared_of_ranks")
    ]
    for name, of_data in found.items():
        lines += ["", f"**{name}**"]
        for figure, word in _OF.items():
            heading = ("AUC at least", "ours", "which", *_RIVALS)
            lines += ["", f"Disparity of the {word}:", "", "| " + " | ".join(heading) + " |"]
            lines.append("|---:|---:|---|---:|---:|")
            lines += [
                "| " + " | ".join(_row(cut)) + " |" for cut in cuts(of_data["methods"], figure)
            ]
    return "\n".join(lines)


def summary(found: dict[str, Any]) -> str:
    """What was found, as text for a terminal."""
    lines = []
    for name, of_data in found.items():
        for figure, word in _OF.items():
            lines.append(f"{name}, {word}: AUC, ours, which, {', '.join(_RIVALS)}")
            lines += ["  " + "  ".join(_row(cut)) for cut in cuts(of_data["methods"], figure)]
    return "\n".join([*lines, *(_counted(found, figure) for figure in _OF)])
