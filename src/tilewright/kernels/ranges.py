"""Tensors of evenly spaced numbers: exact in integers, in f64 and rounded once in floats."""

from __future__ import annotations

import math
import sys
from typing import Any, TypeVar, overload

from .. import lang as tl
from ..base.dtypes import (
    AnyDType,
    DType,
    as_dtype,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    int_range,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip
from ..base.errors import ShapeError
from ..base.messages import number_text
from ..op.core import DeviceOp
from ..tensors.create import DeviceLike, DTypeLike, Plan, planned
from ..tensors.tensor import Tensor
from .capturing import kernel
from .scalars import is_number, is_whole
from .writing import Made, Part

E = TypeVar("E", bound=DType)
Whole = TypeVar("Whole", i8, i16, i32, i64, u8, u16, u32, u64)


@kernel
def store_whole_range(out: tl.TensorMut[Whole], start: Whole, step: Whole) -> None:
    """Store start + position * step, which wraps and ends up in range."""
    (block,) = out.shape
    position = (tl.arange(block) + tl.block_id(0) * block).astype(out.dtype)
    out.store(position * step + start)


@kernel
def store_float_range(
    out: tl.TensorMut[E], first: f64, start: f64, step: f64, last: f64, stop: f64
) -> None:
    """Store start + position * step; the position `last` has exactly the value `stop`."""
    (block,) = out.shape
    position = (tl.arange(block) + tl.block_id(0) * block).astype(f64) + first
    value = tl.where(position == last, stop, tl.fma(position, step, start))
    out.store(value.astype(out.dtype))


@overload
def arange(  # pyright: ignore[reportOverlappingOverload] - ints are floats for checkers
    start: int, stop: int | None = None, step: int = 1, *, device: DeviceLike = None
) -> DeviceOp[Tensor[i32]]: ...
@overload
def arange(
    start: float, stop: float | None = None, step: float = 1, *, device: DeviceLike = None
) -> DeviceOp[Tensor[f32]]: ...
@overload
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: type[E],
    device: DeviceLike = None,
) -> DeviceOp[Tensor[E]]: ...
@overload
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]: ...
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Create a range from `start` (or 0) to before `stop`, `step` apart: i32 for ints, else f32.

    Floats are start + i * step in f64, rounded once.
    """
    begin, end = (0, start) if stop is None else (start, stop)
    numbers = begin, end, step
    default = i32 if all(map(is_whole, numbers)) else f32
    found = default if dtype is None else as_dtype(dtype)
    _refuse_numbers("arange", found, begin, end, step)
    if step == 0:
        raise ShapeError("the step of `arange` is 0", expected="another number", got="0")
    if found.is_float:
        count = max(math.ceil((end - begin) / step), 0)
        return _floats(planned("arange", count, found, device), float(begin), float(step))
    return _whole_numbers(found, range(int(begin), int(end), int(step)), device)


def _whole_numbers(dtype: AnyDType, numbers: range, device: DeviceLike) -> DeviceOp[Tensor[Any]]:
    low, high = int_range(dtype)
    ends = (numbers[0], numbers[-1]) if numbers else ()
    if not all(low <= number <= high for number in ends):
        raise ShapeError(
            f"`arange` would leave {dtype.name}",
            expected=f"numbers from {low} to {high}",
            got=f"{number_text(numbers[0])} to {number_text(numbers[-1])}",
        )

    def write(part: Part) -> DeviceOp[Any]:
        return store_whole_range(part.out, numbers[part.first], _wrapped(numbers.step, dtype))

    return Made(planned("arange", len(numbers), dtype, device), write)


def _wrapped(number: int, dtype: AnyDType) -> int:
    """Return the number that has the same lowest bits in the type."""
    low, high = int_range(dtype)
    return (number - low) % (high - low + 1) + low


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    dtype: DTypeLike = f32,
    *,
    endpoint: bool = True,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Create `num` evenly spaced numbers from `start` to `stop`, with or without the endpoint.

    Element i is start + i * step in f64, rounded once; the last one is `stop` exactly.
    """
    found = as_dtype(dtype)
    if not is_whole(num):
        raise TypeError(f"`linspace` makes a whole number of elements, got {type(num).__name__}")
    if num < 0:
        raise ShapeError("`linspace` cannot make so many", expected="num >= 0", got=str(num))
    _refuse_numbers("linspace", found, start, stop)
    if not found.is_float:
        raise ShapeError(
            "`linspace` makes floats", expected="f32, f64 or another float", got=found.name,
            hint="round with tw.convert(...), or count with tw.arange(...)",
        )  # fmt: skip
    steps = num - 1 if endpoint else num
    step = (float(stop) - float(start)) / steps if steps > 0 else 0.0
    last = num - 1 if endpoint and num > 1 else -1
    return _floats(planned("linspace", num, found, device), float(start), step, last, float(stop))


def _floats(
    plan: Plan, start: float, step: float, last: int = -1, stop: float = 0.0
) -> DeviceOp[Tensor[Any]]:
    def write(part: Part) -> DeviceOp[Any]:
        numbers = float(part.first), start, step, float(last), stop
        return store_float_range(part.out, *numbers)

    return Made(plan, write)


def _refuse_numbers(op: str, dtype: AnyDType, *numbers: Any) -> None:
    if not (dtype.is_float or dtype.is_int):
        raise ShapeError(
            f"`{op}` makes numbers", expected="an integer or float type", got=dtype.name
        )
    for number in numbers:
        if not is_number(number):
            raise TypeError(f"`{op}` takes numbers, got {type(number).__name__}")
        most = sys.float_info.max if dtype.is_float else math.inf
        if not -most <= number <= most or (dtype.is_int and not is_whole(number)):
            raise ShapeError(
                f"`{op}` of {dtype.name} cannot use this number",
                expected="an int" if dtype.is_int else "a finite number",
                got=number_text(number),
            )
