"""What the calibration of estimates is tried on: made-up tables, named in plain words."""

from __future__ import annotations

import numpy as np

from benchmarks.laws import (
    Law,
    beta,
    decisions,
    exponential,
    lognormal,
    mixture,
    moved,
    normal,
    pay,
    poisson,
    ratings,
    stripes,
    student3,
    uniform,
    with_atoms,
    with_zeros,
)
from benchmarks.made_rows import (
    Draw,
    Setting,
    between,
    by_level,
    confounded,
    equal,
    executives,
    fivefold,
    gamma,
    giant,
    households,
    last_level,
    of_score,
    one_level,
    one_other_score,
    openings,
    opposed_levels,
    pareto,
    persons_across,
    persons_inside,
    rare_level,
    same,
    selected,
    squared,
    thin_levels,
    unrelated,
    weighted,
    weighted_clusters,
    weighted_decisions,
)

__all__ = ["PARITY_TESTS", "SETTINGS", "SIMPSON"]


def _signs(levels: int) -> list[float]:
    return [(-1.0) ** k for k in range(levels)]


def _skewed(spread: float) -> Law:
    return lambda u: np.exp(spread * normal(u))


_FIVE = ratings([0.1, 0.2, 0.4, 0.2, 0.1])
_HIGHER = ratings([0.05, 0.15, 0.35, 0.3, 0.15])
_THREE = (
    ratings([0.4, 0.2, 0.4], [0.0, 0.5, 1.0]),
    ratings([0.25, 0.5, 0.25], [0.0, 0.5, 1.0]),
)
_ZEROS = {share: with_atoms(share, 0.0, 0.4, 0.8) for share in (0.3, 0.36, 0.45)}
_TWO_ATOMS = (with_atoms(0.3, 0.1, 0.3, 0.7), with_atoms(0.2, 0.25, 0.3, 0.7))
_LOW_HILL, _HIGH_HILL = moved(normal, -1.0, 0.3), moved(normal, 1.0, 0.3)
_HILLS = (mixture(_LOW_HILL, _HIGH_HILL, 0.5), mixture(_LOW_HILL, _HIGH_HILL, 0.35))
_DRAWN_GAPS = np.random.default_rng(5).normal(0.0, 0.3, 30)

