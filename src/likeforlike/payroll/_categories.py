"""Categories of workers: tests, within and between, the fifths of pay, and what closing gaps costs.

*Within and between* (Kitagawa): with p the share of women or men in a category and w, m mean pay in
it,

    M - W = Σ (p_w + p_m)/2 (m - w) + Σ (p_m - p_w) (w + m)/2,

exactly; where a category lacks a sex, its mean is that of the other one.

*Fifths*: the k-th fifth of women of a category is compared with the k-th fifth of its men, which is
transport between both. *Counterparts* are the same person by person: the lowest-paid woman of n has
the lowest-paid n-th part of the men.

*Closing*: raises for the group with less, no pay is lowered and none is raised beyond a
counterpart, until the gap of means is the limit. By the year all such raises cost the same; by the
hour those are cheapest who work the fewest hours, and the cheapest are taken first: the linear
program

    minimize Σ h_i r_i   subject to   Σ r_i = need,   0 <= r_i <= counterpart_i - pay_i,

is a fractional knapsack.

References: Kitagawa (1955), *Components of a difference between two rates*; Westfall and Young
(1993) for the adjustment, by permutation of women and men within every category.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity import Cells, contrasts
from likeforlike.inference import headline_test

_FIFTHS, _DRAWS = 5, 400


def compare_categories(
    pays: Sequence[tuple[FloatArray, FloatArray]], permutations: int, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """Compute p-values of categories, single and adjusted for their number, each (k,).

    Logarithms of pay are compared, by permuting women and men within categories.
    """
    sizes = [women.size + men.size for women, men in pays]
    scores = np.log(np.concatenate([part for pair in pays for part in pair]))
    sex = np.concatenate([np.repeat([0, 1], [w.size, m.size]) for w, m in pays])
    cells = Cells.from_rows(scores, sex, np.repeat(np.arange(len(pays)), sizes))
    [contrast] = contrasts(cells, "pairwise")
    measure = np.array(sizes) / sum(sizes)
    found = headline_test(contrast, measure, permutations=permutations, random_state=random_state)
    return found.level_p_values, found.level_adjusted


def split_gap(pays: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[float, float]:
    """Split the gap of mean pay into its parts within and between categories."""
    women, men = (sum(pair[side].size for pair in pays) for side in (0, 1))
    within = between = 0.0
    for theirs, mens in pays:
        if not (theirs.size or mens.size):
            continue
        w = float((theirs if theirs.size else mens).mean())
        m = float((mens if mens.size else theirs).mean())
        share_w, share_m = theirs.size / women, mens.size / men
        within += (share_w + share_m) / 2.0 * (m - w)
        between += (share_m - share_w) * (w + m) / 2.0
    return within, between


def average_parts(values: FloatArray, parts: int) -> FloatArray:
    """Average values (..., n) over equal parts of their order, shape (..., parts).

    With a part for each person of another group, these are their counterparts.
    """
    n = values.shape[-1]
    ordered = np.sort(values, axis=-1)
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(ordered, axis=-1)], axis=-1)
    edges = np.linspace(0.0, n, parts + 1)
    whole = np.minimum(edges.astype(np.int64), n - 1)
    up_to = sums[..., whole] + (edges - whole) * ordered[..., whole]
    means: FloatArray = np.diff(up_to) * (parts / n)
    return means


def fifth_gaps(
    pays: Sequence[tuple[FloatArray, FloatArray]], confidence: float, random_state: int
) -> list[tuple[float, tuple[float, float]]]:
    """Compute gaps in percent of the fifths within categories, with a band over all of them.

    The band holds five intervals at once; people are drawn again within category and sex. Its half
    width is a higher quantile than the confidence asks for, since few people are drawn from in each
    fifth: measured, that holds. Categories count by their people.
    """
    rng = np.random.default_rng(random_state)
    # What was found is in front of what was drawn.
    sums = np.zeros((2, _DRAWS + 1, _FIFTHS))
    for pair in pays:
        for side, pay in enumerate(pair):
            drawn = np.vstack([pay, rng.choice(pay, (_DRAWS, pay.size))])
            sums[side] += (pair[0].size + pair[1].size) * average_parts(drawn, _FIFTHS)
    gaps = 100.0 * (sums[1] - sums[0]) / sums[1]
    found, error = gaps[0], np.maximum(gaps[1:].std(axis=0, ddof=1), 1e-12)
    half = float(
        np.quantile((np.abs(gaps[1:] - found) / error).max(axis=1), 0.5 + confidence / 2.0)
    )
    return [
        (float(gap), (float(gap - half * se), float(gap + half * se)))
        for gap, se in zip(found, error, strict=True)
    ]


def close_gap(
    women: FloatArray, men: FloatArray, hours: tuple[FloatArray, FloatArray], limit: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Find the least raises that bring the gap of means to `limit` percent, and even ones.

    Parameters
    ----------
    women, men : their pay, per year or per hour.
    hours : by which a raise is multiplied to be money per year; 1 if pay is per year.
    limit : of the gap, in either direction.

    Returns
    -------
    raises, even : of the group with less, in its order; the cheapest in all, and with the same part
        of the way to the counterpart for all who are below it.
    of_women : whether they are of women.
    """
    of_women = men.mean() >= women.mean()
    own, others, worked = (women, men, hours[0]) if of_women else (men, women, hours[1])
    aim = others.mean() * (1.0 - limit / 100.0 if of_women else 1.0 / (1.0 + limit / 100.0))
    need = own.size * max(float(aim - own.mean()), 0.0)
    order = np.argsort(own, kind="stable")
    room = np.empty(own.size)
    room[order] = np.maximum(average_parts(others, own.size) - own[order], 0.0)
    if need <= 0.0:
        return np.zeros(own.size), np.zeros(own.size), bool(of_women)
    # The fewest hours first, and the furthest from the counterpart first among these.
    cheapest = np.lexsort((-room, worked))
    before = np.cumsum(room[cheapest]) - room[cheapest]
    raises = np.empty(own.size)
    raises[cheapest] = np.clip(need - before, 0.0, room[cheapest])
    return raises, room * min(need / float(room.sum()), 1.0), bool(of_women)
