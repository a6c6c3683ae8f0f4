"""The document: an audit as plain values, the third narrow waist.

The page, the JSON, the finding and the terminal are made of it and nothing else. Its JSON schema is
made of the types here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.document._schema import audit_schema
    from likeforlike.document._training_types import DemonstrationDocument
    from likeforlike.document._types import AuditDocument

__all__ = ["AuditDocument", "DemonstrationDocument", "audit_schema"]

lazy_package(
    __name__,
    {
        "_schema": ["audit_schema"],
        "_training_types": ["DemonstrationDocument"],
        "_types": ["AuditDocument"],
    },
)
