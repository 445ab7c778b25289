"""Drives an op to its result: a stack of generators, which ask for ops to run and events to pass.

The stack is a list, not Python's own, so that chains may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ..base.errors import SchedulingError
from .context import MOST_NAMED, ExecutionContext
from .nesting import THREAD
from .outcome import Outcome, note_once, whereabouts
from .place import Spot
from .signals import Awaited, Signal
from .slips import Slips
from .trace import Tracing

if TYPE_CHECKING:
    from .lazy import Lazy

T = TypeVar("T")

Steps: TypeAlias = "Generator[Awaited | Lazy[Any], Any, T]"
"""An op under way. It yields an op to have it run and be sent its result, or an event to go on
when that has passed; it returns its own result."""


ELSEWHERE = Signal()
"""Where an event loop must not be kept busy: go on at once, elsewhere. Steps may yield it too, if
`ctx.on_loop`."""


class Progress(Generic[T]):
    """An op that is being run, up to the next event that must be waited for."""

    __slots__ = (
        "_ended_at", "_entered", "_name", "_op", "_stack", "_waited", "ctx", "result",
    )  # fmt: skip

    result: T
    """What the op gave; there when `advance` has returned None."""

    def __init__(self, op: Lazy[T], ctx: ExecutionContext) -> None:
        self.ctx = ctx
        self._op = op
        self._name = op.name
        self._entered: Lazy[Any] | None = op
        self._stack: list[tuple[Lazy[Any], Steps[Any] | None]] = []
        """The ops that are under way, with their steps; None: it is a link of a chain. One list, so
        that an interrupt leaves no op without its steps."""
        self._waited = False
        self._ended_at: Spot = None

    def advance(self) -> Awaited | None:
        """Go on until an event must be waited for, which is given, or the result is there.

        Whoever calls again must have seen the event pass. Errors of the op are raised here: then
        the caller must `abandon` it.
        """
        ctx = self.ctx
        around = ctx.running, ctx.ended_at
        ctx.running, ctx.ended_at = self._stack, self._ended_at
        names, me = THREAD.names, get_ident()
        outer = names.get(me)
        try:
            names[me] = self._name
            return self._go_on()
        finally:
            if outer is None:
                names.pop(me, None)
            else:
                names[me] = outer
            self._ended_at = ctx.ended_at
            ctx.running, ctx.ended_at = around

    def abandon(self) -> None:
        """Give up what has not been started yet, which gives back what it was given; what has been
        started goes on."""
        while self._stack:
            op, steps = self._stack[-1]
            if steps is not None:
                steps.close()
            op.spend()
            self._stack.pop()
        give_back_parts(self._op)

    def _go_on(self) -> Awaited | None:
        op, self._entered = self._entered, None
        ctx, stack = self.ctx, self._stack
        answer: Any = None
        error = self._failure() if self._waited else None
        while True:
            if op is not None:
                if op.follows is not None:
                    op = self._first_of(op)
                if ctx.on_loop and (op.is_lengthy() or ctx.stream.full()):
                    return self._leave_loop(op)
                answer, error = self._enter(op)
            if not stack:
                break
            innermost, steps = stack[-1]
            if steps is None:
                op, answer, error = self._pass_on(innermost, answer, error)
                continue
            asked, answer, error = self._resume(steps, answer, error)
            if asked is None or isinstance(asked, Slips):
                op = asked
            else:
                if asked is ELSEWHERE:
                    self.ctx.on_loop = False
                self._waited = asked is not ELSEWHERE
                return asked
        if error is not None:
            raise error
        self.result = answer
        return None

    def _first_of(self, op: Lazy[Any]) -> Lazy[Any]:
        """The op that a chain begins with; its links wait for it."""
        while (before := op.follows) is not None:
            self._stack.append((op, None))
            op = before
        return op

    def _failure(self) -> Exception | None:
        """The first error of the work before the event that has passed: nothing may follow it."""
        self._waited = False
        try:
            raise_first_error(self.ctx.outcomes)
        except Exception as error:
            return error
        return None

    def _leave_loop(self, op: Lazy[Any]) -> Awaited:
        """Stop before an op, to go on with it where nobody minds how long it takes."""
        self._entered, self.ctx.on_loop = op, False
        return ELSEWHERE

    def _enter(self, op: Lazy[Any]) -> tuple[Any, Exception | None]:
        """Run an op that has no steps, or begin with its steps."""
        ctx = self.ctx
        try:
            if not op.staged:
                return execute(op, ctx), None
            self._stack.append((op, op.steps(ctx)))
        except Exception as error:
            return None, named(error, op)
        return None, None

    def _resume(
        self, steps: Steps[Any], answer: Any, error: Exception | None
    ) -> tuple[Awaited | Lazy[Any] | None, Any, Exception | None]:
        """Hand the innermost op what it asked for: gives what it asks next, or its end.

        A trace sees the last of its steps: with what it asked for it puts its own work there.
        """
        trace = Tracing.active
        begun = 0 if trace is None else perf_counter_ns()
        left: tuple[Any, Exception | None]
        try:
            return steps.send(answer) if error is None else steps.throw(error), None, None
        except StopIteration as stop:
            left = stop.value, None
        except Exception as raised:
            left = None, raised
        if trace is not None:
            op = self._stack[-1][0]
            trace.add("op", op.name, self.ctx.stream, begun, perf_counter_ns())
        return None, *self._left(*left)

    def _pass_on(
        self, link: Lazy[Any], answer: Any, error: Exception | None
    ) -> tuple[Lazy[Any] | None, Any, Exception | None]:
        """The same for a link of a chain: gives the op that it leads to, or its end."""
        if error is None and link.follows is not None:
            if link.follows.joint:
                link.made_of = ()  # of what many share, the last one to use it may be the only one
            link.follows = None
            try:
                answer = link.go_on(answer, self.ctx)
            except Exception as raised:
                return None, *self._left(None, raised)
            if link.leads:
                return answer, None, None
        return None, *self._left(answer, error)

    def _left(self, answer: Any, error: Exception | None) -> tuple[Any, Exception | None]:
        """The innermost op is over."""
        op, _ = self._stack[-1]
        op.spend()
        self._stack.pop()
        return (answer, None) if error is None else (None, named(error, op))


def give_back_parts(op: Lazy[Any]) -> None:
    """An op failed: let its parts that will not run give back what they were given.

    Not those that others may run as well.
    """
    found = [op]
    while found:
        op = found.pop()
        op.give_back()
        if not op.joint:
            found += op.made_of


def execute(op: Lazy[T], ctx: ExecutionContext) -> T:
    """Execute an op that has no steps; a trace sees it."""
    trace = Tracing.active
    try:
        if trace is None:
            return op.execute(ctx)
        with trace.span("op", op.name, ctx.stream):
            return op.execute(ctx)
    finally:
        if op.holds:
            op.spend()


def named(error: Exception, op: Lazy[Any]) -> Exception:
    """The error, with a note that it passed this op; a long chain is not named in full."""
    if len(getattr(error, "__notes__", ())) < MOST_NAMED:
        note_once(error, whereabouts(op.name, op.built))
    return error


def run_here(op: Lazy[T], ctx: ExecutionContext) -> T:
    """Run an op to its result, waiting for events on the calling thread; work may be in flight."""
    progress = Progress(op, ctx)
    try:
        while (event := progress.advance()) is not None:
            if ctx.is_capturing:
                raise SchedulingError(
                    f"`{op.name}` gives host data, which a graph cannot wait for",
                    hint="end the captured part before it, and read the result after"
                    " graph.launch()",
                )
            if event is not ELSEWHERE:  # here nobody minds how long it takes
                wait_on_host(event, op.name)
    except BaseException:
        progress.abandon()
        raise
    return progress.result


def finish(ctx: ExecutionContext) -> None:
    """Wait until the device has passed the work put on the stream, and raise its first error."""
    stream = ctx.stream
    if not stream.idle():
        wait_on_host(stream.record(), "finish")
    if ctx.outcomes:
        stream.sweep()
        raise_first_error(ctx.outcomes)


def wait_on_host(event: Awaited, name: str) -> None:
    """Block until an event has passed; a trace sees it."""
    trace = Tracing.active
    if trace is None:
        event.wait()
        return
    with trace.span("host wait", name, None):
        event.wait()


def raise_first_error(outcomes: Sequence[Outcome]) -> None:
    """Raise the first error of work that is done; what failed after it failed because of it."""
    failed = [outcome for outcome in outcomes if outcome.failed()]
    for outcome in failed:
        outcome.observed = True
    if failed:
        failed[0].check()
