"""A simulated GPU that checks the order of all work at the driver's functions, by vector clocks.

Native code launches here as on a GPU. Nothing passes before the host blocks until it has: whoever
asks meanwhile is told that it is not ready. So all order comes from events and waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from support.native_cuda import NativeCuda
from support.simulated_cuda import SimulatedCuda, arguments_of
from tilewright.devices.cuda.results import NOT_READY
from tilewright.devices.null import HappensBefore, MemoryUse
from tilewright.ir.core import Func
from tilewright.ir.signature import OutputSpec


class CheckedCuda(SimulatedCuda, NativeCuda):
    """A driver that knows what happens before what."""

    def __init__(self, arch: str) -> None:
        self.order = HappensBefore()
        self._clocks: dict[int, Any] = {}
        """Of events, where they were recorded."""
        self._made: dict[str, Func] = {}
        super().__init__(arch)

    def find_function(self, module: int, name: str) -> int:
        number = super().find_function(module, name)
        made = self.made_of(module) or self.threads_of(module)
        if made is not None and made.func is not None:
            self._made[self.functions[number]] = made.func
        return number

    # What work uses

    def _put(self, stream: int, work: Callable[[], None], *entry: Any, wait: int = 0) -> None:
        if stream not in self.capturing:
            uses = self._replayed if entry[0] == "graph" else self._uses(entry)
            self.order.put(stream, uses, str(entry[:2]))
        super()._put(stream, work, *entry, wait=wait)

    def launch_graph(self, executable: int, stream: int) -> None:
        nodes = self.graphs[executable]
        self._replayed = [use for _, _, entry in nodes for use in self._uses(entry)]
        super().launch_graph(executable, stream)

    def _uses(self, entry: tuple[Any, ...]) -> list[MemoryUse]:
        if entry[0] == "launch" and entry[1] in self._made:
            return list(_uses_of(self._made[entry[1]], entry[3]))
        return list(entry[-1]) if isinstance(entry[-1], list) else []

    def copy_in(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note(stream, (target, nbytes, True))
        super().copy_in(target, source, nbytes, stream)

    def copy_out(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note(stream, (source, nbytes, False))
        super().copy_out(target, source, nbytes, stream)

    def copy_within(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note(stream, (target, nbytes, True), (source, nbytes, False))
        super().copy_within(target, source, nbytes, stream)

    def fill(self, target: int, element: int, itemsize: int, count: int, stream: int) -> None:
        self._note(stream, (target, itemsize * count, True))
        super().fill(target, element, itemsize, count, stream)

    def free(self, address: int, stream: int) -> None:
        nbytes = len(self.memory[address])
        self._note(stream, (address, nbytes - 256, True))
        super().free(address, stream)
        self.order.forget(address, address + nbytes)

    def _note(self, stream: int, *uses: tuple[int, int, bool]) -> None:
        if stream not in self.capturing:
            told = [MemoryUse(start, start + nbytes, writes) for start, nbytes, writes in uses]
            self.order.put(stream, told, "a copy, fill or free")

    # What the host may know

    def record(self, context: int, event: int, stream: int) -> int:
        self._clocks[event] = self.order.clock(stream)
        return super().record(context, event, stream)

    def wait_event(self, stream: int, event: int) -> None:
        self.order.wait(stream, self._clocks[event])
        super().wait_event(stream, event)

    def drain(self, context: int, stream: int, nanoseconds: int) -> int:
        clock = self.order.clock(stream)
        if not nanoseconds and not self.order.has_seen(clock):
            return NOT_READY
        status = super().drain(context, stream, nanoseconds)
        if status == 0:
            self.order.seen(clock)
        return status

    def await_event(self, context: int, event: int, nanoseconds: int) -> int:
        clock = self._clocks.get(event, {})
        if not nanoseconds and not self.order.has_seen(clock):
            return NOT_READY
        status = super().await_event(context, event, nanoseconds)
        if status == 0:
            self.order.seen(clock)
        return status

    def await_any(
        self, context: int, events: int, count: int, word: int, seen: int, nanoseconds: int
    ) -> int:
        for event in (ctypes.c_int64 * count).from_address(events):
            self.order.seen(self._clocks.get(event, {}))
        return super().await_any(context, events, count, word, seen, nanoseconds)


def _uses_of(func: Func, values: list[int]) -> Iterator[MemoryUse]:
    """The memory of a launch, from the parameters that the driver got."""
    given = arguments_of(func, values)
    for spec, value in zip(func.signature.params, given, strict=True):
        if isinstance(value, np.ndarray) and value.size:
            low, high = byte_bounds(value)
            yield MemoryUse(low, high, isinstance(spec, OutputSpec))
