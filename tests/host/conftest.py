"""What the host tests share: devices on a driver in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.native_cuda import NativeCuda
from tilewright.backend.tileir.toolchain import find_toolchain
from tilewright.base.errors import CompileError
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice

HERE = Path(__file__).parent


@pytest.fixture
def assembler():
    """NVIDIA's assembler, or a reason to skip."""
    try:
        return find_toolchain()
    except CompileError as error:
        pytest.skip(f"no CUDA assembler here ({error.got}); {error.hint}")


@pytest.fixture
def fake_cuda():
    """A CUDA driver in Python, with two devices."""
    return NativeCuda(2)


@pytest.fixture
def fake_gpus(fake_cuda, monkeypatch):
    """The devices of that driver, which are those that are found."""
    made = tuple(CudaDevice(fake_cuda, number) for number in range(2))
    monkeypatch.setattr(registry._Gpus, "found", made)
    return made


@pytest.fixture
def fake_gpu(fake_gpus):
    """The first of them."""
    return fake_gpus[0]
