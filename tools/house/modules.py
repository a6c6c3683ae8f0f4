"""The modules of a package, read and parsed but never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import resolve_name
from pathlib import Path

__all__ = ["Module", "Modules", "Target", "home", "read_package"]

Target = tuple[str, str]
"""A module and a name in it; the name is empty if the module itself is meant."""


@dataclass(frozen=True)
class Module:
    r"""One file of a package.

    Attributes
    ----------
    name : with dots, `likeforlike.report._page`; a package goes by its own name.
    path : of the file.
    text : all of it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import Module
    >>> module = Module("toy.one", Path("toy/one.py"), "from toy.two import a as b\nc = 1")
    >>> module.imports, list(module.definitions)
    ({'b': ('toy.two', 'a')}, ['c'])
    """

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python understands it."""
        return ast.parse(self.text, str(self.path))

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All statements, at any depth; what expressions hold is not looked into."""
        return [node for node in _below(self.tree) if isinstance(node, ast.stmt)]

    @property
    def is_public(self) -> bool:
        """Whether no part of its path begins with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def is_private(self) -> bool:
        """Whether a part of its path begins with one underscore; `__main__` is neither."""
        return any(
            part.startswith("_") and not part.startswith("__") for part in self.name.split(".")
        )

    @property
    def package(self) -> str:
        """The package that relative imports of this file start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """What the file itself defines at its top level: functions, classes and variables."""
        found: dict[str, ast.stmt] = {}
        for statement in _statements(self.tree.body):
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[statement.name] = statement
            elif isinstance(statement, ast.Assign):
                found.update(
                    (target.id, statement)
                    for target in statement.targets
                    if isinstance(target, ast.Name)
                )
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = statement
        return found

    @cached_property
    def imports(self) -> dict[str, Target]:
        """Names that the file takes from elsewhere at its top level, and where they are there."""
        return {
            alias.asname or alias.name: (self.absolute(statement), alias.name)
            for statement in _statements(self.tree.body)
            if isinstance(statement, ast.ImportFrom)
            for alias in statement.names
        }

    def absolute(self, statement: ast.ImportFrom) -> str:
        """The module that a statement imports from, by its whole name."""
        relative = "." * statement.level + (statement.module or "")
        return resolve_name(relative, self.package) if statement.level else relative

    @cached_property
    def exports(self) -> list[str]:
        """The names in `__all__`, which has to be a plain list of text."""
        statement = self.definitions.get("__all__")
        if statement is None:
            return []
        assert isinstance(statement, ast.Assign | ast.AnnAssign)
        assert statement.value is not None
        names: list[str] = ast.literal_eval(statement.value)
        return names


Modules = Mapping[str, Module]
"""Modules by name."""


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a tree but for expressions, which hold no statement and are most of it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from _below(child)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the top level, those under `if`, `try` and `with` among them."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(statement, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _statements(getattr(statement, part, []))


def read_package(folder: Path) -> dict[str, Module]:
    """All modules of the package in a folder, by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import read_package
    >>> modules = read_package(Path(__file__).parent)
    >>> modules["house.modules"].exports
    ['Module', 'Modules', 'Target', 'home', 'read_package']
    """
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = _module(name, path, path.read_text("utf-8"))
    return found


# Read again, a file that has not changed is not parsed again.
_module = cache(Module)


def home(modules: Modules, module: str, name: str) -> Target:
    """Where a name is defined that `module` has, followed from import to import.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import Module, home
    >>> texts = {"toy": "from toy.one import f", "toy.one": "def f(): ..."}
    >>> modules = {name: Module(name, Path("toy.py"), text) for name, text in texts.items()}
    >>> home(modules, "toy", "f")
    ('toy.one', 'f')
    """
    if f"{module}.{name}" in modules:
        return f"{module}.{name}", ""
    there = modules.get(module)
    if there is None or name in there.definitions or name not in there.imports:
        return module, name
    return home(modules, *there.imports[name])
