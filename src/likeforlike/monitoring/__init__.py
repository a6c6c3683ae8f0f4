"""Jobs that repeat: scores compared on the same rows, and audits by period with a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._comparison import compare as compare

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._comparison import Comparison as Comparison
    from ._periods import PeriodAudits as PeriodAudits
    from ._periods import audit_periods as audit_periods
    from ._watch import audit_folder as audit_folder
    from ._watch import watch as watch

attach(__name__)
