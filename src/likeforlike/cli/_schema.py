"""`likeforlike schema`."""

from __future__ import annotations

import sys


def schema_command() -> None:
    """Print the JSON schema (draft 2020-12) of what `audit --json` and `demo --json` write."""
    from likeforlike.document._schema import audit_schema

    sys.stdout.write(audit_schema())
    sys.stdout.flush()
