"""A GPU whose kernels are interpreted as the Tile IR they become."""

from __future__ import annotations

import pytest

import tilewright as tw
from support import simulated_cuda
from tilewright.devices import registry


@pytest.fixture(params=["sm_90", "sm_100"])
def simulated_gpu(request, monkeypatch):
    """A simulated GPU, the default device."""
    simulated_cuda.install(request.param, patch=monkeypatch.setattr)
    (gpu,) = registry._Gpus.found
    with tw.device(gpu):
        yield gpu
