"""Element types as classes: annotations (`tl.Tensor[f32]`), values (`x.astype(f32)`) and typed
scalars (`u32(n)`) at once. NumPy, ml_dtypes and torch dtypes are accepted by `as_dtype`."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import ml_dtypes
import numpy as np


class DTypeMeta(type):
    """The metaclass of element types: defines their properties and their repr."""

    bits: int
    kind: str
    np: np.dtype[Any]

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        bits: int = 0,
        kind: str = "",
        np_type: Any = None,
    ) -> DTypeMeta:
        """Create an element type of `bits`; `kind` is NumPy's letter, `p` for packed pairs."""
        cls = super().__new__(mcs, name, bases, namespace)
        cls.bits = bits
        cls.kind = kind
        if np_type is not None:
            cls.np = np.dtype(np_type)
        return cls

    def __repr__(cls) -> str:
        return cls.name

    @property
    def name(cls) -> str:
        """The name, as written in programs: `f32`."""
        return "bool" if cls.__name__ == "bool_" else cls.__name__

    @property
    def itemsize(cls) -> int:
        """Bytes one element takes in memory."""
        return max(cls.bits // 8, 1)

    @property
    def is_float(cls) -> bool:
        """Whether this is a floating-point type, the small ones included."""
        return cls.kind == "f"

    @property
    def is_int(cls) -> bool:
        """Whether this is a signed or unsigned integer type (bool is not)."""
        return cls.kind in ("i", "u")

    @property
    def is_signed(cls) -> bool:
        """Whether this is a signed integer type."""
        return cls.kind == "i"

    @property
    def is_bool(cls) -> bool:
        """Whether this is the boolean type."""
        return cls.kind == "b"

    @property
    def has_arithmetic(cls) -> bool:
        """Whether `+`, `exp` and so on exist; f8, f4 and tf32 only load, store, convert and mma."""
        return cls.is_int or cls.name in ("f16", "bf16", "f32", "f64")


class DType(metaclass=DTypeMeta):
    """Base of all element types."""


class bool_(int, DType, bits=1, kind="b", np_type=np.bool_):
    """True or False; one byte in memory."""


class i8(int, DType, bits=8, kind="i", np_type=np.int8):
    """Signed 8-bit integer."""


class i16(int, DType, bits=16, kind="i", np_type=np.int16):
    """Signed 16-bit integer."""


class i32(int, DType, bits=32, kind="i", np_type=np.int32):
    """Signed 32-bit integer, the type of indices and of Python ints that must have one."""


class i64(int, DType, bits=64, kind="i", np_type=np.int64):
    """Signed 64-bit integer."""


class u8(int, DType, bits=8, kind="u", np_type=np.uint8):
    """Unsigned 8-bit integer."""


class u16(int, DType, bits=16, kind="u", np_type=np.uint16):
    """Unsigned 16-bit integer."""


class u32(int, DType, bits=32, kind="u", np_type=np.uint32):
    """Unsigned 32-bit integer."""


class u64(int, DType, bits=64, kind="u", np_type=np.uint64):
    """Unsigned 64-bit integer."""


class f16(float, DType, bits=16, kind="f", np_type=np.float16):
    """IEEE half precision."""


class bf16(float, DType, bits=16, kind="f", np_type=ml_dtypes.bfloat16):
    """bfloat16: the exponent of f32, 8 bits of precision."""


class f32(float, DType, bits=32, kind="f", np_type=np.float32):
    """IEEE single precision, the default float."""


class f64(float, DType, bits=64, kind="f", np_type=np.float64):
    """IEEE double precision."""


class tf32(float, DType, bits=32, kind="f", np_type=np.float32):
    """f32 with 10 bits of fraction, for mma; stored in 4 bytes."""


class f8e4m3fn(float, DType, bits=8, kind="f", np_type=ml_dtypes.float8_e4m3fn):
    """8-bit float, 4 exponent bits, NaN but no infinity."""


class f8e5m2(float, DType, bits=8, kind="f", np_type=ml_dtypes.float8_e5m2):
    """8-bit float, 5 exponent bits."""


class f8e8m0fnu(float, DType, bits=8, kind="f", np_type=ml_dtypes.float8_e8m0fnu):
    """8-bit power of two without sign, the scale of block-scaled mma."""


class f4e2m1fn(float, DType, bits=4, kind="f", np_type=ml_dtypes.float4_e2m1fn):
    """4-bit float; exists in kernels, in memory as the packed pair `f4e2m1fnx2`."""


class f4e2m1fnx2(int, DType, bits=8, kind="p", np_type=np.uint8):
    """Two f4e2m1fn in one byte, the first in the low half: load it, then `unpack()`."""


AnyDType: TypeAlias = type[DType]

ALL: tuple[AnyDType, ...] = (
    bool_, i8, i16, i32, i64, u8, u16, u32, u64,
    f16, bf16, f32, f64, tf32, f8e4m3fn, f8e5m2, f8e8m0fnu, f4e2m1fn, f4e2m1fnx2,
)  # fmt: skip
INTS: tuple[AnyDType, ...] = (i8, i16, i32, i64, u8, u16, u32, u64)
FLOATS: tuple[AnyDType, ...] = (f16, bf16, f32, f64)

_ALIASES: dict[str, AnyDType] = {
    "bool_": bool_,
    "float16": f16, "half": f16, "bfloat16": bf16,
    "float32": f32, "float": f32, "float64": f64, "double": f64,
    "int8": i8, "int16": i16, "int32": i32, "int64": i64,
    "uint8": u8, "uint16": u16, "uint32": u32, "uint64": u64,
    "float8_e4m3fn": f8e4m3fn, "float8_e5m2": f8e5m2, "float8_e8m0fnu": f8e8m0fnu,
    "float4_e2m1fn": f4e2m1fn, "float4_e2m1fn_x2": f4e2m1fnx2,
}  # fmt: skip
_BY_NAME: dict[str, AnyDType] = {t.name: t for t in ALL} | _ALIASES
_BY_NP: dict[np.dtype[Any], AnyDType] = {
    t.np: t for t in reversed(ALL) if t not in (tf32, f4e2m1fnx2)
}
_BY_PYTHON: dict[object, AnyDType] = {bool: bool_, int: i32, float: f32}


def is_dtype(x: object) -> TypeGuard[AnyDType]:
    """Return whether x is one of our element types."""
    return isinstance(x, DTypeMeta) and x.bits > 0


def as_dtype(x: Any) -> AnyDType:
    """Turn anything that names an element type into ours.

    >>> as_dtype(np.float32), as_dtype("bfloat16"), as_dtype(np.dtype("u4")), as_dtype(f16)
    (f32, bf16, u32, f16)
    """
    if is_dtype(x):
        return x
    # NumPy reads None as float64; here it is more likely a forgotten argument.
    if x is DType or x is None:
        raise TypeError(f"expected an element type such as f32, got {x!r}")
    if x in _BY_PYTHON:
        return _BY_PYTHON[x]
    # torch dtypes are known by their text, so that torch is never imported here.
    text = x if isinstance(x, str) else str(x).removeprefix("torch.")
    if text in _BY_NAME:
        return _BY_NAME[text]
    try:
        return _BY_NP[np.dtype(x)]
    except (TypeError, KeyError):
        names = ", ".join(t.name for t in ALL)
        raise TypeError(f"not an element type: {x!r}; expected one of {names}") from None


def int_range(dtype: AnyDType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer (or bool) type."""
    if dtype.is_bool:
        return 0, 1
    if dtype.is_signed:
        return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
    return 0, (1 << dtype.bits) - 1


def round_to(dtype: AnyDType, value: float) -> float:
    """Round a Python float to the nearest value of a float type (ties to even)."""
    with np.errstate(over="ignore", invalid="ignore"):  # a NaN that signals is a NaN
        if dtype is tf32:
            return float(round_tf32(np.asarray(_to_odd_f32(value))))
        # ml_dtypes rounds f64 to f32 first: an odd last bit there keeps that step harmless.
        narrow = _to_odd_f32(value) if dtype.bits < 32 and dtype is not f16 else np.float64(value)
        return float(np.asarray(narrow).astype(dtype.np).astype(np.float64))


def _to_odd_f32(value: float) -> np.float32:
    """Round to f32 so that an inexact result has an odd last bit (rounding to odd)."""
    near = np.float32(value)
    if float(near) == value or not np.isfinite(near):
        return near
    bits = near.view(np.uint32)
    if bits & np.uint32(1):
        return near
    toward = np.float32(np.inf if value > float(near) else -np.inf)
    return np.float32(np.nextafter(near, toward))


def round_tf32(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round f32 values to the 10 fraction bits of tf32, ties to even."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(
        0xFFFFE000
    )
    finite = (bits & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    return np.where(finite, rounded, bits).astype(np.uint32).view(np.float32).reshape(np.shape(a))
