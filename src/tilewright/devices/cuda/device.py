"""A CUDA device: its memory, its streams, its code."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from weakref import WeakSet, WeakValueDictionary

from ...base.errors import ContextError
from ...base.system import at_fork
from ..pictures import ShownDevice
from ..protocol import Device
from ..timeline import Timelines
from .borrowed import BorrowedModule, BorrowedStream, CapturedStream, usable
from .calls import Calls
from .context import SPAWN, Context, weak_call
from .event import CudaEvent, Events
from .memory import DeviceMemory, DevicePool
from .module import CudaModule
from .progress import CudaProgress
from .scatter import ptx
from .staging import Staging
from .stream import CudaStream

STREAMS = 4
"""How many streams a device has for work that names none."""
FEW = 16
"""Streams with work at which a new one first looks for those whose work is done."""


class CudaDevice(ShownDevice):
    """A GPU; compared by identity. Nothing is asked of it before it is used."""

    host_visible = False

    def __init__(
        self, calls: Calls, ordinal: int, *, context: int = 0, owner: object = None
    ) -> None:
        """Open the device in its primary context, or in another, which `owner` keeps alive."""
        self.name = f"cuda:{ordinal}, context {context:#x}" if context else f"cuda:{ordinal}"
        self._given, self._owner = context, owner
        self._borrowed: WeakValueDictionary[int, BorrowedStream] = WeakValueDictionary()
        self.ordinal = ordinal
        self._driver = calls
        self._is_parents = False
        at_fork(after_in_child=weak_call(self.leave_to_parent))
        self._making = threading.RLock()
        self._opened: _Opened | None = None
        self._numbers = itertools.count(STREAMS)
        self._streams: list[CudaStream] = []
        self._all: WeakSet[CudaStream] = WeakSet()
        self._idle: deque[int] = deque()
        self._helpers: CudaModule | None = None
        self._peers: set[int] = set()
        """The GPUs that access its memory directly."""
        self.timelines = Timelines()
        self.waiting: set[CudaStream] = set()
        """Streams with calls to make, kept alive for them."""
        self._most_waiting = FEW
        """How many of these there may be until a new stream looks for those that are done."""
        major, minor = calls.capability(ordinal)
        self.target = f"sm_{major}{minor}"
        """The architecture that kernels are compiled for."""

    def leave_to_parent(self) -> None:
        """Close the device in a child process, which cannot use it."""
        self._is_parents, self._opened = True, None
        self._streams = []
        self._making = threading.RLock()

    def check(self) -> None:
        """Raise if nothing can be done on this device, or no more."""
        if self._is_parents:
            raise ContextError(
                f"{self.name} of the parent process cannot be used in a forked child",
                hint=SPAWN,
                device_id=self.ordinal,
            )
        if self._opened is not None:
            self._opened.context.check()

    @property
    def _calls(self) -> Calls:
        """The driver, in the process that opened it."""
        if self._is_parents:
            self.check()
        return self._driver

    @property
    def model(self) -> str:
        """What NVIDIA calls it."""
        return self._calls.device_name(self.ordinal)

    @property
    def _open(self) -> _Opened:
        opened = self._opened
        if opened is None:
            with self._making:
                if self._opened is None:
                    self._opened = _Opened(self, self._calls, self._given)
                opened = self._opened
        return opened

    @property
    def context(self) -> Context:
        """Its primary context."""
        return self._open.context

    @property
    def events(self) -> Events:
        """Unused events."""
        return self._open.events

    @property
    def pool(self) -> DevicePool:
        """Where its memory comes from."""
        return self._open.pool

    @property
    def staging(self) -> Staging:
        """Pinned memory of the host."""
        return self._open.staging

    @property
    def progress(self) -> CudaProgress:
        """How to sleep until some of its work is done."""
        return self._open.progress

    def prepare(self) -> None:
        """Open the device, have streams, and use its memory and the host's for the first time."""
        self.streams()
        self.allocate(1, zeroed=True)
        self.staging.allocate(1)

    @property
    def blocks_at_once(self) -> int:
        """One per multiprocessor."""
        return self._calls.processors(self.ordinal)

    def load_module(self, code: bytes, *, trusted: bool = False) -> CudaModule:
        """Load a cubin, a fatbin or PTX."""
        return CudaModule(self.context, code, trusted=trusted)

    def helper(self, name: str) -> int:
        """Return the handle of one of our kernels for memory with gaps."""
        with self._making:
            if self._helpers is None:
                self._helpers = CudaModule(self.context, ptx(), trusted=True)
            return self._helpers.function(name)

    def allocate(self, nbytes: int, *, zeroed: bool) -> DeviceMemory:
        """Allocate memory of this size."""
        return self.pool.allocate(nbytes, zeroed=zeroed)

    def open_to(self, other: CudaDevice) -> bool:
        """Let another GPU access the memory of this one directly; False: it cannot."""
        if other.ordinal not in self._peers:
            if not self._calls.can_access_peer(other.ordinal, self.ordinal):
                return False
            self.pool.share(other.ordinal)
            self._peers.add(other.ordinal)
        return True

    def streams(self) -> Sequence[CudaStream]:
        """Return the streams of the device; create them at the first call."""
        if not self._streams:
            with self._making:
                if not self._streams:
                    self._streams = [self._stream(number) for number in range(STREAMS)]
        return self._streams

    def new_stream(self) -> CudaStream:
        """Return a new stream, which no policy hands out."""
        self.check()
        if len(self.waiting) >= self._most_waiting:
            self._sweep_waiting()
        return self._stream(next(self._numbers))

    def _sweep_waiting(self) -> None:
        """Release idle streams that only their pending work kept alive.

        The next sweep is due when their number has doubled, so that each new stream costs a
        constant number of calls, however long other work takes. Streams of other libraries stay:
        they may be capturing, and do not belong to us.
        """
        for stream in tuple(self.waiting):
            if stream.is_owned and not stream.is_capturing:
                stream.sweep()
        self._most_waiting = max(FEW, 2 * len(self.waiting))

    def _stream(self, number: int, handle: int = 0) -> CudaStream:
        self.check()
        stream = CudaStream(self, number, handle)
        self._all.add(stream)
        return stream

    def borrow_stream(self, handle: int, owner: object) -> BorrowedStream:
        """Return a stream of another library, which `owner` keeps alive."""
        self.check()
        stream = BorrowedStream(self, next(self._numbers), usable(self, handle), owner)
        self._all.add(stream)
        return stream

    def borrow_known(self, handle: int, owner: object) -> BorrowedStream:
        """Return the borrowed stream of a handle; reuse the object while it is referenced."""
        found = self._borrowed.get(handle)
        if found is None:
            found = self._borrowed[handle] = self.borrow_stream(handle, owner)
        return found

    def captured_stream(self, handle: int) -> CapturedStream:
        """Return a stream that another library is capturing."""
        return CapturedStream(self, handle)

    def borrow_module(self, handle: int, owner: object) -> BorrowedModule:
        """Return code that another library has loaded, which `owner` keeps alive."""
        return BorrowedModule(self.context, handle, owner)

    def borrow_context(self, handle: int, owner: object) -> CudaDevice:
        """Return this device in another library's context, which `owner` keeps alive."""
        if handle == self.context.handle:
            return self  # we keep the primary context alive ourselves
        return CudaDevice(self._calls, self.ordinal, context=handle, owner=owner)

    def home_of(self, stream: int) -> int:
        """Return the number of the device of a stream."""
        return self.context.call(self._calls.home_of, stream)[0]

    def is_current(self) -> bool:
        """Return whether this is the current device of the thread; it need not be open."""
        opened = self._opened
        return opened is not None and self._calls.current_context() == opened.context.handle

    def take_stream(self) -> int:
        """Return an unused stream of the driver."""
        context, idle = self.context, self._idle
        context.tidy()
        while not idle:
            context.call(self._create_stream)
        # These two make no call: no other thread, and no interrupt, comes between them.
        stream = idle[-1]
        del idle[-1]
        return stream

    def _create_stream(self) -> None:
        self._idle.append(self._driver.create_stream())

    def give_stream_back(self, handle: int) -> None:
        """Make a stream available again; finalizers may call this."""
        self._idle.append(handle)

    def synchronize(self) -> None:
        """Wait for all streams."""
        self.check()
        for stream in tuple(self._all):
            stream.synchronize()

    def hold_up(self, stream: int, event: CudaEvent) -> None:
        """Make another library's stream wait for an event."""
        if not event.done():
            context = self.context
            context.call(context.calls.wait_event, stream, event.mark.handle)

    def owner_of(self, address: int) -> int:
        """Return the number of the device whose memory contains an address."""
        return self.context.call(self._calls.device_of, address)

    def reclaim(self) -> None:
        """Release what finished work has kept alive."""
        for stream in tuple(self._all):
            stream.sweep()

    def suspects(self) -> list[str]:
        """Describe the kernels that may have caused the loss of the device."""
        found = [stream.suspect() for stream in tuple(self._all)]
        return [each for each in found if each is not None]

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


class _Opened:
    """What a device has once it is used."""

    def __init__(self, device: CudaDevice, calls: Calls, context: int) -> None:
        self.context = Context(calls, device.ordinal, device.name, context)
        self.context.watch(device.suspects)
        self.events = Events(self.context)
        self.pool = DevicePool(self.context, device.reclaim)
        self.staging = Staging(self.context)
        self.progress = CudaProgress(self.context)


def peer_access(device: Device, other: Device) -> bool:
    """Let two devices reach each other's memory directly; return whether they do.

    Copies between GPUs that do not go through the host. Devices of the host share its memory.
    """
    if isinstance(device, CudaDevice) and isinstance(other, CudaDevice):
        return device is other or (device.open_to(other) and other.open_to(device))
    return device.host_visible and other.host_visible
