"""likeforlike: audit and enforce conditional fairness by exact optimal transport.

Do two groups get the same scores *among equals*? Scores lie on a line, so transport between them
is exact by sorting, and every figure here is exact and fast.

>>> import likeforlike as lfl
>>> float(lfl.cdd_lp([0, 1, 1, 1], ["f", "f", "m", "m"], ["low", "high", "low", "high"]))
0.5
"""

import typing

from likeforlike.audit import Audit as Audit
from likeforlike.audit import audit as audit
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
from likeforlike.nested_disparity import NestedDisparity as NestedDisparity
from likeforlike.nested_disparity import cdd_wass as cdd_wass
from likeforlike.penalties import FairBiT as FairBiT
from likeforlike.penalties import FairLeap as FairLeap
from likeforlike.penalties import WassersteinPenalty as WassersteinPenalty

if typing.TYPE_CHECKING:
    from likeforlike.estimators import FairClassifier as FairClassifier
    from likeforlike.estimators import FairRegressor as FairRegressor

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


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401
    """Estimators are imported when asked for: auditing needs neither torch nor scikit-learn."""
    if name in ("FairClassifier", "FairRegressor"):
        from likeforlike import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
