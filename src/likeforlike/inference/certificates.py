"""Bounds that hold in finite samples, and the error of a difference of means.

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
from functools import partial

import numpy as np

from likeforlike.contrasts import Contrast
from likeforlike.transport.atoms import Atoms, FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.pairs import pair_costs
from likeforlike.transport.threads import in_parts

__all__ = ["Certificate", "certificate", "effective_rows", "gap_errors"]


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
    >>> bounds = lfl.audit(load_loans(1000).frame, **roles).contrasts[0].certificate
    >>> bounds.lower < 0.2 < bounds.upper, bounds.confidence
    (True, 0.95)
    """

    lower: float
    upper: float
    confidence: float


@compiled
def _squares(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    counts: IntArray,
    share: FloatArray,
    variance: FloatArray,
    first: int,
    last: int,
) -> None:
    for s in range(first, last):
        mean = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            mean += mass[i] * values[i]
        if totals[s] == 0.0:
            continue
        mean /= totals[s]
        for i in range(offsets[s], offsets[s + 1]):
            part = mass[i] / totals[s]
            share[s] += part * part / counts[i]
            variance[s] += part * (values[i] - mean) ** 2


def _segment_squares(atoms: Atoms) -> tuple[FloatArray, FloatArray]:
    """Of each segment: Σ (w / Σ w)² over rows, and the weighted variance of the values."""
    share, variance = np.zeros(atoms.offsets.size - 1), np.zeros(atoms.offsets.size - 1)
    kernel = partial(_squares, *atoms.line, atoms.totals, atoms.counts, share, variance)
    in_parts(kernel, np.diff(atoms.offsets))
    return share, variance


def effective_rows(contrast: Contrast) -> FloatArray:
    """Rows of each supported level and group, (Σ w)² / Σ w² where they have weights. Shape (k, 2).

    Parameters
    ----------
    contrast : two groups; k levels hold both.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import effective_rows
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3], ["f", "f", "m"], sample_weight=[1, 1, 5])
    >>> effective_rows(contrasts(cells, "pairwise")[0])
    array([[2., 1.]])
    """
    if not contrast.cells.weighted:
        return contrast.counts[contrast.support].astype(np.float64)
    share, _ = _segment_squares(contrast.cells.atoms)
    rows: FloatArray = 1.0 / share[contrast.segments()]
    return rows


def gap_errors(contrast: Contrast) -> FloatArray:
    """Standard error of the gap of means in each supported level, sqrt(s_0²/n_0 + s_1²/n_1).

    NaN where a cell has a single row and its spread cannot be known. Shape (k,).

    Parameters
    ----------
    contrast : two groups; k levels hold both.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import gap_errors
    >>> cells = Cells.from_rows([0.0, 1.0, 0.0, 1.0], ["f", "f", "m", "m"])
    >>> gap_errors(contrasts(cells, "pairwise")[0])
    array([0.70710678])
    """
    share, variance = _segment_squares(contrast.cells.atoms)
    pairs = contrast.segments()
    with np.errstate(divide="ignore", invalid="ignore"):
        # variance / (1 - Σ share²) is unbiased; times Σ share² it is that of the mean.
        of_mean = variance * share / (1.0 - share)
    of_mean[share > 1.0 - 1e-12] = np.nan
    errors: FloatArray = np.sqrt(of_mean[pairs].sum(axis=1))
    return errors


def certificate(
    contrast: Contrast, measure: FloatArray, *, confidence: float = 0.95, reach: float | None = None
) -> Certificate:
    """Bounds on Σ_l Q(l) W_1(l) that hold for any sample size, with Q as given.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l), fixed beforehand.
    confidence : of each bound, in (0, 1).
    reach : R, the range of the scores; `None` takes the range seen, which is right for scores
        known to fill it.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import certificate
    >>> cells = Cells.from_rows(np.tile([0.0, 1.0], 5000), ["f"] * 5000 + ["m"] * 5000)
    >>> found = certificate(contrasts(cells, "pairwise")[0], np.ones(1))
    >>> found.lower, round(found.upper, 3)
    (0.0, 0.024)
    """
    cells, pairs = contrast.cells, contrast.segments()
    extent = cells.reach if reach is None else reach
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
