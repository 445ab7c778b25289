"""Shape arithmetic shared by the language, the compiler and the host."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = tuple[int, ...]

MAX_TILE_ELEMENTS = 1 << 24

FULL = -1
"""As an extent of a tile: the whole axis of the tensor, rounded up to a power of two."""


def is_power_of_two(n: int) -> bool:
    """Tell whether n is 1, 2, 4, ..."""
    return n > 0 and n & (n - 1) == 0


def ceil_div(a: int, b: int) -> int:
    """Divide rounding up; b is positive."""
    return -(-a // b)


def cdiv(a: int, b: int) -> int:
    """Return a / b rounded up: how many tiles of extent b cover an axis of extent a."""
    return ceil_div(a, b)


def next_power_of_2(n: int) -> int:
    """Return the least power of two that is not below n: 1 for 0, 8 for 5, 8 for 8."""
    if n < 0:
        raise ValueError(f"no power of two belongs to a negative extent, got {n}")
    return 1 << max(n - 1, 0).bit_length()


def size(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    return prod(shape)


def shape_text(shape: Sequence[int]) -> str:
    """A shape as people say it: 4x64; nothing for that of a scalar."""
    return "x".join(map(str, shape))


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """Broadcast two shapes as NumPy does; None where they do not fit."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    dims: list[int] = []
    for x, y in zip(a, b, strict=True):
        if x != y and 1 not in (x, y):
            return None
        dims.append(max(x, y) if 0 not in (x, y) else 0)
    return tuple(dims)


def row_major_strides(shape: Sequence[int]) -> Shape:
    """Strides, in elements, of a contiguous row-major array."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def grid_of(shape: Sequence[int], tile: Sequence[int]) -> Shape:
    """How many tiles cover each axis."""
    return tuple(ceil_div(n, t) for n, t in zip(shape, tile, strict=True))
