"""CPU streams: native queues that the pool's threads serve without the interpreter.

An event is a stream and a number: it is done when that many jobs of the stream have passed. Python
only enqueues jobs, keeps their memory, and runs the callbacks that are due.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._core import BUSY, FORKED, UNFINISHED, cancel_job, set_cpu_classes
from ..._core import CpuStream as NativeStream
from ...base.config import OVERRIDDEN
from ...base.errors import DriverError
from ...base.shield import listen, shielded
from ..capturing import Capturing
from ..completion_callbacks import CompletionCallbacks
from ..pictures import ShownStream
from ..protocol import Block, Event
from ..timeline import Timeline, drain
from . import pool as threads
from .copying import between, copy_record, fill_record, overlap
from .memory import Bytes
from .record import THREADS, Record
from .replay import CpuReplay, JobStream, Node
from .stamp import CpuStamp

if TYPE_CHECKING:
    from ..protocol import Device

FOREVER = (1 << 63) - 1
MOST_WAITING = 1024
"""The length of a stream's queue at which enqueuing blocks, so that it does not grow further."""


class CpuEvent:
    """A point of a CPU stream."""

    __slots__ = ("number", "stream")

    def __init__(self, stream: CpuStream, number: int) -> None:
        self.stream = stream
        self.number = number

    def done(self) -> bool:
        """Return whether the stream has passed the event."""
        return self.stream.reached(self.number)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the stream has passed it, or so many seconds; True: it has."""
        return self.stream.wait(self.number, timeout)

    def __repr__(self) -> str:
        return f"Event(stream={self.stream.number}, number={self.number})"


class CpuStream(Capturing[Node], JobStream, ShownStream):
    """Jobs in order, run by the pool."""

    __slots__ = (
        "__weakref__", "_callbacks", "_pool", "_waiting", "address", "device", "native", "number",
        "timeline",
    )  # fmt: skip

    def __init__(self, device: Device, number: int) -> None:
        super().__init__()
        self.device = device
        self.number = number
        self._pool = threads.default()
        self.timeline = self._pool.timelines.take(self)
        self.native = self.timeline.native or NativeStream(self._pool.native)
        self.address = self.native.address
        self.timeline.open(self.address, self._pool.native.address, self.native)
        self._callbacks = CompletionCallbacks()
        self._waiting = self._pool.waiting
        self._pool.streams.add(self)

    def __del__(self) -> None:
        if timeline := getattr(self, "timeline", None):  # an interrupt may have come before
            self._pool.timelines.give_back(timeline)

    # What has been put here, and how far it is

    def threads(self) -> int:
        """Return how many threads a launch enqueued now may use."""
        return self._pool.threads()

    def idle(self) -> bool:
        """Return whether all enqueued work is finished."""
        native = self.native
        return native.completed >= native.submitted or self.reached(native.submitted)

    def full(self) -> bool:
        """Return whether the queue is full: enqueuing more blocks until some work is finished."""
        native = self.native
        return native.submitted - native.completed >= MOST_WAITING

    def reached(self, number: int) -> bool:
        """Return whether `number` jobs have passed."""
        if self.native.completed >= number:
            return True
        if self._pool.lost:
            self._pool.refuse()
        return False

    def record(self) -> CpuEvent:
        """Return an event after all work enqueued so far."""
        if self._pool.lost:
            self._pool.refuse()
        return CpuEvent(self, self.native.submitted)

    # Putting work here

    def launch(self, record: Record, *, inline: bool = False, keep: object = None) -> bool:
        """Enqueue a launch; return True if it is over already, so that its report can be read.

        `inline` says that the caller will wait for it: if the stream is idle, it runs on the
        calling thread, and KeyboardInterrupt may leave with some of its blocks not run. Otherwise
        it is queued. The record and `keep`, which should hold the arguments' memory and the code,
        stay alive until the stream has passed it. While capturing it becomes a node.
        """
        if self._nodes is not None:
            self._nodes.append(Node(record, keep))
            return False
        pool, most = self._pool, self._spread(record)
        if inline and self._run_here(record, most):
            return True
        pool.have(pool.threads())
        if pool.is_alone() and self._run_here(record, most):
            return True
        if self.full():
            self._make_room()
        self._enter(self.native.enqueue, (record.address,), (record, keep))
        return False

    # What the core asks that puts work here, or runs it

    def prepare_start(self) -> bool:
        """Ensure that there are workers, and room in the queue; False: there is no worker."""
        pool = self._pool
        pool.have(pool.threads())
        if pool.is_alone():
            return False
        if self.full():
            self._make_room()
        return True

    def reserve_for(self, record: Record) -> tuple[int, Bytes]:
        """Return scratch memory of the calling thread for a run: its address, and its owner."""
        return self._pool.reserve(record.scratch_bytes)

    def trim(self) -> None:
        """Keep only a little of that memory."""
        self._pool.trim()

    def _spread(self, record: Record) -> int:
        """Return how many threads a launch enqueued now may use, and notify them."""
        if record.blocks <= 1:
            return 1
        most = self._pool.threads()
        record.words[THREADS] = min(most, record.blocks)
        return most

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Enqueue a copy; where the two overlap, it acts as if through a copy of the source."""
        if overlap(target, source):
            middle, memory = between(source)
            self._put(copy_record(middle, source), memory, inline)
            self._put(copy_record(target, middle), memory, inline)
        else:
            self._put(copy_record(target, source), None, inline)

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Enqueue the writing of one element everywhere in a block."""
        self._put(fill_record(target, element), None, inline)

    def stamp(self) -> CpuStamp:
        """Enqueue a job that notes the time."""
        stamp = CpuStamp()
        self.launch(stamp.record)
        return stamp

    def _put(self, record: Record | None, keep: object, inline: bool) -> None:
        if record is not None:
            self.launch(record, inline=inline, keep=keep)

    def end_capture(self) -> CpuReplay:
        """Stop recording; gives what was recorded."""
        return CpuReplay(self._recorded())

    def wait_for(self, event: Event) -> None:
        """Make later work wait for an event.

        The host waits for an event of another driver, and while capturing, since only recorded runs
        can wait.
        """
        pool = self._pool
        if not isinstance(event, CpuEvent) or self._nodes is not None:
            event.wait()
        elif event.stream is not self and not event.done():
            pool.have(1)
            if pool.is_alone():
                event.wait()
                return
            other = event.stream
            self._enter(self.native.enqueue_wait, (other.native, event.number), other)

    def new_gate(self) -> CpuGate:
        """Return a gate at which streams of this device can wait for any thread."""
        return CpuGate(self.device)

    def _make_room(self) -> None:
        """Wait until the queue is shorter; nothing has been put, so an interrupt may leave."""
        while self.full():
            self.wait(self.native.submitted - MOST_WAITING + 1, None)

    def _enter(self, put: Callable[..., int], arguments: tuple[object, ...], kept: object) -> None:
        """Enqueue a job, and keep an object alive until it has passed.

        No Python function is called in between, so no signal handler can run there.
        """
        add, waiting = self._callbacks.append, self._pool.waiting
        try:
            number = put(*arguments)
            if number > 0:
                add((number, None, kept))
                waiting.add(self)
        except BaseException:
            # A signal's, raised as a call returned: the job is there.
            add((self.native.submitted, None, kept))
            waiting.add(self)
            raise
        if number <= 0:
            self._refuse(number)
        self.sweep()

    def _refuse(self, status: int) -> None:
        if status == FORKED:
            self._pool.refuse()
        raise DriverError("out of memory: work could not be enqueued on a stream")

    # Running work on the calling thread

    def _run_here(self, record: Record, most: int) -> bool:
        return shielded(self._run_shielded, record, most)

    def _run_shielded(self, record: Record, most: int) -> bool:
        pool = self._pool
        scratch, _kept = record.scratch or pool.reserve(record.scratch_bytes)
        budget = threads.SLICE if len(pool.workers) >= most - 1 else threads.ALONE
        try:
            status = self.native.run_inline(record.address, scratch, budget)
            if status:
                status = self._go_on(record, scratch, status)
        except BaseException:
            self._give_up(record, scratch)
            raise
        if record.scratch is None:
            pool.trim()
        return status != BUSY

    def _go_on(self, record: Record, scratch: int, status: int) -> int:
        """Finish what was begun, with helpers; or see why it was not begun."""
        pool = self._pool
        if status == FORKED:
            pool.refuse()
        while status == BUSY and pool.is_alone():
            self.synchronize()
            status = self.native.run_inline(record.address, scratch, threads.SLICE)
        if status == UNFINISHED:
            self.have_helpers(record)
        while status == UNFINISHED:
            listen()
            status = self.native.resume(record.address, scratch, threads.SLICE)
        return status

    def have_helpers(self, record: Record) -> None:
        """Ensure enough workers for a launch that was begun here."""
        self._pool.have(record.words[THREADS] - 1)

    def _give_up(self, record: Record, scratch: int) -> None:
        """End what was begun: its memory must not go before helpers have left. To be shielded."""
        cancel_job(record.address)
        while self.native.is_first(record.address):
            self.native.resume(record.address, scratch, threads.SLICE)

    # Waiting, and calls that fall due

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once all work put here so far has passed."""
        number = self.native.submitted
        callbacks, waiting = self._callbacks, self._pool.waiting
        if not self.reached(number) or callbacks:
            callbacks.add(number, callback)
            waiting.add(self)
            return
        try:
            callbacks.make(number, callback)
        finally:
            if callbacks:
                waiting.add(self)

    def sweep(self) -> None:
        """Run the callbacks that are due."""
        callbacks = self._callbacks
        if callbacks:
            callbacks.sweep(self.native.completed)
            if not callbacks:
                self._pool.waiting.discard(self)
                if callbacks:  # by another thread, meanwhile
                    self._pool.waiting.add(self)

    def wait(self, number: int, timeout: float | None) -> bool:
        """Block until so many jobs have passed, or so many seconds; make the calls that are due."""
        if not self.reached(number) and not self._sleep(number, timeout):
            return False
        self.sweep()
        return True

    def _sleep(self, number: int, timeout: float | None) -> bool:
        end = FOREVER if timeout is None else time.monotonic_ns() + int(timeout * 1e9)
        while (left := end - time.monotonic_ns()) > 0:
            listen()
            if self._pool.go_on(min(left, threads.SLICE)):
                if self.reached(number):
                    return True
                continue
            status = self.native.wait(number, min(left, threads.SLICE))
            if status == FORKED:
                self._pool.refuse()
            if status:
                return True
        return self.reached(number)

    def synchronize(self) -> None:
        """Block until all work put here so far is done, and make the calls that are due."""
        native = self.native
        if self._callbacks or native.completed < native.submitted:
            self.wait(native.submitted, None)

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"


class CpuGate:
    """Points of a separate stream, which pass one after the other as threads open the gate."""

    __slots__ = ("_closed", "_stream")

    def __init__(self, device: Device) -> None:
        self._stream = CpuStream(device, -1)
        self._closed: int = self._stream.native.submitted  # its queue may have served before

    def close(self) -> CpuEvent:
        """Return an event that passes when the gate is opened once more than for those before."""
        self._closed += 1
        return CpuEvent(self._stream, self._closed)

    def open(self) -> None:
        """Let the first event pass that has not passed; from any thread."""
        self._stream.launch(CpuStamp().record, inline=True)


set_cpu_classes({
    "CpuStream": CpuStream, "Timeline": Timeline, "CompletionCallbacks": CompletionCallbacks,
    "Record": Record, "OVERRIDDEN": OVERRIDDEN, "drain": drain,
})  # fmt: skip
