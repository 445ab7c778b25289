"""CUDA C++ and PTX kernels as ops, and driver calls on memory.

with tw.unsafe():
    @cuda.kernel(module.load_function("scale"), block=256)
    def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32): ...
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.tracebacks import publish
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
    """Declare the parameters of a loaded function, to call it with tensors; in `tw.unsafe()`.

    The function that is decorated has no body. A `simt.DisjointSlice` is written, a
    `simt.Slice` is read; both are passed as an address. Elements are contiguous, except in tensors
    named in `strided`. Without `grid` there is a thread for each element of what is written.
    """
    refuse_no_function("cuda.kernel", function)

    def find(device: Device) -> Function:
        return function

    return declare(Functions(find, grid, block, shared_mem_bytes), strided=strided)


publish(__all__, globals())
