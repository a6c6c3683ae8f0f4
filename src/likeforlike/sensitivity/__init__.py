"""What would explain a finding away, and what carries it; reads cells and arrays only.

How strong an omitted legitimate feature would have to be, what other legitimate columns make of a
finding, and which inputs of a model carry it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._contributions import contributions as contributions
    from ._contributions import load_trees as load_trees
    from ._contributions import sum_columns as sum_columns
    from ._drivers import SHOWN_INPUTS as SHOWN_INPUTS
    from ._drivers import Driver as Driver
    from ._drivers import Drivers as Drivers
    from ._drivers import Withheld as Withheld
    from ._drivers import find_drivers as find_drivers
    from ._drivers import group_auc as group_auc
    from ._hidden_bias import hidden_bias as hidden_bias
    from ._robustness import Sensitivity as Sensitivity
    from ._robustness import largest_bias as largest_bias
    from ._robustness import sensitivity as sensitivity
    from ._specifications import Specifications as Specifications
    from ._specifications import specify as specify

attach(__name__)
