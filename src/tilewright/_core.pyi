# ruff: noqa: PYI021 - what the functions do is said here, where editors find it
"""The native core. Python composes and explains; this decides.

Arguments that are addresses of records are ints; `devices.stub.words` names the words of these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, Final, Generic, TypeAlias, TypeVar, final

_T_co = TypeVar("_T_co", covariant=True)

Location: TypeAlias = tuple[CodeType, int] | None
Known: TypeAlias = int | tuple[CodeType, int]
"""How many frames are Tilewright's own for certain, or where the program stands."""

def set_ours(table: dict[str, bool], /) -> None:
    """Say by which dict files are told to be Tilewright's own."""

def location(known: Known = 0, /) -> Location:
    """Find the innermost frame that is not Tilewright's own, `known` frames up or further."""

def slot_offset(cls: type, name: str, /) -> int:
    """Find where objects of a class, and of those that come from it, keep a slot."""

def is_shape(shape: object, least: int, rank: int, /) -> bool:
    """Tell whether something is a shape as it is: a tuple of ints, at most so many, none of them
    below the least."""

def bytes_address(text: bytes, /) -> int:
    """Find where the contents of bytes are."""

def bind_tensors(plan: int, arguments: tuple[Any, ...], known: Known, /) -> tuple[Any, ...] | None:
    """Borrow the tensors that a kernel was given, by a `CallWord` plan; None: look closer.

    Gives the records of the tensors, which keep their memory, the use that is noted with what is
    written, the row, and what is known of launches of their kinds. That is None where they are not
    those of the last launch, and then nothing is borrowed.
    """

def borrow_exclusive(plan: int, record: bytes, what: str, known: Known, /) -> Any:
    """Borrow all of a tensor for writing, by an `ExclusiveWord` plan: a ticket.

    None: parts of the memory are borrowed or it has neighbours, and nothing was done.
    """

SLOW_PATH: Final[int]
"""What `reserve` gives where Python must look closer;"""
PENDING_WORK: Final[int]
"""where Python keeps an account of work that may be over: look through that, and ask again."""
LISTED: Final[int]
"""How work begins, as bits: Python lists it;"""
FOLLOWING: Final[int]
"""it comes after all that Python keeps account of."""

def reserve(row: bytes, written: int, count: int, timeline: int, how: int, /) -> int:
    """Begin work whose borrows still stand; its number, or below 0: why not."""

def reborrow(row: int, written: int, count: int, timeline: int, /) -> int:
    """Borrow the memory of a replay again, and begin its work; as `reserve`."""

def write_addresses(row: bytes, count: int, slots: int, places: int, /) -> None:
    """Write the address of each tensor to the slot that `places` has for it."""

def note_submitted(timeline: int, /) -> None:
    """Count work that was put on its stream, or will not be."""

def note_passed(timeline: int, number: int, /) -> None:
    """Count all work up to a number as over, but for what is listed."""

def reap(timeline: int, /) -> int:
    """Find up to which number all work is over."""

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

def cancel_job(job: int, /) -> None:
    """Have a job, or a list of jobs, not run to its end."""

def set_listener(words: int, /) -> None:
    """Say where the words are that tell of the thread which runs the handlers of signals."""

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
        """Be a worker, until `stop`."""

    def stop(self) -> int:
        """Run nothing any more, and send workers home."""

    def alert(self) -> int:
        """Count an alert now."""

    def wait_for_alert(self, seen: int, budget: int, /) -> int:
        """Sleep until the count of alerts is not `seen`, or so many nanoseconds; the count."""

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
        """Add a job; its number, or FORKED."""

    def enqueue_wait(self, other: CpuStream, number: int, /) -> int:
        """Add a wait until another stream has passed a number; as `enqueue`, or 0: no memory."""

    def run_inline(self, job: int, scratch: int, budget: int, /) -> int:
        """Add a job and run it here, if the stream is idle: a status."""

    def resume(self, job: int, scratch: int, budget: int, /) -> int:
        """Go on with a job of this thread, unless it is over: a status."""

    def is_first(self, job: int, /) -> bool:
        """Say whether a job is the first one here."""

    def unfinished_of_caller(self) -> tuple[int, int] | None:
        """The job that this thread has left unfinished here, and the bytes of its scratch."""

    def cancel_all(self) -> int:
        """Have nothing here run to its end."""

    def wait(self, number: int, budget: int, /) -> int:
        """Sleep until so many jobs have passed: 1, or 0: time is up, or FORKED."""

    def alert_at(self, number: int, /) -> int:
        """Have the pool count an alert once so many jobs have passed: 0, or FORKED."""

