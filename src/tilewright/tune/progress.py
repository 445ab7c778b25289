"""A line on the terminal that says how far tuning is, if it takes long."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from ..base.messages import error_is_terminal, write_error

PATIENCE_SECONDS = 1.0
"""How long nothing is said."""
EVERY_SECONDS = 0.1
WIDTH = 24


class Progress:
    """What tuning one kernel is doing, for who sits at a terminal; elsewhere nothing is written."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._begun = self._written = time.monotonic()
        self._is_shown = False
        self._lock = threading.Lock()
        self._terminal = error_is_terminal()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_shown:
            write_error("\r\x1b[K")

    def show(self, doing: str, done: int, count: int) -> None:
        """Note that `done` of `count` pieces are done."""
        now = time.monotonic()
        if not self._terminal or now - self._begun < PATIENCE_SECONDS:
            return
        with self._lock:
            if self._is_shown and now - self._written < EVERY_SECONDS and done < count:
                return
            self._is_shown, self._written = True, now
            filled = WIDTH * done // max(count, 1)
            bar = "#" * filled + "." * (WIDTH - filled)
            write_error(
                f"\r\x1b[Ktilewright: tuning `{self._kernel}` [{bar}] {doing} {done}/{count}"
            )
