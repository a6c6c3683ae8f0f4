"""Made-up tables whose gap and distance are known: cells from laws, weights, clusters, levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.laws import Law, apart, beta, decisions, moved, normal
from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import MeasureName
from likeforlike.disparity import Contrast, contrasts, level_weights

__all__ = [
    "Draw",
    "Rows",
    "Setting",
    "between",
    "by_level",
    "confounded",
    "contrast_of",
    "equal",
    "executives",
    "fivefold",
    "gamma",
    "giant",
    "households",
    "last_level",
    "of_score",
    "one_level",
    "one_other_score",
    "openings",
    "opposed_levels",
    "pareto",
    "persons_across",
    "persons_inside",
    "rare_level",
    "same",
    "selected",
    "squared",
    "thin_levels",
    "unrelated",
    "weighted",
    "weighted_clusters",
    "weighted_decisions",
]

Sizes = Callable[[np.random.Generator], IntArray]


class Rows(NamedTuple):
    """Columns of a made-up table."""

    scores: FloatArray
    groups: IntArray
    levels: IntArray
    weight: FloatArray | None = None
    cluster: IntArray | None = None


Draw = Callable[[np.random.Generator], Rows]


@dataclass(frozen=True)
class Setting:
    """Data to draw, and what is true of them.

    Attributes
    ----------
    draw : makes a table.
    shift : the gap and the distance in every level, or the two laws of all or of each level.
    measure : over levels.
    effort : how many times the usual work a table is.
    inverse_weights : whether rows have inverse probability weights, which are held to less.
    """

    draw: Draw
    shift: float | Sequence[tuple[Law, Law]]
    measure: MeasureName = "marginal"
    effort: float = 1.0
    inverse_weights: bool = False

    def truth(self, contrast: Contrast, measure: FloatArray) -> tuple[float, float]:
        """Σ Q gap and (Σ Q W_1²)^½ of the levels that were drawn."""
        if isinstance(self.shift, float):
            return self.shift, abs(self.shift)
        gaps, distances = np.array([apart(*pair) for pair in self.shift]).T
        if gaps.size > 1:
            drawn = [contrast.cells.levels[k] for k in np.flatnonzero(contrast.support)]
            at = np.array(drawn, np.int64)
            gaps, distances = gaps[at], distances[at]
        measure = measure if gaps.size > 1 else np.ones(1)
        return float(measure @ gaps), float(np.sqrt(measure @ distances**2))


def contrast_of(rows: Rows, measure: MeasureName = "marginal") -> tuple[Contrast, FloatArray]:
    """The two groups of a table, and Q."""
    cells = Cells.from_rows(*rows[:3], sample_weight=rows.weight, cluster=rows.cluster)
    contrast = contrasts(cells, "pairwise")[0]
    return contrast, level_weights(contrast, measure)


# Cells ------------------------------------------------------------------------------------------


def equal(levels: int, first: int, second: int | None = None) -> Sizes:
    """So many levels with so many rows of each group."""
    sizes = np.tile([first, first if second is None else second], (levels, 1))
    return lambda _: sizes


def between(levels: int, least: int, most: int) -> Sizes:
    """Cells of random size."""
    return lambda rng: rng.integers(least, most + 1, (levels, 2))


def giant(_: np.random.Generator) -> IntArray:
    """One level of 1,000 rows a group, fifty of five."""
    return np.array([[1000, 1000]] + [[5, 5]] * 50)


def same(first: Law, second: Law, sizes: Sizes, effort: float = 1.0) -> Setting:
    """The same two laws in all levels."""
    return by_level([(first, second)], sizes, effort)


def by_level(laws: Sequence[tuple[Law, Law]], sizes: Sizes, effort: float = 1.0) -> Setting:
    """Two laws for each level."""
    return Setting(_from_laws(laws, sizes), laws, effort=effort)


def one_level(
    sizes: Sequence[tuple[int, int]], scale: float, shift: float, others: float = 0.0
) -> Setting:
    """Normal scores of spread 1; the last level has another scale, and a shift of its own."""
    laws = [(normal, moved(normal, others))] * (len(sizes) - 1)
    laws.append((moved(normal, 0.0, scale), moved(normal, shift, scale)))
    return by_level(laws, lambda _: np.array(sizes), effort=1.0 + sum(map(sum, sizes)) / 3000)


def last_level(
    usual: tuple[Law, Law], last: tuple[Law, Law], sizes: Sequence[tuple[int, int]]
) -> Setting:
    """The same two laws in all levels but the last."""
    laws = [usual] * (len(sizes) - 1) + [last]
    return by_level(laws, lambda _: np.array(sizes), effort=1.0 + sum(map(sum, sizes)) / 3000)


def executives(levels: int, first: int, scale: float, gap: float = 0.0) -> Setting:
    """A level of 400 + 400 rows of spread 5, and some with a single woman, of another spread."""
    laws = [(moved(normal, 0.0, spread), moved(normal, gap, spread)) for spread in (5.0, scale)]
    sizes = np.array([[400, 400]] + [[first, 1]] * levels)
    return by_level([laws[0], *[laws[1]] * levels], lambda _: sizes)


def _from_laws(laws: Sequence[tuple[Law, Law]], sizes: Sizes) -> Draw:
    def draw(rng: np.random.Generator) -> Rows:
        rows = sizes(rng)
        levels = np.repeat(np.arange(len(rows)), rows.sum(axis=1))
        groups = np.repeat(np.tile([0, 1], len(rows)), rows.ravel())
        u = rng.random(groups.size)
        scores = np.empty(groups.size)
        for k, pair in enumerate(laws):
            here = slice(None) if len(laws) == 1 else levels == k
            first, second = (law(u[here]) for law in pair)
            scores[here] = np.where(groups[here] == 1, second, first)
        return Rows(scores, groups, levels)

    return draw


def _columns(rng: np.random.Generator, rows: int, levels: int) -> tuple[IntArray, IntArray]:
    return rng.integers(0, 2, rows), rng.integers(0, levels, rows)


# Rows with weights, rows of clusters -------------------------------------------------------------

Weights = Callable[[np.random.Generator, FloatArray, IntArray], FloatArray]


def gamma(rng: np.random.Generator, scores: FloatArray, _: IntArray) -> FloatArray:
    """Weights that have nothing to do with anything."""
    return rng.gamma(2.0, size=scores.size)


def pareto(rng: np.random.Generator, scores: FloatArray, _: IntArray) -> FloatArray:
    """A few weights as large as all others together."""
    return rng.pareto(1.1, scores.size) + 1.0


def of_score(power: float) -> Weights:
    """Weights that grow with the score."""
    return lambda _rng, scores, _groups: np.exp(power * scores)


def squared(_rng: np.random.Generator, scores: FloatArray, _groups: IntArray) -> FloatArray:
    """Weights that grow away from the middle."""
    return 0.1 + scores**2


def fivefold(rng: np.random.Generator, scores: FloatArray, groups: IntArray) -> FloatArray:
    """One group counts five times as much."""
    return np.where(groups == 1, 5.0, 1.0) * gamma(rng, scores, groups)


def weighted(weights: Weights, shift: float, rows: int = 600, levels: int = 10) -> Setting:
    """Normal scores; weights may depend on the score before the shift."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = _columns(rng, rows, levels)
        scores = rng.normal(size=rows)
        return Rows(scores + shift * group, group, level, weights(rng, scores, group))

    return Setting(draw, shift)