DLPACK_NAME: Final[int]
DLPACK_TAKEN_NAME: Final[int]
DLPACK_VERSIONED_NAME: Final[int]
DLPACK_VERSIONED_TAKEN_NAME: Final[int]
"""Where the names of capsules are, for good: before and after their tensors were taken over."""
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
CUDA_EAGER: Final[int]
"""Nanoseconds in which a thread that waits for a stream or an event does not sleep."""

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
        """Make a stream one that others can wait for; gives the address of what they need."""

    def close_queue(self, queue: int, /) -> None:
        """Take that back: nobody will wait any more."""

    def launch(self, record: int, stream: int, /) -> int:
        """Launch what the words at an address say; the driver's status."""

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
        """Begin a launch, note who does, submit it, and wait for it if there is a budget.

        Gives how many pieces of work were submitted as work of the timeline, shifted by
        `CUDA_STATUS_BITS`, and how the waiting ended; minus the status if the driver refused it;
        0 if it could not begin as it is.
        """

    def submit_begun(self, record: int, timeline: int, stream: int, unsubmitted: int, /) -> int:
        """Submit a launch, as work of a timeline that was begun.

        Gives how many were submitted so, or minus the status. The word at `unsubmitted` is 0 then.
        """

    def submit_graph(
        self,
        context: int,
        record: int,
        graph: int,
        memory: int,
        uses: list[tuple[str, Location]] | None,
        user: str,
        known: Known,
        built: Location,
        timeline: int,
        stream: int,
        budget: int,
        /,
    ) -> int:
        """Begin a run of a graph, or of the one kernel it consists of, as `submit_launch` does."""

    def record_event(self, context: int, event: int, stream: int, /) -> int:
        """Record an event on a stream; the status."""

    def query_event(self, context: int, event: int, /) -> int:
        """Whether an event has passed, as a status."""

    def query_stream(self, context: int, stream: int, /) -> int:
        """Whether all on a stream is done, as a status."""

    def drain(self, context: int, stream: int, budget: int, /) -> int:
        """Wait until all on a stream is done, or so many nanoseconds."""

    def await_event(self, context: int, event: int, budget: int, /) -> int:
        """Wait until an event has passed, or so many nanoseconds."""

    def await_any(
        self, context: int, events: int, count: int, word: int, seen: int, budget: int, /
    ) -> int:
        """Wait until one of many events has passed, a word is not `seen`, or so long."""

def set_process(tracing: Any, threads: Any, puts: Any, tell: Any, /) -> None:
    """Say where tracing, the ops that threads start, and waiting for submissions are noted."""

def set_cuda_stream(stream: type, lane: type, dues: type, many: int, /) -> None:
    """Say what streams of CUDA, their lanes and completion callbacks are.

    A stream that keeps `many` things alive lets go of what has passed.
    """

# Ops

class Op:
    """An op: where it was built, and who has used it. Says so if it is dropped unused."""

    _built: Location
    _uses: list[tuple[str, Location]]

    def claim(self, user: str, known: Known = 0, /) -> None:
        """Mark this op as used; a second use raises and names the first. Safe from any thread.

        So many callers are known to be Tilewright's own.
        """

    def claim_at(self, user: str, spot: Location, /) -> None:
        """Claim it, where the program is known to stand."""

    def spend(self) -> None:
        """Let go of what the op was made of: it has run, and may stay in a variable for long."""

