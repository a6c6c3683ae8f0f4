"""Pack the data sets that come with the package.

python -m tools.bundle FOLDER

FOLDER holds the files as they were published, `adult/adult.data` and so on. Each is checked and
compressed into the bundle: only those whose license lets anybody pass them on, and the same bytes
every time (by the same version of liblzma).
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

from likeforlike.datasets._public import SOURCES, DataFile
from likeforlike.errors import InputError

__all__ = ["LICENSE", "main", "pack", "packed", "to_be_bundled"]

LICENSE = "CC BY 4.0"
"""What allows a data set to come with the package. `bundled/ATTRIBUTION.txt` meets its terms."""

_BUNDLE = Path(__file__).parents[1] / "src" / "likeforlike" / "datasets" / "bundled"


def to_be_bundled() -> Iterator[DataFile]:
    """Files of all data sets that may be passed on."""
    for source in SOURCES:
        if source.license == LICENSE:
            yield from source.files


def packed(content: bytes) -> bytes:
    """Content in the xz format, which holds neither names nor dates."""
    return lzma.compress(content, format=lzma.FORMAT_XZ, preset=6 | lzma.PRESET_EXTREME)


def pack(folder: Path, bundle: Path) -> None:
    """Pack every file that may be passed on; nothing is written unless all of them are good."""
    originals = {file.path: _original(folder, file) for file in to_be_bundled()}
    for path, content in originals.items():
        place = bundle / f"{path}.xz"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(packed(content))


def _original(folder: Path, file: DataFile) -> bytes:
    place = folder / file.path
    content = place.read_bytes()
    damage = file.damage(content)
    if damage is None:
        return content
    raise InputError(f"{place} is not the file that was published: {damage}.")


def main(arguments: list[str] | None = None) -> int:
    """Pack the files of a folder into the bundle, or elsewhere."""
    parser = argparse.ArgumentParser(prog="python -m tools.bundle", description=__doc__)
    parser.add_argument("folder", type=Path, help="the files as they were published")
    parser.add_argument("--into", type=Path, default=_BUNDLE, help="default: %(default)s")
    given = parser.parse_args(arguments)
    try:
        pack(given.folder, given.into)
    except (InputError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
