"""DeviceOp: lazy work with one abstract method, the combinators on it, and its endings."""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import methodcaller
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Self,
    TypeGuard,
    TypeVar,
    TypeVarTuple,
    overload,
)

from ..base.errors import BorrowError
from ..driver.protocol import Device, Stream
from .ambient import choose_stream
from .arity import call
from .context import ExecutionContext
from .nesting import THREAD, refuse_nested
from .place import Spot, here, place_of
from .policy import refuse_non_stream
from .running import Steps, finish, named, run_here
from .slips import Slips

if TYPE_CHECKING:
    import numpy as np

    from ..array.partition import Partition
    from ..array.shape import ShapeLike
    from ..array.tensor import Tensor
    from ..array.views import Range
    from ..base.dtypes import DType

    E = TypeVar("E", bound=DType)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")
X = TypeVar("X")
Ts = TypeVarTuple("Ts")


class DeviceOp(Slips, ABC, Generic[T_co]):
    """Work that has not run. Building one does nothing; an ending runs it, once.

    Subclasses write `execute(ctx)`, which puts the work on `ctx.stream` and returns the result.

    | ending | starts | returns |
    |---|---|---|
    | `sync()` | now, on the default stream of its device | the value, finished |
    | `sync_on(stream)` | now, on that stream | the value, finished |

    An op is used once: by an ending, or by becoming part of another op.
    """

    effect: bool = False
    """Whether dropping this op unused is a mistake: it would have changed existing memory."""

    staged: bool = False
    """Whether it runs by `steps`, for the sake of other ops or events; else by `execute`."""

    _callers: ClassVar[int] = 0
    """How many callers of the constructor are Tilewright's own, for certain."""

    _built: Spot
    _uses: list[tuple[str, Spot]]
    """Who used it, or tried to, and where; the first one has it."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the line that builds the op; subclasses need not call super().__init__()."""
        self = super().__new__(cls)
        self._built = here(cls._callers + 1)
        self._uses = []
        return self

    @abstractmethod
    def execute(self, ctx: ExecutionContext) -> T_co:
        """Put the work on `ctx.stream` and return the result. Called once, by an ending."""

    @property
    def name(self) -> str:
        """What messages call this op."""
        return type(self).__name__

    @property
    def built(self) -> Spot:
        """The line that built the op."""
        return self._built

    @property
    def home(self) -> Device | None:
        """The device this op must run on; None: wherever it is started."""
        return None

    # Endings

    def sync(self) -> T_co:
        """Run the op and wait for it; gives its result."""
        name = self.name
        return self._run(name, choose_stream(name, self.home))

    def sync_on(self, stream: Stream) -> T_co:
        """Run the op on this stream and wait for it; gives its result."""
        refuse_non_stream(stream, "the caller of sync_on")
        return self._run(self.name, stream)

    def close(self) -> None:
        """Drop the op on purpose: no warning that it never ran."""
        self.claim("close()")

    def _run(self, name: str, stream: Stream) -> T_co:
        ctx = ExecutionContext(stream, True)
        refuse_nested(name)
        self.claim("sync()", 2)
        result = run_here(self, ctx) if self.staged else self._execute_alone(name, ctx)
        if ctx.outcomes or not stream.idle():
            finish(ctx)
        return result

    def _execute_alone(self, name: str, ctx: ExecutionContext) -> T_co:
        """Run an op that needs no steps; what `run_here` does, for the most frequent case."""
        THREAD.starting = name
        try:
            return self.execute(ctx)
        except Exception as error:
            raise named(error, self)  # noqa: B904 - it is the same error
        finally:
            THREAD.starting = None

    # For ops made of others

    def claim(self, user: str, known: int = 0) -> None:
        """Mark this op as used; a second use raises and names the first. Safe from any thread.

        So many callers are known to be Tilewright's own.
        """
        use = (user, here(known + 1))
        self._uses.append(use)
        first = self._uses[0]
        if first is not use:
            raise BorrowError(
                f"this op was already used by `{first[0]}`",
                places=(
                    ("here", place_of(use[1])),
                    ("built", place_of(self._built)),
                    ("used", place_of(first[1])),
                ),
                hint="an op is used once; build it again",
            )

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """The op step by step: yields the ops and events it needs, and returns the result."""
        yield from ()
        return self.execute(ctx)

    # Combinators

    @overload
    def then(
        self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts], DeviceOp[R]], /
    ) -> DeviceOp[R]: ...
    @overload
    def then(self, function: Callable[[T_co], DeviceOp[R]], /) -> DeviceOp[R]: ...
    @overload
    def then(
        self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts, X], DeviceOp[R]], extra: X, /
    ) -> DeviceOp[R]: ...
    @overload
    def then(self, function: Callable[[T_co, X], DeviceOp[R]], extra: X, /) -> DeviceOp[R]: ...
    @overload
    def then(
        self, function: Callable[..., DeviceOp[R]], one: Any, two: Any, /, *extra: Any
    ) -> DeviceOp[R]: ...
    def then(self, function: Callable[..., DeviceOp[Any]], /, *extra: Any) -> DeviceOp[Any]:
        """Give the result to `function` and run the op it returns, on the same stream.

        A tuple arrives as separate arguments; `extra` arguments, bound now, come after it.
        """
        return Then(self, function, extra)

    @overload
    def map(self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts], R], /) -> DeviceOp[R]: ...
    @overload
    def map(self, function: Callable[[T_co], R], /) -> DeviceOp[R]: ...
    @overload
    def map(
        self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts, X], R], extra: X, /
    ) -> DeviceOp[R]: ...
    @overload
    def map(self, function: Callable[[T_co, X], R], extra: X, /) -> DeviceOp[R]: ...
    @overload
    def map(
        self, function: Callable[..., R], one: Any, two: Any, /, *extra: Any
    ) -> DeviceOp[R]: ...
    def map(self, function: Callable[..., Any], /, *extra: Any) -> DeviceOp[Any]:
        """Give the result to `function`, on the host; the new result is what it returns."""
        return Map(self, function, extra)

    @overload
    def first(self: DeviceOp[tuple[R]]) -> DeviceOp[R]: ...
    @overload
    def first(self: DeviceOp[tuple[R, *Ts]]) -> DeviceOp[R]: ...
    def first(self: DeviceOp[Any]) -> DeviceOp[Any]:
        """The first of several results."""
        return self.derived(_first, "first")

    def derived(self, function: Callable[..., R], verb: str) -> DeviceOp[R]:
        """As `map`, under another name; for methods of ops that are functions of the result."""
        return Map(self, function, (), verb)

    # What only forwards to the result

    def partition(self: DeviceOp[Tensor[E]], tile: ShapeLike) -> DeviceOp[Partition[E]]:
        """The resulting tensor, given over to a partition into tiles."""
        return self._forward("partition", tile)

    def unpartition(self: DeviceOp[Partition[E]]) -> DeviceOp[Tensor[E]]:
        """The tensor of the resulting partition."""
        return self._forward("unpartition")

    def reshape(self: DeviceOp[Tensor[E]], shape: ShapeLike) -> DeviceOp[Tensor[E]]:
        """The resulting tensor with another shape; it is handed over, not borrowed."""
        return self._forward("into_shape", shape, verb="reshape")

    def view(self: DeviceOp[Tensor[E]], shape: ShapeLike) -> DeviceOp[Tensor[E]]:
        """A view of the resulting tensor with another shape."""
        return self._forward("view", shape)

    def slice(self: DeviceOp[Tensor[E]], *ranges: Range) -> DeviceOp[Tensor[E]]:
        """A view of a rectangular part of the resulting tensor."""
        return self._forward("slice", *ranges)

    @overload
    def reinterpret(
        self: DeviceOp[Tensor[Any]], dtype: type[E], shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[E]]: ...
    @overload
    def reinterpret(
        self: DeviceOp[Tensor[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[Any]]: ...
    def reinterpret(
        self: DeviceOp[Tensor[Any]], dtype: Any, shape: ShapeLike | None = None
    ) -> DeviceOp[Tensor[Any]]:
        """The resulting tensor's bytes as another type; it is handed over, not borrowed."""
        return self._forward("into_type", dtype, shape, verb="reinterpret")

    def to_numpy(self: DeviceOp[Tensor[Any]]) -> DeviceOp[np.ndarray[Any, Any]]:
        """A copy of the resulting tensor in a NumPy array; what follows runs when it is there."""
        return self._follow("copy_to_host", verb="to_numpy")

    def to_host_vec(self: DeviceOp[Tensor[Any]]) -> DeviceOp[np.ndarray[Any, Any]]:
        """As `to_numpy`, with all elements along one axis."""
        return self._follow("to_host_vec")

    def item(self: DeviceOp[Tensor[E]]) -> DeviceOp[E]:
        """The only element of the resulting tensor as a Python number."""
        return self._follow("copy_item", verb="item")

    def dup(self: DeviceOp[Tensor[E]]) -> DeviceOp[Tensor[E]]:
        """A copy of the resulting tensor."""
        return self._follow("dup")

    def to(self: DeviceOp[Tensor[E]], device: Device | str) -> DeviceOp[Tensor[E]]:
        """A copy of the resulting tensor on a device."""
        return self._follow("to", device)

    def _forward(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        return self.derived(methodcaller(method, *args), verb or method)

    def _follow(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        """The op that a method of the result gives."""
        following = Then[Any](self, methodcaller(method, *args), (), verb or method)
        following.effect = self.effect
        return following

    def __repr__(self) -> str:
        state = f"used by {self._uses[0][0]}" if self._uses else "not run"
        return f"<DeviceOp `{self.name}`, {state}; built at {place_of(self._built)}>"

    def __del__(self) -> None:
        if self.effect and not self._uses and not sys.is_finalizing():
            place = place_of(self._built)
            warnings.warn_explicit(
                f"DeviceOp `{self.name}` built at {place} was never run; add .sync()",
                RuntimeWarning, place.filename, place.line,
            )  # fmt: skip


class Composite(DeviceOp[T_co]):
    """An op made of others, driven step by step so that waiting can be left to the ending."""

    staged = True

    @abstractmethod
    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """The parts, one after the other."""

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Run the parts here and now, waiting where they must; for ops that run others."""
        return run_here(self, ctx)


class Map(Composite[T_co]):
    """An op's result, passed through a host function."""

    def __init__(
        self,
        source: DeviceOp[Any],
        function: Callable[..., Any],
        extra: tuple[Any, ...] = (),
        verb: str = "map",
    ) -> None:
        if not callable(function):
            raise TypeError(f"`{verb}` takes a function, got {type(function).__name__}")
        self._source, self._function, self._extra, self._verb = source, function, extra, verb
        source.claim(self.name)
        self.effect = source.effect

    @property
    def name(self) -> str:
        """The source's name and the verb: `neg.map`."""
        return f"{self._source.name}.{self._verb}"

    @property
    def home(self) -> Device | None:
        """Where the source must run."""
        return self._source.home

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """The source, then the function."""
        value = yield self._source
        result: T_co = call(self._verb, self._function, value, self._extra)
        return result


class Then(Map[T_co]):
    """An op's result, passed to a function that builds the op to run next."""

    def __init__(
        self,
        source: DeviceOp[Any],
        function: Callable[..., Any],
        extra: tuple[Any, ...] = (),
        verb: str = "then",
    ) -> None:
        super().__init__(source, function, extra, verb)
        self.effect = True  # what the function would have built is unknown, so assume it matters

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """The source, then the function, then the op that it gives."""
        value = yield self._source
        following: DeviceOp[T_co] = call(self._verb, self._function, value, self._extra)
        _refuse_value(following)
        following.claim(self.name)
        result: T_co = yield following
        return result


def is_op(x: object) -> TypeGuard[DeviceOp[Any]]:
    """Tell whether x is a DeviceOp; by its mixin, as an abstract class takes longer to tell."""
    return isinstance(x, Slips)


def _refuse_value(following: object) -> None:
    if not is_op(following):
        raise TypeError(
            "the function given to `then` must return a DeviceOp,"
            f" got {type(following).__name__}; use `map` for a plain value"
        )


class Value(DeviceOp[T_co]):
    """A value that is already there, as an op."""

    def __init__(self, value: T_co) -> None:
        self._value = value

    @property
    def name(self) -> str:
        """Always `value`."""
        return "value"

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Give the value; no device work."""
        return self._value


def value(x: T) -> DeviceOp[T]:
    """An op that gives `x` and does no work."""
    return Value(x)


def _first(*results: Any) -> Any:
    return results[0]
