# ruff: noqa: PYI021 - what the functions do is said here, where editors find it
"""The native core. Python composes and explains; this decides.

Arguments that are addresses of records are ints; `devices.native_records` names the words of these.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import CodeType
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

Location: TypeAlias = tuple[CodeType, int] | None
Known: TypeAlias = int | tuple[CodeType, int]
"""How many frames are Tilewright's own for certain, or where the program stands."""

def set_ours(table: dict[str, bool], /) -> None:
    """Register the dict that identifies Tilewright's own files."""

def location(known: Known = 0, /) -> Location:
    """Return the innermost frame outside Tilewright, at least `known` frames up."""

def make_public(function: Callable[..., Any], /) -> Callable[..., Any]:
    """Return a function that calls another, and has errors that leave it trimmed."""

def set_trimmer(
    trim: Callable[[BaseException], None], public: Callable[[Callable[..., Any]], Any], /
) -> None:
    """Register what trims an error that leaves the package, and what `make_public` is called by."""

def slot_offset(cls: type, name: str, /) -> int:
    """Return the offset at which objects of a class and its subclasses keep a slot."""

def is_shape(shape: object, least: int, rank: int, /) -> bool:
    """Return whether an object is a tuple of at most `most` ints, none below `least`."""

def bytes_address(text: bytes, /) -> int:
    """Return the address of the contents of bytes."""

def bind_tensors(
    plan: int, arguments: tuple[Any, ...], known: Known, regions: tuple[Any, ...] | None, /
) -> tuple[Any, ...] | None:
    """Borrow the tensors that a kernel was given, by a `BindWord` plan; None: take the slow path.

    `regions` are those of arrays of other libraries, as `regions_of_arrays` returns them.

    Return the regions of the tensors, which keep their memory; then, `BEHIND_REGIONS` items:
    whether a former owner may be left who gets a tensor back on failure; the tickets of those that
    are parts, or None; the use that is noted with what is written; the row; and what is known of
    launches of their kinds. That is None where they are not those of the last launch, and then
    nothing is borrowed.
    """

BEHIND_REGIONS: Final[int]

def regions_of_arrays(plan: int, arguments: tuple[Any, ...], /) -> tuple[Any, ...] | None:
    """Return the memory of the arrays of other libraries that a kernel reads.

    The result has a region in the place of each, and None for all other arguments. It is None if
    there are none, if the kernel does not run on the host, or if one needs the slow path.
    """

SLOW_PATH: Final[int]
"""What `reserve` gives where Python must look closer;"""
PENDING_WORK: Final[int]
"""where Python keeps an account of work that may be over: look through that, and ask again."""
LISTED: Final[int]
"""How work begins, as bits: Python lists it;"""
EXAMINED: Final[int]
"""Python has looked at leases, at neighbours, and at what has been written;"""
FOLLOWING: Final[int]
"""it comes after all that Python keeps account of."""
BY_POINTER: Final[int]
"""In a row, in place of an epoch: nothing is borrowed, but the memory may be written."""

def reserve(row: bytes, written: int, count: int, timeline: int, how: int, /) -> int:
    """Begin work whose borrows still hold; return its number, or a reason below 0."""

def reborrow(row: int, written: int, count: int, timeline: int, /) -> int:
    """Borrow the memory of a replay again, and begin its work; as `reserve`."""

def write_addresses(row: bytes, count: int, slots: int, places: int, /) -> None:
    """Write the address of each tensor to its slot in `places`."""

def note_submitted(timeline: int, /) -> None:
    """Count work that was enqueued, or will not be."""

def note_passed(timeline: int, number: int, /) -> None:
    """Count all work up to a number as over, except for listed work."""

def reap(timeline: int, /) -> int:
    """Return the number up to which all work is over."""

# Memory and tensors. Python's classes extend these types, and explain what they refuse.

def set_borrowing(how: dict[str, Any], /) -> None:
    """Register the class of noted uses."""

