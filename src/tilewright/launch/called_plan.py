"""Launches whose work Python does, where other plans enqueue theirs.

The core borrows, orders and begins them like all others; then it calls `start`. So kernels are
interpreted, noted by the null device, and enqueued where there is no native way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from .arguments import Arg, OutputArg, PointerArg, TensorArg
from .launch_plan import LaunchPlan


class CalledPlan(LaunchPlan):
    """Launches of one kernel over one grid that Python enqueues, or runs."""

    __slots__ = ()

    def __init__(self, count: int, written: int) -> None:
        """Plan launches that use `count` pieces of memory, of which they write the first."""
        super().__init__((ctypes.c_int64 * count)(), written, ())


def called_plan(args: Sequence[Arg]) -> CalledPlan:
    """Return the plan of launches with such arguments."""
    written = sum(isinstance(arg, OutputArg | PointerArg) for arg in args)
    return CalledPlan(written + sum(isinstance(arg, TensorArg) for arg in args), written)
