"""Bounds that hold in finite samples.

For scores in a range R, with probability 1 - α (McDiarmid's inequality),

    CDD <= plug-in + R sqrt(½ log(1/α) Σ_l Q(l)² (1/n_0l + 1/n_1l)),

for any sample size; a plug-in lies above the truth on average, which only helps. The lower bound
also subtracts the largest such bias, Σ_l Q(l) R (1 / (2 √n_0l) + 1 / (2 √n_1l)). With weights n is
the effective number of rows (Σ w)² / Σ w².

Reference: McDiarmid (1989), *On the method of bounded differences*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.transport._atoms import Atoms, sums_by
from likeforlike.transport._pairs import pair_costs


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


def _segment_squares(atoms: Atoms) -> FloatArray:
    """Σ (w / Σ w)² over the rows of each segment."""
    n_segments = atoms.totals.size
    segment = np.repeat(np.arange(n_segments), np.diff(atoms.offsets))
    part = atoms.mass / atoms.totals[segment]
    return sums_by(segment, part * part / atoms.counts, n_segments)


def effective_rows(contrast: Contrast) -> FloatArray:
    """Rows of each supported level and group, (Σ w)² / Σ w² where they have weights. Shape (k, 2).

    Parameters
    ----------
    contrast : two groups; k levels hold both.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import effective_rows
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["f", "f", "m"], sample_weight=[1, 1, 5])
    >>> effective_rows(contrasts(cells, "pairwise")[0])
    array([[2., 1.]])
    """
    if not contrast.cells.weighted:
        return contrast.counts[contrast.support].astype(np.float64)
    squares = _segment_squares(contrast.cells.atoms)
    rows: FloatArray = 1.0 / squares[contrast.segments()]
    return rows


def certificate(
    contrast: Contrast,
    measure: FloatArray,
    *,
    score_range: tuple[float, float],
    confidence: float = 0.95,
) -> Certificate:
    """Bounds on Σ_l Q(l) W_1(l) that hold for any sample size, with Q as given.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l), fixed beforehand.
    score_range : lowest and highest score there can be. The range that was seen will not do: the
        score that matters may be one that nobody in the sample has.
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
    seen = float(cells.atoms.values.min()), float(cells.atoms.values.max())
    if seen[0] < low or seen[1] > high:
        raise InputError(
            f"score_range is {low:g} to {high:g}, but there are scores from {seen[0]:g} to "
            f"{seen[1]:g}."
        )
    extent = high - low
    plug_in = float(measure @ pair_costs(cells.atoms, pairs[:, 0], pairs[:, 1], 1.0))
    inverse = 1.0 / effective_rows(contrast)
    spread = math.sqrt(float(measure**2 @ inverse.sum(axis=1)))
    deviation = extent * math.sqrt(0.5 * math.log(1.0 / (1.0 - confidence))) * spread
    bias = extent * float(measure @ (0.5 * np.sqrt(inverse)).sum(axis=1))
    return Certificate(
        lower=max(0.0, plug_in - deviation - bias),
        upper=min(extent, plug_in + deviation),
        confidence=confidence,
    )
