"""What awaiting large work costs an event loop."""

from __future__ import annotations

import asyncio
import gc
import json
import time

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.processes import run_program

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
