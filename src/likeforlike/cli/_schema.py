"""`likeforlike schema`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Published(StrEnum):
    """Documents whose schema can be printed."""

    audit = "audit"
    request = "request"
    release = "release"


def schema_command(
    document: Annotated[
        Published,
        typer.Argument(
            help="What `audit --json` and `demo --json` write, what modelers send to a custodian, "
            "or what the custodian answers."
        ),
    ] = Published.audit,
) -> None:
    """Print the JSON schema (draft 2020-12) of a document."""
    if document is Published.audit:
        from likeforlike.document._schema import audit_schema as text
    elif document is Published.request:
        from likeforlike.teams._documents import request_schema as text
    else:
        from likeforlike.teams._documents import release_schema as text

    sys.stdout.write(text())
    sys.stdout.flush()
