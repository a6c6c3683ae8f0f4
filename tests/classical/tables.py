"""Twenty tables to compute every convention of: usual ones, zero cells, singletons, ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike import Cells


class Rows(NamedTuple):
    """Rows of two groups, "f" and "m"."""

    scores: npt.NDArray[np.float64]
    groups: npt.NDArray[np.str_]
    levels: npt.NDArray[np.int64]

    @property
    def cells(self) -> Cells:
        return Cells.from_rows(self.scores, self.groups, self.levels)

    def of(self, group: str, level: int | None = None) -> npt.NDArray[np.float64]:
        """Scores of a group, in one level or in all."""
        kept = self.groups == group
        found: npt.NDArray[np.float64] = self.scores[
            kept if level is None else kept & (self.levels == level)
        ]
        return found

    @property
    def met(self) -> list[int]:
        """Levels where both groups occur."""
        return [
            int(level)
            for level in np.unique(self.levels)
            if self.of("f", level).size and self.of("m", level).size
        ]


def from_counts(counts: list[tuple[int, int, int, int]]) -> Rows:
    """Decisions: positive and negative of f, then of m, in every level."""
    scores, groups, levels = [], [], []
    for level, (a, b, c, d) in enumerate(counts):
        scores += [1.0] * a + [0.0] * b + [1.0] * c + [0.0] * d
        groups += ["f"] * (a + b) + ["m"] * (c + d)
        levels += [level] * (a + b + c + d)
    return Rows(np.array(scores), np.array(groups), np.array(levels))


def _random_decisions(seed: int, levels: int, most: int) -> Rows:
    rng = np.random.default_rng(seed)
    return from_counts([tuple(rng.integers(0, most, 4).tolist()) for _ in range(levels)])


def _random_scores(seed: int, rows: int, levels: int, values: int | None) -> Rows:
    rng = np.random.default_rng(seed)
    scores = rng.gamma(2.0, 20_000.0, rows) if values is None else rng.integers(1, values, rows)
    return Rows(
        scores.astype(np.float64),
        rng.choice(["f", "m"], rows, p=[0.3, 0.7]),
        rng.integers(0, levels, rows),
    )


DECISIONS = {
    "one level": from_counts([(30, 70, 60, 40)]),
    "parity": from_counts([(10, 10, 20, 20), (5, 15, 10, 30)]),
    "opposite levels": from_counts([(30, 70, 60, 40), (60, 40, 30, 70)]),
    "a zero cell": from_counts([(0, 10, 5, 5), (4, 6, 7, 3)]),
    "zero cells everywhere": from_counts([(0, 9, 5, 4), (3, 0, 2, 7), (4, 4, 0, 8)]),
    "all accepted in a level": from_counts([(8, 0, 9, 0), (4, 6, 7, 3), (2, 5, 6, 1)]),
    "nobody accepted in a level": from_counts([(0, 8, 0, 9), (4, 6, 7, 3), (1, 9, 2, 2)]),
    "singletons": from_counts([(1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (3, 2, 1, 4)]),
    "a level of one group": from_counts([(5, 5, 0, 0), (4, 6, 7, 3), (2, 2, 3, 1)]),
    "large": from_counts([(3000, 17_000, 9000, 21_000), (500, 1500, 4000, 6000)]),
    **{f"random {seed}": _random_decisions(seed, 6, 12) for seed in range(4)},
}
SCORES = {
    "pay": _random_scores(1, 400, 5, None),
    "grades with ties": _random_scores(2, 300, 4, 6),
    "one level of scores": _random_scores(3, 50, 1, None),
    "many small levels": _random_scores(4, 90, 30, 9),
    "pairs": Rows(
        np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0]),
        np.array(["f", "m"] * 3),
        np.array([0, 0, 1, 1, 2, 2]),
    ),
    "even numbers of rows": _random_scores(5, 64, 2, 40),
}
TABLES = DECISIONS | SCORES
