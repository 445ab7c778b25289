"""Running ops as Python sees them: steps that request ops and events, errors, waiting, traces.

Native code (`_core.Progress`) drives them with a separate stack, so that chains may be as long as
memory allows.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._core import Progress, run_op, set_run_classes
from ..base.errors import SchedulingError
from .context import MOST_NAMED, ExecutionContext
from .outcome import Outcome, note_once, whereabouts
from .signals import Awaited, Signal
from .trace import Step, Tracing

if TYPE_CHECKING:
    from .lazy import Lazy

__all__ = ["ELSEWHERE", "Progress", "Steps", "finish", "named", "raise_first_error", "run_here"]

T = TypeVar("T")

Steps: TypeAlias = "Generator[Awaited | Lazy[Any], Any, T]"
"""An op under way. It yields an op to have it run and be sent its result, or an event to go on
when that has passed; it returns its own result."""


ELSEWHERE = Signal()
"""Where an event loop must not be kept busy: go on at once, elsewhere. Steps may yield it too, if
`ctx.on_loop`."""


def give_back_parts(op: Lazy[Any]) -> None:
    """Return what the parts of a failed op were given, for those that will not run.

    Parts that other ops can run as well keep it.
    """
    found = [op]
    while found:
        op = found.pop()
        op.give_back()
        if not op.joint:
            found += op.made_of


def execute_traced(op: Lazy[T], ctx: ExecutionContext) -> T:
    """Execute an op that has no steps, where a trace sees it."""
    trace = Tracing.active
    if trace is None:  # any more
        return op.execute(ctx)
    with trace.span("op", op.name, ctx.stream):
        return op.execute(ctx)


def begin_step(op: Lazy[Any]) -> Step | None:
    """Record in the active trace that an op goes on; return the record."""
    trace = Tracing.active
    return None if trace is None else trace.begin_step(op.name)


def end_step(step: Step | None, op: Lazy[Any], ctx: ExecutionContext, is_last: bool) -> None:
    """End a step; the last one of an op, which enqueues its own work, is an entry of the trace."""
    if step is not None:
        step.trace.end_step(step, op.name, ctx.stream, is_last)


def named(error: Exception, op: Lazy[Any]) -> Exception:
    """Add a note to the error that it passed this op; a long chain is abridged."""
    if len(getattr(error, "__notes__", ())) < MOST_NAMED:
        note_once(error, whereabouts(op.name, op.built))
    return error


def run_here(op: Lazy[T], ctx: ExecutionContext) -> T:
    """Run an op to its result, waiting for events on the calling thread; work may be in flight."""
    result: T = run_op(op, ctx)
    return result


def wait_for(event: Awaited, op: Lazy[Any], ctx: ExecutionContext) -> None:
    """Wait for an event that an op asks for, on the calling thread."""
    if ctx.is_capturing:
        raise SchedulingError(
            f"the result of `{op.name}` is host data, which a graph cannot wait for",
            hint="end the captured part before it, and read the result after graph.launch()",
        )
    if event is not ELSEWHERE:  # no deadline applies here
        wait_on_host(event, op.name)


def finish(ctx: ExecutionContext) -> None:
    """Wait until the device has passed the stream's work, and raise its first error."""
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


set_run_classes({
    "ELSEWHERE": ELSEWHERE, "ExecutionContext": ExecutionContext, "begin_step": begin_step,
    "end_step": end_step, "execute_traced": execute_traced, "give_back_parts": give_back_parts,
    "named": named, "raise_first_error": raise_first_error, "wait_for": wait_for,
})  # fmt: skip
