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
    from ._ledger import Ledger as Ledger
    from ._ledger import OverBudget as OverBudget
    from ._noise import randomize as randomize
    from ._plan import AuditPlan as AuditPlan
    from ._plan import PlanAudit as PlanAudit
    from ._plan import audit_plan as audit_plan
    from ._releases import Release as Release

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._custodian import HeldTable as HeldTable
    from ._custodian import open_ledger as open_ledger
    from ._custodian import read_columns as read_columns
    from ._custodian import reopen as reopen
    from ._releases import release_schema as release_schema
    from ._releases import request_schema as request_schema
    from ._requests import Request as Request

attach(__name__)
