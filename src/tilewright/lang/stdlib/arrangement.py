"""Rearrangements composed of several ops: stack, split, interleave, flip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..control import static_range
from ..elementwise import where
from ..layout import broadcast, cat, expand_dims, extract, get_shape_dim, reshape
from ..marker import composed
from ..tile import E, Tile


def as_rows(x: Tile[E], axis: int) -> Tile[E]:
    """Reshape a tile to (outer, n, inner), where n is the extent of the axis."""
    n = get_shape_dim(x, axis)
    outer = math.prod(x.shape[: axis % x.rank])
    return reshape(x, (outer, n, -1))


def halves(x: Tile[E], distance: int) -> tuple[Tile[E], Tile[E]]:
    """Return the elements of a flat order whose bit `distance` is 0, and those where it is 1."""
    pairs = reshape(x, (-1, 2, distance))
    shape = (x.size // (2 * distance), 1, distance)
    return extract(pairs, (0, 0, 0), shape), extract(pairs, (0, 1, 0), shape)


def powers(n: int) -> list[int]:
    """Return 1, 2, 4, ..., n."""
    return [1 << k for k in range(n.bit_length())]


@composed
def flip(x: Tile[E], axis: int) -> Tile[E]:
    """Reverse the elements along an axis: element i of the result is element n - 1 - i of `x`.

    `tl.flip(x, -1)` reverses rows. Blocks of 1, 2, 4, ... elements are swapped in log2(n) steps,
    each of which takes shared memory for the tile on GPUs: more than 4096 f32 do not fit there.
    """
    rows = as_rows(x, axis)
    flat = rows
    for k in static_range(rows.shape[1].bit_length() - 1):
        first, second = halves(flat, rows.shape[2] << k)
        flat = cat(second, first, 1)
    return reshape(flat, x.shape)


@composed
def split(x: Tile[E], sections: int, axis: int = -1) -> tuple[Tile[E], ...]:
    """Divide a tile into equal parts along an axis, as NumPy does; `tl.cat` joins two of them.

    `left, right = tl.split(x, 2)` gives the two halves of each row. `tl.unstack` removes the axis.
    """
    n = get_shape_dim(x, axis)
    assert sections in powers(n), (
        f"tl.split cannot divide an axis of {n} elements into {sections} equal parts"
    )
    k = axis % x.rank
    shape = (*x.shape[:k], n // sections, *x.shape[k + 1 :])
    before, after = (0,) * k, (0,) * (x.rank - k - 1)
    return tuple([extract(x, (*before, part, *after), shape) for part in range(sections)])


@composed
def stack(tiles: Sequence[Tile[E]], axis: int = 0) -> Tile[E]:
    """Join tiles of one shape along a new axis, as NumPy does: `tl.stack((a, b), -1)`.

    Their number is a power of two.
    """
    count = len(tiles)
    assert count.bit_count() == 1, f"tl.stack joins 1, 2, 4, 8, ... tiles, got {count}"
    parts = [expand_dims(tile, axis) for tile in tiles]
    for _ in static_range(count.bit_length() - 1):
        parts = [cat(parts[i], parts[i + 1], axis) for i in range(0, len(parts), 2)]
    return parts[0]


@composed
def unstack(x: Tile[E], axis: int = 0) -> tuple[Tile[E], ...]:
    """Return the parts at each index of an axis, without that axis: the inverse of `tl.stack`.

    `even, odd = tl.unstack(x.reshape(n // 2, 2), -1)` takes apart what `tl.interleave` has joined.
    """
    n = get_shape_dim(x, axis)
    k = axis % x.rank
    shape = (*x.shape[:k], *x.shape[k + 1 :])
    return tuple([reshape(part, shape) for part in split(x, n, axis)])


@composed
def interleave(a: Tile[E], b: Tile[E], axis: int = -1) -> Tile[E]:
    """Alternate the elements of two tiles of one shape along an axis: a[0], b[0], a[1], b[1], ...

    `tl.interleave(a, b)` of two rows of n elements is a row of 2 * n.
    """
    n = get_shape_dim(a, axis)
    k = axis % a.rank
    return reshape(stack((a, b), k + 1), (*a.shape[:k], 2 * n, *a.shape[k + 1 :]))


@composed
def take_along_axis(x: Tile[E], index: Tile[Any], axis: int) -> Tile[E]:
    """Take the elements at indices along an axis, as NumPy does; `tl.gather(x, index, axis)`.

    `tl.take_along_axis(x, index, 0)[i, j]` is `x[index[i, j], j]`. An index outside wraps around,
    as of `tl.extract`. Each part of `x` along the axis is compared with all indices, in a loop: for
    n parts n comparisons per result. Rows of a tensor are cheaper to load by
    `tl.make_gather_scatter_view`.
    """
    n = get_shape_dim(x, axis)
    k = axis % x.rank
    assert index.dtype.is_int, f"tl.take_along_axis takes integer indices, got {index.dtype}"
    assert index.rank == x.rank, (
        f"tl.take_along_axis takes indices of rank {x.rank}, as the tile has, got {index.rank}"
    )
    assert (*index.shape[:k], *index.shape[k + 1 :]) == (*x.shape[:k], *x.shape[k + 1 :]), (
        f"tl.take_along_axis takes indices of shape {x.shape} but for axis {k}, got {index.shape}"
    )
    wrapped = index & (n - 1)
    before, after = (0,) * k, (0,) * (x.rank - k - 1)
    shape = (*x.shape[:k], 1, *x.shape[k + 1 :])
    taken = broadcast(extract(x, (0,) * x.rank, shape), index.shape)
    part: Any
    for part in range(1, n):
        here = extract(x, (*before, part, *after), shape)
        taken = where(wrapped == part.astype(index.dtype), here, taken)
    return taken
