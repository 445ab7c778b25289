"""Clocks of candidates: replays of a graph between events on a GPU, the host's clock elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from ..base.dtypes import u8
from ..devices.protocol import Device, Stream, TimedStream
from ..graph import CudaGraph
from ..kernels.filling import fill
from ..op.core import DeviceOp
from ..tensors.create import empty

Build: TypeAlias = Callable[[], DeviceOp[Any]]
"""Builds one launch of a candidate."""

REPLAY_SECONDS = 2e-4
"""How long a replay takes at least, by the number of its launches."""
HOST_SECONDS = 1e-3
"""How long the launches of one sample take together on the host."""
MOST = 64
"""Launches of one sample."""
BRIEF = 1e-2
"""Seconds of a launch that the host runs more than once for one sample: others come between."""
SCRUB_BYTES = 256 << 20
"""Bytes written to flush the caches of a device: more than any has."""


class Clock(Protocol):
    """Measures one candidate."""

    def sample(self) -> float:
        """Return seconds of one launch."""
        ...


class HostClock:
    """Launches one after the other, by the clock of the host."""

    def __init__(self, build: Build, stream: Stream, scrub: Scrub | None) -> None:
        self._build, self._stream, self._scrub = build, stream, scrub
        self._count = 0

    def sample(self) -> float:
        """Return seconds of one launch, the least of several."""
        once = self._once()
        if not self._count:
            self._count = max(_repeats(once, HOST_SECONDS), 3 if once < BRIEF else 1)
        return min([once, *[self._once() for _ in range(self._count - 1)]])

    def _once(self) -> float:
        if self._scrub is not None:
            self._scrub.run(self._stream)
        op = self._build()
        begun = time.perf_counter()
        op.sync_on(self._stream)
        return time.perf_counter() - begun


class DeviceClock:
    """Replays of a graph of launches, between two events of the device."""

    def __init__(self, build: Build, stream: Stream, scrub: Scrub | None) -> None:
        self._build, self._stream, self._scrub = build, stream, scrub
        self._graph, self._count = self._recorded(1), 1
        self._is_fitted = scrub is not None  # with a flush before each, launches stay alone

    def sample(self) -> float:
        """Return seconds of one launch: the mean of one replay."""
        if not self._is_fitted:
            self._is_fitted = True
            self._count = _repeats(self._replayed(), REPLAY_SECONDS)
            if self._count > 1:
                self._graph = self._recorded(self._count)
        return self._replayed() / self._count

    def _recorded(self, count: int) -> CudaGraph[Any]:
        with CudaGraph.scope(self._stream) as scope:
            for _ in range(count):
                scope.record(self._build())
        return scope.graph

    def _replayed(self) -> float:
        stream: Any = self._stream
        if self._scrub is not None:
            self._scrub.run(stream)
        begun = stream.stamp()
        self._graph.launch().start_on(stream)
        done = stream.stamp()
        stream.synchronize()
        seconds: float = done.since(begun)
        return seconds


class Scrub:
    """Flushes the caches of a device."""

    def __init__(self, device: Device) -> None:
        self._buffer = empty((SCRUB_BYTES,), u8, device=device).sync()

    def run(self, stream: Stream) -> None:
        """Overwrite more memory than caches hold."""
        fill(self._buffer.borrow_mut(), 0).start_on(stream)


def clock_for(build: Build, stream: Stream, scrub: Scrub | None) -> Clock:
    """Return the clock of a candidate: that of the device if it has its own."""
    if isinstance(stream, TimedStream) and not stream.device.host_visible:
        return DeviceClock(build, stream, scrub)
    return HostClock(build, stream, scrub)


def _repeats(seconds: float, least: float) -> int:
    return max(1, min(MOST, round(least / max(seconds, 1e-9))))
