"""Similarly situated: people with adverse scores, and their comparators by the exact plan.

Inside a level all people are equal in what is legitimate. The plan that W_1 rests on pairs every
person of one group with one of the other, the lowest with the lowest; where their scores
differ, one of the two has the adverse one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of
from likeforlike.disparity._cells import Cells
from likeforlike.errors import InputError
from likeforlike.inference._pair_chance import pairs_by_chance
from likeforlike.transport._line import sorted_plan

# Differences of this size, relative to the scores, are rounding.
_HAIR = 1e-12

Adverse = Literal["low", "high"]
"""Which scores are adverse: low ones, as of a credit score, or high ones, as of a risk.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import make_loans
>>> roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
>>> audit = lfl.audit(make_loans(500).frame, **roles, permutations=0)
>>> high = audit.pairs(n=1, adverse="high")[0]
>>> high.score > high.comparator_score
True
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A person with an adverse score, and the equal of the other group whom the plan pairs.

    Attributes
    ----------
    level : name of the level both are in.
    group, score : of the person with the adverse score.
    comparator_group, comparator_score : of the equal.
    difference : between the scores, more than 0.
    share : of the plan of this level; costs of all pairs, share times difference, sum to W_1.
    people : rows of the group that this share stands for; the plan may divide one.
    at_least : rows of the group whose comparator is at least as far away.
    by_chance : what `at_least` would be on average if groups were permuted inside the level;
        `None` for weights and clusters, which cannot be.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> audit = lfl.audit(load_loans(1000).frame, **roles, permutations=0)
    >>> pair = audit.pairs("income low")[0]
    >>> pair.group, pair.score, pair.comparator_group, pair.comparator_score, pair.people
    ('female', 0.0, 'male', 1.0, 10.0)
    """

    level: str
    group: str
    score: float
    comparator_group: str
    comparator_score: float
    difference: float
    share: float
    people: float
    at_least: float
    by_chance: float | None

    @property
    def cost(self) -> float:
        """What the pair adds to W_1 of the level."""
        return self.share * self.difference


def level_pairs(
    cells: Cells,
    groups: tuple[Hashable, Hashable],
    level: Hashable,
    name: str,
    *,
    n: int | None,
    adverse: Adverse,
    permutations: int,
    seed: int,
) -> tuple[Pair, ...]:
    """The pairs of one level whose scores are furthest apart."""
    if not is_one_of(adverse, get_args(Adverse)):
        raise InputError(f"adverse must be one of {get_args(Adverse)}, not {adverse!r}.")
    if n is not None and n < 1:
        raise InputError(f"n must be 1 or more, not {n!r}.")
    places = [
        cells.levels.index(level) * len(cells.groups) + cells.groups.index(group)
        for group in groups
    ]
    atoms = cells.rounded
    spans = [slice(atoms.offsets[place], atoms.offsets[place + 1]) for place in places]
    values = [atoms.values[span] for span in spans]
    rows = [int(atoms.counts[span].sum()) for span in spans]
    plan = sorted_plan(*(atoms.mass[span] for span in spans))
    signed = values[1][plan.target] - values[0][plan.source]
    # Whose score is adverse: 0 for the first group, 1 for the second.
    whose = np.where((signed > 0.0) == (adverse == "low"), 0, 1)
    distance, people = np.abs(signed), plan.mass * np.array(rows)[whose]
    order = np.lexsort((plan.source, whose, -distance))
    order = order[distance[order] > 0.0]
    # Decimals such as 0.1 are apart by a hair after subtraction; that is no difference.
    bar = distance - _HAIR * max(float(np.abs(side).max()) for side in values)
    reached = np.zeros(signed.size)
    for side in (0, 1):
        mine = order[whose[order] == side]
        reached[mine] = _at_least(distance[mine], bar[mine], people[mine])
    chosen = order[:n]
    chance = (
        None
        if cells.weighted or cells.cluster is not None
        else _by_chance(cells, spans, bar[chosen], whose[chosen], adverse, permutations, seed)
    )
    names = [str(group) for group in groups]
    return tuple(
        Pair(
            name,
            names[whose[k]],
            float((values[0][plan.source[k]], values[1][plan.target[k]])[whose[k]]),
            names[1 - whose[k]],
            float((values[1][plan.target[k]], values[0][plan.source[k]])[whose[k]]),
            float(distance[k]),
            float(plan.mass[k]),
            float(people[k]),
            float(reached[k]),
            None if chance is None else float(chance[place]),
        )
        for place, k in enumerate(chosen)
    )


def _at_least(falling: FloatArray, bar: FloatArray, people: FloatArray) -> FloatArray:
    """People whose difference reaches each bar."""
    total = np.cumsum(people)
    last = np.searchsorted(-falling, -bar, side="right") - 1
    reached: FloatArray = total[last]
    return reached


def _by_chance(
    cells: Cells,
    spans: Sequence[slice],
    bar: FloatArray,
    whose: np.typing.NDArray[np.int64],
    adverse: Adverse,
    permutations: int,
    seed: int,
) -> FloatArray:
    """People at least as far from their comparator if groups were permuted."""
    atoms = cells.rounded
    values, place = np.unique(
        np.concatenate([atoms.values[span] for span in spans]), return_inverse=True
    )
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, place, np.concatenate([atoms.counts[span] for span in spans]))
    rows = np.array([int(atoms.counts[span].sum()) for span in spans])
    differences = np.unique(bar)
    lower, higher = pairs_by_chance(
        values, counts, int(rows[0]), differences, permutations=permutations, seed=seed
    )
    # The first group is adverse where it is the lower one, or the higher one.
    sides = np.stack([lower, higher] if adverse == "low" else [higher, lower])
    expected: FloatArray = sides[whose, np.searchsorted(differences, bar)] * rows[whose]
    return expected


def pairs_csv(pairs: Iterable[Pair]) -> str:
    """Pairs as a CSV file."""
    out = io.StringIO()
    names = [field.name for field in fields(Pair)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, "cost"])
    for pair in pairs:
        writer.writerow([*(_cell(getattr(pair, name)) for name in names), pair.cost])
    return out.getvalue()


def _cell(value: str | float | None) -> str | float | None:
    """A value for a table; text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
