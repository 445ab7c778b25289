"""Matrix products: summed in f64, or exactly for integers, and rounded once."""

from __future__ import annotations

import numpy as np

from tilewright.backend.tileir.bytecode.program import Instr
from tilewright.backend.tileir.bytecode.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    TF32,
    ScalarType,
)

from .elementwise import readings, scalar_of
from .machine import BlockFrame, Results, Rule
from .values import TF32_DROPPED, Array, UndefinedError, narrow, tile_kind

SUMS: dict[ScalarType, tuple[ScalarType, ...]] = {
    F16: (F16, F32), BF16: (F32,), TF32: (F32,), F32: (F32,), F64: (F64,),
    F8E4M3FN: (F16, F32), F8E5M2: (F16, F32),
}  # fmt: skip
"""Factors, and what they may be summed up in."""


def _mmaf(frame: BlockFrame, instr: Instr) -> Results:
    lhs, rhs, acc = frame.arrays(instr)
    left, right = (tile_kind(v.kind).scalar for v in instr.operands[:2])
    if left != right or scalar_of(instr) not in SUMS.get(left, ()):
        frame.fail(f"{left} times {right} in {scalar_of(instr)}")
    if left is TF32:
        lhs, rhs = _without_low_bits(lhs), _without_low_bits(rhs)
    product = lhs.astype(np.float64) @ rhs.astype(np.float64)
    return (narrow(acc.astype(np.float64) + product, scalar_of(instr)),)


def _without_low_bits(array: Array) -> Array:
    """Return elements of tf32 as tensor cores read them."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    return (bits >> TF32_DROPPED << TF32_DROPPED).view(np.float32)


def _mmai(frame: BlockFrame, instr: Instr) -> Results:
    lhs, rhs, acc = frame.arrays(instr)
    (left,) = readings(instr, [lhs], "signedness_lhs")
    (right,) = readings(instr, [rhs], "signedness_rhs")
    total = acc.astype(np.int64) + left.astype(np.int64) @ right.astype(np.int64)
    made = total.astype(np.int32)
    if np.any(made != total):  # hardware saturates
        raise UndefinedError("a sum of products does not fit i32")
    return (made,)


def _repeated(scale: Array, length: int, axis: int) -> Array:
    return np.repeat(scale.astype(np.float64), length // scale.shape[axis], axis=axis)


def _mmaf_scaled(frame: BlockFrame, instr: Instr) -> Results:
    lhs, rhs, acc, left, right = frame.arrays(instr)
    length = lhs.shape[-1]
    scaled = lhs.astype(np.float64) * _repeated(left, length, -1)
    by = rhs.astype(np.float64) * _repeated(right, length, -2)
    return (narrow(acc.astype(np.float64) + scaled @ by, scalar_of(instr)),)


RULES: dict[str, Rule] = {"mmaf": _mmaf, "mmai": _mmai, "mmaf_scaled": _mmaf_scaled}
