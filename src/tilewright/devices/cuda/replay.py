"""Recorded work of a CUDA stream: a graph of the driver, and what the host does around its runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, cast
from weakref import ref

from ...base.errors import ContextError
from ..cpu.run import RawReport
from .context import Context
from .record import Record

if TYPE_CHECKING:
    from ..protocol import Stream
    from .event import CudaEvent
    from .stream import CudaStream

GRAPH = "a graph"
"""What streams call it."""


class Node:
    """A recorded piece of work, and what must live as long as it."""

    __slots__ = ("after", "before", "handle", "keep", "number", "record", "replay", "report")

    def __init__(self, number: int, keep: object, record: Record | None = None) -> None:
        self.number = number
        """Under which it reports."""
        self.keep = keep
        self.record = record
        """What is launched, if it is a kernel."""
        self.report = None if record is None else record.report
        self.handle = 0
        self.before: Callable[[], None] | None = None
        """What the host does before each run."""
        self.after: Callable[[], None] | None = None
        """And what after."""
        self.replay: ref[CudaReplay] | None = None

    def refill(self, record: Record) -> None:
        """Launch it with the parameters of a record from now on; no run is under way."""
        replay = self.replay() if self.replay is not None else None
        assert replay is not None, "the capture has ended, and its graph is there"
        replay.set_node(self.handle, record)

    def end(self) -> None:
        """Note that a run is over and that its report was read."""
        if self.report is not None:
            self.report.clear()
        if self.after is not None:
            self.after()


class ReplayRun:
    """One run of recorded work."""

    __slots__ = ("_found", "_left")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._left = list(nodes)
        """Those with which something is still to be done, the next one last."""
        self._left.reverse()
        self._found: list[tuple[int, RawReport]] | None = None

    def reports(self) -> list[tuple[int, RawReport]]:
        """Return the reports of a finished run by node; this may be called again."""
        found, left = self._found, self._left
        if found is None:
            read = [
                (node.number, raw)
                for node in reversed(left)
                if node.report is not None and (raw := node.report.read()) is not None
            ]
            found = self._found = read if self._found is None else self._found
        while left:
            node = left[-1]
            node.end()
            if left and left[-1] is node:  # no other thread runs between this and what follows
                left.pop()
        return found


class CudaReplay:
    """Work recorded on a stream of a device; its runs follow each other, on whatever streams."""

    __slots__ = (
        "__weakref__", "_attended", "_driver", "_executable", "_graph", "_last", "_leave", "_nodes",
        "_only", "_ran_on", "_run", "_take", "_turn", "context",
    )  # fmt: skip

    def __init__(self, context: Context, graph: int, nodes: Sequence[Node]) -> None:
        self.context = context
        self._driver = context.calls.native_driver
        self._graph = graph
        self._nodes = tuple(nodes)
        for node in nodes:
            node.replay = ref(self)
        self._attended = any(n.report or n.before or n.after for n in nodes)
        """Whether the host must see one run to its end before the next begins."""
        only = nodes[0].record if len(nodes) == 1 else None
        self._only = 0 if only is None else only.address
        """What is launched, if that is one kernel: a graph would take longer."""
        self._ran_on: CudaStream | None = None
        """The stream of the last run."""
        self._last: CudaEvent | None = None
        """The point behind it, if it was made."""
        self._run = ReplayRun(())
        self._turn = turn = threading.RLock()
        self._take, self._leave = turn.acquire, turn.release  # for native code
        self._executable = 0
        self._executable = context.call(context.calls.instantiate, graph)

    @property
    def nodes(self) -> int:
        """How many pieces of work were recorded."""
        return len(self._nodes)

    def put_on(self, stream: Stream, *, inline: bool = False) -> ReplayRun:
        """Enqueue a run on a stream of its device."""
        target = _of_context(stream, self.context)
        with self._turn:
            if (last := self._behind_last()) is not None:
                target.wait_for(last)
                if self._attended:
                    last.wait()
                    self._run.reports()
            for node in self._nodes:
                if node.before is not None:
                    node.before()
            run, calls = ReplayRun(self._nodes), self.context.calls
            # Known before it is there: an interrupt may come as soon as it is.
            self._run, self._ran_on, self._last = run, target, None
            target.put(self, calls.launch_graph, self._executable, target.handle)
            if self._attended:
                target.after(lambda: (run.reports(), None)[1])
            self._last = target.record()
        return run

    def _behind_last(self) -> CudaEvent | None:
        """Return a point behind the last run."""
        if self._last is None and self._ran_on is not None:
            self._last = self._ran_on.record()
        return self._last

    def refuse(self, put: int) -> NoReturn:
        """Raise for a run that the driver did not take: minus why."""
        raise self.context.failure("cuGraphLaunch", -put)

    @contextmanager
    def settled(self) -> Generator[None, None, None]:
        """Enter a block in which no run is in flight."""
        with self._turn:
            if (last := self._behind_last()) is not None:
                last.wait()
            yield

    def set_node(self, node: int, record: Record) -> None:
        """Set the parameters of a kernel node from a record; no run is in flight."""
        context = self.context
        context.call(context.calls.set_node, self._executable, node, record.kernel_node())

    def __del__(self) -> None:
        self.context.leave(self.context.calls.destroy_graph, self._graph, self._executable)


def _of_context(stream: Stream, context: Context) -> CudaStream:
    if getattr(stream, "context", None) is context:
        return cast("CudaStream", stream)
    raise ContextError(
        f"work recorded on {context.name} cannot be enqueued on a stream of another device",
        expected=f"a stream of {context.name}",
        got=repr(stream),
        device_id=context.ordinal,
    )
