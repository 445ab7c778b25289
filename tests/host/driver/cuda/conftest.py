"""A device on a driver in Python."""

from __future__ import annotations

import pytest

from support.fake_cuda import FakeCuda
from tilewright.driver.cuda.device import CudaDevice


@pytest.fixture
def fake():
    return FakeCuda()


@pytest.fixture
def device(fake):
    return CudaDevice(fake, 0)
