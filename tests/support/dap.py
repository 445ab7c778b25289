"""A client of the Debug Adapter Protocol, as editors are: requests, answers and events as JSON."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

SECONDS = 60.0


class Client:
    """A connection to a debugger that waits for one."""

    def __init__(self, port: int) -> None:
        end = time.monotonic() + SECONDS
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), SECONDS)
                break
            except ConnectionRefusedError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self._file = self._socket.makefile("rwb")
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._answers: dict[int, dict[str, Any]] = {}

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()

    def send(self, command: str, **arguments: Any) -> int:
        """Send a request; return its number."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command}
        body = json.dumps({**message, "arguments": arguments}).encode()
        self._file.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._file.flush()
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request."""
        while number not in self._answers:
            self._receive()
        answer = self._answers.pop(number)
        if not answer["success"]:
            raise RuntimeError(f"{answer['command']}: {answer.get('message')}")
        body: dict[str, Any] = answer.get("body", {})
        return body

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        return self.answer(self.send(command, **arguments))

    def wait(self, event: str) -> dict[str, Any]:
        """Return the next event of a kind."""
        while True:
            for k, message in enumerate(self._events):
                if message["event"] == event:
                    del self._events[k]
                    body: dict[str, Any] = message.get("body", {})
                    return body
            self._receive()

    def _receive(self) -> None:
        length = 0
        while line := self._file.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the debugger has ended")
        message: dict[str, Any] = json.loads(self._file.read(length))
        if message["type"] == "event":
            self._events.append(message)
        elif message["type"] == "response":
            self._answers[message["request_seq"]] = message
