"""Functions of floats: one to one, but for exponentials and what Tile IR lacks or has roughly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....base.dtypes import f32
from ....ir.core import Op
from ..encoding.enums import Rounding
from ..program.core import Val
from .accurate import in_f64, power_of_two
from .arithmetic import ROUNDINGS, plain, rounded
from .composed import COMPOSED
from .emitter import Emitter, Rule, tile


def _how(em: Emitter, op: Op) -> Sequence[Val]:
    """A function with a choice between two roundings."""
    return (em.same(op.name, *em.all(op), rounding_mode=ROUNDINGS[op.attrs["rounding"]]),)


def _flushing(em: Emitter, op: Op) -> Sequence[Val]:
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"]),)


def _exp(em: Emitter, op: Op) -> Sequence[Val]:
    if op not in em.decisions.scaled:
        return _how(em, op)
    (arg,) = em.all(op)
    factor = em.number(math.log2(math.e), tile(arg))
    scaled = em.same("mulf", arg, factor, flush_to_zero=True, rounding_mode=Rounding.NEAREST_EVEN)
    return (em.same("exp2", scaled, flush_to_zero=True),)


def _exp2(em: Emitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    if op.operands[0].tile.dtype is not f32:
        return (em.same("exp2", arg),)
    if op not in em.decisions.scaled:
        return (power_of_two(em, arg),)
    return (em.same("exp2", arg, flush_to_zero=True),)


def _rough(em: Emitter, op: Op) -> Sequence[Val]:
    """A function that is more than 2 ulp off in f32."""
    if op.result.tile.dtype is f32:
        return (in_f64(em, op.name, em.all(op)),)
    return plain(em, op)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("ceil", "floor", "sin", "cos", "log", "log2", "pow", "atan2"), plain),
    **dict.fromkeys(("tan", "sinh", "cosh"), _rough),
    "exp": _exp,
    "tanh": _how,
    "exp2": _exp2,
    "rsqrt": _flushing,
    "sqrt": rounded,
    **COMPOSED,
}
