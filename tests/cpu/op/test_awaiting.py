"""What awaiting large work costs an event loop."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.processes import run_program
from tilewright.base.threads import TURN

LONGEST = 5e-3
"""Seconds of processor time that the loop may be held."""
ATTEMPTS = 5
"""What holds the loop holds it each time; what neighbours do to a processor or a GPU passes."""
ELEMENTS = 4_000_000


@tw.entry
def negate(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


async def _longest_turn(build) -> tuple[float, object]:
    """The most processor time of the loop's thread between two ticks, and the op's result.

    Not the clock: on a busy machine others run between two ticks.
    """
    longest, stop = 0.0, False

    async def ticks():
        nonlocal longest
        last = time.thread_time()
        while not stop:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    ticking = asyncio.create_task(ticks())
    await asyncio.sleep(0)
    op = build()
    result = await op
    stop = True
    await ticking
    return longest, result


async def _hold_the_loop() -> dict[str, str]:
    """What holds the loop for too long, when everything is used for the first time, or again."""
    data = fresh_rng().random(ELEMENTS, np.float32)
    z = np.empty_like(data)
    kept = {}

    def ops():
        yield "from_numpy", lambda: tw.from_numpy(data)
        yield "dup", lambda: kept["from_numpy"].dup()
        yield "to_numpy", lambda: kept["dup"].copy_to_host()
        yield "zeros", lambda: tw.zeros((ELEMENTS,))
        yield "ones", lambda: tw.ones((ELEMENTS,))
        yield "rand", lambda: tw.rand((ELEMENTS,))
        yield "arange", lambda: tw.arange(ELEMENTS)
        yield "eye", lambda: tw.eye(2000)
        yield "convert", lambda: tw.convert(kept["dup"], tw.f16)
        yield "fill", lambda: tw.fill(kept["zeros"], 2.0)
        yield "copy_from", lambda: kept["zeros"].copy_from(data)
        yield "copy_from an op", lambda: kept["zeros"].copy_from(tw.value(data))
        yield "launch", lambda: negate(kept["zeros"].partition_mut((4096,)), kept["dup"])
        yield "launch on arrays", lambda: negate(tw.asarray(z).partition((4096,)), data)
        yield "chain", lambda: tw.from_numpy(data).dup().to_numpy().map(np.sum)

    # A name of `tw` is loaded when it is first asked for, as by an import; it is the ops that must
    # not hold the loop.
    tw.ones, tw.rand  # noqa: B018
    held = {}
    for round_ in ("first", "second"):
        for name, build in ops():
            longest, kept[name] = await _longest_turn(build)
            if longest > LONGEST:
                held[f"{name}, {round_}"] = f"{longest * 1e3:.1f} ms"
    return held


def print_what_holds_the_loop() -> None:
    gc.disable()  # a collection of everything pytest has loaded would be ours to answer for
    print(json.dumps(asyncio.run(_hold_the_loop())))


def test_no_first_use_holds_the_loop():
    text = "from cpu.op.test_awaiting import *\nprint_what_holds_the_loop()"
    held = []
    while len(held) < ATTEMPTS:
        held.append(json.loads(run_program(text, timeout=300)))
        if not set.intersection(*map(set, held)):
            return
    raise AssertionError(held)


# What a compilation in another thread costs the loop: it waits for the GIL.

LINES = 1000
"""Lines of the kernel."""


def _write_long_kernel(folder: Path) -> None:
    pairs = [("a", "b"), ("b", "a")] * (LINES // 2)
    body = [f"{a} = {a} * {number % 7}.0 + {b}" for number, (a, b) in enumerate(pairs)]
    head = ["import tilewright as tw", "import tilewright.lang as tl", "", "", "@tw.entry"]
    name = "def long(z: tl.TensorMut, x: tl.Tensor) -> None:"
    lines = [*head, name, "    a = b = tl.load_tile_like(x, z)", *(f"    {line}" for line in body)]
    (folder / "long_kernel.py").write_text("\n".join([*lines, "    z.store(a + b)", ""]))


class Delays:
    """How long this thread could have run, but had no processor."""

    def __init__(self) -> None:
        self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def seconds(self) -> float:
        """Return the sum so far."""
        return int(os.pread(self._file, 100, 0).split()[1]) * 1e-9


def _place(frame: FrameType | None) -> str:
    """Return the function of a frame, and the one that called it."""
    frames = (frame, frame and frame.f_back)
    return " < ".join(f"{f.f_code.co_filename}:{f.f_code.co_name}" for f in frames if f)


async def _hold_the_gil(op: tw.DeviceOp[object]) -> dict[str, str]:
    """Where other threads were when they had held the GIL for too long.

    That is the processor time of a thread while the loop went around once, less what others had of
    the loop's processor meanwhile.
    """
    held: dict[str, str] = {}
    turns: list[float] = []
    delays, me = Delays(), threading.get_ident()
    awaited = asyncio.ensure_future(_result(op))
    while not awaited.done():
        delayed = delays.seconds()
        # Those that start others, and end at once, are not known: their clocks end with them.
        others = [t.ident for t in threading.enumerate() if t.ident and t.ident != me]
        clocks = {t: time.pthread_getcpuclockid(t) for t in others}
        before = {t: time.clock_gettime(clock) for t, clock in clocks.items()}
        await asyncio.sleep(0)
        used = {t: time.clock_gettime(clocks[t]) - before[t] for t in clocks}
        frames = sys._current_frames()
        delayed = delays.seconds() - delayed
        for thread, seconds in used.items():
            if seconds - delayed > LONGEST:
                held[_place(frames.get(thread))] = f"{(seconds - delayed) * 1e3:.1f} ms"
            if seconds - delayed > TURN / 2:
                turns.append(seconds - delayed)
    await awaited
    if turns and statistics.median(turns) > 2 * TURN:
        held["most often"] = f"{statistics.median(turns) * 1e3:.1f} ms"
    return held


async def _result(op: tw.DeviceOp[object]) -> object:
    return await op


def print_what_holds_the_gil(folder: str) -> None:
    sys.path.insert(0, folder)
    kernel = importlib.import_module("long_kernel").long
    op = kernel(tw.empty((64,)).partition((64,)), np.ones(64, np.float32))
    print(json.dumps(asyncio.run(_hold_the_gil(op))))


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="it asks Linux")
def test_no_compilation_holds_the_gil(tmp_path):
    _write_long_kernel(tmp_path)
    text = f"from cpu.op.test_awaiting import *\nprint_what_holds_the_gil({str(tmp_path)!r})"
    held = []
    while len(held) < ATTEMPTS:
        held.append(json.loads(run_program(text, timeout=300)))
        if not held[-1]:
            return
    raise AssertionError(held)