@final
class BorrowLock:
    """The lock of borrow state; all of these are the same one."""

    def acquire(self) -> None:
        """Take the lock, once no other thread holds it."""

    def release(self) -> None:
        """Release the lock, as often as it was taken."""

    def is_mine(self) -> bool:
        """Return whether this thread holds the lock."""

    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def new_use(cls: type, what: str, location: Location, /) -> Any:
    """Record what is done to memory, where, and by which thread."""

def set_storage_classes(classes: dict[str, Any], /) -> None:
    """Register the classes of memory, borrow state and the order of work."""

def set_region_class(cls: type[Any], /) -> None:
    """Register the class of regions."""

def set_array_classes(classes: dict[str, Any], /) -> None:
    """Register the classes that describe arrays of other libraries."""

def set_import_classes(classes: dict[str, Any], /) -> None:
    """Register the functions for imported memory: of neighbours, and of earlier work."""

def find_import(device: object, owner: object, start: int, end: int, readonly: bool, /) -> Any:
    """Return the storage for the bytes start .. end - 1, which `owner` keeps alive.

    The same one for the same bytes while it lives, so that aliases share their borrow state.
    """

def include_import(storage: Storage, /) -> None:
    """Register our own exported memory, so that a re-import finds it."""

def meets_import(start: int, end: int, /) -> bool:
    """Return whether some of these addresses belong to imported memory in use."""

def are_apart(addresses: list[int], extents: bytes, written: int, /) -> bool:
    """Return whether written memory is used once, and all of it is unknown here.

    `extents` has the bytes before and behind each address; the first `written` are written.
    """

def run_external(
    plan: object, addresses: list[int], numbers: tuple[Any, ...], stream: Any, /
) -> bool:
    """Run a launch of a `CpuPlan` on memory of another library now; it is over then.

    False: its stream is busy, or it needs the slow path, and was not run.
    """

def count_imports() -> int:
    """Return the number of pieces of imported memory."""

@final
class Imported:
    """A managed tensor of another library, which was taken over."""

def take_capsule(capsule: object, /) -> Imported:
    """Consume a DLPack capsule; return the owner of its memory."""

def sweep_imports() -> None:
    """Call the deleters of consumed capsules that are no longer needed."""

def set_tensor_classes(classes: dict[str, Any], /) -> None:
    """Register the classes of tensors, and what they become."""

class Extent:
    """The bytes from `start` to before `end`; in a subclass perhaps only some of them."""

    start: int
    """The lowest byte address."""
    end: int
    """The byte address behind the last; the start, where there are no bytes."""
    is_dense: bool
    """Whether it is all the bytes from start to end."""

    def __init__(self, start: int, end: int) -> None: ...

@final
class Ticket:
    """One borrow, of an extent or (None) of all of the memory.

    One that came out of another (`parent`) does not end it by being used. Memory does not keep its
    borrows: one that is dropped is gone, and the one that it came out of stands again.
    """

    state: Final[Any]
    use: Final[Any]
    extent: Final[Any]
    parent: Final[Ticket | None]
    ended: Final[Any]
    """What ended it, where that was noted."""
    epoch: Final[int]
    @property
    def exclusive(self) -> bool: ...
    @property
    def by_epoch(self) -> bool:
        """Whether it stands while the epoch is the same: shared borrows of all of the memory, and
        those of launches that write all of it, which stand no longer than their parent."""

    @property
    def number(self) -> int:
        """What the state names it by, as `owner`."""

    def ended_by(self) -> Any:
        """Return the use that ended this borrow; None while it stands."""

    def reborrow(self, use: Any, extent: Extent | None = None, /) -> Ticket:
        """Reborrow exclusively, all of the memory or a part.

        This borrow gets it back when the new one ends.
        """

    def hand_back(self) -> None:
        """Return the memory to the borrow that it was reborrowed from, if any."""

def ticket_of_epoch(state: BorrowState, use: Any, parent: Ticket | None, epoch: int, /) -> Ticket:
    """Return the ticket of a launch that was borrowed by its epoch alone."""

