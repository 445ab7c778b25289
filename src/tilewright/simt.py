"""Kernels written for one thread: `from tilewright import simt`, or `import tilewright.simt`.

A kernel reads `simt.Slice`s at any index and writes `simt.DisjointSlice`s at its own, which
`simt.index_1d()` gives it. Math functions are those of `tilewright.lang`, of one number each.
"""

from .kernels.cooperative import (
    block_max,
    block_min,
    block_reduce,
    block_scan,
    block_sum,
    warp_max,
    warp_min,
    warp_reduce,
    warp_scan,
    warp_sum,
)
from .lang.assembly import inline_ptx
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
from .lang.shared import Shared, dynamic_shared, shared, sync_threads
from .lang.slices import DisjointSlice, Elements, Slice
from .lang.threads import Index, block_dim, block_idx, grid_dim, index_1d, index_2d, thread_idx
from .lang.warps import (
    ballot,
    lane_id,
    match_any,
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
    sync_warp,
    vote_all,
    vote_any,
    warp_id,
)
from .launch._generated_simt import kernel
from .launch.simt import SimtEntry, SimtLaunch

__all__ = [
    "DisjointSlice",
    "Elements",
    "Index",
    "Shared",
    "SimtEntry",
    "SimtLaunch",
    "Slice",
    "atan2",
    "ballot",
    "block_dim",
    "block_idx",
    "block_max",
    "block_min",
    "block_reduce",
    "block_scan",
    "block_sum",
    "ceil",
    "cos",
    "cosh",
    "dynamic_shared",
    "exp",
    "exp2",
    "floor",
    "grid_dim",
    "index_1d",
    "index_2d",
    "inline_ptx",
    "kernel",
    "lane_id",
    "log",
    "log2",
    "match_any",
    "pow",
    "rsqrt",
    "shared",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
    "sin",
    "sinh",
    "sqrt",
    "sync_threads",
    "sync_warp",
    "tan",
    "tanh",
    "thread_idx",
    "vote_all",
    "vote_any",
    "warp_id",
    "warp_max",
    "warp_min",
    "warp_reduce",
    "warp_scan",
    "warp_sum",
]
