"""Storage: where the files of data sets are kept, and that only undamaged ones are used.

A file is looked for in the folder that `LIKEFORLIKE_DATA` names, then among those that come with
the package, then in the user's cache, then fetched into the cache from the first public origin that
sends it exactly as it should be. What is used is what was checked: content is read once, compared
with its SHA-256 and handed on. `sources.toml` says which files a data set is made of, byte for
byte, and where they are public.

The files that come with the package are compressed and otherwise unchanged. Only files that may be
passed on freely are among them; `bundled/ATTRIBUTION.txt` names their owners and terms.
`python -m tools.bundle` packs them.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from importlib import resources
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile, ZipFile

from likeforlike.datasets._dataset import DataProvenance
from likeforlike.errors import InputError
from likeforlike.files import replace_whole


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
        """Say what is wrong with content that should be this file; `None` if nothing is."""
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
    """Return the source of a data set, as `sources.toml` has it."""
    entry = dict(_entries()[name])
    files = tuple(
        DataFile(**{**file, "origins": tuple(file["origins"])}) for file in entry["files"]
    )
    return Source(**{**entry, "name": name, "files": files})


@cache
def _entries() -> dict[str, Any]:
    path = resources.files("likeforlike.datasets") / "sources.toml"
    return tomllib.loads(path.read_text("utf-8"))


def bundle_folder() -> Traversable:
    """Where the files that come with the package are."""
    return files("likeforlike.datasets").joinpath("bundled")


def read_bundle(file: DataFile) -> bytes | None:
    """Read and check a file that comes with the package; `None` if it does not come with it.

    Damage means that the installation is broken. That is said and not mended behind anybody's
    back, for other parts of it may be broken too.
    """
    try:
        import lzma
    except ImportError:
        # Some Pythons are built without it; their files are found elsewhere or fetched.
        return None
    place = bundle_folder().joinpath(f"{file.path}.xz")
    try:
        content = lzma.decompress(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, lzma.LZMAError) as error:
        damage: str | None = f"it cannot be unpacked ({error})"
    else:
        damage = file.damage(content)
        if damage is None:
            return content
    raise InputError(
        f"{place} came with likeforlike and is not the file that was published: {damage}. Install "
        f"likeforlike again, or set LIKEFORLIKE_DATA to a folder that holds {file.path}."
    )


_TIMEOUT = 30.0
_PART = 1 << 16
# No origin has anything near this size; whatever has is not what was asked for.
_LARGEST = 1 << 26
# What servers, networks and archives do wrong. A KeyError is a member that an archive lacks, a
# RuntimeError one that is encrypted or packed in an unknown way.
_FAILURES = (OSError, HTTPException, BadZipFile, zlib.error, EOFError, KeyError, RuntimeError)


def download(file: DataFile) -> bytes:
    """Fetch a file from the first of its origins that sends it unharmed.

    Nothing is written. A bar is shown if standard error is a terminal.
    """
    reasons = []
    for origin in file.origins:
        address, _, member = origin.partition("#")
        try:
            content = _receive(address, file.path)
            if member:
                content = _extract(content, member, file.size)
        except _FAILURES as error:
            reasons.append(f"{origin}: {str(error).strip() or type(error).__name__}")
            continue
        damage = file.damage(content)
        if damage is None:
            return content
        reasons.append(f"{origin}: {damage}")
    raise InputError(
        f"{file.path} could not be fetched: {'; '.join(reasons) or 'it has no public origin'}."
    )


def _receive(address: str, name: str) -> bytes:
    """All that an address sends, which may be less than it promised."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(address, headers={"User-Agent": "likeforlike"})
    try:
        response = urlopen(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        raise
    content = bytearray()
    with response, _bar(name, response.headers.get("Content-Length")) as advance:
        while len(content) <= _LARGEST and (part := response.read(_PART)):
            content += part
            advance(len(part))
    return bytes(content)


def _extract(archive: bytes, member: str, size: int) -> bytes:
    """Extract a member of a ZIP archive; cut one that is too long, so that its checksum fails."""
    with ZipFile(io.BytesIO(archive)) as zipped, zipped.open(member) as inside:
        return inside.read(size + 1)


@contextmanager
def _bar(name: str, promised: str | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on the terminal, and nothing where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        total = int(promised) if promised and promised.isdecimal() else None
        task = progress.add_task(f"fetching {name}", total=total)
        yield lambda size: progress.update(task, advance=size)


State = Literal[
    "in LIKEFORLIKE_DATA", "with the package", "in the cache", "to be fetched", "damaged"
]
"""Where a file is, or that it is not what it should be."""


def data_folder() -> Path | None:
    """Return the folder that `LIKEFORLIKE_DATA` names, or `None`."""
    named = os.environ.get("LIKEFORLIKE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where fetched files are kept; it need not exist yet.

    `LIKEFORLIKE_CACHE`, else `likeforlike` in `XDG_CACHE_HOME`, else in the folder for caches of
    the system: `~/.cache`, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows.
    """
    named = os.environ.get("LIKEFORLIKE_CACHE")
    if named:
        return Path(named).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared:
        return Path(shared).expanduser() / "likeforlike"
    system = platform.system()
    local = os.environ.get("LOCALAPPDATA")
    if system == "Windows" and local:
        return Path(local) / "likeforlike" / "Cache"
    return _home() / ("Library/Caches" if system == "Darwin" else ".cache") / "likeforlike"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise InputError(
            "this user has no home folder to keep data in; set LIKEFORLIKE_CACHE to a folder."
        ) from error


def read(file: DataFile) -> bytes:
    """Read and check the content of a file; fetch and keep it if there is no good copy yet.

    A damaged copy in `LIKEFORLIKE_DATA` is refused, since it was put there on purpose, and
    so is one that came with the package, since the installation is then broken. A damaged copy in
    the cache is replaced, once the whole file has arrived and passed its check.
    """
    for reader in (_read_folder, read_bundle):
        content = reader(file)
        if content is not None:
            return content
    kept = cache_folder() / file.path
    content = _content(kept)
    if content is not None and file.damage(content) is None:
        return content
    try:
        fetched = download(file)
    except InputError as error:
        damaged = "" if content is None else f" The copy at {kept} is damaged and was not used."
        raise InputError(
            f"{error}{damaged} Try again later, or put the file at {kept} yourself, or set "
            f"LIKEFORLIKE_DATA to a folder that holds {file.path}."
        ) from error
    _keep(kept, file, fetched)
    return fetched


def state(file: DataFile) -> State:
    """Where `read` would find a file, without fetching it."""
    try:
        if _read_folder(file) is not None:
            return "in LIKEFORLIKE_DATA"
        if read_bundle(file) is not None:
            return "with the package"
        content = _content(cache_folder() / file.path)
    except InputError:
        return "damaged"
    if content is None:
        return "to be fetched"
    return "in the cache" if file.damage(content) is None else "damaged"


def _read_folder(file: DataFile) -> bytes | None:
    """Content of a file in the folder that `LIKEFORLIKE_DATA` names, or `None` if it has none."""
    folder = data_folder()
    if folder is None:
        return None
    place = folder / file.path
    content = _content(place)
    damage = None if content is None else file.damage(content)
    if damage is None:
        return content
    raise InputError(
        f"{place} is not the file that was published: {damage}. Restore it, or remove it so that "
        "another copy is found or fetched."
    )


def _content(path: Path) -> bytes | None:
    """Content of a file, or `None` if there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _keep(path: Path, file: DataFile, content: bytes) -> None:
    """Put checked content in the cache, whole or not at all.

    Two processes that fetch the same file at the same time put the same good content there one
    after the other.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, content)
    except OSError as error:
        # Windows refuses to replace a file that another process, quicker than this, has open.
        there = _content(path)
        if there is not None and file.damage(there) is None:
            return
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Set LIKEFORLIKE_CACHE to a "
            "folder that can be."
        ) from error
