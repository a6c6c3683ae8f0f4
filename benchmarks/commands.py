"""What command lines of benchmarks have in common: run or read, keep what was found, show it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from likeforlike.files import write_whole

__all__ = ["command_line", "kept", "read_or_run", "runs_command", "write_json"]

Run = TypeVar("Run", bound="_Written")


class _Written(Protocol):
    """A dataclass: its fields are written."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def command_line(module: str, about: str | None) -> argparse.ArgumentParser:
    """A command line with `--read`, `--json` and `--quick`, to which others can be added."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--read", type=Path, help="run nothing; take what was found from here")
    parser.add_argument("--json", type=Path, help="write what is found here")
    parser.add_argument("--quick", action="store_true", help="very little of it, as a trial")
    return parser


def kept(path: Path | None, otherwise: Any = None) -> Any:  # noqa: ANN401  # JSON is anything
    """What a file holds, or something else where there is none."""
    if path is None or not path.exists():
        return otherwise
    return json.loads(path.read_text("utf-8"))


def read_or_run(given: argparse.Namespace, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What an earlier run found, if it is to be read, or what this one finds."""
    if given.read is None:
        return run()
    found: dict[str, Any] = json.loads(given.read.read_text("utf-8"))
    return found


def write_json(path: Path | None, found: dict[str, Any]) -> None:
    """Write what was found, if somebody said where."""
    if path is not None:
        write_whole(path, json.dumps(found, indent=1) + "\n")


def runs_command(
    line: argparse.ArgumentParser,
    arguments: list[str] | None,
    *,
    read: Callable[[Path], list[Run]],
    run: Callable[[list[Run], Callable[[list[Run]], None], bool], list[Run]],
    page: Callable[[list[Run]], str],
) -> int:
    """A command whose runs are lines of a file, written as they come, and make a whole page.

    Parameters
    ----------
    line : from `command_line`; `--page` is added.
    arguments : of the command; those it was called with if `None`.
    read : runs of a file.
    run : all runs, from those there are already, what keeps them, and whether as a trial.
    page : of the documentation.
    """
    line.add_argument("--page", type=Path, help="write the page of the documentation")
    given = line.parse_args(arguments)

    def keep(runs: list[Run]) -> None:
        if given.json is not None:
            lines = ",\n".join(json.dumps(asdict(one)) for one in runs)
            write_whole(given.json, f"[\n{lines}\n]\n")

    if given.read is not None:
        runs = read(given.read)
    else:
        there = given.json is not None and given.json.exists()
        runs = run(read(given.json) if there else [], keep, given.quick)
        keep(runs)
    sys.stdout.write(page(runs))
    if given.page is not None:
        write_whole(given.page, page(runs))
    return 0
