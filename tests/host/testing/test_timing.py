from __future__ import annotations

import gc

import pytest

import tilewright as tw
from op_kit import HandDevice, HandStream
from tilewright.op import DeviceOp
from tilewright.testing import Comparison, Timing, bench


class Counted(DeviceOp[int]):
    def __init__(self, log, name):
        self.log, self._name = log, name

    def execute(self, ctx):
        self.log.append(self._name)
        return gc.isenabled()


def test_one_candidate():
    log = []

    def work():
        return Counted(log, "work")

    found = bench(work, rounds=5, warmup=2)
    assert len(log) == 7
    assert found.name == "work" and len(found.seconds) == len(found.building) == 5
    assert 0 < found.min <= found.median <= max(found.seconds)
    assert gc.isenabled()
    assert tw.bench is bench


def test_candidates_take_turns():
    log = []
    found = bench({n: lambda n=n: Counted(log, n) for n in "abc"}, rounds=3, warmup=1)
    assert "".join(log) == "abc" * 4
    assert [t.name for t in found.timings] == ["a", "b", "c"]
    assert found["b"] is found.timings[1]
    assert found.fastest in found.timings
    with pytest.raises(KeyError, match="there are a, b, c"):
        found["d"]


def test_on_a_stream():
    stream = tw.devices()[1].streams()[0]
    seen = []

    class Seen(Counted):
        def execute(self, ctx):
            seen.append(ctx.stream)

    bench(lambda: Seen([], ""), rounds=1, warmup=0, stream=stream)
    assert seen == [stream]


def test_how_results_are_shown(golden):
    fast = Timing("fast", (2e-6, 1e-6, 4e-6), (5e-9,) * 3)
    slow = Timing("slow", (0.5, 1.5), (1e-3, 3e-3))
    assert (fast.median, fast.min, slow.median) == (2e-6, 1e-6, 1.0)
    golden(f"{fast!r}\n\n{Comparison((fast, slow))!r}")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: bench(lambda: 3), "must build an op, got int; leave out the .sync"),
        (lambda: bench({}), "no candidates"),
        (lambda: bench(lambda: tw.zeros(3), rounds=0), "rounds >= 1"),
        (lambda: bench(lambda: tw.zeros(3), warmup=-1), "warmup >= 0"),
    ],
)
def test_wrong_requests(wrong, text):
    with pytest.raises((TypeError, ValueError), match=text):
        wrong()


class Remote(HandDevice):
    """A device with a clock of its own, which passes a second at each stamp."""

    host_visible = False


class Clocked(HandStream):
    stamps = 0

    def stamp(self):
        self.stamps += 1
        return Stamped(self.stamps)


class Stamped:
    def __init__(self, at):
        self.at = at

    def host_time(self):
        return None

    def since(self, earlier):
        return float(self.at - earlier.at)


def test_a_device_with_a_clock_of_its_own_is_timed_by_it():
    found = bench(lambda: Counted([], ""), rounds=3, warmup=1, stream=Clocked(Remote("remote")))
    assert found.seconds == (1.0, 1.0, 1.0)
