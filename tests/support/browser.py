"""Chromium without a window, driven through pipes by the DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 60.0
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
    "--remote-debugging-pipe",
)  # fmt: skip


def find() -> str | None:
    """Return a browser of this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser; closed by `with`."""

    def __init__(self, program: str, folder: Path) -> None:
        (read_here, write_there), (read_there, write_here) = os.pipe(), os.pipe()

        def place() -> None:
            # The browser reads from 3 and writes to 4.
            low = os.dup(read_there), os.dup(write_there)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        self._input, self._output = write_here, read_here
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._input)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._output)

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the page."""
        return self._call(method, self._session, **parameters)

    def _call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            request["sessionId"] = session
        os.write(self._input, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            message = self._receive()
            if message.get("id") != self._number:
                self.events.append(message)
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            result: dict[str, Any] = message["result"]
            return result
        raise TimeoutError(method)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._output, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, address: str) -> None:
        """Open a page, and wait until its script has run."""
        self.do("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def wait(self, condition: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + SECONDS
        while not self.ask(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def show(self, *, width: int = 1500, height: int = 950, dark: bool = False) -> None:
        """Set the size of the window, and the colours that the user prefers."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height,
                deviceScaleFactor=1, mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """Return what the window shows, as PNG."""
        data: str = self.do("Page.captureScreenshot", format="png")["data"]
        return b64decode(data)

    @property
    def complaints(self) -> list[str]:
        """What the page has thrown, and what the browser has refused to do for it."""
        self.ask("0")
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"]) for e in self.events if e.get("method") in kinds]

    @property
    def requests(self) -> list[str]:
        """The addresses that the page has asked for."""
        self.ask("0")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
