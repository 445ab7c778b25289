"""Recorded work of the CPU: a list of jobs that runs as one entry of a stream's queue.

One thread runs the list from beginning to end, calling helpers to jobs that last, so nothing is
handed over between two small ones.
"""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...base.errors import ContextError
from .record import CANCEL, FAILURE, TAKEN, THREADS, USED, Record
from .run import FailureWords, RawReport, problem_of, written
from .runtime.words import Job

if TYPE_CHECKING:
    from ..protocol import Event, Stream


class Node(NamedTuple):
    """A recorded job, and what must live as long as it."""

    record: Record
    keep: object


class JobStream(ABC):
    """What a run needs of a stream of the CPU."""

    __slots__ = ()

    @abstractmethod
    def launch(self, record: Record, *, inline: bool = False, keep: object = None) -> bool:
        """Put a job here."""

    @abstractmethod
    def threads(self) -> int:
        """How many threads it may use."""

    @abstractmethod
    def wait_for(self, event: Event) -> None:
        """Let what is put here from now on wait."""

    @abstractmethod
    def record(self) -> Event:
        """The point behind all work put here so far."""


class ReplayRun(Record):
    """One run of recorded work: the words of its entry."""

    __slots__ = ("_nodes", "_table")

    def __init__(self, nodes: Sequence[Node], table: ctypes.Array[ctypes.c_void_p]) -> None:
        blocks = max((node.record.blocks for node in nodes), default=0)
        scratch_bytes = max((node.record.scratch_bytes for node in nodes), default=0)
        super().__init__(0, (), (), blocks, scratch_bytes)
        self._nodes, self._table = nodes, table
        self.words[Job.NODES] = ctypes.addressof(table)
        self.words[Job.COUNT] = len(nodes)

    def give_up(self) -> None:
        """Run no further block of any node."""
        super().give_up()
        for node in self._nodes:
            node.record.words[CANCEL] = 1

    def reports(self) -> list[tuple[int, RawReport]]:
        """What was reported, by number of node, once the run is over: the first failure, prints.

        A run that was not carried to its end gives its problem as that of the node it stopped at.
        """
        words, found = self.words, list[tuple[int, RawReport]]()
        for number, node in enumerate(self._nodes):
            if node.record.printed is not None and (used := node.record.words[USED]):
                buffer = node.record.printed
                found.append((number, RawReport(None, written(buffer), used > buffer.size)))
        if words[TAKEN]:
            found.append((words[Job.FAILED], RawReport(FailureWords(*words[FAILURE]))))
        problem = problem_of(self)
        if problem is not None:
            found.append((words[Job.AT], RawReport(problem=problem)))
        return found


class CpuReplay:
    """Work recorded on a CPU stream; its runs follow each other, on whatever streams."""

    __slots__ = ("_last", "_nodes", "_prints", "_table", "_threads", "_turn")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        addresses = [node.record.address for node in nodes]
        # One more, since an address of 0 would mean that there is no list.
        self._table = (ctypes.c_void_p * (len(nodes) + 1))(*addresses)
        self._prints = [n.record for n in nodes if n.record.printed is not None]
        self._last: Event | None = None
        self._threads = 0
        self._turn = threading.RLock()

    @property
    def nodes(self) -> int:
        """How many jobs were recorded."""
        return len(self._nodes)

    def node(self, number: int) -> Record:
        """The words of a recorded job, to change its arguments: no run is on its way now."""
        self._settle()
        return self._nodes[number].record

    def fire(self, *work: object) -> bool:
        """There is no other way than `put_on`."""
        return False

    def put_on(self, stream: Stream, *, inline: bool = False) -> ReplayRun:
        """Put all of it on a stream of the CPU; its reports can be read when that has passed it.

        `inline` as for `CpuStream.launch`.
        """
        if not isinstance(stream, JobStream):
            raise ContextError(
                "work recorded on the CPU cannot be put on a stream of another device",
                expected="a stream of the CPU",
                got=repr(stream),
            )
        run = ReplayRun(self._nodes, self._table)
        with self._turn:
            self._follow(stream)
            stream.launch(run, inline=inline, keep=self)
            self._last = stream.record()
        return run

    def _follow(self, stream: JobStream) -> None:
        """Come after the run before, with as many threads as the settings in force say."""
        if self._last is not None:
            stream.wait_for(self._last)
        threads = stream.threads()
        if threads != self._threads or self._prints:
            self._settle()
            self._threads = threads
            for node in self._nodes:
                node.record.words[THREADS] = max(1, min(threads, node.record.blocks))
            for record in self._prints:
                record.forget_prints()

    def _settle(self) -> None:
        if self._last is not None:
            self._last.wait()
