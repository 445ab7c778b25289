"""Pieces of memory and who may use them: our own, foreign ones found by address, or none (meta)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias
from weakref import ref

from .._core import Storage as NativeStorage
from .._core import set_storage_classes
from ..devices.protocol import Device
from .borrow import LOCK, BorrowState, hold_at_forks
from .extent import Extent
from .layout import FARTHEST
from .order import Order
from .releases import sweep
from .spans import Spans
from .written import NOTHING, Runs, both, covers


class Capturer(Protocol):
    """A graph, as messages name it."""

    @property
    def name(self) -> str:
        """What was captured."""
        ...


class Storage(NativeStorage):
    """Memory with its borrow state. `owner` keeps it alive; a meta storage has no memory at all."""

    __slots__ = ()

    device: Device
    state: BorrowState

    def writers_to_come(self) -> list[Capturer]:
        """The graphs that write it at each launch."""
        return [graph for known in self.graphs if (graph := known()) is not None]

    def add_written(self, runs: Runs) -> None:
        """Note that these bytes have been written."""
        with LOCK:
            written = self._written = both(self._runs(), runs)
            if len(written) == 1 and written[0, 1] - written[0, 0] == self.nbytes:
                self.initialized, self._written = True, None

    def has_written(self, runs: Runs) -> bool:
        """Whether all these bytes have been written."""
        return self.initialized or covers(self._runs(), runs)

    def _runs(self) -> Runs:
        return NOTHING if self._written is None else self._written


set_storage_classes({"BorrowState": BorrowState, "Order": Order})


def allocate(device: Device, nbytes: int, *, zeroed: bool) -> Storage:
    """New memory of our own; contents are zero, or arbitrary and to be written before read."""
    hold_at_forks()
    sweep()
    memory = device.allocate(nbytes, zeroed=zeroed)
    return Storage(device, memory.address, nbytes, memory, initialized=zeroed)


def meta(device: Device, nbytes: int) -> Storage:
    """A storage without memory."""
    return Storage(device, 0, min(nbytes, FARTHEST), None)


class Imports:
    """Foreign memory in use here, found by address, so that aliases share their borrow state."""

    def __init__(self) -> None:
        self._known: dict[_Span, ref[Storage]] = {}
        """Some may be dead: an array that comes again soon takes its old place."""
        self._spans: Spans[_Span] = Spans()
        """The keys of these."""
        self._room = 0
        self._in_vain = 0
        """How often the dead were met since they were last forgotten."""

    def find(self, device: Device, owner: object, start: int, end: int, readonly: bool) -> Storage:
        """The storage for the bytes start .. end - 1, which `owner` keeps alive."""
        if start == end:  # all that is empty may have one address, and shares nothing
            return Storage(device, start, 0, owner, readonly=readonly)
        span = (device, start, end, readonly)
        with LOCK:
            known = self._known.get(span, _nothing)()
            return self._add(span, owner) if known is None else known

    def _add(self, span: _Span, owner: object) -> Storage:
        hold_at_forks()
        device, start, end, readonly = span
        found = Storage(device, start, end - start, owner, readonly=readonly)
        self._introduce(found)
        self._note(span, found)
        return found

    def include(self, storage: Storage) -> None:
        """Know memory of our own that others see, so that it is found when it comes back."""
        start, end = storage.address, storage.address + storage.nbytes
        span = (storage.device, start, end, storage.readonly)
        with LOCK:
            if start < end and self._known.get(span, _nothing)() is None:
                self._introduce(storage)
                self._note(span, storage)

    def meet(self, spans: Sequence[tuple[int, int]]) -> bool:
        """Whether some of these addresses belong to memory that is in use here."""
        if not self._known:
            return False
        with LOCK:
            return any(self._meeting(start, end) for start, end in spans)

    def _meeting(self, start: int, end: int) -> list[Storage]:
        """What is alive of the memory that has some of these addresses."""
        spans = self._spans.meeting(start, end)
        if not spans:
            return []
        met = [self._known.get(span, _nothing)() for span in spans]
        found = [storage for storage in met if storage is not None]
        self._in_vain += len(met) - len(found)
        if self._in_vain > len(self._known):
            self._sweep()
        return found

    def _introduce(self, new: Storage) -> None:
        """Make it a neighbour of all that it overlaps."""
        start, end = new.address, new.address + new.nbytes
        for other in self._meeting(start, end):
            mine = Extent(start, end)
            its = Extent(other.address, other.address + other.nbytes)
            new.state.meet(other.state, mine, its)
            new.order.join(other.order)

    def _note(self, span: _Span, storage: Storage) -> None:
        if span not in self._known:
            self._spans.add(span[1], span[2], span)
        self._known[span] = ref(storage)
        if len(self._known) > self._room:
            self._sweep()

    def _sweep(self) -> None:
        """Forget the dead, and make room for as many again as are alive."""
        self._known = {span: known for span, known in self._known.items() if known() is not None}
        self._spans.keep(self._known.__contains__)
        self._room, self._in_vain = 2 * len(self._known) + 8, 0


def _nothing() -> None:
    """What a weak reference to a dead object gives."""


_Span: TypeAlias = tuple[Device, int, int, bool]
"""A device, the first byte address and the one behind the last, whether it is read-only."""

IMPORTS = Imports()
