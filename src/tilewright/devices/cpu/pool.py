"""The threads of this process that run the streams' work, and the native functions they share.

A launch that the caller waits for runs on the calling thread; other work runs on the workers. Jobs
that last more than a few microseconds are shared among all that are idle. There are never more
workers than the settings in force ask for, and none before they are needed.
"""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import suppress
from ctypes import addressof
from functools import cache
from typing import TYPE_CHECKING, NoReturn
from weakref import WeakSet

from ..._core import KEPT_SCRATCH, CpuPool, set_listener
from ...base import config
from ...base.errors import ContextError
from ...base.shield import LISTENER, llvm_lock
from ...base.system import at_fork, usable_cpus
from ...base.threads import called_apart
from ..timeline import Timelines
from .memory import Bytes, address_of, allocate

if TYPE_CHECKING:
    from .stream import CpuStream

ALONE = 15_000
"""Nanoseconds of work after which helpers are called; waking one costs about as much."""
SLICE = 50_000_000
"""Nanoseconds of work or sleep after which the interpreter may look for signals."""
MAX_THREADS = 1024
IDENT, INSIDE = 0, 2
"""Words of `LISTENER`: the number of its thread, and whether it runs handlers inside a block."""
PAUSE = 1.0
"""Seconds after which it is tried again to start a thread, where there was none to be had."""


class Arena:
    """Scratch memory that grows when more is asked for."""

    __slots__ = ("_address", "_memory")

    def __init__(self) -> None:
        self._memory = allocate(0)
        self._address = 0

    def reserve(self, nbytes: int) -> tuple[int, Bytes]:
        """Return the address of at least `nbytes` bytes, aligned to 64, and their owner."""
        if nbytes > self._memory.size:
            self._memory = allocate(0)  # so that there are never both at a time
            self._memory = allocate(nbytes)
            self._address = address_of(self._memory)
        return self._address, self._memory

    def trim(self, limit: int) -> None:
        """Release the memory if it is larger than the limit."""
        if self._memory.size > limit:
            self._memory = allocate(0)


class _Local(threading.local):
    """What each launching thread keeps: the scratch of the blocks it runs itself."""

    def __init__(self) -> None:
        self.arena = Arena()


class Pool:
    """Worker threads and the memory they share; one per process is enough: `default()`."""

    def __init__(self) -> None:
        self.native = CpuPool(ALONE)
        set_listener(addressof(LISTENER))
        self.workers: list[threading.Thread] = []
        self.stopped = False
        """Whether the interpreter ends: work runs on the thread that puts it."""
        self.lost = False
        """Whether this is a copy in a child process, where its threads are not."""
        self.streams: WeakSet[CpuStream] = WeakSet()
        self.timelines = Timelines()
        self.waiting: set[CpuStream] = set()
        """Streams with calls to make, kept alive for them."""
        self._cpus = usable_cpus()
        self.native.usual_threads = self._threads_by(config.of_process())
        self._starting = threading.Lock()
        self._again = 0.0
        """When to try again to start a worker; not 0: that was refused."""
        self._local = _Local()

    def threads(self) -> int:
        """Return how many threads a launch may use under the current settings."""
        return self._threads_by(config.current())

    def _threads_by(self, settings: config.Config) -> int:
        return min(settings.num_threads or self._cpus, MAX_THREADS)

    def reserve(self, nbytes: int) -> tuple[int, Bytes]:
        """Return scratch memory of the calling thread: its address, and its owner."""
        if self.is_inside():
            memory = allocate(nbytes)  # the block that is interrupted goes on with the other
            return address_of(memory), memory
        return self._local.arena.reserve(nbytes)

    def trim(self) -> None:
        """Keep only a little of the calling thread's scratch memory."""
        if not self.is_inside():
            self._local.arena.trim(KEPT_SCRATCH)

    def is_inside(self) -> bool:
        """Return whether this is the handler of a signal that has interrupted a block."""
        return LISTENER[INSIDE] != 0 and LISTENER[IDENT] == threading.get_ident()

    def go_on(self, nanoseconds: int) -> bool:
        """Continue the interrupted work of this thread for a while; return whether there is any.

        For a signal handler that waits: what it waits for may come after that work.
        """
        if self.is_inside():
            raise ContextError(
                "a signal interrupted this thread while it was running a launch",
                expected="a launch to be over before anything is waited for",
                hint="in a signal handler, set a flag and do the work afterwards",
            )
        if not self.native.unfinished:
            return False
        for stream in list(self.streams):
            if left := stream.native.unfinished_of_caller():
                job, scratch_bytes = left
                scratch, _kept = self.reserve(scratch_bytes)
                stream.native.resume(job, scratch, nanoseconds)
                return True
        return False

    def have(self, workers: int) -> None:
        """Ensure that there are at least `count` workers."""
        if self.lost:
            self.refuse()
        if len(self.workers) >= workers or self.stopped or time.monotonic() < self._again:
            return
        called_apart(self._start, workers)
        if len(self.workers) < workers:  # one that waits for work can do all of it
            self._again = time.monotonic() + PAUSE

    def _start(self, workers: int) -> None:
        """Start the missing workers, as far as possible, and count them."""
        with self._starting, suppress(RuntimeError):
            while len(self.workers) < workers:
                name = f"tilewright-{len(self.workers) + 1}"
                thread = threading.Thread(target=self.native.serve, name=name, daemon=True)
                thread.start()
                self.workers.append(thread)
                self.native.workers = len(self.workers)

    def is_alone(self) -> bool:
        """Return whether work runs on the thread that puts it, as no other was to be had when it
        was last tried.
        """
        return self.stopped or (self._again > 0.0 and not self.workers)

    def stop(self) -> None:
        """Stop the workers at the end of the interpreter.

        Pending work never runs, and running work starts no further block: only later exit handlers
        could see its results. Work enqueued after this runs on the calling thread.
        """
        if self.stopped or self.lost:
            return
        self.stopped = True
        self.native.stop()
        for stream in list(self.streams):
            stream.native.cancel_all()
        for thread in self.workers:
            thread.join(timeout=5.0)

    def lose(self) -> None:
        """Disable the pool in a child process."""
        self.lost = True

    def refuse(self) -> NoReturn:
        """Raise the error that a parent's stream was used in a child process."""
        raise ContextError(
            "a stream or event of the parent process cannot be used in a forked child",
            hint="the child has separate streams: take them from the device after the fork",
        )


class _Process:
    """The pool of this process, if it has been needed."""

    pool: Pool | None = None


def default() -> Pool:
    """Return the pool of this process; create it at the first call."""
    return _Process.pool or _make()


def streams() -> tuple[CpuStream, ...]:
    """Return all streams of this process that are in use."""
    pool = _Process.pool
    return () if pool is None else tuple(pool.streams)


def _make() -> Pool:
    with llvm_lock():  # a pool in the making compiles code
        if _Process.pool is None:
            _forget_in_children()
            pool = Pool()
            atexit.register(pool.stop)
            _Process.pool = pool
        return _Process.pool


@cache
def _forget_in_children() -> None:
    """Drop the pool in a child process: threads do not survive a fork."""
    at_fork(after_in_child=_forget)


def _forget() -> None:
    pool, _Process.pool = _Process.pool, None
    if pool is not None:
        pool.lose()
