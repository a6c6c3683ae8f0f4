"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._level_cost import safe_level_cost as safe_level_cost
    from ._line import Plan as Plan
    from ._line import cost as cost
    from ._line import cost_and_gradient as cost_and_gradient
    from ._line import plan as plan
    from ._nested import nested_transport as nested_transport

attach(__name__)
