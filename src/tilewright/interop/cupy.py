"""CuPy kernels as ops: a `RawKernel`, or a function of a `RawModule`, launched with our tensors.

with tw.unsafe():
    @cupy_kernel(raw, block=256)
    def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..base.tracebacks import publish
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.module import CudaFunction
from ..devices.protocol import Device, Function
from ..launch.arguments import kind_of
from ..launch.foreign import Wrap, declare
from ..tensors.shape import ShapeLike
from .functions import Functions, Grid
from .signature import gpu_of

cupy: Any = import_module("cupy")
"""Any: type checkers need not have it installed."""


def kernel(
    raw: Any,
    *,
    block: ShapeLike = 256,
    grid: Grid | None = None,
    shared_mem_bytes: int = 0,
    strided: Sequence[str] = (),
) -> Wrap:
    """Declare the parameters of a CuPy kernel, to call it with tensors; in `tw.unsafe()`.

    As `tilewright.interop.cuda.kernel`. CuPy compiles it, for each device that it is launched on.
    """
    kind = kind_of(raw)
    if not hasattr(kind, "kernel"):  # asking for its value would compile it
        raise TypeError(
            f"a cupy.RawKernel is needed, got {kind.__name__};"
            " of a RawModule, pass module.get_function(name)"
        )
    found: dict[CudaDevice, Function] = {}

    def find(device: Device) -> Function:
        gpu = gpu_of(raw.name, device, "CuPy")
        if gpu not in found:
            found[gpu] = _loaded(raw, gpu)
        return found[gpu]

    return declare(Functions(find, grid, block, shared_mem_bytes), strided=strided)


def _loaded(raw: Any, gpu: CudaDevice) -> Function:
    """Return a module that CuPy has loaded on a device, in the same context; CuPy owns it."""
    gpu.streams()  # the context is there
    with cupy.cuda.Device(gpu.ordinal):
        theirs = raw.kernel
    return CudaFunction(theirs, raw.name, int(theirs.ptr), gpu.context)


publish(["kernel"], globals())
