"""Runs a program so that compute-sanitizer sees in which order streams use memory.

    compute-sanitizer ... python telling.py program.py

It does not notice what `cuEventQuery` says. So an event that has passed is waited for once more,
which takes no time and orders nothing. And for a stream that is made after memory, it takes that
memory for not yet allocated, whatever was waited for in between. So all streams are made first.
What it then still takes for a race is one. It hangs where a thread asks whether a stream is idle
while another one launches something. So threads take turns in the driver.
"""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from cuda.bindings import driver

import tilewright as tw
from tilewright.driver.cuda.context import Context
from tilewright.driver.cuda.event import Mark
from tilewright.driver.cuda.stream import CudaStream

LOOK = CudaStream.look
STREAMS = 32
"""More than a program has."""
TURN = threading.RLock()
CALLING: dict[type, tuple[str, ...]] = {
    Context: ("call",), CudaStream: ("launch", "look", "_has_passed_all"),
}  # fmt: skip
"""What calls the driver."""


def look(stream: CudaStream, mark: Mark, nanoseconds: int) -> bool:
    """As `CudaStream.look`, and aloud."""
    passed = LOOK(stream, mark, nanoseconds)
    if passed and mark.handle:
        stream.context.call(driver.cuEventSynchronize, driver.CUevent(mark.handle))
    return passed


def in_turns(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, for one thread at a time."""

    @wraps(function)
    def alone(*given: Any, **named: Any) -> Any:
        with TURN:
            return function(*given, **named)

    return alone


if __name__ == "__main__":
    CudaStream.look = look  # type: ignore[method-assign]
    for owner, names in CALLING.items():
        for name in names:
            setattr(owner, name, in_turns(getattr(owner, name)))
    early = [tw.default_device().new_stream() for _ in range(STREAMS)]
    del early  # they are used again, in place of new ones
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
