"""Cooperative algorithms of the threads of a warp or a block, for SIMT kernels: sums, scans.

These are functions of the kernel language, written in it; calling them is safe. All
threads must reach a call, which the compiler checks, as for barriers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..lang.simt import (
    WARP_SIZE,
    block_dim,
    lane_id,
    shared,
    shuffle_up,
    shuffle_xor,
    sync_threads,
    warp_id,
    whole_warps,
)
from ..op.ambient import unsafe

T = TypeVar("T")


def warp_reduce(value: T, combine: Callable[[T, T], T], *, width: int = WARP_SIZE) -> T:
    """Combine the values of the 32 lanes of a warp; every lane gets the result.

    `combine` takes two of them in any order. With `width`, a power of two, that many adjacent lanes
    have a separate result. The last warp of a block, or its last group, must be complete.
    """
    whole_warps(width)
    with unsafe():
        for bits in (16, 8, 4, 2, 1):
            if bits < width:
                value = combine(value, shuffle_xor(value, bits))
    return value


def warp_scan(value: T, combine: Callable[[T, T], T], *, width: int = WARP_SIZE) -> T:
    """Combine the values of all lanes up to the own one, in order; of `width` adjacent lanes."""
    whole_warps(width)
    lane = lane_id() % width
    with unsafe():
        for delta in (1, 2, 4, 8, 16):
            if delta < width:
                below = shuffle_up(value, delta, width=width)
                if lane >= delta:
                    value = combine(below, value)
    return value


def block_reduce(value: T, combine: Callable[[T, T], T]) -> T:
    """Combine the values of all threads of a block; every thread gets the result.

    For kernels that declare their block, `@simt.kernel(block=...)`, of complete warps.
    """
    warps = _warps()
    value = warp_reduce(value, combine)
    if warps == 1:
        return value
    held: Any = value
    with unsafe():
        of_warps = shared(held.dtype, warps)
        sync_threads()  # the previous value may still be read
        if lane_id() == 0:
            of_warps[warp_id()] = held
        sync_threads()
        total: T = of_warps[0]
        for warp in range(1, warps):
            total = combine(total, of_warps[warp])
    return total


def block_scan(value: T, combine: Callable[[T, T], T]) -> T:
    """Combine the values of all threads up to the own one, in order; as `block_reduce`."""
    warps = _warps()
    value = warp_scan(value, combine)
    if warps == 1:
        return value
    held: Any = value
    mine = warp_id()
    with unsafe():
        of_warps = shared(held.dtype, warps)
        sync_threads()
        if lane_id() == WARP_SIZE - 1:
            of_warps[mine] = held
        sync_threads()
        if mine > 0:
            before: Any = of_warps[0]
            for warp in range(1, mine):
                before = combine(before, of_warps[warp])
            value = combine(before, value)
    return value


def _warps() -> int:
    """Return the number of warps of a block: a constant."""
    threads = block_dim(0) * block_dim(1) * block_dim(2)
    assert threads % WARP_SIZE == 0, "the threads of a block must be complete warps of 32"
    return threads // WARP_SIZE


def warp_sum(value: T, *, width: int = WARP_SIZE) -> T:
    """Sum the values of the lanes of a warp, or of `width` adjacent lanes; all get the sum."""
    return warp_reduce(value, _add, width=width)


def warp_max(value: T, *, width: int = WARP_SIZE) -> T:
    """Return the maximum over the lanes of a warp, or over `width` adjacent lanes, in each lane."""
    return warp_reduce(value, _greater, width=width)


def warp_min(value: T, *, width: int = WARP_SIZE) -> T:
    """Return the minimum over the lanes of a warp, or over `width` adjacent lanes, in each lane."""
    return warp_reduce(value, _lesser, width=width)


def block_sum(value: T) -> T:
    """Sum the values of the threads of a block; every thread gets the sum."""
    return block_reduce(value, _add)


def block_max(value: T) -> T:
    """Return the maximum over the threads of a block, in each thread."""
    return block_reduce(value, _greater)


def block_min(value: T) -> T:
    """Return the minimum over the threads of a block, in each thread."""
    return block_reduce(value, _lesser)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _greater(a: Any, b: Any) -> Any:
    return max(a, b)


def _lesser(a: Any, b: Any) -> Any:
    return min(a, b)
