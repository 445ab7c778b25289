"""The Philox words of a block's elements: their numbers in the tensor are the counters.

The generator is that of `tl.philox` (`lang/stdlib/random.py`), whose numbers tensors have.
"""

from __future__ import annotations

from typing import Any

from .. import lang as tl
from ..base.dtypes import u32
from ..lang.stdlib.random import Words, rounds


def element_words(out: tl.TensorMut[Any], first: int, high: int, key0: int, key1: int) -> Words:
    """Return the words of a block's elements; a function for kernels of one axis.

    `first` and `high` are the halves of the number of the launch's first element. Launches begin at
    multiples of a power of two, so the lower half never runs over within one.
    """
    (block,) = out.shape
    position = (tl.arange(block) + tl.block_id(0) * block).astype(u32)
    zero = tl.zeros((block,), u32)
    return rounds((position + first, tl.full((block,), high, u32), zero, zero), key0, key1)
