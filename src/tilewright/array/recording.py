"""What a capture notes beside the work itself: the memory it uses, and what it reports."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..base.errors import DeviceError
from ..driver.stub.words import MEMORY_WORDS, new_words
from .borrow import borrow_words
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

    __slots__ = ("_kept", "address", "records")

    def __init__(
        self, writing: str, writes: Sequence[Region], reads: Sequence[Region], keep: object
    ) -> None:
        """`writing` says what is done to what is written, in words; `keep` lives as long."""
        self.records = tuple([TensorRecord.of(region) for region in (*writes, *reads)])
        count, written = len(self.records), len(writes)
        row, words = new_words(2 * count + written), new_words(MEMORY_WORDS)
        row[:count] = [record.at for record in self.records]
        words[:] = [
            ctypes.addressof(row),
            count,
            written,
            ctypes.addressof(borrow_words()),
            id(writing),
        ]
        self.address = ctypes.addressof(words)
        """Where native code finds all of this."""
        self._kept = writing, row, words, keep
