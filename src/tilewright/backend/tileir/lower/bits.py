"""Numbers as the bytes and bits that constants and identities are written in."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..program.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    TF32,
    Scalar,
)  # fmt: skip

FLOATS: dict[Scalar, Any] = {
    F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64, TF32: np.float32,
    F8E4M3FN: ml_dtypes.float8_e4m3fn, F8E5M2: ml_dtypes.float8_e5m2,
    F8E8M0FNU: ml_dtypes.float8_e8m0fnu, F4E2M1FN: ml_dtypes.float4_e2m1fn,
}  # fmt: skip
TF32_DROPPED = 13
"""Low bits of an f32 that tf32 does not have."""


def number_bits(value: float | int | bool, kind: Scalar) -> int:
    """The bit pattern of a number that is exact in its type."""
    if kind.is_int:
        return int(value) & ((1 << kind.width) - 1)
    raw = np.asarray(value, np.float64).astype(FLOATS[kind])
    bits = int.from_bytes(raw.tobytes(), "little")
    return bits >> TF32_DROPPED if kind is TF32 else bits


def bits_of(bits: int, kind: Scalar) -> bytes:
    """One element of a constant, given by its bits."""
    if kind is I1:  # all elements alike are all ones or all zeros
        return b"\xff" if bits else b"\0"
    return bits.to_bytes(kind.nbytes, "little")


def constant_bytes(value: float | int | bool, kind: Scalar) -> bytes:
    """One element of a constant, which stands for all of them."""
    return bits_of(number_bits(value, kind), kind)
