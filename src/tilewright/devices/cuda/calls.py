"""The driver as the rest of this folder uses it: handles and addresses are plain numbers.

Calls raise a `CallError` where the driver refuses, but for those that say they give a status.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...base.shapes import Shape


class PoolNumbers(NamedTuple):
    """Bytes of a memory pool: in use and reserved, now and at most so far."""

    used: int
    used_high: int
    reserved: int
    reserved_high: int


class KernelNode(NamedTuple):
    """A kernel launch in a graph: what is launched, over how much, with which parameters."""

    function: int
    grid: Shape
    block: Shape
    shared: int
    parameters: int
    """The address of an array of addresses, one per parameter."""


class Calls(Protocol):
    """All that is asked of the driver. But for the first few, a context must be current."""

    def device_count(self) -> int:
        """Return the number of devices."""
        ...

    def device_name(self, ordinal: int) -> str:
        """Return NVIDIA's name of a device."""
        ...

    def capability(self, ordinal: int) -> tuple[int, int]:
        """Return the compute capability of a device: (9, 0)."""
        ...

    def total_memory(self, ordinal: int) -> int:
        """Return bytes of memory of a device."""
        ...

    def processors(self, ordinal: int) -> int:
        """Return the number of multiprocessors of a device."""
        ...

    def most_shared(self, ordinal: int) -> int:
        """Return the most bytes of shared memory that a block may use on a device."""
        ...

    def retain_context(self, ordinal: int) -> int:
        """Return the primary context of a device, which all libraries of a process share."""
        ...

    def current_context(self) -> int:
        """Return the context that is current on this thread; 0: none."""
        ...

    def push_context(self, context: int) -> None:
        """Push a context on this thread."""
        ...

    def pop_context(self) -> None:
        """Pop the current context."""
        ...

    def describe(self, call: str, status: int) -> Exception:
        """Return the error for the status of a call."""
        ...

    # memory

    def device_of(self, address: int) -> int:
        """Return the number of the device whose memory contains an address."""
        ...

    def free_memory(self) -> tuple[int, int]:
        """Return the free bytes and the total bytes of the current device."""
        ...

    def create_pool(self, ordinal: int) -> int:
        """Return a new memory pool on a device."""
        ...

    def pool_numbers(self, pool: int) -> PoolNumbers:
        """Return how many bytes of a pool are in use and reserved."""
        ...

    def set_pool_threshold(self, pool: int, nbytes: int) -> None:
        """Set how many unused bytes a pool keeps."""
        ...

    def trim_pool(self, pool: int) -> None:
        """Return a pool's unused memory to the device."""
        ...

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return whether a device can access the memory of another one directly."""
        ...

    def share_pool(self, pool: int, ordinal: int) -> None:
        """Let another device access the memory of a pool, also what is allocated already."""
        ...

    def allocate(self, nbytes: int, pool: int, stream: int) -> int:
        """Allocate memory from a pool, in the order of a stream."""
        ...

    def free(self, address: int, stream: int) -> None:
        """Free memory of a pool, in the order of a stream."""
        ...

    def allocate_pinned(self, nbytes: int) -> int:
        """Allocate host memory that devices access at the same address."""
        ...

    def free_pinned(self, address: int) -> None:
        """Free pinned memory."""
        ...

    # work on streams

    def create_stream(self) -> int:
        """Create a stream that does not wait for the default stream."""
        ...

    def synchronize(self, stream: int) -> None:
        """Block until all work of a stream is done."""
        ...

    def home_of(self, stream: int) -> tuple[int, int]:
        """Return the number of the device of a stream, and its context."""
        ...

    def is_captured(self, stream: int) -> bool:
        """Return whether a stream is being captured."""
        ...

    def create_event(self) -> int:
        """Create an event without timing."""
        ...

    def create_timer(self) -> int:
        """Return an event that notes the time."""
        ...

    def elapsed(self, start: int, end: int) -> float:
        """Return the milliseconds between two timers that have passed."""
        ...

    def destroy_event(self, event: int, _: int = 0) -> None:
        """End an event."""
        ...

    def wait_event(self, stream: int, event: int) -> None:
        """Make a stream wait for an event."""
        ...

    def copy_in(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy bytes of pinned memory to a device."""
        ...

    def copy_out(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy bytes of a device to pinned memory."""
        ...

    def copy_within(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy bytes of a device."""
        ...

    def copy_between(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy bytes of one device to another."""
        ...

    def fill(self, target: int, element: int, itemsize: int, count: int, stream: int) -> None:
        """Write one element of 1, 2 or 4 bytes over and over."""
        ...

    # code

    def try_out(self, ordinal: int, code: bytes) -> None:
        """Load code in another process, which may die of it; raises what went wrong there."""
        ...

    def load_module(self, code: bytes) -> int:
        """Load a cubin, a fatbin, or PTX that ends with a zero."""
        ...

    def unload_module(self, module: int, _: int = 0) -> None:
        """Forget a module."""
        ...

    def find_function(self, module: int, name: str) -> int:
        """Return a kernel of a module."""
        ...

    def function_name(self, function: int) -> str:
        """Return the name of a kernel."""
        ...

    def kernel_names(self, module: int) -> list[str]:
        """Return the kernels of a module."""
        ...

    def parameter_sizes(self, function: int) -> tuple[int, ...] | None:
        """Return the bytes of each parameter of a kernel; None if the driver cannot report them."""
        ...

    def allow_shared(self, function: int, nbytes: int) -> None:
        """Allow launches of a kernel with more shared memory than the default limit."""
        ...

    def shared_bytes(self, function: int) -> int:
        """Return the bytes of static shared memory of each block of a kernel."""
        ...

    def most_threads(self, function: int) -> int:
        """Return the most threads that a block of a kernel may have."""
        ...

    # graphs

    def begin_capture(self, stream: int) -> None:
        """Begin to capture a stream."""
        ...

    def end_capture(self, stream: int) -> int:
        """Stop recording; gives the graph."""
        ...

    def last_node(self, stream: int) -> int:
        """Return the node that was recorded last on a stream."""
        ...

    def instantiate(self, graph: int) -> int:
        """Instantiate a graph."""
        ...

    def launch_graph(self, executable: int, stream: int) -> None:
        """Enqueue a graph on a stream."""
        ...

    def set_node(self, executable: int, node: int, kernel: KernelNode) -> None:
        """Set the parameters of a kernel node."""
        ...

    def destroy_graph(self, graph: int, executable: int) -> None:
        """Forget a graph, and what it was instantiated to unless that is 0."""
        ...

    # what is called all the time, and gives a status; the context need not be current

    native_driver: int
    """Where native code finds the driver's functions; 0: it has none, and calls these here."""

    def open_queue(self, context: int, stream: int, /) -> int:
        """Register a stream for native waits; return the queue for its timelines."""
        ...

    def close_queue(self, queue: int, /) -> None:
        """Unregister a stream."""
        ...

    def launch(self, record: int, stream: int, /) -> int:
        """Launch what the words at an address say."""
        ...

    def idle(self, context: int, stream: int, /) -> int:
        """Return whether all on a stream is done: SUCCESS or NOT_READY."""
        ...

    def drain(self, context: int, stream: int, nanoseconds: int, /) -> int:
        """Block until all on a stream is done, or so long: then the status is NOT_READY."""
        ...

    def record(self, context: int, event: int, stream: int, /) -> int:
        """Record an event on a stream."""
        ...

    def query(self, context: int, event: int, /) -> int:
        """Return whether an event has passed: SUCCESS or NOT_READY."""
        ...

    def await_event(self, context: int, event: int, nanoseconds: int, /) -> int:
        """Block until an event has passed, or so long: then the status is NOT_READY."""
        ...

    def await_any(
        self, context: int, events: int, count: int, word: int, seen: int, nanoseconds: int, /
    ) -> int:
        """Block until one of many events has passed, or a word is not `seen`, or so long.

        `events` is the address of their handles. The status is NOT_READY where time is up.
        """
        ...
