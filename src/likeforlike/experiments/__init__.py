"""Experiments: many models on the same data, stacked, and what they trade against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._fairlearn import FairlearnAdversarial as FairlearnAdversarial
    from ._frontier import Frontier as Frontier
    from ._journal import Journal as Journal
    from ._method_names import METHOD_NAMES as METHOD_NAMES
    from ._method_names import named_methods as named_methods
    from ._methods import DCFR as DCFR
    from ._methods import Adversarial as Adversarial
    from ._methods import HardLabels as HardLabels
    from ._methods import LegitimateOnly as LegitimateOnly
    from ._methods import Method as Method
    from ._methods import Penalized as Penalized
    from ._methods import Plain as Plain
    from ._methods import WithoutSensitive as WithoutSensitive
    from ._repairing import PostProcessed as PostProcessed
    from ._repairing import Repaired as Repaired
    from ._repairing import RepairedPenalized as RepairedPenalized
    from ._run_metrics import MEASURED as MEASURED
    from ._saving import fit_model as fit_model
    from ._split import Split as Split
    from ._split import split as split
    from ._sweep import Sweep as Sweep
    from ._sweep import sweep as sweep
    from ._task import Task as Task
    from ._tradeoff import Point as Point
    from ._tradeoff import tradeoff as tradeoff
    from ._unaware_methods import Decided as Decided
    from ._unaware_methods import WithoutGroups as WithoutGroups

attach(__name__)
