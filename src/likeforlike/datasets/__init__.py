"""Data sets with their roles: which column is sensitive, legitimate, target, feature.

- `loans`: embedded and synthetic, with the truth known.
- `adult`, `drug`, `law_school`, `communities`: the four public data sets of the paper, always
  checked byte for byte. All but `law_school` come with the package. A file is read from the
  folder that `LIKEFORLIKE_DATA` names, else from the package, else from the user's cache, else
  fetched.
"""

from likeforlike.datasets.adult import load_adult as load_adult
from likeforlike.datasets.availability import Availability as Availability
from likeforlike.datasets.availability import available as available
from likeforlike.datasets.communities import load_communities as load_communities
from likeforlike.datasets.dataset import DataProvenance as DataProvenance
from likeforlike.datasets.dataset import Dataset as Dataset
from likeforlike.datasets.drug import load_drug as load_drug
from likeforlike.datasets.inputs import Inputs as Inputs
from likeforlike.datasets.law_school import load_law_school as load_law_school
from likeforlike.datasets.loans import load_loans as load_loans
from likeforlike.datasets.loans import make_loans as make_loans
from likeforlike.datasets.own import OwnTable as OwnTable
from likeforlike.datasets.own import dataset_of_table as dataset_of_table

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
