from __future__ import annotations

import contextlib
import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from host.launch.test_foreign import PTX, run_scale, some
from tilewright import f32, simt, u32


class Cupy:
    """As much of CuPy as is used: kernels that a device has loaded."""

    def __init__(self, gpus):
        self._gpus, self.entered = gpus, []
        self.cuda = SimpleNamespace(Device=self.device)

    @contextlib.contextmanager
    def device(self, number):
        self.entered.append(number)
        yield

    def raw_kernel(self, name):
        """A `cupy.RawKernel`: `kernel` is what is loaded on the current device."""
        cupy = self

        class RawKernel:
            def __init__(self):
                self.name = name

            @property
            def kernel(self):
                gpu = cupy._gpus[cupy.entered[-1]]
                return SimpleNamespace(ptr=gpu.load_module(PTX.encode()).function(name))

        return RawKernel()


@pytest.fixture
def cupy(fake_gpus, fake_cuda, monkeypatch):
    fake_cuda.kernels["scale"], fake_cuda.parameters["scale"] = run_scale, (8, 8, 4, 4)
    made = Cupy(fake_gpus)
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


@pytest.fixture
def kernel(cupy, monkeypatch):
    monkeypatch.delitem(sys.modules, "tilewright.interop.cupy", raising=False)
    yield importlib.import_module("tilewright.interop.cupy").kernel
    sys.modules.pop("tilewright.interop.cupy", None)


def test_a_kernel_of_cupy_is_an_op(kernel, cupy, fake_gpus):
    with tw.unsafe():

        @kernel(cupy.raw_kernel("scale"), block=64)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    for gpu in (*fake_gpus, fake_gpus[0]):
        x = some(gpu)
        z = scale(tw.empty((300,), device=gpu), x, 300, 2.0).out().sync()
        np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
    assert cupy.entered == [0, 1], "once for each device"


def test_what_is_refused(kernel, cupy):
    with tw.unsafe():
        with pytest.raises(TypeError, match=r"a cupy\.RawKernel is needed, got str"):
            kernel("scale")

        @kernel(cupy.raw_kernel("scale"))
        def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None: ...

    z = tw.zeros((3,), device="cpu").sync()
    with pytest.raises(tw.LaunchError, match="kernel of CuPy, which runs on NVIDIA GPUs"):
        scale(tw.zeros((3,), device="cpu"), z).sync()
