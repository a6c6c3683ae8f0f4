"""An app without a socket: requests go in as ASGI has them, and answers come out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from likeforlike.app._server import build_app

HOST = "127.0.0.1:5000"
T = TypeVar("T")


class Answer(NamedTuple):
    """Status, headers and body."""

    status: int
    headers: dict[str, str]
    body: str


class Asked:
    """An app and a browser that may or may not have its cookie; all in one event loop."""

    def __init__(self, folder: Path, most: int = 10**6) -> None:
        self.ended = False
        self.guard, self.path = build_app(folder, HOST, most, self.end)
        self.cookie = ""
        self.loop = asyncio.new_event_loop()

    def end(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.loop.close()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def open(self) -> None:
        """Take the cookie, as the browser that was opened does."""
        answer = self.ask("GET", f"{self.path}?token={self.guard.token}")
        assert answer.status == 200
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | list[bytes] = b"",
        *,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Ask as a page of the app does, but for the headers given; an empty one is left out."""
        usual = {"host": HOST, "cookie": self.cookie, "sec-fetch-site": "same-origin"}
        usual |= {"origin": "null"} if method == "POST" else {}
        usual |= {"content-type": "application/x-www-form-urlencoded"}
        sent = {name: value for name, value in (usual | (headers or {})).items() if value}
        path, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 5000),
        }
        return self.wait(self._ask(scope, body if isinstance(body, list) else [body]))

    async def _ask(self, scope: dict[str, Any], blocks: list[bytes]) -> Answer:
        waiting, said = list(blocks), []

        async def receive() -> dict[str, Any]:
            if not waiting:
                return {"type": "http.disconnect"}
            block = waiting.pop(0)
            return {"type": "http.request", "body": block, "more_body": bool(waiting)}

        async def send(message: Any) -> None:
            said.append(message)

        await self.guard(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in said[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in said[1:])
        return Answer(said[0]["status"], headers, body.decode())


def form_of(name: str, content: bytes, boundary: str = "----x") -> tuple[bytes, dict[str, str]]:
    """A form with a file, as browsers send it."""
    for letter, written in (('"', "%22"), ("\r", "%0D"), ("\n", "%0A")):
        name = name.replace(letter, written)
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
    head += "Content-Type: text/csv\r\n\r\n"
    body = head.encode("utf-8", "replace") + content + f"\r\n--{boundary}--\r\n".encode()
    kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
    return body, kind | {"content-length": str(len(body))}


class Elements(HTMLParser):
    """Elements and words of a page, as a browser would have them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data
