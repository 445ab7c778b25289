"""Enqueues work in its order: ordered by its memory, kept alive, recorded in a capture.

Every op that enqueues work calls `submit_work`, so none can forget a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.errors import DeviceError
from ..base.shield import shielded
from ..op.context import ExecutionContext
from ..op.outcome import Outcome
from ..op.trace import Tracing, trace_end, trace_submitted
from .order import forget_over, reserve
from .pending_work import PendingWork
from .recording import Node

if TYPE_CHECKING:
    from ..devices.protocol import Stream
    from ..op.core import DeviceOp
    from .region import Region

T = TypeVar("T")


def submit_work(
    ctx: ExecutionContext,
    op: DeviceOp[Any],
    work: Callable[[], T],
    *,
    writes: Sequence[Region] = (),
    reads: Sequence[Region] = (),
    keep: object = None,
    report: Callable[[T], Exception | None] | None = None,
) -> None:
    """Enqueue the work of `work` on the context's stream, ordered after conflicting work.

    `keep` and the memory of the regions stay alive until the device has passed it; then `report`
    gets the result of `work`, and returns its error if it failed.
    """
    if ctx.recording is not None:
        number = ctx.stream.captured
        work()
        ctx.recording.nodes.append(Node(op.name, number, writes, reads, keep))
        for region in writes:
            ctx.recording.will_write(region)
        return
    shielded(_submit_in_turn, ctx, op, work, writes, reads, keep, report)


def _submit_in_turn(
    ctx: ExecutionContext,
    op: DeviceOp[Any],
    work: Callable[[], T],
    writes: Sequence[Region],
    reads: Sequence[Region],
    keep: object,
    report: Callable[[T], Exception | None] | None,
) -> None:
    """Do as `submit_work`, without signals in between: others wait for work that is noted."""
    stream, outcome = ctx.stream, ctx.outcome(op)
    pending, kept = PendingWork(stream), (writes, reads, keep)
    try:
        reserve(pending, stream, writes, reads)
        given = work()
        commit(pending, outcome)
        stream.after(partial(_settle, pending, outcome, partial(_asked, report, given), kept))
        if pending.is_over:
            forget_over(pending, (*writes, *reads))
    except BaseException:
        outcome.settle()
        abandon(pending, stream, kept)
        raise


def abandon(pending: PendingWork, stream: Stream, kept: object) -> None:
    """Settle work that was not enqueued, or only in part: users wait for that part.

    What it uses stays alive until then.
    """
    try:
        pending.mark_submitted(stream.record())
        stream.after(partial(_end, pending, kept))
    except DeviceError:  # nothing runs there any more
        pending.mark_submitted(None)


def _end(pending: PendingWork, kept: object) -> None:
    """Do nothing: until now this call has kept the memory."""
    if pending.outcome is None or pending.outcome.error is None:
        pending.end()


def release_kept(kept: object) -> None:
    """Do nothing: until now this call has kept the memory."""


def commit(pending: PendingWork, outcome: Outcome) -> None:
    """Note that work was enqueued: other threads can wait for it now."""
    assert pending.stream is not None  # the host's own work is not put anywhere
    if Tracing.active is not None:  # before the event: who waits for the work waits for its time
        trace_pending(outcome.name, pending)
    outcome.event = pending.stream.record()
    pending.outcome = outcome
    pending.mark_submitted(outcome.event)


def trace_pending(name: str, pending: PendingWork) -> None:
    """Add enqueued work to the trace that is recorded."""
    assert pending.stream is not None
    begun, traffic = getattr(pending, "begun", None), getattr(pending, "traffic", None)
    trace_submitted(name, pending.stream, begun, trace_end(pending.stream, begun), traffic)


def _asked(report: Callable[[T], Exception | None] | None, given: T) -> Exception | None:
    return None if report is None else report(given)


def _settle(
    pending: PendingWork, outcome: Outcome, ask: Callable[[], Exception | None], keep: object
) -> None:
    """Settle work that the device has passed; until then this call has kept its memory."""
    outcome.settle(ask())
    if outcome.error is None:
        pending.end()
