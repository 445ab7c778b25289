from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.numbers import fresh_rng
from tilewright.devices.timeline import ISSUED, OVER, UNSUBMITTED
from tilewright.launch.plain import PlainBinder
from tilewright.tensors.order import is_in_flight, pending_over


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def at(z: tl.TensorMut, x: tl.Tensor, where: tl.Tensor[tw.i32]) -> None:
    """Only the running kernel knows the index."""
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@pytest.fixture
def stream():
    return tw.default_device().new_stream()


@pytest.fixture
def tensors():
    return [tw.from_numpy(fresh_rng().random(64, "f4")).sync() for _ in range(3)]


@pytest.fixture
def far():
    return tw.from_numpy(np.array([1 << 20], np.int32)).sync()


def test_launches_of_one_stream_are_noted_by_number_alone(tensors, stream):
    z, x, y = tensors
    p, before = z.partition_mut(16), stream.timeline.words[ISSUED]
    for _ in range(20):
        add(p, x, y).start_on(stream)
    orders = [t.region.storage.order for t in tensors]
    assert not any(order.writes or order.reads for order in orders)
    stream.synchronize()
    assert not is_in_flight(z.region) and stream.timeline.words[OVER] == before + 20
    assert stream.timeline.pending == {} and stream.timeline.words[UNSUBMITTED] == 0
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + y.to_numpy())


def test_an_earlier_failure_is_heard_where_the_memory_is_read(tensors, stream, far):
    z, x, y = tensors
    p = z.partition_mut(16)
    at(p, x, far).start_on(stream)
    for _ in range(3):
        add(p, x, y).start_on(stream)
    with pytest.raises(tw.LaunchError, match="index out of range in `at`"):
        z.to_numpy()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + y.to_numpy())
    add(z.partition_mut(16), x, x).sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())


def test_an_earlier_failure_is_heard_where_the_memory_is_copied(tensors, stream, far):
    z, x, y = tensors
    p = z.partition_mut(16)
    at(p, x, far).start_on(stream)
    add(p, x, y).start_on(stream)
    with pytest.raises(tw.LaunchError, match="index out of range in `at`"):
        z.copy_to_host().sync()


def test_a_failed_launch_that_is_waited_for_leaves_nothing_behind(tensors, stream, far):
    z, x, y = tensors
    with pytest.raises(tw.LaunchError, match="index out of range"):
        at(z.partition_mut(16), x, far).sync_on(stream)
    assert pending_over([z.region], writes=True) == []
    add(z.partition_mut(16), x, y).sync_on(stream)
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + y.to_numpy())


def test_other_streams_wait_for_plain_launches(tensors):
    z, x, y = tensors
    streams = [tw.default_device().new_stream() for _ in range(6)]
    wanted = x.to_numpy()
    for i in range(60):  # z = x + x + y; x = z + ...: each needs the one before
        one, other = (z, x) if i % 2 == 0 else (x, z)
        add(one.partition_mut(16), other, y).start_on(streams[i % 6])
        wanted = wanted + y.to_numpy()
    np.testing.assert_allclose(x.to_numpy(), wanted, rtol=1e-5)


def test_threads_that_share_tensors_and_a_stream(tensors, stream):
    x, y, _ = tensors
    own = [tw.zeros(64).sync() for _ in range(4)]

    def work(mine):
        for _ in range(100):
            add(mine.partition_mut(16), x, y).start_on(stream)
            before = mine.dup().sync()
            add(mine.partition_mut(16), x, before).sync()

    threads = [threading.Thread(target=work, args=(t,)) for t in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    stream.synchronize()
    for mine in own:
        np.testing.assert_allclose(mine.to_numpy(), 2 * x.to_numpy() + y.to_numpy(), rtol=1e-5)
    assert stream.timeline.pending == {}


# Arguments that become tensors: NumPy arrays, and what argument ops give


@pytest.fixture
def no_closer_look(monkeypatch):
    """Launches are bound by their records alone."""

    def look(*given: object) -> None:
        raise AssertionError("this launch was looked at closer")

    monkeypatch.setattr(PlainBinder, "bind_described", look)


@pytest.mark.cpu_alone
@pytest.mark.usefixtures("no_closer_look")
@pytest.mark.parametrize("size", [1, 15, 16, 17, 61])
def test_arrays_of_numpy_need_no_closer_look(size):
    x, y = fresh_rng().random((2, size), "f4")
    y.flags.writeable = False
    z = tw.full((size,), float("nan")).sync()
    for _ in range(2):
        given = z.partition_mut((16,))
        result = add(given, x, y).sync()
        assert result[0] is given and result[1] is x and result[2] is y
        np.testing.assert_array_equal(z.to_numpy(), x + y)
        x += 1  # who has the array may write it between launches


@pytest.mark.cpu_alone
@pytest.mark.usefixtures("no_closer_look")
@pytest.mark.parametrize("size", [1, 16, 17])
@pytest.mark.parametrize("ending", ["sync", "start", "into_future"])
def test_what_argument_ops_give_needs_no_closer_look(size, ending):
    x, y = tw.from_numpy(fresh_rng().random(size, "f4")).sync(), np.ones(size, "f4")
    for _ in range(2):
        op = add(tw.empty_like(x).partition((16,)), x, y).out()
        result = getattr(op, ending)()
        made = result.result() if ending == "into_future" else result
        np.testing.assert_array_equal(made.to_numpy(), x.to_numpy() + 1)


@pytest.mark.cpu_alone
def test_a_graph_of_arrays_takes_others():
    x, y, other = fresh_rng().random((3, 20), "f4")
    z = tw.zeros((20,)).sync()
    graph = add(z.partition_mut((16,)), x, y).graph()
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), x + y)
    graph.set_args(0, z.partition_mut((16,)), other, y)
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), other + y)


