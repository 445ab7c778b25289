"""Arithmetic, elementwise: floats rounded once, integers wrapping and total."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...base.dtypes import AnyDType, int_range
from ...ir.attrs import Rounding
from ...ir.core import Op
from . import exact, floating
from .exact import Array
from .machine import Frame, Results, Rule, elementwise


def rounded(native: Callable[..., Array]) -> Rule:
    """The rule of a float op with a rounding mode; approx and full are rounded to nearest too."""

    def rule(frame: Frame, op: Op) -> Results:
        arrays, dtype = frame.arrays(op), op.result.tile.dtype
        nearest = floating.in_f32(native, dtype, arrays)
        mode = op.attrs["rounding"]
        if mode in exact.DIRECTED:
            return (exact.compute(op.name, dtype, mode, arrays, nearest),)
        return (nearest,)

    return rule


def in_f32(native: Callable[..., Array]) -> Rule:
    """The rule of a float op without a rounding mode."""

    def rule(frame: Frame, op: Op) -> Results:
        return (floating.in_f32(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def _fma(frame: Frame, op: Op) -> Results:
    return (floating.fma(op.result.tile.dtype, op.attrs["rounding"], frame.arrays(op)),)


def greatest(a: Array, b: Array, *, nan: bool) -> Array:
    """The greater; a NaN wins if `nan`, else loses; +0 is above -0."""
    result = np.maximum(a, b) if nan else np.fmax(a, b)
    return np.where((a == 0) & (b == 0), a + b, result)


def least(a: Array, b: Array, *, nan: bool) -> Array:
    """The lesser; a NaN wins if `nan`, else loses; -0 is below +0."""
    return -greatest(-a, -b, nan=nan)


def _choice(choose: Callable[..., Array]) -> Rule:
    def rule(frame: Frame, op: Op) -> Results:
        native = partial(choose, nan=op.attrs["nan"])
        return (floating.in_f32(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def quotient(a: Array, b: Array, dtype: AnyDType, rounding: Rounding) -> Array:
    """a / b for all operands: x / 0 = 0, MIN / -1 = MIN."""
    zero = b == 0
    overflows = (a == int_range(dtype)[0]) & (b == -1) if dtype.is_signed else np.zeros_like(zero)
    # Dividing by 1 instead gives MIN for MIN / -1, and keeps NumPy from trapping.
    divisor = np.where(zero | overflows, np.ones_like(b), b)
    floor = np.floor_divide(a, divisor)
    inexact = np.multiply(floor, divisor) != a
    up = inexact & _above_floor(a, divisor, rounding)
    return np.where(zero, np.zeros_like(a), np.add(floor, up.astype(a.dtype)))


def _above_floor(a: Array, b: Array, rounding: Rounding) -> Array:
    """Whether an inexact quotient is rounded up."""
    if rounding == Rounding.ZERO:
        return np.not_equal(a < 0, b < 0)
    return np.full(a.shape, rounding == Rounding.POS_INF)


def _divi(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    return (quotient(a, b, op.result.tile.dtype, op.attrs["rounding"]),)


def _remi(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    q = quotient(a, b, op.result.tile.dtype, op.attrs["rounding"])
    return (np.subtract(a, np.multiply(q, b)),)


def _mulhi(frame: Frame, op: Op) -> Results:
    dtype = op.result.tile.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    a, b = (x.view(unsigned).astype(np.uint64) for x in frame.arrays(op))
    high = _high_half(a, b) if dtype.bits == 64 else np.multiply(a, b) >> np.uint64(dtype.bits)
    return (np.asarray(high).astype(unsigned).view(dtype.np),)


def _high_half(a: Array, b: Array) -> Array:
    """The upper 64 bits of the product of two u64, by halves of 32 bits."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    ah, al, bh, bl = a >> half, a & low, b >> half, b & low
    middle = ah * bl + (al * bl >> half)
    middle2 = al * bh + (middle & low)
    return np.asarray(ah * bh + (middle >> half) + (middle2 >> half))


RULES: dict[str, Rule] = {
    "addf": rounded(np.add),
    "subf": rounded(np.subtract),
    "mulf": rounded(np.multiply),
    "divf": rounded(np.divide),
    "fma": _fma,
    "remf": in_f32(np.fmod),
    "negf": in_f32(np.negative),
    "absf": in_f32(np.absolute),
    "maxf": _choice(greatest),
    "minf": _choice(least),
    "addi": elementwise(np.add),
    "subi": elementwise(np.subtract),
    "muli": elementwise(np.multiply),
    "divi": _divi,
    "remi": _remi,
    "mulhi": _mulhi,
    "negi": elementwise(np.negative),
    "absi": elementwise(np.absolute),
    "maxi": elementwise(np.maximum),
    "mini": elementwise(np.minimum),
}
