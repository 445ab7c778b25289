"""Legality: reject well-formed kernels that a target cannot run, or whose checks always fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

from ..analysis.bounds.check_placement import constant_bound, final_placements, named, never_holds
from ..analysis.uniformity import DivergentSync, Over, divergent_syncs
from ..base.errors import Code, CompileError
from ..base.source import Span
from ..frontend.capture.sources import Dialect, KernelSource
from ..ir.attrs import ThreadCoordinate
from ..ir.core import BoundsCheck, Func, Op
from ..ir.launch_expr import LaunchCheck
from ..ir.ops.control import BREAKPOINT
from ..ir.ops.simt import INLINE_PTX, PLACE
from .checks import IN_KERNEL
from .options import CAN_STOP

# -------------------------------------------------------------------------------------------------
# Divergent synchronization: ops at which threads synchronize but that some may not reach.

TOGETHER = {Over.BLOCK: "a block", Over.WARP: "a warp"}
PLACES = {ThreadCoordinate.THREAD: "simt.thread_idx()", ThreadCoordinate.LANE: "simt.lane_id()",
          ThreadCoordinate.WARP: "simt.warp_id()"}  # fmt: skip
SOURCES = {
    "index_1d": "simt.index_1d()", "index_2d": "simt.index_2d()", "shuffle": "a shuffle",
    "vote": "a vote of a warp", "ballot": "a ballot of a warp", "match": "a match in a warp",
}  # fmt: skip
"""What makes numbers differ, in the words of the language."""
HINTS = {
    Over.BLOCK: "move it to code that every thread of the block reaches, and make only the work"
    " conditional",
    Over.WARP: "move it to code that every lane of the warp reaches, or name the lanes: mask=...",
}


def refuse_divergence(func: Func) -> None:
    """Raise for the first barrier that diverging threads may not reach."""
    for sync in divergent_syncs(func):
        _refuse(sync)


def _refuse(sync: DivergentSync) -> None:
    whose = TOGETHER[sync.over]
    raise CompileError(
        f"not all threads of {whose} reach {_words(sync.op.span, 'this op')}",
        code=Code.DIVERGENT,
        span=sync.op.span,
        expected=f"code that all threads of {whose} reach together",
        got=f"{_where(sync)}, which diverges{_why(sync)}",
        hint=HINTS[sync.over],
    )


AROUND = {
    "if": "a branch on", "for": "a loop whose trip count depends on",
    "loop": "a loop whose trip count depends on", "scope": "a return under",
}  # fmt: skip


def _where(sync: DivergentSync) -> str:
    """Return the branch or loop in which threads diverge."""
    made = sync.made.span if sync.made is not None else None
    span = made or sync.at.span
    return f"{AROUND[sync.at.name]} {_words(span, 'a condition')}{_line(span)}"


def _why(sync: DivergentSync) -> str:
    """Return the reason why a condition varies."""
    source = sync.source
    if source is None or source is sync.made:
        return ""
    return f": it comes from {_named(source)}{_line(source.span)}"


def _named(op: Op) -> str:
    if op.is_a(PLACE):
        return PLACES[op.attrs["what"]]
    return SOURCES.get(op.name, "memory that threads write")


def _words(span: Span | None, otherwise: str) -> str:
    """Return the source text of a span that has one line."""
    text = None if span is None else span.file.line(span.line)
    if span is None or text is None or span.end_line != span.line:
        return otherwise
    return f"`{text.encode()[span.column : span.end_column].decode(errors='ignore')}`"


def _line(span: Span | None) -> str:
    return "" if span is None else f" (line {span.line})"


# -------------------------------------------------------------------------------------------------
# Inline PTX on targets other than GPUs.

HOSTS = ("cpu", "reference", "null")


def refuse_ptx(func: Func, target: str) -> None:
    """Raise for PTX in a kernel that is compiled for the host."""
    for op in func.walk() if target in HOSTS else ():
        if op.is_a(INLINE_PTX):
            raise CompileError(
                "inline PTX runs on GPUs only",
                code=Code.TARGET,
                span=op.span,
                expected="a CUDA device",
                got=f"the device `{target}`",
                hint="select it by a constant, and write an alternative in the language",
            )


# -------------------------------------------------------------------------------------------------
# Breakpoints where no debugger can stop: everywhere but on the reference device.


def refuse_breakpoints(func: Func, target: str) -> None:
    """Raise for a breakpoint in a kernel that is compiled for a device that runs it natively."""
    for op in func.walk() if target != CAN_STOP else ():
        if op.is_a(BREAKPOINT):
            raise CompileError(
                "a debugger can stop on the reference device only",
                code=Code.TARGET,
                span=op.span,
                expected="the device `reference`",
                got=f"the device `{target}`",
                hint='run it there: with tw.device("reference"): ...; or print(...) instead',
            )


# -------------------------------------------------------------------------------------------------
# All of these, before any pass.


def accept(func: Func, target: str, dialect: Dialect) -> None:
    """Reject divergent barriers, and what the target does not support."""
    refuse_breakpoints(func, target)
    if dialect == "simt":
        refuse_divergence(func)
        refuse_ptx(func, target)


# -------------------------------------------------------------------------------------------------
# Bounds checks, after the passes: none may fail in every launch, and some kernels deny all.


def accept_checks(kernel: KernelSource, func: Func, checks: str) -> tuple[BoundsCheck, ...]:
    """Return the final placement of all checks; raise if one always fails or is denied."""
    doomed = next((c for c in func.launch_checks if c.of_blocks and never_holds(c)), None)
    if doomed is not None:
        _refuse_index(kernel, doomed)
    obligations = final_placements(func)
    if kernel.terms.deny_in_kernel_checks and checks == "placed":
        for o in obligations:
            if o.placement in IN_KERNEL:
                _deny(kernel.name, o)
    return obligations


def _refuse_index(kernel: KernelSource, check: LaunchCheck) -> NoReturn:
    expected, got = constant_bound(check)
    raise CompileError(
        f"index out of range in every launch of `{kernel.name}`: {check.message}",
        code=Code.INDEX,
        span=check.span,
        expected=expected,
        got=got,
        hint="indices count tiles, not elements" if kernel.dialect == "tile" else None,
    )


def _deny(kernel: str, o: BoundsCheck) -> NoReturn:
    raise CompileError(
        f"`{kernel}` denies checks in the kernel, but {named(o.tensor, o.axis)} needs one here",
        code=Code.INDEX,
        span=o.span,
        expected="an index that is proved or checked at launch",
        got=f"a check {o.placement.value}: {o.reason}",
        hint=f"{o.advice}; or drop deny_in_kernel_checks",
    )


# -------------------------------------------------------------------------------------------------
# Deep nesting: RecursionError becomes a diagnostic that names the kernel.

P = ParamSpec("P")
R = TypeVar("R")


def limit_depth(
    compile_: Callable[Concatenate[KernelSource, P], R],
) -> Callable[Concatenate[KernelSource, P], R]:
    """Wrap a recursive compiler: reject a kernel that is nested too deeply for Python's stack."""

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
