"""A file on its way from a form into a folder, block by block; no more is held than a block.

Browsers send a form with a file as parts between boundaries. This form has one field, so its first
part is the file.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from likeforlike.app._view import size_words
from likeforlike.app._words import WORDS
from likeforlike.errors import InputError

_BOUNDARY = re.compile(r'multipart/form-data;.*?boundary="?([^\s";]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(rb'\bfilename="([^"]*)"')
_ENDING = re.compile(r"(?:\.[A-Za-z0-9]{1,8}){1,2}$")
_HEAD, _FORM, _DRAIN = 1 << 16, 1 << 20, 20.0


async def receive_file(request: Request, folder: Path, most: int) -> tuple[str, Path]:
    """Write the file of a form into a folder; return its name, and its path there.

    The path has nothing of the name but how it ends, which says what kind of file it is.
    """
    if int(request.headers.get("content-length", "0")) > most + _HEAD:
        await _drain(request)
        raise InputError(WORDS["start_large"].format(size=size_words(most)))
    found = _BOUNDARY.match(request.headers.get("content-type", ""))
    if found is None:
        raise InputError(WORDS["start_broken"])
    stream = request.stream()
    try:
        name, rest = await _head(stream)
        if not name:
            raise InputError(WORDS["start_none"])
        ending = _ENDING.search(name)
        path = folder / f"table{ending[0].lower() if ending else ''}"
        with path.open("xb") as file:
            await _copy(stream, rest, f"\r\n--{found[1]}".encode("latin-1"), file, most)
    except ClientDisconnect as error:
        raise InputError(WORDS["start_broken"]) from error
    except InputError:
        await _drain(request)
        raise
    return name, path


async def _head(stream: AsyncIterator[bytes]) -> tuple[str, bytes]:
    """Read what stands before the file: its name, and the bytes of the file that came along."""
    start = b""
    async for block in stream:
        start += block
        head, blank, rest = start.partition(b"\r\n\r\n")
        if blank:
            found = _NAME.search(head)
            name = found[1].decode("utf-8", "replace") if found else ""
            for written, letter in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n")):
                name = name.replace(written, letter)
            # Some browsers send a path.
            return re.split(r"[/\\]", name)[-1], rest
        if len(start) > _HEAD:
            break
    raise InputError(WORDS["start_broken"])


async def _copy(
    stream: AsyncIterator[bytes], rest: bytes, end: bytes, file: IO[bytes], most: int
) -> None:
    """Copy up to the boundary, which may come in two pieces."""
    done = 0
    while True:
        place = rest.find(end)
        whole = place if place >= 0 else max(0, len(rest) - len(end) + 1)
        done += file.write(rest[:whole])
        if done > most:
            raise InputError(WORDS["start_large"].format(size=size_words(most)))
        if place >= 0:
            break
        rest = rest[whole:]
        block = await anext(stream, None)
        if block is None:
            raise InputError(WORDS["start_broken"])
        rest += block
    async for _ in stream:  # what follows is the end of the form
        pass


async def _drain(request: Request) -> None:
    """Let the browser finish, so that it shows the answer; what it sends is dropped."""
    until = time.monotonic() + _DRAIN
    with suppress(ClientDisconnect, RuntimeError):
        async for _ in request.stream():
            if time.monotonic() > until:
                return


async def receive_form(request: Request) -> dict[str, str]:
    """Read the fields of a small form."""
    body = b""
    async for block in request.stream():
        body += block
        if len(body) > _FORM:
            raise InputError(WORDS["start_broken"])
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
