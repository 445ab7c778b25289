"""DeviceOp: lazy work on a device, and the combinators that make ops of ops."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Never,
    TypeGuard,
    TypeVar,
    TypeVarTuple,
    cast,
    overload,
)
from weakref import WeakKeyDictionary

from .._core import (
    LINK_INSPECT,
    LINK_MAP,
    LINK_METHOD,
    LINK_METHOD_OP,
    LINK_THEN,
    LINK_THEN_UNCHECKED,
    Link,
    has_op,
    join_names,
    link,
    set_link_classes,
)
from .._core import is_op as _is_op
from ..base.errors import SchedulingError
from ..devices.protocol import Device
from .ambient import unsafe_allowed
from .awaiting import current_task
from .context import ExecutionContext
from .gate import Gate, Sharing, half, shared_result
from .lazy import Lazy
from .place import Location, here, place_of
from .pledging import Pledges, Pledging, check_all, first_borrowed
from .recipes import with_its_context
from .result_methods import ResultMethods
from .running import Steps, run_here

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from ..tensors.arc import Arc
    from ..tensors.partition import MappedPartition, Partition
    from ..tensors.tensor import Tensor

    E = TypeVar("E", bound=DType)

__all__ = ["Composite", "DeviceOp", "has_op", "is_op"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
F = TypeVar("F")
R = TypeVar("R")
X = TypeVar("X")
Ts = TypeVarTuple("Ts")


class DeviceOp(ResultMethods[T_co]):
    """Work that has not run. Building one does nothing; an ending runs it, once.

    Subclasses write `execute(ctx)`, which puts the work on `ctx.stream` and returns the result.

    | ending | starts | returns |
    |---|---|---|
    | `sync()`, `sync_on(stream)` | now | the value, finished; also while an event loop runs |
    | `start()`, `start_on(stream)` | now | the value, in flight |
    | `into_future()`, `schedule(policy)` | now, on the stream chosen now | a `DeviceFuture` |
    | `await op` | when awaited | the value, finished; the loop is never blocked |

    An op is used once: by an ending, or by becoming part of another op. `shared()` makes one that
    can be used again.
    """

    LISTED = (
        "boxed close dup first graph graph_on inspect into_future item last map partition "
        "reinterpret reshape schedule shared slice start start_on sync sync_on then "
        "then_unchecked to to_host_vec to_numpy try_partition unpartition unwrap_arc unzip view"
    )

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
        """Pass the result to `function` and run the op it returns, on the same stream.

        A tuple arrives as separate arguments; `extra` arguments, bound now, come after it.
        """
        made: DeviceOp[Any] = link(self, LINK_THEN, "then", function, extra, 1)
        return made

    @overload
    def then_unchecked(
        self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts], DeviceOp[R]], /
    ) -> DeviceOp[R]: ...
    @overload
    def then_unchecked(self, function: Callable[[T_co], DeviceOp[R]], /) -> DeviceOp[R]: ...
    @overload
    def then_unchecked(
        self, function: Callable[..., DeviceOp[R]], one: Any, /, *extra: Any
    ) -> DeviceOp[R]: ...
    def then_unchecked(
        self, function: Callable[..., DeviceOp[Any]], /, *extra: Any
    ) -> DeviceOp[Any]:
        """Do as `then`, but let the function run ops itself; call it inside `tw.unsafe()`.

        The caller guarantees that those ops do not conflict with this op's work on another stream.
        """
        if not unsafe_allowed():
            self.mark_refused()
            raise SchedulingError(
                f"`{self.name}.then_unchecked` is unsafe; it is built inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint="write `with tw.unsafe():` around it, or return the op and use `then`",
            )
        made: DeviceOp[Any] = link(self, LINK_THEN_UNCHECKED, "then_unchecked", function, extra, 1)
        return made

    @overload
    def map(
        self: DeviceOp[Partition[E]],
        map_shape: Sequence[int],
        num_tile_blocks: int | None = None,
        /,
    ) -> DeviceOp[MappedPartition[E]]: ...
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
    def map(self, function: Any, /, *extra: Any) -> DeviceOp[Any]:
        """Pass the result to `function`, on the host; the new result is what it returns.

        An op that gives a partition takes a map shape as well, as the partition itself does.
        """
        if isinstance(function, tuple | list):
            return self._forward("map", function, *extra)
        made: DeviceOp[Any] = link(self, LINK_MAP, "map", function, extra, 1)
        return made

    @overload
    def inspect(
        self: DeviceOp[tuple[*Ts]], function: Callable[[*Ts], object], /
    ) -> DeviceOp[tuple[*Ts]]: ...
    @overload
    def inspect(self, function: Callable[[T_co], object], /) -> DeviceOp[T_co]: ...
    def inspect(self, function: Callable[..., object], /) -> DeviceOp[Any]:
        """Show the result to `function`, on the host, and pass it on."""
        op: Linked[Any] = link(self, LINK_INSPECT, "inspect", function, (), 1)
        op.result_count = self.result_count
        return op

    @overload
    def first(self: DeviceOp[tuple[R]]) -> DeviceOp[R]: ...
    @overload
    def first(self: DeviceOp[tuple[R, *Ts]]) -> DeviceOp[R]: ...
    def first(self: DeviceOp[Any]) -> DeviceOp[Any]:
        """Return the first of several results."""
        return self.derived(_first, "first")

    @overload
    def last(self: DeviceOp[tuple[R]]) -> DeviceOp[R]: ...
    @overload
    def last(self: DeviceOp[tuple[*Ts, R]]) -> DeviceOp[R]: ...
    def last(self: DeviceOp[Any]) -> DeviceOp[Any]:
        """Return the last of several results."""
        return self.derived(_last, "last")

    @overload
    def unzip(self: DeviceOp[tuple[A]], count: int = ...) -> tuple[DeviceOp[A]]: ...
    @overload
    def unzip(self: DeviceOp[tuple[A, B]], count: int = ...) -> tuple[DeviceOp[A], DeviceOp[B]]: ...
    @overload
    def unzip(
        self: DeviceOp[tuple[A, B, C]], count: int = ...
    ) -> tuple[DeviceOp[A], DeviceOp[B], DeviceOp[C]]: ...
    @overload
    def unzip(
        self: DeviceOp[tuple[A, B, C, D]], count: int = ...
    ) -> tuple[DeviceOp[A], DeviceOp[B], DeviceOp[C], DeviceOp[D]]: ...
    @overload
    def unzip(
        self: DeviceOp[tuple[A, B, C, D, F]], count: int = ...
    ) -> tuple[DeviceOp[A], DeviceOp[B], DeviceOp[C], DeviceOp[D], DeviceOp[F]]: ...
    @overload
    def unzip(self, count: int | None = ...) -> tuple[DeviceOp[Any], ...]: ...
    def unzip(self: DeviceOp[Any], count: int | None = None) -> tuple[DeviceOp[Any], ...]:
        """Return one op per result; the source runs once, for the first of them that runs.

        The number of results is known for launches, zips and `then(kernel)`; else write `unzip(3)`.
        """
        found = self._count_to_unzip(count)
        self.claim("unzip")
        gate = Gate[Any](self)
        return tuple(
            Half(gate, self, f"unzip[{i}]", partial(half, gate, i, found)) for i in range(found)
        )

    @overload
    def shared(self: DeviceOp[Tensor[E]]) -> SharedOp[Arc[E]]: ...
    @overload
    def shared(self) -> SharedOp[T_co]: ...
    def shared(self: DeviceOp[Any]) -> SharedOp[Any]:
        """Return an op that can be used any number of times; this one runs once, at the first use.

        All users get a tensor as an `Arc`. What the op borrows stays with its owner, and all users
        get it unchanged.
        """
        self.claim("shared")
        gate = Gate[Any](self) if self.gives_back else Gate[Any](self, Sharing.keep)
        return SharedOp(gate, self)

    def boxed(self) -> DeviceOp[T_co]:
        """Return the op itself: in Python, one list can hold ops of all kinds."""
        return self

    def derived(self, function: Callable[..., R], verb: str, *extra: Any) -> DeviceOp[R]:
        """Do as `map`, under another name; for methods of ops that are functions of the result."""
        made: DeviceOp[Any] = link(self, LINK_MAP, verb, function, extra, 1)
        return made

    def _forward(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        made: DeviceOp[Any] = link(self, LINK_METHOD, verb or method, method, args, 2)
        return made

    def _follow(self, method: str, *args: Any, verb: str | None = None) -> DeviceOp[Any]:
        made: DeviceOp[Any] = link(self, LINK_METHOD_OP, verb or method, method, args, 2)
        return made

    def _count_to_unzip(self, count: int | None) -> int:
        if count is None:
            count = self.result_count
        if count is None:
            raise TypeError(
                f"the number of results of `{self.name}` is unknown before it runs;"
                " pass it: .unzip(2)"
            )
        if self.result_count not in (None, count):
            raise TypeError(f"`{self.name}` has {self.result_count} results, not {count}")
        return count

    def _repr_html_(self) -> str:
        """Return the op and its parts as a drawing, for notebooks."""
        from .picture import svg_of

        return svg_of(self)


class Composite(DeviceOp[T_co]):
    """An op made of other ops, run step by step so that waiting can be left to the ending."""

    staged = True

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Run the parts here and now, waiting where they must; for ops that run others."""
        return run_here(self, ctx)


