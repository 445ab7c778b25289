"""Kernels of CUDA C++ and PTX as ops, and the driver's own calls on memory.

with tw.unsafe():
    @cuda.kernel(module.load_function("scale"), block=256)
    def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32): ...
"""

from __future__ import annotations

from collections.abc import Sequence

from ..devices.protocol import Device, Function
from ..launch.foreign import Wrap, declare
from ..launch.raw import refuse_no_function
from ..tensors.shape import ShapeLike
from .functions import Functions, Grid
from .memory import free_async, malloc_async, memcpy_dtoh_async, memcpy_htod_async
from .nvrtc import compile_cuda

__all__ = [
    "compile_cuda",
    "free_async",
    "kernel",
    "malloc_async",
    "memcpy_dtoh_async",
    "memcpy_htod_async",
]


def kernel(
    function: Function,
    *,
    block: ShapeLike = 256,
    grid: Grid | None = None,
    shared_mem_bytes: int = 0,
    strided: Sequence[str] = (),
) -> Wrap:
    """Declare what a loaded function takes, so that it is called with tensors; in `tw.unsafe()`.

    The function that is decorated has no body. What is a `simt.DisjointSlice` is written, what is a
    `simt.Slice` is read; both arrive as an address alone. Elements stand in a row, but for tensors
    named in `strided`. Without `grid` there is a thread for each element of what is written.
    """
    refuse_no_function("cuda.kernel", function)

    def find(device: Device) -> Function:
        return function

    return declare(Functions(find, grid, block, shared_mem_bytes), strided=strided)
