"""Auditing: one call from a table to a finding with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from likeforlike.document._request import Threshold as Threshold

    from ._audit import Audit as Audit
    from ._audit_table import audit as audit
    from ._policy import Policy as Policy
    from ._summary import Summary as Summary
    from ._summary import summarize as summarize

attach(__name__)
