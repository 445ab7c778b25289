"""Random tensors: bits, integers, uniform and normal numbers, one Philox counter per element.

The page on creating tensors says which bits become what.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

from .. import lang as tl
from ..base.dtypes import (
    AnyDType,
    DType,
    f16,
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
from ..lang.stdlib.random import below, joined, normal, uniform
from ..op.core import DeviceOp
from ..tensors.create import DeviceLike, DTypeLike, Plan, planned, refuse_order
from ..tensors.shape import ShapeLike
from ..tensors.tensor import Tensor
from .capturing import kernel
from .philox import element_words
from .scalars import is_number, is_whole
from .writing import BITS, Made, Part

E = TypeVar("E", bound=DType)
Small = TypeVar("Small", u8, u16, u32)
Whole = TypeVar("Whole", i8, i16, i32, i64, u8, u16, u32, u64)
Half = TypeVar("Half", f16, f32)
Real = TypeVar("Real", f32, f64)

WORD = (1 << 32) - 1


@kernel
def store_bits32(out: tl.TensorMut[Small], first: u32, high: u32, key0: u32, key1: u32) -> None:
    """Return the low bits of the first word."""
    x0, _, _, _ = element_words(out, first, high, key0, key1)
    out.store(x0.astype(out.dtype))


@kernel
def store_bits64(out: tl.TensorMut[u64], first: u32, high: u32, key0: u32, key1: u32) -> None:
    """Store the first two words of each position."""
    x0, x1, _, _ = element_words(out, first, high, key0, key1)
    out.store(joined(x0, x1))


@kernel
def store_below(
    out: tl.TensorMut[Whole], first: u32, high: u32, key0: u32, key1: u32, least: u64, count: u64
) -> None:
    """Store one of `count` integers from `least`."""
    out.store(below(element_words(out, first, high, key0, key1), least, count, out.dtype))


@kernel
def store_uniform(out: tl.TensorMut[Real], first: u32, high: u32, key0: u32, key1: u32) -> None:
    """Return a fraction."""
    out.store(uniform(element_words(out, first, high, key0, key1), out.dtype))


@kernel
def store_normal32(
    out: tl.TensorMut[Half], first: u32, high: u32, key0: u32, key1: u32, mean: f32, std: f32
) -> None:
    """Store normal numbers, scaled in f32."""
    standard = normal(element_words(out, first, high, key0, key1), f32)
    out.store(tl.fma(standard, std, mean).astype(out.dtype))


@kernel
def store_normal64(
    out: tl.TensorMut[f64], first: u32, high: u32, key0: u32, key1: u32, mean: f64, std: f64
) -> None:
    """Store normal numbers, scaled in f64."""
    standard = normal(element_words(out, first, high, key0, key1), f64)
    out.store(tl.fma(standard, std, mean))


class Key(NamedTuple):
    """A seed as the two words of a key."""

    low: int
    high: int


def key_of(op: str, seed: int | None) -> Key:
    """Return the key of a seed; without one, of the system's entropy."""
    if seed is None:
        number = int.from_bytes(os.urandom(8), "little")
    elif not is_whole(seed):
        raise TypeError(f"the seed of `{op}` must be an int, got {type(seed).__name__}")
    else:
        number = seed.__index__()
    if not 0 <= number < 1 << 64:
        raise ShapeError(
            f"the seed of `{op}` is out of range", expected="0 <= seed < 2**64", got=str(number)
        )
    return Key(number & WORD, number >> 32)


def _drawn(
    plan: Plan, seed: int | None, store: Callable[..., DeviceOp[Any]], *numbers: float
) -> DeviceOp[Tensor[Any]]:
    key = key_of(plan.name, seed)

    def write(part: Part) -> DeviceOp[Any]:
        return store(part.out, part.first & WORD, part.first >> 32, *key, *numbers)

    return Made(plan, write, as_bits=store in (store_bits32, store_bits64))


def _refuse_dtype(plan: Plan, *known: AnyDType) -> None:
    if plan.dtype not in known:
        raise ShapeError(
            f"`{plan.name}` does not make elements of this type",
            expected=" or ".join(t.name for t in known),
            got=plan.dtype.name,
        )


