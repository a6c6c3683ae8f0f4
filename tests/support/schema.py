"""Documents are held to the published schema, whichever test makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator as Explaining
from jsonschema.exceptions import best_match
from jsonschema_rs import Draft202012Validator

from likeforlike.auditing import Audit
from likeforlike.document import audit_schema
from likeforlike.teams import release_schema, request_schema

Document = dict[str, Any]

SCHEMAS = {
    "audit": audit_schema,
    "request": request_schema,
    "release": release_schema,
}


@cache
def validator(schema: Callable[[], str] = audit_schema) -> Draft202012Validator:
    """Compiled: it says whether a document is valid in a hundredth of the time, but not why not."""
    return Draft202012Validator(json.loads(schema()))


def check(document: object, schema: Callable[[], str] = audit_schema) -> None:
    """Complain about a document that is not strict JSON, or not as the schema says."""
    read_back = json.loads(json.dumps(document, allow_nan=False))
    assert read_back == document
    if not validator(schema).is_valid(read_back):
        error = best_match(Explaining(json.loads(schema())).iter_errors(read_back))
        raise AssertionError(f"{error.json_path}: {error.message[:1000]}" if error else "not valid")


def check_file(path: Path) -> dict[str, Any]:
    """The document in a file, held to the schema of its kind."""
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    check(document, SCHEMAS[document["schema"].removeprefix("likeforlike.")])
    return document


def read_audit(text: str) -> Document:
    """The document of an audit from its JSON."""
    document: Document = json.loads(text)
    assert document["schema"] == "likeforlike.audit"
    check(document)
    return document


@contextmanager
def checked_audits() -> Iterator[None]:
    """While this is open, every document that an audit makes in this process is checked."""
    made = Audit.to_dict

    @wraps(made)
    def to_dict(self: Audit) -> Document:
        document = made(self)
        check(document)
        return document

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Audit, "to_dict", to_dict)
        yield
