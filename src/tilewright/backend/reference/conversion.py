"""Conversions between element types: rounded once, saturating, or keeping the bits."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import AnyDType, f4e2m1fn, int_range, tf32
from ...ir.core import Op
from . import exact, floating
from .exact import Array
from .machine import Frame, Results, Rule


def _ftof(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    assert op.attrs["rounding"] not in exact.DIRECTED, "conversions round to nearest"
    return (floating.narrow(arg.astype(np.float64), op.attrs["to"]),)


def _ftoi(frame: Frame, op: Op) -> Results:
    (arg,) = frame.arrays(op)
    return (saturated(arg.astype(np.float64), op.attrs["to"]),)


def saturated(wide: Array, to: AnyDType) -> Array:
    """f64 toward zero to an integer type, the nearest bound where it does not fit, NaN to 0."""
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
    """Integers as f64, an inexact one with an odd last bit so that it can be rounded again."""
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
    "ftof": _ftof,
    "ftoi": _ftoi,
    "itof": _itof,
    "exti": _resize,
    "trunci": _resize,
    "bitcast": _bitcast,
    "unpack": _unpack,
    "pack": _pack,
}
