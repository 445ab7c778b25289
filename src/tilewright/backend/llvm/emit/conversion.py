"""Conversions between element types: rounded once, saturating to integers, never a library call."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.dtypes import AnyDType, int_range
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import constant, where
from .emitter import Compute, Emitter
from .floats import wide_type
from .types import bits_of, register_type


def _to_float(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    return emitter.convert(args[0], op.operands[0].tile.dtype, op.attrs["to"])


def _ftoi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    dtype: AnyDType = op.operands[0].tile.dtype
    return saturated(emitter.convert(args[0], dtype, wide_type(dtype)), op.attrs["to"])


def saturated(x: Vec, to: AnyDType) -> Vec:
    """A float as an integer: towards zero, the nearest bound outside, 0 for NaN.

    Both bounds are (one past) powers of two, so they are exact; what is converted is always inside,
    because a conversion instruction has no defined result outside.
    """
    low, high = int_range(to)
    too_high = x >= float(high + 1)
    x = where(x < float(low), constant(x, float(low)), x)
    inside = where(too_high, constant(x, 0.0), x)
    inside = where(inside.is_nan(), constant(x, 0.0), inside)
    wide = f"i{max(to.bits, 32)}"
    signed = to.is_signed or to.bits < 32
    result = inside.cast("fptosi" if signed else "fptoui", wide)
    if to.bits < 32:
        result = result.cast("trunc", f"i{to.bits}")
    return where(too_high, constant(result, bits_of(to, high)), result)


def _exti(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    word = "sext" if op.operands[0].tile.dtype.is_signed else "zext"
    return args[0].cast(word, register_type(op.attrs["to"]))


def _trunci(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    return args[0].cast("trunc", register_type(op.attrs["to"]))


def _bitcast(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    kind = register_type(op.attrs["to"])
    return args[0] if args[0].elem == kind else args[0].cast("bitcast", kind)


def _unpack(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    """args: the byte, and which half."""
    byte, side = args
    return byte.lshr(side << 2) & 15


def _pack(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    low, high = args
    return (low & 15) | (high << 4)


TABLE: dict[str, Compute] = {
    "ftof": _to_float,
    "ftoi": _ftoi,
    "itof": _to_float,
    "exti": _exti,
    "trunci": _trunci,
    "bitcast": _bitcast,
    "unpack": _unpack,
    "pack": _pack,
}
