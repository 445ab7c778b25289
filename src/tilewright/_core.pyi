# ruff: noqa: PYI021 - what the functions do is said here, where editors find it
"""The native core. Python composes and explains; this decides.

Arguments that are addresses of records are ints; `driver.stub.words` names the words of these.
"""

from types import CodeType
from typing import Any, Final, TypeAlias

Location: TypeAlias = tuple[CodeType, int] | None
Known: TypeAlias = int | tuple[CodeType, int]
"""How many frames are Tilewright's own for certain, or where the program stands."""

def set_ours(table: dict[str, bool], /) -> None:
    """Say by which dict files are told to be Tilewright's own."""

def location(known: Known = 0, /) -> Location:
    """Find the innermost frame that is not Tilewright's own, `known` frames up or further."""

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

CPU_UNFINISHED: Final[int]
"""What is told of work that ran, as bits below its number: time is up, it must be resumed;"""
CPU_QUIET: Final[int]
"""it is over, and has nothing to report."""
CPU_TOLD_BITS: Final[int]

def cpu_submit(
    uses: list[Any] | None,
    user: str,
    known: Known,
    timeline: int,
    stream: int,
    job: int,
    plan: int,
    row: bytes,
    numbers: bytes,
    /,
) -> int:
    """Put a launch behind what is on its stream; its number in the timeline.

    0: it needs a closer look, and nothing was done.
    """

def cpu_run(
    uses: list[Any] | None,
    user: str,
    known: Known,
    timeline: int,
    stream: int,
    job: int,
    scratch: int,
    budget: int,
    plan: int,
    row: bytes,
    numbers: bytes,
    /,
) -> int:
    """Run a launch on this thread, if its stream is idle; its number, and what is told of it.

    0: it needs a closer look, and nothing was done.
    """

def cpu_replay(
    uses: list[Any] | None,
    user: str,
    known: Known,
    timeline: int,
    stream: int,
    job: int,
    scratch: int,
    budget: int,
    memory: int,
    built: Location,
    /,
) -> int:
    """Run a replay on this thread, as `cpu_run` does a launch."""
