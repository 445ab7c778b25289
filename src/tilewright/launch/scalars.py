"""Numbers given to kernels: which are accepted for a type, and their bits in an argument slot."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from struct import Struct, pack
from typing import Any, TypeAlias

import numpy as np

from ..base.dtypes import AnyDType, f16, f32, f64, int_range, round_to
from ..base.errors import ShapeError
from ..base.messages import number_text

MASK = (1 << 64) - 1
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_PACK: dict[AnyDType, Callable[[float], bytes]] = {
    f16: Struct("<e").pack,
    f32: Struct("<f").pack,
    f64: Struct("<d").pack,
}

Accept: TypeAlias = Callable[[Any], Any]
"""Takes a given number and gives it as a Python one, or raises."""


def accepting(kernel: str, name: str, dtype: AnyDType) -> Accept:
    """Return the check of numbers given for a parameter; most pass by class and size alone."""
    kind, (low, high) = _surely(dtype)

    def accept(value: Any) -> Any:
        if type(value) is kind and low <= value <= high:
            return value
        return check_scalar(kernel, name, dtype, value)

    return accept


@cache
def _surely(dtype: AnyDType) -> tuple[type[Any], tuple[float, float]]:
    """Return a class of Python numbers, and the range in which a type holds them all."""
    if dtype.is_bool:
        return bool, (False, True)
    if dtype.is_float:
        # Some small floats have no sign or no zero: of these nothing is sure.
        most = float(np.finfo(dtype.np).max) if dtype in _PACK else -math.inf
        return float, (-most, most)
    return int, int_range(dtype)


class RangeKind(IntEnum):
    """How the core tells that a number fits: `NumberRange` of native/python/scalars.hpp."""

    UNSURE = 0
    BOOL = 1
    INT = 2
    UNSIGNED = 3
    FLOAT = 4


UNSURE = bytes(24)
"""Of a parameter whose numbers are all looked at in Python."""

_INT64 = -(1 << 63), (1 << 63) - 1


@cache
def range_of(dtype: AnyDType) -> bytes:
    """Return the numbers that a parameter accepts, as the core reads the range."""
    kind, (low, high) = _surely(dtype)
    if kind is bool:
        return pack("qqq", RangeKind.BOOL, 0, 1)
    if kind is float:
        return pack("qdd", RangeKind.FLOAT, low, high)
    if _INT64[0] <= low and high <= _INT64[1]:
        return pack("qqq", RangeKind.INT, low, high)
    return pack("qQQ", RangeKind.UNSIGNED, low, high)


class Packing(IntEnum):
    """How the core makes a parameter of a number: `NumberPacking` of native/python/scalars.hpp."""

    OTHER = 0
    WORD = 1
    HALF = 2
    SINGLE = 3
    DOUBLE = 4


_PACKING: dict[AnyDType, Packing] = {f16: Packing.HALF, f32: Packing.SINGLE, f64: Packing.DOUBLE}


def packing_of(which: int, dtype: AnyDType) -> bytes:
    """Return how the core packs one of the numbers of a launch into a parameter."""
    other = Packing.OTHER if dtype.is_float else Packing.WORD
    return pack("qq", which, _PACKING.get(dtype, other))


def check_scalar(kernel: str, name: str, dtype: AnyDType, value: Any) -> Any:
    """Return the number as a Python number, if the type can hold it."""
    number = _python_number(value)
    if dtype.is_bool:
        if isinstance(number, bool):
            return number
    elif dtype.is_float:
        if isinstance(number, int | float):
            return _in_float_range(kernel, name, dtype, number)
    elif isinstance(number, int) and not isinstance(number, bool):
        return _in_int_range(kernel, name, dtype, number)
    raise ShapeError(
        f"`{name}` of `{kernel}` is a scalar of type {dtype.name}",
        expected=_kind(dtype),
        got=f"{type(value).__name__} {number_text(value)}"
        if number is not None
        else type(value).__name__,
        hint=f"pass one number: {name}.item()" if hasattr(value, "item") else None,
    )


def _python_number(value: Any) -> Any:
    if _is_numpy_scalar(value):
        value = value.item()
        # ml_dtypes scalars are their own item
        return float(value) if _is_numpy_scalar(value) else _python_number(value)
    return value if isinstance(value, bool | int | float) else None


def _is_numpy_scalar(value: object) -> bool:
    return isinstance(value, np.generic)


def _kind(dtype: AnyDType) -> str:
    if dtype.is_bool:
        return "True or False"
    return "a number" if dtype.is_float else "an int"


def _in_int_range(kernel: str, name: str, dtype: AnyDType, number: int) -> int:
    low, high = int_range(dtype)
    if low <= number <= high:
        return int(number)
    raise ShapeError(
        f"`{name}` of `{kernel}` is out of range",
        expected=f"{dtype.name}, from {low} to {high}",
        got=number_text(int(number)),
    )


def _in_float_range(kernel: str, name: str, dtype: AnyDType, number: float) -> float:
    try:
        given = float(number)
    except OverflowError:
        given = math.inf
    _, (low, high) = _surely(dtype)
    if low <= given <= high:
        return given
    if math.isfinite(given) and math.isfinite(round_to(dtype, given)):
        return given
    if not math.isfinite(given) and isinstance(number, float):
        return given
    raise ShapeError(
        f"`{name}` of `{kernel}` is out of range",
        expected=f"a finite {dtype.name}",
        got=number_text(number),
    )


def slot_of(dtype: AnyDType, value: Any) -> int:
    """Return the 64 bits of a scalar's argument slot."""
    if not dtype.is_float:
        return int(value) & MASK
    pack = _PACK.get(dtype)
    if pack is not None and not math.isnan(value):  # `struct` may drop the bits that tell NaN apart
        return int.from_bytes(pack(value), "little")
    held = np.asarray(round_to(dtype, value)).astype(dtype.np)
    return int(held.view(_UNSIGNED[dtype.itemsize]))
