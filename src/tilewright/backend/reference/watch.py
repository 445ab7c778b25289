"""A race detector: report memory accesses that the language forbids, with source locations.

Events (one access by one op) are numbered in order. Each cell has shadow state: the events that
last wrote and read it. A conflicting event of another actor is a race unless both are atomic, or a
barrier or a release-acquire pair orders them (happens-before, as in FastTrack, Flanagan and Freund
2009).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ...ir.attrs import Ordering, Scope
from ...ir.core import Op
from .floating import Array

if TYPE_CHECKING:
    from .storage import Member


ACQUIRING = (Ordering.ACQUIRE, Ordering.ACQ_REL)
RELEASING = (Ordering.RELEASE, Ordering.ACQ_REL)


EVENTS = ("writer", "reader", "other", "released")


@dataclass(slots=True)
class Shadow:
    """The shadow state of each cell: events, or 0 for none."""

    size: int
    writer: Array = field(init=False)
    reader: Array = field(init=False)
    """The first actor that read it, by its last read."""
    other: Array = field(init=False)
    """A second reader: with two, one of them is not the writer."""
    released: Array = field(init=False)
    """The last event that wrote it with release order."""
    unset: Array = field(init=False)
    """Whether it still waits for its first write."""

    def __post_init__(self) -> None:
        for name in EVENTS:
            setattr(self, name, np.zeros(self.size, np.int32))
        self.unset = np.zeros(self.size, np.bool_)

    def repeated(self, times: int) -> Shadow:
        """Return a copy for cells cut into `times` parts."""
        finer = Shadow(self.size * times)
        for name in (*EVENTS, "unset"):
            setattr(finer, name, np.repeat(getattr(self, name), times))
        return finer


class Watched(Protocol):
    """The interface of a region to the watch."""

    shadow: Shadow
    writable: bool

    def name_of(self, cell: int) -> str:
        """Return the name of a cell."""
        ...


@dataclass(eq=False, slots=True)
class Actor:
    """An actor: a block, or a thread of a SIMT kernel, which has a block and a warp.

    `epoch` counts the barriers of its block and of its warp that it has passed.
    """

    place: tuple[int, ...]
    thread: tuple[int, ...] | None = None
    warp: int = 0
    epoch: tuple[int, int] = (0, 0)

    @property
    def noun(self) -> str:
        """What it is."""
        return "block" if self.thread is None else "thread"

    @property
    def text(self) -> str:
        """Which one it is."""
        block = f"block {self.place}"
        return block if self.thread is None else f"thread {self.thread} of {block}"


@dataclass(slots=True)
class Event:
    """One access of memory: who made it, by which op, and the releases it has seen."""

    number: int
    actor: Actor
    op: Op
    atomic: Scope | None
    """Among whom it is atomic, if it is."""
    acquires: bool
    releases: bool
    epoch: tuple[int, int]
    seen: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The actor and the place, for a report."""
        return f"{self.actor.text} at {place_of(self.op)}"

    def precedes(self, later: Event) -> bool:
        """Return whether it happens before another event, by program order or barriers."""
        mine, other = self.actor, later.actor
        if mine is other:
            return self.number <= later.number
        if mine.thread is None or mine.place != other.place:
            return False
        # Epochs take the place of vector clocks: a barrier advances all threads of a block, so one
        # number for the block and one for the warp order what its threads do.
        blocks, same_warp = self.epoch[0] < later.epoch[0], mine.warp == other.warp
        return blocks or (same_warp and self.epoch < later.epoch)

    def is_atomic_with(self, other: Event) -> bool:
        """Return whether both are atomic for each other; block scope excludes other blocks."""
        if self.atomic is None or other.atomic is None:
            return False
        alone = Scope.TILE_BLOCK in (self.atomic, other.atomic)
        return not alone or self.actor.place == other.actor.place


def place_of(op: Op) -> str:
    """Return the source location of an op, with its line."""
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
        return f"two {made.actor.noun}s write {name}: {earlier.text}; {made.text}"
    writer, reader = (earlier, made) if kind == "read" else (made, earlier)
    head = f"one {made.actor.noun} reads what another writes, {name}"
    return f"{head}: written by {writer.text}; read by {reader.text}"


