"""Runs native code once, on a stream of its own, and gives what it reported."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.devices.cpu.native import NativeFunction
from tilewright.devices.cpu.record import Record
from tilewright.devices.cpu.run import PRINT_CAPACITY, Launcher, RawReport
from tilewright.devices.cpu.stream import CpuStream
from tilewright.devices.host import CPU

Array = np.ndarray[Any, Any]


def execute(
    function: NativeFunction,
    slots: Array,
    grid: tuple[int, ...],
    scratch_bytes: int = 0,
    print_capacity: int = PRINT_CAPACITY,
    *,
    streamed: bool = False,
) -> RawReport:
    """Run all blocks of a grid, once, on a stream of its own."""
    launcher = Launcher(
        function, slots.tolist(), grid, scratch_bytes, print_capacity, streamed=streamed
    )
    return run_on(CPU.new_stream(), launcher, launcher.record())


def run_on(stream: CpuStream, launcher: Launcher, record: Record) -> RawReport:
    """Run a launch and wait for it."""
    if not stream.launch(record, inline=True, keep=launcher):
        stream.synchronize()
    return launcher.report(record)
