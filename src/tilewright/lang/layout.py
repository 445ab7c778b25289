"""Arrangement of tiles: the elements stay, their shape changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from .marker import declared
from .tile import E, Number, ShapeLike, Tile

Item = TypeVar("Item")


@declared
def reshape(x: Tile[E], shape: ShapeLike) -> Tile[E]:
    """Put the same elements, in row-major order, in another shape; one extent may be -1."""
    ...


@declared
def broadcast(x: Tile[E], shape: ShapeLike) -> Tile[E]:
    """Repeat along axes of extent 1, and along new axes in front, as NumPy does."""
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
    """Swap two axes, the last two unless said otherwise."""
    ...


@declared
def cat(a: Tile[E], b: Tile[E], axis: int = 0) -> Tile[E]:
    """Put `b` after `a` along an axis, on which both have the same extent."""
    ...


@declared
def extract(x: Tile[E], index: Number | Sequence[Number], shape: ShapeLike) -> Tile[E]:
    """Take the part of `shape` at `index`, which counts parts, not elements.

    The shape divides that of `x`. A constant index must lie inside; another one wraps around.
    """
    ...


@declared
def get_shape_dim(x: Tile[Any] | Sequence[int], axis: int) -> int:
    """Take one extent of a tile or of a shape."""
    ...


@declared
def permute_array(array: Sequence[Item], order: Sequence[int]) -> tuple[Item, ...]:
    """Reorder a tuple: item i of the result is item order[i] of `array`."""
    ...
