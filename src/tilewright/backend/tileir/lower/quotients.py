"""Rows divided by one number each: multiplied by its reciprocal, which is computed once."""

from __future__ import annotations

from ....ir.core import Op
from ..program.core import Val
from ..program.types import F32, I1
from .emitter import Emitter, tile

LESS, GREATER = 2, 4
NEAREST = 0
LARGE = 2.0**64
LEAST = 4
"""How many elements must share a divisor."""


def shared_divisor(em: Emitter, op: Op) -> Val | None:
    """What an f32 division divides by, before it was repeated for many elements, if it was."""
    maker = em.nesting.definer(op.one("rhs"))
    if maker is None or maker.name != "broadcast" or tile(em.get(op.one("lhs"))).elem != F32:
        return None
    divisor = em.get(maker.operands[0])
    return divisor if tile(divisor).size * LEAST <= op.result.tile.size else None


def multiplied(em: Emitter, number: Val, divisor: Val) -> Val:
    """A quotient within 1.5 ulp, in two factors, so that none of them leaves the range of f32.

    The reciprocal of what is very large or very small would. Its divisor is therefore scaled by a
    power of two, and so is the number, before it is multiplied: where that overflows, or loses
    bits, the quotient does as well.
    """
    kind = tile(divisor)
    size = em.same("absf", divisor)
    small, large = _ask(em, LESS, size, 1 / LARGE), _ask(em, GREATER, size, LARGE)
    scale = em.one("select", kind, small, em.number(LARGE, kind), em.number(1.0, kind))
    scale = em.one("select", kind, large, em.number(1 / LARGE, kind), scale)
    one = em.number(1.0, kind)
    reciprocal = _exact(em, "divf", one, _exact(em, "mulf", divisor, scale))
    scaled = _exact(em, "mulf", number, em.one("broadcast", number.kind, scale))
    return _exact(em, "mulf", scaled, em.one("broadcast", number.kind, reciprocal))


def _ask(em: Emitter, predicate: int, size: Val, bound: float) -> Val:
    kind = tile(size)
    return em.one(
        "cmpf", kind.of(I1), size, em.number(bound, kind),
        comparison_predicate=predicate, comparison_ordering=1,
    )  # fmt: skip


def _exact(em: Emitter, name: str, a: Val, b: Val) -> Val:
    return em.same(name, a, b, rounding_mode=NEAREST, flush_to_zero=False)
