"""The null device: real memory, streams that only note; time passes when the program says so."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ..._core import PooledMemory
from ..cpu.caching import HostPool
from ..pictures import ShownDevice
from ..progress import HostProgress
from ..protocol import Event
from .happens_before import HappensBefore, Race
from .module import NullModule
from .stream import Entry, NullEvent, NullStream

STREAMS = 4


class NullProgress(HostProgress):
    """Progress of the null device: who watches an event waits for it."""

    __slots__ = ()

    def watch(self, event: Event) -> bool:
        """Increase the count once an event has passed."""
        if isinstance(event, NullEvent):
            event.demand()
        return super().watch(event)


class NullDevice(ShownDevice):
    """A device on which nothing is done. What would have been is in `entries`.

    Events pass at once. Between `hold()` and `release()` none does, so a test can look at work in
    flight for as long as it likes. After `defer()` an event passes when the host waits for it, and
    not before: then all order is what the program, and nothing else, has asked for.
    """

    def __init__(self, name: str = "null", *, host_visible: bool = True) -> None:
        self.name = name
        self.target = "null"
        self.host_visible = host_visible
        self.order = HappensBefore()
        """What happens before what, by waits alone."""
        self.ordinal = None
        self.model = "none: work is noted, not done"
        self.blocks_at_once = 1
        self.pool = HostPool()
        self.progress = NullProgress()
        self.entries: list[Entry] = []
        """All work that was enqueued on its streams, in that order."""
        self.moved = threading.Condition()
        """Notified when streams have moved."""
        self._all: list[NullStream] = []
        self.is_deferring = False
        """Whether work passes only when the host waits for it."""
        self._holds_all = False
        self._held: set[NullStream] = set()
        self._streams = [self.new_stream() for _ in range(STREAMS)]

    def prepare(self) -> None:
        """Do nothing."""

    def load_module(self, code: bytes, *, trusted: bool = False) -> NullModule:
        """Accept any bytes as code."""
        return NullModule(code)

    def allocate(self, nbytes: int, *, zeroed: bool) -> PooledMemory:
        """Allocate zeroed host memory, which no kernel writes."""
        return self.pool.allocate(nbytes, zeroed=True)

    def streams(self) -> Sequence[NullStream]:
        """Return the streams of the device."""
        return self._streams

    def new_stream(self) -> NullStream:
        """Return a new stream, which no policy hands out."""
        with self.moved:
            stream = NullStream(self, len(self._all))
            self._all.append(stream)
        return stream

    def hold(self, *streams: NullStream) -> None:
        """Hold back the work of these streams, or of all, until `release`."""
        with self.moved:
            self._holds_all |= not streams
            self._held.update(streams)

    @property
    def races(self) -> list[Race]:
        """Conflicting uses of memory that were put on streams without an order between them."""
        return self.order.races

    def defer(self) -> None:
        """Hold back work until the host waits for it, or until `release`."""
        with self.moved:
            self.is_deferring = True

    def release(self, *streams: NullStream) -> None:
        """Let the work of these streams, or of all, pass from now on."""
        with self.moved:
            self.is_deferring = False
            if self._holds_all and streams:
                self._held.update(self._all)
            self._holds_all = False
            self._held = self._held.difference(streams) if streams else set()
        self._move()

    def note(self, entry: Entry) -> None:
        """Add an entry, and let it pass if nothing holds it."""
        self.entries.append(entry)
        self._move()

    def _move(self) -> None:
        """Pass the work that can pass, until no stream can continue."""
        with self.moved:
            held = self._holds_all or self.is_deferring
            free = [] if held else [s for s in self._all if s not in self._held]
            while any(stream.advance() for stream in free):
                self.moved.notify_all()
        self.progress.look()

    def synchronize(self) -> None:
        """Block until everything has passed."""
        for stream in tuple(self._all):
            stream.synchronize()

    def __repr__(self) -> str:
        return f"Device({self.name!r})"
