"""The document: what an audit found, each result declared once.

The finding, the page, the terminal, frames and JSON are made of it and of nothing else, and its
JSON schema is made of the types here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._results import AuditDocument as AuditDocument
    from ._schema import audit_schema as audit_schema

attach(__name__)
