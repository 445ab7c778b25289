"""The kernels of random programs, of very different length, each with its meaning in NumPy.

A launch that does not wait where it must shows only while the work it should wait for runs: so some
kernels last hundreds of microseconds and others none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import i32, simt

Array = np.ndarray[Any, Any]
TILE = 256
FIXED = 800
"""Iterations of the kernel whose length is a constant."""
MASK = (1 << 32) - 1
PLACES = 511
"""The elements that are added to: those of a whole tensor are more, those of a part fewer."""


@dataclass(frozen=True)
class Kernel:
    """A kernel under test."""

    entry: Any
    meaning: Callable[..., Array]
    """Gives the output from what it was, the inputs and the numbers."""
    inputs: int
    numbers: int
    threads: bool = False
    """Whether it is a SIMT kernel, whose output is a whole tensor."""
    whole: bool = False
    """Whether its inputs must be whole tensors."""
    mapped: bool = False
    """Whether its blocks visit several tiles each."""
    adds: bool = False
    """Whether it adds to its output, a whole tensor."""
    arrange: Callable[..., tuple[Any, ...]] = lambda *args: args
    """Gives what the kernel is called with behind the output, from the inputs and the numbers."""
    function: Any = None
    """The kernel as a function of arrays, which allocates its output."""


def wrapped(values: Array) -> Array:
    """Integers modulo 2^32."""
    return (values & MASK).astype(np.uint32).view(np.int32)


def iterated(x: Array, count: int) -> Array:
    """x = 5 x + 1, `count` times, modulo 2^32."""
    factor, total = pow(5, count, 1 << 32), (pow(5, count, 1 << 34) - 1) // 4
    return wrapped(x.astype(np.int64) * factor + total)


def axpy_of(_: Array, x: Array, y: Array, a: int) -> Array:
    return wrapped(x.astype(np.int64) * a + y)


def bump_of(z: Array, a: int) -> Array:
    return wrapped(z.astype(np.int64) * 3 + a)


def pick_of(z: Array, x: Array, y: Array) -> Array:
    chosen = int(y[0] & 1)
    return np.resize(x[chosen * TILE : (chosen + 1) * TILE], len(z))


def shift_of(z: Array, x: Array) -> Array:
    """Each tile of x from its second element on, and into z from its sixth on."""
    moved, out = np.append(x[1:], np.int32(0)), z.copy()
    for start in range(0, len(z), TILE):
        stop = min(start + TILE, len(z))
        out[start + 5 : stop] = moved[start : max(stop - 5, start)]
    return out


def tally_of(z: Array, x: Array, a: int) -> Array:
    out = z.astype(np.int64)
    np.add.at(out, x & PLACES, a)
    return wrapped(out)


def blend_of(_: Array, x: Array, y: Array, a: int) -> Array:
    x, y = x.astype(np.int64), y.astype(np.int64)
    return wrapped((3 * x + y, x + y, 3 * x)[a])


def weigh_of(_: Array, x: Array, y: Array, a: int) -> Array:
    return wrapped(x.astype(np.int64) + 2 * y.astype(np.int64) + a)


def blended(x: Any, y: Any, a: int) -> tuple[Any, ...]:
    """A bias and one more, none and two, or a bias alone."""
    return ((x, y), (None, x, y), (x,))[a]


def weighed(x: Any, y: Any, a: int) -> tuple[Any, ...]:
    """The number 0 is left out."""
    return ((x, y), a) if a else ((x, y),)


def new_kernels() -> dict[str, Kernel]:
    """All kernels, as nobody has launched them yet: how a launch is made may depend on that."""
    return {**_of_tensors_and_numbers(), **_of_other_parameters()}


def _of_tensors_and_numbers() -> dict[str, Kernel]:
    @tw.entry
    def lengthy(z: tl.TensorMut[i32], x: tl.Tensor[i32], n: i32) -> None:
        t = tl.load_tile_like(x, z)
        for _ in range(n):
            t = t * 5 + 1
        z.store(t)

    @tw.entry
    def lasting(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
        t = tl.load_tile_like(x, z)
        for _ in range(FIXED):
            t = t * 5 + 1
        z.store(t)

    @tw.entry
    def axpy(z: tl.TensorMut[i32], x: tl.Tensor[i32], y: tl.Tensor[i32], a: i32) -> None:
        z.store(tl.load_tile_like(x, z) * a + tl.load_tile_like(y, z))

    @tw.entry
    def bump(z: tl.TensorMut[i32], a: i32) -> None:
        z.store(z.load() * 3 + a)

    @tw.entry
    def seven(z: tl.TensorMut[i32]) -> None:
        z.store(tl.full(z.shape, 7, i32))

    @tw.entry
    def pick(z: tl.TensorMut[i32], x: tl.Tensor[i32, tl.Dyn], y: tl.Tensor[i32, tl.Dyn]) -> None:
        chosen = y.load_tile((1,), [0]).item() & 1  # its check stays in the kernel
        z.store(x.load_tile((TILE,), [chosen]))

    @tw.entry
    def visit(z: tl.MappedPartitionMut[i32], a: i32) -> None:
        for index in z.iter_indices():
            z.store(tl.full(z.shape, a, i32), index)

    @simt.kernel
    def scale(out: simt.DisjointSlice[i32], x: simt.Slice[i32], a: i32) -> None:
        assert len(x) >= len(out)
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i] * a

    return {
        "lengthy": Kernel(lengthy, lambda _, x, n: iterated(x, n), 1, 1),
        "lasting": Kernel(lasting, lambda _, x: iterated(x, FIXED), 1, 0),
        "axpy": Kernel(axpy, axpy_of, 2, 1),
        "bump": Kernel(bump, bump_of, 0, 1),
        "seven": Kernel(seven, lambda z: np.full_like(z, 7), 0, 0),
        "pick": Kernel(pick, pick_of, 2, 0, whole=True),
        "visit": Kernel(visit, lambda z, a: np.full_like(z, a), 0, 1, mapped=True),
        "scale": Kernel(scale, lambda _, x, a: wrapped(x.astype(np.int64) * a), 1, 1, threads=True),
    }


def _of_other_parameters() -> dict[str, Kernel]:
    """Element offsets, accumulators, and parameters that are optional, many or tuples."""

    @tw.entry
    def shift(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
        tile = x.load_at((tl.block_id(0) * TILE + 1,), (TILE,), padding=0)
        z.store_at(tile, (5,))

    @tw.entry
    def tally(z: tl.Accumulator[i32], x: tl.Tensor[i32], a: i32) -> None:
        tile = x.load_tile((TILE,), tl.block_id(0), padding=-1)
        places = tl.where(tile.mask(), tile & PLACES, -1)
        z.add(a, places, clip=True)

    @tw.entry
    def blend(z: tl.TensorMut[i32], bias: tl.Tensor[i32] | None, *xs: tl.Tensor[i32]) -> None:
        total = tl.zeros(z.shape, i32)
        for x in xs:
            total = total + tl.load_tile_like(x, z)
        if bias is not None:
            total = total + 3 * tl.load_tile_like(bias, z)
        z.store(total)

    @tw.entry
    def weigh(z: tl.TensorMut[i32], xs: tuple[tl.Tensor[i32], ...], a: i32 | None = None) -> None:
        total = tl.zeros(z.shape, i32)
        for k, x in enumerate(xs):
            total = total + (k + 1) * tl.load_tile_like(x, z)
        if a is not None:
            total = total + a
        z.store(total)

    return {
        "shift": Kernel(shift, shift_of, 1, 0),
        "tally": Kernel(tally, tally_of, 1, 1, whole=True, adds=True),
        "blend": Kernel(blend, blend_of, 2, 1, arrange=blended),
        "weigh": Kernel(weigh, weigh_of, 2, 1, arrange=weighed),
    }
