"""Who may ask the app for anything: the browser that got its address, and no other page.

Cookies are sent to every port of a machine, and a page of one port counts as the same site as that
of another. So each request has to name this host and port, come from a page of this origin or
from none, and carry a cookie that holds below one path only.
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likeforlike.app._view import render
from likeforlike.app._words import WORDS

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_SAFE = ("GET", "HEAD")


class Guard:
    """Refuse every request that is not from the browser which has the cookie.

    Attributes
    ----------
    token : opens the app once, and is nothing after that.
    """

    def __init__(self, app: ASGIApp, host: str, base: str) -> None:
        self._app, self._host, self._base = app, host, base
        self.token: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        # Cookies do not know ports: two apps must not overwrite each other's.
        self._cookie = f"likeforlike-{host.rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refuse(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        """Answer what must not reach the app; `None` lets it through."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self._host]:
            return self._say(WORDS["refused_host"], 421)
        site, method = headers.get("sec-fetch-site"), scope["method"]
        opening = method == "GET" and scope["path"] == f"{self._base}/" and scope["query_string"]
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if opening and self._take(given):  # from wherever the address was shown
            return self._open()
        if not _is_own(headers.get("origin"), site, f"http://{self._host}", method):
            return self._say(WORDS["refused_origin"], 403)
        if self._has_cookie(headers):  # who opens the address again goes on without the token
            return self._lead_on() if opening else None
        if scope["path"] == "/favicon.ico":  # browsers ask for it on their own
            return Response(status_code=204)
        return self._say(WORDS["refused_token"], 403)

    def _has_cookie(self, headers: Headers) -> bool:
        named = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(
            name == self._cookie and secrets.compare_digest(value.encode(), self._session.encode())
            for name, _, value in named
        )

    def _take(self, given: str) -> bool:
        """Whether this is the token; it is used up by that."""
        token = self.token
        if token is None or not secrets.compare_digest(given.encode(), token.encode()):
            return False
        self.token = None
        return True

    def _open(self) -> Response:
        answer = self._lead_on()
        answer.set_cookie(
            self._cookie, self._session, httponly=True, samesite="strict", path=self._base
        )
        return answer

    def _lead_on(self) -> Response:
        # A redirect would belong to whatever led here, a terminal or a message, and cookies of
        # the strict kind would not go along; a page that leads on is of this site.
        return HTMLResponse(render("open.html.j2", base=self._base))

    def _say(self, words: str, status: int) -> Response:
        # Nothing here names the path that the cookie is for.
        return HTMLResponse(render("plain.html.j2", words=words), status)


def _is_own(origin: str | None, site: str | None, own: str, method: str) -> bool:
    """Whether a request comes from a page of this origin or, if it changes nothing, from none.

    Without a referrer browsers call the origin of a form "null"; Sec-Fetch-Site says it then.
    """
    if method in _SAFE:
        return origin in (None, own) and site in (None, "none", "same-origin")
    if site is None:
        return origin == own
    return site == "same-origin" and origin in (None, "null", own)
