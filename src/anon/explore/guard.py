# SPDX-License-Identifier: Apache-2.0
"""Who may ask the page: the user's own browser, from the page itself, and nobody else.

Every request is checked before anything reads it. There are no sockets but those of HTTP.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from starlette.responses import PlainTextResponse, Response

from anon.errors import AnonError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 16 << 20  # of a request, an uploaded hierarchy above all
ENTER = "/enter"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "connection": "close",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

DOOR = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>anon explore</title>
<form method="post" action="{address}"><input type="hidden" name="token" value="{token}">
<button>Open anon explore</button></form>
<script>document.forms[0].submit()</script>
"""


class Refused(Exception):
    """A request that is not answered, and why."""


class Guard:
    """What stands before an application: it lets in who brings the token once, then whoever has the cookie
    and the key that were given for it.

    Cookies go to every port of a host, so that another program here could be sent one: requests for data
    bring the key besides, which the page keeps in the storage of its own origin.
    """

    def __init__(self, app: App, port: int, words: Callable[[BaseException], str]) -> None:
        self.app, self.words = app, words
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"
        self.cookie = f"anon-{port}"
        self.token: str | None = secrets.token_urlsafe(32)
        self._cookie, self.key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.folder = tempfile.TemporaryDirectory(prefix="anon-")  # of the user alone: mode 0700

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie."""
        return f"{self.cookie}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"

    def door(self) -> Path:
        """The file that a browser opens: it brings the token, which so stands on no command line."""
        path = Path(self.folder.name) / "open.html"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(DOOR.format(address=f"{self.origin}{ENTER}", token=escape(self.token or "")))
        return path

    def exchange(self, token: str) -> None:
        """Take the token, which is none from then on; Refused where it is not the one."""
        if self.token is None or not hmac.compare_digest(self.token.encode(), token.encode()):
            raise Refused("this page was opened already, or by another: start anon explore again")
        self.token = None
        self.close()

    def close(self) -> None:
        """Remove the file with the token."""
        self.folder.cleanup()

    def check(self, method: str, path: str, headers: dict[str, list[str]]) -> None:
        """Raise Refused where a request is not the page's own."""

        def one(name: str) -> str | None:
            values = headers.get(name, [])
            if len(values) > 1:
                raise Refused("a header is there twice")
            return values[0] if values else None

        if one("host") != self.host:
            raise Refused("another host is meant")
        entering = (method, path) == ("POST", ENTER)
        if method not in ("GET", "POST"):
            raise Refused("there is no such request")
        origin, site = one("origin"), one("sec-fetch-site")
        if entering:  # from a file, whose origin is none
            if origin not in (None, "null", self.origin):
                raise Refused("another page asks")
            return
        if (origin is None and method != "GET") or origin not in (None, self.origin):
            raise Refused("another page asks")
        if site not in (None, "same-origin", "none"):
            raise Refused("another page asks")
        if not hmac.compare_digest(self._cookie_in(headers).encode(), self._cookie.encode()):
            raise Refused("start anon explore, which opens its page")
        if method == "POST" and not hmac.compare_digest(
            (one("x-anon-key") or "").encode(), self.key.encode()
        ):
            raise Refused("another page asks")

    def _cookie_in(self, headers: dict[str, list[str]]) -> str:
        found = SimpleCookie()
        try:
            found.load("; ".join(headers.get("cookie", [])))
        except CookieError:
            return ""
        return found[self.cookie].value if self.cookie in found else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        begun, n_bytes = False, 0

        async def counted() -> MutableMapping[str, Any]:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > MOST_BYTES:
                raise Refused(f"this is more than {MOST_BYTES >> 20} MiB")
            return message

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *given]
            await send(message)

        try:
            self.check(scope["method"], scope["path"], headers)
            await self.app(scope, counted, guarded)
        except Exception as error:  # none goes to a log, where its words might hold a cell
            if not begun:
                await answer_of(error, self.words)(scope, receive, guarded)


def answer_of(error: Exception, words: Callable[[BaseException], str]) -> Response:
    """What is answered where a request failed."""
    if isinstance(error, Refused):
        return PlainTextResponse(str(error), 403)
    return PlainTextResponse(words(error), 400 if isinstance(error, AnonError) else 500)