def test_an_array_that_is_written_before_its_launch_runs_is_named():
    x = np.ones(20, "f4")
    z, alias = tw.zeros((20,)).sync(), tw.asarray(x)
    op = add(z.partition_mut((16,)), x, x)
    tw.fill(alias, 2.0).sync()
    with pytest.raises(tw.BorrowError, match=r"a NumPy array of shape \(20,\)"):
        op.sync()


@pytest.mark.cpu_alone
def test_an_array_that_shares_memory_with_the_output_is_refused():
    x = np.ones(20, "f4")
    with pytest.raises(tw.BorrowError, match="are the same storage"):
        add(tw.asarray(x).partition_mut((16,)), x[3:], x[3:]).sync()


# Memory that others see


@pytest.mark.cpu_alone
@pytest.mark.parametrize("lend", [np.asarray, np.from_dlpack, lambda t: np.asarray(t[4:])])
def test_what_others_only_see_is_read_by_the_core(lend, monkeypatch):
    x, y = tw.from_numpy(fresh_rng().random(20, "f4")).sync(), tw.ones((20,)).sync()
    z = tw.zeros((20,)).sync()
    add(z.partition_mut((16,)), x, y).sync()
    seen = lend(x)
    called = called_launches(monkeypatch)
    for given in (x, x[:], tw.Arc(tw.from_numpy(x.to_numpy()).sync())):
        add(z.partition_mut((16,)), given, y).sync()
        np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 1)
    assert not called
    with pytest.raises(tw.BorrowError, match="would write"):
        add(x.partition_mut((16,)), y, y).sync()
    del seen
    add(x.partition_mut((16,)), y, y).sync()
    assert x.to_numpy().tolist() == [2.0] * 20


@pytest.mark.cpu_alone
def test_what_others_may_write_is_not_read():
    x, y, z = (tw.ones((20,)).sync() for _ in range(3))
    with x.borrow_mut().numpy() as lent:
        lent[:] = 3
        with pytest.raises(tw.BorrowError, match="would read"):
            add(z.partition_mut((16,)), x, y).sync()
    del lent
    add(z.partition_mut((16,)), x, y).sync()
    assert z.to_numpy().tolist() == [4.0] * 20


# Tensors whose former owners may get them back


ENDS = {
    "the launch": lambda op: op.sync()[0].unpartition(),
    "a chain": lambda op: op.out().sync(),
    "a future": lambda op: op.out().into_future().result(),
}


@pytest.mark.cpu_alone
@pytest.mark.parametrize("name", ["the launch", "a chain"])
def test_a_variable_that_is_bound_anew(name, monkeypatch):
    """What was moved out of it is gone for good once the launch has run."""
    x, z = tw.ones((20,)).sync(), tw.zeros((20,)).sync()
    add(z.partition_mut((16,)), x, x).sync()  # compiles it
    called = called_launches(monkeypatch)
    for number in range(5):
        before = z
        z = ENDS[name](add(z.partition((16,)), x, x))
        assert before.state == "moved" and before.region.storage.is_meta
        assert z.to_numpy().tolist() == [2.0] * 20, number
    assert not called


@pytest.mark.cpu_alone
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_tensor_goes_back_if_the_launch_fails(end, far):
    x, y, z = (tw.ones((20,)).sync() for _ in range(3))
    for _ in range(3):
        p = z.partition((32,))
        with pytest.raises(tw.LaunchError, match="index out of range"):
            end(at(p, x, far))
        assert z.state == ""
        z.to_numpy()  # who uses it first has it
        with pytest.raises(tw.BorrowError, match=r"returned to its former|unpartition\(\)"):
            add(p, x, y)
    z = end(add(z.partition((16,)), x, y))
    assert z.to_numpy().tolist() == [2.0] * 20


@pytest.mark.cpu_alone
def test_a_tensor_goes_back_if_more_fails_that_follows():
    x, z = tw.ones((20,)).sync(), tw.zeros((20,)).sync()

    def fail(*results):
        raise ValueError("later")

    for _ in range(3):
        with pytest.raises(ValueError, match="later"):
            add(z.partition((16,)), x, x).map(fail).sync()
        assert z.state == ""
    assert z.to_numpy().tolist() == [2.0] * 20
