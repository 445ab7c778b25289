"""Gate: runs an op once, for the first caller of any thread; all others get the same result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ..base.errors import BorrowError, SchedulingError
from ..devices.protocol import Event
from .arity import results_in
from .context import ExecutionContext
from .lazy import Lazy, warn_never_run
from .outcome import Outcome
from .running import Steps
from .signals import Signal
from .trace import trace_wait

T = TypeVar("T")
Keep: TypeAlias = Callable[[Any, Sequence[object]], Any]
"""Makes what is kept of a result; some things in it may be lent, and belong to somebody else."""


def _as_it_is(value: Any, lent: Sequence[object] = ()) -> Any:
    return value


class Sharing:
    """How a result is kept for several users, and handed to each; tensors have their own way."""

    keep: ClassVar[Keep] = staticmethod(_as_it_is)
    hand_out: ClassVar[Callable[[Any], Any]] = staticmethod(_as_it_is)


class Gate(Generic[T]):
    """An op that runs at most once, its result, and the event that its users wait for.

    A caller that comes while it is being started waits; one that uses the result on another stream
    is ordered after the work by its event. All callers get an error, also one of the work itself.
    """

    def __init__(self, source: Lazy[Any], keep: Keep = _as_it_is) -> None:
        self._source: Lazy[Any] | None = source
        self._of = source.name, source.built
        self._keep = keep
        self._effect = source.effect
        self.wanted = False
        """Whether somebody means to use the result, or to drop it."""
        self._lock = threading.Lock()
        self._first: ExecutionContext | None = None
        self._started = Signal()
        self._captured = False
        self._error: Exception | None = None
        self._event: Event | None = None
        self._outcomes: list[Outcome] = []

    _value: T

    def steps(self, ctx: ExecutionContext) -> Steps[T]:
        """Run the op if it has not run; return the result."""
        if self._is_first(ctx):
            yield from self._run(ctx)
            if self._error is not None:
                raise self._error
            return self._value
        if not self._started.done():
            self._refuse_itself(ctx)
            yield self._started
        return self._used_by(ctx)

    def kept(self) -> tuple[Any, ...]:
        """Return the results behind it; none before the op has run."""
        return results_in(self._value) if hasattr(self, "_value") else ()

    def open_with(self, value: T) -> None:
        """Set the result for all users; the op does not run."""
        self._value, self._source = value, None
        self._started.set()

    def _is_first(self, ctx: ExecutionContext) -> bool:
        with self._lock:
            if self._first is not None or self._started.done():
                return False
            self._first = ctx
            return True

    def _run(self, ctx: ExecutionContext) -> Steps[None]:
        source, before = self._source, len(ctx.outcomes)
        assert source is not None
        outer, ctx.lent = ctx.lent, []
        try:
            self._value = self._keep((yield source), ctx.lent)
            self._outcomes = ctx.outcomes[before:]
            self._captured = ctx.is_capturing
            self._event = None if self._captured else ctx.stream.record()
        except Exception as error:
            self._error = error
        except BaseException:
            self._error = SchedulingError(
                f"`{self._of[0]}` was interrupted while it was being started"
            )
            raise
        finally:
            ctx.lent = outer
            self._first = self._source = None
            self._started.set()

    def _refuse_itself(self, ctx: ExecutionContext) -> None:
        if self._first is ctx:
            raise SchedulingError(f"`{self._of[0]}` depends on its own result")

    def _used_by(self, ctx: ExecutionContext) -> T:
        if self._error is not None:
            raise self._error
        if self._captured:
            raise BorrowError(
                f"`{self._of[0]}` ran while a graph was captured: only that graph has its result",
                hint="run it before the capture, or build it again",
            )
        ctx.outcomes += self._outcomes
        if self._event is not None and not self._event.done():
            self._order(ctx, self._event)
        return self._value

    def _order(self, ctx: ExecutionContext, event: Event) -> None:
        if ctx.is_capturing:
            event.wait()  # an event from outside must not enter a graph
        elif event.stream is not ctx.stream:
            ctx.stream.wait_for(event)
            trace_wait(ctx.stream, event)

    def __del__(self) -> None:
        if self._effect and not self.wanted:
            warn_never_run(*self._of)


def shared_result(gate: Gate[Any], ctx: ExecutionContext) -> Steps[Any]:
    """Return the result of a gate to one of its users."""
    value = yield from gate.steps(ctx)
    return Sharing.hand_out(value)


def half(gate: Gate[tuple[Any, ...]], index: int, count: int, ctx: ExecutionContext) -> Steps[Any]:
    """Return one of the results behind a gate; each of the others has its own user."""
    results = yield from gate.steps(ctx)
    if type(results) is not tuple or len(results) != count:
        got = f"{len(results)} results" if type(results) is tuple else type(results).__name__
        raise TypeError(f"unzip({count}) needs a tuple of {count} results, got {got}")
    return results[index]
