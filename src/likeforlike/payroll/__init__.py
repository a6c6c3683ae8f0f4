"""Pay of women and men: the figures that employers report, and how far chance could move them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._pay import pay as pay
    from ._report import PayReport as PayReport
    from ._report import pay_schema as pay_schema

attach(__name__)
