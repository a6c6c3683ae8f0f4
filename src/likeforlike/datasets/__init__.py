"""Data sets with their roles: which column is sensitive, legitimate, target, feature.

The loans are embedded and synthetic, with the truth known. The four public data sets of the paper
are always checked byte for byte; all but Law School come with the package. A file is read from the
folder that `LIKEFORLIKE_DATA` names, else from the package, else from the user's cache, else
fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._dataset import Dataset as Dataset
    from ._dataset import dataset_of_table as dataset_of_table
    from ._loans import load_loans as load_loans
    from ._loans import make_loans as make_loans
    from ._public import available as available
    from ._public import load_adult as load_adult
    from ._public import load_communities as load_communities
    from ._public import load_drug as load_drug
    from ._public import load_law_school as load_law_school
    from ._staff import make_staff as make_staff

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._dataset import Encoding as Encoding
    from ._dataset import read_table as read_table

attach(__name__)
