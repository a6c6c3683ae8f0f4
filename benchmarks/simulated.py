"""Made-up data for simulations of the tests: scores by law, levels by size, what differs by name.

A law is a function from a generator and a number of rows to scores. A draw is a function from a
generator to a sample: what is compared, and the measure over its levels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import Measure
from likeforlike.disparity import Contrast, contrasts, level_weights
from likeforlike.inference._rank_scores import Clusters

Random = np.random.Generator
Law = Callable[[Random, int], FloatArray]
Columns = tuple[FloatArray, IntArray, IntArray]
Sample = tuple[Contrast | Clusters, FloatArray]
Draw = Callable[[Random], Sample]
Shifted = Callable[[Random, float], Sample]
Effect = Callable[[Random, FloatArray, IntArray, IntArray], FloatArray]


# Laws -------------------------------------------------------------------------------------------


def beta(rng: Random, n: int) -> FloatArray:
    return rng.beta(3.0, 3.0, n)


def normal(rng: Random, n: int) -> FloatArray:
    return rng.normal(size=n)


def exponential(rng: Random, n: int) -> FloatArray:
    return rng.exponential(size=n)


def log_normal(sigma: float) -> Law:
    return lambda rng, n: np.exp(sigma * rng.normal(size=n))


def heavy(rng: Random, n: int) -> FloatArray:
    return rng.standard_t(2.5, n)


def cauchy(rng: Random, n: int) -> FloatArray:
    return rng.standard_cauchy(n)


def two_humps(rng: Random, n: int) -> FloatArray:
    return 0.3 * rng.normal(size=n) + np.where(rng.random(n) < 0.5, -1.0, 1.0)


def decisions(rate: float) -> Law:
    return lambda rng, n: (rng.random(n) < rate).astype(float)


def ratings(highest: int) -> Law:
    return lambda rng, n: rng.integers(1, highest + 1, n).astype(float)


def rounded(rng: Random, n: int) -> FloatArray:
    scores: FloatArray = np.round(rng.beta(3.0, 3.0, n), 1)
    return scores


def few_events(rng: Random, n: int) -> FloatArray:
    return rng.poisson(0.3, n).astype(float)


def zeros(share: float) -> Law:
    """Zeros and a continuous part."""
    return lambda rng, n: np.where(rng.random(n) < share, 0.0, rng.uniform(0.4, 0.8, n))


# Samples ----------------------------------------------------------------------------------------


def sample(columns: Columns, measure: Measure = "marginal") -> Sample:
    """Two groups in levels, with a measure over those that hold both."""
    contrast = contrasts(Cells.from_rows(*columns), "pairwise")[0]
    return contrast, level_weights(contrast, measure)


def balanced(n_levels: int, first: int, second: int) -> tuple[IntArray, IntArray]:
    """Groups and levels with so many rows in the two cells of every level."""
    groups = np.tile(np.repeat([0, 1], [first, second]), n_levels)
    return groups, np.repeat(np.arange(n_levels), first + second)


def in_cells(law: Law, n_levels: int, first: int, second: int) -> Draw:
    """The same law everywhere, in cells of given sizes."""
    groups, levels = balanced(n_levels, first, second)
    return lambda rng: sample((law(rng, groups.size), groups, levels))


def scattered(
    rng: Random, law: Law, n: int, n_levels: int, share: float, effect: Effect | None = None
) -> Columns:
    """Rows that fall into levels and groups by chance, the second group with this share."""
    levels, groups = rng.integers(0, n_levels, n), (rng.random(n) < share).astype(np.int64)
    scores = law(rng, n)
    return (scores if effect is None else effect(rng, scores, levels, groups)), groups, levels


def rows(law: Law, n: int, n_levels: int, share: float = 0.5, effect: Effect | None = None) -> Draw:
    """A sample of such rows."""
    return lambda rng: sample(scattered(rng, law, n, n_levels, share, effect))


def single_women(rng: Random) -> Sample:
    """Levels with one row of the second group beside levels with five."""
    levels = np.concatenate([np.repeat(np.arange(300), 21), np.repeat(np.arange(300, 400), 25)])
    groups = np.concatenate([np.tile([1] + [0] * 20, 300), np.tile([1] * 5 + [0] * 20, 100)])
    return sample((beta(rng, levels.size), groups, levels))


def rare_level(rng: Random) -> Sample:
    return sample((beta(rng, 1500), rng.integers(0, 2, 1500), (rng.random(1500) < 0.03) * 1))


def thin_levels(rng: Random) -> Sample:
    """A large level and forty of six rows, which count as much."""
    levels = np.concatenate([np.zeros(200, np.int64), np.repeat(np.arange(1, 41), 6)])
    return sample((beta(rng, 440), rng.integers(0, 2, 440), levels), "uniform")


def opposed(rng: Random) -> Sample:
    """Groups that hardly share levels."""
    groups = rng.integers(0, 2, 600)
    levels = rng.binomial(9, np.where(groups == 1, 0.7, 0.3))
    return sample((beta(rng, 600), groups, levels), "overlap")


def nearly_decisions(rng: Random) -> Sample:
    """Decisions, but for one row."""
    groups, levels = balanced(10, 100, 100)
    scores = decisions(0.4)(rng, groups.size)
    scores[0] = 0.5
    return sample((scores, groups, levels))


def level_scales(rng: Random) -> Sample:
    """Levels whose scores spread fifty times as much as those of others."""
    scores, groups, levels = scattered(rng, normal, 600, 10, 0.5)
    return sample((scores * 0.02 * 50.0 ** (levels / 9), groups, levels))


def binned(rng: Random) -> Sample:
    """Counts in bins, as a database returns them."""
    scores, groups, levels = scattered(rng, beta, 4000, 20, 0.5)
    middles = (np.floor(scores * 50) + 0.5) / 50
    cells = Cells.from_counts(levels, groups, middles, np.ones(scores.size), resolution=0.02)
    contrast = contrasts(cells, "pairwise")[0]
    return contrast, level_weights(contrast, "marginal")


def people(law: Law, most: int, least: int = 1, shift: float = 0.0) -> Draw:
    """A dozen people in each of ten levels, with so many rows that hardly differ."""

    def draw(rng: Random) -> Sample:
        levels, groups = np.repeat(np.arange(10), 12), np.tile([0, 1], 60)
        repeats = rng.integers(least, most + 1, 120)
        person = np.repeat(np.arange(120), repeats)
        values = (law(rng, 120) + shift * groups)[person] + 0.02 * rng.normal(size=person.size)
        size = np.bincount(levels[person], minlength=10)
        clusters = Clusters(values, np.concatenate([[0], np.cumsum(size)]), person, groups)
        return clusters, size / size.sum()

    return draw


PARITY: dict[str, Draw] = {
    "continuous, 10 levels of 20 + 20": in_cells(beta, 10, 20, 20),
    "continuous, 10 of 100 + 100": in_cells(beta, 10, 100, 100),
    "continuous, 60 of 6 + 6": in_cells(beta, 60, 6, 6),
    "continuous, 60 of 20 + 20": in_cells(beta, 60, 20, 20),
    "continuous, 1 of 100 + 100": in_cells(beta, 1, 100, 100),
    "continuous, 10 of 60 + 3": in_cells(beta, 10, 60, 3),
    "continuous, 4 of 1000 + 5": in_cells(beta, 4, 1000, 5),
    "continuous, 150 of 2 + 2": in_cells(beta, 150, 2, 2),
    "normal, 300 pairs": in_cells(normal, 300, 1, 1),
    "normal, 300 of 3 + 1": in_cells(normal, 300, 3, 1),
    "normal, 300 of 3 + 3": in_cells(normal, 300, 3, 3),
    "normal, 100 of 5 + 5": in_cells(normal, 100, 5, 5),
    "normal, 1000 of 4 + 4": in_cells(normal, 1000, 4, 4),
    "normal, 900 rows in 400 levels": rows(normal, 900, 400),
    "decisions .4, 10 of 20 + 20": in_cells(decisions(0.4), 10, 20, 20),
    "decisions .4, 10 of 100 + 100": in_cells(decisions(0.4), 10, 100, 100),
    "decisions .4, 1 of 200 + 200": in_cells(decisions(0.4), 1, 200, 200),
    "decisions .3, 100 of 10 + 10": in_cells(decisions(0.3), 100, 10, 10),
    "decisions .05, 40 of 10 + 10": in_cells(decisions(0.05), 40, 10, 10),
    "decisions .15, 5 of 100 + 5": in_cells(decisions(0.15), 5, 100, 5),
    "decisions .5, 300 pairs": in_cells(decisions(0.5), 300, 1, 1),
    "decisions but for one row": nearly_decisions,
    "zeros .3, 60 of 20 + 20": in_cells(zeros(0.3), 60, 20, 20),
    "zeros .3, 10 of 200 + 200": in_cells(zeros(0.3), 10, 200, 200),
    "zeros .3, 300 of 6 + 6": in_cells(zeros(0.3), 300, 6, 6),
    "exponential, 60 of 10 + 10": in_cells(exponential, 60, 10, 10),
    "log-normal 1, 10 of 30 + 30": in_cells(log_normal(1.0), 10, 30, 30),
    "log-normal 1.5, 10 of 30 + 30": in_cells(log_normal(1.5), 10, 30, 30),
    "t with 2.5 degrees, 20 of 20 + 20": in_cells(heavy, 20, 20, 20),
    "ratings 1 to 3, 40 of 15 + 15": in_cells(ratings(3), 40, 15, 15),
    "ratings 1 to 3, 200 of 5 + 5": in_cells(ratings(3), 200, 5, 5),
    "300 of 20 + 1 and 100 of 20 + 5": single_women,
    "one level of 3% of the rows": rare_level,
    "uniform measure, thin levels": thin_levels,
    "overlap measure, opposed groups": opposed,
    "people with 5 rows each": people(beta, 5, 5),
    # Settings that nothing was tuned on.
    "ratings 1 to 5, 1000 rows": rows(ratings(5), 1000, 10),
    "rounded to .1, 500 rows": rows(rounded, 500, 20),
    "counts of few events": rows(few_events, 800, 8),
    "two humps, 400 rows in 4 levels": rows(two_humps, 400, 4),
    "Cauchy, 1 to 9": rows(cauchy, 1000, 10, 0.1),
    "log-normal 2, 1 to 19": rows(log_normal(2.0), 1000, 10, 0.05),
    "decisions .2, 400 rows in 40 levels": rows(decisions(0.2), 400, 40),
    "zeros .8, 1 to 9": rows(zeros(0.8), 1000, 10, 0.1),
    "levels of very different scale": level_scales,
    "counts in bins": binned,
    "people with 1 to 9 rows": people(beta, 9),
    "people with log-normal scores": people(log_normal(1.0), 4),
}


# Disparities ------------------------------------------------------------------------------------


def shift(by: float) -> Effect:
    return lambda _rng, scores, _levels, groups: scores + by * groups


def in_one_level(by: float) -> Effect:
    return lambda _rng, scores, levels, groups: scores + by * groups * (levels == 0)


def alternating(by: float) -> Effect:
    return lambda _rng, scores, levels, groups: scores + by * groups * (1 - 2 * (levels % 2))


def stretched(by: float) -> Effect:
    return lambda _rng, scores, _levels, groups: (
        0.5 + (scores - 0.5) * np.where(groups == 1, by, 1.0)
    )


def stretched_in_one(by: float) -> Effect:
    return lambda _rng, scores, levels, groups: (
        0.5 + (scores - 0.5) * np.where((groups == 1) & (levels == 0), by, 1.0)
    )


def times(by: float) -> Effect:
    return lambda _rng, scores, _levels, groups: scores * np.where(groups == 1, by, 1.0)


def raised(by: float, share: float = 1.0) -> Effect:
    """Raise a score in the second group with this chance: for decisions, ratings and bonuses."""
    return lambda rng, scores, _levels, groups: (
        scores + by * groups * (rng.random(scores.size) < share)
    )


def rate(first: float, second: float, where: str = "everywhere") -> Effect:
    """Decisions by rates that differ between groups, everywhere, in one level, or up and down."""

    def decide(rng: Random, scores: FloatArray, levels: IntArray, groups: IntArray) -> FloatArray:
        direction = {
            "everywhere": np.ones(levels.size),
            "one level": (levels == 0) * 1.0,
            "alternating": 1.0 - 2.0 * (levels % 2),
        }[where]
        chance = first + (second - first) * direction * groups
        decided: FloatArray = (rng.random(scores.size) < chance).astype(np.float64)
        return decided

    return decide


def more_zeros(first: float, second: float) -> Effect:
    return lambda rng, scores, _levels, groups: np.where(
        rng.random(scores.size) < np.where(groups == 1, second, first), 0.0, 0.4 + 0.4 * scores
    )


def uniform(rng: Random, n: int) -> FloatArray:
    return rng.random(n)


def shifted_pairs(rng: Random) -> Sample:
    groups, levels = balanced(300, 1, 1)
    return sample((normal(rng, 600) + 0.2 * groups, groups, levels))


POWER: dict[str, Draw] = {
    "shift .04, 10 levels": rows(beta, 600, 10, effect=shift(0.04)),
    "shift .04, 50 levels": rows(beta, 600, 50, effect=shift(0.04)),
    "shift .02, 100 levels": rows(beta, 3000, 100, effect=shift(0.02)),
    "shift .08, 1 to 19": rows(beta, 1000, 10, 0.05, shift(0.08)),
    "decisions .30 and .38": rows(uniform, 1000, 10, effect=rate(0.3, 0.38)),
    "decisions .30 and .36, 100 levels": rows(uniform, 2000, 100, effect=rate(0.3, 0.36)),
    "decisions, up and down by .13": rows(uniform, 1000, 10, effect=rate(0.5, 0.63, "alternating")),
    "decisions, one of 20 levels": rows(uniform, 1000, 20, effect=rate(0.3, 0.7, "one level")),
    "ratings, a fifth one higher": rows(ratings(4), 1000, 10, effect=raised(1.0, 0.2)),
    "zeros .30 and .36": rows(uniform, 1200, 60, effect=more_zeros(0.3, 0.36)),
    "log-normal 2, times 1.4": rows(log_normal(2.0), 600, 10, effect=times(1.4)),
    "Cauchy, shift .5, 1 to 9": rows(cauchy, 1000, 10, 0.1, shift(0.5)),
    "shift .15 in one of 10 levels": rows(beta, 1000, 10, effect=in_one_level(0.15)),
    "shift .3 in one of 50 levels": rows(beta, 1500, 50, effect=in_one_level(0.3)),
    "up and down by .06": rows(beta, 1000, 10, effect=alternating(0.06)),
    "spread times 1.25": rows(beta, 1000, 10, effect=stretched(1.25)),
    "spread times 2 in one of 10 levels": rows(beta, 1000, 10, effect=stretched_in_one(2.0)),
    "a bonus for 2%": rows(normal, 2000, 10, effect=raised(8.0, 0.02)),
    "300 pairs, shift .2 sd": shifted_pairs,
}


def detectable_rows(law: Law, n: int, n_levels: int) -> Shifted:
    return lambda rng, by: rows(law, n, n_levels, effect=shift(by))(rng)


def detectable_rates(base: float, n: int, n_levels: int) -> Shifted:
    return lambda rng, by: rows(uniform, n, n_levels, effect=rate(base, base + by))(rng)


def detectable_ratings(rng: Random, by: float) -> Sample:
    return rows(ratings(4), 1000, 10, effect=raised(1.0, by))(rng)


def detectable_cells(law: Law, n_levels: int, cell: int) -> Shifted:
    groups, levels = balanced(n_levels, cell, cell)
    return lambda rng, by: sample((law(rng, groups.size) + by * groups, groups, levels))


def detectable_people(rng: Random, by: float) -> Sample:
    return people(beta, 5, 5, by)(rng)


DETECTABLE: dict[str, Shifted] = {
    "continuous, 600 rows in 10 levels": detectable_rows(beta, 600, 10),
    "log-normal 1, 600 rows in 10 levels": detectable_rows(log_normal(1.0), 600, 10),
    "log-normal 2, 600 rows in 10 levels": detectable_rows(log_normal(2.0), 600, 10),
    "decisions .4, 600 rows in 5 levels": detectable_rates(0.4, 600, 5),
    "decisions .4, 2,000 rows in 50 levels": detectable_rates(0.4, 2000, 50),
    "decisions .1, 3,000 rows in 300 levels": detectable_rates(0.1, 3000, 300),
    "ratings, 1,000 rows in 10 levels": detectable_ratings,
    "300 pairs": detectable_cells(normal, 300, 1),
    "300 levels of 2 + 2": detectable_cells(normal, 300, 2),
    "people with 5 rows each": detectable_people,
}


# Families of groups -----------------------------------------------------------------------------

GROUPS = 12


def family(rng: Random, law: Law, n: int, scales: FloatArray | None = None) -> Cells:
    """Twelve groups in five levels, whose scores may spread differently."""
    groups, levels = rng.integers(0, GROUPS, n), rng.integers(0, 5, n)
    scores = law(rng, n)
    return Cells.from_rows(scores if scales is None else scores * scales[groups], groups, levels)


def one_refused(rng: Random) -> Cells:
    """Rates of .2 in one group and .7 in eleven, 500 rows each."""
    groups = np.repeat(np.arange(GROUPS), 500)
    decided = rng.random(groups.size) < np.where(groups == 0, 0.2, 0.7)
    return Cells.from_rows(decided.astype(float), groups, rng.integers(0, 5, groups.size))


FAMILIES: dict[str, tuple[Callable[[Random], Cells], Callable[[int, int], bool]]] = {
    "normal, 1,200 rows": (partial(family, law=normal, n=1200), lambda _a, _b: True),
    "log-normal 1, 1,200 rows": (partial(family, law=log_normal(1.0), n=1200), lambda _a, _b: True),
    "normal, six groups twice as spread": (
        partial(family, law=normal, n=1200, scales=np.repeat([1.0, 2.0], 6)),
        lambda a, b: (a < 6) == (b < 6),
    ),
    "rates .2 in one group, .7 in eleven": (one_refused, lambda a, b: min(a, b) > 0),
}
"""{name: data of twelve groups, and whether two of them do not differ}."""
