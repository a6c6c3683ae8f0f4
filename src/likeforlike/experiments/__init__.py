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
    from ._split import Task as Task
    from ._split import split as split
    from ._sweep import Sweep as Sweep
    from ._sweep import fit_model as fit_model
    from ._sweep import sweep as sweep
    from ._tradeoff import PostProcessed as PostProcessed
    from ._tradeoff import Repaired as Repaired

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._frontier import sweep_panel as sweep_panel
    from ._frontier import sweep_svg as sweep_svg
    from ._methods import FairlearnAdversarial as FairlearnAdversarial
    from ._methods import HardLabels as HardLabels
    from ._methods import as_network as as_network
    from ._names import CLASSIFICATION as CLASSIFICATION
    from ._names import DATASET_LABELS as DATASET_LABELS
    from ._names import DISPARITY_LABELS as DISPARITY_LABELS
    from ._names import FAIRLEAPS as FAIRLEAPS
    from ._names import METHOD_NAMES as METHOD_NAMES
    from ._names import PAPER_DATASETS as PAPER_DATASETS
    from ._names import PAPER_METHOD_NAMES as PAPER_METHOD_NAMES
    from ._names import REGRESSION as REGRESSION
    from ._split import predictive_performance as predictive_performance
    from ._sweep import check_settings as check_settings
    from ._sweep import collect_runs as collect_runs
    from ._sweep import cut_units as cut_units
    from ._sweep import select_methods as select_methods
    from ._tradeoff import Decided as Decided
    from ._tradeoff import RepairedPenalized as RepairedPenalized
    from ._tradeoff import WithoutGroups as WithoutGroups
    from ._workers import Entry as Entry
    from ._workers import Journal as Journal
    from ._workers import Unit as Unit
    from ._workers import dask_executor as dask_executor
    from ._workers import peak_megabytes as peak_megabytes
    from ._workers import run_units as run_units

attach(__name__)