_LARGE = [(500, 500)] * 9
_SMALL_CELLS = {
    **{
        f"9 x (500 + 500) at parity, and {first} + {second} of spread {scale:g}, shift {shift:g}": (
            one_level([*_LARGE, (first, second)], scale, shift)
        )
        for first, second, scale, shift in (
            (500, 4, 10.0, 10.0),
            (500, 4, 1.0, 1.0),
            (60, 4, 10.0, 10.0),
            (500, 10, 10.0, 7.0),
            (500, 30, 10.0, 4.0),
            (500, 4, 2.0, 2.0),
            (500, 4, 3.0, 2.0),
            (60, 4, 3.0, 3.0),
            (500, 2, 1.0, 2.0),
            (500, 2, 3.0, 4.0),
        )
    },
    "decisions, 9 x (500 + 500) at parity, and 500 + 5 of .3 v .8": by_level(
        [(decisions(0.3), decisions(0.3))] * 9 + [(decisions(0.3), decisions(0.8))],
        lambda _: np.array([*_LARGE, (500, 5)]),
        4.0,
    ),
    "4 x (200 + 200) at parity, and 100 + 3 of spread 3, shift 4": one_level(
        [*[(200, 200)] * 4, (100, 3)], 3.0, 4.0
    ),
    "4 x (200 + 200) shifted .1, and 100 + 3 shifted 1.5": one_level(
        [*[(200, 200)] * 4, (100, 3)], 1.0, 1.5, 0.1
    ),
    "8 x (500 + 500) at parity, and two of 300 + 4, shifts 1 and -1": by_level(
        [(normal, normal)] * 8 + [(normal, moved(normal, 1.0)), (normal, moved(normal, -1.0))],
        lambda _: np.array([*_LARGE[:8], (300, 4), (300, 4)]),
        4.0,
    ),
    "10 x (100 + 100), shift .35 in one": one_level([(100, 100)] * 10, 1.0, 0.35),
}
_SMALL_GROUPS = {
    f"zeros {few:.0%} v {many:.0%}, log-normal {sd:g}, {levels} x ({rows[0]} + {rows[1]})": same(
        with_zeros(few, _skewed(sd)), with_zeros(many, _skewed(sd)), equal(levels, *rows)
    )
    for few, many, sd, levels, rows in (
        (0.97, 0.85, 0.5, 1, (2000, 40)),
        (0.97, 0.85, 0.5, 1, (200, 40)),
        (0.95, 0.80, 0.5, 1, (300, 30)),
        (0.98, 0.90, 0.5, 1, (1000, 60)),
        (0.95, 0.85, 1.0, 5, (200, 10)),
    )
}
_CLERKS, _PAIRS = ((moved(normal, 0.0, scale), moved(normal, 10.0, scale)) for scale in (3.0, 30.0))
_HARDER = {
    "30 x (50 + 2), shift 2 in one": one_level([(50, 2)] * 30, 1.0, 2.0),
    "t with 3 df, 5 x (300 + 300) at parity, and 200 + 4 shifted 2": last_level(
        (student3, student3), (student3, moved(student3, 2.0)), [*[(300, 300)] * 5, (200, 4)]
    ),
    **{
        f"log-normal {sd:g}, 5 x (300 + 300) at parity, and 200 + {few} x {wider:g}": last_level(
            (_skewed(sd), _skewed(sd)),
            (_skewed(sd), moved(_skewed(sd), 0.0, wider)),
            [*[(300, 300)] * 5, (200, few)],
        )
        for sd, few, wider in ((1.0, 5, 3.0), (1.0, 8, 2.0), (0.5, 5, 2.0))
    },
    "decisions .02 v .2 in 300 + 8 beside 6 x (400 + 400) of .02": last_level(
        (decisions(0.02), decisions(0.02)),
        (decisions(0.02), decisions(0.2)),
        [*[(400, 400)] * 6, (300, 8)],
    ),
    "spread 1 v 3, 6 x (200 + 200), and 200 + 4 shifted 3": last_level(
        (normal, moved(normal, 0.0, 3.0)),
        (normal, moved(normal, 3.0, 3.0)),
        [*[(200, 200)] * 6, (200, 4)],
    ),
    "6 pairs of spread 30 beside 300 + 300 of 3, gap 10": by_level(
        [_CLERKS, *[_PAIRS] * 6], lambda _: np.array([(300, 300), *[(1, 1)] * 6])
    ),
    "zeros 90% v 70%, log-normal, 10 x (100 + 5)": same(
        with_zeros(0.9, lognormal), with_zeros(0.7, lognormal), equal(10, 100, 5)
    ),
    "ratings, 8 x (300 + 300) at parity, and 300 + 3 of 1 v 4": last_level(
        (_FIVE, _FIVE),
        (ratings([0.8, 0.2, 0.0, 0.0, 0.0]), ratings([0.0, 0.0, 0.1, 0.6, 0.3])),
        [*[(300, 300)] * 8, (300, 3)],
    ),
    "scales 1 to 100 by level, shift .5 sd, 12 x (40 + 6)": by_level(
        [
            (moved(normal, 0.0, scale), moved(normal, 0.5 * scale, scale))
            for scale in np.geomspace(1.0, 100.0, 12)
        ],
        equal(12, 40, 6),
    ),
    "40 x (20 + 20) at parity, and 400 + 3 shifted 1.5": one_level(
        [*[(20, 20)] * 40, (400, 3)], 1.0, 1.5
    ),
    "2,000 + 2,000 at parity, and 20 + 20 shifted 1": one_level([(2000, 2000), (20, 20)], 1.0, 1.0),
}
_EXECUTIVES = {
    f"{levels} x ({first} + 1) of spread {scale:g} beside 400 + 400 of 5, gap {gap:g}": executives(
        levels, first, scale, gap
    )
    for levels, first, scale, gap in (
        (3, 5, 50.0, 0.0),
        (3, 5, 50.0, 2.0),
        (5, 5, 50.0, 0.0),
        (9, 3, 50.0, 2.0),
        (3, 5, 20.0, 2.0),
        (3, 5, 5.0, 2.0),
    )
}

