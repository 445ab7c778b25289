"""Streams that note what is put on them; their events pass at once, or when they are released."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..blocks import check_element
from ..capturing import Capturing
from ..completion_callbacks import CompletionCallbacks
from ..pictures import ShownStream
from ..protocol import Block, Event, Stream
from ..timeline import Timeline
from .happens_before import Clock, MemoryUse

if TYPE_CHECKING:
    from .device import NullDevice


@dataclass(frozen=True, slots=True)
class Entry:
    """A piece of enqueued work.

    >>> print(Entry(1, "launch", "add over (4,)"))
    stream 1: launch add over (4,)
    """

    stream: int
    kind: str
    """`launch`, `copy`, `fill`, `wait` or `replay`."""
    text: str

    def __str__(self) -> str:
        return f"stream {self.stream}: {self.kind} {self.text}"


class NullEvent:
    """A point of a null stream."""

    __slots__ = ("clock", "number", "stream")

    def __init__(self, stream: NullStream, number: int, clock: Clock) -> None:
        self.stream = stream
        self.number = number
        self.clock = clock

    def done(self) -> bool:
        """Return whether the event has passed."""
        passed = self.stream.completed >= self.number
        if passed:
            self.stream.device.order.seen(self.clock)
        return passed

    def demand(self) -> None:
        """Pass the event, if the device has deferred it until the host waits."""
        device = self.stream.device
        with device.moved:
            if device.is_deferring:
                self.stream.advance_to(self.number)
                device.moved.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it has passed, or so many seconds; True: it has."""
        moved = self.stream.device.moved
        self.demand()
        with moved:
            passed = moved.wait_for(self.done, timeout)
        if passed:
            self.stream.sweep()
        return passed

    def __repr__(self) -> str:
        return f"Event(stream={self.stream.number}, number={self.number})"


class NullNode(NamedTuple):
    """What was recorded instead of enqueued."""

    kind: str
    text: str
    uses: tuple[MemoryUse, ...]


class NullStream(Capturing[NullNode], ShownStream):
    """Notes in order what is put here."""

    __slots__ = ("_callbacks", "_waits", "completed", "device", "number", "submitted", "timeline")

    def __init__(self, device: NullDevice, number: int) -> None:
        super().__init__()
        self.device = device
        self.number = number
        self.timeline = Timeline()
        self.submitted = self.completed = 0
        self._waits: deque[tuple[int, NullEvent]] = deque()
        self._callbacks = CompletionCallbacks()

    def idle(self) -> bool:
        """Return whether all enqueued work has passed."""
        is_idle = self.completed >= self.submitted
        if is_idle:
            self.device.order.seen(self.device.order.clock(self.number))
        return is_idle

    def full(self) -> bool:
        """Return False: held work is only noted."""
        return False

    def record(self) -> NullEvent:
        """Return an event after all work enqueued so far."""
        with self.device.moved:
            return NullEvent(self, self.submitted, self.device.order.clock(self.number))

    def launch(self, text: str, uses: Sequence[MemoryUse] = ()) -> None:
        """Note a launch, by its description, and the memory it uses."""
        self.note("launch", text, uses)

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Note a copy."""
        uses = (_use_of(target, writes=True), _use_of(source, writes=False))
        self.note("copy", f"{_shown(source)} to {_shown(target)}", uses)

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Note a fill."""
        check_element(target, element)
        uses = (_use_of(target, writes=True),)
        self.note("fill", f"{_shown(target)} with {element.hex()}", uses)

    def wait_for(self, event: Event) -> None:
        """Note a wait, which holds up what follows; the host waits for events of other drivers."""
        if not isinstance(event, NullEvent):
            event.wait()
        elif event.stream is not self and not event.done():
            self.note("wait", f"for {event!r}", event=event)

    def note(
        self,
        kind: str,
        text: str,
        uses: Sequence[MemoryUse] = (),
        event: NullEvent | None = None,
    ) -> None:
        """Enqueue an entry that passes at once, after an event, or when released."""
        if self._nodes is not None:
            self._nodes.append(NullNode(kind, text, tuple(uses)))
            return
        order = self.device.order
        with self.device.moved:
            self.submitted += 1
            if event is not None:
                order.wait(self.number, event.clock)
                self._waits.append((self.submitted, event))
            order.put(self.number, uses, f"{kind} {text}")
        self.device.note(Entry(self.number, kind, text))

    def advance(self) -> bool:
        """Pass all entries that wait for nothing; whether there were any. For the device."""
        waits, before = self._waits, self.completed
        while waits and waits[0][1].done():
            waits.popleft()
        self.completed = waits[0][0] - 1 if waits else self.submitted
        return self.completed > before

    def advance_to(self, number: int) -> None:
        """Pass all entries up to a number, and those of other streams they wait for."""
        waits = self._waits
        while waits and waits[0][0] <= number:
            _, event = waits.popleft()
            event.stream.advance_to(event.number)
        self.completed = max(self.completed, number)

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once all that was put here so far has passed."""
        due = self._callbacks.make if self.idle() and not self._callbacks else self._callbacks.add
        due(self.submitted, callback)

    def sweep(self) -> None:
        """Run the callbacks that are due."""
        self._callbacks.sweep(self.completed)

    def synchronize(self) -> None:
        """Block until all that was put here so far has passed, and make the calls due."""
        self.record().wait()

    def end_capture(self) -> NullReplay:
        """Stop recording; gives what was recorded."""
        return NullReplay(self._recorded())

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"


class NullReplay:
    """What was recorded on a null stream; each run is noted as one entry."""

    __slots__ = ("_last", "_turn", "entries")

    def __init__(self, entries: list[NullNode]) -> None:
        self.entries = tuple(entries)
        """What was recorded."""
        self._last: Event | None = None
        self._turn = threading.Lock()

    @property
    def nodes(self) -> int:
        """How many entries were recorded."""
        return len(self.entries)

    @contextmanager
    def settled(self) -> Generator[None, None, None]:
        """Enter a block in which no run is in flight."""
        with self._turn:
            if self._last is not None:
                self._last.wait()
            yield

    def put_on(self, stream: Stream, *, inline: bool = False) -> NullRun:
        """Note a run, after the one before."""
        assert isinstance(stream, NullStream)
        with self._turn:
            if self._last is not None:
                stream.wait_for(self._last)
            uses = [use for entry in self.entries for use in entry.uses]
            stream.note("replay", f"of {self.nodes} nodes", uses)
            self._last = stream.record()
        return NullRun()


class NullRun:
    """A run of recorded work that was not executed."""

    __slots__ = ()

    def reports(self) -> Sequence[tuple[int, object]]:
        """Return no reports."""
        return ()


def _use_of(block: Block, *, writes: bool) -> MemoryUse:
    """Return the bytes from a block's first to its last."""
    if 0 in block.shape:
        return MemoryUse(block.address, block.address, writes)
    steps = [(n - 1) * stride for n, stride in zip(block.shape, block.strides, strict=True)]
    low = block.address + sum(min(step, 0) for step in steps)
    high = block.address + sum(max(step, 0) for step in steps) + block.itemsize
    return MemoryUse(low, high, writes)


def _shown(block: Block) -> str:
    place = "host" if block.host else "device"
    return f"{place} {'x'.join(map(str, block.shape)) or 'scalar'} of {block.itemsize} bytes"
