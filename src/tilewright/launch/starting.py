"""Does the work of launches that the core has begun: on their stream, or into a capture.

A launch that the host waits for may be over when it is enqueued; the outcome of any other is known
when the device has passed it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base.shield import shielded
from ..devices.timeline import Timeline
from ..op.context import ExecutionContext
from ..op.outcome import Outcome
from ..op.trace import Tracing, Traffic, trace_begin, trace_wait
from ..tensors.order import bytes_of
from ..tensors.ownership import Handle
from ..tensors.partition import Partition
from ..tensors.pending_work import PendingWork
from ..tensors.recording import Node
from ..tensors.submission import abandon, commit, trace_pending
from .arguments import Bound
from .code import Later
from .explain import settle
from .protocol import Runnable
from .report import QUIET, Report, deliver

if TYPE_CHECKING:
    from ..devices.protocol import Stream


def start(
    op: Any, code: Runnable, ctx: ExecutionContext, pending: PendingWork, waited: Sequence[int]
) -> Outcome | None:
    """Enqueue a launch behind what is on the streams of some timelines.

    Return its outcome; None: it is over, and has succeeded.
    """
    bound: Bound = op._bound
    outcome, report = shielded(_submit_or_abandon, op, code, bound, ctx, pending, waited)
    if report is not None and (error := deliver(code.kernel, report)) is not None:
        raise error
    return outcome


def _submit_or_abandon(
    op: Any,
    code: Runnable,
    bound: Bound,
    ctx: ExecutionContext,
    pending: PendingWork,
    waited: Sequence[int],
) -> tuple[Outcome | None, Report | None]:
    """Enqueue a launch or note that it is abandoned; return its outcome, or report if it is over.

    No signal may come in between: others wait for pending work that is noted.
    """
    try:
        return _submit(op, code, bound, ctx, pending, waited)
    except BaseException:
        abandon(pending, ctx.stream, bound)
        raise


def _submit(
    op: Any,
    code: Runnable,
    bound: Bound,
    ctx: ExecutionContext,
    pending: PendingWork,
    waited: Sequence[int],
) -> tuple[Outcome | None, Report | None]:
    """Enqueue a launch in its order."""
    stream = ctx.stream
    _follow(stream, waited)
    if Tracing.active is not None:
        read, written = bytes_of(bound.read), bytes_of(bound.may_write)
        pending.traffic = Traffic(read, written, code.grid, stream.device.target)
        pending.begun = trace_begin(stream)
    started = code.run.start(bound, stream, inline=may_run_here(code, ctx))
    if isinstance(started, Report):
        pending.mark_submitted(None)
        if Tracing.active is not None:
            trace_pending(code.kernel, pending)
        return None, None if started is QUIET else started
    outcome = ctx.outcome(op)
    commit(pending, outcome)
    stream.after(partial(_finish, code.kernel, bound, started, outcome, pending))
    return outcome, None


def _follow(stream: Stream, waited: Sequence[int]) -> None:
    """Have a stream wait for all that is on the streams of some timelines, by their addresses."""
    for address in waited:
        other = Timeline.by_address[address].stream
        if other is not None:
            event = other.record()
            stream.wait_for(event)
            trace_wait(stream, event)


def may_run_here(code: Runnable, ctx: ExecutionContext) -> bool:
    """Return whether a launch may run on the calling thread: it waits anyway, or it is brief."""
    return ctx.waits or (ctx.on_loop and code.run.is_brief())


def _finish(
    kernel: str, bound: Bound, later: Later, outcome: Outcome, pending: PendingWork
) -> None:
    """Settle a launch that the device has passed; its memory was kept alive until now."""
    try:
        error: Exception | None = deliver(kernel, later())
    except Exception as raised:  # a warning made an error, a closed standard output
        error = raised
    outcome.settle(error)
    if error is None:
        pending.end()
    else:
        pending.fail(bound.may_write, bound.read)


def settle_known(bound: Bound, ctx: ExecutionContext, outcome: Outcome | None) -> None:
    """Settle what a launch was moved, once its stream has passed it and its outcome is known."""
    if outcome is not None and outcome.error is not None:
        give_back(bound.outputs)
    elif bound.has_former:
        settle(bound, ctx)


def give_back(values: Sequence[Any]) -> None:
    """Return what a refused or failed launch took over to its origin."""
    for value in values:
        if isinstance(value, Partition | Handle):
            value.settle(failed=True)


def record(op: Any, code: Runnable, ctx: ExecutionContext) -> None:
    """Record a launch in a capture; the core has found that all its borrows stand."""
    recording = ctx.recording
    assert recording is not None
    bound: Bound = op._bound
    alike: Callable[..., Bound] | None = op.rebinding(bound)
    number = ctx.stream.captured
    recorded = code.run.record(bound, ctx.stream)
    for region in bound.may_write:
        recording.will_write(region)

    def rebind(*args: Any, **keywords: Any) -> Node:
        assert alike is not None
        other = alike(*args, **keywords)
        code.check(other.numbers)
        recorded.refill(other)
        return node_of(other)

    def node_of(bound: Bound) -> Node:
        read = partial(_read, op.name, recorded.read)
        again = None if alike is None else rebind
        uses = bound.may_write, bound.read
        return Node(op.name, number, *uses, bound, read, recorded, again)

    recording.nodes.append(node_of(bound))


def _read(kernel: str, read: Callable[[Any], Report], raw: Any) -> Exception | None:
    return deliver(kernel, read(raw))
