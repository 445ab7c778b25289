"""Which values are known numbers: from a function to {value: number}, tiles of one number included.

Known are: constants, elementwise ops on known numbers (see `analysis.fold`), rearrangements of
tiles whose elements all are one number, what the signature fixes (static extents, tile counts, the
grid), and results of an `if` that is decided or whose arms agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from ..base.dtypes import i32, int_range
from ..base.shapes import ceil_div
from ..ir.core import Block, Func, Op, Value
from ..ir.signature import Signature
from .fold import FOLD, Number, fold, number_of

Constants: TypeAlias = dict[Value, Number]


def constants(func: Func) -> Constants:
    """All values of a function that are known numbers."""
    known: Constants = {}
    _block(func.signature, func.body, known)
    return known


def _block(signature: Signature, block: Block, known: Constants) -> None:
    for op in block.ops:
        for region in op.regions:
            _block(signature, region, known)
        if op.name == "if":
            _if(op, known)
        elif (number := _result(signature, op, known)) is not None:
            known[op.result] = number


def _if(op: Op, known: Constants) -> None:
    """Results of a decided `if`, or those that both arms agree on."""
    taken = known.get(op.one("cond"))
    arms = op.regions if taken is None else (op.regions[0 if taken else 1],)
    ends = [arm.terminator for arm in arms if arm.terminator.name == "yield"]
    for k, result in enumerate(op.results):
        numbers = [known.get(end.operands[k]) for end in ends]
        first = numbers[0] if numbers else None
        if first is not None and all(n is not None and same(n, first) for n in numbers):
            known[result] = first


def same(a: Number, b: Number) -> bool:
    """Whether two numbers are the same to the bit: -0.0 is not 0.0, a NaN is the same NaN."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)
    return type(a) is type(b) and a == b


def _result(signature: Signature, op: Op, known: Constants) -> Number | None:
    rule = SPECIAL.get(op.name)
    if rule is not None:
        return rule(signature, op, known)
    if op.name not in FOLD or any(v not in known for v in op.operands):
        return None
    return fold(op, [known[v] for v in op.operands])


def _constant(signature: Signature, op: Op, known: Constants) -> Number | None:
    return number_of(op.attrs["value"], op.attrs["dtype"])


def _rearranged(signature: Signature, op: Op, known: Constants) -> Number | None:
    return known.get(op.operands[0])


def _cat(signature: Signature, op: Op, known: Constants) -> Number | None:
    a, b = known.get(op.one("lhs")), known.get(op.one("rhs"))
    return a if a is not None and b is not None and same(a, b) else None


def _extent(signature: Signature, op: Op, known: Constants) -> Number | None:
    axis: int = op.attrs["axis"]
    return _index(op.one("tensor").tensor.shape[axis])


def _num_tiles(signature: Signature, op: Op, known: Constants) -> Number | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis = view.dim_map[k]
    extent = view.tensor.shape[axis] if view.frame is None else view.frame[axis]
    return None if extent is None else _index(ceil_div(extent, (view.step or view.tile)[k]))


def _num_blocks(signature: Signature, op: Op, known: Constants) -> Number | None:
    return _index(grid_size(signature, op.attrs["axis"]))


def _block_id(signature: Signature, op: Op, known: Constants) -> Number | None:
    return 0 if grid_size(signature, op.attrs["axis"]) == 1 else None


def grid_size(signature: Signature, axis: int) -> int | None:
    """The size of the grid along an axis, where the signature fixes it."""
    grid = signature.grid
    return grid[axis] if grid is not None and axis < len(grid) else None


def _index(n: int | None) -> int | None:
    """An i32, unless it would not fit."""
    return n if n is not None and n <= int_range(i32)[1] else None


SPECIAL: dict[str, Callable[[Signature, Op, Constants], Number | None]] = {
    "constant": _constant, "reshape": _rearranged, "broadcast": _rearranged,
    "permute": _rearranged, "extract": _rearranged, "cat": _cat,
    "extent": _extent, "num_tiles": _num_tiles,
    "num_blocks": _num_blocks, "block_id": _block_id,
}  # fmt: skip
"""Ops that are known otherwise than from numbers of all operands."""
