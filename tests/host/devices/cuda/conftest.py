"""A device on a driver in Python."""

from __future__ import annotations

import ctypes
import sys

import pytest

from support.fake_cuda import FakeCuda
from support.native_cuda import addresses, as_functions
from support.native_driver import Driver
from tilewright._core import CudaDriver
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.cuda.record import HEAD_WORDS, Head


@pytest.fixture
def fake():
    return FakeCuda()


@pytest.fixture
def device(fake):
    return CudaDevice(fake, 0)


@pytest.fixture
def in_finalizers_too(monkeypatch):
    """An interrupt there is told to nobody, and what it holds is let go of."""
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)


# What native code calls, function by function.


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def native(driver):
    driver.kept = as_functions(driver)
    return CudaDriver(addresses(driver.kept))


@pytest.fixture
def record():
    words = (ctypes.c_int64 * HEAD_WORDS)()
    words[Head.CONTEXT], words[Head.FUNCTION], words[Head.PARAMETERS] = 77, 88, 99
    words[Head.GRID : Head.GRID + 3] = [1, 2, 3]
    words[Head.BLOCK : Head.BLOCK + 3] = [4, 5, 6]
    words[Head.SHARED] = 7
    return words
