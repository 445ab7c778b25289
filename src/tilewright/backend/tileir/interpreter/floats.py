"""Float arithmetic, functions and comparisons.

Functions that hardware approximates are the exact ones here, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..encoding.enums import Comparison, NanOrdering, Rounding
from ..program.core import Instr
from ..program.types import F32, TF32
from .integers import COMPARISONS, elementwise, scalar_of
from .machine import Frame, Results, Rule, number_of
from .rounding import (
    DIRECTED,
    directed,
    flushed,
    fma,
    narrow,
    sign_of,
    sign_of_quotient,
    sign_of_root,
)
from .values import ELEMENTS, Array

Function = Callable[..., Array]
Sign = Callable[..., int]
FAST = (Rounding.APPROX, Rounding.FULL)
"""Modes of f32 that let hardware be off by some ulp."""


def _mode(frame: Frame, instr: Instr, *others: Rounding) -> Rounding:
    """How to round: to nearest, in a direction, or as the instruction may besides, in f32."""
    mode = Rounding(number_of(instr, "rounding_mode"))
    plain = mode is Rounding.NEAREST_EVEN or mode in DIRECTED
    if not plain and (mode not in others or scalar_of(instr) is not F32):
        frame.fail(f"{scalar_of(instr)} is not rounded by {mode.name}")
    return mode


def _flushing(frame: Frame, instr: Instr) -> bool:
    flushes = bool(number_of(instr, "flush_to_zero"))
    if flushes and scalar_of(instr) is not F32:
        frame.fail(f"flush_to_zero with {scalar_of(instr)}")
    return flushes


def _rounded(native: Callable[..., Array], sign: Sign, *others: Rounding) -> Rule:
    """An instruction that is told how to round its only result."""

    def rule(frame: Frame, instr: Instr) -> Results:
        arrays, kind = elementwise(frame, instr), scalar_of(instr)
        mode, flushes = _mode(frame, instr, *others), _flushing(frame, instr)
        if flushes:
            arrays = [flushed(x) for x in arrays]
        made = np.asarray(native(*arrays)).astype(ELEMENTS[kind], copy=False)
        if mode in DIRECTED:
            made = directed(made, sign, arrays, mode)
            if instr.op.name in TERMS and mode is Rounding.NEGATIVE_INF:
                made = _negative_zeros(made, *TERMS[instr.op.name](*arrays))
        return (flushed(made) if flushes else made,)

    return rule


def _negative_zeros(made: Array, first: Array, second: Array) -> Array:
    """A sum that is exactly zero is -0 toward -infinity, unless it is one of positive zeros."""
    positive = ~(np.signbit(first) | np.signbit(second))
    is_exact = (first == -second) & ~positive
    return np.where((made == 0) & is_exact, -np.abs(made), made).astype(made.dtype)


def _added(a: Array, b: Array) -> tuple[Array, Array]:
    return a, b


def _subtracted(a: Array, b: Array) -> tuple[Array, Array]:
    return a, -b


def _multiplied(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """A product that is too small for a float is not zero."""
    product = a * b
    return np.where((a != 0) & (b != 0) & (product == 0), np.nan, product), c


TERMS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "addf": _added, "subf": _subtracted, "fma": _multiplied,
}  # fmt: skip
"""What an instruction adds up."""


def _fma(a: Array, b: Array, c: Array) -> Array:
    return fma(a, b, c, KINDS[a.dtype])


def _extreme(frame: Frame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    flushes = _flushing(frame, instr)
    if flushes:
        a, b = flushed(a), flushed(b)
    is_max = instr.op.name == "maxf"
    made = np.where((a > b) == is_max, a, b)
    # Of two zeros the positive one is the larger.
    first = ~np.signbit(a) if is_max else np.signbit(a)
    made = np.where(a == b, np.where(first, a, b), made)
    nan = np.asarray(np.nan, a.dtype)
    if number_of(instr, "propagate_nan"):
        made = np.where(np.isnan(a) | np.isnan(b), nan, made)
    else:
        made = np.where(np.isnan(a), b, np.where(np.isnan(b), a, made))
    return (made.astype(a.dtype),)


# --- functions -----------------------------------------------------------------------------------


def _function(native: Function) -> Rule:
    """A function of floats: computed in f64, and rounded once."""

    def rule(frame: Frame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        if instr.op.fields:
            _check_function(frame, instr)
        can_flush = any(f.name == "flush_to_zero" for f in instr.op.fields)
        flushes = can_flush and _flushing(frame, instr)
        if flushes:
            arrays = [flushed(x) for x in arrays]
        made = narrow(np.asarray(native(*(x.astype(np.float64) for x in arrays))), scalar_of(instr))
        return (flushed(made) if flushes else made,)

    return rule


def _check_function(frame: Frame, instr: Instr) -> None:
    """Refuse a rounding that a function does not have: it is rough, and in f32 rougher."""
    if not any(f.name == "rounding_mode" for f in instr.op.fields):
        return
    mode = Rounding(number_of(instr, "rounding_mode"))
    if mode is not Rounding.FULL and (mode is not Rounding.APPROX or scalar_of(instr) is not F32):
        frame.fail(f"{scalar_of(instr)} is not rounded by {mode.name}")


def _remainder(frame: Frame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    kind = scalar_of(instr)
    made = np.fmod(a.astype(np.float64), b.astype(np.float64))
    return (np.asarray(made).astype(ELEMENTS[kind]),)


def _exact(native: Function) -> Rule:
    """An instruction without rounding."""

    def rule(frame: Frame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        return (np.asarray(native(*arrays)).astype(arrays[0].dtype, copy=False),)

    return rule


def _negf(a: Array) -> Array:
    return np.asarray(np.negative(a))


def _cmpf(frame: Frame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    compare = COMPARISONS[Comparison(number_of(instr, "comparison_predicate"))]
    held = np.asarray(compare(a, b))
    nan = np.isnan(a) | np.isnan(b)
    if number_of(instr, "comparison_ordering") == NanOrdering.ORDERED:
        return (held & ~nan,)
    return (held | nan,)


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _sum(a: Fraction, b: Fraction) -> Fraction:
    return a + b


def _difference(a: Fraction, b: Fraction) -> Fraction:
    return a - b


def _product(a: Fraction, b: Fraction) -> Fraction:
    return a * b


def _product_sum(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


KINDS = {dtype: kind for kind, dtype in ELEMENTS.items() if kind is not TF32}
FUNCTIONS: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "rsqrt": _rsqrt, "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip

RULES: dict[str, Rule] = {
    "addf": _rounded(np.add, sign_of(_sum)),
    "subf": _rounded(np.subtract, sign_of(_difference)),
    "mulf": _rounded(np.multiply, sign_of(_product)),
    "divf": _rounded(np.divide, sign_of_quotient, *FAST),
    "sqrt": _rounded(np.sqrt, sign_of_root, Rounding.APPROX),
    "fma": _rounded(_fma, sign_of(_product_sum)),
    "maxf": _extreme, "minf": _extreme, "remf": _remainder, "cmpf": _cmpf,
    "negf": _exact(_negf), "absf": _exact(np.abs), "ceil": _exact(np.ceil),
    "floor": _exact(np.floor),
    **{name: _function(native) for name, native in FUNCTIONS.items()},
}  # fmt: skip