class BorrowState:
    """Who may use a piece of memory; `native/core/memory_state.hpp` has the rules."""

    leases: tuple[Any, ...]
    neighbours: tuple[Any, ...]
    last_write: Any
    """Who last borrowed it exclusively."""
    extent: Any
    """All of the memory; known where there are neighbours."""

    @property
    def epoch(self) -> int:
        """How often the memory was borrowed exclusively."""

    @property
    def record(self) -> int:
        """The address of what launches know of it."""

    @property
    def slow_path(self) -> int:
        """Why it cannot be judged by numbers alone, as bits."""

    @property
    def owner(self) -> int:
        """The `number` of the exclusive borrow of all of it; 0: there is none."""

    @property
    def exclusive(self) -> Ticket | None:
        """The latest exclusive borrow of all of the memory that stands."""

    @property
    def writers(self) -> list[Ticket]:
        """Exclusive borrows of parts."""

    @property
    def readers(self) -> list[Ticket]:
        """Shared borrows of parts."""

    def share(
        self, use: Any, extent: Extent | None = None, parent: Ticket | None = None, /
    ) -> Ticket:
        """Borrow for reading: end exclusive borrows, except for ancestors of the parent."""

    def exclude(
        self, use: Any, extent: Extent | None = None, parent: Ticket | None = None, /
    ) -> Ticket:
        """Borrow for writing, or move: end all others, except for ancestors of the parent."""

    def rewrite(self, parent: Ticket, use: Any, /) -> Ticket:
        """Do as `reborrow`, for a launch, from whose borrow no other is taken.

        A borrow of all of the memory is identified by its epoch.
        """

    def write_all(self, use: Any, /) -> None:
        """End all borrows: all of the memory is written."""

    def read_all(self, use: Any, /) -> None:
        """End exclusive borrows: all of the memory is read."""

    def mark(self, reason: int, is_so: bool, /) -> None:
        """Return whether there is a reason for the slow path."""

    def noted_work(self) -> list[tuple[int, int, int, int, bool]]:
        """Return work that is noted by number; some may be over.

        The address of its timeline, its number there, the first byte it uses and the one behind the
        last, whether it writes them.
        """

    def has_noted_work(self) -> bool:
        """Return whether work is noted by number."""

    def forget_noted_work(self) -> None:
        """Drop the noted work: all of it is over."""

class Layout:
    """Element type, shape and strides, as regions need them."""

    low: int
    high: int
    covers: int
    number: Final[int]
    tilings: Final[dict[int | tuple[int, ...], Any]]
    """How it was cut lately, by the shape of tiles."""

class Tiling:
    """A layout cut into tiles."""

    number: Final[int]

class Storage:
    """A piece of memory. `owner` keeps it alive; None: there is no memory at all."""

    device: Any
    address: int
    nbytes: int
    owner: Any
    readonly: bool
    state: Any
    initialized: bool
    """Whether all of it has been written."""
    graphs: tuple[Any, ...]
    """Graphs that write it; some may be dead."""
    _written: Any

    def __init__(
        self,
        device: Any,
        address: int,
        nbytes: int,
        owner: object,
        *,
        readonly: bool = False,
        initialized: bool = True,
    ) -> None: ...
    @property
    def order(self) -> Any:
        """The work under way that uses it."""

    @property
    def is_meta(self) -> bool:
        """Whether there is no memory behind it, only a description."""

class Region(Extent):
    """A layout laid over memory. Launches read its record."""

    layout: Any
    storage: Any
    address: int
    kind: Final[int]
    """Equal for tensors of one layout on one device, aligned alike, and for no others."""
    is_whole: Final[bool]
    """Whether it is surely all of its storage, so that any use of that meets it."""

    def __init__(self, storage: Storage, layout: Layout, address: int) -> None: ...
    @property
    def record(self) -> int:
        """The address of what launches read of it."""

    @property
    def part(self) -> Any:
        """What borrows of it are of: itself, or None where that is all of its storage."""

