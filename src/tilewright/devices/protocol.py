"""What the run half requires of a machine: devices that allocate memory, and streams that order
work.

The terms are CUDA's, which has the most of them: work is enqueued on streams, events mark points in
them, and a stream can wait for an event of another one. Only `wait` and `synchronize` block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..base.errors import DeviceError, DriverError
from ..base.shapes import Shape

if TYPE_CHECKING:
    from .timeline import Timeline


class Memory(Protocol):
    """Bytes on a device, given back when the object is collected."""

    @property
    def address(self) -> int:
        """Where they begin; a multiple of 64."""
        ...

    @property
    def nbytes(self) -> int:
        """How many there are."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """Elements of one size in memory, `strides` bytes apart: what a copy reads or writes."""

    address: int
    itemsize: int
    shape: Shape
    strides: Shape
    host: bool
    """Whether it is memory of the host, not of the device that copies."""
    elsewhere: bool = False
    """Whether it is memory of another device, which the host does not see."""


class Event(Protocol):
    """A point in a stream's work. Cheap to make and to keep: it holds no memory but its own."""

    @property
    def stream(self) -> Stream:
        """The stream it is a point of."""
        ...

    def done(self) -> bool:
        """Return whether the device has passed this point."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the device has passed this point, or so many seconds; True: it has.

        Signals are seen: KeyboardInterrupt leaves within a tenth of a second.
        """
        ...


@runtime_checkable
class Stream(Protocol):
    """Work in order: what is put on one stream runs in the order it was put there."""

    @property
    def device(self) -> Device:
        """The device that runs this stream's work."""
        ...

    @property
    def number(self) -> int:
        """The number that identifies a stream of a device; 0 is its first."""
        ...

    @property
    def timeline(self) -> Timeline:
        """The `Timeline` by which memory refers to its work."""
        ...

    @property
    def is_capturing(self) -> bool:
        """Whether work put here is recorded for a graph instead of run."""
        ...

    def idle(self) -> bool:
        """Return whether the device has finished all enqueued work."""
        ...

    def full(self) -> bool:
        """Return whether the queue is full: enqueuing more blocks until some work is finished."""
        ...

    def record(self) -> Event:
        """Return an event after all work enqueued so far."""
        ...

    def wait_for(self, event: Event) -> None:
        """Make later work wait for an event of any stream."""
        ...

    def copy(self, target: Block, source: Block, *, inline: bool = False) -> None:
        """Enqueue a copy between blocks of the same shape and element size.

        Where the host does not see the device's memory, it has read its block when this returns,
        and writes one in a callback that falls due (see `after`). `inline` as for a `Replay`.
        """
        ...

    def fill(self, target: Block, element: bytes, *, inline: bool = False) -> None:
        """Enqueue the writing of one element, of the block's element size, everywhere in it."""
        ...

    def after(self, callback: Callable[[], None]) -> None:
        """Call a function on the host once the device has passed all work enqueued so far.

        It runs on an arbitrary thread, when one next enqueues work here, waits or sweeps; one call
        at a time. What it refers to stays alive until then. It must be short, not raise, and not
        wait for other threads.
        """
        ...

    def sweep(self) -> None:
        """Run the callbacks that are due, and wait for those another thread is running."""
        ...

    def synchronize(self) -> None:
        """Block until all work put here so far is done, and make the calls that have fallen due."""
        ...

    def begin_capture(self) -> None:
        """Record from now on what is put here."""
        ...

    @property
    def captured(self) -> int:
        """How many pieces of work the capture under way has recorded; 0 without one."""
        ...

    def end_capture(self) -> Replay:
        """Stop recording; gives what was recorded."""
        ...


class Stamp(Protocol):
    """The time at which a device passes a point of a stream. Read it after that."""

    def since(self, earlier: Stamp) -> float:
        """Return seconds since another stamp of the same device, by the device's clock."""
        ...

    def host_time(self) -> int | None:
        """Return the time by `time.perf_counter_ns`; None: the device has its own clock."""
        ...


@runtime_checkable
class TimedStream(Protocol):
    """A stream that can tell when its work was done. Not all can."""

    def stamp(self) -> Stamp:
        """Note the time at which the device passes all work put here so far."""
        ...


class ReplayRun(Protocol):
    """One run of recorded work."""

    def reports(self) -> Sequence[tuple[int, Any]]:
        """Return the reports of the nodes by number, once the device has passed the run."""
        ...


class Replay(Protocol):
    """Work recorded on a stream, to be put on streams of its device again and again."""

    @property
    def nodes(self) -> int:
        """How many pieces of work were recorded."""
        ...

    def put_on(self, stream: Stream, *, inline: bool = False) -> ReplayRun:
        """Enqueue a run; runs of one replay follow each other on any streams.

        `inline` says that the caller will wait for it, so it may as well run here.
        """
        ...

    def settled(self) -> AbstractContextManager[None]:
        """Enter a block in which no run is in flight, so that nodes can get other arguments."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Bytes of a device's memory: in use, and reserved by its pool; now, and at most so far."""

    used: int
    used_high: int
    reserved: int
    reserved_high: int


