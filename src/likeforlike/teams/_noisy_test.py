"""The test of equal treatment inside levels, from noisy counts.

At parity the rows of the second group fall into the bins of a level at random. So they are
drawn, from a hypergeometric distribution with the totals that were seen, the custodian's noise is
drawn afresh, and everything is computed as for the release. Two statistics, the signed gap and the
mean square of W_1, make one p-value: the smaller of their two is compared with the smaller of two
in every deal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.teams._noisy_pair import NoisyPair

# Equal up to rounding counts as equal.
_ROUNDING = 1e-9


class NoisyTest(NamedTuple):
    """What deals at parity say.

    Attributes
    ----------
    p_value : of both statistics together.
    components : {"gap" and "distance": p-value of its own}.
    levels : (K,) floats, p-value of each level.
    null : (K,) floats, what W_1 averages to at parity, without the custodian's noise.
    """

    p_value: float
    components: dict[str, float]
    levels: FloatArray
    null: FloatArray


def parity_test(pair: NoisyPair, draws: int, rng: np.random.Generator) -> NoisyTest:
    """Test whether both groups fall alike into the bins of every level."""
    measure, size = pair.measure, pair.bins.rows.size
    gaps, squares, plain = [], [], np.zeros(pair.bins.n_levels)
    score = pair.bins.gathered(pair.bins.places)
    for block in pair._blocks(draws):
        drawn = _deal(pair, block, rng)
        plain += pair.areas(pair.heights(_shares(pair, drawn))).sum(axis=0)
        shares = _shares(pair, drawn + pair.known.draw(rng, pair.pair, (block, size)))
        gaps.append(pair.bins.by_level((shares[1] - shares[0]) * score) @ measure)
        squares.append(pair.areas(pair.heights(shares)) ** 2)
    levels = np.concatenate([(pair.distances**2)[None], *squares])
    found = np.abs(np.concatenate([[measure @ pair.scores.gaps], *gaps]))
    parts = np.stack([_tails(found), _tails(levels @ measure)])
    return NoisyTest(
        p_value=float(_tails(-parts.min(axis=0))[0]),
        components={"gap": float(parts[0, 0]), "distance": float(parts[1, 0])},
        levels=(levels[0] <= levels + _ROUNDING * levels.max(axis=0)).mean(axis=0),
        null=plain / draws,
    )


def _tails(statistic: FloatArray) -> FloatArray:
    """Share of all deals (n,), the one observed among them, with at least as large a statistic."""
    order = np.sort(statistic)
    slack = _ROUNDING * max(float(np.abs(order).max()), 1e-300)
    beyond = statistic.size - np.searchsorted(order, statistic - slack)
    tails: FloatArray = beyond / statistic.size
    return tails


def _shares(pair: NoisyPair, counts: FloatArray) -> FloatArray:
    return pair.renewed(counts - pair.counts[:, None])


def _deal(pair: NoisyPair, draws: int, rng: np.random.Generator) -> FloatArray:
    """Counts (2, draws, B) of both groups, drawn at random inside the levels.

    All levels at once, bin after bin: of the rows left, some go to the second group.
    """
    bins = pair.bins
    rows = np.maximum(np.rint(pair.counts.sum(axis=0)), 0.0).astype(np.int64)
    left = np.repeat(bins.by_level(rows)[None], draws, axis=0)
    wanted = np.minimum(np.rint(pair.totals[1]).astype(np.int64), left)
    second = np.empty((draws, rows.size), np.int64)
    begins = np.flatnonzero(np.diff(bins.level, prepend=-1))
    sizes = np.diff(begins, append=rows.size)
    for step in range(int(sizes.max())):
        here: BoolArray = step < sizes
        at: IntArray = begins[here] + step
        rest = left[:, here] - rows[at]
        drawn = rng.hypergeometric(rows[at], rest, wanted[:, here])
        second[:, at] = drawn
        left[:, here] = rest
        wanted[:, here] -= drawn
    return np.stack([rows - second, second]).astype(np.float64)
