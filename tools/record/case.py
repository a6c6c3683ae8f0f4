"""What a case is, and the small tables that most of them read.

Data are small and trainings short: it is sameness that is looked at, not quality.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tools.record.library import datasets

__all__ = ["Case", "columns", "loans", "pair", "people"]


class Case(NamedTuple):
    """A call, or a few that belong together.

    Attributes
    ----------
    make : gives the results.
    trains : whether it fits networks, whose numbers depend a little on the machine.

    Examples
    --------
    >>> from tools.record import CASES
    >>> CASES["dd"].tolerance, CASES["FairClassifier"].tolerance
    (1e-09, 1e-05)
    """

    make: Callable[[], object]
    trains: bool = False

    @property
    def tolerance(self) -> float:
        """Of the numbers, relative.

        Networks compute with seven digits, and machines differ in the last: with other instructions
        of the processor, these few epochs came out up to 2e-6 apart.
        """
        return 1e-5 if self.trains else 1e-9

    @property
    def near_zero(self) -> float:
        """How far from each other numbers may be whatever their size, as a part of the tolerance.

        Disparities of networks are means of differences of scores near 1. Seven digits of these
        are 1e-7; the recording and another processor came out 3e-7 apart.
        """
        return 0.1 if self.trains else 1e-3


@cache
def people() -> pl.DataFrame:
    """Three groups in four levels with ties and weights, and a level where nobody meets anybody."""
    rng = np.random.default_rng(11)
    group, level = rng.choice(list("abc"), 240), rng.integers(0, 4, 240)
    group[:6], level[:6] = "a", 4
    score = np.round(0.4 + 0.1 * level + 0.08 * (group == "b") + 0.15 * rng.random(240), 2)
    return pl.DataFrame(
        {"score": score, "group": group, "level": level, "weight": rng.integers(1, 5, 240)}
    )


@cache
def pair() -> pl.DataFrame:
    """The first two of the three groups."""
    return people().filter(pl.col("group") != "c")


@cache
def loans() -> datasets.Dataset:
    """Applicants with inputs, for audits and trainings."""
    return datasets.make_loans(400, gap=0.15)


def columns(table: pl.DataFrame, *, weighted: bool = False) -> dict[str, Any]:
    """Arguments of a disparity or a penalty."""
    given = {
        "scores": table["score"],
        "sensitive_features": table["group"],
        "legitimate_features": table["level"],
    }
    return {**given, "sample_weight": table["weight"]} if weighted else given
