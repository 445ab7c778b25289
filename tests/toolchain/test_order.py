"""Order by memory on CUDA, at the driver's functions: native launches, replays, copies, memory."""

from __future__ import annotations

import pytest

from order.drawing import LAUNCHES
from order.running import Bench
from support import tiers
from support.checked_cuda import CheckedCuda
from support.simulated_cuda import note_what_is_made
from tilewright.devices.cuda.device import CudaDevice

PROGRAMS = tiers.count(quick=30, full=150)


class UnorderedError(AssertionError):
    """Two uses of memory race."""


class Checked(Bench):
    """Runs programs on a GPU that tells nobody of progress before it is waited for."""

    def run(self, steps):
        driver = CheckedCuda("sm_90")
        self.device = CudaDevice(driver, 0)
        error = super().run(steps)
        if error is None and driver.undefined:
            return driver.undefined[0]
        if error is None and driver.order.races:
            return UnorderedError(str(driver.order.races[0]))
        return error


@pytest.fixture
def _cubins_are_known(monkeypatch):
    note_what_is_made(monkeypatch.setattr)


@pytest.mark.usefixtures("_cubins_are_known", "without_assembler")
def test_random_programs_have_no_races(pytestconfig):
    first = int(pytestconfig.getoption("--seed"))
    failures = Checked(None, (0, 1), LAUNCHES).try_all(range(first, first + PROGRAMS))
    assert not failures, "\n".join(failures)
