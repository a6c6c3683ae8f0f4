"""Six data sets to train on, four of the project and two from outside, and how they are parted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.outside import credit_cards, german_credit
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_communities,
    load_drug,
    load_law_school,
)

__all__ = [
    "MOST_TO_FIT",
    "MOST_TO_TEST",
    "SIX",
    "above_median",
    "law_school_by_race",
    "parted",
    "relative_loss",
]

MOST_TO_FIT, MOST_TO_TEST = 4000, 20_000
"""Rows that are taken at the most."""

SIX: dict[str, Callable[[], Dataset]] = {
    "drug": load_drug,
    "law school": load_law_school,
    "communities": load_communities,
    "German credit": german_credit,
    "credit cards": credit_cards,
    "adult": load_adult,
}
"""How each is loaded."""


def law_school_by_race() -> Dataset:
    """Law School by race: white, and all others."""
    law = load_law_school()
    race = pl.when(pl.col("race1") == "white").then(pl.lit("white")).otherwise(pl.lit("other"))
    frame = law.frame.drop_nulls("race1").with_columns(race.alias("race1"))
    return replace(law, frame=frame, sensitive="race1")


def above_median(data: Dataset) -> Dataset:
    """A regression as a classification: whether the target is above its median."""
    above = pl.col(data.target) > pl.col(data.target).median()
    frame = data.frame.with_columns(above.cast(pl.Int64))
    return replace(data, frame=frame, task="classification")


def parted(size: int, split: int) -> tuple[IntArray, IntArray]:
    """Rows to fit (three fifths at the most) and rows to test, of a table with so many rows."""
    mixed = np.random.default_rng([split, 18]).permutation(size)
    many = min(MOST_TO_FIT, int(0.6 * size))
    return mixed[:many], mixed[many : many + MOST_TO_TEST]


def relative_loss(scores: FloatArray, targets: FloatArray, *, classes: bool) -> float:
    """Log loss or mean squared error, divided by that of the best constant score.

    Parameters
    ----------
    scores, targets : (n,) floats.
    classes : whether targets are 0 and 1, and scores the chance of a 1.
    """
    if not classes:
        return float(np.mean((scores - targets) ** 2) / targets.var())

    def log_loss(chance: FloatArray | float) -> float:
        sure = np.clip(chance, 1e-7, 1.0 - 1e-7)
        return float(-np.mean(targets * np.log(sure) + (1.0 - targets) * np.log1p(-sure)))

    return log_loss(scores) / log_loss(float(targets.mean()))
