"""A real HTTP server on this machine that behaves well or badly, as told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

Answer = Callable[[BaseHTTPRequestHandler], None]
Serve = Callable[[dict[str, Answer]], tuple[str, list[str]]]


def sends(content: bytes, promised: int | None = None) -> Answer:
    """Send content; a larger length may be promised than comes before the line is closed."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(promised or len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def sends_without_length(content: bytes) -> Answer:
    """Send content without saying beforehand how long it is."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def fails(code: int) -> Answer:
    """Send an error."""
    return lambda handler: handler.send_error(code)


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the line without a word."""
    handler.close_connection = True


class Stall:
    """Send the first half of content and then nothing, until the server is told to stop."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.half_sent, self.stop = Event(), Event()

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        sends(self.content[: len(self.content) // 2], len(self.content))(handler)
        handler.wfile.flush()
        self.half_sent.set()
        self.stop.wait(60)


@contextmanager
def serving(answers: dict[str, Answer]) -> Iterator[tuple[str, list[str]]]:
    """Serve answers by path; yields the address and the list of paths asked for so far."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answers.get(self.path, fails(404))(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        for answer in answers.values():
            if isinstance(answer, Stall):
                answer.stop.set()
        server.shutdown()
        thread.join()
        server.server_close()
