"""Structured control flow, the grid, print and assert."""

from __future__ import annotations

import ast

import numpy as np

from ...base.shapes import INTEGERS, size, tile_index
from ...ir.artifact import Printed
from ...ir.core import Op
from .machine import Frame, Jump, Results, Rule, Steps, storage_type

# -------------------------------------------------------------------------------------------------
# Structured control flow: a region ends in a jump, which the op it is meant for catches.


def _for(frame: Frame, op: Op) -> Steps:
    (body,) = op.regions
    lower, upper, step = (frame.integer(op.one(name)) for name in ("lower", "upper", "step"))
    elem = storage_type(op.one("lower").tile)
    carried = frame.data(op.all("init"))
    # Python's integers do not wrap, so the counter cannot run past the upper bound and around.
    for i in range(lower, upper, step) if step > 0 else ():
        frame.bind(body.args, (np.asarray(i, elem), *carried))
        jump = yield from frame.steps(body)
        if jump.kind == "break":
            return jump.values
        if jump.kind != "continue":
            return jump
        carried = jump.values
    return carried


def _loop(frame: Frame, op: Op) -> Steps:
    (body,) = op.regions
    carried = frame.data(op.all("init"))
    while True:
        frame.bind(body.args, carried)
        jump = yield from frame.steps(body)
        if jump.kind == "break":
            return jump.values
        if jump.kind != "continue":
            return jump
        carried = jump.values


def _if(frame: Frame, op: Op) -> Steps:
    then, otherwise = op.regions
    jump = yield from frame.steps(then if bool(frame.array(op.one("cond"))) else otherwise)
    return jump.values if jump.kind == "yield" else jump


def _scope(frame: Frame, op: Op) -> Steps:
    jump = yield from frame.steps(op.regions[0])
    return jump.values if jump.kind == "leave" else jump


def _jump(frame: Frame, op: Op) -> Jump:
    return Jump(op.name, frame.data(op.operands))


# -------------------------------------------------------------------------------------------------
# Position of this block in the grid.


def _block_id(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.block[op.attrs["axis"]], np.int32),)


def _num_blocks(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.launch.grid[op.attrs["axis"]], np.int32),)


def _tile_index(frame: Frame, op: Op) -> Results:
    number, counts = frame.integer(op.one("number")), [frame.integer(v) for v in op.all("counts")]
    if not 0 <= number < size(counts):  # what a pass moved out of a loop that does not run
        return tuple(np.asarray(0, np.int32) for _ in counts)
    index = tile_index(number, counts, op.attrs["groups"], INTEGERS)
    starts = [frame.integer(v) for v in op.all("starts")] or [0] * len(index)
    return tuple(np.asarray(a + b, np.int32) for a, b in zip(index, starts, strict=True))


# -------------------------------------------------------------------------------------------------
# Print and assert: records of the launch; the block goes on. Breakpoints stop in a debugger.


def _print(frame: Frame, op: Op) -> Results:
    values = tuple(np.array(a) for a in frame.arrays(op))
    record = Printed(frame.launch.sites[op], frame.block, values)
    frame.launch.printed.append((frame.number, record))
    return ()


def _breakpoint(frame: Frame, op: Op) -> Results:
    """Call Python's breakpoint from a frame at the kernel's line, with its names."""
    span = op.span
    assert span is not None, "the front end knows where it stands"
    call = ast.increment_lineno(ast.parse("breakpoint()"), span.line - 1)
    code = compile(call, span.file.name, "exec").replace(co_name=span.function or "kernel")
    where = {"block": frame.block, "thread": frame.thread, "np": np, "breakpoint": breakpoint}
    names = zip(op.attrs["names"], frame.arrays(op), strict=True)
    exec(code, where, {name: np.array(a)[()] for name, a in names})
    return ()


def _assert(frame: Frame, op: Op) -> Results:
    if not bool(frame.array(op.one("cond"))):
        frame.fail(op)
    return ()


RULES: dict[str, Rule] = {
    "for": _for,
    "loop": _loop,
    "if": _if,
    "scope": _scope,
    **dict.fromkeys(("yield", "continue", "break", "leave", "return"), _jump),
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
    "print": _print,
    "assert": _assert,
    "breakpoint": _breakpoint,
}
