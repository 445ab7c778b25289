"""Devices for the claims: the CPU and the reference, a GPU whose driver is written in Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tilewright as tw
from support import simulated_cuda
from support.native_cuda import NativeCuda
from tilewright.backend.tileir.toolchain import find_toolchain
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice

PTX = ".version 7.0\n.target sm_80\n.visible .entry scale()\n"


@pytest.fixture(params=["cpu", "reference"])
def device(request):
    """The default device of a test."""
    with tw.device(request.param) as found:
        yield found


@pytest.fixture
def fake_cuda():
    """A CUDA driver in Python, with two devices; its kernels are Python functions."""
    driver = NativeCuda(2)
    driver.kernels["scale"], driver.parameters["scale"] = run_scale, (4, 4, 8, 8)
    return driver


@pytest.fixture
def fake_gpus(fake_cuda, monkeypatch):
    """The devices of that driver, which are those that are found; the first is the default."""
    made = tuple(CudaDevice(fake_cuda, number) for number in range(2))
    monkeypatch.setattr(registry._Gpus, "found", made)
    with tw.device(made[0]):
        yield made


@pytest.fixture
def fake_gpu(fake_gpus):
    """The first of them."""
    return fake_gpus[0]


@pytest.fixture
def scale_function(fake_gpu):
    """The kernel `scale(n, factor, x, out)` of foreign code, loaded there."""
    return tw.load_module_from_ptx(PTX).load_function("scale")


@pytest.fixture
def simulated_gpu(monkeypatch):
    """A GPU that interprets tile kernels as Tile IR, and `scale` as a Python function."""
    simulated_cuda.install("sm_90", assemble=True, patch=monkeypatch.setattr)
    (gpu,) = registry._Gpus.found
    driver = gpu._driver
    driver.kernels["scale"], driver.parameters["scale"] = run_scale, (4, 4, 8, 8)
    with tw.device(gpu):
        yield gpu


@pytest.fixture(scope="session")
def assembler():
    """The assembler of tile kernels, or a reason to skip."""
    try:
        return find_toolchain()
    except tw.CompileError as error:
        pytest.skip(f"no CUDA assembler here ({error.got}); {error.hint}")


def run_scale(values, grid):
    """What the foreign kernel does: out[i] = factor * x[i] for i < n."""
    n, factor, x, out = values[0] & 0xFFFFFFFF, *values[1:]
    assert grid[0] * 256 >= n, "one thread for each element, in blocks of 256"
    number = np.array([factor], np.int64).view(np.float32)[0]
    floats = ctypes.c_float * n
    source = np.ctypeslib.as_array(floats.from_address(x))
    np.ctypeslib.as_array(floats.from_address(out))[:] = number * source
