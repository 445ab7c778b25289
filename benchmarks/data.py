"""Makes the arrays that workloads read and write: fresh numbers, aligned, shared by all."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright import Entry

from .case import Array, KernelCall, Trial

CACHE_LINE, HUGE_PAGE = 64, 2 << 20
RNG = np.random.default_rng()


def room(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    """An array of the same kind of memory for every contestant.

    Small ones start at a cache line. Large ones lie in large pages from their first byte to their
    last; where some did and others did not, a sum would take twice as long for some.
    """
    kind = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * kind.itemsize
    large = nbytes >= HUGE_PAGE
    alignment = HUGE_PAGE if large else CACHE_LINE
    raw = _pages(nbytes + alignment) if large else np.empty(nbytes + alignment, np.uint8)
    start = -int(raw.__array_interface__["data"][0]) % alignment
    return raw[start : start + nbytes].view(kind).reshape(shape)


def _pages(nbytes: int) -> Array:
    """Memory straight from the system, in large pages where it has them."""
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def random(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    """Normally distributed numbers, new ones in every run."""
    array = room(shape, dtype)
    if array.dtype == np.float32:
        RNG.standard_normal(dtype=np.float32, out=array)
    else:
        array[...] = RNG.standard_normal(shape, dtype=np.float32)
    return array


def poison(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    """An output that is wrong until it is written; its pages are touched, too."""
    array = room(shape, dtype)
    array.fill(np.nan)
    return array


def into(out: Array, run: Callable[[Any], object]) -> Trial:
    """A trial that writes its answer into `out`."""
    return Trial(lambda: run(out), lambda _: out)


def giving(run: Callable[[], object]) -> Trial:
    """A trial that makes a new array each time."""
    return Trial(run, np.asarray)


def calling(
    kernel: Entry, out: Array, tile: tuple[int, ...], *inputs: Any, **constants: Any
) -> KernelCall:
    """A call of a kernel that writes `out`, partitioned anew each time as a program would."""
    result, given = tw.asarray(out), shared(inputs)
    return KernelCall(kernel, lambda: (result.partition_mut(tile), *given), constants)


def shared(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments with tensors in place of arrays; they alias the memory the peers read."""
    return tuple(_shared(i) for i in inputs)


def _shared(value: Any) -> Any:
    return value if isinstance(value, int | float) else tw.asarray(value)


def trial(call: KernelCall, out: Array) -> Trial:
    """Our own trial: build the launch, run it, wait. The answer is in `out`."""
    kernel: Any = call.kernel
    arguments, constants, grid = call.arguments, call.constants, call.grid
    if grid is not None:
        return Trial(lambda: kernel(*arguments()).grid(grid).sync(), lambda _: out)
    if constants:
        return Trial(lambda: kernel(*arguments(), **constants).sync(), lambda _: out)
    return Trial(lambda: kernel(*arguments()).sync(), lambda _: out)
