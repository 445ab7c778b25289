"""Lazy: work that has not run. One abstract method, used once; knows its name and its line."""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeVar

from .._core import Op, new_op, set_op_classes
from ..base.errors import BorrowError
from ..base.showing import Listed
from ..devices.protocol import Device
from .context import ExecutionContext
from .misuse_hints import MisuseHints
from .place import Location, place_of
from .running import Steps

T_co = TypeVar("T_co", covariant=True)


class Lazy(Op, MisuseHints, Listed, Coroutine[Any, Any, T_co]):
    """What all ops are: something to execute, once."""

    __slots__ = ()
    LISTED = "name"

    gives_back: bool = False
    """Whether its results are objects that it was passed, which belong to somebody."""
    effect: bool = False
    """Whether dropping this op unused is a mistake: it would have changed existing memory."""

    staged: bool = False
    """Whether it runs by `steps`, for the sake of other ops or events; else by `execute`."""

    host_data: bool = False
    """Whether the host must wait for the device before the result is there."""

    lengthy: bool = False
    """Whether starting it may take the host milliseconds; event loops have it done elsewhere."""

    made_of: Sequence[Lazy[Any]] = ()
    """The ops it is made of, as far as they are known before it runs."""

    joint: bool = False
    """Whether others may run what it is made of, too."""

    holds: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold memory, or what may, and are not needed once the op has run."""

    spent: bool = False
    """Whether it has run and holds nothing any more."""

    _callers: ClassVar[int] = 0
    """How many callers of the constructor are Tilewright's own, for certain."""

    _result_count: int | None = None
    _built: Location
    _used: tuple[str, Location] | tuple[()]
    """Who used it, or tried to, and where; the first one has it."""

    if TYPE_CHECKING:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Remember the line that builds the op; subclasses need not call super().__init__()."""
            ...
    else:
        __new__ = new_op

    @abstractmethod
    def execute(self, ctx: ExecutionContext) -> T_co:
        """Enqueue the work on `ctx.stream` and return the result. An ending calls it once."""

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """Yield the ops and events that the op needs, step by step, and return its result."""
        yield from ()
        return self.execute(ctx)

    @property
    def name(self) -> str:
        """What messages call this op."""
        return type(self).__name__

    @property
    def result_count(self) -> int | None:
        """How many results it gives, if they are a tuple whose length is known before it runs."""
        return self._count_results()

    @result_count.setter
    def result_count(self, count: int | None) -> None:
        self._result_count = count

    def _count_results(self) -> int | None:
        return self._result_count

    @property
    def built(self) -> Location:
        """The line that built the op."""
        return self._built

    @property
    def home(self) -> Device | None:
        """The device this op must run on; None: wherever it is started."""
        return None

    def borrows(self, given: Sequence[object]) -> str | None:
        """Describe what this op borrows, without its parts; None: nothing.

        `given` is the result of the op before it, which it owns.
        """
        return None

    def check_standing(self) -> None:
        """Raise if what this op borrowed itself was used in a conflicting way since."""

    def give_back(self) -> None:
        """Return what the op was given to where it came from, as the op will not run.

        An op that has run returns nothing.
        """

    def detach(self) -> None:
        """Copy what its owner may change: the op runs later, and no caller waits for it."""

    def is_lengthy(self) -> bool:
        """Return whether running it is lengthy now; compiled code makes it short."""
        return self.lengthy

    def mark_refused(self) -> None:
        """Note that a run was refused: the op can run again, and dropping it gives no warning."""
        self.effect = False

    @property
    def used_by(self) -> str | None:
        """What has used this op; None: nothing yet."""
        return self._used[0] if self._used else None

    def __repr__(self) -> str:
        return f"<DeviceOp `{self.name}`, {state_of(self)}; built at {place_of(self._built)}>"

    def _warn_never_run(self) -> None:
        """Warn that the op was dropped unused; the core calls this."""
        if self.effect:
            warn_never_run(self.name, self._built)


def warn_never_run(name: str, built: Location) -> None:
    """Warn that an op was dropped unused, which must be a mistake; not during shutdown."""
    if not sys.is_finalizing():
        place = place_of(built)
        warnings.warn_explicit(
            f"DeviceOp `{name}` built at {place} was never run; add .sync() or await it",
            RuntimeWarning, place.filename, place.line,
        )  # fmt: skip


def state_of(op: Lazy[Any]) -> str:
    """Describe whether an op was used, and by what."""
    return "not run" if op.used_by is None else f"used by {op.used_by}"


def refuse_second_use(op: Lazy[Any], use: tuple[str, Location]) -> Never:
    """Raise for an op that somebody has used, and is used again."""
    first = op._used  # pyright: ignore[reportPrivateUsage]
    assert first, "somebody has used it"
    raise BorrowError(
        f"this op was already used by `{first[0]}`",
        places=(
            ("here", place_of(use[1])),
            ("built", place_of(op.built)),
            ("used", place_of(first[1])),
        ),
        hint="an op is used once; make it .shared(), or build it again",
    )


set_op_classes({"refuse_second_use": refuse_second_use})


def all_parts(op: Lazy[Any]) -> Iterator[Lazy[Any]]:
    """Yield an op and all its parts that have not run, without recursion: chains may be long."""
    found = [op]
    while found:
        op = found.pop()
        if not op.spent:
            yield op
            found += op.made_of
