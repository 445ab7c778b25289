"""FMA contraction: fuse a product and the sum that uses it, for all backends alike.

Goals: this pass is the definition of contraction. A fused pair rounds once on every backend, any
other pair twice on every backend; no backend contracts on its own.

Non-goals: f16 and bf16 (their fused form costs more than two steps), integers, products that are
used elsewhere too or are in another block, ops that round otherwise or flush subnormals.

Rules (f32 and f64, nearest even, not ftz; the product has one use, in the same block):

1. a*b + c. If both sides are products the left one is taken.
       %p = mulf %a, %b; addf %p, %c      ->  fma %a, %b, %c
2. c + a*b.
       %p = mulf %a, %b; addf %c, %p      ->  fma %a, %b, %c
3. a*b - c.
       %p = mulf %a, %b; subf %p, %c      ->  fma %a, %b, (negf %c)
4. c - a*b.
       %p = mulf %a, %b; subf %c, %p      ->  fma (negf %a), %b, %c
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.structure import structure, use_counts
from ..base.dtypes import f32, f64
from ..ir.attrs import Rounding
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Func, Op, Value
from ..ir.ops.elementwise import ADDF, MULF, SUBF


def fma_contraction(func: Func) -> Func:
    """Fuse every product that the rules above allow."""
    pairs = _pairs(func)
    products = set(pairs.values())

    def visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op in products:
            return op.results
        product = pairs.get(op)
        return None if product is None else (_fused(r, op, product),)

    return rewrite(func, visit)


def _pairs(func: Func) -> dict[Op, Op]:
    """Return the sums to fuse, each with the product it takes in."""
    nesting, uses = structure(func), use_counts(func)
    pairs: dict[Op, Op] = {}
    for op in func.walk():
        if not op.is_a(ADDF, SUBF) or not _plain(op):
            continue
        for side in op.operands:
            product = nesting.definer(side)
            if (
                product is not None
                and product.is_a(MULF)
                and _plain(product)
                and uses[side] == 1
                and nesting.block[product] is nesting.block[op]
            ):
                pairs[op] = product
                break
    return pairs


def _plain(op: Op) -> bool:
    nearest = op.attrs["rounding"] is Rounding.NEAREST_EVEN
    return op.result.tile.dtype in (f32, f64) and nearest and not op.attrs["ftz"]


def _fused(r: Rewriter, op: Op, product: Op) -> Value:
    a, b = r.many(product.operands)
    lhs, rhs = op.operands
    left = lhs is product.result
    other = r.get(rhs if left else lhs)
    if op.is_a(SUBF):
        if left:  # Rule 3
            other = r.emit("negf", other)
        else:  # Rule 4
            a = r.emit("negf", a)
    return r.emit("fma", a, b, other)
