"""Functions of the host in the order of streams: a thread calls them while the host goes on.

A function is called when its stream has passed all work enqueued before it, and work enqueued later
waits until it has returned. Functions of one queue are called one after the other, in the order in
which they were put there, whatever their streams; those of several queues at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..base.errors import SchedulingError
from .protocol import Event, Stream

Call: TypeAlias = Callable[[], object]


@runtime_checkable
class GatedStream(Protocol):
    """A stream that can wait for a thread of the host. Not all can."""

    def gate(self) -> tuple[Event, Callable[[], None]]:
        """Return an event that passes when the function beside it is called."""
        ...


class _Turn(NamedTuple):
    """Functions, and when they are called."""

    prepare: Call | None
    before: Event
    function: Call
    after: Call


class HostQueue:
    """A thread that calls functions in the order of streams; it is started when it is needed.

    The functions must not raise.
    """

    __slots__ = ("_lock", "_name", "_thread", "_turns")

    def __init__(self, name: str) -> None:
        self._name = name
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, stream: Stream, function: Call, prepare: Call | None = None) -> None:
        """Enqueue a function on a stream; `prepare` is called in its turn, but need not wait for
        the stream.
        """
        if stream.is_capturing:
            raise SchedulingError(
                f"{self._name} calls functions of the host, which a graph cannot contain",
                hint="end the captured part before it",
            )
        before = stream.record()
        if isinstance(stream, GatedStream):
            passed, open_gate = stream.gate()
            self._add(_Turn(prepare, before, function, open_gate))
            stream.wait_for(passed)
        else:  # its work runs inside the calls that enqueue it, and so does this
            done = threading.Event()
            self._add(_Turn(prepare, before, function, done.set))
            done.wait()

    def close(self) -> None:
        """Wait until all that is there was called, and end the thread; it may be started again."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._turns.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _add(self, turn: _Turn) -> None:
        with self._lock:
            if self._thread is None:
                self._turns = SimpleQueue()  # what ends the thread before is in the other
                self._thread = threading.Thread(
                    target=_serve, args=(self._turns,), name=self._name, daemon=True
                )
                self._thread.start()
            self._turns.put(turn)


def _serve(turns: SimpleQueue[_Turn | None]) -> None:
    """Call the functions in their turn."""
    while (turn := turns.get()) is not None:
        try:
            if turn.prepare is not None:
                turn.prepare()
            turn.before.wait()
            turn.function()
        finally:
            turn.after()
        del turn  # what the functions hold is not needed while this waits