def new_op(cls: type[Op], /, *args: Any, **named: Any) -> Any:
    """Make an op of a class, and remember the line that builds it; what else is given is for its
    `__init__`."""

def is_op(x: object, /) -> bool:
    """Tell whether an object is an op."""

def has_op(values: Iterable[object], /) -> bool:
    """Tell whether one of some values is an op."""

def set_op_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for ops of all kinds."""

class Context:
    """What an op is given when it runs. The class that extends it types what it has."""

def call_function(
    verb: str, function: Callable[..., Any], value: Any, extra: tuple[Any, ...], ctx: Context, /
) -> Any:
    """Call a function with an op's result, then the arguments bound when building.

    Only a result that is exactly a tuple is taken apart. How many arguments the function takes is
    checked before.
    """

def admit(made: object, verb: str, ctx: Context, given: object, /) -> Any:
    """Mark an op that a function made as used, if it may run here; gives it."""

def set_call_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for calls."""

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
        """Let go of its function: it has run."""

def link(
    source: Op, recipe: int, verb: str, function: object, extra: tuple[Any, ...], known: Known, /
) -> Any:
    """Make a link that goes on with the result of an op, by a recipe.

    `function` is the name of a method where the recipe calls one.
    """

def join_names(name: str, verb: str, /) -> str:
    """Join the name of an op and that of a link behind it; a very long one is told in part."""

def set_link_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for links."""

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
        """Go on until an event must be waited for, which is given, or the result is there: None.

        Whoever calls again must have seen the event pass. Errors of the op are raised here: then
        the caller must `abandon` it.
        """

    def abandon(self) -> None:
        """Give up what has not been started yet, which gives back what it was given; what has been
        started goes on."""

def run_op(op: Op, ctx: Context, /) -> Any:
    """Run an op to its result, waiting for events on the calling thread; work may be in flight."""

def set_run_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for running ops."""

def set_ending_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for endings."""

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
        """Have it wait for its argument ops: borrow the others, and mark these as used."""

@final
class LaunchSteps:
    """The steps of a launch whose arguments are ops: these, then the kernel."""

    def throw(self, error: BaseException, /) -> Any:
        """Raise an error where it stands."""

    def close(self) -> None:
        """Give it up."""

def set_defer_classes(classes: dict[str, Any], /) -> None:
    """Say what Python has for launches that wait for argument ops."""

class Entry:
    """A kernel as it is called. What needs a closer look is left to `_call_slowly`."""

    kernel: Any
    _launch_class: type[Launch]

    def call_at(self, location: Location, args: tuple[Any, ...], /) -> Any:
        """Call it with these arguments, for a program that stands there."""

    def _set_launches(self, cls: type[Launch], /) -> None:
        """Say of which class its launches are."""

class Kernel:
    """A kernel, as its launches need it."""

    plain: Any
    """What binds most calls, and borrows too; None: all need a closer look."""
    bare: Any
    """What calls without keywords ask, if that is known."""

class Binder:
    """Binds plain calls of one kernel."""

    call: int
    """The address of what binding takes, as `CallWord` says."""
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

    def __call__(self) -> None:
        """Take note that it is over."""

def undo_lost() -> None:
    """Undo what was done for results that an interrupt has dropped as they were returned."""

def stream_for(op: Op, /) -> Any:
    """Choose the stream of an op that is told none."""

def set_choosing(how: dict[str, Any], /) -> None:
    """Say how streams are chosen for ops that name none."""

def set_cpu_classes(classes: dict[str, Any], /) -> None:
    """Say how streams of the CPU and records of their work are laid out."""

def set_launch_classes(classes: dict[str, Any], /) -> None:
    """Say how what launches meet is laid out."""

def set_graph_classes(classes: dict[str, Any], /) -> None:
    """Say how what graphs meet is laid out."""
