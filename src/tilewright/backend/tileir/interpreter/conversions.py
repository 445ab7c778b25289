"""Conversions between element types, and bits seen as another type."""

from __future__ import annotations

import numpy as np

from ..encoding.enums import Rounding, Signedness
from ..program.core import Instr
from ..program.types import F4E2M1FN, F64, I1, TF32, Scalar
from .integers import elementwise, readings, scalar_of
from .machine import Frame, Results, Rule, number_of
from .rounding import DIRECTED, directed, narrow
from .values import ELEMENTS, Array, UndefinedError, integers, tile_kind

STICKY = 12
"""Low bits of a 64-bit integer that one bit may stand for, when fewer than 42 are kept."""


def _source(instr: Instr) -> Scalar:
    return tile_kind(instr.operands[0].kind).scalar


def _ftof(frame: Frame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind, mode = scalar_of(instr), Rounding(number_of(instr, "rounding_mode"))
    if _source(instr) == kind:
        frame.fail(f"from {kind} to {kind}")
    wide = source.astype(np.float64)
    nearest = narrow(wide, kind)
    if mode is Rounding.NEAREST_EVEN:
        return (nearest,)
    if mode not in DIRECTED or kind is TF32:
        frame.fail(f"floats are not rounded to {kind} by {mode.name}")
    return (directed(nearest, _side, [wide], mode),)


def _side(x: float, nearest: float) -> int:
    """Whether a number lies above, below or on what it was rounded to."""
    return (x > nearest) - (x < nearest)


def _itof(frame: Frame, instr: Instr) -> Results:
    (source,) = readings(instr, elementwise(frame, instr))
    kind = scalar_of(instr)
    if number_of(instr, "rounding_mode") != Rounding.NEAREST_EVEN:
        frame.fail("integers become the nearest float")
    if kind is F64:
        return (source.astype(np.float64),)
    return (narrow(_sticky(source).astype(np.float64), kind),)


def _sticky(source: Array) -> Array:
    """Integers that f64 holds, and that round as the given ones do to types of few bits."""
    if source.dtype.itemsize < 8:
        return source
    negative = source < 0
    bits = source.view(np.uint64)
    size = np.where(negative, ~bits + np.uint64(1), bits)
    low = np.uint64((1 << STICKY) - 1)
    short = (size & ~low) | (((size & low) != 0).astype(np.uint64) << np.uint64(STICKY - 1))
    kept = np.where(size >> np.uint64(53) != 0, short, size).astype(np.float64)
    return np.where(negative, -kept, kept)


def _ftoi(frame: Frame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind = scalar_of(instr)
    if number_of(instr, "rounding_mode") != Rounding.NEAREST_INT_TO_ZERO:
        frame.fail("floats become integers toward zero")
    is_signed = number_of(instr, "signedness") == Signedness.SIGNED
    low = -(1 << kind.width - 1) if is_signed else 0
    high = (1 << kind.width - 1 if is_signed else 1 << kind.width) - 1
    whole = np.trunc(source.astype(np.float64))
    # high + 1 is a power of two, so it is exact as a float.
    above, below, nan = whole >= float(high + 1), whole < float(low), np.isnan(whole)
    if not number_of(instr, "saturating") and np.any(above | below | nan):
        raise UndefinedError(f"{whole[above | below | nan].reshape(-1)[0]} does not fit {kind}")
    inside = np.where(above | below | nan, 0.0, whole)
    word = np.uint64 if not is_signed else np.int64
    made = inside.astype(word)
    made = np.where(above, np.array(high, word), np.where(below, np.array(low, word), made))
    return (integers(made, kind),)


def _bitcast(frame: Frame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind, given = scalar_of(instr), _source(instr)
    if kind.width != given.width or {kind, given} & {TF32, I1}:
        frame.fail(f"from {given} to {kind}")
    return (np.asarray(source).view(ELEMENTS[kind]),)


# --- packed pairs --------------------------------------------------------------------------------


def _bytes_of(array: Array, kind: Scalar) -> Array:
    """The bytes of a flat tile; two f4 are one, the first in the low half."""
    if kind is not F4E2M1FN:
        return array.view(np.uint8)
    bits = array.view(np.uint8) & 0xF
    return bits[0::2] | bits[1::2] << 4


def _repacked(frame: Frame, instr: Instr) -> Results:
    (source,) = frame.arrays(instr)
    kind = scalar_of(instr)
    data = _bytes_of(np.ascontiguousarray(source), _source(instr))
    if kind is F4E2M1FN:
        halves = np.stack([data & 0xF, data >> 4], axis=-1).reshape(-1)
        return (np.ascontiguousarray(halves).view(ELEMENTS[kind]),)
    return (data.view(ELEMENTS[kind]),)


RULES: dict[str, Rule] = {
    "ftof": _ftof, "itof": _itof, "ftoi": _ftoi, "bitcast": _bitcast,
    "pack": _repacked, "unpack": _repacked,
}  # fmt: skip
