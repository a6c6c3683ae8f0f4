"""Disparities with their settings, and cells."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from tools.record.case import Case, columns, pair, people
from tools.record.library import inference, lfl

__all__ = ["CASES"]


def _disparity(found: lfl.Disparity) -> dict[str, object]:
    return {
        "value": found.value,
        "gap": found.gap,
        "groups": found.groups,
        "by_level": found.by_level.to_dict(),
        "coverage": found.coverage,
        "excluded": found.excluded,
        "resolution": found.resolution,
        "comparisons": [(each.groups, each.value, each.gap) for each in found.comparisons],
    }


def _nested(found: lfl.NestedDisparity) -> dict[str, object]:
    names = ("value", "root", "diagonal", "off_diagonal", "level_transport", "excess", "overlap")
    more = ("diagonal_mass", "level_cost", "level_cost_bound", "groups", "levels", "coverage")
    comparisons = [(each.groups, each.value) for each in found.comparisons]
    return {
        **{name: getattr(found, name) for name in (*names, *more)},
        "plan": [np.asarray(part) for part in found.plan],
        "comparisons": comparisons,
    }


def _dd() -> object:
    given: dict[str, Any] = {"scores": people()["score"], "sensitive_features": people()["group"]}
    settings: list[dict[str, Any]] = [
        *({"distance": distance} for distance in ("wasserstein", "ks", "tv", "mean")),
        *({"order": order} for order in (1.5, 2)),
        *({"comparison": comparison} for comparison in ("one-vs-rest", "barycenter")),
        {"sample_weight": people()["weight"]},
    ]
    return {_named(each): _disparity(lfl.dd(**given, **each)) for each in settings}


def _cdd_lp() -> object:
    settings: list[dict[str, Any]] = [
        *({"distance": distance} for distance in ("wasserstein", "ks", "tv", "mean")),
        *({"order": order, "p": p} for order, p in ((1, 2), (2, 1), (2, 2), (3, math.inf))),
        *({"measure": measure} for measure in ("average", "uniform", "overlap")),
        {"measure": {0: 1.0, 1: 2.0, 2: 0.0, 3: 4.0}},
        *({"comparison": comparison} for comparison in ("one-vs-rest", "barycenter")),
        {"sample_weight": people()["weight"], "measure": "average"},
    ]
    given = columns(people())
    return {_named(each): _disparity(lfl.cdd_lp(**given, **each)) for each in settings}


def _cdd_wass() -> object:
    metric = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) ** 0.5
    settings: list[dict[str, Any]] = [
        *({"order": order} for order in (1, 2, 3)),
        *({"level_metric": name, "order": 2} for name in ("numeric", "ordinal", metric)),
        {"level_cost": 0.01},
        {"comparison": "one-vs-rest"},
        {"sample_weight": people()["weight"]},
    ]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.LevelCostWarning)
        for each in settings:
            found[_named(each)] = _nested(lfl.cdd_wass(**columns(people()), **each))
    return found


def _named(settings: Mapping[str, Any]) -> str:
    """Settings as text; columns and matrices by their name alone."""
    short = {
        name: part if isinstance(part, str | int | float | dict) else "given"
        for name, part in settings.items()
    }
    return ", ".join(f"{name}={part}" for name, part in short.items())


def _tv_overlap() -> object:
    return {
        "plain": _disparity(lfl.disparity.tv_overlap(**columns(people()))),
        "weighted": _disparity(lfl.disparity.tv_overlap(**columns(pair(), weighted=True))),
        "several": _disparity(
            lfl.disparity.tv_overlap(**columns(people()), comparison="one-vs-rest")
        ),
    }


def _cells() -> object:
    counted = people().group_by("level", "group", "score", maintain_order=True).len()
    given = (counted[name] for name in ("level", "group", "score", "len"))
    cells = lfl.Cells.from_counts(*given, resolution=0.01)
    joined = lfl.Cells.from_rows(*columns(pair()).values()).merge(
        lfl.Cells.from_rows([0.5, 0.6], ["a", "b"], [1, 1])
    )
    return {
        "counts": cells.counts,
        "means": cells.means,
        "measured": _disparity(lfl.cdd_lp(cells, order=2)),
        "merged": _disparity(lfl.cdd_lp(joined)),
        "pooled": _disparity(lfl.dd(cells.pool_levels())),
    }


def _adjusted() -> object:
    p_values = np.array([0.001, 0.2, 0.03, 0.04, 0.5])
    return {name: inference.adjust(p_values, name) for name in ("holm", "bh")}


CASES = {
    "dd": Case(_dd),
    "cdd_lp": Case(_cdd_lp),
    "cdd_wass": Case(_cdd_wass),
    "tv_overlap": Case(_tv_overlap),
    "cells": Case(_cells),
    "adjusted p-values": Case(_adjusted),
}
