"""Storage: where the files of data sets are kept, and that only undamaged ones are used.

A file is looked for in the folder that `LIKEFORLIKE_DATA` names, then among those that come with
the package, then in the user's cache, then fetched into the cache. What is used is what was
checked: content is read once, compared with its SHA-256 and handed on.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Literal

from likeforlike.datasets._bundle import bundled
from likeforlike.datasets._download import download
from likeforlike.datasets._source import DataFile
from likeforlike.errors import InputError
from likeforlike.files._writing import replace_whole

State = Literal[
    "in LIKEFORLIKE_DATA", "with the package", "in the cache", "to be fetched", "damaged"
]
"""Where a file is, or that it is not what it should be."""


def data_folder() -> Path | None:
    """The folder that `LIKEFORLIKE_DATA` names, or `None`."""
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
    """The content of a file, checked; fetched and kept if there is no good copy yet.

    A damaged copy in `LIKEFORLIKE_DATA` is refused, since it was put there on purpose, and
    so is one that came with the package, since the installation is then broken. A damaged copy in
    the cache is replaced, once the whole file has arrived and passed its check.
    """
    for reader in (_given, bundled):
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
        if _given(file) is not None:
            return "in LIKEFORLIKE_DATA"
        if bundled(file) is not None:
            return "with the package"
        content = _content(cache_folder() / file.path)
    except InputError:
        return "damaged"
    if content is None:
        return "to be fetched"
    return "in the cache" if file.damage(content) is None else "damaged"


def _given(file: DataFile) -> bytes | None:
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
