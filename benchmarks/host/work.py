"""The tensors that experiments work on, and launches of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import tilewright as tw

from ..case import Array
from ..data import poison, random
from .probes import Probe

SMALL = 16
WIDTH = 2048
"""The width of the experiment with execution modes."""


def placed(array: Array) -> tw.Tensor[Any]:
    """A tensor of the default device that holds what the array does."""
    return tw.from_numpy(array).sync()


def inputs(count: int) -> list[Array]:
    """What the kernel with so many tensors reads: the first one is its output."""
    return [random((SMALL,)) for _ in range(count - 1)]


def output() -> tw.Tensor[Any]:
    """What it writes."""
    return placed(poison((SMALL,)))


def small(count: int) -> tuple[Any, ...]:
    """Arguments of the kernel with so many tensors: an output, cut, and inputs."""
    return cut(output(), inputs(count))


def cut(z: tw.Tensor[Any], arrays: Sequence[Array]) -> tuple[Any, ...]:
    """An output and inputs as a kernel gets them."""
    return (z.partition_mut(SMALL), *map(placed, arrays))


def wide() -> tuple[Any, ...]:
    """Arguments of `scale`."""
    y, x, g = poison((WIDTH,), "f2"), random((WIDTH,), "f2"), random((WIDTH,), "f2")
    return (placed(y).partition_mut(WIDTH), placed(x), placed(g))


def chain(kernel: Any, arguments: tuple[Any, ...], length: int) -> tw.DeviceOp[Any]:
    """A launch, and others that follow it on what it gives: the same arguments."""
    op: tw.DeviceOp[Any] = kernel(*arguments)
    for _ in range(length - 1):
        op = op.then(kernel)
    return op


def replays(kernel: Any, arguments: tuple[Any, ...], length: int) -> Callable[[], object]:
    """Replays a graph of so many launches."""
    graph = chain(kernel, arguments, length).graph()
    return lambda: graph.launch().sync()


def started(build: Callable[[], tw.DeviceOp[Any]]) -> Probe:
    """Builds and starts ops on one stream; what they do then is not counted."""
    stream = tw.default_device().new_stream()

    def probe(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            build().start_on(stream)
        end = time.perf_counter()
        stream.synchronize()
        return end - begin

    return probe


def put(start: Callable[[], object]) -> Probe:
    """Calls what starts work; what that does then is not counted."""
    device = tw.default_device()

    def probe(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            start()
        end = time.perf_counter()
        device.synchronize()
        return end - begin

    return probe


def built(build: Callable[[], tw.DeviceOp[Any]]) -> Probe:
    """Builds ops that never run."""

    def probe(count: int) -> float:
        ops: list[tw.DeviceOp[Any]] = []
        begin = time.perf_counter()
        for _ in range(count):
            ops.append(build())
        end = time.perf_counter()
        for op in ops:
            op.close()
        return end - begin

    return probe


class Loop:
    """An event loop that is kept, so that only what runs in it is counted."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def probe(self, build: Callable[[], Awaitable[Any]]) -> Probe:
        """Awaits one after the other."""

        async def run(count: int) -> float:
            begin = time.perf_counter()
            for _ in range(count):
                await build()
            return time.perf_counter() - begin

        return lambda count: self._runner.run(run(count))

    def close(self) -> None:
        """End it."""
        self._runner.close()
