"""How deep the imports of a package go, and whether they run in circles.

An import of a name from a package counts as an import of that package; if the name is a module, of
that module alone. Parents of a module are not counted, nor is what only type checkers import. The
depth of a module is the number of modules in the longest chain of imports that begins with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tools.house.modules import Module, Modules

__all__ = ["Graph", "cycles", "import_graph", "longest_chain", "module_of"]

Graph = Mapping[str, frozenset[str]]
"""The modules that each module imports."""


def import_graph(modules: Modules, *, anywhere: bool) -> dict[str, frozenset[str]]:
    """The modules of a package that each of them imports.

    Parameters
    ----------
    modules : of the package.
    anywhere : also count imports inside functions, which wait until they are needed.
    """
    return {
        name: frozenset(_imported(modules, module, anywhere)) - {name}
        for name, module in modules.items()
    }


def _imported(modules: Modules, module: Module, anywhere: bool) -> Iterator[str]:
    for node in _executed(module.tree, anywhere):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node)
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                if inner in modules or source in modules:
                    yield inner if inner in modules else source


def _executed(node: ast.AST, anywhere: bool) -> Iterator[ast.AST]:
    """Parts of a tree that run: not blocks for type checkers, and functions only if asked for.

    No import is inside an expression, so these are passed over.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not anywhere:
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _executed(child, anywhere)


def _reached(graph: Graph) -> dict[str, set[str]]:
    """All modules that each module imports, through others too."""
    found: dict[str, set[str]] = {}
    for start in graph:
        waiting, seen = [start], set[str]()
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting.extend(new)
        found[start] = seen
    return found


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of modules that import each other, in circles.

    Examples
    --------
    >>> from tools.house.imports import cycles
    >>> cycles({"a": frozenset("b"), "b": frozenset("a"), "c": frozenset("a")})
    [['a', 'b']]
    """
    reached = _reached(graph)
    found = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(group) for group in sorted(found)]


def longest_chain(graph: Graph, start: str | None = None) -> list[str]:
    """The longest chain of imports, from `start` or from anywhere, with all members of a circle.

    Examples
    --------
    >>> from tools.house.imports import longest_chain
    >>> longest_chain({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})
    ['a', 'b', 'c']
    """
    circles = cycles(graph)
    circle_of = {name: circle for circle in circles for name in circle}
    known: dict[str, list[str]] = {}

    def chain(name: str) -> list[str]:
        if name not in known:
            here = circle_of.get(name, [name])
            after = sorted({to for member in here for to in graph[member]} - set(here))
            rest = max((chain(to) for to in after), key=len, default=[])
            known[name] = [*here, *rest]
        return known[name]

    return max((chain(name) for name in ([start] if start else sorted(graph))), key=len)


def module_of(modules: Modules, name: str) -> str:
    """The one module that defines a function or a class of this name."""
    found = [
        module.name
        for module in modules.values()
        if isinstance(module.definitions.get(name), ast.FunctionDef | ast.ClassDef)
    ]
    if len(found) != 1:
        raise SystemExit(f"{name} should be defined in one module, but it is in {found}.")
    return found[0]
