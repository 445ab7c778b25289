"""Streams whose work is done when the call that puts it there returns: nothing is ever in flight.

For devices that run their work on the calling thread. Work from several threads takes turns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, TypeVar, TypeVarTuple

from ..base.shield import lifted
from .blocks import copy_on_host, fill_on_host
from .capturing import Capturing
from .pictures import ShownStream
from .protocol import Block, Event, Stream
from .timeline import Timelines

if TYPE_CHECKING:
    from .protocol import Device

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Passed:
    """A point that the device has passed."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def done(self) -> bool:
        """Return True."""
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Do nothing: the event has passed."""
        return True


class ImmediateStream(Capturing[Callable[[], object]], ShownStream):
    """A stream that runs its work on the calling thread."""

    __slots__ = ("_passed", "_turn", "device", "number", "timeline")

    timelines: ClassVar[Timelines] = Timelines()

    def __init__(self, device: Device, number: int) -> None:
        super().__init__()
        self.device = device
        self.number = number
        self.timeline = self.timelines.take()
        self._passed = Passed(self)
        self._turn = threading.RLock()

    def __del__(self) -> None:
        if timeline := getattr(self, "timeline", None):  # an interrupt may have come before
            self.timelines.give_back(timeline)

    def run(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        """Do host work in its turn; signals interrupt it, however its caller is shielded."""
        with self._turn:
            return lifted(work, *args)

    def put(self, work: Callable[[], object]) -> None:
        """Do work now, or record it."""
        if self._nodes is None:
            self.run(work)
        else:
            self._nodes.append(work)

    def idle(self) -> bool:
        """Return True: work runs inside the call that enqueues it."""
        return True

    def full(self) -> bool:
        """Return False: no work is ever pending."""
        return False

    def record(self) -> Event:
        """Return an event that has passed."""
        return self._passed

    def wait_for(self, event: Event) -> None:
        """Wait here and now."""
        event.wait()

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Copy now, or record it."""
        self.put(lambda: copy_on_host(target, source))

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Fill now, or record it."""
        self.put(lambda: fill_on_host(target, element))

    def after(self, callback: Callable[[], None]) -> None:
        """Call it now: all work has been done."""
        callback()

    def sweep(self) -> None:
        """Do nothing: no callback is ever pending."""

    def synchronize(self) -> None:
        """Do nothing: no work is ever in flight."""

    def end_capture(self) -> ImmediateReplay:
        """Stop recording; gives what was recorded."""
        return ImmediateReplay(tuple(self._recorded()))

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, number={self.number})"


class ImmediateReplay:
    """Recorded work, which runs each time the replay is enqueued."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: tuple[Callable[[], object], ...]) -> None:
        self._nodes = nodes

    @property
    def nodes(self) -> int:
        """How many pieces of work were recorded."""
        return len(self._nodes)

    def settled(self) -> AbstractContextManager[None]:
        """Do nothing: a run is over when `put_on` returns."""
        return nullcontext()

    def put_on(self, stream: Stream, *, inline: bool = False) -> ImmediateRun:
        """Do all of it now."""
        assert isinstance(stream, ImmediateStream)
        return ImmediateRun([stream.run(work) for work in self._nodes])


class ImmediateRun:
    """A run of recorded work, which is over."""

    __slots__ = ("_results",)

    def __init__(self, results: Sequence[object]) -> None:
        self._results = results

    def reports(self) -> list[tuple[int, object]]:
        """Return the reports of the nodes that reported."""
        found = enumerate(self._results)
        return [(number, result) for number, result in found if result is not None]
