"""Downloads: a file from the first public origin that sends it exactly as it should be."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from zipfile import BadZipFile, ZipFile

from likeforlike.datasets._source import DataFile
from likeforlike.errors import InputError

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
            content = _received(address, file.path)
            if member:
                content = _extracted(content, member, file.size)
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


def _received(address: str, name: str) -> bytes:
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


def _extracted(archive: bytes, member: str, size: int) -> bytes:
    """A member of a ZIP archive; one that is too long is cut, and its checksum then tells."""
    with ZipFile(io.BytesIO(archive)) as zipped, zipped.open(member) as inside:
        return inside.read(size + 1)


@contextmanager
def _bar(name: str, promised: str | None) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal; silence where none is seen."""
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