class Title:
    """Ownership of a tensor, held by whoever owns it now."""

    given_up: bool
    """The owner was refused or failed: the handle before it may take the tensor back."""
    revoked: bool
    """The handle before it did."""
    former: list[Any]
    """Who gave the tensor away, weakly, one after the other, until work of the owner has run."""

    @property
    def has_former(self) -> bool:
        """Whether somebody is left who gave the tensor away and may get it back."""

class Handle:
    """A tensor as a variable holds it."""

    region: Any
    """The memory behind the tensor, for launchers and drivers."""
    _title: Any
    _view: Any
    ticket: Any
    """The borrow that a view or a part stands for, for launchers."""
    _lender: Any
    _moved: Any
    _owners: Any

    def __init__(
        self, region: Region, title: Title | None, view: Ticket | None = None, lender: Any = None
    ) -> None: ...
    @property
    def is_usable(self) -> bool:
        """Whether it was not moved away, and is no view whose borrow has ended."""

    @property
    def is_simply_owned(self) -> bool:
        """Whether it belongs to its variable, and to nobody else who is still there.

        Then it can be used, and work that was given it has nothing to settle.
        """

    @property
    def plain(self) -> Any:
        """Its region, if that is all of its memory and it is simply owned; else None."""

class Access:
    """Exclusive access to a tensor, whole or cut into tiles."""

    tensor: Any
    ticket: Final[Ticket]
    tiling: Any
    gone: Any
    is_owned: Final[bool]
    """Whether it took its tensor over; else it borrows."""

    def __init__(
        self, tensor: Handle, tiling: Tiling | None, ticket: Ticket, *, owned: bool = False
    ) -> None: ...

# Each of these gives None where the slow path must decide, and has done nothing then. `known` says
# where the program stands.

def borrow_exclusive(handle: Handle, what: str, known: Known, /) -> Ticket | None:
    """Borrow all of a tensor for writing."""

def partition_mut(handle: Handle, tile: object, known: Known, /) -> Any:
    """Borrow a tensor for writing, divided into tiles."""

def partition(handle: Handle, tile: object, hint: str, known: Known, /) -> Any:
    """Move a tensor into a partition into tiles."""

def take_over(handle: Handle, what: str, hint: str, known: Known, /) -> tuple[Any, Ticket] | None:
    """Move a tensor out of its handle: its title, and the exclusive borrow of its memory."""

def unpartition(partition: Access, known: Known, /) -> Any:
    """Turn a partition back into its tensor."""

def new_tensor(region: Region, /) -> Any:
    """Create a tensor that owns its memory."""

# The CPU. Jobs and scratch memory are given by their addresses.

FORKED: int
"""What calls answer in a child process, where the parent's pool is of no use."""
UNFINISHED: int
BUSY: int
"""What becomes of a job that runs on the calling thread: 0, it is over; time is up; not begun."""
JOB_WORDS: int
JOB_LAYOUT: Mapping[str, int]
"""Positions of the 64-bit words of a job, by the names of native/cpu/job.hpp."""
KEPT_SCRATCH: int
"""Scratch beyond this size is given back after the job, by every thread."""
COPY_KERNEL: int
TIME_KERNEL: int
"""Addresses of kernels: one copies as native/cpu/copy.hpp says, the other notes the time."""

def size_class(nbytes: int, /) -> int:
    """Return the size to allocate for a requested size: 8 steps to a power of two."""

@final
class PooledMemory:
    """Bytes of a pool, given back to it with this object."""

    address: Final[int]
    nbytes: Final[int]

class Allocate(Op):
    """Makes a tensor whose contents are arbitrary, or zero.

    The core makes those in memory that was used before; `execute_closely` makes all others.
    """

    _layout: Any
    _is_bound: bool
    _zeroed: bool

def new_allocate(
    name: str, layout: Layout, home: Any, is_bound: bool, is_zeroed: bool, is_lengthy: bool,
    known: Known, /,
) -> Any:  # fmt: skip
    """Make an op that makes a tensor, for a program at a location."""

