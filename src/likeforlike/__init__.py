"""likeforlike: audit and enforce conditional fairness by exact optimal transport.

Do two groups get the same scores *among equals*? Scores lie on a line, so transport between them
is exact by sorting, and every figure here is exact and fast.

>>> import likeforlike as lfl
>>> float(lfl.cdd_lp([0, 1, 1, 1], ["f", "f", "m", "m"], ["low", "high", "low", "high"]))
0.5
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from likeforlike.auditing import Audit as Audit
    from likeforlike.auditing import audit as audit
    from likeforlike.cells import Cells as Cells
    from likeforlike.disparity import Disparity as Disparity
    from likeforlike.disparity import LevelTable as LevelTable
    from likeforlike.disparity import cdd_lp as cdd_lp
    from likeforlike.disparity import dd as dd
    from likeforlike.disparity import tv_overlap as tv_overlap
    from likeforlike.errors import BinnedLevelWarning as BinnedLevelWarning
    from likeforlike.errors import InputError as InputError
    from likeforlike.errors import LevelCostWarning as LevelCostWarning
    from likeforlike.errors import UnmetLimitWarning as UnmetLimitWarning
    from likeforlike.errors import UnpenalisedWarning as UnpenalisedWarning
    from likeforlike.estimators import FairClassifier as FairClassifier
    from likeforlike.estimators import FairRegressor as FairRegressor
    from likeforlike.nested_disparity import NestedDisparity as NestedDisparity
    from likeforlike.nested_disparity import cdd_wass as cdd_wass
    from likeforlike.penalties import FairBiT as FairBiT
    from likeforlike.penalties import FairLeap as FairLeap
    from likeforlike.penalties import WassersteinPenalty as WassersteinPenalty

__version__ = "0.1.0"
"""Version of the library, as results and saved files name it."""

__all__ = [
    "Audit",
    "BinnedLevelWarning",
    "Cells",
    "Disparity",
    "FairBiT",
    "FairClassifier",
    "FairLeap",
    "FairRegressor",
    "InputError",
    "LevelCostWarning",
    "LevelTable",
    "NestedDisparity",
    "UnmetLimitWarning",
    "UnpenalisedWarning",
    "WassersteinPenalty",
    "__version__",
    "audit",
    "cdd_lp",
    "cdd_wass",
    "dd",
    "tv_overlap",
]


# Where the public names live. They are imported when they are asked for, so that `likeforlike
# --help` waits for no array library and auditing needs neither torch nor scikit-learn.
_HOMES = {
    "Audit": "auditing",
    "BinnedLevelWarning": "errors",
    "Cells": "cells",
    "Disparity": "disparity",
    "FairBiT": "penalties",
    "FairClassifier": "estimators",
    "FairLeap": "penalties",
    "FairRegressor": "estimators",
    "InputError": "errors",
    "LevelCostWarning": "errors",
    "LevelTable": "disparity",
    "NestedDisparity": "nested_disparity",
    "UnmetLimitWarning": "errors",
    "UnpenalisedWarning": "errors",
    "WassersteinPenalty": "penalties",
    "audit": "auditing",
    "cdd_lp": "disparity",
    "cdd_wass": "nested_disparity",
    "dd": "disparity",
    "tv_overlap": "disparity",
}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
