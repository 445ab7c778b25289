"""Dependencies in a trace: what enqueued work, and what work waited for on other streams."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..devices.protocol import Stream
    from .trace import Entry

ENQUEUES, PRECEDES = "enqueues", "precedes"


class Link(NamedTuple):
    """One entry that leads to another."""

    kind: str
    source: Entry
    target: Entry


def links_of(entries: Sequence[Entry]) -> list[Link]:
    """Return the links between entries: from ops to their work, and between streams."""
    return [*_enqueued(entries), *_ordered(entries)]


def _enqueued(entries: Sequence[Entry]) -> Iterator[Link]:
    """Yield for each piece of work the innermost op that enqueued it."""
    ops: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == "op":
            ops[entry.thread].append(entry)
    for members in ops.values():
        members.sort(key=lambda op: op.start)
    starts = {thread: [op.start for op in members] for thread, members in ops.items()}
    for work in _work(entries):
        before = bisect_right(starts.get(work.thread, ()), work.submitted)
        # The latest op that has begun is the innermost one, unless it is over.
        for op in reversed(ops[work.thread][:before]):
            if op.end >= work.submitted:
                yield Link(ENQUEUES, op, work)
                break


def _ordered(entries: Sequence[Entry]) -> Iterator[Link]:
    """Yield for each wait the latest work that was waited for, and the first that waited."""
    by_stream: dict[Stream | None, list[Entry]] = defaultdict(list)
    for work in _work(entries):
        by_stream[work.stream].append(work)
    for members in by_stream.values():
        members.sort(key=lambda work: work.submitted)
    for wait in entries:
        if wait.source is None:
            continue
        before = [w for w in by_stream[wait.source] if w.submitted <= wait.start]
        after = (w for w in by_stream[wait.stream] if w.submitted >= wait.start)
        first = next(after, None)
        if before and first is not None:
            yield Link(PRECEDES, before[-1], first)


def _work(entries: Sequence[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.kind == "work" and entry.submitted)
