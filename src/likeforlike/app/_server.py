"""The server of the app: it answers this machine only, and ends with all that it kept."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from likeforlike._lazy import extra
from likeforlike.app._folder import private_folder
from likeforlike.app._words import WORDS
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.app._guard import Guard

_HERE = "127.0.0.1"


def serve(
    file: Path | None = None, *, port: int = 0, open_browser: bool = True, most: int = 2 * 10**9
) -> None:
    """Serve the app until it is closed, by Ctrl-C or by its button.

    Parameters
    ----------
    file : to begin with; it stays where it is.
    port : to listen at; 0 takes a free one.
    open_browser : whether to open a browser at the address, which is printed in any case.
    most : bytes of a file, at most.
    """
    with extra("app"):
        import uvicorn
    if file is not None and not file.is_file():
        raise InputError(f"{file} does not exist, or is no file.")
    # What is asked to end, ends by way of everything below.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _listen(port) as listening, private_folder() as folder:

        def end() -> None:
            server.should_exit = True

        host = f"{_HERE}:{listening.getsockname()[1]}"
        guard, path = build_app(folder, host, most, end, file)
        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                log_level="warning",
                access_log=False,  # addresses hold the token
                server_header=False,
                http="h11",
                ws="none",
                timeout_graceful_shutdown=2,
            )
        )
        address = f"http://{host}{path}?token={guard.token}"
        print(WORDS["terminal_open"].format(address=address), flush=True)  # noqa: T201
        print(WORDS["terminal_hint"], flush=True)  # noqa: T201
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    print(WORDS["terminal_closed"], flush=True)  # noqa: T201


def build_app(
    folder: Path, host: str, most: int, end: Callable[[], None], file: Path | None = None
) -> tuple[Guard, str]:
    """Put the app together; returns it, guarded, and the path of its first page."""
    with extra("app"):
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException

    from likeforlike.app._guard import Guard
    from likeforlike.app._pages import Pages

    base = f"/{secrets.token_hex(6)}"
    pages = Pages(folder, base, most, end)
    if file is not None:
        pages.begin_with(file.resolve())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await pages.close()

    app = Starlette(
        routes=pages.routes(),
        exception_handlers={HTTPException: pages.say, Exception: pages.say},
        lifespan=lifespan,
    )
    return Guard(app, host, base), f"{base}/"


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    if sys.platform != "win32":  # where it would let two programs have one port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HERE, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(
            f"--port {port} cannot be used ({error}); leave it out for a free one."
        ) from error
    listening.listen()
    return listening
