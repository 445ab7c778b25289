"""The page as one file, and its server.

Data, style, and the modules in `page/` are put together here.
The modules are plain JavaScript that browsers run as it is. One file can be sent to others and
opened without a server, so the modules are joined into one; their names must differ for that. A
policy in the page allows this script and this style only: nothing is loaded, and nothing is sent.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

FOLDER = "page"
START = "app.js"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<module>[\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?(function|const|let|class) )", re.MULTILINE)


def html_of(data: Mapping[str, Any]) -> str:
    """Return the page that shows some data."""
    script, style = script_of(), _read("style.css")
    policy = "; ".join([
        "default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}",
        "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    title = escape(f"{data['title']}: tilewright explore")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="data">{_embedded(data)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _embedded(data: Mapping[str, Any]) -> str:
    """Return JSON in which no text can end the element around it."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def script_of() -> str:
    """Return all modules as one, each behind those that it imports."""
    found: dict[str, str] = {}
    _gather(START, found)
    return "\n".join(found.values())


def _gather(module: str, found: dict[str, str]) -> None:
    text = _read(module)
    for match in IMPORT.finditer(text):
        if match["module"] not in found:
            _gather(match["module"], found)
    found[module] = EXPORT.sub("", IMPORT.sub("", text))


def _read(name: str) -> str:
    return files(__package__ or __name__).joinpath(FOLDER, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# -------------------------------------------------------------------------------------------------
# The server of the page: on this machine, for those who know its address.
#
# The address has a secret in it, so that neither other users of the machine nor pages in the same
# browser can read what is shown. The name that a request is for is checked, since a foreign name
# can be made to lead here. Nothing that is sent to the server is run, or even read: it knows one
# page.

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
