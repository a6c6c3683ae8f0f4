"""Disparities in exact arithmetic, from their definitions: slow, obvious, right for any numbers.

Every floating-point number is a fraction, so nothing is rounded before the last root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

Law = Mapping[Fraction, Fraction]
"""Values with their probabilities."""


@dataclass(frozen=True)
class Problem:
    """Rows of two groups 0 and 1; weights may be 0."""

    scores: Sequence[float]
    groups: Sequence[int]
    levels: Sequence[int]
    weights: Sequence[float]

    def mass(self, group: int | None, level: int | None) -> Fraction:
        """Weight of a group, of a level, or of both together."""
        return sum(self._weights(group, level), Fraction(0))

    def law(self, group: int, level: int | None) -> dict[Fraction, Fraction]:
        """How the scores of a cell are distributed."""
        law: dict[Fraction, Fraction] = {}
        for s, g, k, w in zip(self.scores, self.groups, self.levels, self.weights, strict=True):
            if g == group and level in (None, k) and w > 0:
                law[Fraction(s)] = law.get(Fraction(s), Fraction(0)) + Fraction(w)
        whole = sum(law.values())
        return {value: mass / whole for value, mass in law.items()}

    def _weights(self, group: int | None, level: int | None) -> Iterable[Fraction]:
        rows = zip(self.groups, self.levels, self.weights, strict=True)
        return (Fraction(w) for g, k, w in rows if group in (None, g) and level in (None, k))

    @property
    def shared(self) -> list[int]:
        """Levels where both groups have weight."""
        return [k for k in sorted(set(self.levels)) if self.mass(0, k) and self.mass(1, k)]

    @property
    def reach(self) -> Fraction:
        """The largest difference between two scores that count."""
        counted = [Fraction(s) for s, w in zip(self.scores, self.weights, strict=True) if w > 0]
        return max(counted) - min(counted)


def root(number: Fraction | Decimal, order: float) -> Decimal:
    """number^{1/order} to fifty digits."""
    with localcontext() as context:
        context.prec = 60
        plain = decimal(number)
        return Decimal(0) if plain == 0 else plain ** (1 / Decimal(order))


def decimal(number: Fraction | Decimal | float) -> Decimal:
    """A number to sixty digits."""
    if isinstance(number, Decimal):
        return number
    with localcontext() as context:
        context.prec = 60
        exact = Fraction(number)
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def cost(left: Law, right: Law, order: int) -> Fraction:
    """W_p^p by its definition, ∫ |Q_0(t) - Q_1(t)|^p dt."""
    ends = {Fraction(0)}
    for law in (left, right):
        below = Fraction(0)
        for value in sorted(law):
            below += law[value]
            ends.add(below)
    return sum(
        (
            (high - low) * abs(quantile(left, high) - quantile(right, high)) ** order
            for low, high in pairwise(sorted(ends))
        ),
        Fraction(0),
    )


def quantile(law: Law, at: Fraction) -> Fraction:
    """The least value with probability `at` or more below or at it."""
    below = Fraction(0)
    for value in sorted(law):
        below += law[value]
        if below >= at:
            return value
    raise AssertionError("probabilities sum to one")


def distance(left: Law, right: Law, name: str, order: int) -> Decimal:
    """One of the distances between two laws."""
    if name == "wasserstein":
        return root(cost(left, right, order), order)
    places = sorted({*left, *right})
    gaps = [left.get(at, Fraction(0)) - right.get(at, Fraction(0)) for at in places]
    if name == "tv":
        return decimal(sum((abs(gap) for gap in gaps), Fraction(0)) / 2)
    if name == "ks":
        return decimal(max(abs(sum(gaps[: k + 1], Fraction(0))) for k in range(len(gaps))))
    return decimal(abs(mean(left) - mean(right)))


def mean(law: Law) -> Fraction:
    """The mean of a law."""
    return sum((value * mass for value, mass in law.items()), Fraction(0))


def measure_of(problem: Problem, measure: Any) -> dict[int, Fraction]:
    """Q(l) of the shared levels, summing to one."""
    levels = problem.shared
    shares = {
        k: [problem.mass(group, k) / problem.mass(group, None) for group in (0, 1)] for k in levels
    }
    raw: dict[str, Callable[[int], Fraction]] = {
        "marginal": lambda k: problem.mass(None, k),
        "average": lambda k: sum(shares[k], Fraction(0)),
        "uniform": lambda _: Fraction(1),
        "overlap": lambda k: min(shares[k]),
    }
    weigh = raw[measure] if isinstance(measure, str) else (lambda k: Fraction(measure[k]))
    weights = {k: weigh(k) for k in levels}
    whole = sum(weights.values(), Fraction(0))
    return {k: weight / whole for k, weight in weights.items()}


def conditional(problem: Problem, name: str, order: int, p: float, measure: Any) -> Decimal:
    """(Σ_l Q(l) d(l)^p)^{1/p}."""
    weights = measure_of(problem, measure)
    apart = {
        k: distance(problem.law(0, k), problem.law(1, k), name, order)
        for k, weight in weights.items()
        if weight > 0
    }
    if p == float("inf"):
        return max(apart.values())
    with localcontext() as context:
        context.prec = 60
        costs = (decimal(weights[k]) * apart[k] ** int(p) for k in apart)
        return root(sum(costs, Decimal(0)), p)


def nested(
    problem: Problem, order: int, ground: Mapping[tuple[int, int], Fraction], level_cost: Fraction
) -> Fraction:
    """min_π Σ π(l, l') [W_p^p(l, l') + C G(l, l')] over plans between the level shares."""
    sides = [
        {k: problem.mass(group, k) / problem.mass(group, None) for k in sorted(set(problem.levels))}
        for group in (0, 1)
    ]
    supply, demand = ({k: share for k, share in side.items() if share} for side in sides)
    costs = {
        (i, j): cost(problem.law(0, i), problem.law(1, j), order) + level_cost * ground[i, j]
        for i in supply
        for j in demand
    }
    return transport(supply, demand, costs)


def transport(
    supply: Mapping[int, Fraction],
    demand: Mapping[int, Fraction],
    costs: Mapping[tuple[int, int], Fraction],
) -> Fraction:
    """What the cheapest plan costs: paths of the residual graph by Bellman and Ford, one by one."""
    left, wanted = dict(supply), dict(demand)
    flow = dict.fromkeys(costs, Fraction(0))
    while any(left.values()):
        best: dict[tuple[str, int], tuple[Fraction, tuple[str, int] | None]] = {
            ("from", i): (Fraction(0), None) for i, rest in left.items() if rest
        }
        for _ in range(len(supply) + len(demand)):
            for (i, j), price in costs.items():
                shorten(best, ("from", i), ("to", j), price)
                if flow[i, j] > 0:
                    shorten(best, ("to", j), ("from", i), -price)
        last = min((("to", j) for j, rest in wanted.items() if rest), key=lambda at: best[at][0])
        steps = []
        at: tuple[str, int] | None = last
        while at is not None and best[at][1] is not None:
            steps.append((best[at][1], at))
            at = best[at][1]
        assert at is not None
        back = [flow[b[1], a[1]] for a, b in steps if a is not None and a[0] == "to"]
        amount = min([left[at[1]], wanted[last[1]], *back])
        left[at[1]] -= amount
        wanted[last[1]] -= amount
        for before, after in steps:
            assert before is not None
            if before[0] == "from":
                flow[before[1], after[1]] += amount
            else:
                flow[after[1], before[1]] -= amount
    return sum((flow[move] * price for move, price in costs.items()), Fraction(0))


def shorten(
    best: dict[tuple[str, int], tuple[Fraction, tuple[str, int] | None]],
    start: tuple[str, int],
    end: tuple[str, int],
    price: Fraction,
) -> None:
    """Go to `end` by way of `start` if that is cheaper."""
    if start in best and (end not in best or best[start][0] + price < best[end][0]):
        best[end] = best[start][0] + price, start
