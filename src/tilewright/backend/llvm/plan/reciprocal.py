"""IR to IR: replaces division of f32 rows by one divisor with multiplication by its reciprocal.

Only divisions that may be wrong by 2 ulp are rewritten: the reciprocal and the product are rounded
once each, which makes 1.5 at most. The reciprocal of a divisor near an end of the range is no
normal number, so numbers and divisor are multiplied by a power of two first. That loses nothing
unless the quotient overflows, or is 0, anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.dtypes import f32
from ....ir.attrs import Predicate, Rounding
from ....ir.core import Block, Func, Op, Value
from ....ir.rewrite import Rewriter, rewrite

WITHIN_BOUND = (Rounding.FULL, Rounding.APPROX)
MANY = 8
"""From so many numbers per divisor on, a division and two products cost less."""
SMALL, LARGE = 2.0**-126, 2.0**126
"""Between these a divisor and its reciprocal are normal numbers."""
UP, DOWN = 2.0**64, 2.0**-64


def share_reciprocals(func: Func) -> Func:
    """Rewrite the divisions by tiles that repeat one number along their last axis."""
    definition = {value: op for op in func.walk() for value in op.results}
    known: dict[tuple[Block, Value], tuple[Value, Value]] = {}

    def visit(rewriter: Rewriter, op: Op) -> Sequence[Value] | None:
        divisor = _shared_divisor(op, definition)
        if divisor is None:
            return None
        key = (rewriter.block, rewriter.get(divisor))
        if key not in known:
            known[key] = _factors(rewriter, key[1])
        product = rewriter.get(op.one("lhs"))
        for factor in known[key]:
            spread = rewriter.emit("broadcast", factor, shape=op.result.tile.shape)
            product = rewriter.emit("mulf", product, spread)
        return [product]

    return rewrite(func, visit)


def _shared_divisor(op: Op, definition: dict[Value, Op]) -> Value | None:
    """What an op divides by, before it is repeated for all lanes; None if it is to stay."""
    if op.name != "divf" or op.attrs["rounding"] not in WITHIN_BOUND:
        return None
    tile, spread = op.result.tile, definition.get(op.one("rhs"))
    if tile.elem is not f32 or spread is None or spread.name != "broadcast":
        return None
    (divisor,) = spread.operands
    if tile.size < MANY * divisor.tile.size or _is_one_number(divisor, definition):
        return None
    last = max(k for k, n in enumerate(tile.shape) if n > 1)
    return divisor if divisor.tile.shape[last] == 1 else None


def _is_one_number(divisor: Value, definition: dict[Value, Op]) -> bool:
    """Whether the whole tile has one divisor, a scalar: its quotients are rounded as expected."""
    op = definition.get(divisor)
    while op is not None and op.name == "reshape":
        (divisor,) = op.operands
        op = definition.get(divisor)
    return divisor.tile.rank == 0


def _factors(rewriter: Rewriter, divisor: Value) -> tuple[Value, Value]:
    """A power of two, and the reciprocal of the divisor times it."""
    shape = divisor.tile.shape

    def number(value: float) -> Value:
        return rewriter.constant(value, f32, shape)

    size = rewriter.emit("absf", divisor)
    is_small = rewriter.emit("cmpf", size, number(SMALL), predicate=Predicate.LT)
    is_large = rewriter.emit("cmpf", size, number(LARGE), predicate=Predicate.GT)
    scale = rewriter.emit("select", is_large, number(DOWN), number(1.0))
    scale = rewriter.emit("select", is_small, number(UP), scale)
    scaled = rewriter.emit("mulf", divisor, scale)
    return scale, rewriter.emit("divf", number(1.0), scaled)
