"""Compiled code made ready for launches alike: runs it, and raises what it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..base.shapes import Shape, size
from ..compile.cache import Compiled
from ..devices.protocol import Stream
from ..frontend.capture.sources import Captured
from ..ir.launch_expr import LaunchFacts, leaves
from .arguments import Arg, Bound, OutputArg, ScalarArg, TensorArg
from .launch_plan import CalledPlan, called_plan
from .report import QUIET, Report, check_launch

Later: TypeAlias = Callable[[], Report]
"""What a launch reports, to be asked for once its stream has passed it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A launch in a capture."""

    read: Callable[[Any], Report]
    """What the stream's own form of its report means."""
    refill: Callable[[Bound], None]
    """Sets other memory and numbers, while no replay is in flight."""


class Run(Protocol):
    """Code made ready for launches alike: puts them on streams."""

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Report | Later:
        """Enqueue a launch; return its report if it is over already.

        `inline` says that the caller will wait for it, so it may as well run here.
        """
        ...

    def is_brief(self) -> bool:
        """Return whether a launch may run on the caller even where an event loop runs."""
        ...

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record a launch on a stream that is capturing."""
        ...

    @property
    def plan(self) -> AnyPlan:
        """How the core submits launches."""
        ...

    @property
    def called(self) -> CalledPlan:
        """How it has `start` submit them, or `record` record them."""
        ...

    @property
    def lending(self) -> Lending | None:
        """How launches run on memory that is unknown here; None: they cannot."""
        ...


Lending: TypeAlias = Callable[[list[int], tuple[Any, ...], Stream], bool]
"""Runs a launch on memory at these addresses, with these numbers, in the order of a stream.

The memory exists until the stream has passed the launch. False: it needs the slow path, and was not
run.
"""


class AnyPlan(Protocol):
    """Puts plain launches on streams that say how far they are."""

    def watch(self, captured: Sequence[Captured]) -> None:
        """Submit only while names that the kernel captured are what they were."""
        ...

    def check_numbers(self) -> None:
        """Submit only numbers that the code is known to accept."""
        ...


RunOver: TypeAlias = Callable[[Sequence[Arg], Shape], Run]
"""Makes loaded code ready to run: for arguments of these layouts, over this grid."""

MOST_PASSED = 256
"""Launches whose checks are known to hold, where they depend on numbers."""


class Program:
    """What a kernel compiled to for one signature, loaded on one device."""

    __slots__ = ("asks_numbers", "compiled", "run_over")

    def __init__(self, compiled: Compiled, run_over: RunOver) -> None:
        self.compiled = compiled
        self.run_over = run_over
        checks = compiled.artifact.launch_checks
        asked = [leaf for c in checks for expr in (c.expr, *c.where) for leaf in leaves(expr)]
        self.asks_numbers = any(leaf[0] == "scalar" for leaf in asked)
        """Whether the launch checks depend on the numbers of a launch."""


class Code:
    """A program ready for launches of one form: the grid it runs over, the launches it allows."""

    def __init__(self, kernel: str, program: Program, args: Sequence[Arg], grid: Shape) -> None:
        self.compiled = program.compiled
        self.kernel = kernel
        """The kernel's name."""
        self._args = args
        self.grid = grid
        self._checks = program.compiled.artifact.launch_checks
        self._passed: set[tuple[Any, ...]] = set()
        self.asks_numbers = program.asks_numbers
        """Whether `check` may raise."""
        if not self.asks_numbers:
            self._check(())
        self.run: Run = program.run_over(args, grid) if size(grid) else Nothing(called_plan(args))
        """How launches get on their way."""
        self.run.plan.watch(program.compiled.captured)
        if self.asks_numbers:
            self.run.plan.check_numbers()

    def has_passed(self, numbers: Sequence[Any]) -> bool:
        """Return whether the kernel is known to accept these numbers."""
        return not self.asks_numbers or tuple(numbers) in self._passed

    def check(self, numbers: Sequence[Any]) -> None:
        """Raise if the kernel cannot be launched with these numbers."""
        if self.asks_numbers:
            self._check(tuple(numbers))

    def _check(self, numbers: tuple[Any, ...]) -> None:
        if numbers in self._passed:
            return
        check_launch(self.kernel, self._checks, facts_of(self._args, numbers, self.grid))
        if len(self._passed) >= MOST_PASSED:
            self._passed.clear()
        self._passed.add(numbers)


class Nothing:
    """Runs an empty grid."""

    lending = None

    def __init__(self, plan: CalledPlan) -> None:
        self.plan = self.called = plan

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Report:
        """Do nothing."""
        return QUIET

    def is_brief(self) -> bool:
        """Return True."""
        return True

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record nothing."""
        return Recorded(lambda raw: QUIET, lambda bound: None)


def facts_of(args: Sequence[Arg], numbers: Sequence[Any], grid: Shape) -> LaunchFacts:
    """Return the facts that launch checks may need, with the numbers only if they need them."""
    extents = {
        a.parameter.name: a.layout.shape for a in args if isinstance(a, TensorArg | OutputArg)
    }
    names = [a.parameter.name for a in args if isinstance(a, ScalarArg)]
    return LaunchFacts(extents, dict(zip(names, numbers, strict=False)), grid)
