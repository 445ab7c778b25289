"""A device on a driver in Python."""

from __future__ import annotations

import sys

import pytest

from support.fake_cuda import FakeCuda
from tilewright.driver.cuda.device import CudaDevice


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
