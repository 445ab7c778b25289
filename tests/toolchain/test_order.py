"""Order by memory on CUDA, at the driver's functions: native launches, replays, copies, memory."""

from __future__ import annotations

from hashlib import sha256

import pytest

from order.drawing import LAUNCHES
from order.running import Bench
from support import tiers
from support.checked_cuda import MADE, CheckedCuda
from tilewright.backend.tileir import keeping
from tilewright.backend.tileir import stages as tileir
from tilewright.devices.cuda.device import CudaDevice

PROGRAMS = tiers.count(quick=30, full=150)
TILES = tuple(kernel for kernel in LAUNCHES if kernel != "scale")
"""What is compiled for threads is PTX, which the simulated driver does not run."""


class UnorderedError(AssertionError):
    """Two uses of memory race."""


class Checked(Bench):
    """Runs programs on a GPU that tells nobody of progress before it is waited for."""

    def run(self, steps):
        driver = CheckedCuda("sm_90")
        self.device = CudaDevice(driver, 0)
        error = super().run(steps)
        if error is None and driver.order.races:
            return UnorderedError(str(driver.order.races[0]))
        return error


@pytest.fixture
def _cubins_are_known_by_their_ir(monkeypatch):
    make = keeping.artifact

    def artifact(made, cubin):
        MADE[sha256(cubin).digest()] = made.func
        return make(made, cubin)

    monkeypatch.setattr(keeping, "artifact", artifact)
    monkeypatch.setattr(tileir, "artifact", artifact)


@pytest.mark.usefixtures("_cubins_are_known_by_their_ir")
def test_random_programs_have_no_races(pytestconfig):
    first = int(pytestconfig.getoption("--seed"))
    failures = Checked(None, (0, 1), TILES).try_all(range(first, first + PROGRAMS))
    assert not failures, "\n".join(failures)
