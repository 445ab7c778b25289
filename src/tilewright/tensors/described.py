"""What `__cuda_array_interface__` says of an array of another library, read with distrust."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import ShapeError
from ..base.shapes import Shape, row_major_strides
from .layout import Layout, layout_of


class Described(NamedTuple):
    """Memory as the interface describes it."""

    layout: Layout
    address: int
    readonly: bool
    stream: int | None
    """The stream to wait for; None: there is nothing to wait for."""


def described(x: object, said: Any) -> Described:
    """Return the checked description of x; raise a ShapeError if it is incomplete or wrong."""
    if not isinstance(said, dict):
        raise wrong(x, "a dict", type(said).__name__)
    known = cast("dict[str, Any]", said)
    if known.get("mask") is not None:
        raise wrong(x, "an array without a mask: kernels ignore masks", "a mask")
    shape = _shape(x, known.get("shape"))
    dtype, strides = _dtype(x, known.get("typestr")), known.get("strides")
    steps = row_major_strides(shape) if strides is None else _steps(x, strides, shape, dtype)
    address, readonly = _data(x, known.get("data"))
    return Described(
        layout_of(dtype, shape, steps), address, readonly, _stream(x, known.get("stream"))
    )


def refuse_address(x: object, layout: Layout, address: int) -> None:
    """Raise for an address at which no such elements can be."""
    if 0 in layout.shape:
        return
    if address == 0:
        raise wrong(x, "an address", "a null pointer, of an array that has elements")
    if address % layout.dtype.itemsize:
        raise wrong(
            x,
            f"an address that is a multiple of {layout.dtype.itemsize} bytes",
            f"{address:#x}",
            "copy it first, with its own library",
        )


def wrong(x: object, expected: str, got: str, hint: str | None = None) -> ShapeError:
    """Return the error for an array whose description is inconsistent."""
    return ShapeError(
        f"the metadata of this {type(x).__name__} is invalid",
        expected=expected,
        got=got,
        hint=hint,
    )


def _shape(x: object, given: Any) -> Shape:
    numbers = _ints(given)
    if numbers is None or any(n < 0 for n in numbers):
        raise wrong(x, "a shape: a tuple of ints, none below 0", repr(given))
    return numbers


def _ints(given: Any) -> Shape | None:
    """Return a tuple or a list of ints; None: it is none."""
    if not isinstance(given, tuple | list):
        return None
    numbers = cast("Sequence[Any]", given)
    if not all(hasattr(n, "__index__") for n in numbers):
        return None
    return tuple(operator.index(n) for n in numbers)


def _dtype(x: object, given: Any) -> AnyDType:
    try:
        return as_dtype(np.dtype(given if isinstance(given, str) else "V"))
    except TypeError:
        raise wrong(x, "the typestr of an element type that kernels support", repr(given)) from None


def _steps(x: object, given: Any, shape: Shape, dtype: AnyDType) -> Shape:
    item, steps = dtype.itemsize, _ints(given)
    if steps is None or len(steps) != len(shape) or any(n % item for n in steps):
        expected = f"{len(shape)} strides that are whole elements of {item} bytes"
        raise wrong(x, expected, f"strides of {given!r} bytes")
    return tuple(n // item for n in steps)


def _data(x: object, given: Any) -> tuple[int, bool]:
    match given:
        case (address, readonly) if hasattr(address, "__index__") and 0 <= address < 1 << 64:
            return address.__index__(), bool(readonly)
        case _:
            raise wrong(x, "data: an address, and whether it is read-only", repr(given))


def _stream(x: object, given: Any) -> int | None:
    match given:
        case None:
            return None
        case int() if 0 < given < 1 << 64:
            return given
        case _:
            raise wrong(x, "a stream: 1, 2, or the address of one", repr(given))
