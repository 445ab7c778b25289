"""Streams that note what is put on them; their events pass at once, or when they are released."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..blocks import check_element
from ..capturing import Capturing, Unfired
from ..dues import Dues
from ..lane import Lane
from ..protocol import Block, Event, Stream

if TYPE_CHECKING:
    from .device import NullDevice


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was put on a stream.

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

    __slots__ = ("number", "stream")

    def __init__(self, stream: NullStream, number: int) -> None:
        self.stream = stream
        self.number = number

    def done(self) -> bool:
        """Whether it has passed."""
        return self.stream.completed >= self.number

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it has passed, or so many seconds; True: it has."""
        moved = self.stream.device.moved
        with moved:
            passed = moved.wait_for(self.done, timeout)
        if passed:
            self.stream.sweep()
        return passed

    def __repr__(self) -> str:
        return f"Event(stream={self.stream.number}, number={self.number})"


class NullStream(Capturing[tuple[str, str]]):
    """Notes in order what is put here."""

    __slots__ = ("_dues", "_waits", "completed", "device", "lane", "number", "submitted")

    def __init__(self, device: NullDevice, number: int) -> None:
        super().__init__()
        self.device = device
        self.number = number
        self.lane = Lane()
        self.submitted = self.completed = 0
        self._waits: deque[tuple[int, Event]] = deque()
        self._dues = Dues()

    def idle(self) -> bool:
        """Whether all that was put here has passed."""
        return self.completed >= self.submitted

    def full(self) -> bool:
        """Never: what is held is only noted."""
        return False

    def record(self) -> NullEvent:
        """The point behind all that was put here so far."""
        return NullEvent(self, self.submitted)

    def launch(self, text: str) -> None:
        """Note a launch, in words."""
        self.note("launch", text)

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Note a copy."""
        self.note("copy", f"{_shown(source)} to {_shown(target)}")

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Note a fill."""
        check_element(target, element)
        self.note("fill", f"{_shown(target)} with {element.hex()}")

    def wait_for(self, event: Event) -> None:
        """Note a wait, which holds up what follows; the host waits for events of other drivers."""
        if not isinstance(event, NullEvent):
            event.wait()
        elif event.stream is not self and not event.done():
            self.note("wait", f"for {event!r}", event)

    def note(self, kind: str, text: str, event: Event | None = None) -> None:
        """Put an entry here that passes at once, or after an event, or when released."""
        if self._nodes is not None:
            self._nodes.append((kind, text))
            return
        with self.device.moved:
            self.submitted += 1
            if event is not None:
                self._waits.append((self.submitted, event))
        self.device.note(Entry(self.number, kind, text))

    def advance(self) -> bool:
        """Pass all entries that wait for nothing; whether there were any. For the device."""
        waits, before = self._waits, self.completed
        while waits and waits[0][1].done():
            waits.popleft()
        self.completed = waits[0][0] - 1 if waits else self.submitted
        return self.completed > before

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once all that was put here so far has passed."""
        due = self._dues.make if self.idle() and not self._dues else self._dues.add
        due(self.submitted, callback)

    def sweep(self) -> None:
        """Make the calls that have fallen due."""
        self._dues.sweep(self.completed)

    def synchronize(self) -> None:
        """Block until all that was put here so far has passed, and make the calls due."""
        self.record().wait()

    def end_capture(self) -> NullReplay:
        """Stop recording; gives what was recorded."""
        return NullReplay(self._recorded())

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"


class NullReplay(Unfired):
    """What was recorded on a null stream; each run is noted as one entry."""

    __slots__ = ("_last", "_turn", "entries")

    def __init__(self, entries: list[tuple[str, str]]) -> None:
        self.entries = tuple(entries)
        """Kind and text of each."""
        self._last: Event | None = None
        self._turn = threading.Lock()

    @property
    def nodes(self) -> int:
        """How many entries were recorded."""
        return len(self.entries)

    @contextmanager
    def settled(self) -> Generator[None, None, None]:
        """A block in which no run is under way."""
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
            stream.note("replay", f"of {self.nodes} nodes")
            self._last = stream.record()
        return NullRun()


class NullRun:
    """A run of recorded work that nobody did."""

    __slots__ = ()

    def reports(self) -> Sequence[tuple[int, object]]:
        """Nothing."""
        return ()


def _shown(block: Block) -> str:
    place = "host" if block.host else "device"
    return f"{place} {'x'.join(map(str, block.shape)) or 'scalar'} of {block.itemsize} bytes"
