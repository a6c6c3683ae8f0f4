"""Templates, the stylesheet and the script: what the pages are made of."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from likeforlike._text import visible
from likeforlike.app._words import WORDS

_LONGEST = 80


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("likeforlike.app"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["shown"] = shown
    environment.globals["w"] = WORDS
    return environment


def render(template: str, **values: object) -> str:
    """Fill a template; names from data are escaped, and hidden characters are shown."""
    return _templates().get_template(template).render(**values)


def shown(name: str) -> str:
    """Shorten a name in its middle; what does not fit is the least telling there."""
    name = visible(name)
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 + 1 :]}"


@cache
def asset(name: str) -> bytes:
    """Read a file of the app; the stylesheet begins with that of the report."""
    own = (files("likeforlike.app") / "templates" / name).read_bytes()
    if not name.endswith(".css"):
        return own
    return (files("likeforlike.report") / "templates" / "chart.css").read_bytes() + own


def size_words(size: int) -> str:
    """Write a number of bytes for people."""
    unit, word = next(
        (each for each in ((10**9, "GB"), (10**6, "MB")) if size >= each[0]), (1000, "kB")
    )
    return f"{size / unit:.3g} {word}"
