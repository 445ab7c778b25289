"""The native core. Python composes and explains; this decides."""

from types import CodeType
from typing import Any, Final, final

def set_ours(table: dict[str, bool], /) -> None:
    """Say by which dict files are told to be Tilewright's own."""

def location(known: int, /) -> tuple[CodeType, int] | None:
    """Find the innermost frame that is not Tilewright's own, `known` frames up or further."""

# CUDA

CUDA_FUNCTIONS: Final[tuple[str, ...]]
"""Functions of the driver that native code calls, by the driver's names."""
CUDA_STATUS_BITS: Final[int]
"""What a submission gives is how many there were, shifted by so many bits, and how waiting ended."""
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

    def launch(self, record: int, stream: int, /) -> int:
        """Launch what the words at an address say; the driver's status."""

    def submit_launch(
        self,
        plan: int,
        uses: list[tuple[str, _Location]] | None,
        user: str,
        known: int | tuple[CodeType, int],
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
        uses: list[tuple[str, _Location]] | None,
        user: str,
        known: int | tuple[CodeType, int],
        built: _Location,
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

def cuda_text_entries() -> dict[str, int]:
    """Addresses for the text of launches."""
