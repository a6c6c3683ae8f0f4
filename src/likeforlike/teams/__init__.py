"""Two teams: those who model never see A, and those who hold A show nothing but noisy sums.

The custodian holds the groups and a ledger with a budget; the modelers send requests about public
rows and read releases. Both are plain files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.teams import soft_groups as soft_groups
    from likeforlike.teams._custodian import Custodian
    from likeforlike.teams._documents import Noise, release_schema, request_schema
    from likeforlike.teams._ledger import AlteredLedger, Ledger, OverBudget, Receipt
    from likeforlike.teams._plan import AuditPlan, audit_plan
    from likeforlike.teams._plan_audit import PlanAudit
    from likeforlike.teams._randomize import randomize
    from likeforlike.teams._releases import Release, ReleaseKind
    from likeforlike.teams._requests import CountsRequest, Request, SumsRequest

__all__ = [
    "AlteredLedger",
    "AuditPlan",
    "CountsRequest",
    "Custodian",
    "Ledger",
    "Noise",
    "OverBudget",
    "PlanAudit",
    "Receipt",
    "Release",
    "ReleaseKind",
    "Request",
    "SumsRequest",
    "audit_plan",
    "randomize",
    "release_schema",
    "request_schema",
]

lazy_package(
    __name__,
    {
        "_custodian": ["Custodian"],
        "_ledger": ["AlteredLedger", "Ledger", "OverBudget", "Receipt"],
        "_plan": ["AuditPlan", "audit_plan"],
        "_plan_audit": ["PlanAudit"],
        "_randomize": ["randomize"],
        "_releases": ["Release", "ReleaseKind"],
        "_requests": ["CountsRequest", "Request", "SumsRequest"],
        "_documents": ["Noise", "release_schema", "request_schema"],
    },
    modules=["soft_groups"],
)
