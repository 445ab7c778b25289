"""Graphs: work recorded once, a whole op or op by op, and replayed any number of times.

The work is recorded on a separate stream, so that no other work gets into it; memory that a
captured op allocates is filled on the stream the user named, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload
from weakref import ref

from .._core import Graph as NativeGraph
from ..base.errors import BorrowError, SchedulingError
from ..base.shield import concluded, shielded
from ..base.showing import chain_drawing, table
from ..devices.foreign import ForeignStream
from ..devices.protocol import Device, Replay, ReplayRun, Stream
from ..op.ambient import default_device
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.nesting import THREAD, refuse_nested
from ..op.outcome import Outcome
from ..op.place import Location, here, place_of
from ..op.policy import as_stream
from ..op.running import run_here
from ..tensors.recording import Node, PlainMemory, Recording, memory_of
from .launching import GraphLaunch

T = TypeVar("T")
R = TypeVar("R")

SCOPE = "graph scope"


class CudaGraph(NativeGraph, Generic[T]):
    """Work that was captured, to be run again and again with `launch()`.

    Capturing runs the op's host functions, compiles its kernels and fills the memory it makes;
    launches and copies run at each replay, and not before. A graph keeps the memory it uses.
    """

    __slots__ = ("__dict__", "__weakref__", "stream")

    name: str
    """What was captured."""
    device: Device
    """The device it runs on."""
    prepared: list[Outcome]
    """What became of filling memory for it; the first launch looks after that."""
    _memory: PlainMemory | None
    _replay: Replay

    def __init__(
        self, name: str, stream: Stream, replay: Replay, nodes: Sequence[Node], output: T
    ) -> None:
        self.name = name
        self.writing = f"written by `{name}.graph`"
        """The description of what its launches do to memory."""
        self.stream = stream
        """Where `update` runs its ops; launches run on any stream."""
        self.device = stream.device
        self._replay = replay
        self._nodes = list(nodes)
        self._output = output
        self._taken: Location = None
        self._is_taken = False
        self.kept: tuple[Replay, tuple[Node, ...]]
        """What a launch in flight keeps. Not the graph: one that its user has dropped cannot be
        launched again, so its memory may be given away."""
        self.prepared = []
        self._gather()

    def _gather(self) -> None:
        """Collect the memory that the graph uses: what it writes cannot be moved."""
        self.writes, self.reads = memory_of(self._nodes)
        for region in self.writes:
            storage = region.storage
            storage.graphs = (*[known for known in storage.graphs if known()], ref(self))
        regions = (*self.writes, *self.reads)
        whole = all(region.is_whole and region.storage.device is self.device for region in regions)
        self.kept = (self._replay, tuple(self._nodes))
        self._memory = (
            PlainMemory(self.writing, self.writes, self.reads, self.kept) if whole else None
        )

    @overload
    @staticmethod
    def scope(stream: Stream | ForeignStream | None = None) -> Scope: ...
    @overload
    @staticmethod
    def scope(
        stream: Stream | ForeignStream | None, body: Callable[[Scope], R]
    ) -> CudaGraph[R]: ...
    @staticmethod
    def scope(
        stream: Stream | ForeignStream | None = None, body: Callable[[Scope], Any] | None = None
    ) -> Scope | CudaGraph[Any]:
        """Build a graph op by op: `with CudaGraph.scope() as scope: scope.record(op)`.

        The graph is then `scope.graph`. Without a stream, it gets a new one of the default device.

        Given a function, calls it with the scope and gives the graph, whose output is what the
        function returned.
        """
        opened = Scope(stream)
        if body is None:
            return opened
        with opened:
            output = body(opened)
        return opened.graph.giving(output)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The recorded work by name, in order."""
        return tuple(node.name for node in self._nodes)

    if TYPE_CHECKING:

        def launch(self) -> GraphLaunch:
            """Build an op that runs the captured work once."""
            ...

    def _launch_slowly(self) -> GraphLaunch:
        """Do as `launch`, where the core cannot build it."""
        return GraphLaunch.of(self)

    def update(self, op: DeviceOp[R]) -> R:
        """Run an op on the graph's stream, such as a copy of new input; changes no node.

        It is started, not waited for: launches of the graph come after it.
        """
        return op.start_on(self.stream)

    def giving(self, output: R) -> CudaGraph[R]:
        """Return the same graph with another output, for its builder."""
        graph = CudaGraph(self.name, self.stream, self._replay, self._nodes, output)
        graph.prepared = self.prepared
        return graph

    def take_output(self) -> T:
        """Return the captured op's result, once; each launch fills its tensors."""
        if self._is_taken:
            raise BorrowError(
                f"the output of the graph of `{self.name}` was taken already",
                places=(("here", place_of(here())), ("taken", place_of(self._taken))),
                hint="store the result of take_output()",
            )
        self._is_taken, self._taken = True, here()
        return self._output

    def set_args(self, node: int, /, *args: Any, **keywords: Any) -> None:
        """Set the arguments of a kernel node, for later launches.

        They are passed as to the kernel itself and must have the same layouts and types.
        """
        given: Any = node
        if not isinstance(given, int):
            raise TypeError(
                f"`set_args` takes the number of a node, as in graph.nodes, got {given!r}"
            )
        if not -len(self._nodes) <= node < len(self._nodes):
            raise IndexError(f"the graph has {len(self._nodes)} nodes, and no node {node}")
        old = self._nodes[node]
        if old.rebind is None:
            raise TypeError(f"`{old.name}` is no kernel launch, and has no arguments to replace")
        with self._replay.settled():
            self._nodes[node] = old.rebind(*args, **keywords)
            for region in self.writes:
                storage = region.storage
                storage.graphs = tuple([known for known in storage.graphs if known() is not self])
            self._gather()

    def put_on(self, stream: Stream, *, inline: bool) -> ReplayRun:
        """Enqueue one replay; for `GraphLaunch`, which orders it."""
        return self._replay.put_on(stream, inline=inline)

    def read(self, run: ReplayRun) -> Exception | None:
        """After a replay: why it failed, if it did."""
        return read_run(self.kept[1], run)

    def reader(self) -> Callable[[ReplayRun], Exception | None]:
        """Do as `read`, for a launch in flight."""
        return partial(read_run, self.kept[1])

    def _repr_html_(self) -> str:
        rows = [("of", self.name), ("device", self.device.name), ("nodes", len(self._nodes))]
        return table("CudaGraph", rows, chain_drawing(self.nodes))

    def __repr__(self) -> str:
        nodes = f"{len(self._nodes)} node{'s'[: len(self._nodes) != 1]}"
        return f"CudaGraph(`{self.name}`, {nodes}, {self.device!r})"