class Linked(Link, Composite[T_co]):
    """A link of a chain: an op, and a recipe that goes on with its result, both native."""

    __slots__ = ()

    if TYPE_CHECKING:
        _pledges: Pledges
        """Borrows of the extra arguments."""

    def _count_results(self) -> int | None:
        """Return the declared number of results, or that of the op the function makes."""
        if self._result_count is None and self._recipe in (LINK_THEN, LINK_THEN_UNCHECKED):
            return results_of(self._function)
        return self._result_count

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return the first extra argument that the op borrows."""
        return first_borrowed(self._pledges, given, 1)

    def check_standing(self) -> None:
        """Raise if the borrow of an extra argument has ended."""
        check_all(self._pledges)

    def give_back(self) -> None:
        """Return the extra arguments to their origin."""
        for pledge in self._pledges:
            pledge.give_back()


class Made(Composite[T_co]):
    """What is made of several ops: parts, and a recipe that runs them."""

    holds: ClassVar[tuple[str, ...]] = ("_recipe",)

    def __init__(
        self,
        name: str,
        parts: tuple[Lazy[Any], ...],
        recipe: Callable[[ExecutionContext], Steps[T_co]],
    ) -> None:
        self._name, self.made_of, self._recipe = name, parts, recipe
        home, effect, host_data = None, False, False
        for part in parts:
            home = home or part.home
            effect = effect or part.effect
            host_data = host_data or part.host_data
        self._home, self.effect, self.host_data = home, effect, host_data

    @property
    def name(self) -> str:
        """As it was called."""
        return self._name

    @property
    def home(self) -> Device | None:
        """Where its parts must run."""
        return self._home

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """Run the recipe."""
        return self._recipe(ctx)


class Behind(Made[T_co]):
    """An op that gives what is behind a gate, or a part of it."""

    joint = True

    def __init__(
        self,
        gate: Gate[Any],
        source: Lazy[Any],
        verb: str,
        recipe: Callable[[ExecutionContext], Steps[T_co]],
    ) -> None:
        super().__init__(join_names(source.name, verb), (source,), recipe)
        self.effect = False  # the gate warns, once for all
        self._gate = gate

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return what the finished source gave, if it is borrowed."""
        return None if self.spent else Pledging.lent(self._gate.kept(), given)


