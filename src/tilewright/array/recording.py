"""What a capture notes beside the work itself: the memory it uses, and what it reports."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..base.errors import DeviceError
from ..driver.lane import Lane
from .borrow import LOCK, Use
from .order import claim
from .region import Region, TensorRecord


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
    rebind: Callable[..., Node] | None = None
    """Gives the work other arguments, before its next run; for kernel launches."""


@dataclass(slots=True)
class Recording:
    """A capture under way."""

    name: str
    """What is captured, as messages call it."""
    nodes: list[Node] = field(default_factory=list[Node])
    unwritten: list[Region] = field(default_factory=list[Region])
    """What holds nothing before the first replay."""

    def will_write(self, region: Region) -> None:
        """Note that recorded work writes this memory, so that later work may read it."""
        if not region.is_written:
            self.unwritten.append(region)
            region.mark_written()

    def end(self) -> None:
        """Nothing has been written after all: that is left to replays."""
        for region in self.unwritten:
            region.storage.initialized = False

    def refuse_allocation(self, op: str) -> NoReturn:
        """Raise for an op that makes memory, where each replay would need it anew."""
        raise DeviceError(
            f"`{op}` cannot be recorded in a graph scope: it allocates memory",
            expected="kernel launches, copies and fills of tensors that exist",
            hint=f"run `{op}` before the scope and record work on its result",
        )


def memory_of(nodes: Sequence[Node]) -> tuple[list[Region], list[Region]]:
    """All that the nodes write, and all that they only read; each region once."""
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

    __slots__ = ("_records", "_row", "_written")

    def __init__(self, writes: Sequence[Region], reads: Sequence[Region]) -> None:
        self._written = len(writes)
        self._records = [TensorRecord.of(region) for region in (*writes, *reads)]
        count = len(self._records)
        self._row = (ctypes.c_int64 * (2 * count + self._written))()
        self._row[:count] = [record.at for record in self._records]

    def claim(self, lane: Lane, use: Use) -> bool:
        """Borrow all of it for the next work of a lane; False: something needs a closer look."""
        records, written = self._records, self._written
        with LOCK:
            regions = [record.region for record in records]
            number = claim(lane, ctypes.addressof(self._row), regions, written)
            if number > 0:
                for record in records[:written]:
                    record.state.last_write = use
        return number > 0
