"""Watches memory accesses and reports what the language forbids, naming the source places.

Blocks run one after the other, so their events (one access by one op) are numbered in order and
those of the running block are the latest. Each cell of memory remembers the events that last wrote
and read it; an event of another block there is a race, unless both are atomic or a release and an
acquire stand between them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...ir import Op
from ...ir.attrs import Ordering, Scope
from .exact import Array

ACQUIRING = (Ordering.ACQUIRE, Ordering.ACQ_REL)
RELEASING = (Ordering.RELEASE, Ordering.ACQ_REL)


@dataclass(slots=True)
class Shadow:
    """What is remembered about each cell; events, or 0 for none."""

    size: int
    writer: Array = field(init=False)
    reader: Array = field(init=False)
    """The first block that read it, by its last read."""
    released: Array = field(init=False)
    """The last event that wrote it with release order."""
    unset: Array = field(init=False)
    """Whether it still waits for its first write."""

    def __post_init__(self) -> None:
        for name in ("writer", "reader", "released"):
            setattr(self, name, np.zeros(self.size, np.int32))
        self.unset = np.zeros(self.size, np.bool_)

    def repeated(self, times: int) -> Shadow:
        """The same for cells cut into `times` parts."""
        finer = Shadow(self.size * times)
        for name in ("writer", "reader", "released", "unset"):
            setattr(finer, name, np.repeat(getattr(self, name), times))
        return finer


class Watched(Protocol):
    """What the watch needs of a region."""

    shadow: Shadow
    writable: bool

    def name_of(self, cell: int) -> str:
        """What stands at a cell."""
        ...


@dataclass(slots=True)
class Event:
    """One access of memory: the block and op that made it, and the releases it has seen."""

    block: tuple[int, ...]
    noun: str
    op: Op
    atomic: bool
    acquires: bool
    releases: bool
    seen: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The block and the place, for a report."""
        return f"{self.noun} {self.block} at {place_of(self.op)}"


def place_of(op: Op) -> str:
    """Where an op stands in the source, with its line."""
    if op.span is None:
        return f"`{op.name}`"
    line = op.span.file.line(op.span.line)
    return f"{op.span.place}: {line.strip()}" if line else op.span.place


def _race_key(kind: str, earlier: Event, made: Event) -> Hashable:
    if kind == "write":
        return "write", frozenset((earlier.op, made.op))
    return ("read", earlier.op, made.op) if kind == "read" else ("read", made.op, earlier.op)


def _race_text(kind: str, earlier: Event, made: Event, name: str) -> str:
    if kind == "write":
        return f"two {made.noun}s write {name}: {earlier.text}; {made.text}"
    writer, reader = (earlier, made) if kind == "read" else (made, earlier)
    head = f"one {made.noun} reads what another writes, {name}"
    return f"{head}: written by {writer.text}; read by {reader.text}"


