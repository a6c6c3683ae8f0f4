"""`python -m tools.house`: print the figures of the source."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from tools.house import ENTRIES, PACKAGE, REFERENCE, TYPED, figures
from tools.house.imports import import_graph, longest_chain, module_of
from tools.house.modules import Modules, read_package
from tools.house.names import exported, in_reference, with_example
from tools.house.repeats import Run, runs
from tools.house.signatures import untyped

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures, as text or as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--details", action="store_true", help="print the places as well")
    given = parser.parse_args(arguments)
    modules = read_package(PACKAGE)
    found = figures(modules, REFERENCE)
    if given.json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    lines = [f"{name.replace('_', ' '):28} {figure:>7,}" for name, figure in found.items()]
    print("\n".join([*lines, *(_details(modules) if given.details else ())]))  # noqa: T201


def _details(modules: Modules) -> Iterator[str]:
    names = exported(modules)
    graph = import_graph(modules, anywhere=True)
    starts = [None, *(module_of(modules, name) for name in ENTRIES.values())]
    sections = {
        "exported, not in the reference": _written(names - in_reference(modules, REFERENCE)),
        "exported, without an example": _written(names - with_example(modules, names)),
        "longest chains": [" > ".join(longest_chain(graph, start)) for start in starts],
        "untyped signatures": untyped(modules, TYPED),
        "repeated in shape": [_place(run) for run in runs(modules, "shape")],
        "repeated in text": [_place(run) for run in runs(modules, "text")],
    }
    for title, places in sections.items():
        yield f"\n{title} ({len(places)})"
        yield from (f"  {place}" for place in places)


def _place(run: Run) -> str:
    return f"{run.lines:3} lines, {run.module}:{run.first}-{run.last}"


def _written(names: set[tuple[str, str]]) -> list[str]:
    return [".".join(target) for target in sorted(names)]


if __name__ == "__main__":
    main()
