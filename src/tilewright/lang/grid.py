"""Where a block stands in the grid. Axes are logical: axis k is axis k of the outputs."""

from __future__ import annotations

from .marker import declared


@declared
def get_tile_block_id() -> tuple[int, int, int]:
    """Give this block's index along the first three axes of the grid."""
    ...


@declared
def get_num_tile_blocks() -> tuple[int, int, int]:
    """Give the size of the grid along its first three axes."""
    ...


@declared
def block_id(axis: int) -> int:
    """Give this block's index along one axis of the grid, of which there may be more than three."""
    ...


@declared
def num_blocks(axis: int) -> int:
    """Give the size of the grid along one axis."""
    ...
