"""Philox4x32-10: four 32-bit words for each counter and key, the same on every device.

The generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(2011). It has no state, so any element can be computed alone.
"""

from __future__ import annotations

from typing import Any

from .. import lang as tl
from ..base.dtypes import u32, u64

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

Words = tuple[tl.Tile[u32], tl.Tile[u32], tl.Tile[u32], tl.Tile[u32]]


def philox(
    c0: tl.Tile[u32], c1: tl.Tile[u32], c2: tl.Tile[u32], c3: tl.Tile[u32], key0: int, key1: int
) -> Words:
    """The words of counters under a key; a function for kernels."""
    for _ in range(ROUNDS):
        product0 = c0.astype(u64) * MULTIPLIERS[0]
        product1 = c2.astype(u64) * MULTIPLIERS[1]
        c0 = (product1 >> 32).astype(u32) ^ c1 ^ key0
        c1 = product1.astype(u32)
        c2 = (product0 >> 32).astype(u32) ^ c3 ^ key1
        c3 = product0.astype(u32)
        key0 = key0 + KEY_STEPS[0]
        key1 = key1 + KEY_STEPS[1]
    return c0, c1, c2, c3


def element_words(out: tl.TensorMut[Any], first: int, high: int, key0: int, key1: int) -> Words:
    """The words of a block's elements, whose numbers are the counters; for kernels of one axis.

    `first` and `high` are the halves of the number of the launch's first element. Launches begin at
    multiples of a power of two, so the lower half never runs over within one.
    """
    (block,) = out.shape
    position = (tl.arange(block) + tl.block_id(0) * block).astype(u32)
    zero = tl.zeros((block,), u32)
    return philox(position + first, tl.full((block,), high, u32), zero, zero, key0, key1)


def joined(low: tl.Tile[u32], high: tl.Tile[u32]) -> tl.Tile[u64]:
    """Two words as one of 64 bits; a function for kernels."""
    return low.astype(u64) | (high.astype(u64) << 32)
