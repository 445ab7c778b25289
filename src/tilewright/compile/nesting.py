"""Says of a kernel that is nested too deeply for Python's own stack what it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..base.errors import Code, CompileError
from ..frontend.sources import KernelSource

P = ParamSpec("P")
R = TypeVar("R")


def tells_depth(
    compile_: Callable[Concatenate[KernelSource, P], R],
) -> Callable[Concatenate[KernelSource, P], R]:
    """Let a compiler, which goes down into what it compiles, refuse what has no end in sight."""

    @wraps(compile_)
    def compiling(kernel: KernelSource, /, *args: P.args, **keywords: P.kwargs) -> R:
        try:
            return compile_(kernel, *args, **keywords)
        except RecursionError:
            # Not raised from it: its traceback is as long as the stack.
            error = CompileError(
                f"`{kernel.name}` is nested too deeply",
                code=Code.RESOURCES,
                span=kernel.source.span(kernel.source.node),
                expected="shallower nesting",
                hint="name parts of long expressions, and replace chains of branches by a loop or a"
                " tensor; or raise sys.setrecursionlimit(...)",
            )
        raise error

    return compiling
