"""Data sets with their roles: which column is sensitive, legitimate, target, feature.

- `loans`: embedded and synthetic, with the truth known.
"""

from likeforlike.datasets.dataset import Dataset as Dataset
from likeforlike.datasets.loans import load_loans as load_loans
from likeforlike.datasets.loans import make_loans as make_loans

__all__ = ["Dataset", "load_loans", "make_loans"]
