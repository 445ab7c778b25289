"""Comparisons and selection."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.attrs import Predicate
from ....ir.core import Op
from ..encoding.enums import Comparison, NanOrdering
from ..program.core import Val
from ..program.types import F4E2M1FN, F32, I1, Tile
from .arithmetic import is_signed
from .emitter import Emitter, Rule, tile

PREDICATES: dict[Predicate, Comparison] = {
    Predicate.EQ: Comparison.EQUAL, Predicate.NE: Comparison.NOT_EQUAL,
    Predicate.LT: Comparison.LESS_THAN, Predicate.LE: Comparison.LESS_THAN_OR_EQUAL,
    Predicate.GT: Comparison.GREATER_THAN, Predicate.GE: Comparison.GREATER_THAN_OR_EQUAL,
}  # fmt: skip


def _cmpi(em: Emitter, op: Op) -> Sequence[Val]:
    lhs, rhs = em.all(op)
    if _lies_inside(em, op):
        return (em.number(True, tile(lhs).of(I1)),)
    predicate = PREDICATES[op.attrs["predicate"]]
    return (em.compare(predicate, lhs, rhs, signed=is_signed(op.one("lhs"))),)


def _lies_inside(em: Emitter, op: Op) -> bool:
    """Whether an index is compared with an extent that is known to be larger on this way."""
    if not em.least or op.attrs["predicate"] is not Predicate.LT:
        return False
    maker = em.nesting.definer(op.one("rhs"))
    while maker is not None and maker.name in ("broadcast", "reshape"):
        maker = em.nesting.definer(maker.operands[0])
    if maker is None or maker.name != "extent":
        return False
    least = em.least.get((maker.one("tensor"), maker.attrs["axis"]), 0)
    return em.ranges.of(op.one("lhs")).high < least


def _cmpf(em: Emitter, op: Op) -> Sequence[Val]:
    lhs, rhs = em.all(op)
    predicate = PREDICATES[op.attrs["predicate"]]
    ordering = NanOrdering.UNORDERED if op.attrs["unordered"] else NanOrdering.ORDERED
    return (
        em.one(
            "cmpf", tile(lhs).of(I1), lhs, rhs,
            comparison_predicate=predicate, comparison_ordering=ordering,
        ),
    )  # fmt: skip


def _select(em: Emitter, op: Op) -> Sequence[Val]:
    cond, a, b = em.all(op)
    if tile(a).elem == F4E2M1FN:
        return (_select_wide(em, cond, a, b, tile(a)),)
    return (em.one("select", a.kind, cond, a, b),)


def _select_wide(em: Emitter, cond: Val, a: Val, b: Val, kind: Tile) -> Val:
    """As wider floats, which hold every f4: Tile IR does not select f4 itself."""
    wide = [em.one("ftof", kind.of(F32), v) for v in (a, b)]
    return em.one("ftof", kind, em.one("select", kind.of(F32), cond, *wide))


RULES: dict[str, Rule] = {"cmpi": _cmpi, "cmpf": _cmpf, "select": _select}