SETTINGS: dict[str, Setting] = {
    **{
        f"beta, shift {shift:g}, {levels} x ({cell} + {cell})": same(
            beta, moved(beta, shift), equal(levels, cell), effort=1.0 + levels * cell / 1000
        )
        for levels, cell in ((10, 20), (10, 30), (10, 100), (60, 6), (60, 20))
        for shift in (0.0, 0.05, 0.15)
    },
    **{
        f"decisions {first:g} v {second:g}, {levels} x ({cells[0]} + {cells[-1]})": same(
            decisions(first), decisions(second), equal(levels, *cells)
        )
        for first, second, levels, cells in (
            (0.4, 0.4, 10, (20,)),
            (0.4, 0.55, 10, (20,)),
            (0.4, 0.4, 10, (100,)),
            (0.4, 0.45, 10, (100,)),
            (0.4, 0.5, 10, (100,)),
            (0.3, 0.36, 100, (10,)),
            (0.5, 0.35, 1, (100,)),
            (0.3, 0.3, 1, (50,)),
            (0.0, 0.04, 1, (50,)),
            (0.01, 0.04, 1, (200,)),
            (0.9, 0.97, 1, (60, 40)),
            (0.02, 0.05, 40, (10,)),
            (0.01, 0.03, 100, (20,)),
            (0.005, 0.02, 20, (200,)),
            (0.01, 0.01, 20, (50,)),
            (0.05, 0.25, 5, (100, 5)),
            (0.3, 0.5, 8, (250, 5)),
            (0.3, 0.7, 300, (1,)),
        )
    },
    "decisions, rates .02 to .94 by level, + .04, 12 x (40 + 40)": by_level(
        [(decisions(p), decisions(p + 0.04)) for p in np.linspace(0.02, 0.94, 12)], equal(12, 40)
    ),
    "decisions, all 0, all 1, or .5 v .65 by level, 12 x (30 + 30)": by_level(
        [
            (decisions(0.0), decisions(0.0)),
            (decisions(1.0), decisions(1.0)),
            (decisions(0.5), decisions(0.65)),
        ]
        * 4,
        equal(12, 30),
    ),
    "decisions, +- .25 alternating, 40 x (12 + 12)": by_level(
        [(decisions(0.5), decisions(0.5 + 0.25 * sign)) for sign in _signs(40)], equal(40, 12)
    ),
    "decisions .1 v .9 in a level of 3%": rare_level(0.8, decided=True),
    "decisions .40 v .45 and one row of .5": one_other_score(),
    "decisions .3 v .45, 200 levels of 1 to 6 rows": same(
        decisions(0.3), decisions(0.45), between(200, 1, 6)
    ),
    "ratings 1 to 5, 20 levels of 3 to 40 rows": same(_FIVE, _HIGHER, between(20, 3, 40)),
    "ratings 1 to 5, parity, 20 levels of 3 to 40 rows": same(_FIVE, _FIVE, between(20, 3, 40)),
    "ratings 1 to 5, 10 x (100 + 100)": same(_FIVE, _HIGHER, equal(10, 100)),
    "ratings, mostly the highest, 40 x (8 + 8)": same(
        ratings([0.02, 0.02, 0.02, 0.04, 0.9]), ratings([0.05] * 4 + [0.8]), equal(40, 8)
    ),
    "three values, middle .2 v .5, 40 x (15 + 15)": same(_THREE[0], _THREE[1], equal(40, 15)),
    "three values, middle .2 v .5, 200 x (5 + 5)": same(_THREE[0], _THREE[1], equal(200, 5)),
    "Poisson 2 v 2.6, 15 x (12 + 12)": same(poisson(2.0), poisson(2.6), equal(15, 12)),
    "zeros 30% v 30%, 60 x (20 + 20)": same(_ZEROS[0.3], _ZEROS[0.3], equal(60, 20)),
    "zeros 30% v 36%, 60 x (20 + 20)": same(_ZEROS[0.3], _ZEROS[0.36], equal(60, 20)),
    "zeros 30% v 45%, 60 x (20 + 20)": same(_ZEROS[0.3], _ZEROS[0.45], equal(60, 20)),
    "zeros 30% v 45%, 10 x (200 + 200)": same(_ZEROS[0.3], _ZEROS[0.45], equal(10, 200), 2.0),
    "zeros 30% v 45%, 300 x (6 + 6)": same(_ZEROS[0.3], _ZEROS[0.45], equal(300, 6), 2.0),
    "zeros, ones and a continuous part, 20 x (30 + 30)": same(*_TWO_ATOMS, equal(20, 30)),
    "zeros, ones and a continuous part, parity": same(_TWO_ATOMS[0], _TWO_ATOMS[0], equal(20, 30)),
    "spread 1 v 1.3, 10 x (30 + 30)": same(normal, moved(normal, 0.0, 1.3), equal(10, 30)),
    "spread 1 v 1.3, 5 x (200 + 200)": same(normal, moved(normal, 0.0, 1.3), equal(5, 200)),
    "spread 1 v 1.5, 100 x (5 + 5)": same(normal, moved(normal, 0.0, 1.5), equal(100, 5)),
    "spread 1 v 1.5, 1,000 x (4 + 4)": same(normal, moved(normal, 0.0, 1.5), equal(1000, 4), 6.0),
    "narrower and higher, 10 x (25 + 25)": same(normal, moved(normal, 0.3, 0.7), equal(10, 25)),
    "upper half stretched, 40 x (15 + 15)": same(
        uniform, lambda u: np.where(u < 0.5, u, 0.5 + 1.6 * (u - 0.5)), equal(40, 15)
    ),
    "five stripes, 40 x (15 + 15)": same(uniform, stripes(0.8), equal(40, 15)),
    "five stripes, 200 x (40 + 40)": same(uniform, stripes(0.8), equal(200, 40), 6.0),
    "two hills, 20 x (20 + 20)": same(*_HILLS, equal(20, 20)),
    "20% higher by 2 sd, 10 x (50 + 50)": same(
        normal, mixture(normal, moved(normal, 2.0), 0.2), equal(10, 50)
    ),
    "5% higher by 5 sd, 10 x (50 + 50)": same(
        normal, mixture(normal, moved(normal, 5.0), 0.05), equal(10, 50)
    ),
    "t with 3 df, shift .5, 10 x (30 + 30)": same(student3, moved(student3, 0.5), equal(10, 30)),
    "t with 3 df, parity, 10 x (30 + 30)": same(student3, student3, equal(10, 30)),
    "exponential x 1.4, 60 x (10 + 10)": same(
        exponential, moved(exponential, 0.0, 1.4), equal(60, 10)
    ),
    "exponential x 2, 1 x (15 + 15)": same(exponential, moved(exponential, 0.0, 2.0), equal(1, 15)),
    "pay, log-normal, x 1.15, 15 levels of 10 to 60": same(
        pay, moved(pay, 0.0, 1.15), between(15, 10, 60)
    ),
    "log-normal x 1.3, 10 x (30 + 30)": same(lognormal, moved(lognormal, 0.0, 1.3), equal(10, 30)),
    "log-normal + .8, 10 x (30 + 30)": same(lognormal, moved(lognormal, 0.8), equal(10, 30)),
    "log-normal x 1.5, 8 x (250 + 5)": same(
        lognormal, moved(lognormal, 0.0, 1.5), equal(8, 250, 5), 1.5
    ),
    "normal, shift .5, 8 x (250 + 5)": same(normal, moved(normal, 0.5), equal(8, 250, 5), 1.5),
    "normal, parity, 8 x (250 + 5)": same(normal, normal, equal(8, 250, 5), 1.5),
    "beta, shift .2, 10 x (60 + 3)": same(beta, moved(beta, 0.2), equal(10, 60, 3)),
    "beta, shift .2, 4 x (1,000 + 5)": same(beta, moved(beta, 0.2), equal(4, 1000, 5), 2.0),
    "normal, shift 1, 1 x (8 + 8)": same(normal, moved(normal, 1.0), equal(1, 8)),
    "normal, shift 1, 1 x (4 + 40)": same(normal, moved(normal, 1.0), equal(1, 4, 40)),
    "normal, shift 1, 3 x (3 + 30)": same(normal, moved(normal, 1.0), equal(3, 3, 30)),
    "beta, shift .1, 1 x (100 + 100)": same(beta, moved(beta, 0.1), equal(1, 100)),
    "beta, parity, 150 x (2 + 2)": same(beta, beta, equal(150, 2)),
    "beta, shift .2, 150 x (2 + 2)": same(beta, moved(beta, 0.2), equal(150, 2)),
    "normal, shift .3, 200 levels of 2 to 9 rows": same(
        normal, moved(normal, 0.3), between(200, 2, 9)
    ),
    "normal, shift .3, 200 levels of 1 to 6 rows": same(
        normal, moved(normal, 0.3), between(200, 1, 6)
    ),
    "normal, shift 1, 300 pairs": same(normal, moved(normal, 1.0), equal(300, 1)),
    "normal, shift .5, 300 x (3 + 1)": same(normal, moved(normal, 0.5), equal(300, 3, 1)),
    "shift .4 in 300 x (20 + 1), parity in 100 x (20 + 5)": by_level(
        [(beta, moved(beta, 0.4))] * 300 + [(beta, beta)] * 100,
        lambda _: np.array([[20, 1]] * 300 + [[20, 5]] * 100),
        10.0,
    ),
    "a giant level and 50 small ones, shift .1": same(beta, moved(beta, 0.1), giant, 1.5),
    "a giant level at parity, 50 small ones shifted .3": by_level(
        [(beta, beta)] + [(beta, moved(beta, 0.3))] * 50, giant, 2.0
    ),
    "half of 60 levels shifted .2, (10 + 10)": by_level(
        [(beta, beta), (beta, moved(beta, 0.2))] * 30, equal(60, 10)
    ),
    "shift .5 in a level of 3%": rare_level(0.5),
    "shifts +- .1 alternating, 10 x (50 + 50)": by_level(
        [(beta, moved(beta, 0.1 * sign)) for sign in _signs(10)], equal(10, 50)
    ),
    "shifts +- .4 sd alternating, 20 x (15 + 15)": by_level(
        [(normal, moved(normal, 0.4 * sign)) for sign in _signs(20)], equal(20, 15)
    ),
    "shifts drawn with sd .3, 30 levels of 4 to 40": by_level(
        [(normal, moved(normal, gap)) for gap in _DRAWN_GAPS], between(30, 4, 40)
    ),
    "levels count the same: 40 of 6 rows, 1 of 200": thin_levels(),
    "levels count by overlap, opposed groups": opposed_levels(),
    **_SMALL_CELLS,
    **_SMALL_GROUPS,
    **_EXECUTIVES,
    **_HARDER,
    "weights: gamma, parity": weighted(gamma, 0.0),
    "weights: gamma, shift .3": weighted(gamma, 0.3),
    "weights: gamma, shift .3, 60 levels": weighted(gamma, 0.3, levels=60),
    "weights: fivefold in one group, shift .3": weighted(fivefold, 0.3),
    "weights: Pareto, shift .5": weighted(pareto, 0.5),
    "weights: score², parity": weighted(squared, 0.0),
    "weights: score², shift .5": weighted(squared, 0.5),
    "weights: exp(score / 2), shift .3": weighted(of_score(0.5), 0.3),
    "weights: exp(score), parity": weighted(of_score(1.0), 0.0),
    "weights: gamma, decisions .3 v .4": weighted_decisions(0.1),
    "weights: inverse probabilities, parity": selected(0.0),
    "weights: inverse probabilities, shift .3": selected(0.3),
    "weights: inverse probabilities, decisions": selected(0.0, decided=True),
    "clusters: five rows a person, parity": persons_inside(0.0),
    "clusters: five rows a person, shift .15": persons_inside(0.15),
    "clusters: sizes from 1 to 40, shift .15": persons_inside(0.15, unequal=True),
    "clusters: across levels, parity": persons_across(0.0),
    "clusters: across levels, shift .3": persons_across(0.3),
    "clusters: 16 of them, across levels, shift .5": persons_across(0.5, 16, 15, 4),
    "clusters: households of both groups, parity": households(0.0),
    "clusters: households of both groups, shift .3": households(0.3),
    "clusters: decisions of households, .3 v .4": households(0.1, decided=True),
    "clusters: people in several pairs, shift .5": openings(0.5),
    "clusters: with weights exp(score / 2), parity": weighted_clusters(),
}
"""Where intervals are tried."""

