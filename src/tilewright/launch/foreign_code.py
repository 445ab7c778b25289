"""Foreign code made ready for launches alike: puts them on streams, or into graphs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NoReturn

from ..base.errors import LaunchError
from ..base.shapes import Shape, size
from ..devices.cuda.module import CudaFunction
from ..devices.protocol import Stream
from ..frontend.capture.sources import Captured
from ..op.place import Location
from .arguments import Arg, Bound, OutputArg
from .code import Later, Nothing, Recorded, Run
from .cuda_plan import CudaPlan, label_of
from .foreign_calls import Address, Call, Maker, Number, Ready, Typed
from .launch_plan import CalledPlan, called_plan
from .recent import Recent
from .report import nothing_reported, report_of_run
from .scalars import slot_of

MOST_PLANS = 256
"""Codes that plain launches of tensors alike remember, by their numbers and grids."""


class ForeignCode:
    """Code of a foreign kernel for launches alike, ready to be put on streams."""

    __slots__ = ("grid", "is_lasting", "kernel", "plan", "run")

    def __init__(
        self,
        kernel: str,
        ready: Ready,
        args: Sequence[Arg],
        again: Callable[[Bound], ForeignCode],
    ) -> None:
        """Hold a ready launch; `again` finds the code of another launch of the same kernel."""
        self.kernel = kernel
        """The kernel's name."""
        self.grid: Shape = tuple(ready.config.grid_dim)
        """The blocks of a launch, along each axis."""
        self.is_lasting = ready.keep is None
        """Whether it serves more than one launch."""
        self.run: Run = Nothing(called_plan(args))
        """How launches get on their way."""
        self.plan: CudaPlan | None = None
        """How the core submits them without asking Python; None: it asks."""
        if size(ready.config.grid_dim):
            called = called_plan(args)
            written = sum(isinstance(arg, OutputArg) for arg in args)
            self.plan = _plan_of(ready, written, partial(label_of, kernel))
            self.run = ForeignRun(kernel, ready, self.plan or called, called, again)

    @property
    def compiled(self) -> ForeignCode:
        """What is asked whether it is stale."""
        return self

    def stale(self) -> None:
        """Return None: it never becomes stale."""

    def has_passed(self, numbers: Sequence[Any]) -> bool:
        """Return whether `check` would not raise: so it is."""
        return True

    def check(self, numbers: Sequence[Any]) -> None:
        """Check nothing: no condition is known."""


class ForeignRun:
    """Puts launches alike on streams."""

    lending = None

    __slots__ = ("_again", "_kernel", "_ready", "called", "plan")

    def __init__(
        self,
        kernel: str,
        ready: Ready,
        plan: CudaPlan | CalledPlan,
        called: CalledPlan,
        again: Callable[[Bound], ForeignCode],
    ) -> None:
        self._kernel, self._ready, self._again = kernel, ready, again
        self.plan, self.called = plan, called

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Later:
        """Enqueue a launch, and keep its arguments alive until it has passed."""
        function, config, _, keep = self._ready
        run = function.put_on(stream, config, self.words(bound), inline=inline, keep=(bound, keep))
        return partial(report_of_run, run)

    def is_brief(self) -> bool:
        """Return False: the duration is unknown."""
        return False

    def words(self, bound: Bound) -> list[int]:
        """Return the parameters of a launch."""
        memory, numbers, found = bound.memory, bound.numbers, list[int]()
        for word in self._ready.words:
            if isinstance(word, int):
                found.append(word)
            elif isinstance(word, Address):
                found.append(memory[word.place].address)
            else:
                number = numbers[word.place]
                value = number.value if isinstance(number, Typed) else number
                found.append(slot_of(word.dtype, value))
        return found

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record a launch in a capture."""
        function, config, _, keep = self._ready
        kept = (bound, keep, self)
        if not isinstance(function, CudaFunction):
            function.put_on(stream, config, self.words(bound), keep=kept)
            return Recorded(nothing_reported, self._refuse_refill)
        record = function.record(config, self.words(bound))
        node = function.launch(stream, record, kept)
        assert node is not None, "the stream is capturing"

        def refill(other: Bound) -> None:
            found = self._again(other).run
            if not (isinstance(found, ForeignRun) and found.is_like(self)):
                self._refuse_refill(other)
            record.refill(found.grid, function.words(found.words(other)))
            node.refill(record)

        return Recorded(nothing_reported, refill)

    @property
    def grid(self) -> Shape:
        """Over how many blocks they run."""
        return (*self._ready.config.grid_dim, 1, 1)[:3]

    def is_like(self, other: ForeignRun) -> bool:
        """Return whether launches of the one can replace launches of the other in a graph."""
        mine, its = self._ready, other._ready
        alone = mine.keep is None and its.keep is None
        return alone and mine.function is its.function and len(mine.words) == len(its.words)

    def _refuse_refill(self, other: Bound) -> NoReturn:
        raise LaunchError(
            f"a node of `{self._kernel}` keeps the code it was recorded with",
            expected="arguments that its compiler makes the same code for, and at least one block",
            got="others",
            hint="capture another graph",
        )


def _plan_of(ready: Ready, written: int, label: Callable[[Location], str]) -> CudaPlan | None:
    """Return the plan of plain launches; None where they must be listed."""
    function, config, words, keep = ready
    if keep is not None or not isinstance(function, CudaFunction):
        return None
    record = function.record(config, [w if isinstance(w, int) else 0 for w in words])
    placed = list(enumerate(words, record.slots))
    addresses = {word.place: at for at, word in placed if isinstance(word, Address)}
    count = sum(isinstance(word, Address) for word in words)
    if sorted(addresses) != list(range(count)):
        return None  # some memory is passed twice, or not at all
    places = (ctypes.c_int64 * count)(*[addresses[i] for i in range(count)])
    numbers = [(at, w.place, w.dtype) for at, w in placed if isinstance(w, Number)]
    return CudaPlan(function.context, record, places, written, numbers, label, function)


class PlansByNumbers:
    """Launches of tensors alike; of several codes, the one for their numbers and grid."""

    __slots__ = ("_call", "_grid", "_maker", "_plans")

    def __init__(self, maker: Maker, call: Call) -> None:
        self._maker, self._call = maker, call
        self._grid = None if maker.counts else maker.grid(call)
        self._plans: Recent[Hashable, CudaPlan] = Recent(MOST_PLANS)

    def keep(self, numbers: Sequence[Typed], grid: Shape, plan: CudaPlan) -> None:
        """Remember how launches with such numbers over a grid get on their way."""
        self._plans.keep((self._maker.traits(numbers), grid), plan)

    def choose(self, numbers: Sequence[Any]) -> tuple[CudaPlan, tuple[Any, ...]] | None:
        """Return the plan of a launch with these numbers, and the numbers as Python ones.

        The core calls this. None: there is no plan yet.
        """
        maker, grid = self._maker, self._grid
        typed = self._call.typed(numbers)
        if grid is None:
            grid = maker.grid(self._call.with_numbers(typed))
        plan = self._plans.get((maker.traits(typed), grid))
        return None if plan is None else (plan, tuple([number.value for number in typed]))

    def watch(self, captured: Sequence[Captured]) -> None:
        """Return no watches."""

    def check_numbers(self) -> None:
        """Accept all numbers."""
