"""A device on a driver in Python."""

from __future__ import annotations

import gc
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


@pytest.fixture(autouse=True)
def _others_objects_are_not_collected():
    """Tests of interrupts collect garbage at each of hundreds of places, and look at their own
    objects alone: those of the frameworks that other tests have imported take 0.1 s each time."""
    gc.freeze()
    yield
    gc.unfreeze()
