"""Declares the creation of tiles, and the rearrangement of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from ..base.dtypes import f32, i32
from .marker import declared
from .tile import E, Number, ShapeLike, Tile

# -------------------------------------------------------------------------------------------------
# Declares the creation of tiles: zeros, ranges, one scalar everywhere.


@overload
def zeros(shape: ShapeLike) -> Tile[f32]: ...
@overload
def zeros(shape: ShapeLike, dtype: type[E]) -> Tile[E]: ...
@declared
def zeros(shape: ShapeLike, dtype: type[Any] = f32) -> Tile[Any]:
    """Create a tile of zeros: `tl.zeros((BM, BN), f32)`."""
    ...


@overload
def ones(shape: ShapeLike) -> Tile[f32]: ...
@overload
def ones(shape: ShapeLike, dtype: type[E]) -> Tile[E]: ...
@declared
def ones(shape: ShapeLike, dtype: type[Any] = f32) -> Tile[Any]:
    """Create a tile of ones."""
    ...


@overload
def full(shape: ShapeLike, value: Number) -> Tile[Any]: ...
@overload
def full(shape: ShapeLike, value: Number, dtype: type[E]) -> Tile[E]: ...
@declared
def full(shape: ShapeLike, value: Number, dtype: type[Any] | None = None) -> Tile[Any]:
    """Create a tile whose elements are all `value`, a number or a scalar.

    Without a dtype a Python float makes f32, an int i32, a bool bool; a scalar keeps its own.
    """
    ...


@overload
def constant(value: float, shape: ShapeLike) -> Tile[Any]: ...
@overload
def constant(value: float, shape: ShapeLike, dtype: type[E]) -> Tile[E]: ...
@declared
def constant(value: float, shape: ShapeLike, dtype: type[Any] | None = None) -> Tile[Any]:
    """Create a tile of one compile-time number."""
    ...


@overload
def arange(start: int, stop: int | None = None) -> Tile[i32]: ...
@overload
def arange(start: int, stop: int | None = None, *, dtype: type[E]) -> Tile[E]: ...
@declared
def arange(start: int, stop: int | None = None, *, dtype: type[Any] = i32) -> Tile[Any]:
    """Create a range from 0 to `start` - 1, or from `start` to `stop` - 1.

    Both are constants and their distance is a power of two; add a scalar to shift the result.
    """
    ...


@overload
def iota(shape: ShapeLike) -> Tile[i32]: ...
@overload
def iota(shape: ShapeLike, dtype: type[E]) -> Tile[E]: ...
@declared
def iota(shape: ShapeLike, dtype: type[Any] = i32) -> Tile[Any]:
    """Create the range 0, 1, ... as a tile of rank 1; the elements are integers."""
    ...


@declared
def broadcast_scalar(value: Number, shape: ShapeLike) -> Tile[Any]:
    """Create a tile whose elements are all one scalar."""
    ...


@declared
def scalar_to_tile(value: Number) -> Tile[Any]:
    """Convert a scalar to a tile of rank 0."""
    ...


@declared
def tile_to_scalar(tile: Tile[E]) -> E:
    """Return the only element of a tile as a scalar; the same as `tile.item()`."""
    ...


# -------------------------------------------------------------------------------------------------
# Declares functions that rearrange the elements of tiles.

Item = TypeVar("Item")


@declared
def reshape(x: Tile[E], shape: ShapeLike) -> Tile[E]:
    """Reshape a tile, in row-major order; one extent may be -1."""
    ...


@declared
def broadcast(x: Tile[E], shape: ShapeLike) -> Tile[E]:
    """Repeat elements along axes of extent 1, and along new leading axes, as NumPy does."""
    ...


@declared
def expand_dims(x: Tile[E], axis: int) -> Tile[E]:
    """Insert an axis of extent 1 so that it becomes axis `axis`; `x[:, None]` does the same."""
    ...


@declared
def permute(x: Tile[E], order: Sequence[int]) -> Tile[E]:
    """Reorder the axes: axis i of the result is axis order[i] of `x`."""
    ...


@declared
def transpose(x: Tile[E], axis0: int = -2, axis1: int = -1) -> Tile[E]:
    """Swap two axes, by default the last two."""
    ...


@overload
def cat(a: Tile[E], b: Tile[E], axis: int = 0) -> Tile[E]: ...
@overload
def cat(a: Sequence[Tile[E]], b: int = 0) -> Tile[E]: ...
@overload
def cat(a: Sequence[Tile[E]], *, axis: int) -> Tile[E]: ...
@declared
def cat(a: Tile[E] | Sequence[Tile[E]], b: Tile[E] | int | None = None, axis: int = 0) -> Tile[E]:
    """Concatenate tiles along an axis: `tl.cat(a, b, axis)`, or any number `tl.cat((a, b), axis)`.

    Their extents along it may differ; the sum is a power of two, as every extent of a tile.
    """
    ...


@declared
def extract(x: Tile[E], index: Number | Sequence[Number], shape: ShapeLike) -> Tile[E]:
    """Return the part of `shape` at `index`, which counts parts, not elements.

    The shape divides that of `x`. A constant index must be in bounds; a variable one wraps around.
    """
    ...


@declared
def get_shape_dim(x: Tile[Any] | Sequence[int], axis: int) -> int:
    """Return one extent of a tile or of a shape."""
    ...


@declared
def permute_array(array: Sequence[Item], order: Sequence[int]) -> tuple[Item, ...]:
    """Reorder a tuple: item i of the result is item order[i] of `array`."""
    ...
