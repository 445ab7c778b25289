"""Print and assert under their Tile IR names: records that the host shows or raises.

`print` and `assert` are Python's own words for the same.
"""

from __future__ import annotations

from .marker import declared
from .tile import Number


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
