"""likeforlike: audit and enforce conditional fairness by exact optimal transport.

Do two groups get the same scores *among equals*? Scores lie on a line, so transport between them
is exact by sorting, and every figure here is exact and fast.

>>> import likeforlike as lfl
>>> float(lfl.cdd_lp([0, 1, 1, 1], ["f", "f", "m", "m"], ["low", "high", "low", "high"]))
0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# From here on forks are noticed: polars does not survive them.
from likeforlike import _forks as _forks
from likeforlike._lazy import attach

if TYPE_CHECKING:
    from . import auditing as auditing
    from . import classical as classical
    from . import datasets as datasets
    from . import disparity as disparity
    from . import document as document
    from . import errors as errors
    from . import experiments as experiments
    from . import inference as inference
    from . import integrations as integrations
    from . import monitoring as monitoring
    from . import paper as paper
    from . import penalties as penalties
    from . import repair as repair
    from . import report as report
    from . import teams as teams
    from . import testing as testing
    from . import training as training
    from . import transport as transport
    from ._load import load as load
    from .auditing import Audit as Audit
    from .auditing import Policy as Policy
    from .auditing import Summary as Summary
    from .auditing import audit as audit
    from .auditing import summarize as summarize
    from .disparity import Cells as Cells
    from .disparity import Disparity as Disparity
    from .disparity import NestedDisparity as NestedDisparity
    from .disparity import cdd_lp as cdd_lp
    from .disparity import cdd_wass as cdd_wass
    from .disparity import dd as dd
    from .monitoring import compare as compare
    from .payroll import pay as pay
    from .penalties import FairBiT as FairBiT
    from .penalties import FairLeap as FairLeap
    from .penalties import SmoothFairLeap as SmoothFairLeap
    from .penalties import WassersteinPenalty as WassersteinPenalty
    from .repair import ConditionalBarycenter as ConditionalBarycenter
    from .repair import FairDecisions as FairDecisions
    from .repair import RepairedClassifier as RepairedClassifier
    from .repair import RepairedRegressor as RepairedRegressor
    from .repair import UnawareRepair as UnawareRepair
    from .training import FairCatBoostClassifier as FairCatBoostClassifier
    from .training import FairCatBoostRegressor as FairCatBoostRegressor
    from .training import FairClassifier as FairClassifier
    from .training import FairLGBMClassifier as FairLGBMClassifier
    from .training import FairLGBMRegressor as FairLGBMRegressor
    from .training import FairRegressor as FairRegressor
    from .training import FairXGBClassifier as FairXGBClassifier
    from .training import FairXGBRegressor as FairXGBRegressor

__version__ = "0.1.0"
"""Version of the library, as results and saved files name it."""

attach(__name__)
