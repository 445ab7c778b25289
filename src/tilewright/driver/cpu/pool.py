"""Runs the blocks of a launch on the threads of this process.

The launching thread starts at once; if the work is not over in a few microseconds, helper threads
join it. Where that was so before, they are called first. Every 50 ms it comes back to the
interpreter, so that Ctrl-C is seen: then no further block starts, and KeyboardInterrupt leaves when
the running ones have ended. Of several launches at a time one has the helpers, the others run on
their own threads, so none waits for another.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from functools import cache
from time import perf_counter_ns

from ...base import config
from ...base.errors import DriverError
from . import worker
from .memory import ALIGNMENT, Bytes, address_of, allocate
from .record import CANCEL, COUNTER, SCRATCH, STRIDE, THREADS, Record
from .worker import STATE_WORDS

ALONE = 15_000
"""Nanoseconds of work after which helpers are called; waking one costs about as much."""
SLICE = 50_000_000
"""Nanoseconds of work after which the interpreter may look for signals."""
MAX_THREADS = 1024
KEPT_SCRATCH = 8 << 20
"""Arenas beyond this size (per thread) are given back after the launch."""

_Work = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_Launch = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)
_OfState = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Arena:
    """Scratch memory that grows when more is asked for."""

    __slots__ = ("_address", "_memory")

    def __init__(self) -> None:
        self._memory = allocate(0)
        self._address = 0

    def reserve(self, nbytes: int) -> tuple[int, Bytes]:
        """The address of at least so many bytes, aligned to 64, and what keeps them there."""
        if nbytes > self._memory.size:
            self._memory = allocate(0)  # so that there are never both at a time
            self._memory = allocate(nbytes)
            self._address = address_of(self._memory)
        return self._address, self._memory

    def trim(self, limit: int) -> None:
        """Give the memory back if it is larger than that."""
        if self._memory.size > limit:
            self._memory = allocate(0)


class _Local(threading.local):
    """What each launching thread keeps: the scratch of the blocks it runs itself."""

    def __init__(self) -> None:
        self.arena = Arena()


class Pool:
    """Helper threads and the memory they share; one per process is enough: `default()`."""

    def __init__(self) -> None:
        native = worker.functions()
        self._code = native  # the threads run in it
        self._work = _Work(native["tw_work"].address)
        self._launch = _Launch(native["tw_launch"].address)
        self._serve = _OfState(native["tw_serve"].address)
        self._stop = _OfState(native["tw_stop"].address)
        self._memory = allocate(8 * STATE_WORDS, zeroed=True)
        self._state = address_of(self._memory)
        _OfState(native["tw_start"].address)(self._state)
        self._cpus = usable_cpus()
        self._busy = threading.Lock()
        self._helpers: list[threading.Thread] = []
        self._arena = Arena()
        self._local = _Local()
        self._process = os.getpid()
        self._stopped = False

    def threads(self) -> int:
        """How many threads a launch may use, by the settings in force."""
        return min(config.current().num_threads or self._cpus, MAX_THREADS)

    def run(self, record: Record, blocks: int, scratch_bytes: int) -> None:
        """Run all blocks of a launch; nobody else uses its record meanwhile."""
        words = record.words
        words[COUNTER] = 0
        if blocks > 1:
            words[THREADS] = min(self.threads(), blocks)
        if self._stopped:
            words[CANCEL] = 0  # `stop` may have set it
        scratch, _kept = self._reserve(scratch_bytes) if scratch_bytes else (0, None)
        # Most launches end here.
        if record.is_long or self._work(record.address, scratch, ALONE):
            start = perf_counter_ns()
            self._go_on(record, scratch, scratch_bytes)
            record.is_long = perf_counter_ns() - start > ALONE
        if scratch_bytes > KEPT_SCRATCH:
            self._local.arena.trim(KEPT_SCRATCH)

    def _reserve(self, nbytes: int) -> tuple[int, Bytes]:
        return self._local.arena.reserve(nbytes)

    def _go_on(self, record: Record, scratch: int, scratch_bytes: int) -> None:
        alone = record.words[THREADS] == 1 or self._stopped
        if alone or not self._busy.acquire(blocking=False):
            while self._work(record.address, scratch, SLICE):
                pass  # an interrupt is raised here, between two calls
            return
        try:
            self._share(record, scratch, scratch_bytes)
        finally:
            self._busy.release()

    def _share(self, record: Record, scratch: int, scratch_bytes: int) -> None:
        words = record.words
        helpers = words[THREADS] - 1
        self._start(helpers)
        stride = -(-scratch_bytes // ALIGNMENT) * ALIGNMENT
        words[STRIDE] = stride
        words[SCRATCH], _kept = self._arena.reserve(helpers * stride)
        interrupt: BaseException | None = None
        # Whatever happens, helpers must have left before the job's memory goes.
        while True:
            try:
                while not self._launch(self._state, record.address, scratch, SLICE):
                    pass
                break
            except BaseException as error:
                words[CANCEL] = 1
                interrupt = interrupt or error
        self._arena.trim(helpers * KEPT_SCRATCH)
        if interrupt is not None:
            raise interrupt

    def _start(self, helpers: int) -> None:
        """Have at least so many helpers."""
        while len(self._helpers) < helpers:
            name = f"tilewright-{len(self._helpers) + 1}"
            thread = threading.Thread(
                target=self._serve, args=(self._state,), name=name, daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                raise DriverError(
                    "a worker thread could not be started",
                    got=f"{len(self._helpers)} of {helpers} threads",
                    hint=f"set {config.PREFIX}NUM_THREADS to a smaller number",
                ) from None
            self._helpers.append(thread)

    def stop(self) -> None:
        """Send the helpers home, for the end of the interpreter; a launch they are in is cancelled.

        That can only be one of a daemon thread, which the end cuts off anyway. Later launches run
        on their own threads.
        """
        if self._stopped or self._process != os.getpid():
            return
        self._stopped = True
        self._stop(self._state)
        for thread in self._helpers:
            thread.join(timeout=5.0)


def usable_cpus() -> int:
    """The number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def default() -> Pool:
    """The pool of this process, made at the first call."""
    pool = Pool()
    atexit.register(pool.stop)
    _forget_in_children()
    return pool


@cache
def _forget_in_children() -> None:
    """Threads do not survive a fork, so a child makes its own pool when it needs one."""
    os.register_at_fork(after_in_child=default.cache_clear)
