"""Control flow beyond Python's own syntax, the grid, print and assert."""

from __future__ import annotations

from typing import overload

from .marker import declared
from .tile import Number

# -------------------------------------------------------------------------------------------------
# Control flow beyond Python's own syntax: loops that are unrolled at compile time.


@overload
def static_range(stop: int, /) -> range: ...
@overload
def static_range(start: int, stop: int, step: int = 1, /) -> range: ...
@declared
def static_range(start: int, stop: int | None = None, step: int = 1, /) -> range:
    """Iterate like `range` in an unrolled loop: bounds and loop variable are constants.

    Use it where the body needs a constant, for instance to index a tuple. A plain `range` makes a
    loop of the kernel, which compiles faster and takes bounds that are known only at launch.
    """
    ...


# -------------------------------------------------------------------------------------------------
# Position of a block in the grid. Axes are logical: axis k is axis k of the outputs.


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


# -------------------------------------------------------------------------------------------------
# Print and assert under their Tile IR names: records that the host shows or raises.
#
# `print` and `assert` of Python do the same.


@declared
def cuda_tile_print(template: str, *args: Number | str) -> None:
    """Print as `str.format` would: `tl.cuda_tile_print("block {}: {:.3f}\\n", i, x)`.

    Nothing is added, not even a newline. In plain Python style write `print(...)`.
    """
    ...


@declared
def cuda_tile_assert(condition: Number, message: str = "assertion failed") -> None:
    """Fail the launch if a condition does not hold; the same as `assert condition, message`."""
    ...
