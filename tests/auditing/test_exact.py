"""Disparities held against exact arithmetic, whatever the size and place of scores and weights."""

from __future__ import annotations

import math
import random
import warnings
from fractions import Fraction
from typing import Any

import pytest

import likeforlike as lfl
from tests.auditing import exact

PROBLEMS = 500
BATCH = 50


def problem(rng: random.Random) -> exact.Problem:
    """A few rows with ties, unequal cells and weights, of any size and anywhere."""
    size = rng.randint(4, 12)
    scale = rng.choice([1.0, 1.0, 3.7e4, 1e-9, 1e100, 1e-100, 1.1e200, 1.3e-200, 1e300, 1e-300])
    shift = rng.choice([0.0, 0.0, 0.0, 1e9, -1e9]) if scale == 1.0 else 0.0
    scores = [(rng.randint(-6, 9) / rng.choice([3, 10, 10])) * scale + shift for _ in range(size)]
    groups = [0, 1, *(rng.randint(0, 1) for _ in range(size - 2))]
    levels = [0, 0, *(rng.randint(0, 2) for _ in range(size - 2))]
    if rng.random() < 0.4:
        return exact.Problem(scores, groups, levels, [1.0] * size)
    # One group or one level may weigh far more or less than the others.
    heavy, whom = rng.choice([1.0, 1e-300, 1e150, 1e307]), rng.choice([groups, levels])
    weights = [rng.choice([1, 1, 2, 0.3, 5.5]) * (heavy if whom[k] else 1.0) for k in range(size)]
    return exact.Problem(scores, groups, levels, weights)


def columns(made: exact.Problem) -> dict[str, Any]:
    weighted = {"sample_weight": made.weights} if set(made.weights) != {1.0} else {}
    return {
        "scores": made.scores,
        "sensitive_features": made.groups,
        "legitimate_features": made.levels,
        **weighted,
    }


def agrees(found: float, expected: Any, floor: Fraction = Fraction(0)) -> bool:
    """To 1e-10 of the result, or of `floor`: what is left of a difference of larger numbers."""
    wanted = exact.decimal(expected)
    allowed = max(abs(wanted), exact.decimal(floor)) / 10**10
    return abs(exact.decimal(found) - wanted) <= allowed


def poolable(made: exact.Problem) -> bool:
    """Whether levels are not so unequal in weight that a sum over them forgets the lighter ones."""
    masses = [[made.mass(group, k) for k in set(made.levels)] for group in (0, 1)]
    return all(max(one) < 10**6 * min(m for m in one if m) for one in masses)


@pytest.mark.parametrize("batch", range(PROBLEMS // BATCH))
def test_dd_and_cdd_lp_are_those_of_exact_arithmetic(batch: int) -> None:
    rng = random.Random(batch)
    for _ in range(BATCH):
        made = problem(rng)
        name = rng.choice(["wasserstein", "wasserstein", "ks", "tv", "mean"])
        order, p = rng.choice([1, 2, 3, 7]), rng.choice([1, 2, 5, math.inf])
        given = {level: rng.choice([0.5, 2.0, 1e-100, 1e308]) for level in set(made.levels)}
        measure = rng.choice(["marginal", "average", "uniform", "overlap", given])
        rows = columns(made)
        overall = lfl.dd(
            **{key: part for key, part in rows.items() if key != "legitimate_features"},
            distance=name,  # type: ignore[arg-type]
            order=order,
        )
        wanted = exact.distance(made.law(0, None), made.law(1, None), name, order)
        assert not poolable(made) or agrees(float(overall), wanted), (made, name, order)
        found = lfl.cdd_lp(**rows, distance=name, order=order, p=p, measure=measure)  # type: ignore[arg-type]
        assert agrees(float(found), exact.conditional(made, name, order, p, measure)), (
            made,
            name,
            order,
            p,
            measure,
        )
        weights = exact.measure_of(made, measure)
        gap = sum(
            (
                q * (exact.mean(made.law(1, k)) - exact.mean(made.law(0, k)))
                for k, q in weights.items()
            ),
            Fraction(0),
        )
        assert agrees(found.gap, gap, made.reach), (made, measure)
        assert sum(found.by_level.weight.tolist()) == pytest.approx(1.0, abs=1e-12)


def ground(made: exact.Problem, metric: str, order: int) -> dict[tuple[int, int], Fraction]:
    labels = sorted({k for k in made.levels if made.mass(None, k)})
    place = {level: rank if metric == "ordinal" else level for rank, level in enumerate(labels)}
    return {
        (i, j): Fraction(i != j)
        if metric == "discrete"
        else Fraction(abs(place[i] - place[j])) ** order
        for i in labels
        for j in labels
    }


def shares_of(made: exact.Problem) -> list[dict[int, Fraction]]:
    return [
        {k: made.mass(group, k) / made.mass(group, None) for k in set(made.levels)}
        for group in (0, 1)
    ]


def chosen(made: exact.Problem, order: int) -> Fraction:
    """The level cost that is taken with the discrete metric: a little more than what is safe."""
    left, right = shares_of(made)
    if made.reach == 0 or len({k for k in made.levels if made.mass(None, k)}) == 1:
        return Fraction(1)
    same = all(abs(left[k] - right[k]) <= Fraction(1, 10**12) for k in left)
    return Fraction(1.005) * (1 if same else 2) * made.reach**order


@pytest.mark.parametrize("batch", range(PROBLEMS // BATCH))
def test_cdd_wass_is_that_of_exact_arithmetic(batch: int) -> None:
    rng = random.Random(1000 + batch)
    for _ in range(BATCH):
        made = problem(rng)
        order, metric = rng.choice([1, 2, 3]), rng.choice(["discrete", "ordinal", "numeric"])
        size = (
            float(made.reach) ** order if abs(math.log10(made.reach or 1)) * order < 140 else None
        )
        given = None if size is None or rng.random() < 0.5 else rng.choice([0.0, 0.1, 3.0]) * size
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lfl.errors.LevelCostWarning)
            found = lfl.cdd_wass(
                **columns(made), order=order, level_metric=metric, level_cost=given
            )
        level_cost = chosen(made, order) if given is None else Fraction(given)
        if given is None and metric != "discrete":
            if not 1e-290 < found.level_cost < 1e290:
                continue
            level_cost = Fraction(found.level_cost)
        wanted = exact.nested(made, order, ground(made, metric, order), level_cost)
        rounding = made.reach**order + level_cost
        assert agrees(found.root, exact.root(wanted, order), Fraction(0)), (made, order, metric)
        if wanted == 0 or 1e-290 < wanted < 1e290:
            assert agrees(found.value, wanted, rounding / 10**4), (made, order, metric)
            parts = found.diagonal + found.off_diagonal + found.level_transport
            assert parts == pytest.approx(found.value, rel=1e-12, abs=0.0)
        left, right = shares_of(made)
        overlap = sum(min(left[k], right[k]) for k in left)
        assert agrees(found.overlap, overlap, Fraction(1))
        if given is None and metric == "discrete":
            diagonal = sum(
                min(left[k], right[k]) * exact.cost(made.law(0, k), made.law(1, k), order)
                for k in made.shared
            )
            if diagonal == 0 or 1e-290 < diagonal < 1e290:
                assert agrees(found.diagonal, diagonal, made.reach**order), (made, order)
