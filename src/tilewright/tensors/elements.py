"""Values of the host as arrays: which are taken, and what elements of a type they become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes as dt
from ..base.dtypes import AnyDType, as_dtype, round_tf32
from ..base.errors import ShapeError
from ..base.shapes import Shape, size
from ..op.core import is_op
from .foreign import aliased
from .ownership import Handle

_DEFAULTS: dict[str, AnyDType] = {"b": dt.bool_, "i": dt.i32, "u": dt.i32, "f": dt.f32}
"""What values without a type of their own become, by the kind that NumPy sees in them."""

LENGTHY = 1 << 20
"""Bytes whose copy takes a noticeable part of a millisecond."""


def host_array(x: Any, dtype: AnyDType | None, op: str) -> np.ndarray[Any, Any]:
    """Return an array of x. One that has a type keeps it; bytes and plain numbers get `dtype`.

    Without it, bytes are u8 and numbers are as everywhere: f32, i32 or bool.
    """
    if isinstance(x, bytes | bytearray):
        return _of_bytes(x, dtype or dt.u8, op)
    if isinstance(x, Handle) or not has_type(x):
        return _of_numbers(x, dtype, op)
    found = aliased(x)
    found = np.asarray(x) if found is None else found
    _refuse_unknown(found, op)
    return found


def has_type(x: Any) -> bool:
    """Return whether x is an array with an element type."""
    known = isinstance(x, np.ndarray | np.generic | memoryview)
    return known or hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")


def is_long(array: np.ndarray[Any, Any]) -> bool:
    """Return whether copying the array takes too long for an event loop to wait."""
    return array.nbytes > LENGTHY


def as_elements(array: np.ndarray[Any, Any], dtype: AnyDType) -> np.ndarray[Any, Any]:
    """Return the array's values as elements of a type; the array itself where they are that
    already.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        held = array.astype(dtype.np, copy=False)
    return round_tf32(held) if dtype is dt.tf32 else held


def refuse_several(shape: Shape) -> None:
    """Raise unless a tensor of this shape has just one element."""
    if size(shape) != 1:
        raise ShapeError(
            "item() takes a tensor of one element",
            expected="one element",
            got=f"{size(shape)}, of the shape {shape}",
            hint="index it first: t[i, j].item()",
        )


def only_number(array: np.ndarray[Any, Any]) -> bool | int | float:
    """Return the only element of an array as a Python number."""
    element = array.item()
    return element if isinstance(element, bool | int | float) else float(element)  # ml_dtypes' own


def _of_bytes(x: bytes | bytearray, dtype: AnyDType, op: str) -> np.ndarray[Any, Any]:
    if len(x) % dtype.itemsize:
        raise ShapeError(
            f"`{op}` got bytes that are no whole number of elements",
            expected=f"a multiple of {dtype.itemsize} bytes, for {dtype.name}",
            got=f"{len(x)} bytes",
        )
    return np.frombuffer(x, dtype.np)


def _of_numbers(x: Any, dtype: AnyDType | None, op: str) -> np.ndarray[Any, Any]:
    if is_op(x) or isinstance(x, str | Handle):
        raise TypeError(f"`{op}` takes host data, got {_described(x)}")
    try:
        given = np.asarray(x)
    except ValueError as error:
        raise ShapeError(
            f"`{op}` cannot make an array of this",
            expected="numbers, or sequences of equal length",
            got=str(error),
        ) from None
    wanted = dtype or _DEFAULTS.get(given.dtype.kind)
    if wanted is None or given.dtype.kind not in _DEFAULTS:
        raise TypeError(f"`{op}` takes numbers, got {type(x).__name__} of {given.dtype}")
    return as_elements(given, wanted) if wanted.is_float else _whole(given, wanted, op)


def _whole(given: np.ndarray[Any, Any], dtype: AnyDType, op: str) -> np.ndarray[Any, Any]:
    """Return plain numbers as integers or bools, which must hold them."""
    held = given.astype(dtype.np)
    if not np.array_equal(held, given):
        wrong = given[held != given].flat[0]
        raise ShapeError(
            f"`{op}` got a number that {dtype.name} does not hold",
            expected=_range(dtype),
            got=str(wrong),
        )
    return held


def _range(dtype: AnyDType) -> str:
    low, high = dt.int_range(dtype)
    return f"ints from {low} to {high}"


def _refuse_unknown(array: np.ndarray[Any, Any], op: str) -> None:
    try:
        as_dtype(array.dtype)
    except TypeError:
        raise TypeError(
            f"`{op}` takes elements of a type that kernels have, got an array of {array.dtype}"
        ) from None


def _described(x: object) -> str:
    if isinstance(x, str):
        return "a string"
    return "an op that has not run" if is_op(x) else "a tensor: use t.dup() for a copy"
