"""Write the pictures of the documentation into a folder.

python -m tools.pictures docs/pictures
python -m tools.pictures docs/pictures --only loans
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from likeforlike.files import write_whole
from tools.pictures import PICTURES

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Draw all pictures, or one of them, each written whole or not at all."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--only", choices=list(PICTURES), help="one picture")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES if given.only is None else [given.only]:
        write_whole(given.folder / f"{name}.svg", PICTURES[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
