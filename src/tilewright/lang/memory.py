"""Functions that load and store tiles; most loads and stores are methods."""

from __future__ import annotations

from typing import Any

from .marker import declared
from .tensor import AnyTensor, AnyTensorMut, Padding, Tiled
from .tile import E, Number, Tile


@declared
def load_tile_like(
    src: AnyTensor[E] | AnyTensorMut[E], dst: AnyTensorMut[Any], *, padding: Padding = ...
) -> Tile[E]:
    """Load the tile of `src` at the position of this block's tile in the output `dst`.

    Both have the same extents, which is checked at launch; an edge tile has zeros beyond them. With
    `padding` written out their ranks alone are the same: elements outside of a shorter `src` are
    `padding`, and that `src` has a tile wherever `dst` has one is checked at launch.
    """
    ...


@declared
def load_tile_mut(out: AnyTensorMut[E], *, padding: Padding = 0) -> Tile[E]:
    """Load this block's tile of an output; the same as `out.load()`."""
    ...


@declared
def store_tile(out: AnyTensorMut[Any], tile: Number) -> None:
    """Store this block's tile of an output; the same as `out.store(tile)`."""
    ...


@declared
def num_tiles(partition: Tiled[Any], axis: int = 0) -> int:
    """Return the number of tiles of a partition along an axis."""
    ...


@declared
def get_tensor_shape(tensor: AnyTensor[Any] | AnyTensorMut[Any]) -> tuple[int, ...]:
    """Return the extents of a tensor; of an output too, whose `shape` is that of the tile."""
    ...


@declared
def get_index_space_shape(partition: Tiled[Any]) -> tuple[int, ...]:
    """Return the number of tiles along each axis of a partition; the same as `p.grid`."""
    ...
