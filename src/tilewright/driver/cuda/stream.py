"""Streams of a CUDA device: work goes to the driver at once, and events tell how far it is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

from ...base.errors import DriverError
from ..dues import Dues
from ..lane import Lane
from ..protocol import Block, Event
from .copying import put_copy, put_fill
from .event import CudaEvent, Mark
from .record import Record
from .replay import CudaReplay, Node
from .results import NOT_READY, SUCCESS
from .stamp import CudaStamp

if TYPE_CHECKING:
    from .device import CudaDevice

P = ParamSpec("P")

MOST_WAITING = 1000
"""Pieces of work on their way at which the driver takes no more until some are done, about."""
SWEEP_EVERY = 32
"""Pieces of work after which finished ones are let go of, where nobody waits for any."""


Label: TypeAlias = "str | Callable[[Any], str]"
"""What a kernel is, in words, or what says so of the object that is kept for it."""


def in_words(label: object, keep: object) -> str:
    """A label in words."""
    return str(label(keep)) if callable(label) else str(label)


class CudaStream:
    """Work in order. Any number of threads may put work here; each piece goes in as a whole."""

    __slots__ = (
        "__weakref__", "_device", "_dues", "_events", "_last", "_launch", "_marks",
        "_nodes", "_owned", "_query", "_turn", "_waiting", "arriving", "completed", "context",
        "handle", "lane", "number", "submitted",
    )  # fmt: skip

    def __init__(self, device: CudaDevice, number: int, handle: int = 0) -> None:
        self._device = device
        self.context = device.context
        self._events = device.events
        self.number = number
        self.lane = Lane()
        self._owned = False
        self.handle = handle or device.take_stream()
        self._owned = not handle
        self.submitted = self.completed = 0
        """Pieces of work that were put here, and that are known to have passed."""
        self._turn = threading.RLock()
        self._dues = Dues()
        self._marks: deque[Mark] = deque()
        self._waiting = device.waiting
        calls = device.context.calls
        self._launch, self._query = calls.launch, calls.query
        self._last = Mark(0, 0, self._events)
        self._nodes: list[Node] | None = None
        self.arriving: list[Block] = []
        """Memory of the host that what was put here has yet to be written to."""

    # What has been put here, and how far it is

    @property
    def device(self) -> CudaDevice:
        """The device that runs its work."""
        return self._device

    @property
    def is_capturing(self) -> bool:
        """Whether work is recorded instead of run."""
        return self._nodes is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream as other libraries take it."""
        return 0, self.handle

    def idle(self) -> bool:
        """Whether all that was put here is done."""
        return self.completed >= self.submitted or self.look(self._mark(), 0)

    def full(self) -> bool:
        """Whether so much waits here that the driver may let whoever puts more wait."""
        return self.submitted - self.completed >= MOST_WAITING and not self._has_room()

    def _has_room(self) -> bool:
        self.sweep()
        return self.submitted - self.completed < MOST_WAITING

    def look(self, mark: Mark, nanoseconds: int) -> bool:
        """Whether a mark has been passed, now or within some time."""
        context = self.context
        if not context.is_fine:
            context.check()
        if mark.number <= self.completed:
            return True
        if nanoseconds:
            status = context.calls.await_event(context.handle, mark.handle, nanoseconds)
        else:
            status = self._query(context.handle, mark.handle)
        if status == SUCCESS:
            if mark.number > self.completed:
                self.completed = mark.number
            return True
        if status == NOT_READY:
            return False
        raise context.failure("cuEventQuery", status)

    def record(self) -> CudaEvent:
        """The point behind all work put here so far."""
        return CudaEvent(self, self._mark())

    def _mark(self) -> Mark:
        with self._turn:
            if self._last.number != self.submitted:
                self._record()
            return self._last

    def _record(self) -> None:
        context, events = self.context, self._events
        context.check()
        event = events.take()
        try:
            self._record_at(event)
        except BaseException:
            events.give_back(event)
            raise
        self._marked(event)

    def _marked(self, event: int) -> None:
        """An event has been recorded behind all that was put here."""
        self._last = Mark(self.submitted, event, self._events)
        self._marks.append(self._last)

    # Putting work here

    def launch(self, record: Record, label: Label, keep: object = None) -> Node | None:
        """Put a kernel here; while capturing it becomes a node, which is given.

        `label` says what it is, in words, if it should fail. `keep` stays alive until the device
        has passed it.
        """
        context, events = self.context, self._events
        if not context.is_fine:
            context.check()
        with self._turn:
            if self._nodes is not None:
                return self._capture(record, label, keep)
            event = events.take()
            status = self._launch(record.address, self.handle, event)
            if status != SUCCESS:
                events.give_back(event)
                raise context.failure(f"to launch {in_words(label, keep)}", status)
            self.submitted = number = self.submitted + 1
            self._last = mark = Mark(number, event, events, label, keep)
            self._marks.append(mark)
        if number % SWEEP_EVERY == 0:
            self.sweep()
        return None

    def _capture(self, record: Record, label: Label, keep: object) -> Node:
        assert self._nodes is not None
        context = self.context
        status = self._launch(record.address, self.handle, 0)
        if status != SUCCESS:
            raise context.failure(f"to record {in_words(label, keep)}", status)
        node = Node(len(self._nodes), (record, keep), record.report)
        node.handle = context.call(context.calls.last_node, self.handle)
        self._nodes.append(node)
        return node

    def put(
        self, keep: object, function: Callable[P, None], *args: P.args, **keywords: P.kwargs
    ) -> None:
        """Make a call that puts work here; `keep` stays alive until the device has passed it."""
        with self._turn:
            self.context.call(function, *args, **keywords)
            if self._nodes is not None:
                self._nodes.append(Node(len(self._nodes), keep))
                return
            self.submitted += 1
            if keep is not None:
                self._owe(None, keep)
        if self.submitted % SWEEP_EVERY == 0:
            self.sweep()

    def _owe(self, callback: Callable[[], None] | None, keep: object = None) -> None:
        if self._last.number != self.submitted:
            self._record()  # so that it is noticed when it falls due
        self._dues.add(self.submitted, callback, keep)
        self._waiting.add(self)

    def copy(self, target: Block, source: Block) -> None:
        """Put a copy here. What is on the host has been read when this returns."""
        put_copy(self, target, source)

    def fill(self, target: Block, element: bytes) -> None:
        """Put the writing of one element everywhere in a block here."""
        put_fill(self, target, element)

    def wait_for(self, event: Event) -> None:
        """Let what is put here from now on wait for an event.

        The host waits for one of another driver; and while capturing, since only runs of what is
        recorded can wait.
        """
        if not isinstance(event, CudaEvent) or self._nodes is not None:
            event.wait()
        elif event.stream is not self and event.stream.completed < event.mark.number:
            context = self.context
            with self._turn:
                context.call(context.calls.wait_event, self.handle, event.mark.handle)
                self.submitted += 1

    def note(self) -> None:
        """Know that somebody else has put something here."""
        with self._turn:
            self.submitted += 1

    def follow(self, handle: int) -> None:
        """Let what is put here from now on wait for all on a stream of another library's."""
        context, calls = self.context, self.context.calls
        event = self._events.take()
        try:
            with self._turn:
                status = calls.record(context.handle, event, handle)
                if status != SUCCESS:
                    raise context.failure("cuEventRecord", status)
                context.call(calls.wait_event, self.handle, event)
                self.submitted += 1
        finally:
            self._events.give_back(event)

    # Recording

    def begin_capture(self) -> None:
        """Record from now on what is put here."""
        with self._turn:
            if self._nodes is not None:
                raise DriverError(f"{self!r} is being captured already")
            self.context.call(self.context.calls.begin_capture, self.handle)
            self._nodes = []

    @property
    def captured(self) -> int:
        """How many pieces have been recorded."""
        return len(self._nodes or ())

    def add_hooks(
        self, before: Callable[[], None] | None, after: Callable[[], None] | None
    ) -> None:
        """Have the host do something before each run of the node recorded last, or after it."""
        assert self._nodes, "hooks belong to a node"
        self._nodes[-1].before, self._nodes[-1].after = before, after

    def end_capture(self) -> CudaReplay:
        """Stop recording; gives what was recorded."""
        with self._turn:
            nodes, self._nodes = self._nodes, None
            if nodes is None:
                raise DriverError(f"{self!r} is not being captured")
            graph = self.context.call(self.context.calls.end_capture, self.handle)
            return CudaReplay(self.context, graph, nodes)

    # Time

    def stamp(self) -> CudaStamp:
        """Note the time at which the device passes all work put here so far."""
        stamp = CudaStamp(self.context)
        self.put(stamp, self._record_at, stamp.handle)
        return stamp

    def _record_at(self, event: int) -> None:
        context = self.context
        status = context.calls.record(context.handle, event, self.handle)
        if status != SUCCESS:
            raise context.failure("cuEventRecord", status)

    # Waiting, and calls that fall due

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once all work put here so far has passed."""
        with self._turn:
            over = self.completed >= self.submitted and not self._dues
            if not over:
                self._owe(callback)
        if over:
            callback()

    def sweep(self) -> None:
        """Make the calls that have fallen due; on a device that was lost, all of them."""
        if self.context.lost is not None:
            self._dues.sweep(self.submitted)
            return
        marks = self._marks
        while marks:
            mark = marks[0]
            if self.completed < mark.number and not self.look(mark, 0):
                break
            with self._turn:
                if marks and marks[0] is mark:
                    marks.popleft()
                    mark.keep = mark.label = None
        dues = self._dues
        if dues:
            dues.sweep(self.completed)
            if not dues:
                self._waiting.discard(self)

    def synchronize(self) -> None:
        """Block until all work put here so far is done, and make the calls that are due."""
        self.record().wait()

    def suspect(self) -> str | None:
        """The first kernel here that is not known to have passed, in words."""
        for mark in tuple(self._marks):
            if mark.number > self.completed and mark.label is not None:
                return in_words(mark.label, mark.keep)
        return None

    def __del__(self) -> None:
        if self._owned:
            self._device.give_stream_back(self.handle)

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"
