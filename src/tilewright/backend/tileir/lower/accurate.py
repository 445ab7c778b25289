"""Functions within the bounds of the language, where those of Tile IR are not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base.polynomials import EXP2_F32
from ..encoding.enums import Comparison, NanOrdering
from ..program.core import Val
from ..program.types import F64, I1, I32
from .emitter import Emitter, tile

EXPONENT = 23
"""Where the exponent of an f32 begins."""
ROUNDER = 1.5 * 2.0**EXPONENT
"""Added to a small number it leaves the nearest whole one in the low bits."""
LOWEST, HIGHEST = -126, 128
"""2 to the power of what lies between them is a normal f32; at the upper end it is infinity."""


def in_f64(em: Emitter, name: str, args: Sequence[Val]) -> Val:
    """Compute in f64, and round once."""
    kind = tile(args[0])
    widened = [em.one("ftof", kind.of(F64), arg) for arg in args]
    return em.one("ftof", kind, em.same(name, *widened))


def power_of_two(em: Emitter, x: Val) -> Val:
    """2**x: a polynomial of what is left of the nearest whole number, which is the exponent.

    Results that would be subnormal are zero.
    """
    kind = tile(x)
    shifted = _add(em, x, em.number(ROUNDER, kind))
    rest = _subtract(em, x, _subtract(em, shifted, em.number(ROUNDER, kind)))
    power = em.number(EXP2_F32[-1], kind)
    for factor in (*EXP2_F32[-2::-1], 1.0):
        power = em.same("fma", power, rest, em.number(factor, kind))
    whole = kind.of(I32)
    # All but the low bits of the rounder's own pattern are shifted out.
    exponent = em.same("shli", em.one("bitcast", whole, shifted), em.number(EXPONENT, whole))
    scaled = em.same("addi", em.one("bitcast", whole, power), exponent)
    middle = _subtract(em, x, em.number((LOWEST + HIGHEST) / 2, kind))
    normal = _ask(
        em, Comparison.LESS_THAN_OR_EQUAL, em.same("absf", middle), (HIGHEST - LOWEST) / 2
    )
    # Infinity, and NaN where there is one.
    above = _add(em, x, em.number(math.inf, kind))
    beyond = em.one(
        "select", kind, _ask(em, Comparison.LESS_THAN, x, 0.0), em.number(0.0, kind), above
    )
    return em.one("select", kind, normal, em.one("bitcast", kind, scaled), beyond)


def _add(em: Emitter, a: Val, b: Val) -> Val:
    return em.same("addf", a, b)


def _subtract(em: Emitter, a: Val, b: Val) -> Val:
    return em.same("subf", a, b)


def _ask(em: Emitter, predicate: Comparison, lhs: Val, rhs: float) -> Val:
    kind = tile(lhs)
    return em.one(
        "cmpf", kind.of(I1), lhs, em.number(rhs, kind),
        comparison_predicate=predicate, comparison_ordering=NanOrdering.ORDERED,
    )  # fmt: skip
