"""Starts a launch: checked and ordered in one step, on its stream or into a capture.

A launch that the host waits for may be over when it is enqueued; the outcome of any other is known
when the device has passed it, and what it took over is settled then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..base.shield import shielded
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.outcome import Outcome
from ..op.trace import Tracing, Traffic
from ..tensors.order import bytes_of, reserve, reserve_held
from ..tensors.ownership import Handle
from ..tensors.partition import Partition
from ..tensors.pending_work import PendingWork
from ..tensors.recording import Node
from ..tensors.submission import abandon, commit, trace_pending
from .acquire_borrows import mark_written, refuse_ended_borrows, settle
from .arguments import Bound
from .code import Later
from .protocol import Runnable
from .report import QUIET, Report, deliver


def start(op: DeviceOp[Any], code: Runnable, bound: Bound, ctx: ExecutionContext) -> None:
    """Enqueue a launch on the context's stream; raise if it was refused, or has failed already."""
    code.check(bound.numbers)
    report = shielded(_submit_or_abandon, op, code, bound, ctx)
    if report is not None and report is not QUIET:
        _raise_failure(code.kernel, report)
        shielded(_conclude, bound, ctx)


def _submit_or_abandon(
    op: DeviceOp[Any], code: Runnable, bound: Bound, ctx: ExecutionContext
) -> Report | None:
    """Enqueue a launch or note that it is abandoned; return its report if it is over.

    No signal may come in between: others wait for pending work that is noted.
    """
    pending = PendingWork(ctx.stream)
    try:
        report = _submit(op, code, bound, ctx, pending)
    except BaseException:
        abandon(pending, ctx.stream, bound)
        raise
    if report is None:
        return None
    if Tracing.active is not None:
        trace_pending(code.kernel, pending)
    if report is QUIET:
        _conclude(bound, ctx)
    return report


def _conclude(bound: Bound, ctx: ExecutionContext) -> None:
    """Settle a launch that has succeeded."""
    if bound.has_former:
        settle(bound, ctx)
    mark_written(bound)


def _submit(
    op: DeviceOp[Any], code: Runnable, bound: Bound, ctx: ExecutionContext, pending: PendingWork
) -> Report | None:
    """Enqueue a launch in its order; return its report if it is over already."""
    stream = ctx.stream
    if not reserve_held(pending, stream, bound.held, len(bound.may_write)):
        writes, check = bound.may_write, refuse_ended_borrows
        reserve(pending, stream, writes, bound.read, check, code.kernel, bound)
    if Tracing.active is not None:
        read, written = bytes_of(bound.read), bytes_of(bound.may_write)
        pending.traffic = Traffic(read, written, code.grid, stream.device.target)
    started = code.run.start(bound, stream, inline=may_run_here(code, ctx))
    if isinstance(started, Report):
        pending.mark_submitted(None)
        return started
    mark_written(bound)
    outcome = ctx.outcome(op)
    commit(pending, outcome)
    if bound.has_former:
        settle(bound, ctx, is_over=False)
    stream.after(partial(_finish, code.kernel, bound, started, outcome, pending, ctx))
    return None


def may_run_here(code: Runnable, ctx: ExecutionContext) -> bool:
    """Return whether a launch may run on the calling thread: it waits anyway, or it is brief."""
    return ctx.waits or (ctx.on_loop and code.run.is_brief())


def _raise_failure(kernel: str, report: Report) -> None:
    """Print the output of a finished launch, and raise its error."""
    if (error := deliver(kernel, report)) is not None:
        raise error


def _finish(
    kernel: str,
    bound: Bound,
    later: Later,
    outcome: Outcome,
    pending: PendingWork,
    ctx: ExecutionContext,
) -> None:
    """Settle a launch that the device has passed; its memory was kept alive until now."""
    try:
        error: Exception | None = deliver(kernel, later())
    except Exception as raised:  # a warning made an error, a closed standard output
        error = raised
    outcome.settle(error)
    settle_known(bound, ctx, outcome)
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


def record(
    op: DeviceOp[Any],
    code: Runnable,
    bound: Bound,
    ctx: ExecutionContext,
    alike: Callable[..., Bound],
) -> None:
    """Record a launch in a capture; `alike` binds other arguments to the same code."""
    recording = ctx.recording
    assert recording is not None
    code.check(bound.numbers)
    refuse_ended_borrows(op.name, bound)
    number = ctx.stream.captured
    recorded = code.run.record(bound, ctx.stream)
    for region in bound.may_write:
        recording.will_write(region)

    def rebind(*args: Any, **keywords: Any) -> Node:
        other = alike(*args, **keywords)
        code.check(other.numbers)
        recorded.refill(other)
        return node_of(other)

    def node_of(bound: Bound) -> Node:
        read = partial(_read, op.name, recorded.read)
        return Node(op.name, number, bound.may_write, bound.read, bound, read, rebind)

    recording.nodes.append(node_of(bound))
    settle(bound, ctx)


def _read(kernel: str, read: Callable[[Any], Report], raw: Any) -> Exception | None:
    return deliver(kernel, read(raw))
