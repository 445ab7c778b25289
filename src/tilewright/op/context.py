"""What an op is given when it runs: the stream its work goes on, and what to make of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .._core import Context
from ..base.shield import HERE, concluded
from ..devices.protocol import Device, Stream
from .outcome import Outcome, Trail
from .place import Location
from .settling import Settle, Settling, Undo

if TYPE_CHECKING:
    from ..tensors.recording import Recording
    from .core import DeviceOp
    from .lazy import Lazy

T = TypeVar("T")

MOST_NAMED = 8
"""Ops that an error names; a chain may have thousands."""
_MAKING = threading.Lock()


class ExecutionContext(Context):
    """Handed to `DeviceOp.execute`: all ops of one chain get the same one."""

    __slots__ = ()

    runner: ClassVar[Callable[[Any, ExecutionContext], Any]]
    """Runs an op in a context. A context knows nothing of ops: the package puts them together."""

    if TYPE_CHECKING:  # native code looks at these, and has them
        stream: Stream
        """Where work is put."""
        waits: bool
        """The host waits at the end, so work may as well run on the calling thread."""
        detached: bool
        """No caller waits for the work: ops that borrow are refused."""
        in_flight: bool
        """The result is given before the work is done: ops that give host data are refused."""
        on_loop: bool
        """The calling thread runs an event loop: lengthy starts go to another thread."""
        outcomes: list[Outcome]
        """What became of the work started so far, in order."""
        recording: Recording | None
        """While capturing: what is recorded, beside the work itself."""
        setup: Stream | None
        """While capturing: the stream on which memory is made ready; None: it must not be."""
        made: Sequence[object]
        """If detached: the results of ops run by `run`, which the op owns."""
        lent: list[object] | None
        """While the result is to be shared: what ops were passed that belongs to somebody else."""
        settling: Settling | None
        """What was given to ops that have run, until it is known that none after them fails, and
        that the result has reached who asked for it."""
        running: Sequence[Lazy[Any]]
        """The ops that are under way, each run for the one before it."""
        ended_at: Location
        """Where the program stands that runs them; None: it is to be found out."""

        def __init__(self, stream: Stream, waits: bool = False) -> None: ...

        def whence(self) -> Location:
            """Return the location in the program that runs the current ops."""
            ...

    @property
    def device(self) -> Device:
        """The device the stream belongs to."""
        return self.stream.device

    @property
    def is_capturing(self) -> bool:
        """Whether work is recorded for a graph instead of run."""
        return self.recording is not None

    def settle_later(self, settle: Settle) -> None:
        """Register a function to call with the outcome once all work has run and returned."""
        self._settling().add(settle)

    def end(self, *, failed: bool) -> None:
        """End the work of this context, which has succeeded or failed.

        Its ending may fail, by an interrupt, while its launches run: what they were given goes back
        when they are over.
        """
        if failed or self.settling is not None:
            self._settling().end(failed=failed)

    def _settling(self) -> Settling:
        with _MAKING:  # a stream may be passed in another thread while the ending fails in this one
            if self.settling is None:
                self.settling = Settling()
            return self.settling

    def deliver(self) -> None:
        """End the work with success; the caller returns the result with no call in between.

        No signal handler runs from here until the caller has the result: an exception from one
        would lose the result and what was given for it.
        """
        if self.settling is not None:
            concluded(self.settling.end, failed=False)

    def deliver_by_core(self) -> Undo | None:
        """Do as `deliver`, where the core returns the result.

        Handlers run behind it, and the core undoes it if no caller got the result.
        """
        if self.settling is None:
            return None
        undo = self.settling.undo() if HERE.unshielded else None  # other threads run no handlers
        concluded(self.settling.end, failed=False)
        return undo

    def borrowed(self, *values: object) -> None:
        """Note that an op returns what it borrowed: sharing the result must not take it over."""
        if self.lent is not None:
            self.lent += values

    def creating(self, name: str) -> ExecutionContext:
        """Return the context in which the op `name` may allocate and fill memory: mostly this one.

        A captured op allocates at once, outside the graph; a graph scope refuses.
        """
        if self.recording is None:
            return self
        if self.setup is None:
            self.recording.refuse_allocation(name)
        making = ExecutionContext(self.setup)
        making.outcomes = self.outcomes  # reported when the graph is launched
        return making

    def run(self, op: DeviceOp[T]) -> T:
        """Run another op as part of the one that has this context, on its stream; gives the result.

        The result is in flight, as everything in `execute`; for host data it waits.
        """
        result: T = type(self).runner(op, self)
        return result

    def outcome(self, op: Lazy[Any]) -> Outcome:
        """Return the outcome of work that an op is about to start; the ending checks it."""
        outcome = Outcome(self.trail(op))
        self.outcomes.append(outcome)
        return outcome

    def trail(self, op: Lazy[Any]) -> Trail:
        """Return an op and those it runs for, as errors name them."""
        around = [each for each in reversed(self.running[-MOST_NAMED:]) if each is not op]
        return tuple((each.name, each.built) for each in (op, *around))