def weighted_decisions(shift: float) -> Setting:
    """Decisions, .3 in the first group, with gamma weights."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = _columns(rng, 800, 8)
        scores = (rng.random(800) < 0.3 + shift * group).astype(float)
        return Rows(scores, group, level, rng.gamma(2.0, size=800))

    return Setting(draw, shift)


def selected(shift: float, *, decided: bool = False) -> Setting:
    """Rows get into the data by chance, more or less so by their score, with inverse weights."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = _columns(rng, 1200, 10)
        if decided:
            scores = (rng.random(1200) < 0.4).astype(float)
            chance = np.where(group == 1, np.where(scores == 1.0, 0.9, 0.3), 0.5)
        else:
            scores = rng.normal(size=1200)
            chance = np.where(group == 1, 1.0 / (1.0 + np.exp(-1.5 * scores)), 0.5)
        kept = rng.random(1200) < chance
        scores = scores + shift * group
        return Rows(scores[kept], group[kept], level[kept], 1.0 / chance[kept])

    return Setting(draw, shift, inverse_weights=True)


def persons_inside(shift: float, *, unequal: bool = False) -> Setting:
    """Several rows of a person, all in one level."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = np.tile([0, 1], 60), np.repeat(np.arange(10), 12)
        times = np.full(120, 5)
        if unequal:
            times = np.minimum(np.ceil(rng.pareto(1.2, 120) + 0.001).astype(int), 40)
        person = np.repeat(np.arange(120), times)
        scores = (beta(rng.random(120)) + shift * group)[person]
        scores += 0.05 * rng.normal(size=person.size)
        return Rows(scores, group[person], level[person], cluster=person)

    return Setting(draw, shift)


def persons_across(shift: float, persons: int = 250, times: int = 4, levels: int = 8) -> Setting:
    """Several rows of a person, each in some level."""

    def draw(rng: np.random.Generator) -> Rows:
        group = np.arange(persons) % 2
        person = np.repeat(np.arange(persons), rng.integers(1, 2 * times, persons))
        alike = 0.7 * rng.normal(size=persons) + shift * group
        scores = alike[person] + 0.5 * rng.normal(size=person.size)
        level = rng.integers(0, levels, person.size)
        return Rows(scores, group[person], level, cluster=person)

    return Setting(draw, shift)


def households(shift: float, *, decided: bool = False) -> Setting:
    """Three people of a household, of either group."""

    def draw(rng: np.random.Generator) -> Rows:
        house = np.repeat(np.arange(200), 3)
        group, level = rng.integers(0, 2, 600), np.arange(200)[house] % 5
        latent = rng.normal(size=200)[house] + rng.normal(size=600)
        if decided:
            rate: FloatArray = np.where(group == 1, 0.3 + shift, 0.3)
            cut = np.sqrt(2.0) * normal(1.0 - rate)
            return Rows((latent > cut).astype(float), group, level, cluster=house)
        return Rows(latent + shift * group, group, level, cluster=house)

    return Setting(draw, shift)


def openings(shift: float) -> Setting:
    """A woman and a man for each of 200 openings, drawn from 120 people who apply for several."""

    def draw(rng: np.random.Generator) -> Rows:
        level, group = np.repeat(np.arange(200), 2), np.tile([0, 1], 200)
        person = rng.integers(0, 60, 400) + 60 * group
        scores = rng.normal(size=200)[level] + 0.8 * rng.normal(size=120)[person]
        scores += 0.5 * rng.normal(size=400) + shift * group
        return Rows(scores, group, level, cluster=person)

    return Setting(draw, shift)


def weighted_clusters() -> Setting:
    """Up to five rows a person, with weights that grow with the score."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = _columns(rng, 200, 8)
        person = np.repeat(np.arange(200), rng.integers(1, 6, 200))
        scores = rng.normal(size=200)[person] + 0.3 * rng.normal(size=person.size)
        return Rows(scores, group[person], level[person], np.exp(0.5 * scores), person)

    return Setting(draw, 0.0)