class Half(Behind[T_co]):
    """One of the results of an op that was unzipped."""

    holds = ("_recipe", "_gate")  # behind the gate are all results

    def claim_at(self, user: str, location: Location) -> None:
        """Claim the op, and note that the gate's result is wanted."""
        if not self.spent:
            self._gate.wanted = True
        super().claim_at(user, location)


class SharedOp(Behind[T_co]):
    """An op that may be used any number of times, from any thread; its source runs once."""

    holds = ()  # it may be used again
    LISTED = "clone"

    def spend(self) -> None:
        """Do nothing: the op can be used again."""

    def __init__(self, gate: Gate[Any], source: Lazy[Any]) -> None:
        super().__init__(gate, source, "shared", partial(shared_result, gate))
        self.result_count = source.result_count
        self._source = source
        self._by_task: WeakKeyDictionary[Any, Generator[Any, Any, T_co]] = WeakKeyDictionary()

    def claim_at(self, user: str, location: Location) -> None:
        """Do nothing: the op may be used more than once."""
        self._gate.wanted = True

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """Return the result; a value known from the beginning must still be borrowed."""
        if isinstance(self._source, Value):
            self._source.check_standing()
        return super().steps(ctx)

    def clone(self) -> SharedOp[T_co]:
        """Return another op with the same result; one may also be used any number of times."""
        return SharedOp(self._gate, self._source)

    def as_coroutine(self) -> Generator[Any, Any, T_co]:
        """Return a new coroutine for each task that drives the op."""
        return self._by_task.setdefault(current_task(), self.__await__())


