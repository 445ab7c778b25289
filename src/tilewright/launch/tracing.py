"""Records launches that the core submits in the trace that is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..devices.cpu.stamp import CpuStamp
from ..devices.cuda.stamp import CudaStamp
from ..devices.cuda.stream import CudaStream
from ..devices.timeline import Timeline
from ..op.trace import Tracing, Traffic
from ..tensors.order import bytes_of, regions_of

if TYPE_CHECKING:
    from ..devices.protocol import Stream
    from ..op.core import DeviceOp
    from ..op.trace import Trace
    from .arguments import Held
    from .protocol import Runnable


class LaunchTrace:
    """One launch, from before it is submitted until its stream has passed it.

    Where it runs on the calling thread, that measures the time. Otherwise the core puts a stamp
    before it and one behind it.
    """

    __slots__ = ("_name", "_stamps", "_stream", "_trace", "_traffic", "stamps")

    def __init__(
        self,
        trace: Trace,
        name: str,
        stream: Stream,
        grid: tuple[int, ...],
        held: Held,
        written: int,
    ) -> None:
        regions = regions_of(held)
        read, wrote = bytes_of(regions[written:]), bytes_of(regions[:written])
        self._trace, self._name, self._stream = trace, name, stream
        self._traffic = Traffic(read, wrote, grid, stream.device.target)
        self._stamps: tuple[CpuStamp, CpuStamp] | tuple[CudaStamp, CudaStamp]
        if isinstance(stream, CudaStream):
            trace.clocks.set(stream)
            before, behind = CudaStamp(stream.context), CudaStamp(stream.context)
            self.stamps, self._stamps = (before.handle, behind.handle), (before, behind)
        else:
            first, last = CpuStamp(), CpuStamp()
            self.stamps, self._stamps = (first.record.address, last.record.address), (first, last)
        """What the core enqueues: addresses of jobs, or events of the driver."""

    def ran(self, begun: int, ended: int) -> None:
        """Note a launch that was run on the calling thread."""
        self._trace.enter(self._stream)
        self._add(begun, ended)

    def submitted(self, waited: list[int]) -> None:
        """Note a launch that was enqueued, behind what is on the streams of some timelines."""
        for address in waited:
            other = Timeline.by_address[address].stream
            if other is not None:
                self._trace.wait(self._stream, other)
        self._trace.enter(self._stream)

    def __call__(self) -> None:
        """Note that its stream has passed it."""
        begun, ended = self._stamps
        time_of = self._trace.clocks.time_of
        self._add(time_of(begun, self._stream), time_of(ended, self._stream))

    def _add(self, begun: int, ended: int) -> None:
        self._trace.add("work", self._name, self._stream, begun, ended, self._traffic)


def trace_launch(
    op: DeviceOp[Any], stream: Stream, code: Runnable, held: Held, written: int
) -> LaunchTrace | None:
    """Return the record of a launch about to be submitted; None: no trace is active."""
    trace = Tracing.active
    return None if trace is None else LaunchTrace(trace, op.name, stream, code.grid, held, written)
