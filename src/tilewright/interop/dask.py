"""Functions of kernels on Dask arrays: one call for each block, where Dask runs it."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from ..functions.describing import element_type
from ..functions.function import Function

array: Any = import_module("dask.array")
"""Any: type checkers need not have it installed."""


def call_function(function: Function, args: tuple[Any, ...]) -> Any:
    """Call a function on each block of Dask arrays; the result is a Dask array.

    Each block of the result has the shape of the blocks of the arrays, so the kernel must not mix
    what is in different blocks. NumPy arrays of the shape of the Dask arrays are divided like
    these; other ones, and numbers, go to every block.
    """
    if len(function.looks) != 1:
        raise TypeError(
            f"`{function.__name__}` has {len(function.looks)} results; a function of the blocks of"
            " Dask arrays has one"
        )
    shape = next(tuple(arg.shape) for arg in args if isinstance(arg, array.Array))
    look = function.looks[0](args)
    if tuple(look.shape) != shape:
        raise TypeError(
            f"the result of `{function.__name__}` has the shape {tuple(look.shape)}, and the arrays"
            f" {shape}: blocks are mapped to blocks of the same shape"
        )
    meta = np.empty((0,) * len(shape), element_type(look.dtype).np)
    return array.map_blocks(function, *_aligned(function, args, shape), dtype=meta.dtype, meta=meta)


def _aligned(function: Function, args: tuple[Any, ...], shape: tuple[Any, ...]) -> list[Any]:
    """Return the arguments with all arrays of this shape in the same blocks."""
    found: list[Any] = list(args)
    for number, arg in enumerate(found):
        if _is_of_numpy(arg) and arg.shape == shape:
            found[number] = array.from_array(arg, chunks=shape)
        elif _is_divided(arg) and not _is_like(arg, shape):
            raise TypeError(
                f"`{function.__name__}` was called with Dask arrays of the shapes {shape} and"
                f" {tuple(arg.shape)}: blocks are mapped to blocks of the same shape; compute() the"
                " one that each block needs"
            )
    divided = [n for n, arg in enumerate(found) if _is_divided(arg)]
    axes = tuple(range(len(shape)))
    pairs = [each for n in divided for each in (found[n], axes)]
    _, same = array.core.unify_chunks(*pairs)
    for number, arg in zip(divided, same, strict=True):
        found[number] = arg
    return found


def _is_of_numpy(arg: Any) -> bool:
    return isinstance(arg, np.ndarray)


def _is_divided(arg: Any) -> bool:
    return isinstance(arg, array.Array) and arg.ndim > 0


def _is_like(arg: Any, shape: tuple[Any, ...]) -> bool:
    """Return whether an array has a shape, of which some extents may be unknown (NaN)."""
    if arg.ndim != len(shape):
        return False
    pairs = zip(arg.shape, shape, strict=True)
    return all(n == m or math.isnan(n) or math.isnan(m) for n, m in pairs)
