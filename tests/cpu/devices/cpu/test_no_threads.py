"""Where the system refuses threads: the caller runs the work, whatever ends the op."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cpu.devices.cpu.gate import PATIENCE

PROGRAM = """
import asyncio, sys, threading
import tilewright as tw
import tilewright.lang as tl
from tilewright import i32
from tilewright.base import config


@tw.entry
def bump(z: tl.TensorMut[i32]) -> None:
    z.store(z.load() + 1)


def refuse_threads() -> None:
    # No address space has room for such a stack, so pthread_create itself fails.
    threading.stack_size(1 << 60)
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return
    sys.exit("a thread was started all the same")


async def awaited(op):
    return await op


ENDINGS = {
    "sync": lambda op: op.sync(),
    "start": lambda op: op.start(),
    "sync_on": lambda op: op.sync_on(tw.default_device().new_stream()),
    "start_on": lambda op: op.start_on(tw.default_device().new_stream()),
    "into_future": lambda op: op.into_future().result(),
    "asyncio": lambda op: asyncio.run(awaited(op)),
    "then": lambda op: op.then(lambda z: tw.value(z)).sync(),
    "graph": lambda op: op.graph().launch().sync(),
}
first = ENDINGS.pop(sys.argv[1])
z = tw.zeros((100_000,), i32).sync()
with config.override(num_threads=4):
    refuse_threads()
    for count, ending in enumerate([first, *ENDINGS.values(), first], start=1):
        ending(bump(z.partition_mut((64,))))
        values = z.to_numpy()
        assert values.min() == values.max() == count, (count, values.min(), values.max())
assert threading.active_count() == 1
"""


@pytest.mark.parametrize("first", ["sync", "start", "asyncio"])
def test_the_caller_runs_what_no_thread_can(tmp_path, first):
    program = tmp_path / "program.py"  # kernels are read from a file
    program.write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, str(program), first],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
