"""A file that stands for one of a data set, and ways to pack it and to look at a folder."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

from likeforlike.datasets._public import DataFile

# Longer than one part of a download, so that some of it arrives before things go wrong.
GOOD = bytes(range(256)) * 1000
CHANGED = GOOD[:1234] + b"?" + GOOD[1235:]
FILE = DataFile("toy/toy.data", len(GOOD), hashlib.sha256(GOOD).hexdigest(), ())


def contents(place: Path) -> dict[str, bytes]:
    """Everything below a folder."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


def put(path: Path, content: bytes) -> None:
    """Write a file, with the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def zipped(name: str, content: bytes) -> bytes:
    """A ZIP archive with one member."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, content)
    return archive.getvalue()
