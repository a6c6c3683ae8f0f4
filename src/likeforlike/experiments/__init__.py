"""Experiments: many models on the same data, stacked, and what they trade against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.experiments._fairlearn import FairlearnAdversarial
    from likeforlike.experiments._frontier import Frontier
    from likeforlike.experiments._journal import Journal
    from likeforlike.experiments._method_names import METHOD_NAMES, named_methods
    from likeforlike.experiments._methods import (
        DCFR,
        Adversarial,
        HardLabels,
        LegitimateOnly,
        Method,
        Penalized,
        Plain,
        WithoutSensitive,
    )
    from likeforlike.experiments._repairing import PostProcessed, Repaired, RepairedPenalized
    from likeforlike.experiments._run_metrics import MEASURED
    from likeforlike.experiments._saving import fit_model
    from likeforlike.experiments._split import Split, split
    from likeforlike.experiments._sweep import Sweep, sweep
    from likeforlike.experiments._task import Task
    from likeforlike.experiments._tradeoff import Point, tradeoff
    from likeforlike.experiments._unaware_methods import Decided, WithoutGroups

__all__ = [
    "DCFR",
    "MEASURED",
    "METHOD_NAMES",
    "Adversarial",
    "Decided",
    "FairlearnAdversarial",
    "Frontier",
    "HardLabels",
    "Journal",
    "LegitimateOnly",
    "Method",
    "Penalized",
    "Plain",
    "Point",
    "PostProcessed",
    "Repaired",
    "RepairedPenalized",
    "Split",
    "Sweep",
    "Task",
    "WithoutGroups",
    "WithoutSensitive",
    "fit_model",
    "named_methods",
    "split",
    "sweep",
    "tradeoff",
]

lazy_package(
    __name__,
    {
        "_fairlearn": ["FairlearnAdversarial"],
        "_frontier": ["Frontier"],
        "_journal": ["Journal"],
        "_method_names": ["METHOD_NAMES", "named_methods"],
        "_methods": [
            "Adversarial",
            "DCFR",
            "HardLabels",
            "LegitimateOnly",
            "Method",
            "Penalized",
            "Plain",
            "WithoutSensitive",
        ],
        "_repairing": ["PostProcessed", "Repaired", "RepairedPenalized"],
        "_run_metrics": ["MEASURED"],
        "_saving": ["fit_model"],
        "_split": ["Split", "split"],
        "_sweep": ["Sweep", "sweep"],
        "_task": ["Task"],
        "_tradeoff": ["Point", "tradeoff"],
        "_unaware_methods": ["Decided", "WithoutGroups"],
    },
)
