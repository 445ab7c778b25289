"""A kernel of CUDA C++ behind a tile kernel: z = x + y, then w = factor * z. Needs a GPU.

    python examples/interop/cuda_scale.py               compiles the kernel with NVRTC
    python examples/interop/cuda_scale.py scale.ptx     takes it from a file: PTX, a cubin, a fatbin

Three ways to launch it: its arguments pushed one by one, wrapped in an op whose fields have types,
and declared, so that it is called with tensors.
"""

from __future__ import annotations

import sys

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import Arc, DeviceOp, ExecutionContext, LaunchConfig, Tensor, f32, simt, u32
from tilewright.devices.protocol import Function
from tilewright.interop import cuda

SOURCE = """
extern "C" __global__ void scale(unsigned n, float factor, const float *x, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
"""
BLOCK = 256
N = 5003


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """One block adds one tile."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def push(function: Function, factor: float, x: Tensor[f32], out: Tensor[f32]) -> DeviceOp[None]:
    """The arguments one by one: who calls this answers for the memory."""
    launch = tw.AsyncKernelLaunch(function)
    launch.push_arg(tw.u32(out.size)).push_arg(tw.f32(factor))
    with tw.unsafe():
        launch.push_device_ptr(x.device_pointer()).push_device_ptr(out.device_pointer())
    return launch.set_launch_config(LaunchConfig((-(-out.size // BLOCK), 1, 1), (BLOCK, 1, 1)))


class ScaleKernel(DeviceOp[tuple[Arc[f32], Tensor[f32]]]):
    """The same as an op: it shares what it reads, owns what it writes, and checks both."""

    def __init__(
        self, function: Function, factor: float, source: Arc[f32], output: Tensor[f32]
    ) -> None:
        x = source.value
        if x.shape != output.shape or not (x.is_contiguous and output.is_contiguous):
            raise ValueError(f"{x!r} and {output!r} are not of one shape, their elements in a row")
        self._function, self._factor = function, factor
        self._source, self._output = source, tw.move(output)

    def execute(self, ctx: ExecutionContext) -> tuple[Arc[f32], Tensor[f32]]:
        """Put the launch on the context's stream; who started the op waits for it."""
        ctx.run(push(self._function, self._factor, self._source.value, self._output))
        return self._source, self._output


def load(path: str | None) -> Function:
    """The kernel, from a file or compiled here."""
    if path is None:
        module = tw.load_module_from_ptx(cuda.compile_cuda(SOURCE))
    else:
        module = tw.load_module_from_file(path)
    return module.load_function("scale")


def main(path: str | None = None) -> None:
    """Run the chain each way, and once more as a graph."""
    if not tw.default_device().name.startswith("cuda"):
        raise SystemExit("CUDA C++ runs on NVIDIA GPUs, and there is none that is the default")
    function = load(path)
    with tw.unsafe():
        # It reads x[i] and writes out[i] for i < n, and nothing else.
        @cuda.kernel(function, block=BLOCK)
        def scale(
            n: u32, factor: f32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]
        ) -> None: ...

    x, y = tw.rand((N,), seed=1).sync(), tw.rand((N,), seed=2).sync()
    expected = 3 * (x.to_numpy() + y.to_numpy())
    summed = add(tw.empty((N,)).partition((1024,)), x, y).out().sync()

    pushed = tw.zeros((N,)).sync()
    push(function, 3.0, summed, pushed).sync()
    _, wrapped = ScaleKernel(function, 3.0, Arc(summed.dup().sync()), tw.zeros((N,)).sync()).sync()
    declared = scale(N, 3.0, summed, tw.empty((N,))).out().sync()
    replayed = tw.zeros((N,)).sync()
    graph = add(tw.zeros((N,)).partition((1024,)), x, y).then(
        lambda z, *_: scale(N, 3.0, z.unpartition(), replayed.borrow_mut())
    ).graph()  # fmt: skip
    graph.launch().sync()
    for found in (pushed, wrapped, declared, replayed):
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
    print(f"cuda_scale: {N} sums scaled by a kernel of CUDA C++, four ways")


if __name__ == "__main__":
    main(*sys.argv[1:2])
