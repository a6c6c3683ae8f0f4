"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.transport._atoms import Atoms
    from likeforlike.transport._level_cost import (
        choose_level_cost,
        discrete_ground,
        metric_ground,
        safe_level_cost,
    )
    from likeforlike.transport._line import Plan, cost, cost_and_gradient, plan
    from likeforlike.transport._nested import (
        Nested,
        least_level_transport,
        nested_cost_and_gradient,
        nested_transport,
    )

__all__ = [
    "Atoms",
    "Nested",
    "Plan",
    "choose_level_cost",
    "cost",
    "cost_and_gradient",
    "discrete_ground",
    "least_level_transport",
    "metric_ground",
    "nested_cost_and_gradient",
    "nested_transport",
    "plan",
    "safe_level_cost",
]

lazy_package(
    __name__,
    {
        "_atoms": ["Atoms"],
        "_level_cost": ["choose_level_cost", "discrete_ground", "metric_ground", "safe_level_cost"],
        "_line": ["Plan", "cost", "cost_and_gradient", "plan"],
        "_nested": [
            "Nested",
            "least_level_transport",
            "nested_cost_and_gradient",
            "nested_transport",
        ],
    },
)
