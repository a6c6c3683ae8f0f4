"""The published JSON schema of the document, which is made of the types in `document`."""

from importlib import resources

SCHEMA_FILE = "likeforlike.audit.schema.json"
"""Its name in the package; `tools/schema.py` writes it."""


def audit_schema() -> str:
    """The JSON schema of the document (draft 2020-12), as `likeforlike schema` prints it.

    Examples
    --------
    >>> import json
    >>> from likeforlike.document import audit_schema
    >>> json.loads(audit_schema())["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    return (resources.files("likeforlike.document") / SCHEMA_FILE).read_text("utf-8")
