"""Means over runs, drawn again: what is on a frontier, how large it is, and how sure that is.

Run k has the same split for every method, so differences between methods are taken within runs:
runs are drawn with replacement, all methods together, and whatever is computed from means is
computed for every draw. Row 0 of every array is what was measured, the others are draws.

Whether our frontiers are larger than the paper's is asked of single methods, since a union of
methods has a larger frontier than each of them: our FairLeap is compared with each of the paper's,
our FairBiT with the paper's, and the better of our two with the best of the paper's four. All have
ten strengths, but not at the same places, and a frontier of steps is larger where strengths lie
closer. So every figure is given twice: by steps, and by straight lines between neighbors on the
frontier. What the two do not agree on is a matter of where strengths were tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.experiments import FAIRLEAPS, Sweep
from likeforlike.paper._reproduction import Reproduction

DRAWS = 500
"""How often runs are drawn."""

STANDARD_ERRORS = 3.0
"""A difference counts when it is more than this many standard errors from 0."""

FEWEST_RUNS = 5
"""With fewer runs nothing is decided."""

Between = Literal["steps", "lines"]
"""How a frontier goes from one setting to the next."""


@dataclass(frozen=True, slots=True)
class RunMean:
    """A mean over runs and its standard error.

    Attributes
    ----------
    value, error : the figure, and its standard error (nan for one run).
    runs : how many.
    """

    value: float
    error: float
    runs: int

    def exceeds(self, limit: float) -> bool | None:
        """Whether the figure is above a limit; `None` if runs do not tell."""
        if self.runs < FEWEST_RUNS or not math.isfinite(self.value):
            return None
        margin = STANDARD_ERRORS * self.error
        if self.value - margin > limit:
            return True
        return False if self.value + margin < limit else None

    def __str__(self) -> str:
        error = f" ± {self.error:.3f}" if math.isfinite(self.error) else ""
        return f"{self.value:+.3f}{error}"


@dataclass(frozen=True)
class Resampled:
    """Mean loss and mean disparity of every setting on one data set.

    Attributes
    ----------
    dataset, disparity : which.
    methods : method of each of the k settings.
    loss : (1 + b, k) floats, 1 - AUC or the mean squared error; less is better.
    gaps : (1 + b, k) floats, the disparity.
    runs : how many runs the means are over.
    """

    dataset: str
    disparity: str
    methods: tuple[str, ...]
    loss: FloatArray
    gaps: FloatArray
    runs: int

    def of(self, *methods: str) -> IntArray:
        """Positions of the settings of some methods."""
        wanted = set(methods)
        places = [k for k, method in enumerate(self.methods) if method in wanted]
        if not places:
            raise InputError(f"{self.dataset} has no runs of {' or '.join(methods)}.")
        return np.asarray(places, dtype=np.int64)

    @property
    def free(self) -> tuple[FloatArray, FloatArray]:
        """Cost and disparity, (1 + b,) each, of no regularization."""
        place = self.of("no regularization")[0]
        return self.loss[:, place], self.gaps[:, place]

    @property
    def legitimate_loss(self) -> FloatArray:
        """Cost, (1 + b,), of the model that sees the level only."""
        loss: FloatArray = self.loss[:, self.of("legitimate only")[0]]
        return loss

    def relative_loss(self, *methods: str) -> FloatArray:
        """Loss of performance, (1 + b, m): 0 is no regularization, 1 is legitimate only."""
        free = self.free[0][:, None]
        span = self.legitimate_loss[:, None] - free
        return _ratio(self.loss[:, self.of(*methods)] - free, span)

    def cuts(self, *methods: str) -> FloatArray:
        """Share of the disparity of no regularization that is gone, (1 + b, m)."""
        return 1.0 - _ratio(self.gaps[:, self.of(*methods)], self.free[1][:, None])

    def on_frontier(self, method: str, among: tuple[str, ...]) -> BoolArray:
        """Which settings of a method no setting of `among` beats, (1 + b, m)."""
        places, all_ = self.of(method), self.of(*among)
        loss, gaps = self.loss[:, places, None], self.gaps[:, places, None]
        others, their_gaps = self.loss[:, None, all_], self.gaps[:, None, all_]
        no_worse = (others <= loss) & (their_gaps <= gaps)
        better = (others < loss) | (their_gaps < gaps)
        return np.asarray(~(no_worse & better).any(axis=2), dtype=np.bool_)

    def volumes(self, *methods: str, between: Between = "steps") -> FloatArray:
        """Compute normalized hypervolumes of the frontier of some methods, (1 + b,), in [0, 1].

        The area between the frontier and the reference point (loss of legitimate only, 1.1 times
        the disparity of no regularization), divided by the area up to the point (least loss of all
        methods, no disparity). The reference moves with the draw, as the difficulty of a split
        does.
        """
        places = self.of(*methods)
        far, top = self.legitimate_loss, 1.1 * self.free[1]
        order = np.lexsort((self.gaps[:, places], self.loss[:, places]), axis=1)
        loss = np.take_along_axis(self.loss[:, places], order, axis=1)
        gaps = np.take_along_axis(self.gaps[:, places], order, axis=1)
        area = _area(loss, gaps, far, top, between)
        return _ratio(area, (far - self.loss.min(axis=1)) * top)

    def best_volumes(self, methods: tuple[str, ...], between: Between = "steps") -> FloatArray:
        """Find the largest volume of single methods, (1 + b,), in every draw."""
        best: FloatArray = np.max(
            [self.volumes(method, between=between) for method in methods], axis=0
        )
        return best

    def least_loss(self, method: str, cut: float) -> FloatArray:
        """Least loss, (1 + b,), of cutting the disparity by a share.

        Legitimate only, which has none, is there for those who cannot.
        """
        places = self.of(method)
        enough = self.cuts(method) >= cut
        loss = np.where(enough, self.loss[:, places], np.inf).min(axis=1)
        least: FloatArray = np.minimum(loss, self.legitimate_loss)
        return least

    def least_gap(self, method: str, loss: FloatArray) -> FloatArray:
        """Least disparity, (1 + b,), that a method, or none, has for at most a loss (1 + b,)."""
        places = self.of(method, "no regularization")
        affordable = self.loss[:, places] <= loss[:, None]
        gaps: FloatArray = np.where(affordable, self.gaps[:, places], np.inf).min(axis=1)
        return gaps

    def estimate(self, values: npt.NDArray[np.generic]) -> RunMean:
        """Return the measured figure, and the spread of its draws as a standard error."""
        drawn = np.asarray(values, dtype=np.float64)
        if self.runs < 2 or not np.isfinite(drawn).all():
            return RunMean(float(drawn[0]), math.nan, self.runs)
        # Draws of n runs vary by (n - 1) / n of what n runs vary.
        error = float(drawn[1:].std()) * math.sqrt(self.runs / (self.runs - 1))
        return RunMean(float(drawn[0]), error, self.runs)


def _area(
    loss: FloatArray, gaps: FloatArray, far: FloatArray, top: FloatArray, between: Between
) -> FloatArray:
    """Area (r,) over the frontier of settings (r, k) sorted by loss, up to (far, top)."""
    at, low = loss[:, 0].copy(), gaps[:, 0].copy()
    area = np.zeros(len(loss))
    for next_at, next_low in zip(loss.T[1:], gaps.T[1:], strict=True):
        further = next_low < low
        end = next_low if between == "lines" else low
        area += np.where(further, _strip(at, low, next_at, end, far, top), 0.0)
        at, low = np.where(further, next_at, at), np.where(further, next_low, low)
    whole: FloatArray = area + np.maximum(far - at, 0.0) * np.maximum(top - low, 0.0)
    return whole


def _strip(
    at: FloatArray,
    low: FloatArray,
    next_at: FloatArray,
    next_low: FloatArray,
    far: FloatArray,
    top: FloatArray,
) -> FloatArray:
    """Area over a falling line from (at, low) to (next_at, next_low), up to (far, top)."""
    width, fall = next_at - at, low - next_low
    steep = np.divide(fall, width, out=np.zeros_like(fall), where=width > 0.0)
    # Where the line begins above the top nothing counts before it has come down.
    wait = np.divide(low - top, steep, out=np.zeros_like(fall), where=steep > 0.0)
    start = at + np.maximum(wait, 0.0)
    end = np.minimum(next_at, far)
    heights = [np.maximum(top - low + steep * (x - at), 0.0) for x in (start, end)]
    strip: FloatArray = np.maximum(end - start, 0.0) * (heights[0] + heights[1]) / 2.0
    return strip


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide `above` by `below`; nan where `below` is not positive."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    ratio: FloatArray = np.divide(above, below, out=np.full(shape, np.nan), where=below > 0.0)
    return ratio


def resample(sweep: Sweep, disparity: str, name: str = "") -> Resampled:
    """Means of a sweep over its runs, and over runs drawn with replacement."""
    if disparity not in sweep.measured[1:]:
        raise InputError(f"disparity must be one of {sweep.measured[1:]}, not {disparity!r}.")
    settings = sweep.runs.group_by("method", "strength", maintain_order=True).agg(
        pl.col("seed", "performance", disparity)
    )
    shared = sorted(set.intersection(*(set(seeds) for seeds in settings["seed"])))
    if not shared:
        raise InputError(f"{name or 'the sweep'} has no run that all methods share.")
    n_runs = len(shared)
    performance, gaps = (
        np.array([_align_runs(row["seed"], row[column], shared) for row in settings.to_dicts()]).T
        for column in ("performance", disparity)
    )
    draws = np.random.default_rng(0).multinomial(n_runs, np.full(n_runs, 1.0 / n_runs), DRAWS)
    weights = np.r_[np.ones((1, n_runs)), draws] / n_runs
    loss = performance if sweep.task == "regression" else 1.0 - performance
    # Not a matrix product: settings with the same figures must keep the same means to the last bit.
    losses, means = ((weights[:, :, None] * by_run).sum(axis=1) for by_run in (loss, gaps))
    if disparity == "squared":
        # Unbiased squares are averaged before the root is taken; below 0 there is no disparity.
        means = np.sqrt(np.maximum(means, 0.0))
    return Resampled(name, disparity, tuple(settings["method"]), losses, means, n_runs)


def _align_runs(seeds: list[int], values: list[float], wanted: list[int]) -> list[float]:
    known = dict(zip(seeds, values, strict=True))
    return [known[seed] for seed in wanted]


COMPARED_DISPARITIES = (
    "cdd_marginal",
    "squared",
    "w2sq_marginal",
    "w2sq_uniform",
    "cdd_uniform",
    "cdd_average",
    "cdd_wass",
    "dd",
)
"""The five disparities of the paper's figures, two of them in the unit of its tables too, and the
estimate without small-sample bias."""

_PAPER = ("FairBiT", *FAIRLEAPS)
_VARIANTS = ("", ", by batch", ", A unseen")
_FIGURES = dict.fromkeys(("volume", "error", "lines", "lines_error"), pl.Float64)
_DIFFERENCES = {
    "difference": pl.Float64,
    "error": pl.Float64,
    "larger": pl.Boolean,
    "lines": pl.Float64,
    "lines_error": pl.Float64,
    "lines_larger": pl.Boolean,
}


def hypervolumes(found: Reproduction | Sweep) -> pl.DataFrame:
    """Compute the normalized hypervolume of every method, data set and disparity; more is better.

    The reference point is the loss of legitimate only and 1.1 times the disparity of no
    regularization; areas are divided by that up to (least loss of all methods, 0), so that values
    lie in [0, 1] (`Resampled.volumes`).

    Parameters
    ----------
    found : a reproduction, or any sweep, that has no regularization and legitimate only.

    Returns
    -------
    `dataset` (empty for a sweep), `disparity`, `method`, `settings`, `runs`, `volume` by steps and
    `lines`, with their standard errors over runs, `error` and `lines_error`, empty for one run.
    Volumes are empty where legitimate only has the least loss of all.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction
    >>> from likeforlike.paper._resampled import hypervolumes
    >>> names = ["no regularization", "FairBiT", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> reproduction = Reproduction(runs, pl.DataFrame(), {})
    >>> volumes = hypervolumes(reproduction).filter(pl.col("disparity") == "dd")
    >>> [round(volume, 3) for volume in volumes["volume"]]
    [0.091, 0.136, 0.0]
    """
    rows = [
        {
            "dataset": panel.dataset,
            "disparity": panel.disparity,
            "method": method,
            "settings": len(panel.of(method)),
            "runs": panel.runs,
            **_figures(panel, panel.volumes(method), "volume", "error"),
            **_figures(panel, panel.volumes(method, between="lines"), "lines", "lines_error"),
        }
        for panel in _panels(found)
        for method in dict.fromkeys(panel.methods)
    ]
    return pl.DataFrame(rows, schema_overrides=_FIGURES)


def volume_differences(reproduction: Reproduction) -> pl.DataFrame:
    """Hypervolume of our recipe less that of the paper's methods, within runs.

    Parameters
    ----------
    reproduction : a reproduction; pairs of which a method was not run are left out.

    Returns
    -------
    `dataset`, `disparity`, `ours`, `theirs`, `runs`; by steps `difference`, its standard error over
    runs `error`, and `larger`, true or false when the difference is more than three standard errors
    from 0 and empty when it is within noise; the same by lines, `lines`, `lines_error` and
    `lines_larger`.
    """
    rows = []
    for panel in _panels(reproduction):
        lines = {(ours, theirs): values for ours, theirs, values in _pairs(panel, "lines")}
        for ours, theirs, difference in _pairs(panel, "steps"):
            straight = lines[ours, theirs]
            rows.append(
                {
                    "dataset": panel.dataset,
                    "disparity": panel.disparity,
                    "ours": ours,
                    "theirs": theirs,
                    "runs": panel.runs,
                    **_figures(panel, difference, "difference", "error"),
                    "larger": panel.estimate(difference).exceeds(0.0),
                    **_figures(panel, straight, "lines", "lines_error"),
                    "lines_larger": panel.estimate(straight).exceeds(0.0),
                }
            )
    names = ("dataset", "disparity", "ours", "theirs")
    kinds = dict.fromkeys(names, pl.String) | {"runs": pl.Int64} | _DIFFERENCES
    return pl.DataFrame(rows, schema=kinds)


def _panels(found: Reproduction | Sweep) -> Iterator[Resampled]:
    if isinstance(found, Sweep):
        sweeps = {"": found}
    else:
        sweeps = {name: found.of(name) for name in found.datasets}
    for name, sweep in sweeps.items():
        for disparity in COMPARED_DISPARITIES:
            if disparity in sweep.measured:
                yield resample(sweep, disparity, name)


def _pairs(panel: Resampled, between: Between) -> Iterator[tuple[str, str, FloatArray]]:
    """Names of what is compared, and the difference of volumes (1 + b,)."""
    present = set(panel.methods)
    for variant in _VARIANTS:
        leap, bit = f"our FairLeap{variant}", f"our FairBiT{variant}"
        singles = [(leap, theirs) for theirs in FAIRLEAPS] + [(bit, "FairBiT")]
        for ours, theirs in singles:
            if {ours, theirs} <= present:
                our_volumes, other = (
                    panel.volumes(name, between=between) for name in (ours, theirs)
                )
                yield ours, theirs, our_volumes - other
        mine = tuple(name for name in (leap, bit) if name in present)
        if mine and {*_PAPER} <= present:
            our_volumes, other = (panel.best_volumes(names, between) for names in (mine, _PAPER))
            yield f"our better{variant}", "paper's best of four", our_volumes - other


def _figures(
    panel: Resampled, values: FloatArray, name: str, error: str
) -> dict[str, float | None]:
    mean = panel.estimate(values)
    figures = {name: mean.value, error: mean.error}
    return {key: figure if math.isfinite(figure) else None for key, figure in figures.items()}


def agree_on(steps: bool | None, lines: bool | None) -> bool | None:
    """Whether a frontier is larger, if its area by steps and by lines say the same."""
    return steps if steps is lines else None
