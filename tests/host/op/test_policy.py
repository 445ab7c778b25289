from __future__ import annotations

import pytest

import tilewright as tw
from op_kit import HandStream
from tilewright.base.errors import SchedulingError
from tilewright.devices.host import CPU, REFERENCE
from tilewright.op.ambient import default_policy
from tilewright.op.core import DeviceOp
from tilewright.op.policy import SchedulingPolicy, SingleStream, StreamPoolRoundRobin, stream_of


class Where(DeviceOp):
    """Gives the stream it runs on."""

    def __init__(self, home=None):
        self._home = home

    @property
    def home(self):
        return self._home

    def execute(self, ctx):
        return ctx.stream


def test_round_robin_takes_the_devices_streams_in_turn():
    pool = StreamPoolRoundRobin(CPU)
    given = [pool.next_stream() for _ in range(8)]
    assert given[:4] == given[4:] == list(CPU.streams())[:4]
    assert len(set(map(id, given))) == 4


def test_a_larger_pool_makes_streams_of_its_own():
    pool = StreamPoolRoundRobin(CPU, 6)
    assert len({stream.number for stream in pool.streams}) == 6
    assert repr(pool) == "StreamPoolRoundRobin(Device('cpu'), 6)"


def test_a_stream_that_waits_for_long_is_set_aside_and_comes_back():
    pool, held = StreamPoolRoundRobin(CPU, 2), CPU.new_stream()
    waiting, other = pool.streams
    gate = held.new_gate()
    passed = gate.close()
    waiting.wait_for(passed)
    pool.set_aside(waiting)
    given = [pool.next_stream() for _ in range(4)]
    assert waiting not in given and given[:2] == given[2:] and other in given
    pool.set_aside(held)  # which it does not hand out
    assert [pool.next_stream() for _ in range(4)] == given
    gate.open()
    waiting.synchronize()
    pool.set_aside(other)  # the first one is idle again
    assert {pool.next_stream() for _ in range(2)} == {waiting, *given} - {other}


def test_a_pool_needs_streams():
    with pytest.raises(SchedulingError, match="a pool needs streams"):
        StreamPoolRoundRobin(CPU, 0)


def test_single_stream():
    stream = CPU.new_stream()
    assert SingleStream(stream).next_stream() is stream
    assert isinstance(SingleStream(stream), SchedulingPolicy)


def test_sync_goes_round_the_devices_pool():
    streams = [Where().sync() for _ in range(4)]
    assert set(map(id, streams)) == set(map(id, default_policy(tw.default_device()).streams))
    assert Where(REFERENCE).sync().device is REFERENCE


class Broken:
    def next_stream(self):
        raise KeyError("no stream today")

    def __repr__(self):
        return "Broken()"


class Wrong(Broken):
    def next_stream(self):
        return "stream 7"


@pytest.mark.parametrize(
    ("name", "policy", "home"),
    [
        ("fails", Broken(), None),
        ("wrong", Wrong(), None),
        ("elsewhere", SingleStream(REFERENCE.streams()[0]), CPU),
    ],
)
def test_what_policies_do_wrong(name, policy, home, golden):
    with pytest.raises(SchedulingError) as caught:
        stream_of(policy, "neg", home)
    golden(str(caught.value), name)


def test_any_object_with_the_method_is_a_policy():
    class Own:
        def next_stream(self):
            return stream

    stream = HandStream(CPU)
    assert stream_of(Own(), "neg", CPU) is stream


def test_sync_on_takes_streams_only():
    with pytest.raises(SchedulingError, match="`sync_on` takes a stream"):
        Where().sync_on("cpu")
