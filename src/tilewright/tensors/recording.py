"""What a capture notes beside the work itself: the memory it uses, and what it reports."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, NoReturn

from ..base.errors import DeviceError
from ..devices.native_records import REPLAY_WORDS, new_words
from ..op.nesting import RECORDERS, Recorder
from .region import Region
from .storage import Storage
from .written import NOTHING, Runs, both, covers


@dataclass(frozen=True, slots=True)
class Node:
    """One recorded piece of work."""

    name: str
    number: int
    """That of its first piece in the capture."""
    writes: Sequence[Region]
    reads: Sequence[Region]
    keep: object
    """What must stay alive as long as the work may run."""
    read: Callable[[Any], Exception | None] | None = None
    """Makes an error of what it reported after a run, if it is one; delivers prints."""
    work: object = None
    """What the stream has made of it, which lives as long as what is replayed."""
    rebind: Callable[..., Node] | None = None
    """Sets other arguments before the next run; for kernel launches."""


@dataclass(slots=True)
class Recording:
    """A capture under way."""

    name: str
    """What is captured, as messages call it."""
    nodes: list[Node] = field(default_factory=list[Node])
    promised: dict[Storage, Runs] = field(default_factory=dict[Storage, Runs])
    """What holds nothing before the first replay, and is written by it."""
    _thread: int = field(default_factory=get_ident)
    _outer: Recorder | None = None

    def begin(self) -> None:
        """Begin a capture on this thread, which then reads no memory and runs no work that does."""
        self._outer = RECORDERS.get(self._thread)
        RECORDERS[self._thread] = self

    def will_write(self, region: Region) -> None:
        """Note that recorded work writes this memory, so that later work may read it."""
        if not region.is_written:
            before = self.promised.get(region.storage, NOTHING)
            self.promised[region.storage] = both(before, region.runs())

    def promises(self, region: Region) -> bool:
        """Return whether recorded work writes all of some memory."""
        runs = self.promised.get(region.storage)
        return runs is not None and covers(runs, region.runs())

    def end(self) -> None:
        """End the capture; replays write the memory."""
        if self._outer is None:
            RECORDERS.pop(self._thread, None)
        else:
            RECORDERS[self._thread] = self._outer

    def refuse_allocation(self, op: str) -> NoReturn:
        """Raise for an op that makes memory, where each replay would need it anew."""
        raise DeviceError(
            f"`{op}` cannot be recorded in a graph scope: it allocates memory",
            expected="kernel launches, copies and fills of tensors that exist",
            hint=f"run `{op}` before the scope and record work on its result",
        )


def memory_of(nodes: Sequence[Node]) -> tuple[list[Region], list[Region]]:
    """Return all that the nodes write, and all that they only read; each region once."""
    writes = _distinct([region for node in nodes for region in node.writes])
    spans = {_span(region) for region in writes}
    reads = _distinct([region for node in nodes for region in node.reads])
    return writes, [region for region in reads if _span(region) not in spans]


def _distinct(regions: Sequence[Region]) -> list[Region]:
    return list({_span(region): region for region in regions}.values())


def _span(region: Region) -> tuple[Any, ...]:
    return id(region.storage), region.start, region.end


class PlainMemory:
    """What recorded work uses, where each piece is all of its memory: borrowed again natively."""

    __slots__ = ("_kept", "address", "records")

    def __init__(
        self, writing: str, writes: Sequence[Region], reads: Sequence[Region], keep: object
    ) -> None:
        """Describe memory that work uses; `writing` describes the write, `keep` lives as long."""
        self.records = (*writes, *reads)
        count, written = len(self.records), len(writes)
        row, words = new_words(3 * count), new_words(REPLAY_WORDS)
        row[:count] = [region.record for region in self.records]
        words[:] = [ctypes.addressof(row), count, written, id(writing)]
        self.address = ctypes.addressof(words)
        """Where native code finds all of this."""
        self._kept = writing, row, words, keep
