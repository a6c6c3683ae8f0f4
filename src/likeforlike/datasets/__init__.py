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
    from ._adult import load_adult as load_adult
    from ._availability import available as available
    from ._communities import load_communities as load_communities
    from ._dataset import Dataset as Dataset
    from ._drug import load_drug as load_drug
    from ._from_table import dataset_of_table as dataset_of_table
    from ._law_school import load_law_school as load_law_school
    from ._loans import load_loans as load_loans
    from ._loans import make_loans as make_loans

attach(__name__)
