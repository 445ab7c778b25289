"""Runs a program so that compute-sanitizer sees in which order streams use memory.

    compute-sanitizer ... python telling.py program.py

It does not notice what `cuEventQuery` says. So an event that has passed is waited for once more,
which takes no time and orders nothing. And for a stream that is made after memory, it takes that
memory for not yet allocated, whatever was waited for in between. So all streams are made first.
What it then still takes for a race is one.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from cuda.bindings import driver

import tilewright as tw
from tilewright.devices.cuda.event import Mark
from tilewright.devices.cuda.stream import CudaStream

LOOK = CudaStream.look
STREAMS = 32
"""More than a program has."""


def look(stream: CudaStream, mark: Mark, nanoseconds: int) -> bool:
    """As `CudaStream.look`, and aloud."""
    passed = LOOK(stream, mark, nanoseconds)
    if passed and mark.handle:
        stream.context.call(driver.cuEventSynchronize, driver.CUevent(mark.handle))
    return passed


if __name__ == "__main__":
    CudaStream.look = look  # type: ignore[method-assign]
    early = [tw.default_device().new_stream() for _ in range(STREAMS)]
    del early  # they are used again, in place of new ones
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
