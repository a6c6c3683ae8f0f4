"""Two teams: those who model never see A, and those who hold A show nothing but noisy sums.

The custodian holds the groups and a ledger with a budget; the modelers send requests about public
rows and read releases. Both are plain files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from . import soft_groups as soft_groups
    from ._custodian import Custodian as Custodian
    from ._documents import release_schema as release_schema
    from ._documents import request_schema as request_schema
    from ._ledger import Ledger as Ledger
    from ._ledger import OverBudget as OverBudget
    from ._plan import AuditPlan as AuditPlan
    from ._plan import audit_plan as audit_plan
    from ._plan_audit import PlanAudit as PlanAudit
    from ._randomize import randomize as randomize
    from ._releases import Release as Release

attach(__name__)