@overload
def random_bits(
    shape: ShapeLike, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[u32]]: ...
@overload
def random_bits(
    shape: ShapeLike, dtype: type[E], *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def random_bits(
    shape: ShapeLike, dtype: DTypeLike, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def random_bits(
    shape: ShapeLike, dtype: DTypeLike = u32, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of integers with random bits."""
    plan = planned("random_bits", shape, dtype, device)
    _refuse_dtype(plan, i8, i16, i32, i64, u8, u16, u32, u64)
    wide = BITS[plan.dtype.itemsize] is u64
    return _drawn(plan, seed, store_bits64 if wide else store_bits32)


@overload
def randint(
    low: int, high: int, shape: ShapeLike, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[i32]]: ...
@overload
def randint(
    low: int,
    high: int,
    shape: ShapeLike,
    dtype: type[E],
    *,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[E]]: ...
@overload
def randint(
    low: int,
    high: int,
    shape: ShapeLike,
    dtype: DTypeLike,
    *,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]: ...
def randint(
    low: int,
    high: int,
    shape: ShapeLike,
    dtype: DTypeLike = i32,
    *,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of random integers, at least `low` and less than `high`."""
    plan = planned("randint", shape, dtype, device)
    _refuse_dtype(plan, i8, i16, i32, i64, u8, u16, u32, u64)
    least, most = int_range(plan.dtype)
    if not (is_whole(low) and is_whole(high)):
        raise TypeError(f"`randint` takes ints, got {low!r} and {high!r}")
    if not least <= low < high <= most + 1:
        raise ShapeError(
            "`randint` got bounds that do not fit",
            expected=f"{least} <= low < high <= {most + 1}, for {plan.dtype.name}",
            got=f"low {low}, high {high}",
        )
    if high - low == 1 << 64:
        return _drawn(plan, seed, store_bits64)
    return _drawn(plan, seed, store_below, low % (1 << 64), high - low)


@overload
def rand(
    shape: ShapeLike, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[f32]]: ...
@overload
def rand(
    shape: ShapeLike, dtype: type[E], *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def rand(
    shape: ShapeLike, dtype: DTypeLike, *, seed: int | None = None, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def rand(
    shape: ShapeLike,
    dtype: DTypeLike = f32,
    *more: Any,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of uniform random numbers, at least 0 and less than 1, f32 or f64.

    A seed yields the same numbers on every device; without one they differ each time.
    """
    if more:
        refuse_order("rand", shape, dtype, *more)
    plan = planned("rand", shape, dtype, device)
    _refuse_dtype(plan, f32, f64)
    return _drawn(plan, seed, store_uniform)


@overload
def randn(
    shape: ShapeLike,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[f32]]: ...
@overload
def randn(
    shape: ShapeLike,
    dtype: type[E],
    *,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[E]]: ...
@overload
def randn(
    shape: ShapeLike,
    dtype: DTypeLike,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]: ...
def randn(
    shape: ShapeLike,
    dtype: DTypeLike = f32,
    *more: Any,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Create a tensor of normal random numbers, f16, f32 or f64."""
    if more:
        refuse_order("randn", shape, dtype, *more, words=("mean", "std"))
    return _normal(planned("randn", shape, dtype, device), mean, std, seed)


def randn_f16(
    shape: ShapeLike,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int | None = None,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[f16]]:
    """Create a tensor of normal random numbers, computed in f32 and rounded to f16."""
    return _normal(planned("randn_f16", shape, f16, device), mean, std, seed)


def _normal(plan: Plan, mean: float, std: float, seed: int | None) -> DeviceOp[Tensor[Any]]:
    _refuse_dtype(plan, f16, f32, f64)
    for name, number, least in (("mean", mean, -math.inf), ("std", std, 0.0)):
        if not is_number(number) or not least <= number < math.inf:
            raise ShapeError(
                f"the {name} of `{plan.name}` is out of range",
                expected="a finite number" + (" of 0 or more" if least == 0 else ""),
                got=repr(number),
            )
    store = store_normal64 if plan.dtype is f64 else store_normal32
    return _drawn(plan, seed, store, float(mean), float(std))
