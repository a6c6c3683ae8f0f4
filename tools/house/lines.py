"""Lines of a file: code, docstrings, and the rest, which is comments and nothing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache

from tools.house.modules import Module

__all__ = ["code_tokens", "docstring_lines", "noqa_comments"]

_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_NOQA = re.compile(r"#\s*noqa\b", re.IGNORECASE)


@cache
def docstring_lines(module: Module) -> set[int]:
    r"""Numbers of the lines of docstrings, those below variables among them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.lines import docstring_lines
    >>> from tools.house.modules import Module
    >>> docstring_lines(Module("toy", Path("toy.py"), 'a = "text"\n"What it is."\n'))
    {2}
    """
    return {
        line
        for node in module.statements
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


@cache
def _tokens(module: Module) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(module.text).readline))


@cache
def code_tokens(module: Module) -> dict[int, list[tokenize.TokenInfo]]:
    """Tokens of every line of code, by line; a text over several lines belongs to each of them."""
    docstrings = docstring_lines(module)
    found: dict[int, list[tokenize.TokenInfo]] = {}
    for token in _tokens(module):
        if token.type in _NOT_CODE or token.start[0] in docstrings:
            continue
        for line in range(token.start[0], token.end[0] + 1):
            found.setdefault(line, []).append(token)
    return found


def noqa_comments(module: Module) -> int:
    r"""Comments that ask the linter to look away.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.house.lines import noqa_comments
    >>> from tools.house.modules import Module
    >>> noqa_comments(Module("toy", Path("toy.py"), "a = 1  # noqa: E741\nb = '# noqa'\n"))
    1
    """
    comments = (token.string for token in _tokens(module) if token.type == tokenize.COMMENT)
    return sum(bool(_NOQA.match(comment)) for comment in comments)
