"""What the CPU's streams cost, without the layers above: `python -m benchmarks.host_queue`.

A launch run by the caller, one put in the queue, the way there and back, recorded nodes, one large
launch against four on four streams, copies and memory. Each figure is the least of many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from tilewright.base.llvm import llvm
from tilewright.devices.cpu.native import NativeFunction, initialize, load
from tilewright.devices.cpu.record import Record
from tilewright.devices.cpu.replay import CpuReplay
from tilewright.devices.cpu.run import Launcher
from tilewright.devices.host import CPU
from tilewright.devices.protocol import Block

KERNEL = """
define void @steps(ptr %args, ptr %launch, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %out = load ptr, ptr %args
  %steps_at = getelementptr i64, ptr %args, i64 1
  %steps = load i64, ptr %steps_at
  br label %head
head:
  %block = phi i64 [ %begin, %entry ], [ %next, %done ]
  %more = icmp slt i64 %block, %end
  br i1 %more, label %work, label %out_of
work:
  %i = phi i64 [ 0, %head ], [ %j, %work ]
  %x = phi i64 [ %block, %head ], [ %y, %work ]
  %z = mul i64 %x, 6364136223846793005
  %y = add i64 %z, 1442695040888963407
  %j = add i64 %i, 1
  %again = icmp slt i64 %j, %steps
  br i1 %again, label %work, label %done
done:
  %at = getelementptr i64, ptr %out, i64 %block
  store i64 %y, ptr %at
  %next = add i64 %block, 1
  br label %head
out_of:
  ret void
}
"""
"""So many steps of arithmetic, about a nanosecond each, in every block."""


@cache
def kernel() -> NativeFunction:
    """The kernel, loaded."""
    initialize()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    module = llvm.parse_assembly(KERNEL)
    module.triple = machine.triple
    return load(machine.emit_object(module), "steps")


OUT = np.zeros(16, np.int64)


def launcher(steps: int) -> Launcher:
    """A launch of one block of so many steps."""
    return Launcher(kernel(), [OUT.ctypes.data, steps], (1,), 0, 0)


def least(run: Callable[[], object], times: int = 1, rounds: int = 30) -> float:
    """Seconds for one call of the fastest round."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            run()
        best = min(best, (time.perf_counter() - start) / times)
    return best


def recorded(nodes: int) -> CpuReplay:
    """So many tiny launches, recorded."""
    stream, tiny = CPU.new_stream(), launcher(1)
    stream.begin_capture()
    for _ in range(nodes):
        stream.launch(tiny.new_record(), keep=tiny)
    return stream.end_capture()


def single_launches() -> Iterator[tuple[str, float]]:
    """A tiny launch, however it is put on its way."""
    stream, tiny = CPU.new_stream(), launcher(1)

    def take_back(record: Record) -> None:
        tiny.report(record)

    def inline() -> None:
        record = tiny.record()
        stream.launch(record, inline=True)
        tiny.report(record)

    def queued() -> None:
        record = tiny.record()
        stream.launch(record, keep=tiny)
        stream.after(partial(take_back, record))

    def there_and_back() -> None:
        queued()
        stream.synchronize()

    yield "launch on the caller, us", 1e6 * least(inline, 1000)
    yield "launch put in the queue, us", 1e6 * least(queued, 200)
    stream.synchronize()
    yield "queued and waited for, us", 1e6 * least(there_and_back, 200)


def replays() -> Iterator[tuple[str, float]]:
    """Recorded tiny launches, by node."""
    stream = CPU.new_stream()
    for nodes in (10, 1000):
        replay = recorded(nodes)
        one = least(partial(replay.put_on, stream, inline=True), 50)
        yield f"node of {nodes} recorded ones, us", 1e6 * one / nodes


def overlap() -> Iterator[tuple[str, float]]:
    """Launches of one block, which cannot be shared, one after the other and side by side."""
    block = launcher(2_000_000)

    def on(streams: int) -> None:
        for i in range(4):
            CPU.streams()[i % streams].launch(block.record(), keep=block)
        CPU.synchronize()

    for streams in (1, 4):
        seconds = least(partial(on, streams), 1, 5)
        yield f"4 launches of one block, streams: {streams}, ms", 1e3 * seconds


def memory() -> Iterator[tuple[str, float]]:
    """256 MiB: copied, allocated, allocated as zero."""
    nbytes = 256 << 20
    pieces = [CPU.allocate(nbytes, zeroed=True) for _ in range(2)]
    target, source = (Block(m.address, 1, (nbytes,), (1,), host=True) for m in pieces)
    stream = CPU.new_stream()

    def copy() -> None:
        stream.copy(target, source)
        stream.synchronize()

    yield "copy of 256 MiB, ms", 1e3 * least(copy, 1, 5)
    del pieces
    for zeroed in (False, True):
        name = "zeroed" if zeroed else "plain"
        seconds = least(partial(CPU.allocate, nbytes, zeroed=zeroed), 1, 5)
        yield f"{name} 256 MiB from the pool, ms", 1e3 * seconds


def main() -> None:
    """Print one line for each figure."""
    for part in (single_launches, replays, overlap, memory):
        for name, figure in part():
            print(f"{name:45} {figure:10.3f}")


if __name__ == "__main__":
    main()
