"""The document: an audit as plain values, the third narrow waist.

The page, the JSON, the finding and the terminal are made of it and nothing else. Its JSON schema is
made of the types here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._schema import audit_schema as audit_schema
    from ._training_types import DemonstrationDocument as DemonstrationDocument
    from ._types import AuditDocument as AuditDocument

attach(__name__)
