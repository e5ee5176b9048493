"""What every request passes: its host, its origin, its token, and the headers of the answer."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from motiflux.serve.settings.parts import Listening

_OPEN = ("/", "/health", "/ready", "/openapi.json")
_SAFE = ("GET", "HEAD")
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests that other pages or strangers send.

    A page of another origin can send requests to a service on this machine, and a name can be made to
    resolve to it. So only names that are known are answered (``Host``), nothing is changed for another
    ``Origin``, and bodies have content types that browsers send to no other origin by themselves. With a
    token, all but the page's own files and ``/health`` and ``/ready`` need it.

    Parameters
    ----------
    app
        The application behind it.
    listening
        Hosts and token.
    """

    def __init__(self, app: ASGIApp, listening: Listening) -> None:
        self._app = app
        self._token = None if listening.token is None else listening.token.encode()
        names: Iterable[str] = listening.hosts
        if not listening.hosts and listening.token is None:
            names = _LOCAL_NAMES
        self._hosts = {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refused(scope)
        await (self._app if refused is None else refused)(scope, receive, send_with_headers)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts and _name(host) not in self._hosts:
            return _error(421, "Host", "a name that this service answers to, see service.hosts", host)
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in _SAFE and _place(origin) != host:
            return _error(403, "Origin", "the page of this service", origin)
        path = scope["path"]
        if self._token is None or path in _OPEN or path.startswith("/static/"):
            return None
        given = headers.get("authorization", "")
        kind, _, token = given.partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token):
            return None
        refused = _error(401, "Authorization", "the token of this service: Bearer TOKEN", "another, or none")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Return name and port of an ``Origin`` header; empty where it has none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _error(code: int, argument: str, expected: str, found: str) -> JSONResponse:
    return JSONResponse({"error": f"{argument}: expected {expected}, found {found[:100]!r}"}, code)
