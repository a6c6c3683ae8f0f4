"""What a package exports, how much of it the reference names, and how much has an example.

Exported is what public modules list in `__all__`. Each of those is an *entry*. As a *name* it
counts once, by where it is defined, however many modules list it. Modules and names with two
underscores are entries, not names.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tools.house.modules import Modules, Target, home

__all__ = ["exported", "in_reference", "with_example"]

_DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)


def exported(modules: Modules) -> set[Target]:
    r"""Everything that public modules list in `__all__`, by the place where it is defined.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import Module
    >>> from tools.house.names import exported
    >>> texts = {"toy": "from toy._one import f\n__all__ = ['f', '__version__']", "toy._one": ""}
    >>> exported({name: Module(name, Path("toy.py"), text) for name, text in texts.items()})
    {('toy._one', 'f')}
    """
    found = {
        home(modules, module.name, name)
        for module in modules.values()
        if module.is_public
        for name in module.exports
        if not name.startswith("__")
    }
    return {target for target in found if target[1]}


def in_reference(modules: Modules, folder: Path) -> set[Target]:
    """What the pages in a folder name by `:::`; a module there stands for all that it exports."""
    found = set[Target]()
    for page in sorted(folder.glob("*.md")):
        for path in _DIRECTIVE.findall(page.read_text("utf-8")):
            module, _, name = path.rpartition(".")
            names = modules[path].exports if path in modules else [name]
            place = path if path in modules else module
            found.update(home(modules, place, each) for each in names)
    return found


def with_example(modules: Modules, names: set[Target]) -> set[Target]:
    """Those of the names whose docstring has an example."""
    return {
        target for target in names if target[0] in modules and ">>>" in _docstring(modules, *target)
    }


def _docstring(modules: Modules, module: str, name: str) -> str:
    """Of a function or a class, or the text that stands below a variable."""
    there = modules[module]
    statement = there.definitions.get(name)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return ast.get_docstring(statement) or ""
    body = there.tree.body
    following = body[body.index(statement) + 1 :] if statement in body else []
    match following:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return text
    return ""
