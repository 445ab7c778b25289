"""Kernels written for one thread: `from tilewright import simt`, or `import tilewright.simt`.

A kernel reads `simt.Slice`s at any index and writes `simt.DisjointSlice`s at its own, which
`simt.index_1d()` gives it. Math functions are those of `tilewright.lang`, of one number each.
"""

from .lang.math import (
    atan2,
    ceil,
    cos,
    cosh,
    exp,
    exp2,
    floor,
    log,
    log2,
    pow,  # noqa: A004 - the word for it, as `simt.pow`
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from .lang.slices import DisjointSlice, Slice
from .lang.threads import Index, block_dim, block_idx, grid_dim, index_1d, index_2d, thread_idx
from .launch._generated_simt import kernel
from .launch.simt import SimtEntry, SimtLaunch

__all__ = [
    "DisjointSlice",
    "Index",
    "SimtEntry",
    "SimtLaunch",
    "Slice",
    "atan2",
    "block_dim",
    "block_idx",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "floor",
    "grid_dim",
    "index_1d",
    "index_2d",
    "kernel",
    "log",
    "log2",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "thread_idx",
]
