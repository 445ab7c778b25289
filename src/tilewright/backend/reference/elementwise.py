"""Elementwise ops: arithmetic, math functions, comparisons, bits, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...base.dtypes import AnyDType, f4e2m1fn, int_range, tf32
from ...ir.attrs import Predicate, Rounding
from ...ir.core import Op
from . import floating
from .floating import Array
from .machine import Frame, Results, Rule, elementwise

# -------------------------------------------------------------------------------------------------
# Arithmetic, elementwise: floats rounded once, integers wrapping and total.


def rounded(native: Callable[..., Array]) -> Rule:
    """Return the rule of a float op with a rounding mode; approx and full round to nearest."""

    def rule(frame: Frame, op: Op) -> Results:
        arrays, dtype = frame.arrays(op), op.result.tile.dtype
        nearest = floating.in_f32(native, dtype, arrays)
        mode = op.attrs["rounding"]
        if mode in floating.DIRECTED:
            return (floating.compute(op.name, dtype, mode, arrays, nearest),)
        return (nearest,)

    return rule


def in_f32(native: Callable[..., Array]) -> Rule:
    """Return the rule of a float op without a rounding mode."""

    def rule(frame: Frame, op: Op) -> Results:
        return (floating.in_f32(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def _fma(frame: Frame, op: Op) -> Results:
    return (floating.fma(op.result.tile.dtype, op.attrs["rounding"], frame.arrays(op)),)


def greatest(a: Array, b: Array, *, nan: bool) -> Array:
    """Return the greater; a NaN wins if `nan`, else loses; +0 is above -0."""
    result = np.maximum(a, b) if nan else np.fmax(a, b)
    return np.where((a == 0) & (b == 0), a + b, result)


def least(a: Array, b: Array, *, nan: bool) -> Array:
    """Return the lesser; a NaN wins if `nan`, else loses; -0 is below +0."""
    return -greatest(-a, -b, nan=nan)


def _choice(choose: Callable[..., Array]) -> Rule:
    def rule(frame: Frame, op: Op) -> Results:
        native = partial(choose, nan=op.attrs["nan"])
        return (floating.in_f32(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def quotient(a: Array, b: Array, dtype: AnyDType, rounding: Rounding) -> Array:
    """Compute a / b for all operands: x / 0 = 0, MIN / -1 = MIN."""
    zero = b == 0
    overflows = (a == int_range(dtype)[0]) & (b == -1) if dtype.is_signed else np.zeros_like(zero)
    # Dividing by 1 instead gives MIN for MIN / -1, and keeps NumPy from trapping.
    divisor = np.where(zero | overflows, np.ones_like(b), b)
    floor = np.floor_divide(a, divisor)
    inexact = np.multiply(floor, divisor) != a
    up = inexact & _above_floor(a, divisor, rounding)
    return np.where(zero, np.zeros_like(a), np.add(floor, up.astype(a.dtype)))


def _above_floor(a: Array, b: Array, rounding: Rounding) -> Array:
    """Return whether an inexact quotient is rounded up."""
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
    """Return the upper 64 bits of the product of two u64, by halves of 32 bits."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    ah, al, bh, bl = a >> half, a & low, b >> half, b & low
    middle = ah * bl + (al * bl >> half)
    middle2 = al * bh + (middle & low)
    return np.asarray(ah * bh + (middle >> half) + (middle2 >> half))


# -------------------------------------------------------------------------------------------------
# Elementary functions: computed in f64 and rounded once; ceil, floor and sqrt are exact anyway.


