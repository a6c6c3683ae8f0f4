"""Auditing: one call from a table to a finding with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._audit import Audit as Audit
    from ._audit_table import audit as audit
    from ._comparisons import Unexamined as Unexamined
    from ._contrast_audit import ContrastAudit as ContrastAudit
    from ._contrast_audit import Distribution as Distribution
    from ._contrast_audit import LevelAudit as LevelAudit
    from ._gate import GateOf as GateOf
    from ._gate import Judgment as Judgment
    from ._gate import Ruling as Ruling
    from ._gate import Threshold as Threshold
    from ._gate import Verdict as Verdict
    from ._group_rows import GroupRows as GroupRows
    from ._missing import LossTest as LossTest
    from ._missing import LostRows as LostRows
    from ._pairs import Adverse as Adverse
    from ._pairs import Pair as Pair
    from ._placebo import Placebo as Placebo
    from ._policy import Policy as Policy
    from ._provenance import Provenance as Provenance
    from ._settings import Settings as Settings
    from ._smooth import Smooth as Smooth
    from ._smooth import Window as Window
    from ._summary import Part as Part
    from ._summary import Summary as Summary
    from ._summary import summarize as summarize
    from ._tables import Roles as Roles
    from ._tables import TableCells as TableCells
    from ._tables import read_cells as read_cells

attach(__name__)
