"""Small IR functions for tests, built by hand."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.base.dtypes import AnyDType, f32
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.signature import Signature
from tilewright.ir.types import TensorType, TileType, Type


def func(build: Callable[..., None], **params: Type) -> Func:
    """A function whose body `build(builder, *params)` makes; a return is added at the end."""
    values = tuple(Value(type_, name) for name, type_ in params.items())
    builder = Builder(Block())
    build(builder, *values)
    builder.op("return")
    return Func("test", Signature(()), values, builder.block)


def tile(*shape: int, dtype: AnyDType = f32) -> TileType:
    """A tile type, f32 unless told otherwise."""
    return TileType(dtype, shape)


def tensor(*shape: int | None, dtype: AnyDType = f32, mutable: bool = False) -> TensorType:
    """A tensor type with a dense last axis; None is an extent known at launch only."""
    strides = (*[None] * (len(shape) - 1), 1)
    return TensorType(dtype, shape, strides, mutable, "out" if mutable else "x")
