"""Streams that cannot race: work that conflicts is ordered, whatever streams it is put on."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.gates import PATIENCE, new_gate
from tilewright import f32
from tilewright.devices.native_records import SlowPath

N = 4096
A_WHILE = 0.02
"""Seconds in which work that nothing holds would be done."""


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@pytest.fixture
def streams():
    # What is compiled first is put on a stream later than the call that schedules it returns.
    launch(tw.zeros((N,)).sync(), tw.zeros((N,)).sync(), 1.0).sync()
    return [tw.default_device().new_stream() for _ in range(4)]


def launch(z, x, factor):
    return scale(z.partition_mut((256,)), x, factor)


def all_are(tensor, value):
    np.testing.assert_array_equal(tensor.to_numpy(), np.full(N, value, "f4"))


def test_one_future_reads_what_another_one_writes(streams):
    """Two futures on two streams, the first held up: what the Rust book marks as dangerous."""
    x, z, w = (tw.full((N,), v).sync() for v in (1.0, float("nan"), float("nan")))
    gate = new_gate()
    gate.put_on(streams[0])
    writing = launch(z, x, 2.0).schedule(tw.SingleStream(streams[0]))
    reading = launch(w, z, 10.0).schedule(tw.SingleStream(streams[1]))
    assert not streams[1].record().wait(A_WHILE) and not writing.done() and not reading.done()
    gate.open()
    reading.result(PATIENCE)
    all_are(w, 20.0)


def test_writers_wait_for_readers(streams):
    x, z, w = (tw.full((N,), v).sync() for v in (1.0, float("nan"), 3.0))
    gate = new_gate()
    gate.put_on(streams[0])
    launch(z, x, 2.0).start_on(streams[0])  # reads x, later
    launch(x, w, 1.0).start_on(streams[1])  # must not write x before
    assert not streams[1].record().wait(A_WHILE)
    gate.open()
    all_are(z, 2.0)
    all_are(x, 3.0)


def test_copies_fills_and_graphs_are_ordered_too(streams):
    x, z, w = (tw.full((N,), v).sync() for v in (1.0, float("nan"), float("nan")))
    graph = launch(w, z, 10.0).graph_on(streams[3])
    gate = new_gate()
    gate.put_on(streams[0])
    launch(z, x, 2.0).start_on(streams[0])
    graph.launch().start_on(streams[1])
    copied = z.dup().start_on(streams[2])
    tw.fill(z, 7.0).start_on(streams[3])
    for stream in streams[1:]:
        assert not stream.record().wait(A_WHILE)
    gate.open()
    all_are(w, 20.0)
    all_are(copied, 2.0)
    all_are(z, 7.0)


def test_independent_work_is_not_held_up(streams):
    x, z, w = (tw.full((N,), v).sync() for v in (1.0, float("nan"), float("nan")))
    gate = new_gate()
    gate.put_on(streams[0])
    launch(z, x, 2.0).start_on(streams[0])
    launch(w, x, 3.0).sync_on(streams[1])  # reads x beside it
    all_are(w, 3.0)
    gate.open()
    all_are(z, 2.0)


@pytest.mark.parametrize("seed", range(4))
def test_random_work_on_random_streams_means_one_after_the_other(streams, seed):
    rng = np.random.default_rng(seed)
    tensors = [tw.full((N,), float(i + 1)).sync() for i in range(4)]
    expected = [float(i + 1) for i in range(4)]
    gates = [new_gate() for _ in streams]
    for gate, stream in zip(gates, streams, strict=True):
        gate.put_on(stream)
    for _ in range(60):
        target, source = rng.choice(4, 2, replace=False)
        factor = float(rng.choice([0.5, 1.0, 2.0]))
        launch(tensors[target], tensors[source], factor).start_on(streams[rng.integers(4)])
        expected[target] = expected[source] * factor
    for i in rng.permutation(4):
        gates[i].open()
    for tensor, value in zip(tensors, expected, strict=True):
        all_are(tensor, value)


@pytest.mark.cpu_alone  # a GPU may not be done when the copy has been put there
@pytest.mark.parametrize("from_host", [False, True])
@pytest.mark.parametrize("borrowed", [False, True])
def test_a_copy_that_is_over_leaves_nothing_to_be_looked_at(streams, from_host, borrowed):
    """So launches and replays that follow are as quick as others."""
    x, y, z = (tw.full((N,), value).sync() for value in (1.0, 2.0, float("nan")))
    target = x.borrow_mut() if borrowed else x
    target.copy_from(np.full(N, 2.0, "f4") if from_host else y).sync_on(streams[0])
    looks = [tensor.region.storage.state.slow_path for tensor in (x, y)]
    assert looks[0] == (SlowPath.EXCLUSIVE if borrowed else 0)
    assert not looks[1] & SlowPath.PENDING
    launch(z, x, 3.0).sync_on(streams[1])
    all_are(z, 6.0)


@pytest.mark.parametrize("from_host", [False, True])
def test_launches_come_after_a_copy_that_is_held_up(streams, from_host):
    x, y, z = (tw.full((N,), value).sync() for value in (1.0, 2.0, float("nan")))
    graph = launch(z, x, 3.0).graph_on(streams[1])
    gate = new_gate()
    gate.put_on(streams[0])
    x.copy_from(np.full(N, 2.0, "f4") if from_host else y).start_on(streams[0])
    graph.launch().start_on(streams[1])
    y.copy_from(np.full(N, 7.0, "f4")).start_on(streams[2])  # not before it has been read
    assert not streams[1].record().wait(A_WHILE)
    gate.open()
    all_are(z, 6.0)
    all_are(y, 7.0)


def test_a_borrow_can_be_used_after_a_copy_into_it(streams):
    x, z = tw.full((N,), 1.0).sync(), tw.full((N,), float("nan")).sync()
    borrow = z.borrow_mut()
    borrow.copy_from(x).start_on(streams[0])
    borrow.copy_from(np.full(N, 5.0, "f4")).start_on(streams[1])
    launch(x, z, 2.0).start_on(streams[2])
    with pytest.raises(tw.BorrowError):
        borrow.copy_from(x).sync()
    all_are(x, 10.0)
