"""Print and assert: records of the launch; the block goes on. Breakpoints stop in a debugger."""

from __future__ import annotations

import ast

import numpy as np

from ...ir.artifact import Printed
from ...ir.core import Op
from .machine import Frame, Results, Rule


def _print(frame: Frame, op: Op) -> Results:
    if op.attrs["names"]:
        _stop(frame, op)
        return ()
    values = tuple(np.array(a) for a in frame.arrays(op))
    record = Printed(frame.launch.sites[op], frame.block, values)
    frame.launch.printed.append((frame.number, record))
    return ()


def _stop(frame: Frame, op: Op) -> None:
    """Call Python's breakpoint from a frame that stands on the kernel's line, with its names."""
    span = op.span
    assert span is not None, "the front end knows where it stands"
    call = ast.increment_lineno(ast.parse("breakpoint()"), span.line - 1)
    code = compile(call, span.file.name, "exec").replace(co_name=span.function or "kernel")
    where = {"block": frame.block, "thread": frame.thread, "np": np, "breakpoint": breakpoint}
    names = zip(op.attrs["names"], frame.arrays(op), strict=False)
    exec(code, where, {name: np.array(a)[()] for name, a in names})


def _assert(frame: Frame, op: Op) -> Results:
    if not bool(frame.array(op.one("cond"))):
        frame.fail(op)
    return ()


RULES: dict[str, Rule] = {"print": _print, "assert": _assert}
