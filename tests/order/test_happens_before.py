"""Every two conflicting uses of memory have an order: found by clocks, not by luck."""

from __future__ import annotations

import itertools

import pytest

from order.running import Bench
from order.steps import Copy, Ending, Input, Launch, Record, Replay
from support import tiers
from tilewright.devices.null import NullDevice

PROGRAMS = tiers.count(quick=300, full=1500)
ENDINGS = ("start_on", "sync_on", "future", "dropped", "schedule", "start")


class UnorderedError(AssertionError):
    """Two uses of memory race."""


class Checked(Bench):
    """Runs programs on a null device whose work passes only where the program waits for it."""

    def run(self, steps):
        device = self.device = NullDevice(host_visible=False)
        device.defer()
        error = super().run(steps)
        if error is None and device.races:
            return UnorderedError(str(device.races[0]))
        return error


def test_random_programs_have_no_races(pytestconfig):
    first = int(pytestconfig.getoption("--seed"))
    failures = Checked(None, (0, 1)).try_all(range(first, first + PROGRAMS))
    assert not failures, "\n".join(failures)


def launch(kernel, out, reads, ending, stream, numbers=()):
    return Launch(
        kernel, out, "mut", None, tuple(Input(t) for t in reads), numbers, Ending(ending, stream)
    )


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_a_write_waits_for_a_read_whatever_their_endings(first, second):
    bench = Checked(None)
    for reader, writer in itertools.product(
        (launch("axpy", 1, (0, 2), first, 0, (2,)), launch("lasting", 1, (0,), first, 0)),
        (launch("seven", 0, (), second, 1), launch("bump", 0, (), second, 1, (4,)),
         Copy(0, 3, "copy_from", 0, Ending(second, 1))),
    ):  # fmt: skip
        error = bench.run([reader, writer])
        assert error is None, error


@pytest.mark.parametrize("ending", ENDINGS)
def test_replays_and_launches_wait_for_each_other(ending):
    reading = launch("axpy", 1, (0, 2), ending, 0, (3,))
    recorded = Record(0, (launch("bump", 0, (), "sync", 0, (1,)),), 2, captured=False)
    for stream in range(3):
        replay = Replay(0, Ending(ending, stream))
        error = Checked(None).run([recorded, reading, replay, reading, replay])
        assert error is None, error