class MemoryPool(Protocol):
    """Keeps freed memory for the next allocation."""

    def stats(self) -> MemoryStats:
        """Return how many bytes are in use and reserved."""
        ...

    def set_release_threshold(self, nbytes: int) -> None:
        """Keep at most so many unused bytes."""
        ...

    def trim(self) -> None:
        """Return all unused memory to the system."""
        ...


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """How raw code is launched: how many blocks, threads in each, bytes that a block shares."""

    grid_dim: Shape
    block_dim: Shape = (1, 1, 1)
    shared_mem_bytes: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no number of blocks, threads or bytes."""
        for name, dims in (("grid_dim", self.grid_dim), ("block_dim", self.block_dim)):
            if not _are_counts(dims):
                raise TypeError(f"{name} of a LaunchConfig is a tuple of ints, got {dims!r}")
        if not _are_counts((self.shared_mem_bytes,)) or self.shared_mem_bytes < 0:
            given = self.shared_mem_bytes
            raise TypeError(f"shared_mem_bytes of a LaunchConfig counts bytes, got {given!r}")


def _are_counts(given: Sequence[object]) -> bool:
    return hasattr(given, "__len__") and all(hasattr(n, "__index__") for n in given)


class FunctionRun(Protocol):
    """One launch of raw code."""

    def problem(self) -> DeviceError | None:
        """Return the failure of a run that the device has passed; None: it succeeded."""
        ...


class Function(Protocol):
    """Raw code of a module; what it does with its arguments is up to it."""

    @property
    def name(self) -> str:
        """Its name in the module."""
        ...

    @property
    def parameter_sizes(self) -> Sequence[int] | None:
        """The bytes of each parameter, where that is known."""
        ...

    def put_on(
        self,
        stream: Stream,
        config: LaunchConfig,
        slots: Sequence[int],
        *,
        inline: bool = False,
        keep: object = None,
    ) -> FunctionRun:
        """Enqueue a launch, its arguments as 64-bit words; while capturing, record a node.

        `keep` stays alive until the device has passed it. `inline` as for a `Replay`.
        """
        ...


class RefusedCodeError(DriverError):
    """Code that a device does not take; it may be damaged, or made for another one."""


class Module(Protocol):
    """Code loaded on a device; stays there while it, or a function of it, is alive."""

    def load_function(self, name: str) -> Function:
        """Return a function by name; raise a DriverError if there is none."""
        ...


class Progress(Protocol):
    """How one thread sleeps until any of many events has passed: `watch` them, then `wait`."""

    def watch(self, event: Event) -> bool:
        """Increase the count once this event has passed; False: not an event of this device.

        An increase ends the watch of all events of that stream: watch those again that have not
        passed.
        """
        ...

    def poke(self) -> None:
        """Increase the count now, so that waiting threads look again."""
        ...

    def wait(self, seen: int, timeout: float | None = None) -> int:
        """Block until the count is not `seen`, or so many seconds; gives the count.

        Signals are seen, as in `Event.wait`. The count begins with 0.
        """
        ...


class Device(Protocol):
    """A place where tensors live and kernels run."""

    @property
    def name(self) -> str:
        """The name programs use, such as "cpu"."""
        ...

    @property
    def target(self) -> str:
        """What kernels are compiled for to run here: "cpu", or "sm_90"."""
        ...

    @property
    def ordinal(self) -> int | None:
        """The number of a GPU, counted from 0; None: it is no GPU."""
        ...

    @property
    def model(self) -> str:
        """What the maker of the hardware calls it."""
        ...

    @property
    def host_visible(self) -> bool:
        """Whether the host reads and writes this device's memory directly."""
        ...

    @property
    def blocks_at_once(self) -> int:
        """How many blocks of a kernel run at the same time, each on a separate processor."""
        ...

    @property
    def pool(self) -> MemoryPool:
        """Where its memory comes from."""
        ...

    @property
    def progress(self) -> Progress:
        """How to sleep until some of its work is done."""
        ...

    def prepare(self) -> None:
        """Do now, on any thread, what the first uses of the device would have to wait for."""
        ...

    def load_module(self, code: bytes, *, trusted: bool = False) -> Module:
        """Load code made for this device; a DriverError if it is not.

        Code that is not `trusted` is looked at, and where that does not say enough tried elsewhere,
        so that damaged code does no harm while it is loaded.
        """
        ...

    def allocate(self, nbytes: int, *, zeroed: bool) -> Memory:
        """Allocate memory of this size, arbitrary or zero; raise a DriverError if there is too
        little.
        """
        ...

    def streams(self) -> Sequence[Stream]:
        """Return the shared streams of the device, which policies hand out."""
        ...

    def new_stream(self) -> Stream:
        """Return a new stream, which no policy hands out."""
        ...

    def synchronize(self) -> None:
        """Block until all work on all its streams is done."""
        ...
