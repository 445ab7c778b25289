"""Launches of a graph: each borrows, checks and orders the memory of the graph like a kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from .._core import GraphLaunch as NativeGraphLaunch
from .._core import set_graph_classes
from ..base.errors import ContextError
from ..devices.cpu.replay import CpuReplay
from ..devices.cuda.context import Context
from ..devices.cuda.replay import GRAPH, CudaReplay
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Device, ReplayRun
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.place import here
from ..op.running import named
from ..tensors.borrow import LOCK, Use
from ..tensors.lease import Act, refuse_leased
from ..tensors.order import tidy
from ..tensors.ownership import refuse_unreadable
from ..tensors.recording import PlainMemory
from ..tensors.region import Region
from ..tensors.submission import submit_work

if TYPE_CHECKING:
    from .graph import CudaGraph


class GraphLaunch(NativeGraphLaunch, DeviceOp[None]):
    """Runs a graph's work once. It borrows what the graph uses when it starts."""

    __slots__ = ()

    effect = True

    holds = ("_graph",)

    _graph: CudaGraph[Any]
    _of: str
    _home: Device

    @classmethod
    def of(cls, graph: CudaGraph[Any]) -> Self:
        """Build one. By itself: calling a class takes Python twice as long."""
        self = object.__new__(cls)
        self._graph, self._of, self._home = graph, graph.name, graph.device
        self._built, self._used = here(2), ()
        return self

    @property
    def name(self) -> str:
        """The name of what was captured."""
        return f"{self._of}.graph"

    @property
    def home(self) -> Device:
        """The device of the graph."""
        return self._home

    def borrows(self, given: Sequence[object]) -> str:
        """Return the graph, and with it all memory that it uses."""
        return "it borrows the graph it launches"

    def hear(self, graph: CudaGraph[Any], run: ReplayRun) -> None:
        """Take the report of a finished run; the core calls this."""
        error = graph.read(run)
        if error is not None:
            raise named(error, self)

    def execute(self, ctx: ExecutionContext) -> None:
        """Check and borrow the graph's memory, then replay."""
        graph = self._graph
        if ctx.stream.device is not self._home:
            raise ContextError(
                f"work recorded on {self._home.name} cannot be enqueued on a stream of another"
                " device",
                expected=f"a stream of {self._home!r}",
                got=repr(ctx.stream),
            )
        _refuse_unready(self.name, graph.writes, graph.reads)
        _borrow(self, graph.writes, graph.reads)
        prepared, graph.prepared = graph.prepared, []
        ctx.outcomes += prepared
        submit_work(
            ctx, self, lambda: graph.put_on(ctx.stream, inline=ctx.waits),
            writes=graph.writes, reads=graph.reads, keep=graph.kept, report=graph.reader(),
        )  # fmt: skip
        if not ctx.is_capturing:
            for region in graph.writes:
                region.mark_written()


def _refuse_unready(name: str, writes: Sequence[Region], reads: Sequence[Region]) -> None:
    for region in reads:
        if region.storage.is_meta or not region.is_written:
            refuse_unreadable(region, f"`{name}`", _described(region))
    for act, regions in ((Act.WRITE, writes), (Act.READ, reads)):
        for region in regions:
            if region.storage.state.live_leases():
                thing = _described(region)
                refuse_leased(region.storage.state, act, f"`{name}`", thing, region)


def _borrow(op: GraphLaunch, writes: Sequence[Region], reads: Sequence[Region]) -> None:
    """Borrow as R1 says, and end at once what conflicts: the launch is being started."""
    written, read = Use(f"written by `{op.name}`", op.built), Use(f"read by `{op.name}`", op.built)
    with LOCK:
        for region in writes:
            if region.is_whole:
                region.storage.state.write_all(written)
            else:
                region.storage.state.exclude(written, region.part)
        for region in reads:
            if region.is_whole:
                region.storage.state.read_all(read)
            else:
                region.storage.state.share(read, region.part)


def _described(region: Region) -> str:
    return f"Tensor(shape={region.shape}, dtype={region.dtype.name})"


def _unfinished(
    label: str,
    keep: tuple[CudaReplay, Any],
    stream: CudaStream,
    others: int,
    kept: Any,
    upto: int,
    answer: int,
) -> None:
    """Continue `CudaReplay.submit` after a refused run, or one that is not over."""
    if answer < 0:
        keep[0].refuse(answer)
    stream.waited((others, kept, upto), answer, label, keep)


CORE_CLASSES: Mapping[str, Any] = {
    "GraphLaunch": GraphLaunch, "PlainMemory": PlainMemory, "CpuReplay": CpuReplay,
    "CudaReplay": CudaReplay, "Context": Context, "label": GRAPH, "tidy": tidy,
    "unfinished": _unfinished,
}  # fmt: skip
"""What the core meets when it ends launches of graphs, by the names that it asks for."""

set_graph_classes(dict(CORE_CLASSES))
