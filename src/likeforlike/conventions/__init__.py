"""Figures by convention: what people must hand in, beside what transport says.

Rates, ratios, standardized differences and the tests every statistician knows, each from the same
`Cells`, with a line on what it says and where it misleads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.conventions._conventions import Conventions, LevelConventions, conventions
    from likeforlike.conventions._local_law_144 import Category, local_law_144
    from likeforlike.conventions._mantel_haenszel import (
        BreslowDay,
        MantelHaenszel,
        breslow_day,
        mantel_haenszel,
    )
    from likeforlike.conventions._van_elteren import VanElteren, van_elteren
    from likeforlike.conventions._wachter import wachter_cdd
    from likeforlike.conventions._words import NOTES, Note

__all__ = [
    "NOTES",
    "BreslowDay",
    "Category",
    "Conventions",
    "LevelConventions",
    "MantelHaenszel",
    "Note",
    "VanElteren",
    "breslow_day",
    "conventions",
    "local_law_144",
    "mantel_haenszel",
    "van_elteren",
    "wachter_cdd",
]

lazy_package(
    __name__,
    {
        "_conventions": ["Conventions", "LevelConventions", "conventions"],
        "_local_law_144": ["Category", "local_law_144"],
        "_mantel_haenszel": ["BreslowDay", "MantelHaenszel", "breslow_day", "mantel_haenszel"],
        "_van_elteren": ["VanElteren", "van_elteren"],
        "_wachter": ["wachter_cdd"],
        "_words": ["NOTES", "Note"],
    },
)