def set_creating_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for ops that make tensors."""

class BlockPool:
    """Keeps memory that is unused, by size."""

    _exact: bool
    """Whether sizes are not rounded up: memory is used again for the very same size alone."""

    @property
    def unused(self) -> int:
        """How many bytes are kept."""

    def _take(self, nbytes: int, /) -> PooledMemory | None:
        """Return used memory of `nbytes` bytes, if there is any."""

    def _adopt(self, keeper: object, address: int, nbytes: int, size: int, /) -> PooledMemory:
        """Add memory from the system, which `keeper` keeps."""

    def _drop_oldest(self) -> tuple[object, int, int] | None:
        """Drop the least recently used free memory; return its owner, address and size."""

    def _counts(self) -> tuple[int, int, int, int]:
        """Return the bytes used and unused, and the maxima of used and of all."""

@final
class Reported:
    """A launch on CUDA that reports; called once it is over."""

    number: Final[int]
    """In its timeline."""
    timeline: Final[Any]
    """That of its stream."""
    held: Final[tuple[Any, ...]]
    """Its tensors, as `bind_tensors` gave them."""
    outcome: Any
    """What others hear of it by; None: nobody asked for one."""

    def __call__(self) -> None:
        """Deliver the report."""

def set_listing(classes: dict[str, Any], /) -> None:
    """Register where timelines list work."""

def set_report_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for launches that report."""

def cancel_job(job: int, /) -> None:
    """Stop a job, or a list of jobs, before its end."""

def set_listener(words: int, /) -> None:
    """Register the words that identify the thread which runs signal handlers."""

@final
class CpuPool:
    """What the streams of the CPU and their workers share."""

    workers: int
    """How many workers were started."""
    usual_threads: int
    """How many threads a launch may use where no `with` block has other settings in force."""

    def __new__(cls, alone: int) -> CpuPool: ...
    @property
    def address(self) -> int:
        """Where native code finds it."""

    @property
    def unfinished(self) -> int:
        """How many jobs were left unfinished by the threads that run them."""

    def serve(self) -> int:
        """Run as a worker, until `stop`."""

    def stop(self) -> int:
        """Stop running work, and end the workers."""

    def alert(self) -> int:
        """Count an alert now."""

    def wait_for_alert(self, seen: int, budget: int, /) -> int:
        """Sleep until the count of alerts is not `seen`, or a timeout; return the count."""

@final
class CpuStream:
    """The queue of a stream of the CPU."""

    def __new__(cls, pool: CpuPool) -> CpuStream: ...
    @property
    def address(self) -> int:
        """Where native code finds it."""

    @property
    def completed(self) -> int:
        """How many jobs have passed."""

    @property
    def submitted(self) -> int:
        """How many jobs were added."""

    def enqueue(self, job: int, /) -> int:
        """Add a job; return its number, or FORKED."""

    def enqueue_wait(self, other: CpuStream, number: int, /) -> int:
        """Add a wait until another stream has passed a number; as `enqueue`, or 0: no memory."""

    def run_inline(self, job: int, scratch: int, budget: int, /) -> int:
        """Add a job and run it here, if the stream is idle; return a status."""

    def resume(self, job: int, scratch: int, budget: int, /) -> int:
        """Continue a job of this thread, unless it is over; return a status."""

    def is_first(self, job: int, /) -> bool:
        """Return whether a job is the first one here."""

    def unfinished_of_caller(self) -> tuple[int, int] | None:
        """Return the job that this thread has left unfinished, and the bytes of its scratch."""

    def cancel_all(self) -> int:
        """Stop all jobs here before their end."""

    def wait(self, number: int, budget: int, /) -> int:
        """Sleep until `number` jobs have passed; return 1, 0 after a timeout, or FORKED."""

    def alert_at(self, number: int, /) -> int:
        """Count an alert once `number` jobs have passed; return 0, or FORKED."""

