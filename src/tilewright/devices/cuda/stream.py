"""Streams of a CUDA device: work goes to the driver at once, and events show how far it is.

An interrupt (Ctrl-C) is raised where Python enters one of its functions or returns from native
code. So work is counted, and its memory kept, in a `finally` around the driver call and without a
Python call in between, unless the driver is known to have refused it: counting or keeping too much
does no harm. Counting before the call would be too early: a thread that polls the driver meanwhile,
without a lock, would take the work for passed. Until then the caller's frame keeps the memory.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from ..._core import CUDA_STATUS_BITS, set_cuda_stream
from ...base.errors import DeviceError, DriverError
from ..completion_callbacks import CompletionCallbacks
from ..pictures import ShownStream
from ..protocol import Block, Event
from ..timeline import QUEUE, SUBMITTED, Timeline
from .context import Context
from .copying import put_copy, put_fill
from .event import CudaEvent, Kept, Label, Mark
from .record import Record
from .replay import CudaReplay, Node
from .results import NOT_READY, SUCCESS
from .stamp import CudaStamp

if TYPE_CHECKING:
    from .device import CudaDevice

P = ParamSpec("P")

MOST_WAITING = 1000
"""Pieces of work on their way at which the driver takes no more until some are done, about."""
STATUS_MASK = (1 << CUDA_STATUS_BITS) - 1
MANY = 64
"""Pieces of work after which a mark is recorded, and passed work released, if no thread waits."""


def in_words(label: Label, keep: Any) -> str:
    """Format a label."""
    return label(keep) if callable(label) else str(label)


class CudaStream(ShownStream):
    """Work in order. Any number of threads may put work here; each piece goes in as a whole."""

    __slots__ = (
        "__weakref__", "_callbacks", "_dropped", "_events", "_last", "_marks", "_nodes", "_others",
        "_turn", "_waiting", "arriving", "completed", "context", "device", "handle", "is_owned",
        "kept", "number", "pool", "timeline",
    )  # fmt: skip

    def __init__(self, device: CudaDevice, number: int, handle: int = 0) -> None:
        self.device = device
        """The device that runs its work."""
        self.context = device.context
        self.pool = device.pool
        """Where memory of the device comes from."""
        self._events = device.events
        self.number = number
        self.timeline = device.timelines.take(self)
        self.is_owned = False
        self._nodes: list[Node] | None = None
        self.handle = handle or device.take_stream()
        self.is_owned = not handle
        """Whether the driver made it for us; otherwise it is another library's."""
        if self.is_owned:  # another library may record what is put on its own
            self._open()
        self._others = self.completed = 0
        """Pieces of work put here that are not counted natively; those known to have passed."""
        self._turn = threading.RLock()
        self._callbacks = CompletionCallbacks()
        self._marks: deque[Mark] = deque()
        self.kept: list[Kept] = []
        """The objects that stay alive for work with no mark behind it yet.

        A thread that enqueues work adds to this afterwards. So the objects found here before a mark
        is recorded, or before the stream is polled, belong to work before that.
        """
        self._dropped = 0
        """How many things have been dropped from the front of this list, and of those before."""
        self._waiting = device.waiting
        self._last = Mark(0, self._events, 0)
        self.arriving: dict[int, Block] = {}
        """Memory of the host that what was put here has yet to be written to, by its object."""

    def _open(self) -> None:
        """Let other streams of this driver wait for this one natively."""
        calls = self.context.calls
        if calls.native_driver:
            self.timeline.open(
                calls.open_queue(self.context.handle, self.handle), calls.native_driver
            )

    # What has been put here, and how far it is

    @property
    def is_capturing(self) -> bool:
        """Whether work is recorded instead of run."""
        return self._nodes is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the stream in the form of the CUDA stream protocol."""
        return 0, self.handle

    @property
    def submitted(self) -> int:
        """How many pieces of work were put here."""
        return self._others + self.timeline.words[SUBMITTED]

    def idle(self) -> bool:
        """Return whether all enqueued work is finished."""
        self._check()
        return self.completed >= self.submitted or self._has_passed_all(0)

    def _check(self) -> None:
        """Raise where even a stream without work is of no use: in a child, on a lost device."""
        if not self.context.is_fine:
            self.context.check()

    def full(self) -> bool:
        """Return whether the queue is so long that the driver may block the next call."""
        return self.submitted - self.completed >= MOST_WAITING and not self._has_room()

    def _has_room(self) -> bool:
        self.sweep()
        return self.submitted - self.completed < MOST_WAITING or self.idle()

    def _has_passed_all(self, nanoseconds: int) -> bool:
        """Return whether all enqueued work passes within some time, without an event."""
        context, calls = self.context, self.context.calls
        if not context.is_fine:
            context.check()
        _, kept, upto = self.point()
        issued, submitted = self.timeline.all_submitted(), self.submitted
        if nanoseconds:
            status = calls.drain(context.handle, self.handle, nanoseconds)
        else:
            status = calls.idle(context.handle, self.handle)
        if status == NOT_READY:
            return False
        if status != SUCCESS:
            raise context.failure("cuStreamQuery", status)
        self._passed(submitted, issued)
        self._drop(kept, upto)
        return True

    def _drop(self, kept: list[Kept], upto: int) -> None:
        """Drop what was found kept, up to a number; what was added since is for later work."""
        if upto > self._dropped:
            self._taken(kept, upto).clear()
            self._let_go()  # no sweep may follow: the stream would stay alive for nothing

    def _taken(self, kept: list[Kept], upto: int) -> list[Kept]:
        """Remove an entry from the list, unless another thread has removed it."""
        with self._turn:
            count = max(upto - self._dropped, 0) if kept is self.kept else 0
            taken = kept[:count]
            del kept[:count]
            self._dropped += count  # last: who adds the length to it meanwhile gets too few
            return taken

    def look(self, mark: Mark, nanoseconds: int) -> bool:
        """Return whether a mark has been passed, now or within some time."""
        context = self.context
        if not context.is_fine:
            context.check()
        if mark.number <= self.completed:
            return True
        if nanoseconds:
            status = context.calls.await_event(context.handle, mark.handle, nanoseconds)
        else:
            status = context.calls.query(context.handle, mark.handle)
        if status == SUCCESS:
            self._passed(mark.number, mark.issued)
            return True
        if status == NOT_READY:
            return False
        raise context.failure("cuEventQuery", status)

    def _passed(self, number: int, issued: int | None) -> None:
        """Note that the device has passed `number` pieces of work, and launches up to `issued`."""
        if number > self.completed:
            self.completed = number
        if issued:
            self.timeline.passed(issued)

    def record(self) -> CudaEvent:
        """Return an event after all work enqueued so far."""
        return CudaEvent(self, self._mark())

    def _mark(self) -> Mark:
        with self._turn:
            if self._last.number != self.submitted:
                self._record()
            return self._last

    def _record(self) -> None:
        context, events = self.context, self._events
        context.check()
        issued, submitted, count = self.timeline.all_submitted(), self.submitted, len(self.kept)
        mark = Mark(submitted, events, issued)
        events.take_for(mark)
        status = context.calls.record(context.handle, mark.handle, self.handle)
        if status != SUCCESS:
            raise context.failure("cuEventRecord", status)
        fresh: list[Kept] = []
        # No interrupt is raised from here on, so what is kept is kept here or there. What others
        # have added since the count is for work that may be behind the mark.
        mark.kept, self.kept = self.kept, fresh
        fresh[:0] = mark.kept[count:]
        del mark.kept[count:]
        self._last = mark
        self._marks.append(mark)

    # Putting work here

    def launch(self, record: Record, label: Label, keep: object = None) -> Node | None:
        """Enqueue a kernel; while capturing, return its node.

        `label` describes it for the error if it fails. `keep` stays alive until the device has
        passed it.
        """
        context = self.context
        if not context.is_fine:
            context.check()
        with self._turn:
            if self._nodes is not None:
                return self._capture(record, label, keep)
            status = SUCCESS  # also where an interrupt leaves that unknown
            try:
                status = context.calls.launch(record.address, self.handle)
            finally:
                if status == SUCCESS:
                    self._others += 1
                    if label is not None or keep is not None:
                        self.kept.append((label, keep))
                        self._waiting.add(self)
            if status != SUCCESS:
                raise context.failure(f"the launch of {in_words(label, keep)}", status)
            if len(self.kept) >= MANY:
                self.tend()
            return None

    def _capture(self, record: Record, label: Label, keep: object) -> Node:
        """Record a kernel as a node."""
        nodes, context = self._nodes, self.context
        assert nodes is not None
        node, status = Node(len(nodes), keep, record), SUCCESS
        try:
            status = context.calls.launch(record.address, self.handle)
        finally:
            if status == SUCCESS:
                nodes.append(node)
        if status != SUCCESS:
            raise context.failure(f"the launch of {in_words(label, keep)}", status)
        node.handle = context.call(context.calls.last_node, self.handle)
        return node

    def put(
        self, keep: object, function: Callable[P, None], *args: P.args, **keywords: P.kwargs
    ) -> None:
        """Run a call that enqueues work here; `keep` stays alive until that has passed."""
        with self._turn:
            nodes = self._nodes
            node = None if nodes is None else Node(len(nodes), keep)
            is_submitted = True
            try:
                self.context.call(function, *args, **keywords)
            except DeviceError:
                is_submitted = False
                raise
            finally:
                if not is_submitted:
                    pass
                elif nodes is not None and node is not None:
                    nodes.append(node)
                else:
                    self._others += 1
                    if keep is not None:
                        self.kept.append((None, keep))
                        self._waiting.add(self)
            if len(self.kept) >= MANY:
                self.tend()

    def keep(self, label: Label, keep: object) -> None:
        """Keep something alive for work that has been put here; `label` says what that is."""
        self.kept.append((label, keep))
        self._waiting.add(self)
        if len(self.kept) >= MANY:
            self.tend()

    def tend(self) -> None:
        """Stay alive while objects are kept here, or record a mark and release what has passed."""
        self._waiting.add(self)
        if len(self.kept) >= MANY:
            self.record()
            self.sweep()

    def _owe(self, callback: Callable[[], None]) -> None:
        if self._last.number != self.submitted:
            self._record()  # so that it is noticed when it falls due
        self._callbacks.append((self.submitted, callback, None))
        self._waiting.add(self)

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Enqueue a copy. Host memory has been read when this returns."""
        put_copy(self, target, source)

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Enqueue the writing of one element everywhere in a block."""
        put_fill(self, target, element)

    def wait_for(self, event: Event) -> None:
        """Make later work wait for an event.

        The host waits for an event of another driver, and while capturing, since only recorded runs
        can wait.
        """
        if not isinstance(event, CudaEvent) or self._nodes is not None:
            event.wait()
        elif event.stream is not self and event.stream.completed < event.mark.number:
            self.put(None, self.context.calls.wait_event, self.handle, event.mark.handle)

    def note(self) -> None:
        """Note that another owner has enqueued work here."""
        with self._turn:
            self._others += 1

    def follow(self, handle: int) -> None:
        """Make later work wait for all work on another library's stream."""
        context, calls = self.context, self.context.calls
        mark = Mark(0, self._events, None)
        self._events.take_for(mark)
        try:
            status = calls.record(context.handle, mark.handle, handle)
            if status != SUCCESS:
                raise context.failure("cuEventRecord", status)
            self.put(None, calls.wait_event, self.handle, mark.handle)
        finally:  # a finalizer that is interrupted would not give it back
            event, mark.handle = mark.handle, 0
            self._events.give_back(event)

    # Recording

    def begin_capture(self) -> None:
        """Record from now on what is put here."""
        with self._turn:
            if self._nodes is not None:
                raise DriverError(f"{self!r} is being captured already")
            self._nodes = []
            self.timeline.pause()
            try:
                self.context.call(self.context.calls.begin_capture, self.handle)
            except DeviceError:
                self._leave_capture()
                raise

    @property
    def captured(self) -> int:
        """How many pieces have been recorded."""
        return len(self._nodes or ())

    def add_hooks(
        self, before: Callable[[], None] | None, after: Callable[[], None] | None
    ) -> None:
        """Add host functions before and after each run of the node recorded last."""
        assert self._nodes, "hooks belong to a node"
        self._nodes[-1].before, self._nodes[-1].after = before, after

    def end_capture(self) -> CudaReplay:
        """Stop recording; gives what was recorded."""
        with self._turn:
            nodes = self._nodes
            if nodes is None:
                raise DriverError(f"{self!r} is not being captured")
            try:
                graph = self.context.call(self.context.calls.end_capture, self.handle)
            except DeviceError:
                self._leave_capture()
                raise  # after an interrupt the driver may still capture: do not reuse the stream
            self._leave_capture()
            return CudaReplay(self.context, graph, nodes)

    def _leave_capture(self) -> None:
        self._nodes = None
        self.timeline.go_on()

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
            submitted, callbacks = self.submitted, self._callbacks
            over = self.completed >= submitted and not callbacks
            if not over:
                self._owe(callback)
        if over:
            try:
                callbacks.make(submitted, callback)
            finally:
                if callbacks:
                    self._waiting.add(self)
        elif len(self._marks) > MANY:  # without a waiting thread, release what has passed
            self.sweep()

    def sweep(self) -> None:
        """Run the callbacks that are due; on a lost device, all of them."""
        if self.context.lost is not None:
            self._marks.clear()
            self.kept.clear()
            self._callbacks.sweep(self.submitted)
            return
        if self.kept and self._nodes is None:
            self._has_passed_all(0)  # what is kept behind the last mark may belong to passed work
        marks = self._marks
        while marks:
            mark = marks[0]
            if self.completed < mark.number and not self.look(mark, 0):
                break
            with self._turn:
                if marks and marks[0] is mark:
                    marks.popleft()
                    mark.kept = []
        self._callbacks.sweep(self.completed)
        self._let_go()

    def _let_go(self) -> None:
        """Drop the reference that keeps a stream with pending work alive, if none is left."""
        if not (self._callbacks or self._marks or self.kept):
            self._waiting.discard(self)
            if self.kept or self._marks or self._callbacks:  # by another thread, meanwhile
                self._waiting.add(self)

    def point(self) -> tuple[int, list[Kept], int]:
        """Return how far the stream is: work counted in Python, kept objects, and the last mark."""
        return self._others, self.kept, self._dropped + len(self.kept)

    def waited(
        self, before: tuple[int, list[Kept], int], answer: int, label: Label, keep: object
    ) -> None:
        """Note work with kept objects that native code enqueued behind a point and waited for.

        `answer` is the result of native code: how much was enqueued, and how the wait ended.
        """
        others, kept, upto = before
        status = answer & STATUS_MASK
        if status != SUCCESS:
            self.keep(label, keep)
            if status != NOT_READY:
                raise self.context.failure("cuStreamQuery", status)
            self.synchronize()  # others may go on putting work here, so wait for what there is
            return
        number = others + (answer >> CUDA_STATUS_BITS)
        if number > self.completed:
            self.completed = number
        self._drop(kept, upto)
        if self._marks or self._callbacks:
            self.sweep()

    def synchronize(self) -> None:
        """Block until all work put here so far is done, and make the calls that are due."""
        self._check()
        self.record().wait()

    def suspect(self) -> str | None:
        """Describe the first kernel of the stream that is not known to have passed."""
        unseen = [mark.kept for mark in tuple(self._marks) if mark.number > self.completed]
        for kept in (*unseen, self.kept):
            for label, keep in tuple(kept):
                if label is not None:
                    return in_words(label, keep)
        return None

    def __del__(self) -> None:
        if self.is_owned:
            self._close()
        if self.is_owned and self._nodes is None:  # one that records was left so by an interrupt
            self.device.give_stream_back(self.handle)
        self.device.timelines.give_back(self.timeline)

    def _close(self) -> None:
        timeline, calls = self.timeline, self.context.calls
        timeline.pause()
        if queue := timeline.words[QUEUE]:
            timeline.words[QUEUE] = 0
            calls.close_queue(queue)

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"


set_cuda_stream(CudaStream, Context, Timeline, CompletionCallbacks, MANY)
