"""Floats as 64-bit integers of a power of two, whose sums do not depend on their order.

Sums of integers are the same in any order, so accumulators of them have the same bits in each run
and on each device. All steps but one are exact: a number is rounded once, when it is converted.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import f64, i64
from ..elementwise import bitcast, maximum, minimum, round
from ..layout import zeros
from ..marker import composed
from ..tile import E, Tile

MOST_BITS = 1000
"""Bits behind the point, or before it; a power of two with more is no f64."""


def _power(bits: Any) -> Any:
    """Return 2**bits, exactly: the number whose exponent says so."""
    whole = _within_range(zeros((), i64) + bits)
    return bitcast((whole + 1023) << 52, f64)


def _within_range(bits: Tile[i64]) -> Tile[i64]:
    return maximum(minimum(bits, MOST_BITS), -MOST_BITS)


@composed
def fixed_bits(largest: Any, count: int) -> Tile[i64]:
    """Return how many bits behind the point leave room for a sum of `count` numbers.

    `largest` is that of their magnitudes, finite: `tl.fixed_bits(largest, x.shape[0])`.
    """
    pattern = bitcast(largest.astype(f64), i64)
    many = bitcast((zeros((), i64) + count).astype(f64), i64)
    # A float is less than 2 to the power of its exponent field minus 1022.
    taken = ((pattern >> 52) & 2047) - 1022 + ((many >> 52) & 2047) - 1022
    return _within_range(62 - taken)


@composed
def to_fixed(x: Any, bits: Any) -> Tile[i64]:
    """Return x * 2**bits, rounded to an i64: `total.add(tl.to_fixed(x, 32), at)`.

    What does not fit becomes the largest or least integer; NaN becomes 0.
    """
    whole: Tile[i64] = round(x.astype(f64) * _power(bits)).astype(i64)
    return whole


@composed
def from_fixed(x: Any, bits: Any, dtype: type[E]) -> Tile[E]:
    """Return x / 2**bits in a type: the inverse of `tl.to_fixed`."""
    found: Tile[E] = (x.astype(f64) * _power(-bits)).astype(dtype)
    return found
