"""Declares functions that rearrange the elements of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from .marker import declared
from .tile import E, Number, ShapeLike, Tile

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
