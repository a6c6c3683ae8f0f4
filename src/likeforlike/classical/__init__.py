"""Figures by convention: what people must hand in, next to what transport says.

Rates, ratios, standardized differences and the tests every statistician knows, each from the same
`Cells`, with a line on what it says and where it misleads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._conventions import conventions as conventions
    from ._local_law_144 import local_law_144 as local_law_144
    from ._mantel_haenszel import breslow_day as breslow_day
    from ._mantel_haenszel import mantel_haenszel as mantel_haenszel
    from ._van_elteren import van_elteren as van_elteren
    from ._wachter import wachter_cdd as wachter_cdd
    from ._words import NOTES as NOTES

attach(__name__)
