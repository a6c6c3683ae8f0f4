"""Figures by convention: what people must hand in, next to what transport says.

Rates, ratios, standardized differences and the tests every statistician knows, each from the same
`Cells`, with a line on what it says and where it misleads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._conventions import NOTES as NOTES
    from ._conventions import breslow_day as breslow_day
    from ._conventions import conventions as conventions
    from ._conventions import mantel_haenszel as mantel_haenszel
    from ._conventions import van_elteren as van_elteren
    from ._conventions import wachter_cdd as wachter_cdd
    from ._local_law_144 import local_law_144 as local_law_144

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._cell_figures import cell_figures as cell_figures
    from ._cell_figures import is_decision as is_decision
    from ._conventions import BreslowDay as BreslowDay
    from ._conventions import Conventions as Conventions
    from ._conventions import LevelConventions as LevelConventions
    from ._conventions import MantelHaenszel as MantelHaenszel
    from ._conventions import VanElteren as VanElteren
    from ._local_law_144 import Category as Category

attach(__name__)
