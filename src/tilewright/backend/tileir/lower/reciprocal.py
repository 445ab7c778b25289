"""Rows divided by one number each: multiplied by its reciprocal, which is computed once."""

from __future__ import annotations

from ....ir.core import Op
from ..encoding.enums import Comparison, NanOrdering, Rounding
from ..program.core import Val
from ..program.types import F32, I1
from .emitter import Emitter, tile

LARGE = 2.0**64
LEAST = 4
"""How many elements must share a divisor that is no number of its own."""


def shared_divisor(em: Emitter, op: Op) -> Val | None:
    """What an f32 division divides by, before it was repeated for many elements, if it was.

    A single number is known early, so that its reciprocal is worth it for any tile.
    """
    if tile(em.get(op.one("lhs"))).elem != F32:
        return None
    divisor, source = op.one("rhs"), op.one("rhs")
    while (maker := em.nesting.definer(source)) is not None and maker.name in REPEATED:
        source = maker.operands[0]
        divisor = source if maker.name == "broadcast" and divisor is op.one("rhs") else divisor
    if not source.tile.shape:
        return em.get(source)
    return em.get(divisor) if divisor.tile.size * LEAST <= op.result.tile.size else None


REPEATED = ("broadcast", "reshape")
"""Ops that only lay out a divisor."""


def multiplied(em: Emitter, number: Val, divisor: Val) -> Val:
    """A quotient within 1.5 ulp, in two factors, so that none of them leaves the range of f32.

    The reciprocal of what is very large or very small would. Its divisor is therefore scaled by a
    power of two, and so is the number, before it is multiplied: where that overflows, or loses
    bits, the quotient does as well.
    """
    kind = tile(divisor)
    size = em.same("absf", divisor)
    small = _ask(em, Comparison.LESS_THAN, size, em.number(1 / LARGE, kind))
    large = _ask(em, Comparison.GREATER_THAN, size, em.number(LARGE, kind))
    scale = em.one("select", kind, small, em.number(LARGE, kind), em.number(1.0, kind))
    scale = em.one("select", kind, large, em.number(1 / LARGE, kind), scale)
    reciprocal = _reciprocal(em, _rounded(em, "mulf", divisor, scale))
    scaled = _rounded(em, "mulf", number, _repeated(em, scale, number))
    return _rounded(em, "mulf", scaled, _repeated(em, reciprocal, number))


def _reciprocal(em: Emitter, value: Val) -> Val:
    """The reciprocal of what is not very large or small: the hardware's own, made better.

    Of 0 and infinity it cannot be made better.
    """
    kind = tile(value)
    one = em.number(1.0, kind)
    near = em.same("divf", one, value, rounding_mode=Rounding.FULL, flush_to_zero=False)
    left = _rounded(em, "fma", em.same("negf", value), near, one)
    better = _rounded(em, "fma", near, left, near)
    return em.one("select", kind, _ask(em, Comparison.EQUAL, left, left), better, near)


def _repeated(em: Emitter, value: Val, like: Val) -> Val:
    if not tile(value).shape:
        return em.spread(value, tile(like).shape)
    return em.one("broadcast", like.kind, value)


def _ask(em: Emitter, predicate: Comparison, a: Val, b: Val) -> Val:
    kind = tile(a).of(I1)
    return em.one(
        "cmpf", kind, a, b, comparison_predicate=predicate, comparison_ordering=NanOrdering.ORDERED
    )


def _rounded(em: Emitter, name: str, *operands: Val) -> Val:
    return em.same(name, *operands, rounding_mode=Rounding.NEAREST_EVEN, flush_to_zero=False)
