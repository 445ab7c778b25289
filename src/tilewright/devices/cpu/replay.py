"""Recorded work of the CPU: a list of jobs that runs as one entry of a stream's queue.

One thread runs the list from beginning to end, calling helpers to jobs that last, so nothing is
handed over between two small ones. Where the caller waits, the core often does that by itself.
"""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..._core import JOB_LAYOUT
from ...base.errors import ContextError
from .record import FAILURE, TAKEN, THREADS, USED, Record
from .run import FailureWords, RawReport, problem_of, written

if TYPE_CHECKING:
    from ..protocol import Event, Stream


class Node(NamedTuple):
    """A recorded job, and what must live as long as it."""

    record: Record
    keep: object


class JobStream(ABC):
    """What a run needs of a CPU stream."""

    __slots__ = ()

    @abstractmethod
    def launch(self, record: Record, *, inline: bool = False, keep: object = None) -> bool:
        """Add a job."""

    @abstractmethod
    def threads(self) -> int:
        """Return how many threads the job may use."""

    @abstractmethod
    def wait_for(self, event: Event) -> None:
        """Add a wait before later jobs."""

    @abstractmethod
    def record(self) -> Event:
        """Return an event after all work enqueued so far."""


class Listed:
    """Jobs in a row as native code reads them, and what a run must know of all of them."""

    __slots__ = ("blocks", "nodes", "printing", "scratch_bytes", "table")

    def __init__(self, nodes: Sequence[Node]) -> None:
        records = [node.record for node in nodes]
        self.nodes = tuple(nodes)
        # One more, since an address of 0 would mean that there is no list.
        self.table = (ctypes.c_void_p * (len(nodes) + 1))(*[each.address for each in records])
        self.blocks = max((each.blocks for each in records), default=0)
        self.scratch_bytes = max((each.scratch_bytes for each in records), default=0)
        self.printing = [
            (number, each.printed, each)
            for number, each in enumerate(records)
            if each.printed is not None
        ]


class ReplayRun(Record):
    """One run of recorded work: the words of its entry."""

    __slots__ = ("_listed",)

    def __init__(self, listed: Listed) -> None:
        super().__init__(0, (), (), listed.blocks, listed.scratch_bytes)
        self._listed = listed
        self.words[JOB_LAYOUT["nodes"]] = ctypes.addressof(listed.table)
        self.words[JOB_LAYOUT["node_count"]] = len(listed.nodes)

    def reports(self) -> list[tuple[int, RawReport]]:
        """Return the reports of a finished run by node: the first failure, and prints.

        A run that stopped early reports its problem at the node where it stopped.
        """
        words, found = self.words, list[tuple[int, RawReport]]()
        for number, buffer, record in self._listed.printing:
            if used := record.words[USED]:
                found.append((number, RawReport(None, written(buffer), used > buffer.size)))
        if words[TAKEN]:
            found.append((words[JOB_LAYOUT["failed"]], RawReport(FailureWords(*words[FAILURE]))))
        problem = problem_of(self)
        if problem is not None:
            found.append((words[JOB_LAYOUT["at"]], RawReport(problem=problem)))
        return found


class CpuReplay:
    """Work recorded on a CPU stream; its runs follow each other, on whatever streams."""

    __slots__ = (
        "_is_mine", "_is_silent", "_last", "_leave", "_listed", "_run", "_take", "_threads",
        "_turn",
    )  # fmt: skip

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._listed = Listed(nodes)
        self._last: Event | None = None
        """The end of the last enqueued run; runs of the core are over."""
        self._threads = 1
        self._turn = turn = threading.RLock()
        self._take, self._leave = turn.acquire, turn.release  # for native code
        self._is_mine: Callable[[], bool] = cast("Any", turn)._is_owned
        self._is_silent = not self._listed.printing
        """Whether the core can run it where the caller waits; Python reads what is printed."""
        self._run: ReplayRun | None = self.new_run()
        """The one that is next there; none while one runs."""

    @property
    def nodes(self) -> int:
        """How many jobs were recorded."""
        return len(self._listed.nodes)

    @contextmanager
    def settled(self) -> Generator[None, None, None]:
        """Enter a block in which no run is in flight, so that nodes can get other arguments."""
        self._refuse_inside()
        with self._turn:
            self._settle()
            yield

    def _refuse_inside(self) -> None:
        """Raise if this thread is in the middle of a run: this is the handler of a signal."""
        if self._is_mine():
            raise ContextError(
                "a signal interrupted this thread while it was running recorded work",
                expected="a run to be over before the next one is waited for",
                hint="in a signal handler, set a flag and do the work afterwards",
            )

    def new_run(self) -> ReplayRun:
        """Return the words of a run, with separate scratch memory if that is small."""
        run = ReplayRun(self._listed)
        run.own_scratch()
        return run

    def put_on(self, stream: Stream, *, inline: bool = False) -> ReplayRun:
        """Enqueue a run on a CPU stream; its reports can be read when the stream has passed it.

        `inline` is that of `CpuStream.launch`.
        """
        if not isinstance(stream, JobStream):
            raise ContextError(
                "work recorded on the CPU cannot be enqueued on a stream of another device",
                expected="a CPU stream",
                got=repr(stream),
            )
        if inline:
            self._refuse_inside()
        run = ReplayRun(self._listed)
        with self._turn:
            self._follow(stream)
            try:
                stream.launch(run, inline=inline, keep=self)
            finally:  # it may be there even so
                self._last = stream.record()
        return run

    def _follow(self, stream: JobStream) -> None:
        """Order the run after the previous one, with the number of threads in force."""
        if self._last is not None:
            stream.wait_for(self._last)
        if self._listed.printing:
            self._settle()
            for _, _, record in self._listed.printing:
                record.forget_prints()
        self.spread(stream)

    def spread(self, stream: JobStream) -> None:
        """Let nodes of several blocks use the number of threads in force."""
        if self._listed.blocks > 1 and (threads := stream.threads()) != self._threads:
            self._settle()
            self._threads = threads
            for node in self._listed.nodes:
                node.record.words[THREADS] = max(1, min(threads, node.record.blocks))

    def is_over(self) -> bool:
        """Return whether the last enqueued run is over."""
        if self._last is not None and self._last.done():
            self._last = None
        return self._last is None

    def _settle(self) -> None:
        if self._last is not None:
            self._last.wait()
