"""Data sets with their roles: which column is sensitive, legitimate, target, feature.

The loans are embedded and synthetic, with the truth known. The four public data sets of the paper
are always checked byte for byte; all but Law School come with the package. A file is read from the
folder that `LIKEFORLIKE_DATA` names, else from the package, else from the user's cache, else
fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.datasets._adult import load_adult
    from likeforlike.datasets._availability import Availability, available
    from likeforlike.datasets._communities import load_communities
    from likeforlike.datasets._dataset import DataProvenance, Dataset
    from likeforlike.datasets._drug import load_drug
    from likeforlike.datasets._from_table import OwnTable, dataset_of_table
    from likeforlike.datasets._inputs import Inputs
    from likeforlike.datasets._law_school import load_law_school
    from likeforlike.datasets._loans import load_loans, make_loans

__all__ = [
    "Availability",
    "DataProvenance",
    "Dataset",
    "Inputs",
    "OwnTable",
    "available",
    "dataset_of_table",
    "load_adult",
    "load_communities",
    "load_drug",
    "load_law_school",
    "load_loans",
    "make_loans",
]

lazy_package(
    __name__,
    {
        "_adult": ["load_adult"],
        "_availability": ["Availability", "available"],
        "_communities": ["load_communities"],
        "_dataset": ["DataProvenance", "Dataset"],
        "_drug": ["load_drug"],
        "_from_table": ["OwnTable", "dataset_of_table"],
        "_inputs": ["Inputs"],
        "_law_school": ["load_law_school"],
        "_loans": ["load_loans", "make_loans"],
    },
)