PARITY_TESTS: dict[str, Setting] = {
    **{
        name: setting
        for name, setting in SETTINGS.items()
        if name.startswith(("weights", "clusters")) and setting.shift == 0.0
    },
    "weights: Pareto, parity": weighted(pareto, 0.0),
    "weights: fivefold in one group, parity": weighted(fivefold, 0.0),
    "weights: exp(score / 2), parity": weighted(of_score(0.5), 0.0),
    "weights: gamma, decisions, parity": weighted_decisions(0.0),
    "clusters: 16 of them, across levels, parity": persons_across(0.0, 16, 15, 4),
}
"""Where the test by jackknife errors is tried: nothing is there to be found."""


SIMPSON: dict[str, tuple[Draw, str]] = {
    "levels unrelated to groups, gap .005": (unrelated(0.005, 0.02), "none"),
    "levels unrelated to groups, gap .1": (unrelated(0.1, 0.2), "none"),
    "levels unrelated to groups, gap .4 in one of ten": (
        unrelated(0.4, 0.15, only_first=True),
        "none",
    ),
    "parity among equals, .2 among everybody": (confounded(0.0), "none"),
    "-.4 among equals, exactly half of it among everybody": (confounded(-0.4), "none"),
    "-.2 among equals, 0 among everybody": (confounded(-0.2), "masked"),
    "-.05 among equals, .15 among everybody": (confounded(-0.05), "reversed"),
}
"""Data for Simpson's paradox, and what should be said of them."""
