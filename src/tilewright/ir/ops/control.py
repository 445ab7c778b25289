"""Structured control flow, the grid, print and assert."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32
from ..attrs import DebugEvent
from ..opdef import Attrs, Effect, Trait, declare, need, none, number, scalar
from ..types import I32, TensorType, Type, ViewType

# -------------------------------------------------------------------------------------------------
# Structured control flow. Regions have one block each; values pass through terminators.


def _carried(types: Sequence[Type]) -> tuple[Type, ...]:
    for t in types:
        need(not isinstance(t, TensorType | ViewType), "{} cannot be carried", t)
    return tuple(types)


def _for(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    low = number(types[0])
    need(low.rank == 0 and low.dtype.is_int, "bounds must be scalar integers, got {}", low)
    need(types[1] == low and types[2] == low, "bounds and step must have one type")
    return _carried(types[3:])


def _loop(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return _carried(types)


def _if(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    return _carried(attrs["types"])


def _scope(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return _carried(attrs["types"])


FLOW = Effect.CONTROL
ENDS = Trait.TERMINATOR | Trait.OF_THREAD

FOR = declare(
    "for",
    "core",
    "lower upper step init*",
    _for,
    "Runs its region for iv = lower, lower + step, ... < upper (step > 0; signed for signed"
    " types); block args (iv, carried...); results are the carried values at the end. `rerolled`"
    " copies of unrolled code were made one loop.",
    attrs={"rerolled": 0},
    effects=FLOW,
    regions=1,
    traits=Trait.LOOP | Trait.OF_THREAD,
)
LOOP = declare(
    "loop",
    "core",
    "init*",
    _loop,
    "Runs its region until a break; block args are the carried values; results are the"
    " values of the break.",
    effects=FLOW,
    regions=1,
    traits=Trait.LOOP | Trait.OF_THREAD,
)
IF = declare(
    "if",
    "core",
    "cond",
    _if,
    "Runs the first region if cond, else the second; results are what it yields.",
    attrs={"types": ()},
    effects=FLOW,
    regions=2,
    traits=Trait.BRANCH | Trait.OF_THREAD,
)
SCOPE = declare(
    "scope",
    "core",
    "",
    _scope,
    "Runs its region once, until a leave; results are the values of the leave.",
    attrs={"types": ()},
    effects=FLOW,
    regions=1,
    traits=Trait.BRANCH | Trait.OF_THREAD,
)
YIELD = declare(
    "yield",
    "core",
    "values*",
    none,
    "Ends a region of if, reduce or scan.",
    effects=FLOW,
    traits=ENDS,
)
CONTINUE = declare(
    "continue",
    "core",
    "values*",
    none,
    "Starts the next iteration of the innermost for or loop.",
    effects=FLOW,
    traits=ENDS,
)
BREAK = declare(
    "break",
    "core",
    "values*",
    none,
    "Leaves the innermost for or loop with these results.",
    effects=FLOW,
    traits=ENDS,
)
LEAVE = declare(
    "leave",
    "core",
    "values*",
    none,
    "Leaves the innermost scope with these results.",
    effects=FLOW,
    traits=ENDS,
)
RETURN = declare(
    "return", "core", "", none, "Ends this block of the grid.", effects=FLOW, traits=ENDS
)

CONTROL_OPS = (FOR, LOOP, IF, SCOPE, YIELD, CONTINUE, BREAK, LEAVE, RETURN)


# -------------------------------------------------------------------------------------------------
# Position of this block in the grid. Axes are logical; the launch maps them to the hardware.


def _index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (I32,)


def _tile_index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    for t in types:
        scalar(t, i32)
    groups = attrs["groups"]
    rank = len(groups)
    need(rank > 0 and min(groups) >= 1, "groups {} have no tiles", groups)
    need(len(types) - 1 in (rank, 2 * rank), f"groups {groups} for {len(types) - 1} numbers")
    return (I32,) * rank


BLOCK_ID = declare(
    "block_id", "tile", "", _index, "This block's logical index along `axis`.", attrs={"axis": 0}
)
NUM_BLOCKS = declare(
    "num_blocks", "tile", "", _index, "The logical grid's size along `axis`.", attrs={"axis": 0}
)
TILE_INDEX = declare(
    "tile_index",
    "tile",
    "number counts* starts*",
    _tile_index,
    "The index of tile `number` among `counts` tiles along each axis, from `starts` (or 0)"
    " on, visited in groups of shape `groups` (see base.tile_order). Different numbers from"
    " 0 up to the product of the counts have different indices, and result k lies from"
    " starts[k] >= 0 up to starts[k] + counts[k], which fits in i32; other numbers give"
    " anything.",
    attrs={"groups": ()},
)

GRID_OPS = (BLOCK_ID, NUM_BLOCKS, TILE_INDEX)


# -------------------------------------------------------------------------------------------------
# Device print and assert: records in launch buffers, never a trap. Breakpoints, of the reference.


def _assert(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    return ()


PRINT = declare(
    "print",
    "core",
    "args*",
    none,
    "Writes a record; `template` is a tuple of str, and (n, spec) for operand n.",
    attrs={"template": ()},
    effects=Effect.PRINT,
    traits=Trait.OF_THREAD,
)
ASSERT = declare(
    "assert",
    "core",
    "cond",
    _assert,
    "Records a failed assertion with `message` if cond is false. One that checks a span of"
    " tiles names the output, `tensor`, and the `axis`.",
    attrs={"message": "", "tensor": "", "axis": 0},
    effects=Effect.CHECK,
    traits=Trait.OF_THREAD,
)

BREAKPOINT = declare(
    "breakpoint",
    "core",
    "args*",
    none,
    "Tells a debugger of an event: a stop, a statement, a call or its end. The `scene` has the"
    " names that it is shown, and the operands are their values.",
    attrs={"event": DebugEvent.STOP, "scene": None},
    effects=Effect.STOP,
    traits=Trait.OF_THREAD,
)

DEBUG_OPS = (PRINT, ASSERT, BREAKPOINT)


OPS = (*CONTROL_OPS, *GRID_OPS, *DEBUG_OPS)
"""All ops of the family."""
