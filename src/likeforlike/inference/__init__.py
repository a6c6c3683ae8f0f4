"""Honest statistics: whether there is a disparity, how large it is, how sure we can be.

Everything here reads cells only, so it holds for rows and for counts from an engine alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._certificates import certificate as certificate
    from ._design_test import jackknife_test as jackknife_test
    from ._distance import estimate_distance as estimate_distance
    from ._gap import signed_gap as signed_gap
    from ._gaps_by_level import level_gaps as level_gaps
    from ._headline import headline_test as headline_test
    from ._multiplicity import adjust as adjust
    from ._omnibus import omnibus_test as omnibus_test
    from ._simpson import compare_gaps as compare_gaps

attach(__name__)
