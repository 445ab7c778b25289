"""Functions of floats: one to one, but for exponentials that are powers of two here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base.dtypes import f32
from ....ir.core import Op
from ..program.core import Val
from .arithmetic import ROUNDINGS, plain, rounded
from .emitter import Emitter, Rule, tile

NEAREST = 0


def _how(em: Emitter, op: Op) -> Sequence[Val]:
    """A function with a choice between two roundings."""
    return (em.same(op.name, *em.all(op), rounding_mode=ROUNDINGS[op.attrs["rounding"]]),)


def _flushing(em: Emitter, op: Op) -> Sequence[Val]:
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"]),)


def _exp(em: Emitter, op: Op) -> Sequence[Val]:
    if op not in em.choices.scaled:
        return _how(em, op)
    (arg,) = em.all(op)
    factor = em.number(math.log2(math.e), tile(arg))
    scaled = em.same("mulf", arg, factor, flush_to_zero=True, rounding_mode=NEAREST)
    return (em.same("exp2", scaled, flush_to_zero=True),)


def _exp2(em: Emitter, op: Op) -> Sequence[Val]:
    # One instruction; a subnormal result may be flushed, and to keep it would take four.
    flush = op.operands[0].tile.dtype is f32
    return (em.same("exp2", *em.all(op), flush_to_zero=flush),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("ceil", "floor", "sin", "cos", "tan", "sinh", "cosh", "log", "log2", "pow", "atan2"), plain
    ),
    "exp": _exp,
    "tanh": _how,
    "exp2": _exp2,
    "rsqrt": _flushing,
    "sqrt": rounded,
}
