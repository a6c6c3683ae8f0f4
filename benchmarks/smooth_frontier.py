"""Training without bins: what a cut of the disparity costs, along the admission test of Law School.

Race (white or not) given LSAT, race among the inputs. The same networks, splits and strengths are
trained against `FairLeap` in 5, 10 and 20 bins of LSAT, which have equal numbers of rows, and
against `SmoothFairLeap`. Everything is measured on test rows: squared error, and the disparity
along LSAT as an audit without bins estimates it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from likeforlike import FairLeap, SmoothFairLeap
from likeforlike._arrays import FloatArray
from likeforlike.datasets import Dataset, load_law_school
from likeforlike.experiments import split
from likeforlike.experiments._split import Split, network_scores
from likeforlike.penalties import Layout, Penalty
from likeforlike.training import Recipe, estimate_smooth_disparity

__all__ = ["CUTS", "STRENGTHS", "at_cut", "run"]

STRENGTHS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0, 3.5, 6.0, 10.0, 20.0, 40.0, 80.0)
CUTS = (0.25, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
_BINS = (5, 10, 20)
# Splits that are trained side by side.
_STACK = 6
_SHARES = (0.48, 0.12, 0.4)
_INPUTS = ("ugpa", "fam_inc", "fulltime", "tier", "lsat")


def race_given_lsat() -> Dataset:
    """Law School with race, white or not, for groups and LSAT itself for levels."""
    law = load_law_school()
    white = pl.col("race1") == "white"
    race = pl.when(white).then(pl.lit("white")).otherwise(pl.lit("not white"))
    frame = law.frame.drop_nulls("race1").with_columns(race=race)
    return Dataset(frame, _INPUTS, law.target, "race", ("lsat",), law.task, law.provenance)


def run(
    seeds: int,
    epochs: int = 60,
    strengths: tuple[float, ...] = STRENGTHS,
    kept: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Squared error and squared disparity of every method, split and strength.

    Parameters
    ----------
    seeds : how many splits.
    epochs, strengths : of the training.
    kept : what an earlier run found with fewer splits, which are not trained again.
    """
    data = race_given_lsat()
    found: dict[str, dict[str, Any]] = {} if kept is None else kept["found"]
    for first in range(0 if kept is None else kept["seeds"], seeds, _STACK):
        parts = split(
            data, range(first, min(first + _STACK, seeds)), shares=_SHARES, with_sensitive=True
        )
        for name, measured in _trained(data, parts, epochs, strengths).items():
            of_method = found.setdefault(name, {"error": [], "squared": []})
            for figure, by_split in measured.items():
                of_method[figure].extend(by_split)
    return {"seeds": seeds, "strengths": list(strengths), "rows": len(data.groups), "found": found}


def _trained(
    data: Dataset, parts: Split, epochs: int, strengths: tuple[float, ...]
) -> dict[str, dict[str, Any]]:
    """What networks against every penalty come to on some splits."""
    methods: dict[str, tuple[Penalty, FloatArray | None]] = {
        f"{bins} bins": (FairLeap(), _binned(data, bins)) for bins in _BINS
    }
    methods["smooth"] = (SmoothFairLeap(), None)
    found = {}
    for name, (penalty, levels) in methods.items():
        recipe = Recipe(
            parts.loss, penalty, batch_size=256, max_epochs=epochs, patience=max(15, epochs // 4)
        )
        rows = parts if levels is None else _with_levels(parts, data, levels)
        found[name] = _measured(network_scores(rows, recipe, strengths), parts)
    return found


def _binned(data: Dataset, bins: int) -> FloatArray:
    """The bin of every row; equal tests stay together."""
    test = data.levels
    edges = np.quantile(test, np.arange(1, bins) / bins)
    return np.searchsorted(edges, test, side="left").astype(np.float64)


def _with_levels(parts: Split, data: Dataset, levels: FloatArray) -> Split:
    """The same rows with other levels."""
    layout = Layout.from_columns(data.groups, levels)
    return replace(
        parts,
        train=replace(parts.train, layout=layout.take(parts.train_rows)),
        validation=replace(parts.validation, layout=layout.take(parts.validation_rows)),
        test=replace(parts.test, layout=layout.take(parts.test_rows)),
    )


def _measured(scores: FloatArray, parts: Split) -> dict[str, Any]:
    errors = ((scores - parts.test_targets[:, None]) ** 2).mean(axis=2)
    layouts = [parts.test.layout.select_model(k) for k in range(len(scores))]
    squares = [
        [estimate_smooth_disparity(np.ascontiguousarray(one), layout).squared for one in of_split]
        for of_split, layout in zip(scores, layouts, strict=True)
    ]
    return {"error": errors.tolist(), "squared": squares}


def at_cut(errors: FloatArray, squares: FloatArray, cut: float, free: float) -> float:
    """The least error at which the disparity is cut by this much, on lines between strengths.

    Parameters
    ----------
    errors, squares : (k,) of one method, by rising strength.
    free : the disparity without a penalty.
    """
    sizes = np.sqrt(np.maximum(squares, 0.0))
    wanted = (1.0 - cut) * free
    best = np.inf
    for low, high in zip(range(sizes.size - 1), range(1, sizes.size), strict=True):
        a, b = sizes[low], sizes[high]
        if min(a, b) <= wanted <= max(a, b):
            part = 0.0 if a == b else (a - wanted) / (a - b)
            best = min(best, float(errors[low] + part * (errors[high] - errors[low])))
    if not np.isfinite(best) and (sizes <= wanted).any():
        best = float(errors[sizes <= wanted].min())
    return best
