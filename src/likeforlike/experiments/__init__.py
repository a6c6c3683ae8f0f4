"""Experiments: many models on the same data, stacked, and what they trade against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from . import rivals as rivals
    from ._frontier import Frontier as Frontier
    from ._methods import DCFR as DCFR
    from ._methods import Adversarial as Adversarial
    from ._methods import LegitimateOnly as LegitimateOnly
    from ._methods import Method as Method
    from ._methods import Penalized as Penalized
    from ._methods import Plain as Plain
    from ._methods import WithoutSensitive as WithoutSensitive
    from ._names import named_methods as named_methods
    from ._repair_methods import Decided as Decided
    from ._repair_methods import PostProcessed as PostProcessed
    from ._repair_methods import Repaired as Repaired
    from ._repair_methods import RepairedPenalized as RepairedPenalized
    from ._repair_methods import WithoutGroups as WithoutGroups
    from ._split import split as split
    from ._sweep import Sweep as Sweep
    from ._sweep import fit_model as fit_model
    from ._sweep import sweep as sweep
    from ._task import Task as Task

attach(__name__)
