"""Auditing: one call from a table to a finding with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.auditing._audit import Audit
    from likeforlike.auditing._audit_table import audit
    from likeforlike.auditing._comparisons import Unexamined
    from likeforlike.auditing._contrast_audit import ContrastAudit, Distribution, LevelAudit
    from likeforlike.auditing._gate import GateOf, Judgment, Ruling, Threshold, Verdict
    from likeforlike.auditing._group_rows import GroupRows
    from likeforlike.auditing._missing import LossTest, LostRows
    from likeforlike.auditing._pairs import Adverse, Pair
    from likeforlike.auditing._placebo import Placebo
    from likeforlike.auditing._policy import Policy
    from likeforlike.auditing._provenance import Provenance
    from likeforlike.auditing._settings import Settings
    from likeforlike.auditing._smooth import Smooth, Window
    from likeforlike.auditing._summary import Part, Summary, summarize
    from likeforlike.auditing._tables import Roles, TableCells, read_cells

__all__ = [
    "Adverse",
    "Audit",
    "ContrastAudit",
    "Distribution",
    "GateOf",
    "GroupRows",
    "Judgment",
    "LevelAudit",
    "LossTest",
    "LostRows",
    "Pair",
    "Part",
    "Placebo",
    "Policy",
    "Provenance",
    "Roles",
    "Ruling",
    "Settings",
    "Smooth",
    "Summary",
    "TableCells",
    "Threshold",
    "Unexamined",
    "Verdict",
    "Window",
    "audit",
    "read_cells",
    "summarize",
]

lazy_package(
    __name__,
    {
        "_audit": ["Audit"],
        "_audit_table": ["audit"],
        "_comparisons": ["Unexamined"],
        "_contrast_audit": ["ContrastAudit", "Distribution", "LevelAudit"],
        "_gate": ["GateOf", "Judgment", "Ruling", "Threshold", "Verdict"],
        "_group_rows": ["GroupRows"],
        "_missing": ["LossTest", "LostRows"],
        "_pairs": ["Adverse", "Pair"],
        "_policy": ["Policy"],
        "_placebo": ["Placebo"],
        "_provenance": ["Provenance"],
        "_settings": ["Settings"],
        "_smooth": ["Smooth", "Window"],
        "_summary": ["Part", "Summary", "summarize"],
        "_tables": ["Roles", "TableCells", "read_cells"],
    },
)
