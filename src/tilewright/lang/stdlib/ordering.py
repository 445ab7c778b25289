"""Sorting along an axis by Batcher's bitonic network.

The network has no data-dependent control flow, so a tile of any backend can run it. Floats are
sorted as integers of the same order, which have single minimum and maximum instructions: the bits
of a float are its magnitude, inverted if it is negative.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import f8e4m3fn, f8e5m2, f16, i8, i16, i32, i64
from ..control import static_range
from ..elementwise import bitcast, unwidened, where
from ..enums import nan
from ..layout import arange, get_shape_dim, reshape
from ..marker import composed
from ..reduction import reduce_min, reduce_sum
from ..tile import E, Tile
from .arrangement import as_rows, powers
from .elementary import is_float, isnan

SIGNED: dict[int, Any] = {8: i8, 16: i16, 32: i32, 64: i64}
"""Signed integers by their bits."""


@composed
def sort(x: Tile[E], axis: int = -1, descending: bool = False) -> Tile[E]:
    """Sort along an axis: `tl.sort(x)[i] <= tl.sort(x)[i + 1]`.

    NaN counts as larger than inf, as in NumPy and PyTorch: it is last, and first if `descending`.
    The network compares n * log2(n) * (log2(n) + 1) / 4 pairs. Pad with `tl.pos_inf`.
    """
    given = _comparable(x)
    keys = as_rows(_keys(given, descending), axis)
    found = reshape(_least(keys, get_shape_dim(x, axis)), x.shape)
    return _values(found, descending, given.dtype).astype(x.dtype)


@composed
def argsort(x: Tile[Any], axis: int = -1, descending: bool = False) -> Tile[i32]:
    """Return the indices that sort along an axis, of equal elements the first index first.

    Element i of the result is the index of element i of `tl.sort(x, axis, descending)`. Elements
    have at most 32 bits.
    """
    _, indices = _ranked(x, get_shape_dim(x, axis), axis, descending)
    return indices


@composed
def topk(x: Tile[E], k: int, axis: int = -1, largest: bool = True) -> tuple[Tile[E], Tile[i32]]:
    """Return the k largest elements along an axis, or smallest, in order, and their indices.

    `values, indices = tl.topk(x, 8)`; of equal elements the first come first, NaN is the largest,
    and -0.0 becomes 0.0.
    k is a power of two, as every extent of a tile, and elements have at most 32 bits. Pad with
    `tl.neg_inf`.
    """
    n = get_shape_dim(x, axis)
    assert k in powers(n), (
        f"tl.topk takes k of 1, 2, 4, ... up to the {n} elements along the axis, got {k}"
    )
    return _ranked(x, k, axis, largest)


def _ranked(x: Tile[E], k: int, axis: int, inverted: bool) -> tuple[Tile[E], Tile[i32]]:
    """Return the first k elements in order and their indices, sorted together as one integer.

    What was converted to a wider type is sorted before: that integer then has 32 bits, not 64.
    """
    n = get_shape_dim(x, axis)
    given = _comparable(unwidened(x))
    keys = as_rows(order_keys(given, inverted), axis)
    assert keys.dtype.bits <= 32, (
        f"indices of sorted elements need elements of at most 32 bits, got {x.dtype}"
    )
    pair = i32 if keys.dtype.bits <= 16 and n <= 1 << 16 else i64
    low = pair.bits // 2
    first = _least(keys.astype(pair) << low | arange(n, dtype=pair)[None, :, None], k)
    shape = (*x.shape[: axis % x.rank], k, *x.shape[axis % x.rank + 1 :])
    ranks = reshape((first >> low).astype(keys.dtype), shape)
    indices = reshape((first & ((1 << low) - 1)).astype(i32), shape)
    return _values(ranks, inverted, given.dtype).astype(x.dtype), indices


# --- keys: signed integers in the order of the elements ----------------------------------------


def _comparable(x: Tile[Any]) -> Tile[Any]:
    """Return floats of 8 bits, which do not compare, in a type that has all of them."""
    if x.dtype in (f8e4m3fn, f8e5m2):
        return x.astype(f16)
    return x


def order_keys(x: Tile[Any], inverted: bool) -> Tile[Any]:
    """Return keys that are equal for equal elements: -0.0 is as large as 0.0."""
    return _keys(where(x == 0, 0, x) if is_float(x) else x, inverted)


def _keys(x: Tile[Any], inverted: bool) -> Tile[Any]:
    """Return signed integers in the order of the elements, or in the inverse order."""
    keys = _signed(x)
    return ~keys if inverted else keys


def _signed(x: Tile[Any]) -> Tile[Any]:
    dtype = x.dtype
    if dtype.is_bool:
        return x.astype(i8)
    if dtype.is_float:
        return _monotonic(bitcast(where(isnan(x), nan, x), SIGNED[dtype.bits]))
    bits = bitcast(x, SIGNED[dtype.bits])
    return bits if dtype.is_signed else bits ^ -(1 << (dtype.bits - 1))


def _monotonic(bits: Tile[Any]) -> Tile[Any]:
    """Turn sign and magnitude into an integer of the same order, and back: it is an involution."""
    return where(bits < 0, bits ^ ((1 << (bits.dtype.bits - 1)) - 1), bits)


def _values(keys: Tile[Any], inverted: bool, dtype: type[E]) -> Tile[E]:
    """Return the elements that have these keys."""
    return _unsigned(~keys if inverted else keys, dtype)


def _unsigned(keys: Tile[Any], dtype: Any) -> Tile[Any]:
    if dtype.is_bool:
        return keys != 0
    if dtype.is_float:
        return bitcast(_monotonic(keys), dtype)
    return bitcast(keys if dtype.is_signed else keys ^ -(1 << (dtype.bits - 1)), dtype)


# --- the network: over tiles (outer, n, inner), along the axis in the middle -------------------


def _least(keys: Tile[Any], k: int) -> Tile[Any]:
    """Return the k least keys in ascending order.

    Blocks of 2, 4, ..., k keys are sorted, every second one inverted, and so in descending order:
    two neighbours together are bitonic. Then of two blocks the smaller halves are kept, and sorted.
    """
    outer, n, inner = keys.shape
    steps = k.bit_length() - 1
    places = arange(n)[None, :, None]
    if steps > 0:
        keys = _inverted(keys, places, 2)
    # Blocks that turn around where the next length begins, so that one inversion does for two.
    turns = places ^ (places & (2 * k - 1)) >> 1
    # A loop: of all log2(k) * (log2(k) + 1) / 2 stages in a row, GPU assemblers make huge code.
    for step in range(1, steps + 1):
        keys = _inverted(_sort_bitonic(keys, k, 1 << step), turns, 1 << step)
    for step in static_range(n.bit_length() - 1 - steps):
        pairs = reshape(keys, (-1, 2, k * inner))
        left = n >> (step + 1)
        keys = reshape(reduce_min(pairs, 1), (outer, left, inner))
        blocks = arange(left)[None, :, None]
        keys = _inverted(_sort_bitonic(_inverted(keys, blocks, k), k, k), blocks, k)
    return keys


def _sort_bitonic(keys: Tile[Any], longest: int, length: int) -> Tile[Any]:
    """Sort bitonic blocks of `length` keys.

    `length` may be known only at run time, but is at most `longest`.
    """
    for step in static_range(1, longest.bit_length()):
        if longest >> step < length:
            keys = _exchanged(keys, longest >> step)
    return keys


def _exchanged(keys: Tile[Any], distance: int) -> Tile[Any]:
    """Exchange keys at a distance, so that the smaller one comes first.

    Each key gets the other one of its pair from the sum of both, which may wrap. On GPUs a
    reduction stays in registers, or in a warp, and assemblers know what such a difference is;
    extracting and joining halves takes shared memory.
    """
    pairs = reshape(keys, (-1, 2, distance * keys.shape[2]))
    other = reduce_sum(pairs, 1, keepdims=True) - pairs
    is_second = arange(2)[None, :, None] == 1
    return reshape(where((pairs > other) != is_second, other, pairs), keys.shape)


def _inverted(keys: Tile[Any], places: Tile[i32], length: int) -> Tile[Any]:
    """Invert the keys whose places have the bit of a length.

    Of numbers counted from 0 that is every second block of so many keys: its ascending order
    becomes a descending one.
    """
    return where((places & length) != 0, ~keys, keys)
