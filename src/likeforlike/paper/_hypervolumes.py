"""How large frontiers are, and whether ours are larger than the paper's.

A union of methods has a larger frontier than each of them, so single methods are compared with
single methods: our FairLeap with each of the paper's, our FairBiT with the paper's, and the better
of our two with the best of the paper's four. All have ten strengths, but not at the same places,
and a frontier of steps is larger where strengths lie closer. So every figure is given twice: by
steps, and by straight lines between neighbors on the frontier. What the two do not agree on is
a matter of where strengths were tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike.experiments import Sweep
from likeforlike.experiments._names import FAIRLEAPS
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import Between, Resampled, resample

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
    """Normalized hypervolume of every method, data set and disparity; more is better.

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
    >>> from likeforlike.paper._hypervolumes import hypervolumes
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

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction
    >>> from likeforlike.paper._hypervolumes import volume_differences
    >>> names = ["no regularization", "FairBiT", "our FairBiT", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> reproduction = Reproduction(runs, pl.DataFrame(), {})
    >>> volume_differences(reproduction).select("ours", "theirs", "larger").row(0)
    ('our FairBiT', 'FairBiT', None)
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


def agreed(steps: bool | None, lines: bool | None) -> bool | None:
    """Whether a frontier is larger, if its area by steps and by lines say the same."""
    return steps if steps is lines else None
