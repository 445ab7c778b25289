"""Shape arithmetic, and the order in which the tiles of a mapped partition are visited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

# -------------------------------------------------------------------------------------------------
# Shape arithmetic shared by the language, the compiler and the host.

Shape = tuple[int, ...]

MAX_TILE_ELEMENTS = 1 << 24

FULL = -1
"""As an extent of a tile: the whole axis of the tensor, rounded up to a power of two."""


def is_power_of_two(n: int) -> bool:
    """Return whether n is 1, 2, 4, ..."""
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
    """Return the number of elements of a shape."""
    return prod(shape)


def shape_text(shape: Sequence[int]) -> str:
    """Return the text of a shape, such as 4x64; the empty text for a scalar."""
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
    """Return strides, in elements, of a contiguous row-major array."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def grid_of(shape: Sequence[int], tile: Sequence[int]) -> Shape:
    """Return the number of tiles that cover each axis."""
    return tuple(ceil_div(n, t) for n, t in zip(shape, tile, strict=True))


# -------------------------------------------------------------------------------------------------
# The visiting order of a mapped partition's tiles: from a number to an index.
#
# Tiles are visited group by group. Groups have a fixed shape and are clipped at the far boundary;
# they follow each other in row-major order, and so do the tiles inside each of them. A group of one
# tile is plain row-major order; a group of a few rows by one column is the order in which a matrix
# product reuses its operands soon.

OWNED = 0
"""In a map shape: an axis along which a tile's block has all tiles, so that it is not walked."""

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Numbers(Generic[N]):
    """Arithmetic on numbers while interpreting, or on instructions while compiling.

    All numbers are at least 0, divisors at least 1.
    """

    constant: Callable[[int], N]
    add: Callable[[N, N], N]
    subtract: Callable[[N, N], N]
    multiply: Callable[[N, N], N]
    divide: Callable[[N, N], N]
    least: Callable[[N, N], N]

    def product(self, *factors: N | None) -> N | None:
        """Return the product of the numbers; None counts as 1."""
        result: N | None = None
        for factor in factors:
            if factor is not None:
                result = factor if result is None else self.multiply(result, factor)
        return result


@dataclass(frozen=True, slots=True)
class _GroupAxis(Generic[N]):
    """A group along one axis: its start, and its number of tiles (None: one)."""

    first: N
    length: N | None


def tile_index(number: N, counts: Sequence[N], groups: Shape, by: Numbers[N]) -> tuple[N, ...]:
    """Return the index of tile `number` among `counts` tiles per axis, in groups of a shape.

    One to one for numbers from 0 up to the product of the counts.
    """
    rest: N | None = number
    places: list[_GroupAxis[N]] = []
    for axis, group in enumerate(groups):
        assert rest is not None, "something is left up to the last axis"
        inner = by.product(*(place.length for place in places))
        across = by.product(inner, *counts[axis + 1 :])
        place, rest = _group_along(rest, counts[axis], group, across, by)
        places.append(place)
    return _inside_group(rest, places, by)


def _group_along(
    number: N, count: N, group: int, across: N | None, by: Numbers[N]
) -> tuple[_GroupAxis[N], N | None]:
    """Return the index of a group along an axis, with `across` tiles side by side at each step."""
    whole = across if group == 1 else by.product(across, by.constant(group))
    if whole is None:
        return _GroupAxis(number, None), None
    which = by.divide(number, whole)
    rest = by.subtract(number, by.multiply(which, whole))
    if group == 1:
        return _GroupAxis(which, None), rest
    wide = by.constant(group)
    first = by.multiply(which, wide)
    return _GroupAxis(first, by.least(wide, by.subtract(count, first))), rest


def _inside_group(rest: N | None, places: Sequence[_GroupAxis[N]], by: Numbers[N]) -> tuple[N, ...]:
    """Return the index, where `rest` counts the tiles of a group in row-major order."""
    index: list[N] = []
    for axis, place in enumerate(places):
        if place.length is None or rest is None:
            index.append(place.first)
            continue
        row = by.product(*(later.length for later in places[axis + 1 :]))
        if row is None:
            index.append(by.add(place.first, rest))
            rest = None
        else:
            at = by.divide(rest, row)
            rest = by.subtract(rest, by.multiply(at, row))
            index.append(by.add(place.first, at))
    return tuple(index)


def largest_step(counts: Shape, groups: Shape) -> int:
    """Return the largest number that `tile_index` meets on its way."""
    steps = [size((*groups[: k + 1], *counts[k + 1 :])) for k in range(len(groups))]
    return max([size(counts), *steps])


INTEGERS: Numbers[int] = Numbers(
    constant=int,
    add=lambda a, b: a + b,
    subtract=lambda a, b: a - b,
    multiply=lambda a, b: a * b,
    divide=lambda a, b: a // b,
    least=min,
)
"""Python's own numbers."""
