"""Parts of a page that a command writes: tables, and what stands between two comments."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["table", "with_section"]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_section(text: str, name: str, content: str) -> str:
    """A text whose part `<!-- name --> ... <!-- /name -->` is replaced; the comments stay.

    Parameters
    ----------
    text : holds both comments once.
    name : of the part.
    content : in Markdown.
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the file needs the lines {start} and {end}, in this order.")
    return f"{before}{start}\n{content.strip()}\n{end}{after}"
