"""`python -m tools.record`: make all calls and write what they give."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tools.record import CASES, plain, recorded_text

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the calls and write the file."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    given = parser.parse_args(arguments)
    results = {name: plain(case.make()) for name, case in CASES.items()}
    given.out.write_text(recorded_text(results), encoding="utf-8")


if __name__ == "__main__":
    main()
