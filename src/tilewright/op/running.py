"""Drives an op to its result: a stack of generators, which ask for ops to run and events to pass.

The stack is a list, not Python's own, so that chains may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ..base.errors import Error
from ..driver.protocol import Event
from .context import MOST_NAMED, ExecutionContext
from .nesting import THREAD
from .outcome import Outcome, whereabouts
from .slips import Slips

if TYPE_CHECKING:
    from .core import DeviceOp

T = TypeVar("T")

Steps: TypeAlias = "Generator[Event | DeviceOp[Any], Any, T]"
"""An op under way. It yields an op to have it run and be sent its result, or an event to go on
when that has passed; it returns its own result."""


class Progress(Generic[T]):
    """An op that is being run, up to the next event that must be waited for."""

    __slots__ = ("_entered", "_name", "_running", "_steps", "ctx", "result")

    result: T
    """What the op gave; there when `advance` has returned None."""

    def __init__(self, op: DeviceOp[T], ctx: ExecutionContext) -> None:
        self.ctx = ctx
        self._name = op.name
        self._entered: DeviceOp[Any] | None = op
        self._steps: list[Steps[Any]] = []
        self._running: list[DeviceOp[Any]] = []

    def advance(self) -> Event | None:
        """Go on until an event must be waited for, which is given, or the result is there.

        Whoever calls again must have seen the event pass. Errors of the op are raised here.
        """
        around, self.ctx.running = self.ctx.running, self._running
        outer = THREAD.starting
        THREAD.starting = self._name
        try:
            return self._go_on()
        except BaseException:
            self.abandon()
            raise
        finally:
            THREAD.starting = outer
            self.ctx.running = around

    def abandon(self) -> None:
        """Give up what has not been started yet; what has, goes on."""
        while self._steps:
            self._steps.pop().close()
            self._running.pop()

    def _go_on(self) -> Event | None:
        op, self._entered = self._entered, None
        answer: Any = None
        error: Exception | None = None
        while True:
            if op is not None:
                answer, error = self._enter(op)
            if not self._steps:
                break
            asked, answer, error = self._resume(answer, error)
            if asked is None or isinstance(asked, Slips):
                op = asked
            else:
                return asked
        if error is not None:
            raise error
        self.result = answer
        return None

    def _enter(self, op: DeviceOp[Any]) -> tuple[Any, Exception | None]:
        """Run an op that has no steps, or begin with its steps."""
        ctx = self.ctx
        try:
            if not op.staged:
                return op.execute(ctx), None
            self._steps.append(op.steps(ctx))
            self._running.append(op)
        except Exception as error:
            return None, named(error, op)
        return None, None

    def _resume(
        self, answer: Any, error: Exception | None
    ) -> tuple[Event | DeviceOp[Any] | None, Any, Exception | None]:
        """Hand the innermost steps what they asked for: gives what they ask next, or their end."""
        steps = self._steps[-1]
        try:
            return steps.send(answer) if error is None else steps.throw(error), None, None
        except StopIteration as stop:
            self._steps.pop()
            self._running.pop()
            return None, stop.value, None
        except Exception as raised:
            self._steps.pop()
            return None, None, named(raised, self._running.pop())


def named(error: Exception, op: DeviceOp[Any]) -> Exception:
    """The error, with a note that it passed this op; a long chain is not named in full."""
    if len(getattr(error, "__notes__", ())) < MOST_NAMED:
        error.add_note(whereabouts(op.name, op.built))
    return error


def run_here(op: DeviceOp[T], ctx: ExecutionContext) -> T:
    """Run an op to its result, waiting for events on the calling thread; work may be in flight."""
    progress = Progress(op, ctx)
    while (event := progress.advance()) is not None:
        if ctx.is_capturing:
            progress.abandon()
            raise Error(
                f"`{op.name}` gives host data, which a graph cannot wait for",
                hint="end the captured part before it, and read the result after graph.launch()",
            )
        event.wait()
    return progress.result


def finish(ctx: ExecutionContext) -> None:
    """Wait until the device has passed the work put on the stream, and raise its first error."""
    stream = ctx.stream
    if not stream.idle():
        stream.record().wait()
    if ctx.outcomes:
        stream.sweep()
        raise_first_error(ctx.outcomes)


def raise_first_error(outcomes: Sequence[Outcome]) -> None:
    """Raise the first error of work that is done; what failed after it failed because of it."""
    failed = [outcome for outcome in outcomes if outcome.failed()]
    for outcome in failed:
        outcome.observed = True
    if failed:
        failed[0].check()
