"""Conditional constant propagation: from a function to the values that are known numbers.

A tile is known if all its elements are one number. Known are constants, elementwise ops on known
numbers (see `ir.semantics`), rearrangements, what the signature fixes (static extents, tile counts,
the grid), and what all reached exits of a branch or a loop agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..base.dtypes import i32, int_range
from ..base.shapes import ceil_div
from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.semantics import Number, evaluate, number_of, same
from ..ir.signature import Signature
from .dataflow import Analysis, solve

Constants: TypeAlias = dict[Value, Number]


def constants(func: Func) -> Constants:
    """Return all values of a function that are known numbers."""
    return solve(func, _Propagation(func.signature))


class _Propagation(Analysis[Number]):
    """The flat lattice of numbers: two that differ in a bit join to nothing known."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    def transfer(self, op: Op, known: Constants) -> Sequence[Number | None]:
        if len(op.results) != 1:
            return ()
        rule = SPECIAL.get(op.name)
        if rule is not None:
            return (rule(self.signature, op, known),)
        if op.has(Trait.REARRANGES):
            return (known.get(op.operands[0]),)
        if not op.has(Trait.ELEMENTWISE) or any(v not in known for v in op.operands):
            return ()
        return (evaluate(op, [known[v] for v in op.operands]),)

    def join(self, value: Value, a: Number, b: Number) -> Number | None:
        return a if same(a, b) else None

    def taken(self, cond: Value, known: Constants) -> bool | None:
        truth = known.get(cond)
        return None if truth is None else bool(truth)


def _constant(signature: Signature, op: Op, known: Constants) -> Number | None:
    return number_of(op.attrs["value"], op.attrs["dtype"])


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
    """Return the size of the grid along an axis, where the signature fixes it."""
    grid = signature.grid
    return grid[axis] if grid is not None and axis < len(grid) else None


def _index(n: int | None) -> int | None:
    """Return an i32, unless it would not fit."""
    return n if n is not None and n <= int_range(i32)[1] else None


SPECIAL: dict[str, Callable[[Signature, Op, Constants], Number | None]] = {
    "constant": _constant, "cat": _cat,
    "extent": _extent, "num_tiles": _num_tiles,
    "num_blocks": _num_blocks, "block_id": _block_id,
}  # fmt: skip
"""Ops that are known otherwise than from numbers of all operands."""