class Watch:
    """The events of a launch and the problems found, each kind once for the same ops."""

    def __init__(self) -> None:
        self.problems: dict[Hashable, str] = {}
        self._events: list[Event] = []
        self._actor = Actor(())
        self._acquired: dict[tuple[int, ...], list[Event]] = {}
        """Events that have seen releases, by block."""

    def resume(self, actor: Actor) -> None:
        """Note that an actor starts or resumes."""
        self._actor = actor

    def enter(self, op: Op) -> int:
        """Note that an op is about to access memory; return the event's number."""
        ordering = op.attrs.get("ordering", Ordering.WEAK)
        atomic = ordering != Ordering.WEAK
        event = Event(
            len(self._events) + 1, self._actor, op, op.attrs["scope"] if atomic else None,
            acquires=atomic and ordering in ACQUIRING, releases=atomic and ordering in RELEASING,
            epoch=self._actor.epoch,
        )  # fmt: skip
        self._events.append(event)
        return event.number

    def complain(self, kind: str, op: Op, text: str) -> None:
        """Report a forbidden access by an op of the running actor."""
        self._report((kind, op), f"{text} {self._actor.text} at {place_of(op)}")

    def outside(self, event: int, address: int, verb: str) -> None:
        """Report an address that belongs to no argument."""
        made = self._event(event)
        text = f"out of bounds: an address outside every argument ({address:#x}), {verb} by"
        self._report(("outside", made.op), f"{text} {made.text}")

    def may_write(self, event: int, region: Watched, cells: Array) -> bool:
        """Return whether a region may be written; report if not."""
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
        self._clash(made, region, cells, shadow.other, "read before")
        self._remember_writer(event, made, shadow, cells)

    def update(self, event: int, region: Watched, cells: Array) -> None:
        """Check and remember an atomic read and write in one."""
        made = self._event(event)
        self._acquire(made, region, cells)
        self._check_set(made, region, cells)
        self.write(event, region, cells)

    def actor_and_op(self, event: int) -> tuple[Actor, Op]:
        """Return who made an event, and by which op."""
        made = self._event(event)
        return made.actor, made.op

    def _event(self, number: int) -> Event:
        return self._events[number - 1]

    def _report(self, key: Hashable, text: str) -> None:
        self.problems.setdefault(key, text)

    def _acquire(self, made: Event, region: Watched, cells: Array) -> None:
        if made.acquires:
            found = [n for n in np.unique(region.shadow.released[cells]).tolist() if n > 0]
            releases = [self._event(n) for n in found]
            made.seen = tuple(
                e.number for e in releases if e.actor is not made.actor and e.is_atomic_with(made)
            )
            self._acquired.setdefault(made.actor.place, []).append(made)

    def _check_set(self, made: Event, region: Watched, cells: Array) -> None:
        unset = region.shadow.unset[cells]
        if unset.any():
            name = region.name_of(int(cells[unset][0]))
            text = f"read of memory that nothing has written: {name}, by {made.text}"
            self._report(("unset", made.op), text)

    def _remember_reader(self, event: int, shadow: Shadow, cells: Array) -> None:
        """Keep two actors that read a cell, each by its last read."""
        made = self._event(event)
        # Constant space per cell, as in FastTrack: a reader that happens before this one can be
        # forgotten, since a write that races with it races with this one, too.
        first = self._surely_before(shadow.reader[cells], made)
        shadow.reader[cells[first]] = event
        rest = cells[~first]
        shadow.other[rest[self._surely_before(shadow.other[rest], made)]] = event

    def _surely_before(self, events: Array, made: Event) -> Array:
        """Return a mask of the entries without an event, or with one before a later event."""
        found = np.unique(events).tolist()
        return np.isin(events, [n for n in found if n == 0 or self._event(n).precedes(made)])

    def _remember_writer(self, event: int, made: Event, shadow: Shadow, cells: Array) -> None:
        shadow.unset[cells] = False
        if made.releases:
            shadow.released[cells] = event
        if made.atomic:
            # A plain write of this actor stays on record: it is the one that others may race with.
            cells = cells[~self._own_plain(shadow.writer[cells])]
        shadow.writer[cells] = event

    def _own_plain(self, events: Array) -> Array:
        found = [self._event(n) for n in np.unique(events).tolist() if n > 0]
        own = [e.number for e in found if e.actor is self._actor and not e.atomic]
        return np.isin(events, own)

    def _clash(self, made: Event, region: Watched, cells: Array, events: Array, kind: str) -> None:
        """Report an unordered access of another actor to these cells."""
        found = events[cells]
        # A tile has many cells, but few events have touched them before: judge each event once.
        for number in np.unique(found).tolist():
            if number == 0:
                continue
            earlier = self._event(number)
            if earlier.precedes(made) or earlier.is_atomic_with(made):
                continue
            key = _race_key(kind, earlier, made)
            if key not in self.problems and not self._ordered(earlier, made):
                cell = int(cells[found == number][0])
                self._report(key, _race_text(kind, earlier, made, region.name_of(cell)))

    def _ordered(self, earlier: Event, made: Event) -> bool:
        """Return whether releases and acquires lead from an earlier event to a later one."""
        # A backward search over the synchronizes-with edges. It is not done for every access, but
        # for those that would otherwise be reported.
        waiting = self._seen_before(made)
        done: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in done:
                continue
            done.add(number)
            release = self._event(number)
            if earlier.precedes(release):
                return True
            waiting += self._seen_before(release)
        return False

    def _seen_before(self, event: Event) -> list[int]:
        """Return the releases that were provably seen before an event."""
        acquired = self._acquired.get(event.actor.place, [])
        return [n for a in acquired if a.precedes(event) for n in a.seen]


