"""Serves one page on this machine, to those who know its address.

The address has a secret in it, so that neither other users of the machine nor pages in the same
browser can read what is shown. The name that a request is for is checked, since a foreign name can
be made to lead here. Nothing that is sent to the server is run, or even read: it knows one page.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
TOKEN_BYTES = 24
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
SECONDS = 10
"""How long a request may take to arrive."""


class PageServer(ThreadingHTTPServer):
    """A server of one page; closed by `with`."""

    daemon_threads = True

    def __init__(self, page: str, port: int = 0) -> None:
        self.page = page.encode()
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless it is that the browser has left before the page had arrived."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def path(self) -> str:
        """What a request must ask for."""
        return f"/{self.token}/"

    @property
    def address(self) -> str:
        """What to open."""
        return f"http://{HOST}:{self.port}{self.path}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which this machine calls itself."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = SECONDS
    server_version, sys_version = "tilewright", ""

    def do_GET(self) -> None:
        if self.headers.get_all("Host") not in [[name] for name in self.server.names]:
            self._say(HTTPStatus.MISDIRECTED_REQUEST)
        elif not compare_digest(self.path.encode(), self.server.path.encode()):
            self._say(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    do_HEAD = do_GET  # noqa: N815 - names of the base

    def _refuse(self) -> None:
        self.close_connection = True  # what it sends besides is not read
        self._say(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse  # noqa: N815

    def _say(self, status: HTTPStatus, **more: str) -> None:
        text = f"{status.value} {status.phrase}\n".encode()
        self._send(status, text, "text/plain; charset=utf-8", **more)

    def _send(self, status: HTTPStatus, content: bytes, kind: str, **more: str) -> None:
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in {**HEADERS, **own, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Write nothing: the requests have the secret in them."""
