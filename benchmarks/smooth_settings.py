"""Made-up people with a number that makes them equal: what simulations of smooth audits draw.

Every setting says how the number is spread, how the share of the second group and the mean score
change with it, and what noise is around the mean. A disparity of known size is put on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from likeforlike._arrays import FloatArray
from likeforlike.auditing._smooth import SmoothData
from likeforlike.disparity import Codes

__all__ = ["DISPARITY", "JUMP", "PARITY", "SETTINGS", "Effect", "Setting", "draw"]

DISPARITY = 0.05
"""The distance wherever there is one."""

Effect = Literal["none", "shift", "flip"]
"""Nothing; the second group is shifted everywhere; or up and down in turns along the number."""

Random = np.random.Generator
Curve = Callable[[FloatArray], FloatArray]
Noise = Callable[[Random, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Setting:
    """How people are drawn.

    Attributes
    ----------
    name : what it is called in the tables.
    numbers : from a generator and how many rows to their numbers (n, q).
    chance : from numbers to the chance of being in the second group.
    mean : from numbers to the mean score.
    noise : from a generator, means and numbers to scores.
    step : how far a disparity moves those it moves; it moves so many that the mean is .05.
    room : from mean scores and signs of a move to the chance that somebody can be moved so far
        without leaving the scale.
    scale : the lowest and the highest score there may be.
    categories : how many categories there are, of equal share.
    """

    name: str
    numbers: Callable[[Random, int], FloatArray]
    chance: Curve
    mean: Curve
    noise: Noise
    step: float = DISPARITY
    room: Callable[[FloatArray, FloatArray], FloatArray] = lambda mean, _: np.ones(mean.size)
    scale: tuple[float, float] = (-np.inf, np.inf)
    categories: int = 1


def draw(setting: Setting, rows: int, effect: Effect, rng: Random) -> SmoothData:
    """Draw so many people of a setting."""
    numbers = setting.numbers(rng, rows)
    category = rng.integers(0, setting.categories, rows)
    # Categories move both curves, so that whoever forgets them is misled.
    moved = numbers + 0.3 * category[:, None]
    group = (rng.random(rows) < setting.chance(moved)).astype(np.int64)
    mean, sign = setting.mean(moved), _sign(effect, numbers[:, 0])
    scores = setting.noise(rng, mean, moved)
    wanted = scores + setting.step * sign
    inside = (wanted >= setting.scale[0] - 1e-9) & (wanted <= setting.scale[1] + 1e-9)
    reached = rng.random(rows) * setting.room(mean, sign) < DISPARITY / setting.step
    # Ratings that are equal must be equal to the last digit.
    shown: FloatArray = np.where(inside & reached & (group == 1), wanted, scores).round(12)
    return SmoothData(
        columns=tuple(f"number {k}" for k in range(numbers.shape[1])),
        numbers=numbers,
        category=category,
        category_names=("",)
        if setting.categories == 1
        else tuple(map(str, range(setting.categories))),
        scores=shown,
        group=Codes(group, ("a", "b")),
    )


def _sign(effect: Effect, numbers: FloatArray) -> FloatArray:
    if effect == "none":
        return np.zeros(numbers.size)
    if effect == "shift":
        return np.ones(numbers.size)
    rank = np.argsort(np.argsort(numbers, kind="stable")) / numbers.size
    return np.where(np.floor(6.0 * rank) % 2 == 0.0, 1.0, -1.0)


def _logistic(x: FloatArray) -> FloatArray:
    return 0.5 + 0.5 * np.tanh(x / 2.0)


def _first(curve: Curve) -> Curve:
    return lambda numbers: curve(numbers[:, 0])


def _column(law: Callable[[Random, int], FloatArray]) -> Callable[[Random, int], FloatArray]:
    return lambda rng, rows: law(rng, rows)[:, None]


def _normal(spread: float) -> Noise:
    return lambda rng, mean, _: mean + spread * rng.normal(size=mean.size)


def _skewed(rng: Random, mean: FloatArray, numbers: FloatArray) -> FloatArray:
    """Skewed, and three times as wide at one end of the number as at the other."""
    spread = 0.03 + 0.06 * _logistic(-2.0 * np.log(numbers[:, 0]))
    return mean + spread * (rng.exponential(size=mean.size) - 1.0)


def _decided(rng: Random, mean: FloatArray, _: FloatArray) -> FloatArray:
    return (rng.random(mean.size) < mean).astype(np.float64)


def _undecided(mean: FloatArray, sign: FloatArray) -> FloatArray:
    """Who is refused can be moved up, who is accepted can be moved down."""
    return np.where(sign > 0.0, 1.0 - mean, mean)


def _rated(rng: Random, mean: FloatArray, _: FloatArray) -> FloatArray:
    """One to five, in steps of .2; a disparity moves some people by one."""
    return 0.2 * np.clip(np.round(mean + 0.8 * rng.normal(size=mean.size)), 1.0, 5.0)


def _not_at_the_end(mean: FloatArray, sign: FloatArray) -> FloatArray:
    """Whose rating is below 5 can be moved up, above 1 down."""
    room: FloatArray = stats.norm.cdf(np.where(sign > 0.0, 4.5 - mean, mean - 1.5) / 0.8)
    return room


def _zero_or_more(rng: Random, rows: int) -> FloatArray:
    return np.where(rng.random(rows) < 0.3, 0.0, rng.gamma(2.0, 10.0, rows))


def _two(rng: Random, rows: int) -> FloatArray:
    first = rng.normal(size=rows)
    return np.stack([first, 0.5 * first + rng.gamma(2.0, 0.7, rows)], axis=1)


PARITY = (
    Setting(
        "30 marks (atoms)",
        _column(lambda rng, n: np.round(30.0 * rng.beta(2.0, 3.0, n))),
        _first(lambda x: _logistic(x / 6.0 - 2.0)),
        _first(lambda x: 0.3 + 0.5 * np.sqrt(x / 30.0 + 0.05)),
        _normal(0.08),
    ),
    Setting(
        "three in ten at zero, a tail",
        _column(_zero_or_more),
        _first(lambda x: np.where(x == 0.0, 0.3, _logistic(x / 13.0 - 1.8))),
        _first(lambda x: 0.3 + 0.25 * np.log1p(0.075 * x)),
        _normal(0.07),
    ),
    Setting(
        "Student's t with 2 degrees (heavy tails)",
        _column(lambda rng, n: 50.0 + 10.0 * rng.standard_t(2.0, n)),
        _first(lambda x: _logistic(0.12 * (x - 50.0))),
        _first(lambda x: 0.5 + 0.16 * np.arctan((x - 50.0) / 10.0)),
        _normal(0.06),
    ),
    Setting(
        "log-normal, noise skewed and uneven",
        _column(lambda rng, n: rng.lognormal(0.0, 0.8, n)),
        _first(lambda x: _logistic(1.5 * np.log(x))),
        _first(lambda x: 0.4 + 0.15 * np.tanh(np.log(x))),
        _skewed,
    ),
    Setting(
        "decisions",
        _column(lambda rng, n: rng.normal(size=n)),
        _first(lambda x: _logistic(1.5 * x)),
        _first(lambda x: 0.1 + 0.75 * _logistic(1.4 * x + 0.4 * np.sin(2.0 * x))),
        _decided,
        step=1.0,
        room=_undecided,
        scale=(0.0, 1.0),
    ),
    Setting(
        "ratings 1 to 5",
        _column(lambda rng, n: 100.0 * rng.beta(2.0, 2.0, n)),
        _first(lambda x: _logistic(0.06 * (x - 50.0))),
        _first(lambda x: 1.0 + 0.04 * x),
        _rated,
        step=0.2,
        room=_not_at_the_end,
        scale=(0.2, 1.0),
    ),
    Setting(
        "score nearly a function of the number",
        _column(lambda rng, n: rng.beta(1.5, 3.0, n)),
        _first(lambda x: _logistic(6.0 * (x - 0.35))),
        _first(lambda x: 0.1 + 0.8 * x**1.5),
        _normal(0.01),
    ),
    Setting(
        "a steep curve",
        _column(lambda rng, n: rng.normal(600.0, 80.0, n)),
        _first(lambda x: _logistic(1.3 * (x - 600.0) / 80.0)),
        _first(lambda x: _logistic(3.0 * (x - 600.0) / 80.0)),
        _normal(0.05),
    ),
    Setting(
        "three categories",
        _column(lambda rng, n: rng.gamma(3.0, 0.5, n)),
        _first(lambda x: _logistic(2.0 * (x - 1.7))),
        _first(lambda x: 0.2 + 0.3 * np.sqrt(x)),
        _normal(0.07),
        categories=3,
    ),
    Setting(
        "two numbers and three categories",
        _two,
        lambda x: _logistic(0.8 * x[:, 0] + 0.6 * (x[:, 1] - 1.5)),
        lambda x: (
            0.5 + 0.1 * np.tanh(x[:, 0]) + 0.08 * np.sqrt(np.abs(x[:, 1])) * (1 + x[:, 0] / 5)
        ),
        _normal(0.08),
        categories=3,
    ),
)
"""Settings in which score and share change gradually with the number."""

JUMP = Setting(
    "a jump of mean and share at the same number",
    _column(lambda rng, n: rng.gamma(5.0, 1.0, n)),
    _first(lambda x: np.where(x > 4.37, 0.7, 0.3)),
    _first(lambda x: 0.4 + 0.02 * x + 0.15 * (x > 4.37)),
    _normal(0.08),
)
"""What no smoother follows."""

SETTINGS = (*PARITY, JUMP)
