"""Random numbers: Philox4x32-10, four 32-bit words for each counter and key.

The generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(2011). It has no state: a number depends on the seed and on its offset alone. The tensors of
`tw.rand`, `tw.randn` and `tw.randint` have the same numbers, at their row-major element numbers.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, overload

from ...base.dtypes import bf16, f16, f32, f64, i32, i64, u32, u64
from ..control import static_range
from ..elementwise import cos, fma, log, mulhii, sqrt
from ..layout import zeros
from ..marker import composed
from ..tile import E, Number, Tile

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

Words: TypeAlias = tuple[Tile[u32], Tile[u32], Tile[u32], Tile[u32]]


@composed
def philox(seed: Number, offset: Tile[Any]) -> Words:
    """Return four tiles of random u32 for each offset: `x0, x1, x2, x3 = tl.philox(seed, offset)`.

    The seed is an integer of up to 64 bits, an int or a scalar. Offsets are integers, of which each
    has its own words: number the elements of a tensor, `tl.arange(n) + tl.block_id(0) * n`.
    """
    key: Any = seed
    key = u64(key)
    assert offset.dtype.is_int, f"random numbers have integer offsets, got {offset.dtype}"
    zero = zeros(offset.shape, u32)
    low = offset.astype(u32)
    high = zero if offset.dtype.bits <= 32 and not offset.dtype.is_signed else _upper(offset)
    return rounds((low, high, zero, zero), u32(key), u32(key >> 32))


@overload
def rand(seed: Number, offset: Tile[Any]) -> Tile[f32]: ...
@overload
def rand(seed: Number, offset: Tile[Any], dtype: type[E]) -> Tile[E]: ...
@composed
def rand(seed: Number, offset: Tile[Any], dtype: Any = f32) -> Tile[Any]:
    """Return uniform random numbers, at least 0 and less than 1, f32 or f64, one for each offset.

    `tl.rand(seed, offset)` at offset k is element k of `tw.rand(shape, seed=seed)` on all devices.
    """
    return uniform(philox(seed, offset), dtype)


@overload
def randn(seed: Number, offset: Tile[Any]) -> Tile[f32]: ...
@overload
def randn(seed: Number, offset: Tile[Any], dtype: type[E]) -> Tile[E]: ...
@composed
def randn(seed: Number, offset: Tile[Any], dtype: Any = f32) -> Tile[Any]:
    """Return standard normal random numbers, f16, bf16, f32 or f64, one for each offset.

    `tl.randn(seed, offset)` at offset k is element k of `tw.randn(shape, seed=seed)`. Devices agree
    up to the error bounds of `log`, `sqrt` and `cos`.
    """
    return normal(philox(seed, offset), dtype)


@overload
def randint(seed: Number, offset: Tile[Any], low: Number, high: Number) -> Tile[i32]: ...
@overload
def randint(
    seed: Number, offset: Tile[Any], low: Number, high: Number, dtype: type[E]
) -> Tile[E]: ...
@composed
def randint(
    seed: Number, offset: Tile[Any], low: Number, high: Number, dtype: Any = i32
) -> Tile[Any]:
    """Return random integers, at least `low` and less than `high`, one for each offset.

    `tl.randint(seed, offset, 0, 10)` at offset k is element k of `tw.randint(0, 10, shape,
    seed=seed)`, on every device. The bounds are ints or scalars.
    """
    assert dtype.is_int, f"tl.randint makes integers, got {dtype}"
    least: Any = low
    most: Any = high
    assert least < most, "tl.randint needs bounds with low < high"
    least, most = i64(least), i64(most)
    return below(philox(seed, offset), least.astype(u64), (most - least).astype(u64), dtype)


# --- what words become: shared with the kernels that fill tensors --------------------------------


def rounds(counter: Words, key0: Any, key1: Any) -> Words:
    """Compute ten rounds of Philox: the words of counters under a key of two u32 scalars."""
    c0, c1, c2, c3 = counter
    for _ in static_range(ROUNDS):
        high0, low0 = mulhii(c0, MULTIPLIERS[0]), c0 * MULTIPLIERS[0]
        high1, low1 = mulhii(c2, MULTIPLIERS[1]), c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = high1 ^ c1 ^ key0, low1, high0 ^ c3 ^ key1, low0
        key0, key1 = key0 + KEY_STEPS[0], key1 + KEY_STEPS[1]
    return c0, c1, c2, c3


def uniform(words: Words, dtype: Any) -> Tile[Any]:
    """Convert the upper 24 bits of the first word, or 53 of the first two, to a fraction."""
    assert dtype in (f32, f64), f"tl.rand makes f32 or f64, got {dtype}"
    x0, x1, _, _ = words
    if dtype == f32:
        return (x0 >> 8).astype(f32) * 2.0**-24
    return (joined(x0, x1) >> 11).astype(f64) * 2.0**-53


def normal(words: Words, dtype: Any) -> Tile[Any]:
    """Transform uniform numbers by Box and Muller's method: in f32 two words, in f64 all four."""
    assert dtype in (f16, bf16, f32, f64), f"tl.randn makes floats of 16 bits or more, got {dtype}"
    x0, x1, x2, x3 = words
    if dtype == f64:
        first = ((joined(x0, x1) >> 11) + 1).astype(f64) * 2.0**-53
        angle = (joined(x2, x3) >> 11).astype(f64) * (2 * math.pi * 2.0**-53)
        return sqrt(log(first) * -2.0) * cos(angle)
    nearly = fma(x0.astype(f32), 2.0**-32, 2.0**-33)
    turn = (x1 >> 8).astype(f32) * (2 * math.pi * 2.0**-24)
    return (sqrt(log(nearly) * -2.0) * cos(turn)).astype(dtype)


def below(words: Words, least: Any, count: Any, dtype: Any) -> Tile[Any]:
    """Scale 64 random bits to one of `count` integers from `least`, both u64; the sum wraps."""
    x0, x1, _, _ = words
    result: Tile[Any] = (mulhii(joined(x0, x1), count) + least).astype(dtype)
    return result


def joined(low: Tile[u32], high: Tile[u32]) -> Tile[u64]:
    """Join two words of 32 bits to one of 64 bits."""
    return low.astype(u64) | (high.astype(u64) << 32)


def _upper(offset: Tile[Any]) -> Tile[u32]:
    """Return the upper 32 bits of offsets as integers of 64."""
    return (offset.astype(i64) >> 32).astype(u32)
