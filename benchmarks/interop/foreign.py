"""Kernels of CUDA C++ and of Triton, launched from here and by their own libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import tilewright as tw
from tilewright import LaunchConfig, f32, simt, u32
from tilewright.interop import cuda

from ..data import poison, random
from ..host.probes import Probe
from ..host.work import SMALL, placed
from .arrays import FACTOR, OURS, checked, scale, started

SOURCE = """
extern "C" __global__ void scale(unsigned n, float factor, const float *x, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
"""
PUSHED, CUPY, TRITON = f"{OURS}, pushed", "CuPy", "Triton"
CONFIG = LaunchConfig((1, 1, 1), (256, 1, 1))


def _started(launch: Callable[[Any, Any, Any], object]) -> Probe:
    """A probe that puts work on a stream of ours."""
    x, z = placed(random((SMALL,))), placed(poison((SMALL,)))
    stream = tw.default_device().new_stream()
    for _ in range(3):
        launch(x, z, stream)
        stream.synchronize()
        checked(z.to_numpy(), x.to_numpy())
    return started(lambda: launch(x, z, stream), stream.synchronize)


def _function() -> Any:
    return tw.load_module_from_ptx(cuda.compile_cuda(SOURCE)).load_function("scale")


def tile() -> Probe:
    """A tile kernel of ours, to compare with."""
    return _started(lambda x, z, s: scale(z.partition_mut(SMALL), x, FACTOR).start_on(s))


def declared() -> Probe:
    """Called with tensors."""
    with tw.unsafe():

        @cuda.kernel(_function())
        def times(
            n: u32, factor: f32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]
        ) -> None: ...

    return _started(lambda x, z, s: times(SMALL, FACTOR, x, z.borrow_mut()).start_on(s))


def pushed() -> Probe:
    """Given its arguments one by one."""
    function = _function()

    def launch(x: Any, z: Any, stream: Any) -> None:
        op = tw.AsyncKernelLaunch(function).push_arg(u32(SMALL)).push_arg(f32(FACTOR))
        with tw.unsafe():
            op.push_device_ptr(x.device_pointer()).push_device_ptr(z.device_pointer())
        op.set_launch_config(CONFIG).start_on(stream)

    return _started(launch)


def by_cupy() -> Probe:
    """CuPy's own launch."""
    cupy: Any = importlib.import_module("cupy")
    raw, given = cupy.RawKernel(SOURCE, "scale"), random((SMALL,))
    x, z = cupy.asarray(given), cupy.empty(SMALL, "f4")
    arguments = (cupy.uint32(SMALL), cupy.float32(FACTOR), x, z)

    def launch() -> None:
        raw((1,), (256,), arguments)

    launch()
    checked(z.get(), given)
    return started(launch, cupy.cuda.Device().synchronize)


def by_triton() -> Probe:
    """Triton's own launch."""
    torch: Any = importlib.import_module("torch")
    kernels: Any = importlib.import_module("benchmarks.interop.triton_kernels")
    x, z = torch.from_numpy(random((SMALL,))).cuda(), torch.empty(SMALL, device="cuda")

    def launch() -> None:
        kernels.scale_kernel[(1,)](x, z, SMALL, FACTOR, BLOCK=1024)

    launch()
    checked(z.cpu(), x.cpu())
    return started(launch, torch.cuda.synchronize)


def triton_by_us() -> Probe:
    """The same kernel, launched from here."""
    wrapping: Any = importlib.import_module("tilewright.interop.triton")
    kernels: Any = importlib.import_module("benchmarks.interop.triton_kernels")
    with tw.unsafe():
        times = wrapping.kernel(
            kernels.scale_kernel, reads=("x_ptr",), writes=("out_ptr",), grid=(1,)
        )
    return _started(lambda x, z, s: times(x, z.borrow_mut(), SMALL, FACTOR, BLOCK=1024).start_on(s))


MAKERS: Mapping[str, Mapping[str, Callable[[], Probe]]] = {
    "tile kernel": {OURS: tile},
    "CUDA C++": {OURS: declared, PUSHED: pushed, CUPY: by_cupy},
    "Triton": {OURS: triton_by_us, TRITON: by_triton},
}
"""By kernel, then by who launches it."""
