"""Approximate forms of functions in Tile IR; 16-bit floats are widened to f32 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....analysis.needed_precision import LAST_BITS, Form, Forms, note_of
from ....ir.attrs import Rounding
from ....ir.core import Op
from ..bytecode.enums import RoundingCode
from ..bytecode.program import Val
from ..bytecode.types import F32
from .emitter import TileEmitter, tile

Write = Callable[..., Val]


def _tanh(em: TileEmitter, x: Val) -> Val:
    return em.same("tanh", x, rounding_mode=RoundingCode.APPROX)


def _exp(em: TileEmitter, x: Val) -> Val:
    """Compute 2**(x log2(e)): the product is rounded, as if x had been rounded once more."""
    factor = em.number(math.log2(math.e), tile(x))
    nearest = RoundingCode.NEAREST_EVEN
    scaled = em.same("mulf", x, factor, flush_to_zero=True, rounding_mode=nearest)
    return _exp2(em, scaled)


def _exp2(em: TileEmitter, x: Val) -> Val:
    return em.same("exp2", x, flush_to_zero=True)


def _divf(em: TileEmitter, a: Val, b: Val) -> Val:
    return em.same("divf", a, b, flush_to_zero=False, rounding_mode=RoundingCode.FULL)


def _divf_of_normal(em: TileEmitter, a: Val, b: Val) -> Val:
    """Multiply by the reciprocal, which is 0 if the divisor is beyond 2**126."""
    return em.same("divf", a, b, flush_to_zero=True, rounding_mode=RoundingCode.APPROX)


def _plain(name: str) -> Write:
    def write(em: TileEmitter, *args: Val) -> Val:
        return em.same(name, *args)

    return write


FORMS: Forms[Write] = {
    "tanh": (Form(11, "tanh.approx", _tanh),),
    "exp": (Form(LAST_BITS, "exp2 of a scaled argument", _exp),),
    "exp2": (Form(LAST_BITS, "ex2.approx", _exp2),),
    "divf": (
        Form(LAST_BITS, "div.approx", _divf_of_normal, Rounding.APPROX),
        Form(LAST_BITS, "div.full", _divf),
    ),
    **{
        name: (Form(LAST_BITS, f"{name} in f32", _plain(name)),) for name in ("tan", "sinh", "cosh")
    },
}
"""The approximate forms of functions, the fastest first.

Their errors, as NVIDIA documents them for PTX: tanh.approx 2**-11, ex2.approx 2 ulp, div.full
2 ulp, div.approx 2 ulp for divisors from 2**-126 to 2**126, beyond which quotients are 0. Those of
libdevice's tan, sinh and cosh are 3.1, 2.9 and 2.4 ulp on an H200.
"""


def approximated(em: TileEmitter, op: Op, form: Form[Write]) -> Val:
    """Compute a function in an approximate form, in f32, and note that."""
    note = note_of(op, form)
    if note not in em.notes:
        em.notes.append(note)
    args = em.all(op)
    kind = tile(args[0])
    if kind.scalar is F32:
        return form.write(em, *args)
    wide = kind.of(F32)
    return em.one("ftof", kind, form.write(em, *(em.one("ftof", wide, x) for x in args)))
