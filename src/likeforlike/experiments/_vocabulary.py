"""What the paper's data sets, methods and disparities are called, in files and by people.

Names alone: nothing is loaded or trained here, so the command line reads them for its help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likeforlike.disparity._measures import MeasureName

DATASET_LABELS = {
    "adult": "Adult",
    "drug": "Drug",
    "law_school": "Law School",
    "communities": "Communities",
}
"""The paper's data sets by name, and as people write them."""

PAPER_DATASETS = tuple(DATASET_LABELS)
"""Names of the paper's data sets."""

CLASSIFICATION, REGRESSION = PAPER_DATASETS[:2], PAPER_DATASETS[2:]
"""Names of those with classes and of those with numbers for a target."""

DISPARITY_LABELS = {
    "cdd_wass": "CDD-wass",
    "cdd_uniform": "CDD-lp uniform",
    "cdd_average": "CDD-lp average",
    "cdd_marginal": "CDD-lp P(L)",
    "w2sq_uniform": "W_2² uniform",
    "w2sq_average": "W_2² average",
    "w2sq_marginal": "W_2² P(L)",
    "dd": "DD",
    "squared": "estimate without small-sample bias",
}
"""Disparities by the column that holds them, and as people write them."""

FAIRLEAPS: dict[str, MeasureName] = {
    "FairLeap, uniform": "uniform",
    "FairLeap, P(L)": "marginal",
    "FairLeap, average": "average",
}
"""The paper's variants of FairLeap, and how each weights levels."""

PAPER_METHOD_NAMES = (
    "paper-fairbit",
    "paper-fairleap-uniform",
    "paper-fairleap-marginal",
    "paper-fairleap-average",
    "paper-wasserstein",
    "paper-dcfr",
    "paper-adversarial",
    "paper-adversarial-parity",
    "paper-repair",
    "paper-fairbit-entropic",
    "paper-fairleap-uniform-entropic",
    "paper-fairleap-marginal-entropic",
    "paper-fairleap-average-entropic",
    "paper-wasserstein-entropic",
)
"""Names by which the command line knows the paper's methods: exact, as rivals, and entropic."""
