"""Makes the arrays that workloads read and write: fresh numbers, aligned, shared by all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright import Entry

from .case import Array, KernelCall, Trial

ALIGNMENT = 64
RNG = np.random.default_rng()


def room(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    """An array that starts at a cache line: the same kind of memory for every contestant."""
    kind = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * kind.itemsize
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -int(raw.__array_interface__["data"][0]) % ALIGNMENT
    return raw[start : start + nbytes].view(kind).reshape(shape)


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
    arguments, constants = call.arguments, call.constants
    if constants:
        return Trial(lambda: kernel(*arguments(), **constants).sync(), lambda _: out)
    return Trial(lambda: kernel(*arguments()).sync(), lambda _: out)
