"""Code that is written twice: six lines or more in a row, and six others that are like them.

Lines are alike in one of two ways:

- `"shape"`: they are the same once a mark stands for every name, number and text, while keywords,
  operators and brackets stay. Declarations are passed over, because they are all alike: heads of
  functions and classes with their decorators, and fields of classes.
- `"text"`: they are the same to the letter but for white space. Declarations count.

In both, blank lines, comments, docstrings, imports, `__all__` and lines of mere punctuation are
passed over. Six lines in a row are *repeated* if another six in a row, in the same file or
elsewhere, are like them one by one. If the six have only one or two forms they do not count: a list
of values says nothing. The figure is the number of lines that are part of such a six.
"""

from __future__ import annotations

import ast
import keyword
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from tools.house.lines import code_tokens
from tools.house.modules import Module, Modules

__all__ = ["Alike", "Run", "forms", "repeated", "runs"]

Alike = Literal["shape", "text"]
"""How lines may be alike."""

_LEAST = 6
_KINDS = 3
_MARKS = {tokenize.NUMBER: "0", tokenize.STRING: "''"}


class Run(NamedTuple):
    """Repeated lines of a module that follow each other: the first, the last, and how many."""

    module: str
    first: int
    last: int
    lines: int


@cache
def forms(module: Module, alike: Alike) -> list[tuple[int, str]]:
    r"""Number and form of every line of code that counts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.modules import Module
    >>> from tools.house.repeats import forms
    >>> module = Module("toy", Path("toy.py"), "import os\nif size > 3:\n    print('large')\n")
    >>> forms(module, "shape")
    [(2, 'if n > 0 :'), (3, "n ( '' )")]
    >>> forms(module, "text")
    [(2, 'if size > 3 :'), (3, "print ( 'large' )")]
    """
    passed_over = {line for part in _passed_over(module, alike) for line in part}
    return [
        (line, " ".join(_mark(token) if alike == "shape" else token.string for token in tokens))
        for line, tokens in sorted(code_tokens(module).items())
        if line not in passed_over and any(token.type != tokenize.OP for token in tokens)
    ]


def _mark(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return "n"
    return _MARKS.get(token.type, token.string)


def _passed_over(module: Module, alike: Alike) -> Iterator[range]:
    for statement in module.statements:
        if _is_list_of_exports(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
            yield _lines_of(statement)
        if alike == "shape" and isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield from _declarations(statement)


def _is_list_of_exports(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="__all__"), *_]):
            return True
    return False


def _declarations(node: ast.FunctionDef | ast.ClassDef) -> Iterator[range]:
    """The head with its decorators, and the fields of a class."""
    first = min(part.lineno for part in (node, *node.decorator_list))
    yield range(first, max(node.body[0].lineno, node.lineno + 1))
    if isinstance(node, ast.ClassDef):
        fields = (part for part in node.body if isinstance(part, ast.AnnAssign))
        yield from (_lines_of(field) for field in fields)


def _lines_of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def repeated(modules: Modules, alike: Alike) -> dict[str, list[int]]:
    """Numbers of the repeated lines of every module that has some."""
    formed = {name: forms(module, alike) for name, module in modules.items()}
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, lines in formed.items():
        for start in range(len(lines) - _LEAST + 1):
            window = tuple(form for _, form in lines[start : start + _LEAST])
            if len(set(window)) >= _KINDS:
                places[window].append((name, start))
    found: dict[str, set[int]] = defaultdict(set)
    for windows in places.values():
        for name, start in windows:
            if any(_apart((name, start), other) for other in windows):
                found[name].update(line for line, _ in formed[name][start : start + _LEAST])
    return {name: sorted(lines) for name, lines in sorted(found.items())}


def _apart(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether two windows have no line in common."""
    return one[0] != other[0] or abs(one[1] - other[1]) >= _LEAST


def runs(modules: Modules, alike: Alike) -> list[Run]:
    """Repeated lines as runs, the longest first: where to look."""
    found = []
    for name, lines in repeated(modules, alike).items():
        place = {line: k for k, (line, _) in enumerate(forms(modules[name], alike))}
        begin = 0
        for k in range(1, len(lines) + 1):
            if k == len(lines) or place[lines[k]] != place[lines[k - 1]] + 1:
                found.append(Run(name, lines[begin], lines[k - 1], k - begin))
                begin = k
    return sorted(found, key=lambda run: (-run.lines, run.module, run.first))
