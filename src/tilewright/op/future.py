"""DeviceFuture: an op that has been started, to be waited for by threads, callbacks and tasks."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Generator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..base.errors import SchedulingError
from ..base.showing import table
from ..base.tracebacks import trim_here
from ..devices.protocol import Event
from .awaiting import give_way, suspend_until
from .context import ExecutionContext
from .nesting import THREAD
from .outcome import report_unobserved
from .reactor import REACTOR
from .running import ELSEWHERE, Progress, raise_first_error
from .signals import Awaited, Signal

if TYPE_CHECKING:
    from .lazy import Lazy

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

BRIEFLY = 20e-6
"""Seconds that a task blocks before it is suspended: small work is done by then."""


ALL_OVER = Signal()
"""In place of what must be waited for: nothing, as all work is done."""


def done_elsewhere(function: Callable[[], object]) -> Generator[Any, Any, None]:
    """Suspend the calling task while another thread calls a function; raises what that raises."""
    errors: list[Exception] = []

    def work(arrive: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            errors.append(error)
        arrive()

    yield from suspend_until(lambda arrive: REACTOR.continue_soon(partial(work, arrive)))
    for error in errors:
        raise error


def advanced(progress: Progress[Any]) -> Awaited | None:
    """Start as much of an op as can be: gives what must be waited for, or None: all is started."""
    waited_for: Awaited | None = progress.advance()
    while waited_for is not None and waited_for is not ELSEWHERE and waited_for.done():
        waited_for = progress.advance()
    return waited_for


def _start_in(progress: Progress[Any], library: ModuleType) -> Generator[Any, Any, Awaited | None]:
    """Start the op in a task, and yield to the loop when no event is left: `ALL_OVER`."""
    try:
        waited_for = _advanced_or_abandoned(progress)
        if waited_for is not None or not progress.ctx.stream.idle():
            return waited_for
        _raise_first_error(progress.ctx)
    except Exception:
        progress.ctx.end(failed=True)
        yield from give_way(library)
        raise
    yield from give_way(library)
    return ALL_OVER


def _advanced_or_abandoned(progress: Progress[Any]) -> Awaited | None:
    try:
        return advanced(progress)
    except BaseException:
        progress.abandon()
        raise


def _raise_first_error(ctx: ExecutionContext) -> None:
    if ctx.outcomes:
        raise_first_error(ctx.outcomes)


class DeviceFuture(Generic[T_co]):
    """The result of an op in flight; made by `into_future`, `schedule` and `tw.spawn`.

    It may be awaited any number of times, from any loop, and read from any thread. Started work
    runs to its end, with or without a waiting thread. Functions chained after host data run on
    threads of Tilewright, with the context variables of the future's creator. An unobserved error
    is reported through `sys.unraisablehook` when the future is dropped.
    """

    _value: T_co
    _error: BaseException | None = None  # of the class too: an interrupt may leave it without

    def __init__(self, name: str) -> None:
        self._name = name
        self._over = Signal()
        self._last: Event | None = None
        """The event after the op's last work; None until all of it is enqueued."""
        self._watched = False
        self._observed = False
        self._went_well = False
        """Whether all work is done, and none of it has failed."""
        self._is_delivered = False
        """Whether it has reached who asked for it; what was given for its result is spent then."""
        self._progress: Progress[T_co] | None = None
        self._process = os.getpid()

    @classmethod
    def scheduled(cls, op: Lazy[T], ctx: ExecutionContext) -> DeviceFuture[T]:
        """Start an op on the stream of a context; the seeds' word for writing one's own endings."""
        op.claim("into_future()")
        return DeviceFuture.begun(op, ctx)

    @classmethod
    def begun(cls, op: Lazy[T], ctx: ExecutionContext) -> DeviceFuture[T]:
        """Start an op that the caller has claimed."""
        future: DeviceFuture[T] = DeviceFuture(op.name)  # [T] would take as long as all the rest
        try:
            future._go_on(Progress(op, ctx))
            future._is_delivered = True
            if future._went_well:
                ctx.deliver()
        except BaseException:
            ctx.end(failed=True)
            future._error = None  # the error keeps the future, and is its only reference
            raise
        return future

    @classmethod
    def awaited(
        cls, op: Lazy[T], ctx: ExecutionContext, library: ModuleType
    ) -> Generator[Any, Any, T]:
        """Start an op that the caller has claimed, and suspend the task until its result is there.

        If the waiting is cancelled, what was given for the result goes back. An op that is over
        when it has been started needs no future.
        """
        progress: Progress[T] = Progress(op, ctx)
        try:
            waited_for = yield from _start_in(progress, library)
            if waited_for is ALL_OVER:
                result = progress.result
            else:
                future: DeviceFuture[T] = DeviceFuture(op.name)
                future._proceed(progress, waited_for)
                result = yield from future.__await__()
            ctx.deliver()
        except BaseException:
            ctx.end(failed=True)
            raise
        return result

    @classmethod
    def failed(cls, error: BaseException) -> DeviceFuture[Any]:
        """Return a future whose op could not be started."""
        future = DeviceFuture[Any]("op")
        future._end(error)
        return future

    # Asking

    def done(self) -> bool:
        """Return whether the result, or an error, is available."""
        if self._over.done():
            return True
        if self._last is not None and self._last.done():
            self._settle()
        return self._over.done()

    def is_started(self) -> bool:
        """Return whether all work of the op has been enqueued."""
        return self._last is not None or self._over.done()

    def running(self) -> bool:
        """Return whether the op is running."""
        return not self.done()

    def cancel(self) -> bool:
        """Return False: started work is not stopped. Cancel the task that waits instead."""
        return False

    def cancelled(self) -> bool:
        """Return False: see `cancel`."""
        return False

    def result(self, timeout: float | None = None) -> T_co:
        """Wait, at most so many seconds, and give the result or raise the error."""
        self._wait(timeout)
        self._observed = True
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, at most so many seconds, and give the error; None: there was none."""
        self._wait(timeout)
        self._observed = True
        return self._error

    def add_done_callback(self, function: Callable[[DeviceFuture[T_co]], object], /) -> None:
        """Register a function to call with this future when it is done, on an arbitrary thread."""
        self._call(lambda: (function(self), None)[1])

    def __await__(self) -> Generator[Any, Any, T_co]:
        """Suspend the task until the result is there; cancelling it stops the waiting only."""
        try:
            if self.done() or (self._last is not None and self._last.wait(BRIEFLY) and self.done()):
                yield from give_way()
            else:
                yield from suspend_until(self._call)
            return self.result()
        except BaseException as error:
            trim_here(error)
            raise

    @property
    def _state(self) -> str:
        return "running" if not self._over.done() else "failed" if self._error else "done"

    def _repr_html_(self) -> str:
        return table("DeviceFuture", [("of", self._name), ("state", self._state)])

    def __repr__(self) -> str:
        return f"<DeviceFuture of `{self._name}`, {self._state}>"

    def __del__(self) -> None:
        if self._error is not None and not self._observed:
            report_unobserved(
                self._error, f"the exception of the future of `{self._name}` was never retrieved"
            )

    # Going on

    def _wait(self, timeout: float | None) -> None:
        if self.done():
            return
        if THREAD.starting is not None:
            raise SchedulingError(
                f"the future of `{self._name}` cannot be waited for here: `{THREAD.starting}` is"
                " being started on this thread, and its function may only build ops",
                hint="pass the result to the op, or wait before starting it",
            )
        if self._process != os.getpid():
            raise SchedulingError(
                f"`{self._name}` was started by the parent process, which alone can wait"
            )
        waited_for = self._over if self._last is None else self._last
        if not waited_for.wait(timeout) or not self.done():
            raise TimeoutError(f"`{self._name}` is not done after {timeout} seconds")

    def _call(self, callback: Callable[[], None]) -> None:
        """Register a function to call when the future is done."""
        self._over.call(callback)
        self._watch()

    def _watch(self) -> None:
        """Register the end with the reactor; needed only for callbacks."""
        if self._last is not None and not self._watched and not self._over.done():
            self._watched = True
            REACTOR.when(self._last, self._settle)

    def _go_on(
        self,
        progress: Progress[T_co],
        context: contextvars.Context | None = None,
        passed: Awaited | None = None,
    ) -> None:
        """Start as much of the op as can be; the rest follows when what it waits for is there."""
        try:
            if passed is not None:
                passed.done()  # raises where its device was lost: what follows must not run
            waited_for = advanced(progress)
        except BaseException as error:
            progress.abandon()
            progress.ctx.end(failed=True)
            self._end(error)
            if not isinstance(error, Exception):
                self._observed = True
                raise
        else:
            self._proceed(progress, waited_for, context)

    def _proceed(
        self,
        progress: Progress[T_co],
        waited_for: Awaited | None,
        context: contextvars.Context | None = None,
    ) -> None:
        """Return the op has been started as far as it can be."""
        if waited_for is None:
            self._all_started(progress, watch=context is not None)
        else:
            self._go_on_later(progress, waited_for, context or contextvars.copy_context())

    def _go_on_later(
        self, progress: Progress[T_co], event: Awaited, context: contextvars.Context
    ) -> None:
        passed = None if event is ELSEWHERE else event
        proceed = partial(context.run, partial(self._go_on, progress, context, passed))
        if passed is None:
            REACTOR.continue_soon(proceed)
        else:
            REACTOR.when(passed, partial(REACTOR.continue_soon, proceed))

    def _all_started(self, progress: Progress[T_co], *, watch: bool) -> None:
        self._progress = progress
        if progress.ctx.stream.idle():
            self._settle()
            return
        self._last = progress.ctx.stream.record()
        if watch:
            self._watch()

    def _settle(self) -> None:
        """Take the result or the error of finished work. Several threads may call this."""
        progress = self._progress
        if progress is None:
            return  # another one has
        try:
            if self._last is not None:
                self._last.done()  # raises where its device was lost
            _raise_first_error(progress.ctx)
        except Exception as error:
            progress.ctx.end(failed=True)
            self._end(error)
        else:
            self._value = progress.result
            self._went_well = True
            if self._is_delivered:
                progress.ctx.end(failed=False)
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        self._error = error
        self._over.set()
        self._progress = None