# -------------------------------------------------------------------------------------------------
# Records which block reads and writes which elements, while the interpreter runs a kernel.


Box: TypeAlias = tuple[tuple[int, int], ...]
"""For each axis of a tensor: the first element, and the one after the last."""


@dataclass(slots=True)
class Access:
    """An access of a tensor by a block; those of a block's threads are one."""

    op: Op
    verb: str
    """`reads`, `writes` or `updates`."""
    block: tuple[int, ...]
    tensor: str
    window: Box
    """The elements it is about, which may lie outside the tensor."""
    box: Box | None
    """Those around all that it touches; None if it touches nothing."""
    touched: int
    """Elements that are read or written; all others of the window are padding, or masked."""
    elements: int
    """Elements that are asked for."""

    @property
    def is_dense(self) -> bool:
        """Whether it touches the whole box."""
        return self.box is not None and self.touched >= prod(high - low for low, high in self.box)


class EnoughError(Exception):
    """Raised in a run that has been recorded for long enough."""


class Recorder:
    """The accesses of a run, up to a number of them, or up to a time."""

    def __init__(self, most: int, seconds: float) -> None:
        self.accesses: list[Access] = []
        self._most = most
        self._end = monotonic() + seconds
        self._window: tuple[str, Box] | None = None
        self._of_threads: dict[tuple[tuple[int, ...], Op, str, str], Access] = {}

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be recorded."""
        return len(self.accesses) >= self._most or monotonic() > self._end

    def about(self, tensor: str, coordinates: Sequence[tuple[int, Array]], rank: int) -> None:
        """Note the window of the next access: the coordinates along some axes of a tensor."""
        found = [(0, 1)] * rank
        for axis, along in coordinates:
            if along.size:
                found[axis] = (int(along.min()), int(along.max()) + 1)
        self._window = tensor, tuple(found)

    def note(
        self, actor: Actor, op: Op, verb: str, member: Member | None, addresses: Array,
        elements: int,
    ) -> None:  # fmt: skip
        """Record an access; `addresses` are those of the elements that it touches, in `member`."""
        if self.is_over:
            raise EnoughError
        about, self._window = self._window, None
        box = None if member is None else box_of(member, addresses)
        # What goes through pointers has no window, and is about nothing where all is masked.
        name, window = about or ("", box)
        name = name or ("" if member is None else member.name)
        if window is None or not name:
            return
        access = Access(op, verb, actor.place, name, window, box, len(addresses), elements)
        if actor.thread is None:
            self.accesses.append(access)
            return
        key = actor.place, op, verb, name
        known = self._of_threads.get(key)
        if known is None:
            self._of_threads[key] = access
            self.accesses.append(access)
            return
        known.window, known.box = _around(known.window, window), _around(known.box, box)
        known.touched += access.touched
        known.elements += elements


def _around(one: Box | None, other: Box | None) -> Box:
    """Return what encloses two boxes."""
    if not one or not other:
        return one or other or ()
    pairs = zip(one, other, strict=True)
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)


def box_of(member: Member, addresses: Array) -> Box | None:
    """Return the box around elements of an array; None if there are none."""
    if not addresses.size:
        return None
    rest = addresses.astype(np.int64) - member.bounds[0]
    array = member.array
    box = [(0, 1)] * array.ndim
    for axis in sorted(range(array.ndim), key=lambda k: -abs(array.strides[k])):
        n, stride = array.shape[axis], abs(array.strides[axis])
        if n > 1 and stride:
            index, rest = np.divmod(rest, stride)
            low, high = int(index.min()), int(index.max())
            box[axis] = (low, high + 1) if array.strides[axis] > 0 else (n - 1 - high, n - low)
    return tuple(box)
