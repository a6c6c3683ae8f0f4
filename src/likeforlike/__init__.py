"""likeforlike: audit and enforce conditional fairness by exact optimal transport.

Do two groups get the same scores *among equals*? Scores lie on a line, so transport between them
is exact by sorting, and every figure here is exact and fast.

>>> import likeforlike as lfl
>>> float(lfl.cdd_lp([0, 1, 1, 1], ["f", "f", "m", "m"], ["low", "high", "low", "high"]))
0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# From here on forks are watched: polars does not survive them.
from likeforlike import _forks as _forks
from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike import auditing as auditing
    from likeforlike import baselines as baselines
    from likeforlike import boosting as boosting
    from likeforlike import datasets as datasets
    from likeforlike import disparity as disparity
    from likeforlike import document as document
    from likeforlike import estimators as estimators
    from likeforlike import experiments as experiments
    from likeforlike import inference as inference
    from likeforlike import nn as nn
    from likeforlike import paper as paper
    from likeforlike import penalties as penalties
    from likeforlike import postprocess as postprocess
    from likeforlike import teams as teams
    from likeforlike import testing as testing
    from likeforlike import tracking as tracking
    from likeforlike import transport as transport
    from likeforlike.auditing import Audit, audit
    from likeforlike.disparity import (
        Cells,
        Disparity,
        LevelTable,
        NestedDisparity,
        cdd_lp,
        cdd_wass,
        dd,
        tv_overlap,
    )
    from likeforlike.errors import (
        BinnedLevelWarning,
        InputError,
        LevelCostWarning,
        MissingExtra,
        RepairWarning,
        ThinLevelsWarning,
        UnderfitWarning,
        UnmetLimitWarning,
        UnpenalizedWarning,
        UnsettledWarning,
    )
    from likeforlike.estimators import (
        FairClassifier,
        FairLGBMClassifier,
        FairLGBMRegressor,
        FairRegressor,
        FairXGBClassifier,
        FairXGBRegressor,
    )
    from likeforlike.penalties import FairBiT, FairLeap, SmoothFairLeap, WassersteinPenalty

__version__ = "0.1.0"
"""Version of the library, as results and saved files name it."""

__all__ = [
    "Audit",
    "BinnedLevelWarning",
    "Cells",
    "Disparity",
    "FairBiT",
    "FairClassifier",
    "FairLGBMClassifier",
    "FairLGBMRegressor",
    "FairLeap",
    "FairRegressor",
    "FairXGBClassifier",
    "FairXGBRegressor",
    "InputError",
    "LevelCostWarning",
    "LevelTable",
    "MissingExtra",
    "NestedDisparity",
    "RepairWarning",
    "SmoothFairLeap",
    "ThinLevelsWarning",
    "UnderfitWarning",
    "UnmetLimitWarning",
    "UnpenalizedWarning",
    "UnsettledWarning",
    "WassersteinPenalty",
    "__version__",
    "audit",
    "cdd_lp",
    "cdd_wass",
    "dd",
    "tv_overlap",
]

lazy_package(
    __name__,
    {
        "auditing": ["Audit", "audit"],
        "disparity": [
            "Cells",
            "Disparity",
            "LevelTable",
            "NestedDisparity",
            "cdd_lp",
            "cdd_wass",
            "dd",
            "tv_overlap",
        ],
        "errors": [
            "BinnedLevelWarning",
            "InputError",
            "LevelCostWarning",
            "MissingExtra",
            "RepairWarning",
            "ThinLevelsWarning",
            "UnderfitWarning",
            "UnmetLimitWarning",
            "UnpenalizedWarning",
            "UnsettledWarning",
        ],
        "estimators": [
            "FairClassifier",
            "FairLGBMClassifier",
            "FairLGBMRegressor",
            "FairRegressor",
            "FairXGBClassifier",
            "FairXGBRegressor",
        ],
        "penalties": ["FairBiT", "FairLeap", "SmoothFairLeap", "WassersteinPenalty"],
    },
    modules=[
        "auditing",
        "baselines",
        "boosting",
        "datasets",
        "disparity",
        "document",
        "estimators",
        "experiments",
        "inference",
        "nn",
        "paper",
        "penalties",
        "postprocess",
        "teams",
        "testing",
        "tracking",
        "transport",
    ],
)