def read_run(nodes: Sequence[Node], run: ReplayRun) -> Exception | None:
    """Deliver what the nodes of a replay report; gives the first error."""
    reports = run.reports()
    by_number = {node.number: node for node in nodes} if reports else {}
    errors = [_read(by_number[number], raw) for number, raw in reports]
    return next((error for error in errors if error is not None), None)


def _read(node: Node, raw: object) -> Exception | None:
    return node.read(raw) if node.read is not None else None


def capture(op: DeviceOp[T], stream: Stream) -> CudaGraph[T]:
    """Record all work of an op; `op.graph_on(stream)` does this."""
    refuse_nested(op.name)
    op.claim("graph()")
    session = _Session(op.name, stream, may_allocate=True)
    try:
        shielded(session.begin)
        graph = session.graph(run_here(op, session.ctx))
    except BaseException:
        shielded(session.drop)
        raise
    return graph


class _Session:
    """One capture, from its beginning to a graph or to nothing."""

    def __init__(self, name: str, stream: Stream, *, may_allocate: bool) -> None:
        self._stream = stream
        self._recording = Recording(name)
        self._private = stream.device.new_stream()
        self.ctx = ExecutionContext(self._private)
        self.ctx.recording = self._recording
        self.ctx.setup = stream if may_allocate else None
        self._is_open = False

    def begin(self) -> None:
        """Record from now on what this thread enqueues on the stream of the context."""
        self._private.begin_capture()
        self._recording.begin()
        self._is_open = True

    def _end(self) -> Replay:
        self._is_open = False
        self._recording.end()
        return self._private.end_capture()

    def graph(self, output: T) -> CudaGraph[T]:
        """End it; gives the graph, which must be returned next."""
        replay, recording = shielded(self._end), self._recording
        graph = CudaGraph(recording.name, self._stream, replay, recording.nodes, output)
        graph.prepared = self.ctx.outcomes
        self.ctx.deliver()
        return graph

    def drop(self) -> None:
        """End it, with nothing to keep."""
        if self._is_open:
            self._end()
        self.ctx.end(failed=True)


class Scope:
    """A graph under construction: `record` each op in turn; the graph is there at the end.

    Inside, this thread may build ops and record them, but run none.
    """

    def __init__(self, stream: Stream | ForeignStream | None) -> None:
        given = default_device().new_stream() if stream is None else stream
        self._stream = as_stream(given, "`scope` takes a stream")
        self._session: _Session | None = None
        self._graph: CudaGraph[Any] | None = None

    def record(self, op: DeviceOp[T]) -> T:
        """Record an op's work; gives its result, which the next ops may use."""
        if self._session is None:
            raise SchedulingError(f"`{op.name}` cannot be recorded: the graph scope is not open")
        op.claim("record()")
        return run_here(op, self._session.ctx)

    @property
    def graph(self) -> CudaGraph[Any]:
        """What was recorded; there once the scope has ended without an error."""
        if self._graph is None:
            raise SchedulingError(
                "there is no graph: the scope has not ended, or has ended with an error"
            )
        return self._graph

    def __enter__(self) -> Self:
        refuse_nested(SCOPE)
        self._session = _Session(SCOPE, self._stream, may_allocate=False)
        concluded(self._begin, self._session)
        return self

    def _begin(self, session: _Session) -> None:
        session.begin()
        THREAD.starting = SCOPE

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        THREAD.starting = None
        session, self._session = self._session, None
        assert session is not None
        try:
            if error is None:
                self._graph = session.graph(None)
        finally:
            if self._graph is None:
                shielded(session.drop)
