"""The lowest versions that `pyproject.toml` promises to work with, as constraints for pip.

    python -m tools.lowest train duckdb > lowest.txt
    python -m pip install --constraint lowest.txt '.[train,duckdb]'

It needs nothing but Python, so it can run before anything is installed.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["lowest", "main"]

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# A name, the lowest version, perhaps a limit above it, and perhaps the machines it is meant for.
_BOUND = re.compile(
    r"(?P<name>[\w.-]+)>=(?P<version>[\w.]+)(?:,\s*<[\w.]+)?\s*(?P<marker>;.*)?", re.ASCII
)
_OWN = re.compile(r"likeforlike\[(?P<extras>[\w,]+)\]")


def lowest(project: dict[str, Any], extras: Sequence[str] = ()) -> list[str]:
    """Constraints `name==version`, one for each dependency of the base and of the extras.

    Parameters
    ----------
    project : the table `[project]` of `pyproject.toml`.
    extras : names of extras whose dependencies are wanted as well.

    Examples
    --------
    >>> from tools.lowest import lowest
    >>> lowest({"dependencies": ["numpy>=2.0", "rich>=13.7,<16"]})
    ['numpy==2.0', 'rich==13.7']
    """
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted.extend(_requirements(project, extra))
    return sorted({_pinned(each) for each in wanted})


def _requirements(project: dict[str, Any], extra: str) -> Iterator[str]:
    """Requirements of an extra; those of extras that it names stand in their place."""
    known: dict[str, list[str]] = project["optional-dependencies"]
    if extra not in known:
        raise SystemExit(f"pyproject.toml has no extra {extra!r}; it has {', '.join(known)}.")
    for requirement in known[extra]:
        own = _OWN.fullmatch(requirement)
        if own is None:
            yield requirement
        else:
            for named in own["extras"].split(","):
                yield from _requirements(project, named)


def _pinned(requirement: str) -> str:
    found = _BOUND.fullmatch(requirement)
    if found is None:
        raise SystemExit(
            f"{requirement!r} in pyproject.toml has no lowest version; write name>=1.2."
        )
    return f"{found['name']}=={found['version']}{found['marker'] or ''}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the constraints for the base and the extras named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.lowest", description=__doc__)
    parser.add_argument("extras", nargs="*", help="extras to add to the base dependencies")
    given = parser.parse_args(arguments)
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    print("\n".join(lowest(project, given.extras)))  # noqa: T201


if __name__ == "__main__":
    main()
