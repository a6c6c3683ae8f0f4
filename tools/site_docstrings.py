"""Docstrings of the library in the form that the reader of the site's reference expects.

An extension of Griffe. Here a parameter is written `name : what it is`, because its type is in the
signature. The numpy convention has a type after the colon, and Griffe would take the words for
one. Before it reads a docstring, descriptions are moved to lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import griffe

__all__ = ["DescriptionsAfterColons", "with_descriptions_below"]

_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<description>.+)")


class DescriptionsAfterColons(griffe.Extension):
    """Rewrites the docstring of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401
        """Called by Griffe for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = with_descriptions_below(obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:  # noqa: ANN401
        """Readers are shown the value of a default, not the private constant that holds it."""
        for parameter in func.parameters:
            named = func.module.members.get(str(parameter.default))
            if str(parameter.default).startswith("_") and isinstance(named, griffe.Attribute):
                parameter.default = named.value


def with_descriptions_below(text: str) -> str:
    r"""The docstring with descriptions below names, and types left to the signature.

    Parameters
    ----------
    text : a docstring without its indentation.

    Examples
    --------
    >>> from tools.site_docstrings import with_descriptions_below
    >>> with_descriptions_below("Sum.\n\nParameters\n----------\na, b : numbers.").split("\n")[4:]
    ['a', '    (with `b`) numbers.', 'b', '    see `a`.']
    """
    return "\n".join(line for name, lines in _sections(text) for line in _rewritten(name, lines))


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of each section; the lines before the first one have no name."""
    name, gathered = "", list[str]()
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line and following == "-" * len(line):
            yield name, gathered
            name, gathered = line, []
        gathered.append(line)
    yield name, gathered


def _rewritten(name: str, lines: list[str]) -> Iterable[str]:
    if name in ("Parameters", "Attributes"):
        return [*lines[:2], *_items(lines[2:], after="")]
    if name == "Returns" and any(_ITEM.fullmatch(line) for line in lines):
        return [*lines[:2], *_items(lines[2:], after=" :")]
    if name == "Returns":
        # A lone colon says: no name, and the type of the signature.
        return [*lines[:2], ":", *(f"    {line}" if line else "" for line in lines[2:])]
    return lines


def _items(lines: list[str], *, after: str) -> Iterator[str]:
    """Each name for itself, since names that share a description need not share a type."""
    names, description = list[str](), list[str]()
    for line in lines:
        found = _ITEM.fullmatch(line)
        if found is None:
            description.append(line)
            continue
        yield from _listed(names, description, after)
        names, description = found["names"].split(", "), [f"    {found['description']}"]
    yield from _listed(names, description, after)


def _listed(names: list[str], description: list[str], after: str) -> Iterator[str]:
    """A description for all of its names stands at the first; the others refer to it."""
    if not names:
        yield from description
        return
    first, *others = names
    if others:
        together = ", ".join(f"`{name}`" for name in others)
        description = [f"    (with {together}) {description[0].lstrip()}", *description[1:]]
    yield first + after
    yield from description
    for name in others:
        yield name + after
        yield f"    see `{first}`."