DLPACK_NAME: Final[int]
DLPACK_VERSIONED_NAME: Final[int]
"""Where the names of capsules are, for good."""
DLPACK_DELETER: int
DLPACK_DESTRUCTOR: int
DLPACK_VERSIONED_DELETER: int
DLPACK_VERSIONED_DESTRUCTOR: int
"""Addresses: what deletes a managed tensor of DLPack, and what destroys its capsule."""

XLA_INTERRUPTED: str
"""What XLA is told of a call that an interrupt has ended."""

@final
class XlaHandler:
    """A function of Python that XLA calls by way of ctypes; it always has a result."""

    def __new__(cls, function: Callable[[int], int]) -> XlaHandler: ...
    def __call__(self, frame: int, /) -> int: ...

# CUDA

CUDA_FUNCTIONS: Final[tuple[str, ...]]
"""Functions of the driver that native code calls, by the driver's names."""
CUDA_STATUS_BITS: Final[int]
"""A submission gives how many there were, shifted by so many bits, and how waiting ended."""

@final
class CudaDriver:
    """The driver's functions that are called all the time, by name: tests give others.

    Contexts, streams and events are the driver's handles, records and plans the addresses of their
    words. Each call makes the context current where it is not, and leaves the thread as it was.
    """

    def __new__(cls, addresses: dict[str, int]) -> CudaDriver: ...
    @property
    def address(self) -> int:
        """Where native code finds the table, which stays for good."""

    def open_queue(self, context: int, stream: int, /) -> int:
        """Register a stream for waits of others; return the address of its queue."""

    def close_queue(self, queue: int, /) -> None:
        """Unregister a stream: no other waits for it any more."""

    def launch(self, record: int, stream: int, /) -> int:
        """Launch the record at an address; return the driver's status."""

    def submit_launch(
        self,
        plan: int,
        uses: list[tuple[str, Location]] | None,
        user: str,
        known: Known,
        row: bytes,
        numbers: bytes,
        timeline: int,
        stream: int,
        budget: int,
        /,
    ) -> int:
        """Begin a launch, note its owner, submit it, and wait for it if there is a budget.

        Return how many pieces of work were submitted as work of the timeline, shifted by
        `CUDA_STATUS_BITS`, and how the wait ended; minus the status if the driver refused it; 0 if
        it could not begin.
        """

    def record_event(self, context: int, event: int, stream: int, /) -> int:
        """Record an event on a stream; return the status."""

    def query_event(self, context: int, event: int, /) -> int:
        """Return whether an event has passed, as a status."""

    def query_stream(self, context: int, stream: int, /) -> int:
        """Return whether all work of a stream is done, as a status."""

    def drain(self, context: int, stream: int, budget: int, /) -> int:
        """Wait until all work of a stream is done, or for a timeout."""

    def await_event(self, context: int, event: int, budget: int, /) -> int:
        """Wait until an event has passed, or for a timeout."""

    def await_any(
        self, context: int, events: int, count: int, word: int, seen: int, budget: int, /
    ) -> int:
        """Wait until an event has passed, a word is not `seen`, or for a timeout."""

def set_launch_trace(function: Callable[..., Any], /) -> None:
    """Say what traces are told of launches."""

def set_process(tracing: Any, threads: Any, submissions: Any, tell: Any, /) -> None:
    """Register where traces, ops started by threads, and waits for submission are noted."""

def set_cuda_stream(
    stream: type, context: type, timeline: type, callbacks: type, many: int, /
) -> None:
    """Register the classes of CUDA streams, contexts, timelines and completion callbacks.

    A stream that keeps `many` objects alive releases those that have passed.
    """

# Ops

class Op:
    """An op: where it was built, and who has used it. Says so if it is dropped unused."""

    _built: Location
    _used: tuple[str, Location] | tuple[()]

    def claim(self, user: str, known: Known = 0, /) -> None:
        """Mark this op as used; a second use raises and names the first. It is thread-safe.

        `known` callers are Tilewright's own.
        """

    def claim_at(self, user: str, location: Location, /) -> None:
        """Claim it, for a program at a known location."""

    def spend(self) -> None:
        """Release the parts of the op: it has run, and may stay in a variable."""

