"""Approximate forms of functions in PTX, for one thread: single instructions of the hardware."""

from __future__ import annotations

import math

from ...analysis.needed_precision import LAST_BITS, Form, Forms
from ...ir.attrs import Rounding
from ..llvm.builder import Vec, Writer


def instruction(name: str) -> Writer:
    """Return an instruction on f32, which LLVM neither moves apart nor replaces."""

    def write(first: Vec, *others: Vec) -> Vec:
        args = (first, *others)
        slots = ", ".join(f"${k}" for k in range(len(args) + 1))
        constraints = ",".join(["=f"] + ["f"] * len(args))
        given = ", ".join(map(str, args))
        text = f'call float asm "{name} {slots};", "{constraints}"({given})'
        return first.body.emit(text, first.elem, first.lanes)

    return write


def _exp(x: Vec) -> Vec:
    """Compute 2**(x log2(e)): the product is rounded, as if x had been rounded once more."""
    return instruction("ex2.approx.ftz.f32")(x * math.log2(math.e))


FORMS: Forms[Writer] = {
    "tanh": (Form(11, "tanh.approx", instruction("tanh.approx.f32")),),
    "exp": (Form(LAST_BITS, "ex2.approx of a scaled argument", _exp),),
    "exp2": (Form(LAST_BITS, "ex2.approx", instruction("ex2.approx.ftz.f32")),),
    "divf": (
        Form(LAST_BITS, "div.approx", instruction("div.approx.ftz.f32"), Rounding.APPROX),
        Form(LAST_BITS, "div.full", instruction("div.full.f32")),
    ),
    "rsqrt": (Form(LAST_BITS, "rsqrt.approx", instruction("rsqrt.approx.f32")),),
    "sqrt": (Form(LAST_BITS, "sqrt.approx", instruction("sqrt.approx.f32"), Rounding.APPROX),),
}
"""The approximate forms of functions, the fastest first; their errors are those in Tile IR.

rsqrt.approx and sqrt.approx are off by at most 2**-22.9 and 2**-23, of subnormal numbers too.
"""
