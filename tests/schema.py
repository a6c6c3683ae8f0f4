"""Documents are held to the published schema, whichever test makes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, wraps

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from likeforlike.auditing._audit import Audit
from likeforlike.document._schema import audit_schema
from likeforlike.document._types import AuditDocument, DemonstrationDocument


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(audit_schema()))


def check(document: object) -> None:
    """Complain about a document that is not strict JSON, or not as the schema says."""
    read_back = json.loads(json.dumps(document, allow_nan=False))
    assert read_back == document
    error = best_match(validator().iter_errors(read_back))
    assert error is None, f"{error.json_path}: {error.message[:1000]}"


def read_audit(text: str) -> AuditDocument:
    """The document of an audit from its JSON."""
    document: AuditDocument = json.loads(text)
    assert document["schema"] == "likeforlike.audit"
    check(document)
    return document


def read_demonstration(text: str) -> DemonstrationDocument:
    """The document of the demonstration from its JSON."""
    document: DemonstrationDocument = json.loads(text)
    assert document["schema"] == "likeforlike.demonstration"
    check(document)
    return document


@contextmanager
def checked_audits() -> Iterator[None]:
    """While this is open, every document that an audit makes in this process is checked."""
    made = Audit.to_dict

    @wraps(made)
    def to_dict(self: Audit) -> AuditDocument:
        document = made(self)
        check(document)
        return document

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Audit, "to_dict", to_dict)
        yield
