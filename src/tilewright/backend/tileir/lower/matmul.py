"""Matrix products and block-scaled matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..bytecode.program import Val
from ..bytecode.types import F16, F32
from .elementwise import is_signed
from .emitter import Rule, TileEmitter, tile


def _mmaf(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, rhs, acc = em.all(op)
    fast = op.attrs["fast_acc"]
    if tile(acc).elem != F16:
        return (em.one("mmaf", acc.kind, lhs, rhs, acc, fast_acc=fast),)
    # Sums of halves are kept in f32 and rounded once.
    wide = tile(acc).of(F32)
    total = em.one("mmaf", wide, lhs, rhs, em.one("ftof", wide, acc), fast_acc=fast)
    return (em.one("ftof", acc.kind, total),)


def _mmai(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, rhs, acc = em.all(op)
    # The hardware stops at the largest integer, but the sum of one product is far below it.
    product = em.one(
        "mmai", acc.kind, lhs, rhs, em.number(0, tile(acc)),
        signedness_lhs=is_signed(op.one("lhs")), signedness_rhs=is_signed(op.one("rhs")),
    )  # fmt: skip
    return (em.same("addi", acc, product),)


def _scaled(em: TileEmitter, op: Op) -> Sequence[Val]:
    operands = em.all(op)
    return (em.one("mmaf_scaled", operands[2].kind, *operands),)


RULES: dict[str, Rule] = {"mmaf": _mmaf, "mmai": _mmai, "mmaf_scaled": _scaled}
