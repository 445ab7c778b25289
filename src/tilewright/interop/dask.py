"""Functions of kernels on Dask arrays: one call for each block, where Dask runs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..functions.describing import element_type
from ..functions.function import Function

array: Any = import_module("dask.array")
"""Any: type checkers need not have it installed."""


def call_function(function: Function, args: tuple[Any, ...]) -> Any:
    """Call a function on each block of Dask arrays; the result is a Dask array.

    Numbers and NumPy arrays go to every block. Each block of the result has the shape of the blocks
    of the arrays, so the kernel must not mix what is in different blocks.
    """
    if len(function.looks) != 1:
        raise TypeError(
            f"`{function.__name__}` has {len(function.looks)} results; a function of the blocks of"
            " Dask arrays has one"
        )
    lazy = [arg for arg in args if isinstance(arg, array.Array)]
    look = function.looks[0](args)
    if tuple(look.shape) != tuple(lazy[0].shape):
        raise TypeError(
            f"the result of `{function.__name__}` has the shape {tuple(look.shape)}, and the arrays"
            f" {tuple(lazy[0].shape)}: blocks are mapped to blocks of the same shape"
        )
    meta = np.empty((0,) * lazy[0].ndim, element_type(look.dtype).np)
    return array.map_blocks(function, *args, dtype=meta.dtype, meta=meta)