class Watch:
    """Keeps the events of a launch and the problems found, each kind once for the same ops.

    `noun` says what runs one after the other: blocks, or the threads of a SIMT kernel.
    """

    def __init__(self) -> None:
        self.noun = "block"
        self.problems: dict[Hashable, str] = {}
        self._events: list[Event] = []
        self._block: tuple[int, ...] = ()
        self._start = 1

    def begin(self, block: tuple[int, ...]) -> None:
        """A block starts; all events so far are those of others."""
        self._block = block
        self._start = len(self._events) + 1

    def enter(self, op: Op) -> int:
        """Note that an op is about to access memory; gives the event's number."""
        ordering = op.attrs.get("ordering", Ordering.WEAK)
        # Atomicity inside one block says nothing to the other blocks.
        shared = ordering != Ordering.WEAK and op.attrs.get("scope") != Scope.TILE_BLOCK
        event = Event(
            self._block, self.noun, op, shared,
            acquires=shared and ordering in ACQUIRING, releases=shared and ordering in RELEASING,
        )  # fmt: skip
        self._events.append(event)
        return len(self._events)

    def outside(self, event: int, address: int, verb: str) -> None:
        """Report an address that belongs to no argument."""
        made = self._event(event)
        text = f"out of bounds: an address outside every argument ({address:#x}), {verb} by"
        self._report(("outside", made.op), f"{text} {made.text}")

    def may_write(self, event: int, region: Watched, cells: Array) -> bool:
        """Tell whether a region may be written; report if not."""
        if not region.writable:
            made, name = self._event(event), region.name_of(int(cells.flat[0]))
            text = f"write to read-only memory: {name}, by {made.text}"
            self._report(("read-only", made.op), text)
        return region.writable

    def read(self, event: int, region: Watched, cells: Array) -> None:
        """Check and remember a read."""
        made = self._event(event)
        self._acquire(made, region, cells)
        self._check_set(made, region, cells)
        self._clash(made, region, cells, region.shadow.writer, "read")
        if not made.atomic:
            self._remember_reader(event, region.shadow, cells)

    def write(self, event: int, region: Watched, cells: Array) -> None:
        """Check and remember a write."""
        made, shadow = self._event(event), region.shadow
        self._clash(made, region, cells, shadow.writer, "write")
        self._clash(made, region, cells, shadow.reader, "read before")
        self._remember_writer(event, made, shadow, cells)

    def update(self, event: int, region: Watched, cells: Array) -> None:
        """Check and remember an atomic read and write in one."""
        made = self._event(event)
        self._acquire(made, region, cells)
        self._check_set(made, region, cells)
        self.write(event, region, cells)

    def _event(self, number: int) -> Event:
        return self._events[number - 1]

    def _report(self, key: Hashable, text: str) -> None:
        self.problems.setdefault(key, text)

    def _acquire(self, made: Event, region: Watched, cells: Array) -> None:
        if made.acquires:
            found = np.unique(region.shadow.released[cells]).tolist()
            made.seen = tuple(n for n in found if 0 < n < self._start)

    def _check_set(self, made: Event, region: Watched, cells: Array) -> None:
        unset = region.shadow.unset[cells]
        if unset.any():
            name = region.name_of(int(cells[unset][0]))
            text = f"read of memory that nothing has written: {name}, by {made.text}"
            self._report(("unset", made.op), text)

    def _remember_reader(self, event: int, shadow: Shadow, cells: Array) -> None:
        before = shadow.reader[cells]
        free = (before == 0) | (before >= self._start)
        shadow.reader[cells[free]] = event

    def _remember_writer(self, event: int, made: Event, shadow: Shadow, cells: Array) -> None:
        shadow.unset[cells] = False
        if made.releases:
            shadow.released[cells] = event
        if made.atomic:
            # A plain write of this block stays on record: it is the one that others may race with.
            cells = cells[~self._own_plain(shadow.writer[cells])]
        shadow.writer[cells] = event

    def _own_plain(self, events: Array) -> Array:
        own = [n for n in np.unique(events).tolist() if n >= self._start]
        return np.isin(events, [n for n in own if not self._event(n).atomic])

    def _clash(self, made: Event, region: Watched, cells: Array, events: Array, kind: str) -> None:
        """Report what another block did to these cells, where nothing orders the two."""
        found = events[cells]
        foreign = (found > 0) & (found < self._start)
        if not foreign.any():
            return
        for number in np.unique(found[foreign]).tolist():
            earlier = self._event(number)
            key = _race_key(kind, earlier, made)
            both_atomic = made.atomic and earlier.atomic
            if key not in self.problems and not both_atomic and not self._ordered(number):
                cell = int(cells[foreign & (found == number)][0])
                self._report(key, _race_text(kind, earlier, made, region.name_of(cell)))

    def _ordered(self, earlier: int) -> bool:
        """Whether releases and acquires lead from an earlier event to the running block."""
        goal = self._event(earlier).block
        waiting = self._seen_until(self._block, len(self._events))
        done: set[int] = set()
        while waiting:
            release = waiting.pop()
            if release in done:
                continue
            done.add(release)
            block = self._event(release).block
            if block == goal and earlier <= release:
                return True
            waiting += self._seen_until(block, release)
        return False

    def _seen_until(self, block: tuple[int, ...], last: int) -> list[int]:
        """The releases that a block had seen up to one of its events."""
        seen: list[int] = []
        while last > 0 and self._event(last).block == block:
            seen += self._event(last).seen
            last -= 1
        return seen
