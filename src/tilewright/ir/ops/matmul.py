"""Matrix multiply-accumulate: acc + lhs @ rhs, rank 2, or rank 3 with a leading batch."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import (
    AnyDType,
    bf16,
    f4e2m1fn,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i32,
    tf32,
    u8,
)  # fmt: skip
from ..opdef import Attrs, declare, need, number
from ..types import TileType, Type

FLOAT_ACCUMULATORS: dict[AnyDType, tuple[AnyDType, ...]] = {
    f16: (f16, f32), bf16: (f32,), tf32: (f32,), f32: (f32,), f64: (f64,),
    f8e4m3fn: (f16, f32), f8e5m2: (f16, f32),
}  # fmt: skip
"""Which accumulators each float input type takes."""

SCALE_BLOCKS: dict[tuple[AnyDType, AnyDType], tuple[int, ...]] = {
    (f8e4m3fn, f8e8m0fnu): (32,), (f8e5m2, f8e8m0fnu): (32,),
    (f4e2m1fn, f8e8m0fnu): (16, 32), (f4e2m1fn, f8e4m3fn): (16,),
}  # fmt: skip
"""How many elements of K one scale may stand for, by element and scale type."""


def _shapes(a: TileType, b: TileType, acc: TileType) -> None:
    need(a.rank == b.rank == acc.rank and a.rank in (2, 3), "{}, {}, {}: rank 2 or 3", a, b, acc)
    need(a.shape[:-2] == b.shape[:-2] == acc.shape[:-2], "{}, {}, {}: batches differ", a, b, acc)
    need(a.shape[-1] == b.shape[-2], "{} and {}: inner extents differ", a, b)
    need(acc.shape[-2:] == (a.shape[-2], b.shape[-1]), "{} does not fit {} @ {}", acc, a, b)


def _mmaf(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    a, b, acc = (number(t) for t in types)
    _shapes(a, b, acc)
    need(a.dtype is b.dtype, "{} and {}: elements differ", a, b)
    need(acc.dtype in FLOAT_ACCUMULATORS.get(a.dtype, ()), "{} does not accumulate in {}", a, acc)
    return (acc,)


def _mmai(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    a, b, acc = (number(t) for t in types)
    _shapes(a, b, acc)
    need(a.dtype in (i8, u8) and b.dtype in (i8, u8) and acc.dtype is i32, "{}, {}, {}", a, b, acc)
    return (acc,)


def _scaled(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    a, b, acc, sa, sb = (number(t) for t in types)
    _shapes(a, b, acc)
    need(a.dtype is b.dtype and sa.dtype is sb.dtype and acc.dtype is f32, "element types")
    fits = SCALE_BLOCKS.get((a.dtype, sa.dtype), ())
    k = a.shape[-1]
    need(any(sa.shape == (*a.shape[:-1], k // v) for v in fits), "scale {} of {}", sa, a)
    need(sb.shape == (*b.shape[:-2], sa.shape[-1], b.shape[-1]), "scale {} of {}", sb, b)
    return (acc,)


MMAF = declare(
    "mmaf",
    "tile",
    "lhs rhs acc",
    _mmaf,
    "Float acc + lhs @ rhs; products exact in the accumulator's precision or better.",
    attrs={"fast_acc": False},
)
MMAI = declare(
    "mmai",
    "tile",
    "lhs rhs acc",
    _mmai,
    "8-bit integers, each by its own signedness, wrapping in i32.",
)
MMAF_SCALED = declare(
    "mmaf_scaled",
    "tile",
    "lhs rhs acc lhs_scale rhs_scale",
    _scaled,
    "acc + (lhs * lhs_scale) @ (rhs * rhs_scale); one scale for a run of K elements.",
)

OPS = (MMAF, MMAI, MMAF_SCALED)

PRODUCTS = OPS
"""All ops that multiply matrices."""
