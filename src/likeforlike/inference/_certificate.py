"""Bounds on the disparity that hold in finite samples.

For scores in a range R, with probability 1 - α (McDiarmid's inequality),

    CDD <= plug-in + R sqrt(½ log(1/α) Σ_l Q(l)² (1/n_0l + 1/n_1l)),

for any sample size; a plug-in lies above the truth on average, which only helps. The lower bound
also subtracts the largest such bias, Σ_l Q(l) R (1 / (2 √n_0l) + 1 / (2 √n_1l)). With weights n is
the effective number of rows (Σ w)² / Σ w². Of rows in clusters a whole cluster may change at once:
n counts clusters by the weight they hold in a cell, and the sum in the root runs over clusters,
Σ_c (Σ_l Q(l) h_cl)² with h the share of cluster c in its cells.

Of scores that were rounded to bins the least and the largest plug-in that any rows behind the
counts have are known (`disparity._float_noise`): each bound starts from one of them.

Reference: McDiarmid (1989), *On the method of bounded differences*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._sample import Units, take_sample
from likeforlike.transport import pair_costs


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds on Σ_l Q(l) W_1(l) that hold in finite samples, each with the given confidence.

    Attributes
    ----------
    lower, upper : the bounds, in units of the score.
    confidence : of each of them by itself.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> bounds = lfl.audit(load_loans(1000).frame, **roles, score_range=(0, 1))
    >>> bounds = bounds.contrasts[0].certificate
    >>> bounds.lower < 0.2 < bounds.upper, bounds.confidence
    (True, 0.95)
    """

    lower: float
    upper: float
    confidence: float


def _deviation(units: Units, measure: FloatArray) -> float:
    """Return √Σ_i c_i², c_i the most one unit can move Σ_l Q(l) W_1(l), scores of unit reach."""
    if not units.crossing:
        return math.sqrt(float(np.repeat(measure, 2) ** 2 @ (1.0 / units.effective)))
    held = np.repeat(measure, 2)[units.cell] * units.share
    return float(np.linalg.norm(units.sum_by_cluster(held)))


def certificate(
    contrast: Contrast,
    measure: FloatArray,
    *,
    score_range: tuple[float, float],
    confidence: float = 0.95,
) -> Certificate:
    """Bound Σ_l Q(l) W_1(l) for any sample size, with Q as given.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l), fixed beforehand.
    score_range : lowest and highest score there can be. The range that was seen will not do: the
        score that matters may be one that no row of the sample has.
    confidence : of each bound, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import certificate
    >>> cells = Cells.from_rows(np.tile([0.0, 1.0], 5000), ["f"] * 5000 + ["m"] * 5000)
    >>> bounds = certificate(contrasts(cells, "pairwise")[0], np.ones(1), score_range=(0, 1))
    >>> bounds.lower, round(bounds.upper, 3)
    (0.0, 0.024)
    """
    cells, pairs = contrast.cells, contrast.segments()
    low, high = score_range
    # The middle of a bin may lie outside of the range although no score does.
    beyond = cells.resolution / 2.0 if cells.sums is None else 0.0
    seen = float(cells.atoms.values.min()) + beyond, float(cells.atoms.values.max()) - beyond
    if seen[0] < low or seen[1] > high:
        raise InputError(
            f"score_range is {low:g} to {high:g}, but there are scores from {seen[0]:g} to "
            f"{seen[1]:g}."
        )
    extent = high - low
    plug_in = float(measure @ pair_costs(cells.atoms, pairs[:, 0], pairs[:, 1], 1.0))
    sample = take_sample(contrast)
    below, above = (0.0, 0.0) if sample.moved is None else sample.to_units(measure @ sample.moved)
    units = sample.units
    moved = _deviation(units, measure)
    deviation = extent * math.sqrt(0.5 * math.log(1.0 / (1.0 - confidence))) * moved
    bias = extent * float(np.repeat(measure, 2) @ (0.5 / np.sqrt(units.effective)))
    return Certificate(
        lower=max(0.0, plug_in - below - deviation - bias),
        upper=min(extent, plug_in + above + deviation),
        confidence=confidence,
    )
