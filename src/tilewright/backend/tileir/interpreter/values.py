"""What values of Tile IR are here: NumPy arrays for tiles, records for views, sets for tokens.

Integers are kept as signed; an instruction that reads them as unsigned says so. One bit is a
boolean, tf32 an f32, as in memory, a pointer an address and the memory it may reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

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
    I8,
    I16,
    I32,
    I64,
    TF32,
    Kind,
    Pointer,
    Scalar,
    TensorView,
    Tile,
    View,
)  # fmt: skip

Array: TypeAlias = np.ndarray[Any, Any]
DType: TypeAlias = np.dtype[Any]

ELEMENTS: dict[Scalar, DType] = {
    scalar: np.dtype(made)
    for scalar, made in {
        I1: np.bool_, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64,
        F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64,
        TF32: np.float32, F8E4M3FN: ml_dtypes.float8_e4m3fn, F8E5M2: ml_dtypes.float8_e5m2,
        F8E8M0FNU: ml_dtypes.float8_e8m0fnu, F4E2M1FN: ml_dtypes.float4_e2m1fn,
    }.items()
}  # fmt: skip
"""The NumPy type of an element."""
POINTER = np.dtype([("address", np.int64), ("origin", np.int32)])
"""A pointer: its address, and the number of the memory that it was derived from."""
TF32_DROPPED = 13
"""Low bits of an f32 that tf32 does not have."""
GARBAGE = 0xCD
"""The bytes of elements that are unspecified: a number that nobody expects."""


class UndefinedError(Exception):
    """What an instruction was given makes its behaviour undefined."""


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor view: a pointer, extents and strides in elements."""

    kind: TensorView
    base: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ViewValue:
    """A tensor seen as tiles."""

    kind: View
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class TokenValue:
    """The accesses that come before whoever waits for a token: a bit for each."""

    before: int = 0


Value: TypeAlias = Array | TensorValue | ViewValue | TokenValue


def dtype_of(elem: Scalar | Pointer) -> DType:
    """The NumPy type of what a tile holds."""
    return POINTER if isinstance(elem, Pointer) else ELEMENTS[elem]


def tile_kind(kind: Kind) -> Tile:
    """A type that is known to be a tile."""
    assert isinstance(kind, Tile), f"expected a tile, got {kind}"
    return kind


def unsigned(array: Array) -> Array:
    """Read integers as unsigned."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def signed(array: Array) -> Array:
    """Read integers as signed; the one-bit integer that is set is -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def integers(array: Array, kind: Scalar) -> Array:
    """Reduce integers of any type modulo the width of an element type."""
    if kind is I1:
        return np.asarray(np.asarray(array) & 1).astype(np.bool_)
    return np.asarray(array).astype(ELEMENTS[kind], copy=False)


def element(bits: int, kind: Scalar) -> Array:
    """A number given by its bits."""
    if kind is TF32:
        return np.array(bits << TF32_DROPPED, np.uint32).view(np.float32)
    data = bits.to_bytes(max(kind.nbytes, 1), "little")
    return np.frombuffer(data, ELEMENTS[kind], 1).reshape(()).copy()


def constant(data: bytes, kind: Tile) -> Array:
    """The elements of a constant; one element stands for all of them."""
    scalar, count = kind.scalar, kind.size
    if scalar is I1:
        return _bits(data, count).reshape(kind.shape)
    length = scalar.nbytes
    if len(data) not in (length, length * count):
        raise ValueError(f"a constant of {len(data)} bytes for {kind}")
    parts = [data[i : i + length] for i in range(0, len(data), length)]
    if scalar is TF32:
        made = np.array([element(int.from_bytes(part, "little"), TF32) for part in parts])
    else:
        made = np.frombuffer(data, ELEMENTS[scalar])
    return np.broadcast_to(made, (count,)).reshape(kind.shape)


def _bits(data: bytes, count: int) -> Array:
    if data in (b"\0", b"\xff") or count == 1:
        return np.full(count, bool(data[0]))
    if len(data) != -(-count // 8):
        raise ValueError(f"{len(data)} bytes for {count} bits")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count, bitorder="little").astype(bool)


def garbage(kind: Tile) -> Array:
    """A tile whose elements are unspecified."""
    dtype = dtype_of(kind.elem)
    if dtype == np.bool_:
        return np.ones(kind.shape, np.bool_)
    raw = np.full((*kind.shape, dtype.itemsize), GARBAGE, np.uint8)
    return raw.view(dtype).reshape(kind.shape)
