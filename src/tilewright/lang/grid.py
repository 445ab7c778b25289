"""Position of a block in the grid. Axes are logical: axis k is axis k of the outputs."""

from __future__ import annotations

from .marker import declared


@declared
def get_tile_block_id() -> tuple[int, int, int]:
    """Return this block's index along the first three axes of the grid."""
    ...


@declared
def get_num_tile_blocks() -> tuple[int, int, int]:
    """Return the size of the grid along its first three axes."""
    ...


@declared
def block_id(axis: int) -> int:
    """Return this block's index along one axis of the grid; there may be more than three axes."""
    ...


@declared
def num_blocks(axis: int) -> int:
    """Return the size of the grid along one axis."""
    ...
