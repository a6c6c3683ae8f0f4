"""Signatures that say no more than "a mapping from text to anything".

Counted are annotations of parameters, of results and of the fields of classes that contain
`Mapping[str, Any]` or `dict[str, Any]`, under that name or under another that a module gives it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.house.modules import Module, Modules, home

__all__ = ["untyped"]

_ANYTHING = re.compile(r"\b(Mapping|dict)\[str, Any\]")


def untyped(modules: Modules, rooms: tuple[str, ...]) -> list[str]:
    r"""Places with such an annotation, as `module.function: annotation`.

    Parameters
    ----------
    modules : of the package.
    rooms : packages or modules of its root that are looked at.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import Module
    >>> from tools.house.signatures import untyped
    >>> text = "Part = Mapping[str, Any]\ndef f(a: Part, b: int) -> dict[str, Any]: ..."
    >>> untyped({"toy.page": Module("toy.page", Path("page.py"), text)}, ("page",))
    ['toy.page.f: Part', 'toy.page.f: dict[str, Any]']
    """
    return [
        f"{module.name}.{name}: {ast.unparse(annotation)}"
        for module in modules.values()
        if module.name.split(".")[1:2] and module.name.split(".")[1] in rooms
        for name, annotation in _annotations(module)
        if _says_anything(modules, module, annotation)
    ]


def _annotations(module: Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            for argument in every:
                if argument is not None and argument.annotation is not None:
                    yield node.name, argument.annotation
            if node.returns is not None:
                yield node.name, node.returns
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign):
                    yield node.name, statement.annotation


def _says_anything(modules: Modules, module: Module, annotation: ast.expr) -> bool:
    if _ANYTHING.search(ast.unparse(annotation)):
        return True
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return any(_is_alias(modules, module, name) for name in names)


def _is_alias(modules: Modules, module: Module, name: str) -> bool:
    """Whether a name is another one for such a mapping, here or where it is imported from."""
    place, own = home(modules, module.name, name)
    statement = modules[place].definitions.get(own) if place in modules else None
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    return bool(_ANYTHING.search(ast.unparse(statement.value)))