def new_op(cls: type[Op], /, *args: Any, **named: Any) -> Any:
    """Create an op of a class, with the line that builds it; the rest goes to its `__init__`."""

def is_op(x: object, /) -> bool:
    """Return whether an object is an op."""

def has_op(values: Iterable[object], /) -> bool:
    """Return whether one of some values is an op."""

def set_op_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for ops of all kinds."""

class Context:
    """What an op is given when it runs. The class that extends it types what it has."""

def call_function(
    verb: str, function: Callable[..., Any], value: Any, extra: tuple[Any, ...], ctx: Context, /
) -> Any:
    """Call a function with an op's result, then the arguments bound when building.

    Only a result that is exactly a tuple is unpacked. The number of arguments is checked before.
    """

def admit(made: object, verb: str, ctx: Context, given: object, /) -> Any:
    """Claim an op that a function made, if it may run here; return it."""

def set_call_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for calls."""

LINK_MAP: Final[int]
LINK_INSPECT: Final[int]
LINK_THEN: Final[int]
LINK_THEN_UNCHECKED: Final[int]
LINK_METHOD: Final[int]
LINK_METHOD_OP: Final[int]
"""What a link does with a result: gives what a function makes of it; shows it to a function; goes
on with the op that a function makes, which may run ops or not; gives what a method of the result
gives, or goes on with the op that it gives."""

class Link(Op):
    """A link of a chain: goes on with the result of an op."""

    effect: bool
    host_data: bool
    made_of: Any
    spent: bool
    _recipe: Final[int]
    _function: Any
    _pledges: Sequence[Any]
    _result_count: int | None

    @property
    def name(self) -> str:
        """The name of what it follows and its own verb: `neg.map`."""

    @property
    def home(self) -> Any:
        """Where what it follows must run."""

    def spend(self) -> None:
        """Release its function: it has run."""

def link(
    source: Op, recipe: int, verb: str, function: object, extra: tuple[Any, ...], known: Known, /
) -> Any:
    """Create a link that continues with the result of an op, by a recipe.

    `function` is the name of a method where the recipe calls one.
    """

def join_names(name: str, verb: str, /) -> str:
    """Join the name of an op and that of a link behind it; abridge a very long one."""

def set_link_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for links."""

@final
class Progress(Generic[_T_co]):
    """An op that is being run, up to the next event that must be waited for."""

    def __new__(cls, op: Op, ctx: Context) -> Progress[Any]: ...
    @property
    def ctx(self) -> Any:
        """What its ops are given."""

    @property
    def result(self) -> _T_co:
        """What the op gave; there when `advance` has returned None."""

    def advance(self) -> Any:
        """Continue until an event must be waited for, and return it, or until the result: None.

        Call it again only when the event has passed. Errors of the op are raised here: then the
        caller must `abandon` it.
        """

    def abandon(self) -> None:
        """Cancel what has not been started, which returns its arguments; started work continues."""

def run_op(op: Op, ctx: Context, /) -> Any:
    """Run an op to its result, waiting for events on the calling thread; work may be in flight."""

def set_run_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for running ops."""