# Levels of their own -----------------------------------------------------------------------------


def rare_level(shift: float, *, decided: bool = False) -> Setting:
    """Groups differ in one level, which holds 3% of the rows."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = rng.integers(0, 2, 1500), (rng.random(1500) < 0.03).astype(int)
        if decided:
            rate = np.where(level == 1, 0.1 + shift * group, 0.3)
            return Rows((rng.random(1500) < rate).astype(float), group, level)
        return Rows(beta(rng.random(1500)) + shift * group * level, group, level)

    parity = decisions(0.3) if decided else beta
    apart_there = (
        (decisions(0.1), decisions(0.1 + shift)) if decided else (beta, moved(beta, shift))
    )
    return Setting(draw, [(parity, parity), apart_there])


def thin_levels() -> Setting:
    """Forty levels of six rows and one of 200, each counting the same."""

    def draw(rng: np.random.Generator) -> Rows:
        level = np.repeat(np.arange(41), [200] + [6] * 40)
        group = rng.integers(0, 2, level.size)
        return Rows(beta(rng.random(level.size)) + 0.2 * group, group, level)

    return Setting(draw, 0.2, measure="uniform")


def opposed_levels() -> Setting:
    """Groups that seldom meet, weighted by how often they do."""

    def draw(rng: np.random.Generator) -> Rows:
        group = rng.integers(0, 2, 600)
        level = rng.binomial(9, 0.3 + 0.4 * group)
        return Rows(beta(rng.random(600)) + 0.15 * group, group, level)

    return Setting(draw, 0.15, measure="overlap")


def one_other_score() -> Setting:
    """Decisions, but for one row."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = np.tile([0, 1], 1000), np.repeat(np.arange(10), 200)
        scores = (rng.random(2000) < 0.4 + 0.05 * group).astype(float)
        scores[0] = 0.5
        return Rows(scores, group, level)

    return Setting(draw, 0.05)


# Simpson's paradox -------------------------------------------------------------------------------


def unrelated(gap: float, noise: float, *, only_first: bool = False) -> Draw:
    """Levels that have nothing to do with groups, but much with scores."""

    def draw(rng: np.random.Generator) -> Rows:
        group, level = _columns(rng, 1000, 10)
        there = (level == 0) if only_first else 1.0
        return Rows(level / 9 + noise * rng.normal(size=1000) + gap * group * there, group, level)

    return draw


def confounded(gap: float) -> Draw:
    """Levels in which the second group is higher, so that .2 of a difference comes from them."""

    def draw(rng: np.random.Generator) -> Rows:
        group = rng.integers(0, 2, 2000)
        level = rng.binomial(9, 0.4 + 0.2 * group)
        return Rows(level / 9 + 0.1 * rng.normal(size=2000) + gap * group, group, level)

    return draw
