"""Honest statistics: whether there is a disparity, how large it is, how sure we can be.

Everything here reads cells only, so it holds for rows and for counts from an engine alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.inference._certificates import Certificate, certificate, effective_rows
    from likeforlike.inference._contrast_family import adjust_contrasts
    from likeforlike.inference._design_test import DesignTest, jackknife_test
    from likeforlike.inference._distance import DistanceEstimate, estimate_distance
    from likeforlike.inference._gap import Gap, signed_gap
    from likeforlike.inference._gaps_by_level import LevelGaps, level_gaps
    from likeforlike.inference._headline import HeadlineTest, headline_test
    from likeforlike.inference._multiplicity import Adjustment, adjust
    from likeforlike.inference._omnibus import OmnibusTest, omnibus_test
    from likeforlike.inference._scored_levels import Clusters
    from likeforlike.inference._simpson import Paradox, Simpson, compare_gaps

__all__ = [
    "Adjustment",
    "Certificate",
    "Clusters",
    "DesignTest",
    "DistanceEstimate",
    "Gap",
    "HeadlineTest",
    "LevelGaps",
    "OmnibusTest",
    "Paradox",
    "Simpson",
    "adjust",
    "adjust_contrasts",
    "certificate",
    "compare_gaps",
    "effective_rows",
    "estimate_distance",
    "headline_test",
    "jackknife_test",
    "level_gaps",
    "omnibus_test",
    "signed_gap",
]

lazy_package(
    __name__,
    {
        "_certificates": ["Certificate", "certificate", "effective_rows"],
        "_contrast_family": ["adjust_contrasts"],
        "_design_test": ["DesignTest", "jackknife_test"],
        "_distance": ["DistanceEstimate", "estimate_distance"],
        "_gap": ["Gap", "signed_gap"],
        "_gaps_by_level": ["LevelGaps", "level_gaps"],
        "_headline": ["HeadlineTest", "headline_test"],
        "_multiplicity": ["Adjustment", "adjust"],
        "_omnibus": ["OmnibusTest", "omnibus_test"],
        "_scored_levels": ["Clusters"],
        "_simpson": ["Paradox", "Simpson", "compare_gaps"],
    },
)
