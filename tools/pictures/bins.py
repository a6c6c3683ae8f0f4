"""Bins against the curve: race given LSAT in the Law School data, for two scores."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

import likeforlike as lfl
from likeforlike.auditing import Audit
from likeforlike.datasets import load_law_school
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from tools.pictures.drawing import Axes, key, picture

__all__ = ["ROLES", "binned", "bins", "people"]

ROLES: dict[str, Any] = {"sensitive": "race", "legitimate": "lsat", "permutations": 99}
"""How both scores are audited."""

_BINS = 5
_HEIGHT, _TOP, _BOTTOM = 500.0, 146.0, 432.0
_LEFTS, _SIDE = (78.0, 530.0), 350.0
_SCORES = {
    "predicted": "predicted grades",
    "of_lsat": "LSAT and noise: everybody alike",
}


def people() -> pl.DataFrame:
    """Students that a model of their grades has not seen, and a score that is LSAT and noise.

    Columns are lsat, race, predicted and of_lsat.
    """
    law = load_law_school().frame
    inputs = law.select("ugpa", "fam_inc", "fulltime", "tier", "lsat").to_numpy().astype(float)
    design = np.c_[np.ones(len(law)), inputs, inputs**2]
    learn = np.arange(len(law)) % 2 == 0
    solved = np.linalg.lstsq(design[learn], law["zfygpa"].to_numpy()[learn], rcond=None)[0]
    noise = np.random.default_rng(0).normal(0.0, 0.05, len(law))
    white = pl.when(pl.col("race1") == "white").then(pl.lit("white")).otherwise(pl.lit("other"))
    columns = law.select(
        "lsat",
        white.alias("race"),
        pl.Series("predicted", design @ solved),
        (0.05 * pl.col("lsat") + pl.Series(noise)).alias("of_lsat"),
    )
    return columns.filter(pl.Series(~learn))


def binned(table: pl.DataFrame, score: str, how_many: int) -> Audit:
    """The audit with so many bins.

    Parameters
    ----------
    table : of `people`.
    score : a column of it.
    how_many : bins.
    """
    with warnings.catch_warnings(action="ignore", category=lfl.errors.BinnedLevelWarning):
        return lfl.audit(table, score=score, **ROLES, bins={"lsat": how_many})


def bins() -> str:
    """The gap in five bins, and along LSAT with its band, for both scores."""
    table = people()
    panels, told = [], []
    for left, (score, called) in zip(_LEFTS, _SCORES.items(), strict=True):
        few, smooth = (
            binned(table, score, _BINS),
            lfl.audit(table, score=score, **ROLES, smooth="lsat"),
        )
        panels.append(_panel(left, called, table, few, smooth))
        told.append(
            f"{called}: gap {few.gap:.3f} with {_BINS} bins (p = {few.p_value:.3g}), "
            f"{smooth.gap:.3f} along LSAT (p = {smooth.p_value:.3g})."
        )
    return picture(
        "Bins against the curve",
        " ".join(told),
        _HEIGHT,
        svg.text(24.0, 34.0, "Bins find a gap where everybody is treated alike", class_="head"),
        key(24.0, 66.0, lambda x, y: svg.line(x - 12, y, x + 12, y, class_="b span"), "five bins"),
        key(
            200.0,
            66.0,
            lambda x, y: svg.line(x - 12, y, x + 12, y, class_="e span"),
            "along LSAT, with its 95% band",
        ),
        svg.text(24.0, 94.0, "white minus other students with equal LSAT", class_="small"),
        *panels,
    )


def _panel(left: float, called: str, table: pl.DataFrame, few: Audit, smooth: Audit) -> Markup:
    axes = Axes(AxisScale(20.0, 48.0, left, left + _SIDE), AxisScale(-0.1, 0.4, _BOTTOM, _TOP))
    return svg.group(
        axes.drawn(("LSAT", f"gap; {called}"), ((20, 30, 40), (-0.1, 0.0, 0.1, 0.2, 0.3, 0.4))),
        svg.line(left, axes.up(0.0), left + _SIDE, axes.up(0.0), class_="zero"),
        *_curve(axes, smooth),
        *_steps(axes, table, few),
    )


def _steps(axes: Axes, table: pl.DataFrame, few: Audit) -> list[Markup]:
    """A level line for each bin."""
    edges = [table["lsat"].min(), *few.table.edges["lsat"], table["lsat"].max()]
    gaps = {level.level: level.gap for level in few.levels}
    return [
        svg.line(
            axes.across.clipped(float(low)),  # type: ignore[arg-type]
            axes.up.clipped(gaps[k]),
            axes.across.clipped(float(high)),  # type: ignore[arg-type]
            axes.up.clipped(gaps[k]),
            class_="b span",
        )
        for k, (low, high) in enumerate(pairwise(edges))
        if k in gaps
    ]


def _curve(axes: Axes, smooth: Audit) -> list[Markup]:
    """Band and curve."""
    assert smooth.smooth is not None
    levels = {level.name: level for level in smooth.levels}
    shown = [(w.center, levels[w.level]) for w in smooth.smooth.windows if w.level in levels]
    ends = [(x, level.gap_interval) for x, level in shown if level.gap_interval is not None]
    upper = [(axes.across(x), axes.up.clipped(high)) for x, (_, high) in ends]
    lower = [(axes.across(x), axes.up.clipped(low)) for x, (low, _) in ends]
    return [
        svg.path([*upper, *reversed(lower)], closed=True, class_="e area"),
        svg.path([(axes.across(x), axes.up(level.gap)) for x, level in shown], class_="e outline"),
    ]