class Value(DeviceOp[T_co]):
    """A value that is already there, as an op."""

    holds = ("_pledges", "_value")

    def __init__(self, value: T_co) -> None:
        self._value = value
        self._pledges = Pledging.begin((value,), "value", self._built)

    @property
    def name(self) -> str:
        """Always `value`."""
        return "value"

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Return the value, without device work."""
        for pledge in self._pledges:
            pledge.check()
            pledge.entrust(ctx)
        ctx.borrowed(self._value)
        return self._value

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return the part of the value that is borrowed."""
        return first_borrowed(self._pledges or (), given, 1)

    def check_standing(self) -> None:
        """Raise if the borrow of the value has ended."""
        check_all(self._pledges or ())

    def give_back(self) -> None:
        """Return the value to its origin."""
        for pledge in self._pledges or ():
            pledge.give_back()


def value(x: T) -> DeviceOp[T]:
    """Return an op that gives `x` and does no work."""
    return Value(x)


is_op = cast("Callable[[object], TypeGuard[DeviceOp[Any]]]", _is_op)
"""Returns whether something is a DeviceOp."""


def as_op(x: Any) -> DeviceOp[Any]:
    """Return an op unchanged, and for any other value an op that gives it."""
    return x if is_op(x) else Value(x)


def shared(x: T) -> SharedOp[T]:
    """Return a shared op that gives an existing value, such as an `Arc`."""
    source = Value(x)
    gate = Gate[T](source)
    gate.open_with(x)
    return SharedOp(gate, source)


def with_context(function: Callable[[ExecutionContext], DeviceOp[R]]) -> DeviceOp[R]:
    """Return the op that `function` makes of the context it runs in: stream, device, capturing or
    not.
    """
    op: Made[R] = Made("with_context", (), partial(with_its_context, function))
    op.effect = True
    return op


def results_of(function: Callable[..., Any]) -> int | None:
    """Return the number of results of the op that a kernel makes; None: unknown."""
    inner = function.func if isinstance(function, partial) else function
    count: int | None = getattr(inner, "result_count", None)
    return count


def refuse_function(verb: str, given: object) -> Never:
    """Raise for what was given instead of a function."""
    raise TypeError(f"`{verb}` takes a function, got {type(given).__name__}")


def _first(*results: Any) -> Any:
    return results[0]


def _last(*results: Any) -> Any:
    return results[-1]


def _pledge(extra: tuple[Any, ...], op: str, location: Location) -> Pledges:
    return Pledging.begin(extra, op, location)


set_link_classes({"Linked": Linked, "pledge": _pledge, "refuse_function": refuse_function})
