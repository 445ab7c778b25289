"""Compiled code made ready for launches alike: runs it, and raises what it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..base.shapes import Shape, size
from ..compile.cache import Compiled
from ..driver.immediate import ImmediateStream
from ..ir.launch_expr import LaunchFacts, leaves
from .arguments import Arg, Bound, OutputArg, ScalarArg, TensorArg
from .report import QUIET, Report, check_launch, deliver

Run: TypeAlias = Callable[[Bound], Report]
"""Runs code on the memory and numbers of a launch."""
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
        asked = [leaf for check in compiled.artifact.launch_checks for leaf in leaves(check.expr)]
        self.asks_numbers = any(leaf[0] == "scalar" for leaf in asked)
        """Whether the launch checks depend on the numbers of a launch."""


class Code:
    """A program ready for launches of one form: the grid it runs over, the launches it allows."""

    def __init__(self, kernel: str, program: Program, args: Sequence[Arg], grid: Shape) -> None:
        self.compiled = program.compiled
        self._kernel = kernel
        self._args = args
        self._grid = grid
        self._checks = program.compiled.artifact.launch_checks
        self._passed: set[tuple[Any, ...]] = set()
        self._asks_numbers = program.asks_numbers
        if not self._asks_numbers:
            self._check(())
        self._run = program.run_over(args, grid) if size(grid) else _run_nothing

    def launch(self, bound: Bound) -> None:
        """Run the code on a launch's arguments; a failure in the kernel is raised here."""
        if self._asks_numbers:
            self._check(tuple(bound.numbers))
        stream = bound.device.streams()[0]
        if isinstance(stream, ImmediateStream):
            report = stream.run(self._run, bound)
        else:
            report = self._run(bound)
        if report is not QUIET:
            deliver(self._kernel, report)

    def _check(self, numbers: tuple[Any, ...]) -> None:
        if numbers in self._passed:
            return
        check_launch(self._kernel, self._checks, facts_of(self._args, numbers, self._grid))
        if len(self._passed) >= MOST_PASSED:
            self._passed.clear()
        self._passed.add(numbers)


def _run_nothing(bound: Bound) -> Report:
    return QUIET


def facts_of(args: Sequence[Arg], numbers: Sequence[Any], grid: Shape) -> LaunchFacts:
    """What launch checks may ask about; without numbers, where they ask for none."""
    extents = {
        a.parameter.name: a.layout.shape for a in args if isinstance(a, TensorArg | OutputArg)
    }
    names = [a.parameter.name for a in args if isinstance(a, ScalarArg)]
    return LaunchFacts(extents, dict(zip(names, numbers, strict=False)), grid)
