"""Functions of the host in the order of streams: a thread calls them while the host goes on.

A function is called when its stream has passed all work enqueued before it, and work enqueued later
waits until it has returned. Functions of one queue are called one after the other, in the order in
which they were put there, whatever their streams; those of several queues at the same time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..base.errors import SchedulingError
from ..base.threads import called_apart
from .protocol import Device, Event, Stream

Call: TypeAlias = Callable[[], object]


class Gate(Protocol):
    """Where streams of one device wait for threads of the host."""

    def close(self) -> Event:
        """Return an event that passes when the gate is opened once more than for those before."""
        ...

    def open(self) -> None:
        """Let the first event pass that has not passed; from any thread."""
        ...


@runtime_checkable
class GatedStream(Protocol):
    """A stream that can wait for a thread of the host. Not all can."""

    def new_gate(self) -> Gate:
        """Return a gate for streams of its device."""
        ...


@cache
def _is_gated(kind: type[Any]) -> bool:
    return issubclass(kind, GatedStream)


def is_gated(stream: Stream) -> bool:
    """Return whether a stream can wait for a thread of the host."""
    return _is_gated(type(stream))


LOOK_AGAIN = 0.05
"""Seconds after which a thread that waits for the end of another one looks whether to go on."""


class _Turn:
    """Functions, and when they are called."""

    __slots__ = ("after", "before", "function", "is_over", "prepare", "skip")

    def __init__(
        self, function: Call, prepare: Call | None, skip: Call | None, before: Event, after: Call
    ) -> None:
        self.function, self.prepare, self.skip = function, prepare, skip
        self.before, self.after = before, after
        self.is_over = False
        """Whether it has ended, or was abandoned."""


class HostQueue:
    """A thread that calls functions in the order of streams; it is started when it is needed.

    Where no thread can be started, who puts a function calls it. The functions must not raise.
    """

    __slots__ = ("_ahead", "_ended", "_gates", "_lock", "_name", "_thread", "_turns")

    def __init__(self, name: str) -> None:
        self._name = name
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._ahead: dict[_Turn, None] = {}
        """What has not ended, in order."""
        self._gates: dict[Device, Gate] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    def put(
        self,
        stream: Stream,
        function: Call,
        prepare: Call | None = None,
        skip: Call | None = None,
    ) -> None:
        """Enqueue a function on a stream; `prepare` is called in its turn, but need not wait for
        the stream; `skip` is called if the function is abandoned.
        """
        if stream.is_capturing:
            raise SchedulingError(
                f"{self._name} calls functions of the host, which a graph cannot contain",
                hint="end the captured part before it",
            )
        before = stream.record()
        if is_gated(stream):
            with self._lock:  # it is opened in the order of the turns
                gate = self._gate_of(stream)
                passed = gate.close()
                turn = _Turn(function, prepare, skip, before, gate.open)
                is_apart = self._add(turn)
            if not is_apart:
                self._call(turn)
            stream.wait_for(passed)
        else:  # its work runs inside the calls that enqueue it, and so does this
            done = threading.Event()
            turn = _Turn(function, prepare, skip, before, done.set)
            with self._lock:
                is_apart = self._add(turn)
            if not is_apart:
                self._call(turn)
            done.wait()

    def _gate_of(self, stream: Any) -> Gate:
        """Return the gate for the streams of a device; the caller has the lock."""
        found = self._gates.get(stream.device)
        if found is None:
            found = self._gates[stream.device] = stream.new_gate()
        return found

    def close(self, patience: float = math.inf) -> bool:
        """Wait until all that is there was called, and end the thread; it may be started again.

        Return whether that took no longer than `patience` seconds.
        """
        thread, deadline = self._stop(), time.monotonic() + patience
        if thread is None or thread is threading.current_thread():
            return True
        while self._ahead and thread.is_alive() and time.monotonic() < deadline:
            thread.join(LOOK_AGAIN)
        thread.join(LOOK_AGAIN)  # it is about to end, unless it was abandoned
        return not self._ahead

    def abandon(self, patience: float = 0.0) -> None:
        """Let all streams pass, whatever became of the functions that were put here.

        One may be called now that never returns; it gets `patience` seconds to do so. If it returns
        later, the thread ends then. For each function that has not returned, `skip` is called.
        """
        self.close(patience)
        with self._lock:
            turns, self._ahead = [*self._ahead], {}
            for turn in turns:
                turn.is_over = True
            self._ended.notify_all()
        for turn in turns:
            if turn.skip is not None:
                turn.skip()
            turn.after()

    def _stop(self) -> threading.Thread | None:
        """Have the thread end after what is there, and return it if there is one."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._turns.put(None)
        return thread

    def _add(self, turn: _Turn) -> bool:
        """Enqueue a turn; the caller has the lock. False: there is no thread, so it calls it."""
        self._ahead[turn] = None
        if self._thread is None:
            called_apart(self._start)
        if self._thread is None:
            return False
        self._turns.put(turn)
        return True

    def _start(self) -> None:
        """Start the thread, if there is one to be had."""
        turns: SimpleQueue[_Turn | None] = SimpleQueue()  # what ends the thread before has another
        thread = threading.Thread(target=self._serve, args=(turns,), name=self._name, daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._thread, self._turns = thread, turns

    def _serve(self, turns: SimpleQueue[_Turn | None]) -> None:
        """Call the functions in their turn."""
        while (turn := turns.get()) is not None:
            self._call(turn)
            del turn  # what the functions hold is not needed while this waits

    def _call(self, turn: _Turn) -> None:
        """Call a function when those before it have returned, and its stream has passed what is
        before it.
        """
        with self._ended:  # one before it may be with a caller that found no thread
            self._ended.wait_for(lambda: turn.is_over or next(iter(self._ahead)) is turn)
        try:
            if not turn.is_over and turn.prepare is not None:
                turn.prepare()
            if not turn.is_over:
                turn.before.wait()
            if not turn.is_over:
                turn.function()
        finally:
            self._pass(turn)

    def _pass(self, turn: _Turn) -> None:
        """Let the stream pass, unless it was let pass before."""
        with self._lock:
            if turn.is_over:
                return
            turn.is_over = True
            del self._ahead[turn]
            self._ended.notify_all()
        turn.after()