def _in_f64(native: Callable[..., Array]) -> Rule:
    def rule(frame: Frame, op: Op) -> Results:
        return (floating.in_f64(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def _rsqrt(a: Array) -> Array:
    return np.divide(1.0, np.sqrt(a))


_erf_of_objects = np.frompyfunc(math.erf, 1, 1)


def _erf(a: Array) -> Array:
    """Compute erf by Python's own, within one ulp of f64, number by number."""
    return np.asarray(_erf_of_objects(a), np.float64)


# -------------------------------------------------------------------------------------------------
# Comparisons and selection, elementwise.


def _cmpi(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    return (np.asarray(Predicate(op.attrs["predicate"]).apply(a, b), np.bool_),)


def _cmpf(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    unordered = np.isnan(a) | np.isnan(b)
    ordered: Array = np.asarray(Predicate(op.attrs["predicate"]).apply(a, b), np.bool_)
    return (np.where(unordered, op.attrs["unordered"], ordered),)


# -------------------------------------------------------------------------------------------------
# Bitwise ops on integers and booleans; shifts by the width or more are 0, or the sign.


def _width(a: Array) -> int:
    return a.dtype.itemsize * 8


def _amount(by: Array) -> Array:
    """Return the shift amount, read as unsigned."""
    return by.view(np.dtype(f"u{by.dtype.itemsize}"))


def _shli(a: Array, by: Array) -> Array:
    inside = _amount(by) < _width(a)
    return np.where(inside, np.left_shift(a, np.where(inside, by, 0)), np.zeros_like(a))


def _shri(a: Array, by: Array) -> Array:
    inside = _amount(by) < _width(a)
    outside = np.where(a < 0, np.full_like(a, -1), np.zeros_like(a)) if _signed(a) else 0
    return np.where(inside, np.right_shift(a, np.where(inside, by, 0)), outside)


def _signed(a: Array) -> bool:
    return a.dtype.kind == "i"


# -------------------------------------------------------------------------------------------------
# Conversions between element types: rounded once, saturating, or keeping the bits.


def _ftof(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    assert op.attrs["rounding"] not in floating.DIRECTED, "conversions round to nearest"
    return (floating.narrow(arg.astype(np.float64), op.attrs["to"]),)


def _ftoi(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    return (saturated(arg.astype(np.float64), op.attrs["to"]),)


def saturated(wide: Array, to: AnyDType) -> Array:
    """Convert f64 toward zero to an integer type, saturating; NaN becomes 0."""
    low, high = int_range(to)
    whole = np.trunc(wide)
    # high + 1 is a power of two, so it is exact in f64, as high itself may not be.
    above, below = whole >= float(high + 1), whole < float(low)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(to.np)
    bounded = np.where(above, to.np.type(high), inside)
    return np.where(below, to.np.type(low), bounded)


def _itof(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    to = op.attrs["to"]
    if to.bits >= 32 and to is not tf32:
        return (arg.astype(to.np),)
    return (floating.narrow(_odd_f64(arg), to),)


def _odd_f64(a: Array) -> Array:
    """Return integers as f64, rounded to odd, so that they can be rounded again."""
    if a.dtype.itemsize < 8:
        return a.astype(np.float64)
    # Both halves are exact in f64; only their sum may have to be rounded.
    high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return floating.odd_sum(high, low)


def _resize(frame: Frame, op: Op) -> Results:
    """Extend by the source's sign, or drop high bits."""
    (arg,) = frame.arrays(op)
    return (arg.astype(op.attrs["to"].np),)


def _bitcast(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    return (np.ascontiguousarray(arg).view(op.attrs["to"].np).reshape(arg.shape),)


def _unpack(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    halves = np.stack([arg & 0xF, arg >> 4], axis=-1).astype(np.uint8)
    return (halves.reshape(op.result.tile.shape).view(f4e2m1fn.np),)


def _pack(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    bits = np.ascontiguousarray(arg).view(np.uint8) & np.uint8(0xF)
    return (bits[..., 0::2] | bits[..., 1::2] << np.uint8(4),)


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
    "ceil": in_f32(np.ceil),
    "floor": in_f32(np.floor),
    "round": in_f32(np.rint),
    "sin": _in_f64(np.sin),
    "cos": _in_f64(np.cos),
    "tan": _in_f64(np.tan),
    "sinh": _in_f64(np.sinh),
    "cosh": _in_f64(np.cosh),
    "tanh": _in_f64(np.tanh),
    "exp": _in_f64(np.exp),
    "expm1": _in_f64(np.expm1),
    "exp2": _in_f64(np.exp2),
    "log": _in_f64(np.log),
    "log1p": _in_f64(np.log1p),
    "log2": _in_f64(np.log2),
    "sqrt": rounded(np.sqrt),
    "rsqrt": _in_f64(_rsqrt),
    "cbrt": _in_f64(np.cbrt),
    "erf": _in_f64(_erf),
    "pow": _in_f64(np.power),
    "atan2": _in_f64(np.arctan2),
    "cmpi": _cmpi,
    "cmpf": _cmpf,
    "select": elementwise(np.where),
    "andi": elementwise(np.bitwise_and),
    "ori": elementwise(np.bitwise_or),
    "xori": elementwise(np.bitwise_xor),
    "noti": elementwise(np.invert),
    "shli": elementwise(_shli),
    "shri": elementwise(_shri),
    "ftof": _ftof,
    "ftoi": _ftoi,
    "itof": _itof,
    "exti": _resize,
    "trunci": _resize,
    "bitcast": _bitcast,
    "unpack": _unpack,
    "pack": _pack,
}
