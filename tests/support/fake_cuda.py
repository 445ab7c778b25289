"""A CUDA driver in Python: memory of the host, streams that run at once or when told to.

Work put on a held stream waits until `release`. Kernels are Python functions, by name; those for
memory with gaps are known. `fail` lets a call give a status once, `break_at` loses the device.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tilewright.devices.blocks import array_of
from tilewright.devices.cuda.calls import KernelNode, PoolNumbers
from tilewright.devices.cuda.record import HEAD_WORDS, Head
from tilewright.devices.cuda.results import NOT_FOUND, NOT_READY, OUT_OF_MEMORY, refusal
from tilewright.devices.cuda.scatter import RANK
from tilewright.devices.protocol import Block

Kernel = Callable[[list[int], tuple[int, int, int]], None]
TOTAL = 1 << 30
MOST_SHARED, MOST_THREADS = 1 << 17, 1024


class FakeCuda:
    """See `tilewright.devices.cuda.calls.Calls`."""

    native_driver = 0

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.log: list[tuple[Any, ...]] = []
        """Calls that put something on a stream, in order."""
        self.kernels: dict[str, Kernel] = {}
        self.memory: dict[int, Any] = {}
        self.pinned: dict[int, Any] = {}
        self.room = TOTAL
        self.reserved = 0
        """Bytes that a pool keeps though nobody uses them."""
        self.trims = 0
        self.apart: set[tuple[int, int]] = set()
        """Devices of which the first cannot access the memory of the second."""
        self.tried: list[bytes] = []
        """Code that was loaded in another process first."""
        self.needed: dict[str, int] = {}
        """Bytes that the blocks of a kernel share anyway, by its name."""
        self.lost = 0
        self.failing: dict[str, deque[int]] = defaultdict(deque)
        self.current: list[int] = []
        self.queues: dict[int, deque[Callable[[], None]]] = {1: deque()}
        """Of the default stream, and of those that were made."""
        self._turns: dict[int, Any] = defaultdict(threading.RLock)
        """Of streams: one thread at a time runs what is there, so that it runs in order."""
        self.contexts: dict[int, int] = {}
        """Of streams: the last digit of a context is its device."""
        self.held: set[int] = set()
        self.events: dict[int, list[bool]] = {}
        self.passed_at: dict[int, int] = {}
        """When events have passed, in nanoseconds."""
        self.waits: dict[int, list[bool]] = {}
        """What work waits for: an event as it was when the wait was put."""
        self.functions: dict[int, str] = {}
        self.parameters: dict[str, tuple[int, ...]] = {}
        """The sizes of the parameters of kernels, where the driver shall know them."""
        self.shared: dict[str, int] = {}
        """The shared memory that was asked for, by kernel."""
        self.capturing: dict[int, list[list[Any]]] = {}
        self.graphs: dict[int, list[list[Any]]] = {}
        self.ended: list[tuple[str, int]] = []
        self._numbers = itertools.count(1000)
        for size in (1, 2, 4, 8):
            self.kernels[f"copy_{size}"] = _mover(size, copies=True)
            self.kernels[f"fill_{size}"] = _mover(size, copies=False)

    # for tests

    def fail(self, call: str, status: int) -> None:
        self.failing[call].append(status)

    def hold(self, *streams: Any) -> None:
        self.held.update(stream.handle for stream in streams)

    def release(self, *streams: Any) -> None:
        self.held -= {stream.handle for stream in streams} if streams else set(self.held)
        moved = True
        while moved:
            moved = sum(self._run(stream) for stream in list(self.queues)) > 0

    def _run(self, stream: int) -> bool:
        queue, moved = self.queues[stream], False
        with self._turns[stream]:
            while queue and stream not in self.held and not self.lost:
                event = self.waits.get(id(queue[0]))
                if event is not None and not event[0]:
                    break
                queue.popleft()()
                moved = True
        return moved

    def _put(self, stream: int, work: Callable[[], None], *entry: Any, wait: int = 0) -> None:
        self._check(entry[0])
        if stream in self.capturing:
            self.capturing[stream].append([next(self._numbers), work, entry])
            return
        self.log.append((*entry, stream))
        if wait:
            self.waits[id(work)] = self.events[wait]
        self.queues[stream].append(work)
        self.release() if not self.held else self._run(stream)

    def _check(self, call: str) -> None:
        status = self._status(call)
        if status:
            raise self.describe(call, status)

    def _status(self, call: str) -> int:
        if self.lost:
            return self.lost
        return self.failing[call].popleft() if self.failing[call] else 0

    # the protocol

    def describe(self, call: str, status: int) -> Exception:
        return refusal(call, status, f"CUDA_ERROR_{status}", "in the words of a fake")

    def device_count(self) -> int:
        return self.devices

    def device_name(self, ordinal: int) -> str:
        return f"Fake {ordinal}"

    def capability(self, ordinal: int) -> tuple[int, int]:
        return 9, 0

    def total_memory(self, ordinal: int) -> int:
        return TOTAL

    def processors(self, ordinal: int) -> int:
        return 132

    def create_timer(self) -> int:
        return self.create_event()

    def elapsed(self, start: int, end: int) -> float:
        milliseconds = (self.passed_at[end] - self.passed_at[start]) / 1e6
        return ctypes.c_float(milliseconds).value  # as the driver rounds

    def most_shared(self, ordinal: int) -> int:
        return MOST_SHARED

    def retain_context(self, ordinal: int) -> int:
        return 10 + ordinal

    def current_context(self) -> int:
        return self.current[-1] if self.current else 0

    def push_context(self, context: int) -> None:
        self.current.append(context)

    def pop_context(self) -> None:
        self.current.pop()

    def device_of(self, address: int) -> int:
        return 0

    def free_memory(self) -> tuple[int, int]:
        used = sum(len(block) for block in tuple(self.memory.values()))
        return self.room - used, self.room

    def create_pool(self, ordinal: int) -> int:
        return 50 + ordinal

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        return (ordinal, peer) not in self.apart

    def share_pool(self, pool: int, ordinal: int) -> None:
        self._check("share_pool")
        self.log.append(("share_pool", pool, ordinal))

    def pool_numbers(self, pool: int) -> PoolNumbers:
        used = sum(len(block) for block in tuple(self.memory.values()))
        return PoolNumbers(used, used, used + self.reserved, used + self.reserved)

    def set_pool_threshold(self, pool: int, nbytes: int) -> None:
        self.log.append(("threshold", nbytes))

    def trim_pool(self, pool: int) -> None:
        self.trims += 1
        self.reserved = 0

    def allocate(self, nbytes: int, pool: int, stream: int) -> int:
        self._check("allocate")
        if nbytes + self.reserved > self.free_memory()[0]:
            raise self.describe("allocate", OUT_OF_MEMORY)
        block = (ctypes.c_ubyte * (nbytes + 256))()
        address = -(-ctypes.addressof(block) // 256) * 256
        self.memory[address] = block
        return address

    def free(self, address: int, stream: int) -> None:
        """Free in the order of the stream: what was put there before still finds the memory."""
        self._check("free")
        block = self.memory.pop(address)
        if self.queues.get(stream):
            self.queues[stream].append(partial(len, block))

    def allocate_pinned(self, nbytes: int) -> int:
        self._check("allocate_pinned")
        block = (ctypes.c_ubyte * (nbytes + 64))()
        address = -(-ctypes.addressof(block) // 64) * 64
        self.pinned[address] = block
        return address

    def free_pinned(self, address: int) -> None:
        del self.pinned[address]

    def create_stream(self) -> int:
        self._check("create_stream")
        number = next(self._numbers)
        self.contexts[number] = self.current_context()
        self.queues[number] = deque()
        return number

    def home_of(self, stream: int) -> tuple[int, int]:
        assert stream not in self.capturing, "this would end the capture"
        context = self.contexts[stream]
        return context % 10, context

    def is_captured(self, stream: int) -> bool:
        return stream in self.capturing

    def synchronize(self, stream: int) -> None:
        self._check("synchronize")

    def create_event(self) -> int:
        number = next(self._numbers)
        self.events[number] = [True]
        return number

    def destroy_event(self, event: int, _: int = 0) -> None:
        del self.events[event]
        self.passed_at.pop(event, None)

    def wait_event(self, stream: int, event: int) -> None:
        self._put(stream, lambda: None, "wait", event, wait=event)

    def copy_in(self, target: int, source: int, nbytes: int, stream: int) -> None:
        assert source in self.pinned, "only pinned memory is copied to the device"
        self._put(stream, lambda: _move(target, source, nbytes), "copy_in", nbytes)

    def copy_out(self, target: int, source: int, nbytes: int, stream: int) -> None:
        assert target in self.pinned, "the device copies to pinned memory only"
        self._put(stream, lambda: _move(target, source, nbytes), "copy_out", nbytes)

    def copy_within(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._put(stream, lambda: _move(target, source, nbytes), "copy_within", nbytes)

    def copy_between(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._put(stream, lambda: _move(target, source, nbytes), "copy_between", nbytes)

    def fill(self, target: int, element: int, itemsize: int, count: int, stream: int) -> None:
        data = element.to_bytes(itemsize, "little") * count
        self._put(stream, lambda: _write(target, data), "fill", itemsize, count)

    def try_out(self, ordinal: int, code: bytes) -> None:
        self.tried.append(code)
        self._check("try_out")

    def load_module(self, code: bytes) -> int:
        self._check("load_module")
        return next(self._numbers)

    def unload_module(self, module: int, _: int = 0) -> None:
        self.ended.append(("module", module))

    def find_function(self, module: int, name: str) -> int:
        if name not in self.kernels:
            raise self.describe("find_function", NOT_FOUND)
        number = next(self._numbers)
        self.functions[number] = name
        return number

    def function_name(self, function: int) -> str:
        return self.functions[function]

    def kernel_names(self, module: int) -> list[str]:
        return [name for name in self.kernels if not name.startswith(("copy_", "fill_"))]

    def parameter_sizes(self, function: int) -> tuple[int, ...] | None:
        return self.parameters.get(self.functions[function])

    def allow_shared(self, function: int, nbytes: int) -> None:
        self._check("allow_shared")
        self.shared[self.functions[function]] = nbytes

    def shared_bytes(self, function: int) -> int:
        return self.needed.get(self.functions[function], 0)

    def most_threads(self, function: int) -> int:
        return MOST_THREADS

    def begin_capture(self, stream: int) -> None:
        self._check("begin_capture")
        self.capturing[stream] = []

    def end_capture(self, stream: int) -> int:
        number = next(self._numbers)
        self.graphs[number] = self.capturing.pop(stream)
        return number

    def last_node(self, stream: int) -> int:
        return self.capturing[stream][-1][0]

    def instantiate(self, graph: int) -> int:
        self._check("instantiate")
        number = next(self._numbers)
        self.graphs[number] = self.graphs[graph]
        return number

    def launch_graph(self, executable: int, stream: int) -> None:
        nodes = self.graphs[executable]

        def run() -> None:
            for _, work, _ in nodes:
                work()

        self._put(stream, run, "graph", len(nodes))

    def set_node(self, executable: int, node: int, kernel: KernelNode) -> None:
        found = next(each for each in self.graphs[executable] if each[0] == node)
        name = self.functions[kernel.function]
        values = self._values(kernel.parameters, len(found[2][3]))
        shape = kernel.grid, kernel.block, kernel.shared
        found[1] = self._bound(name, values, shape)
        found[2] = ("launch", name, kernel.grid, values)

    def destroy_graph(self, graph: int, executable: int) -> None:
        self.ended.append(("graph", graph))

    def launch(self, record: int, stream: int) -> int:
        words = (ctypes.c_int64 * HEAD_WORDS).from_address(record)
        first = words[Head.PARAMETERS]
        return self._launch(words, self._values(first, self._count(first)), stream)

    def _launch(self, words: Any, values: list[int], stream: int) -> int:
        status = self._status("launch")
        if status:
            return status
        name = self.functions[words[Head.FUNCTION]]
        grid = tuple(words[Head.GRID : Head.GRID + 3])
        block = tuple(words[Head.BLOCK : Head.BLOCK + 3])
        shape = grid, block, words[Head.SHARED]
        self._put(stream, self._bound(name, values, shape), "launch", name, grid, values)
        return 0

    def idle(self, context: int, stream: int) -> int:
        return self.drain(context, stream, 0)

    def drain(self, context: int, stream: int, nanoseconds: int) -> int:
        status = self._status("drain")
        return status or self._await(lambda: self._drained(stream), nanoseconds)

    def _drained(self, stream: int) -> bool:
        with self._turns[stream]:
            return not self.queues[stream]

    def _count(self, parameters: int) -> int:
        """How many there are: a zero follows the last one's address."""
        addresses = (ctypes.c_int64.from_address(parameters + 8 * i).value for i in range(1000))
        return next(i for i, address in enumerate(addresses) if address == 0)

    def _values(self, parameters: int, count: int) -> list[int]:
        addresses = (ctypes.c_int64 * count).from_address(parameters)
        return [ctypes.c_int64.from_address(address).value for address in addresses]

    def _bound(self, name: str, values: list[int], shape: Any) -> Callable[[], None]:
        """What a launch does; its shape is the grid, the block, and bytes of shared memory."""
        return lambda: self.kernels[name](values, shape[0])

    def record(self, context: int, event: int, stream: int) -> int:
        status = self._status("record")
        if status:
            return status
        self.events[event] = passed = [False]

        def reach() -> None:
            self.passed_at[event] = time.perf_counter_ns()
            passed[0] = True

        self.queues[stream].append(reach)
        self._run(stream)
        return 0

    def query(self, context: int, event: int) -> int:
        return self.await_event(context, event, 0)

    def await_event(self, context: int, event: int, nanoseconds: int) -> int:
        return self._await(lambda: self.events[event][0], nanoseconds)

    def await_any(
        self, context: int, events: int, count: int, word: int, seen: int, nanoseconds: int
    ) -> int:
        handles = (ctypes.c_int64 * count).from_address(events)
        there = ctypes.c_int64.from_address(word)
        return self._await(
            lambda: there.value != seen or any(self.events[event][0] for event in handles),
            nanoseconds,
        )

    def _await(self, passed: Callable[[], bool], nanoseconds: int) -> int:
        end = time.monotonic_ns() + nanoseconds
        while True:
            if self.lost:
                return self.lost
            if passed():
                return 0
            if time.monotonic_ns() >= end:
                return NOT_READY
            time.sleep(1e-4)


def _move(target: int, source: int, nbytes: int) -> None:
    ctypes.memmove(target, ctypes.string_at(source, nbytes), nbytes)


def _write(target: int, data: bytes) -> None:
    ctypes.memmove(target, data, len(data))


def _mover(size: int, *, copies: bool) -> Kernel:
    """What the kernels for memory with gaps do."""

    def run(values: list[int], grid: tuple[int, int, int]) -> None:
        target, given, count = values[:3]
        extents, to, come = (tuple(values[3 + i * RANK : 3 + (i + 1) * RANK]) for i in range(3))
        assert int(np.prod(extents)) == count
        into = array_of(Block(target, size, extents, to, host=True))
        if copies:
            into[...] = array_of(Block(given, size, extents, come, host=True))
        else:
            into[...] = np.uint64(given & ((1 << 64) - 1)).astype(into.dtype)

    return run


def names(log: list[tuple[Any, ...]]) -> list[str]:
    """The calls of a log, in words."""
    return [re.sub(r"_\d$", "", str(entry[0])) for entry in log]
