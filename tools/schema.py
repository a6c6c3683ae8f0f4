"""The JSON schemas of documents, made of their types.

`python -m tools.schema` writes them into the package: of an audit, of what modelers send to a
custodian and of what the custodian answers. Types become types, docstrings become descriptions, and
`Limits` beside a type become limits.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import sys
import types
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from likeforlike.document import AuditDocument, Limits
from likeforlike.document._plain import kinds
from likeforlike.document._results import SCHEMA_FILE
from likeforlike.payroll._report import SCHEMA_FILE as PAY_FILE
from likeforlike.payroll._results import PayDocument
from likeforlike.teams._releases import (
    RELEASE_FILE,
    REQUEST_FILE,
    CountsRequestDocument,
    GroupsReleaseDocument,
    SumsRequestDocument,
    TableReleaseDocument,
)

__all__ = ["AUDIT", "PAY", "RELEASE", "REQUEST", "Published", "main", "schema_text"]

_SITE = "https://likeforlike.github.io/likeforlike/"
_PACKAGE = Path(__file__).parents[1] / "src" / "likeforlike"


class Published(NamedTuple):
    """A schema: the file it is kept in, what it says of itself, and the kinds of documents."""

    target: Path
    title: str
    description: str
    kinds: tuple[Any, ...]


AUDIT = Published(
    _PACKAGE / "document" / SCHEMA_FILE,
    "Document of likeforlike",
    "What an audit writes as JSON.",
    (AuditDocument,),
)
PAY = Published(
    _PACKAGE / "payroll" / PAY_FILE,
    "Pay document of likeforlike",
    "What a report about pay writes as JSON.",
    (PayDocument,),
)
REQUEST = Published(
    _PACKAGE / "teams" / REQUEST_FILE,
    "Request of likeforlike",
    "What modelers send to a custodian, who holds the groups of the rows.",
    (CountsRequestDocument, SumsRequestDocument),
)
RELEASE = Published(
    _PACKAGE / "teams" / RELEASE_FILE,
    "Release of likeforlike",
    "What a custodian answers, with the noise that is in it.",
    (TableReleaseDocument, GroupsReleaseDocument),
)

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_LIMITS = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}
_ENTRY = re.compile(r"^((?:\w+, )*\w+) : (.+(?:\n    .+)*)", re.M)

Schema = dict[str, Any]


def schema_text(published: Published = AUDIT) -> str:
    """A schema as it is written to its file.

    Examples
    --------
    >>> import json
    >>> from tools.schema import schema_text
    >>> json.loads(schema_text())["$defs"]["OverallDisparity"]["required"]
    ['value', 'gap', 'rows']
    """
    definitions: dict[str, Schema] = {}
    kinds = [_of(kind, definitions) for kind in published.kinds]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _SITE + published.target.name,
        "title": published.title,
        "description": published.description,
        "oneOf": kinds,
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _of(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401
    """The schema of a type; dictionaries with names of their own go to the definitions."""
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return {"type": _PLAIN[kind]}
    if origin is Annotated:
        return _limited(_of(inner[0], definitions), inner[1])
    return _made_of(origin, inner, definitions)


def _made_of(origin: Any, inner: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401
    """The schema of a type that holds others."""
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
    if origin in (list, tuple):
        return {"type": "array", "items": _items(inner, definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], definitions)}
    if origin in (Union, types.UnionType):
        return _any_of([_of(part, definitions) for part in inner])
    raise TypeError(f"{origin} has no place in a JSON schema.")


def _items(inner: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    """What a list holds: one kind, or several of which each place has one."""
    every = [_of(part, definitions) for part in dict.fromkeys(inner) if part is not Ellipsis]
    return every[0] if len(every) == 1 else _any_of(every)


def _limited(schema: Schema, limits: Limits) -> Schema:
    least, most = _LIMITS[schema["type"]]
    upper = {} if limits.most is None else {most: limits.most}
    return {**schema, least: limits.least, **upper}


def _any_of(parts: list[Schema]) -> Schema:
    """Types that say nothing more are listed together, and so are values."""
    if all(part.keys() == {"type"} for part in parts):
        named = [
            [part["type"]] if isinstance(part["type"], str) else part["type"] for part in parts
        ]
        return {"type": list(dict.fromkeys(name for names in named for name in names))}
    if all(part.keys() <= {"const", "enum"} for part in parts):
        return {"enum": [value for part in parts for value in _values(part)]}
    return {"anyOf": parts}


def _values(part: Schema) -> list[Any]:
    values: list[Any] = part["enum"] if "enum" in part else [part["const"]]
    return values


def _object(kind: Any, definitions: dict[str, Schema]) -> Schema:  # noqa: ANN401
    told = _entries(kind)
    properties = {
        name: {**_of(entry, definitions), "description": told[name]}
        for name, entry in _hints(kind).items()
    }
    # Constants first: they tell kinds of documents apart before anything else is looked at.
    properties = dict(sorted(properties.items(), key=lambda entry: "const" not in entry[1]))
    return {
        "title": _words(kind.__name__),
        "description": _opening(kind),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    return kinds(kind) if not is_typeddict(kind) else get_type_hints(kind, include_extras=True)


def _words(name: str) -> str:
    """The name of a class as a title."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).removesuffix(" Part")
    return words.capitalize()


def _opening(kind: type) -> str:
    return _flat((inspect.getdoc(kind) or "").partition("\n\n")[0])


def _entries(kind: Any) -> dict[str, str]:  # noqa: ANN401
    """What docstrings say about each entry, also those of the classes it is made from."""
    told: dict[str, str] = {}
    for base in _bases(kind.__module__).get(kind.__name__, []):
        made_from = getattr(sys.modules[kind.__module__], base)
        documented = is_typeddict(made_from) or dataclasses.is_dataclass(made_from)
        told |= _entries(made_from) if documented else {}
    own = _ENTRY.findall(inspect.getdoc(kind) or "")
    return told | {name: _flat(text) for names, text in own for name in names.split(", ")}


@cache
def _bases(module: str) -> dict[str, list[str]]:
    """Classes of a module and what each is made from, which Python forgets of such types."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {node.name: [ast.unparse(base) for base in node.bases] for node in classes}


def _flat(text: str) -> str:
    """One line that begins with a capital, without marks of code: the schema is no page."""
    line = " ".join(text.split()).replace("`", "")
    return line[:1].upper() + line[1:]


def main() -> None:
    """Write the schemas into the package."""
    parser = argparse.ArgumentParser(prog="python -m tools.schema", description=main.__doc__)
    parser.parse_args()
    for published in (AUDIT, PAY, REQUEST, RELEASE):
        published.target.write_text(schema_text(published), "utf-8")


if __name__ == "__main__":
    main()
