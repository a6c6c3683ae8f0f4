"""Exact optimal transport between distributions on the line, and nested over levels.

Mathematics only: arrays in, numbers out. No tables and no words of fairness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._flow import safe_level_cost as safe_level_cost
    from ._line import Plan as Plan
    from ._line import cost as cost
    from ._line import cost_and_gradient as cost_and_gradient
    from ._line import plan as plan
    from ._nested import nested_transport as nested_transport

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._atoms import HIGHEST_ORDER as HIGHEST_ORDER
    from ._atoms import Atoms as Atoms
    from ._atoms import PackedAtoms as PackedAtoms
    from ._atoms import Scale as Scale
    from ._atoms import SortedRows as SortedRows
    from ._atoms import atom_codes as atom_codes
    from ._atoms import balance_totals as balance_totals
    from ._atoms import choose_scale as choose_scale
    from ._atoms import is_moderate as is_moderate
    from ._atoms import means_and_spreads as means_and_spreads
    from ._atoms import merge_ties as merge_ties
    from ._atoms import moderate_weights as moderate_weights
    from ._atoms import normalize_weights as normalize_weights
    from ._atoms import rescale_cost as rescale_cost
    from ._atoms import run_sums as run_sums
    from ._atoms import segment_counts as segment_counts
    from ._atoms import segment_means as segment_means
    from ._atoms import segment_sums as segment_sums
    from ._atoms import sum_parts as sum_parts
    from ._atoms import weight_factor as weight_factor
    from ._entropic import entropic_flow as entropic_flow
    from ._entropic import entropic_pair as entropic_pair
    from ._flow import cheapest_flow as cheapest_flow
    from ._flow import choose_level_cost as choose_level_cost
    from ._flow import discrete_ground as discrete_ground
    from ._flow import level_cost_factor as level_cost_factor
    from ._flow import metric_ground as metric_ground
    from ._jit import compiled as compiled
    from ._jit import skip_blas_import as skip_blas_import
    from ._line import Curves as Curves
    from ._line import Ranks as Ranks
    from ._line import carry as carry
    from ._line import mean_curves as mean_curves
    from ._line import monotone_plan as monotone_plan
    from ._line import ranks as ranks
    from ._line import seek as seek
    from ._nested import least_level_transport as least_level_transport
    from ._sorting import merge_segments as merge_segments
    from ._sorting import partition_rows as partition_rows
    from ._sorting import sort_cells as sort_cells
    from ._sorting import sort_rows as sort_rows
    from ._sorting import sort_small as sort_small
    from ._sweeps import Stack as Stack
    from ._sweeps import add_pair as add_pair
    from ._sweeps import model_constant as model_constant
    from ._sweeps import model_mass as model_mass
    from ._sweeps import pair_costs as pair_costs
    from ._sweeps import pair_distances as pair_distances
    from ._sweeps import pair_gradient as pair_gradient
    from ._sweeps import pair_sizes as pair_sizes
    from ._sweeps import sort_atoms as sort_atoms
    from ._sweeps import split_slopes as split_slopes
    from ._threads import iterate_blocks as iterate_blocks
    from ._threads import map_blocks as map_blocks
    from ._threads import n_threads as n_threads
    from ._threads import run_in_threads as run_in_threads
    from ._threads import run_models as run_models

attach(__name__)