def set_ending_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for endings."""

# Launches and graphs

class Launch(Op):
    """A kernel with its arguments. Its endings and `execute` are those of the class extending it.

    Where something needs a closer look, those are the endings of all ops.
    """

    _args: tuple[Any, ...]
    _held: Any
    _examined: Any
    _kernel: Any
    _numbers: Sequence[Any]
    _request: Any
    _keywords: Mapping[str, Any]
    _pledges: Sequence[Any]
    effect: bool
    staged: bool
    host_data: bool
    made_of: Any

    def _defer(self) -> None:
        """Defer the launch until its argument ops have run: borrow the others, claim these."""

class RawLaunch(Launch):
    """A function of a module with its arguments: a launch that gives None."""

@final
class LaunchSteps:
    """The steps of a launch whose arguments are ops: these, then the kernel."""

    def throw(self, error: BaseException, /) -> Any:
        """Raise an error at the current step."""

    def close(self) -> None:
        """Cancel it."""

class Outputs:
    """Takes the outputs of a launch out of its results: one tensor, or a tuple of them.

    What is no plain partition is left to `one`.
    """

    result_count: int
    """How many results it is given."""

    def __init__(self, written: tuple[int, ...], count: int) -> None:
        """Take the results at these places."""

    def __call__(self, *results: Any) -> Any:
        """Return the outputs."""

def set_outputs_class(cls: type[Outputs], /) -> None:
    """Register the class of those whose results are partitions."""

class Pledge:
    """The borrow of one thing that an op was given."""

    ends_nothing: bool
    """Whether no other borrow can have ended by it."""
    given: Any
    """What the op was given: a tensor, a partition, an exclusive borrow, an Arc or an array."""
    region: Any
    """Its memory."""
    ticket: Any
    """The borrow."""
    _op: str

def set_defer_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for launches that wait for argument ops."""

class Entry:
    """A kernel as it is called. What needs a closer look is left to `_call_slowly`."""

    kernel: Any
    _launch_class: type[Launch]

    def call_at(self, location: Location, args: tuple[Any, ...], /) -> Any:
        """Call it with these arguments, for a program at a known location."""

    def _set_launches(self, cls: type[Launch], /) -> None:
        """Register the class of its launches."""

class Kernel:
    """A kernel, as its launches need it."""

    guard: ContextVar[bool] | None
    """What must be true where launches are built."""
    plain: Any
    """What binds most calls, and borrows too; None: all need a closer look."""
    bare: Any
    """What calls without keywords ask, if that is known."""
    _latest: tuple[Any, ...] | None
    """The keywords of the last call, and what it asked for."""

    def _set_calls(
        self,
        places: tuple[tuple[str, bool, bool], ...],
        numbers: tuple[tuple[Any, ...], ...],
        optional: tuple[int, ...] | None,
        /,
    ) -> None:
        """Register how calls pass its arguments: by position or keyword, and which may be None.

        `places` are names, whether each may be passed by name, and omitted; `numbers` are names,
        and defaults if there are any.
        """

class Binder:
    """Binds plain calls of one kernel."""

    call: int
    """The address of what binding takes, as `BindWord` says."""
    number_places: bytes
    """Which arguments are numbers: 64-bit words."""

class Graph:
    """Work that was captured. What needs a closer look is left to `_launch_slowly`."""

    _memory: Any
    _replay: Any
    device: Any
    name: str
    prepared: list[Any]

class GraphLaunch(Op):
    """Runs a graph's work once. Its endings are those of the class that extends it."""

    _graph: Any
    _of: str
    _home: Any

@final
class Started:
    """Work that was put on a stream of the CPU; called once the stream has passed it."""

    number: Final[int]
    """In its timeline."""
    outcome: Final[Any]
    """What others hear of it by; None: it reports nothing."""

    def __call__(self) -> None:
        """Note that it is over."""

def undo_lost() -> None:
    """Undo what was done for results that an interrupt dropped on their return."""

def next_of(iterator: Iterator[_T], /) -> _T:
    """Take the next item of an iterator that threads share."""

def stream_for(op: Op, /) -> Any:
    """Choose the stream of an op that names none."""

def set_choosing(how: dict[str, Any], /) -> None:
    """Register how streams are chosen for ops that name none."""

def set_cpu_classes(classes: dict[str, Any], /) -> None:
    """Register the layout of CPU streams and of records of their work."""

def set_launch_classes(classes: dict[str, Any], /) -> None:
    """Register the layout of the objects that launches use."""

def set_cuda_launch_classes(classes: dict[str, Any], /) -> None:
    """Register the classes for launches on CUDA."""

def set_graph_classes(classes: dict[str, Any], /) -> None:
    """Register the layout of the objects that graphs use."""
