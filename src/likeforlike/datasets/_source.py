"""Sources: which files a data set is made of, byte for byte, and where they are public."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from likeforlike.datasets._dataset import DataProvenance


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file known by its content.

    Attributes
    ----------
    path : its place below a folder of data, with forward slashes.
    size : bytes.
    sha256 : checksum of the content.
    origins : addresses to fetch it from, tried in order; `archive.zip#member` is a file in a ZIP
        archive.
    """

    path: str
    size: int
    sha256: str
    origins: tuple[str, ...]

    def damage(self, content: bytes) -> str | None:
        """What is wrong with content that should be this file; `None` if nothing is."""
        digest = hashlib.sha256(content).hexdigest()
        if digest == self.sha256:
            return None
        size = "" if len(content) == self.size else f" ({len(content):,} bytes, not {self.size:,})"
        return f"its SHA-256 is {digest}, not {self.sha256}{size}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set comes from.

    Attributes
    ----------
    name : as in `load_<name>`.
    rows : how many rows its loader returns by default.
    files : what it is made of.
    origin, license, citation : as in `DataProvenance`.
    """

    name: str
    rows: int
    files: tuple[DataFile, ...]
    origin: str
    license: str
    citation: str

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def provenance(self) -> DataProvenance:
        """What a data set made of these files says about itself."""
        checksums = {file.path: file.sha256 for file in self.files}
        return DataProvenance(self.origin, self.license, self.citation, checksums)


def source(name: str) -> Source:
    """The source of a data set, as `sources.toml` has it."""
    entry = dict(_entries()[name])
    files = tuple(
        DataFile(**{**file, "origins": tuple(file["origins"])}) for file in entry["files"]
    )
    return Source(**{**entry, "name": name, "files": files})


@cache
def _entries() -> dict[str, Any]:
    path = resources.files("likeforlike.datasets") / "sources.toml"
    return tomllib.loads(path.read_text("utf-8"))
