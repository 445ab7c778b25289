"""The endings of an op: how it is started, and who waits for it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .._core import set_ending_classes, stream_for
from ..base.errors import BorrowError, SchedulingError
from ..base.tracebacks import trim_here
from ..devices.foreign import ForeignStream
from ..devices.protocol import Stream
from .ambient import is_prepared, prepare
from .awaiting import running_library
from .context import ExecutionContext
from .future import DeviceFuture, done_elsewhere
from .lazy import Lazy, all_parts
from .nesting import THREAD, refuse_nested
from .place import here, place_of
from .policy import SchedulingPolicy, as_stream, stream_of
from .running import finish

if TYPE_CHECKING:
    from ..graph import CudaGraph

T_co = TypeVar("T_co", covariant=True)


class Endings(Lazy[T_co]):
    """Work that can be started. Each ending uses the op up."""

    capture: ClassVar[Callable[[Any, Stream], CudaGraph[Any]]]
    """Makes a graph of an op. Ops know nothing of graphs: the package puts them together."""

    _awaited: Generator[Any, Any, T_co] | None = None
    """The op as a coroutine, once something has begun to await it."""

    if TYPE_CHECKING:  # these are native

        def sync(self) -> T_co:
            """Run the op and wait for it; gives its result. Allowed while an event loop runs."""
            ...

        def sync_on(self, stream: Stream | ForeignStream) -> T_co:
            """Run the op on this stream and wait for it; gives its result."""
            ...

        def start(self) -> T_co:
            """Start the op and give its result at once, in flight.

            Reading it waits, using it in another op orders. An error of the work is raised where
            the result is read. Refused for host data, which would not be there yet.
            """
            ...

        def start_on(self, stream: Stream | ForeignStream) -> T_co:
            """Do as `start`, on this stream."""
            ...

    def into_future(self) -> DeviceFuture[T_co]:
        """Start the op, on the stream that the policy in force chooses now."""
        try:
            return self._schedule(stream_for(self), "into_future()")
        except BaseException as error:
            trim_here(error)
            raise

    def schedule(self, policy: SchedulingPolicy) -> DeviceFuture[T_co]:
        """Start the op on the stream that a policy chooses."""
        try:
            return self._schedule(stream_of(policy, self.name, self.home), "schedule()")
        except BaseException as error:
            trim_here(error)
            raise

    def graph(self) -> CudaGraph[T_co]:
        """Capture the op's work, to be replayed; nothing is launched yet."""
        try:
            return type(self).capture(self, stream_for(self))
        except BaseException as error:
            trim_here(error)
            raise

    def graph_on(self, stream: Stream | ForeignStream) -> CudaGraph[T_co]:
        """Do as `graph`, with this stream for the work that the graph runs beside its launches."""
        try:
            return type(self).capture(self, as_stream(stream, "`graph_on` takes a stream"))
        except BaseException as error:
            trim_here(error)
            raise

    def __await__(self) -> Generator[Any, Any, T_co]:
        """Start the op, and suspend the task until its result is there."""
        return self._awaiting()

    # The rest of a coroutine's methods: by these, event loops take an op as a task

    def send(self, value: Any) -> Any:
        """Continue the coroutine; for event loops."""
        return self.as_coroutine().send(value)

    def throw(
        self,
        kind: Any,
        value: Any = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:
        """Raise an error where the awaiting stands; for event loops."""
        if self._awaited is None:
            self.mark_refused()
        return self.as_coroutine().throw(kind if value is None else value)

    def as_coroutine(self) -> Generator[Any, Any, T_co]:
        """Return the coroutine that an event loop drives when the op is its task."""
        if self._awaited is None:
            self._awaited = self._awaiting()
        return self._awaited

    def close(self) -> None:
        """Drop the op on purpose: no warning that it never ran. What has been started goes on."""
        if self._awaited is not None:
            self._awaited.close()
        elif not self._used:
            self.claim("close()")

    # How they work

    def _schedule(self, stream: Stream, ending: str) -> DeviceFuture[T_co]:
        if THREAD.names:
            _refuse_nested(self)
        self.claim(ending, 2)
        return DeviceFuture.begun(self, ExecutionContext(stream))

    def _awaiting(self) -> Generator[Any, Any, T_co]:
        try:
            library = running_library()
            if library is None:
                raise SchedulingError(
                    f"`{self.name}` cannot be awaited here: neither asyncio nor trio runs"
                    " this code",
                    hint="outside of an async function call .sync()",
                )
            if THREAD.names:
                _refuse_nested(self)
            self.claim("await", 1)
            if not is_prepared(self.home):
                context = copy_context()
                yield from done_elsewhere(lambda: context.run(prepare, self.home))
            ctx = ExecutionContext(stream_for(self))
            ctx.on_loop = True
            return (yield from DeviceFuture.awaited(self, ctx, library))
        except BaseException as error:
            trim_here(error)
            raise


def spawn(op: Endings[T_co]) -> DeviceFuture[T_co]:
    """Start an op for which no caller waits; return its future, which may be dropped.

    The op must own what it uses: an op that borrows a tensor is refused, at once or when a function
    given to `then` returns one. An error that is never observed is reported when it happens.
    """
    name = op.name
    refuse_nested(name)
    refuse_borrows(op)
    ctx = ExecutionContext(stream_for(op))
    ctx.detached = True
    op.claim("tw.spawn()")
    future = DeviceFuture.begun(op, ctx)
    if not future.is_started():
        for part in all_parts(op):
            part.detach()
    future.add_done_callback(_leave)  # by this the reactor keeps it until it is done
    return future


def _leave(future: DeviceFuture[Any]) -> None:
    """Do nothing: the future has no work left."""


def refuse_host_data(op: Lazy[Any]) -> None:
    """Raise if an op's result would not be there yet when it is given in flight."""
    if op.host_data:
        op.mark_refused()
        raise SchedulingError(
            f"the result of `{op.name}` is host data, which cannot be in flight",
            places=(("here", place_of(here())), ("built", place_of(op.built))),
            hint="use .into_future() and wait for its result, or .sync()",
        )


def refuse_borrows(op: Lazy[Any], given: Sequence[object] = ()) -> None:
    """Raise if a detached op or one of its parts borrows anything but `given`."""
    for part in all_parts(op):
        borrowed = part.borrows(given)
        if borrowed is not None:
            op.mark_refused()
            raise BorrowError(
                f"`{op.name}` cannot be spawned: {borrowed},"
                " and a spawned op must own its arguments",
                places=(("here", place_of(here())), ("borrowed", place_of(part.built))),
                hint="move the tensor with tw.move(x), share it with tw.Arc(x),"
                " or use .into_future() and wait",
            )


def _own_stream(op: Endings[Any], stream: Stream | ForeignStream, rule: str) -> Stream:
    """Return the stream given to an ending as one of ours."""
    try:
        return as_stream(stream, rule)
    except SchedulingError:
        op.mark_refused()
        raise


def _refuse_nested(op: Endings[Any]) -> None:
    if THREAD.starting is not None:
        op.mark_refused()
        refuse_nested(op.name)


set_ending_classes({
    "as_stream": _own_stream, "finish": finish,
    "refuse_host_data": refuse_host_data, "refuse_nested": _refuse_nested,
})  # fmt: skip
