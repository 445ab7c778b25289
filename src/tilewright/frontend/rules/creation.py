"""Rules for tiles from nothing, and for the way between scalars and tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType, f32, i32
from ...base.errors import Code
from ...base.shapes import is_power_of_two
from ...ir.core import Value
from .. import promote
from ..describe import describe
from ..emit import Emitter


def zeros(em: Emitter, shape: Any, dtype: Any = f32) -> Value:
    """0 everywhere; False for booleans."""
    return _filled(em, shape, 0, em.static_dtype(dtype))


def ones(em: Emitter, shape: Any, dtype: Any = f32) -> Value:
    """1 everywhere; True for booleans."""
    return _filled(em, shape, 1, em.static_dtype(dtype))


def full(em: Emitter, shape: Any, value: Any, dtype: Any = None) -> Value:
    """One value everywhere; a scalar that is no constant is converted."""
    to = None if dtype is None else em.static_dtype(dtype)
    if not isinstance(value, Value):
        return _filled(em, shape, value, to)
    scalar = _one_element(em, value, "value")
    return em.broadcast_to(em.cast(scalar, to) if to else scalar, em.static_shape(shape))


def constant(em: Emitter, value: Any, shape: Any, dtype: Any = None) -> Value:
    """One constant everywhere."""
    if isinstance(value, Value):
        em.fail(
            Code.NOT_STATIC,
            "the value of a constant must be a compile-time constant",
            expected="a number",
            got=describe(value),
            hint="use tl.full(shape, value)",
        )
    return _filled(em, shape, value, None if dtype is None else em.static_dtype(dtype))


def _filled(em: Emitter, shape: Any, value: Any, dtype: AnyDType | None) -> Value:
    dims = em.static_shape(shape)
    if not isinstance(value, int | float):
        em.fail(Code.TYPE, "not a number", expected="a number or a scalar", got=describe(value))
    to = dtype or promote.natural_dtype(value)
    if to.is_bool and value in (0, 1):
        value = bool(value)
    return em.constant(promote.fit(em, value, to), to, dims)


def arange(em: Emitter, start: Any, stop: Any = None, *, dtype: Any = i32) -> Value:
    """Numbers in order; floats are made from integers."""
    to = em.static_dtype(dtype)
    first, last = (0, start) if stop is None else (start, stop)
    low, high = _bound(em, first, "start"), _bound(em, last, "stop")
    if not is_power_of_two(high - low):
        em.fail(
            Code.POWER_OF_TWO,
            f"a tile has a power of two elements, but this range has {max(high - low, 0)}",
            expected="stop - start = 1, 2, 4, 8, ...",
            got=f"{low} to {high}",
        )
    for end in (low, high - 1):
        promote.fit(em, end, i32 if to.is_float else to)
        promote.fit(em, end, to)
    return _count(em, low, high - low, to)


def _bound(em: Emitter, x: Any, what: str) -> int:
    if isinstance(x, Value):
        em.fail(
            Code.NOT_STATIC,
            f"{what} of arange must be a compile-time constant",
            expected="a constant int",
            got=describe(x),
            hint="count from 0 and add: tl.arange(n) + start",
        )
    return em.static_int(x, what)


def _count(em: Emitter, low: int, size: int, to: AnyDType) -> Value:
    count = em.static_shape(size)[0]
    value = em.emit("iota", size=count, dtype=to if to.is_int else i32)
    if low:
        start = em.constant(low, value.tile.dtype, value.tile.shape)
        value = em.emit("addi", value, start)
    return em.cast(value, to)


def iota(em: Emitter, shape: Any, dtype: Any = i32) -> Value:
    """0, 1, ... in a tile of rank 1."""
    dims, to = em.static_shape(shape), em.static_dtype(dtype)
    if len(dims) != 1:
        em.fail(
            Code.RANK,
            "iota makes tiles of rank 1",
            expected="one extent",
            got=str(dims),
            hint="place it along an axis: tl.iota(n)[:, None]",
        )
    if not to.is_int:
        em.fail(
            Code.DTYPE,
            "iota makes integers",
            expected="an integer type",
            got=to.name,
            hint=f"use tl.arange({dims[0]}, dtype=tilewright.{to.__name__})",
        )
    promote.fit(em, dims[0] - 1, to)
    return em.emit("iota", size=dims[0], dtype=to)


def broadcast_scalar(em: Emitter, value: Any, shape: Any) -> Value:
    """A scalar everywhere."""
    return full(em, shape, value)


def scalar_to_tile(em: Emitter, value: Any) -> Value:
    """A scalar as a tile of rank 0, which it already is."""
    return _one_element(em, em.tile(value, what="value"), "value")


def tile_to_scalar(em: Emitter, tile: Any) -> Value:
    """The only element."""
    return _one_element(em, em.tile(tile, what="tile"), "tile")


def item(em: Emitter, self: Any) -> Value:
    """The only element."""
    return _one_element(em, self, "the tile")


def _one_element(em: Emitter, value: Value, what: str) -> Value:
    if value.tile.size != 1:
        em.fail(
            Code.SHAPE,
            f"{what} has {value.tile.size} elements, a scalar is one",
            expected="a scalar, or a tile with one element",
            got=describe(value),
            hint="reduce it first, or take a part with tl.extract",
        )
    return em.emit("reshape", value, shape=()) if value.tile.rank else value


RULES: dict[str, Callable[..., Any]] = {
    "zeros": zeros,
    "ones": ones,
    "full": full,
    "constant": constant,
    "arange": arange,
    "iota": iota,
    "broadcast_scalar": broadcast_scalar,
    "scalar_to_tile": scalar_to_tile,
    "tile_to_scalar": tile_to_scalar,
    "Tile.item": item,
}

PROPERTIES: frozenset[str] = frozenset()
