"""Plain launches on CUDA, from a call to what the driver is asked; the driver is one in Python."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.fake_cuda import FakeCuda, names
from support.native_cuda import NativeCuda
from support.numbers import fresh_rng
from tilewright.devices.cuda.device import FEW, CudaDevice
from tilewright.devices.cuda.stream import MANY


@tw.entry
def double(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32, 8]) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


@tw.entry
def scaled(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32, 8], factor: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def doubled(
    z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32, 8], *, ON: tl.Const[bool], BY: tl.Const[int] = 2
) -> None:
    z.store(tl.load_tile_like(x, z) * BY if ON else tl.load_tile_like(x, z))


@tw.entry
def visited(z: tl.MappedPartitionMut[tw.f32], x: tl.Tensor[tw.f32, 8]) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        z.store(xs.load([*index]) * 2.0, index)


SHIFT = 1


@tw.entry
def shifted(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32, 8], *, BY: tl.Const[int]) -> None:
    z.store(tl.load_tile_like(x, z) * BY + SHIFT)


FACTOR = 2.5
FACTOR_BITS = int(np.float32(FACTOR).view(np.uint32))


def vector(address):
    return np.ctypeslib.as_array((ctypes.c_float * 8).from_address(address))


DRIVERS = {"python": FakeCuda, "native": NativeCuda}
"""Launches in Python, and the driver too; and by the core, through a table of its functions."""


@pytest.fixture(params=DRIVERS)
def fake(request, without_assembler):
    """A driver whose kernels multiply what they read, by 2 or by the number they are given."""
    fake = DRIVERS[request.param]()

    def multiply(values, grid):
        z, x = (vector(value) for value in values if value in fake.memory)
        z[:] = x * (FACTOR if FACTOR_BITS in values else 2)

    fake.kernels.update(double=multiply, scaled=multiply, doubled=multiply, visited=multiply)
    fake.kernels["shifted"] = lambda values, grid: None
    return fake


@pytest.fixture
def device(fake):
    with tw.device(CudaDevice(fake, 0)) as device:
        yield device


def filled(number):
    return tw.from_numpy(np.full(8, number, "f4")).sync()


@pytest.fixture
def tensors(device):
    x = tw.from_numpy(fresh_rng().random(8, "f4")).sync()
    z = tw.from_numpy(np.full(8, np.nan, "f4")).sync()
    return z, x


@pytest.fixture
def warm(device, tensors):
    """A partition of the first tensor, the second one, and a stream on which they were used."""
    z, x = tensors
    p, stream = z.partition_mut(8), device.new_stream()
    double(p, x).sync_on(stream)
    return p, x, stream


def test_a_launch_is_one_call_of_the_driver(fake, warm):
    p, x, stream = warm
    del fake.log[:]
    assert double(p, x).start_on(stream) == (p, x)
    assert names(fake.log) == ["launch"]
    stream.synchronize()
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_so_is_each_launch_of_a_chain(fake, warm):
    p, x, stream = warm
    for end in ("start_on", "sync_on"):
        op = double(p, x).then(double).then(lambda p, x: double(p, x)).map(lambda p, x: (p, x))
        del fake.log[:]
        assert getattr(op, end)(stream) == (p, x)
        assert names(fake.log)[:3] == ["launch"] * 3 and names(fake.log).count("launch") == 3
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_what_others_keep_while_a_launch_is_waited_for_stays(fake, warm, monkeypatch):
    """Another thread may have dropped what was kept before, and put work behind the launch."""
    p, x, stream = warm
    for _ in range(3):
        double(p, x).start_on(stream)
    ask, later = fake._drained, [set(), set()]

    def drained(handle):
        if stream.kept:
            _, kept, upto = stream.point()
            stream._drop(kept, upto)
            for each in later:
                stream.keep(None, each)
        return ask(handle)

    monkeypatch.setattr(fake, "_drained", drained)
    double(p, x).sync_on(stream)
    monkeypatch.undo()
    assert [keep for label, keep in stream.kept if label is None] == later
    stream.synchronize()
    assert not stream.kept


def test_a_refused_launch_of_a_chain_is_named_with_the_chain(fake, warm):
    p, x, stream = warm
    op = double(p, x).inspect(lambda p, x: fake.fail("launch", 701)).then(double).map(len)
    with pytest.raises(tw.DriverError, match="double") as raised:
        op.sync_on(stream)
    named = [note.split("`")[1] for note in raised.value.__notes__]
    assert named == ["double", "double.inspect.then", "double.inspect.then.map"]
    assert double(p, x).then(double).sync_on(stream) == (p, x)


ASKING = {
    "constants": lambda p, x: doubled(p, x, ON=True),
    "all constants": lambda p, x: doubled(p, x, BY=2, ON=True),
    "options": lambda p, x: double(p, x).compile_options(occupancy=2),
    "a grid": lambda p, x: double(p, x).grid(1),
}


@pytest.mark.parametrize("asking", ASKING)
def test_so_is_one_that_was_asked_for_before(asking, fake, warm):
    p, x, stream = warm
    for _ in range(2):
        ASKING[asking](p, x).sync_on(stream)
    del fake.log[:]
    for _ in range(3):
        assert ASKING[asking](p, x).start_on(stream) == (p, x)
    assert names(fake.log) == ["launch"] * 3
    stream.synchronize()
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_so_is_one_whose_blocks_visit_many_tiles(fake, tensors, device):
    z, x = tensors
    p, stream = z.partition_mut(2).map(2, 3), device.new_stream()
    for _ in range(3):
        visited(p, x).sync_on(stream)
    z = p.unpartition()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2)
    p = z.partition_mut(2).map(2, 3)
    visited(p, x).sync_on(stream)
    del fake.log[:]
    op = visited(p, x)
    assert op._held is not None, "it needed a closer look"
    op.start_on(stream)
    assert names(fake.log) == ["launch"]
    stream.synchronize()


def test_an_op_that_was_looked_at_closely_ends_like_others(warm):
    p, x, stream = warm
    for _ in range(3):
        op = double(p, x).compile_options(occupancy=2)
        op.check_standing()
        op.start_on(stream)
    stream.synchronize()
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_a_captured_name_that_changed_gives_other_code(fake, warm, monkeypatch):
    p, x, stream = warm

    def code_that_ran():
        op = shifted(p, x, BY=3)
        known, request = op._held[-1] if op._held else None, op._request
        op.sync_on(stream)
        return known and known.asked(request)[0]

    codes = [code_that_ran() for _ in range(4)]
    assert codes[-1] is codes[-2] is not None
    monkeypatch.setattr(f"{__name__}.SHIFT", 2)
    assert code_that_ran() not in (*codes, None)


def test_waiting_needs_no_event(fake, warm):
    p, x, stream = warm
    events = len(fake.events)
    for _ in range(5):
        double(p, x).sync_on(stream)
    assert stream.idle() and len(fake.events) == events and not stream.kept


class OwnStreams:
    """A stream of its own for each op."""

    def __init__(self, device):
        self.next_stream = device.new_stream


def raises(error):
    raise error


ENDED = {
    "sync_on": lambda op, device: op.sync_on(device.new_stream()),
    "schedule": lambda op, device: op.schedule(OwnStreams(device)).result(),
    "await": lambda op, device: asyncio.run(awaited(op, OwnStreams(device))),
    "a graph": lambda op, device: (
        op.graph_on(device.new_stream()).launch().sync_on(device.new_stream())
    ),
}


async def awaited(op, policy):
    with tw.with_default_device_policy(policy):
        await op


@pytest.mark.parametrize("end", ENDED.values(), ids=ENDED)
def test_a_chain_that_is_waited_for_does_not_keep_its_stream_alive(device, tensors, end):
    z, x = tensors
    for _ in range(3):
        end(double(z.partition_mut(8), x).then(double), device)
        assert not device.waiting


@pytest.mark.parametrize("end", ["start_on", "sync_on"])
def test_streams_on_which_chains_fail_are_used_again(device, warm, end):
    """Nobody waits for the launches before the error."""
    p, x, _ = warm
    for _ in range(3 * FEW):
        op = double(p, x).then(lambda *_: raises(ValueError("no")))
        with pytest.raises(ValueError, match="no"):
            getattr(op, end)(device.new_stream())
    gc.collect()
    assert len(device.waiting) <= FEW


def test_numbers_are_handed_over(device, tensors):
    z, x = tensors
    p, stream = z.partition_mut(8), device.new_stream()
    for _ in range(3):
        scaled(p, x, FACTOR).sync_on(stream)
    np.testing.assert_allclose(z.to_numpy(), x.to_numpy() * FACTOR)


def test_the_host_waits_for_what_it_reads(fake, warm):
    p, x, stream = warm
    fake.hold(stream)
    double(p, x).start_on(stream)
    assert not stream.idle()
    reading = threading.Thread(target=lambda: found.append(p.unpartition().to_numpy()))
    found = []
    reading.start()
    reading.join(0.05)
    assert not found
    fake.release()
    reading.join(10)
    np.testing.assert_array_equal(found[0], x.to_numpy() * 2)


def test_another_stream_waits_for_it(fake, warm, device):
    p, x, stream = warm
    other, target = device.new_stream(), tw.zeros(8).sync()
    fake.hold(stream)
    double(p, x).start_on(stream)
    double(target.partition_mut(8), p.unpartition()).start_on(other)
    assert "wait" in names(fake.log) and not other.idle()
    fake.release()
    np.testing.assert_array_equal(target.to_numpy(), x.to_numpy() * 4)


def test_memory_lives_until_the_device_has_passed_it(fake, device):
    stream = device.new_stream()
    z = tw.zeros(8).sync()
    p = z.partition_mut(8)
    for _ in range(2):
        x = filled(1)
        double(p, x).sync_on(stream)
    fake.hold(stream)
    double(p, x).start_on(stream)
    memory = weakref.ref(x.region.storage)
    del x
    gc.collect()
    assert memory() is not None
    fake.release()
    stream.sweep()
    gc.collect()
    assert memory() is None


def test_many_launches_are_let_go_of_though_nobody_waits(fake, warm):
    p, x, stream = warm
    for _ in range(3 * MANY):
        double(p, x).start_on(stream)
        assert len(stream.kept) <= MANY
    assert stream.completed >= 2 * MANY


def test_a_stream_with_launches_lives_until_they_are_done(fake, device, tensors):
    z, x = tensors
    p, stream = z.partition_mut(8), device.new_stream()
    double(p, x).sync_on(stream)
    fake.hold(stream)
    double(p, x).start_on(stream)
    known = weakref.ref(stream)
    del stream
    gc.collect()
    assert known() is not None
    fake.release()
    known().sweep()
    gc.collect()
    assert known() is None


def test_an_ended_borrow_is_refused(warm):
    p, x, stream = warm
    first = double(p, x)
    double(p, x).sync_on(stream)
    with pytest.raises(tw.BorrowError, match="its exclusive borrow"):
        first.start_on(stream)
    late = double(p, x)
    p.unpartition().to_numpy()
    with pytest.raises(tw.BorrowError, match="its exclusive borrow"):
        late.sync_on(stream)


def test_an_op_is_used_once(warm):
    p, x, stream = warm
    op = double(p, x)
    op.start_on(stream)
    with pytest.raises(tw.BorrowError, match="already used by `start"):
        op.start_on(stream)


def test_a_refused_launch_leaves_all_usable(fake, warm):
    p, x, stream = warm
    fake.fail("launch", 701)
    with pytest.raises(tw.DriverError, match=r"launch of `double`, launched at .*test_submission"):
        double(p, x).start_on(stream)
    double(p, x).sync_on(stream)
    assert stream.timeline.all_submitted() is not None


def test_a_launch_that_brings_the_device_down_is_named(fake, warm):
    p, x, stream = warm
    fake.hold(stream)
    double(p, x).start_on(stream)
    fake.lost = 719
    for _ in range(2):
        message = r"`double`, launched at .*test_submission.*has failed"
        with pytest.raises(tw.DriverError, match=message):
            double(p, x).sync_on(stream)
    with pytest.raises(tw.DriverError, match="has failed"):
        p.unpartition().to_numpy()


def test_launches_of_other_kinds_alternate(device):
    stream, rng = device.new_stream(), fresh_rng()
    pairs = [(tw.zeros(8).sync().partition_mut(tile), tw.from_numpy(rng.random(8, "f4")).sync())
             for tile in (8, 4, 8)]  # fmt: skip
    for p, x in pairs * 3:
        op = double(p, x)
        assert op._held is not None
        op.sync_on(stream)


def test_a_graph_of_one_kernel_is_that_kernel(fake, warm):
    p, x, stream = warm
    graph = double(p, x).graph_on(stream)
    graph.launch().sync_on(stream)
    del fake.log[:]
    for _ in range(3):
        graph.launch().start_on(stream)
    assert names(fake.log) == ["launch"] * 3
    stream.synchronize()


def test_a_graph_is_one_call(fake, warm):
    p, x, stream = warm
    graph = double(p, x).then(double).graph_on(stream)
    graph.launch().sync_on(stream)
    del fake.log[:]
    events = len(fake.events)
    for _ in range(3):
        graph.launch().sync_on(stream)
    assert names(fake.log) == ["graph"] * 3 and len(fake.events) == events


def test_a_graph_that_is_idle_changes_streams_for_nothing(fake, warm, device):
    p, x, stream = warm
    z, streams = p.unpartition(), [device.new_stream(), stream]
    graph = double(p, x).then(double).graph_on(stream)
    graph.launch().sync_on(stream)
    del fake.log[:]
    for number in range(4):
        graph.launch().sync_on(streams[number % 2])
    assert names(fake.log) == ["graph"] * 4
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2)


def test_replays_on_other_streams_wait(fake, warm, device):
    p, x, stream = warm
    graph, other = double(p, x).then(double).graph_on(stream), device.new_stream()
    for _ in range(2):
        graph.launch().sync_on(stream)
    fake.hold(stream)
    graph.launch().start_on(stream)
    graph.launch().start_on(other)
    assert not other.idle()
    fake.release()
    assert other.record().wait(10)


def test_what_a_graph_writes_ends_borrows_and_is_waited_for(fake, warm):
    p, x, stream = warm
    z = p.unpartition()
    graph = double(p, x).graph_on(stream)
    for _ in range(2):
        graph.launch().sync_on(stream)
    reading = double(tw.zeros(8).sync().partition_mut(8), z)
    graph.launch().start_on(stream)
    with pytest.raises(tw.BorrowError, match=r"written by `double.graph`"):
        reading.sync_on(stream)
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2)


def test_a_node_takes_other_tensors_between_replays(warm):
    p, x, stream = warm
    z = p.unpartition()
    graph = double(p, x).graph_on(stream)
    for factor in (1, 3, 5):
        y = filled(factor)
        graph.set_args(0, z.partition_mut(8), y)
        for _ in range(2):
            graph.launch().sync_on(stream)
        np.testing.assert_array_equal(z.to_numpy(), np.full(8, 2 * factor, "f4"))
