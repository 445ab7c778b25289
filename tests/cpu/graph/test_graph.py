from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import only_called
from support.lending import lent
from support.numbers import fresh_rng
from tilewright import f32, i32

DEVICES = ["cpu", "cpu, by a call of Python", "reference"]


@pytest.fixture(params=DEVICES, autouse=True)
def device(request):
    name, *called = request.param.split(", ")
    with tw.device(name) as found, only_called() if called else nullcontext():
        yield found


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32], rows: tl.Tensor[i32]) -> None:
    at = rows.load_tile((1,), [0]).item()
    z.store(x.partition(z.shape).load([at]))


def some(n=12):
    return tw.from_numpy(fresh_rng().random(n).astype("f4")).sync()


def poisoned(n=12):
    return tw.full((n,), float("nan")).sync()


def same(tensor, expected):
    np.testing.assert_array_equal(tensor.to_numpy(), np.asarray(expected, "f4"))


def test_nothing_runs_before_the_first_launch(device):
    z, x, y = poisoned(), some(), some()
    graph = add(z.partition_mut(4), x, y).graph_on(device.new_stream())
    assert np.isnan(z.to_numpy()).all()
    graph.launch().sync()
    same(z, x.to_numpy() + y.to_numpy())
    assert graph.nodes == ("add",)


def test_replays_see_new_inputs(device):
    x, y, z, w = some(), some(), poisoned(), poisoned()
    chain = add(z.partition_mut(4), x, y).then(
        lambda z, *_: scale(w.partition_mut(4), z.unpartition(), 2.0)
    )
    graph = chain.graph()
    for _ in range(3):
        fresh = fresh_rng().random(12).astype("f4")
        graph.update(x.copy_from(fresh))
        graph.launch().sync_on(graph.stream)
        same(w, (fresh + y.to_numpy()) * np.float32(2))


def test_the_output_can_be_taken_once():
    z, x = poisoned(), some()
    graph = scale(z.partition_mut(4), x, 3.0).out().graph()
    assert graph.take_output() is z
    with pytest.raises(tw.BorrowError, match="was taken already"):
        graph.take_output()
    graph.launch().sync()
    same(z, x.to_numpy() * np.float32(3))


def test_memory_that_a_captured_op_makes_belongs_to_the_graph():
    x = some()
    graph = scale(tw.empty((12,)).partition((4,)), x, 2.0).out().graph()
    z = graph.take_output()
    with pytest.raises(tw.BorrowError, match="nothing has written"):
        z.to_numpy()
    for _ in range(2):
        graph.launch().sync()
        same(z, x.to_numpy() * np.float32(2))


def test_what_creation_functions_make_is_filled_once_when_captured():
    z = poisoned()
    graph = add(z.partition_mut(4), tw.full((12,), 2.0), tw.ones((12,))).graph()
    graph.launch().sync()
    same(z, np.full(12, 3.0))


def test_scope_records_op_by_op(device):
    x, y, z, w = some(), some(), poisoned(), poisoned()
    with tw.CudaGraph.scope(device.new_stream()) as s:
        s.record(add(z.partition_mut(4), x, y))
        s.record(scale(w.partition_mut(4), z, 2.0))
    assert np.isnan(w.to_numpy()).all()
    s.graph.launch().sync()
    same(w, (x.to_numpy() + y.to_numpy()) * np.float32(2))
    assert s.graph.nodes == ("add", "scale")


def test_scope_makes_its_own_stream():
    with tw.device("reference"):
        x = some()
        z = tw.zeros_like(x).sync()
        with tw.CudaGraph.scope() as scope:
            scope.record(scale(z.partition_mut(4), x, 2.0))
    assert scope.graph.device.name == "reference"
    scope.graph.launch().sync()
    same(z, 2 * x.to_numpy())


def test_scope_as_a_function(device):
    x, z = some(), poisoned()

    def body(s):
        s.record(scale(z.partition_mut(4), x, 2.0))
        return "output"

    graph = tw.CudaGraph.scope(device.new_stream(), body)
    assert graph.take_output() == "output"
    graph.launch().sync()
    same(z, x.to_numpy() * np.float32(2))


ALLOCATING = {
    "zeros": lambda x: tw.zeros((12,)),
    "from_numpy": lambda x: tw.from_numpy(np.ones(12, "f4")),
}


@pytest.mark.parametrize("name", ALLOCATING)
@pytest.mark.parametrize("hidden", [False, True])
def test_a_scope_refuses_what_allocates(name, hidden, device):
    z, x = poisoned(), some()
    op = ALLOCATING[name](x)
    if hidden:
        op = add(z.partition_mut(4), x, op)
    with pytest.raises(tw.DeviceError, match=f"`{name}` cannot be recorded in a graph scope"):  # noqa: SIM117
        with tw.CudaGraph.scope(device.new_stream()) as s:
            s.record(op)
    with pytest.raises(tw.Error, match="no graph"):
        _ = s.graph
    scale(z.partition_mut(4), x, 2.0).sync()
    same(z, x.to_numpy() * np.float32(2))


def test_a_scope_runs_nothing(device):
    z, x = poisoned(), some()
    with tw.CudaGraph.scope(device.new_stream()) as s:
        op = scale(z.partition_mut(4), x, 2.0)
        with pytest.raises(tw.Error, match="graph scope` is being started"):
            op.sync()
        s.record(scale(z.partition_mut(4), x, 3.0))
    s.graph.launch().sync()
    same(z, x.to_numpy() * np.float32(3))
    scale(z.partition_mut(4), x, 2.0).sync()


def test_empty_graphs_can_be_launched(device):
    with tw.CudaGraph.scope(device.new_stream()) as s:
        assert s.record(tw.value(5)) == 5
    s.graph.launch().sync()
    assert tw.value(5).graph().take_output() == 5


def test_host_data_cannot_be_captured():
    z, x = poisoned(), some()
    op = scale(z.partition_mut(4), x, 2.0).out().to_numpy()
    with pytest.raises(tw.Error, match="host data"):
        op.graph()


def test_a_failed_capture_leaves_everything_usable():
    z, x = poisoned(), some()

    def fail(*results):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        scale(z.partition_mut(4), x, 2.0).then(fail).graph()
    assert np.isnan(z.to_numpy()).all()
    scale(z.partition_mut(4), x, 2.0).sync()
    same(z, x.to_numpy() * np.float32(2))


def test_what_a_live_graph_writes_cannot_be_given_away():
    z, x = poisoned(), some()
    graph = scale(z.partition_mut(4), x, 2.0).graph()
    with pytest.raises(tw.BorrowError, match="the graph of `scale` writes"):
        z.partition((4,))
    with pytest.raises(tw.BorrowError, match="the graph of `scale` writes"):
        tw.move(z)
    del graph
    gc.collect()
    tw.move(z)


def test_a_view_of_the_output_blocks_the_next_replay():
    z, x = poisoned(), some()
    graph = scale(z.partition_mut(4), x, 2.0).graph()
    view = lent(z)
    with pytest.raises(tw.BorrowError, match=r"`scale\.graph` would write"):
        graph.launch().sync()
    del view
    graph.launch().sync()
    same(z, x.to_numpy() * np.float32(2))


def test_a_launch_ends_older_borrows():
    z, x = poisoned(), some()
    graph = scale(z.partition_mut(4), x, 2.0).graph()
    stale = scale(z.partition_mut(4), x, 5.0)
    graph.launch().sync()
    with pytest.raises(tw.BorrowError, match=r"written by `scale\.graph`"):
        stale.sync()


def test_the_graph_keeps_its_memory():
    x, factor = some(), 2.0
    z = poisoned()
    graph = scale(z.partition_mut(4), x, factor).graph()
    expected, kept = x.to_numpy() * np.float32(2), weakref.ref(x)
    del x
    gc.collect()
    scratch = [some() for _ in range(8)]
    assert kept() is not None or scratch
    graph.launch().sync()
    same(z, expected)


@pytest.mark.parametrize("node", [1, -2, 5])
def test_a_node_that_is_not_there(node):
    z = poisoned()
    graph = scale(z.partition_mut(4), some(), 2.0).graph()
    with pytest.raises(IndexError, match=f"the graph has 1 nodes, and no node {node}"):
        graph.set_args(node, z.partition_mut(4), some(), 3.0)


def test_a_node_is_a_number():
    z = poisoned()
    graph = scale(z.partition_mut(4), some(), 2.0).graph()
    with pytest.raises(TypeError, match=r"takes the number of a node, .* got 'scale'"):
        graph.set_args("scale", z.partition_mut(4), some(), 3.0)


def test_nodes_take_arguments_by_keyword():
    z, w, x, y = poisoned(), poisoned(), some(), some()
    graph = scale(factor=2.0, x=x, z=z.partition_mut(4)).graph()
    graph.launch().sync()
    graph.set_args(0, w.partition_mut(4), factor=3.0, x=y)
    graph.launch().sync()
    same(z, x.to_numpy() * np.float32(2))
    same(w, y.to_numpy() * np.float32(3))
    with pytest.raises(TypeError, match="`scale` needs `x` too"):
        graph.set_args(0, w.partition_mut(4), factor=3.0)


def test_nodes_take_other_arguments():
    z, w, x, y = poisoned(), poisoned(), some(), some()
    graph = scale(z.partition_mut(4), x, 2.0).graph()
    graph.launch().sync()
    graph.set_args(0, w.partition_mut(4), y, 3.0)
    graph.launch().sync()
    same(z, x.to_numpy() * np.float32(2))
    same(w, y.to_numpy() * np.float32(3))
    z.partition((4,))
    with pytest.raises(tw.LaunchError, match="only arguments like those"):
        graph.set_args(0, tw.zeros((8,)).sync().partition_mut(4), y, 3.0)
    with pytest.raises(IndexError):
        graph.set_args(1, w.partition_mut(4), y, 3.0)


def test_a_failed_check_is_raised_by_the_launch_that_failed():
    z, x = poisoned(4), some(12)
    rows = tw.from_numpy(np.array([2], "i4")).sync()
    graph = pick(z.partition_mut(4), x, rows).graph()
    graph.launch().sync()
    same(z, x.to_numpy()[8:12])
    graph.update(rows.copy_from(np.array([5], "i4")))
    with pytest.raises(tw.LaunchError, match="index out of range in `pick`"):
        graph.launch().sync()
    graph.update(rows.copy_from(np.array([1], "i4")))
    graph.launch().sync()
    same(z, x.to_numpy()[4:8])


def test_launches_on_different_streams_follow_each_other(device):
    x, z = tw.zeros((12,)).sync(), tw.zeros((12,)).sync()
    one = tw.ones((12,)).sync()
    with tw.CudaGraph.scope(device.new_stream()) as s:
        s.record(add(z.partition_mut(4), x, one))
        s.record(scale(x.partition_mut(4), z, 1.0))
    for i in range(40):
        s.graph.launch().start_on(device.streams()[i % 4])
    same(x, np.full(12, 40.0))


def test_what_fills_memory_at_capture_is_heard_of_at_the_first_launch(device):
    """The outcome of creating memory is nobody's while capturing."""

    class Breaks(tw.DeviceOp):
        def execute(self, ctx):
            making = ctx.creating(self.name)
            making.outcome(self).settle(tw.LaunchError("the filling failed"))
            return making.run(tw.zeros((4,)))

    graph = Breaks().then(lambda t: scale(tw.empty((4,)).partition(4), t, 2.0)).graph()
    with pytest.raises(tw.LaunchError, match="the filling failed"):
        graph.launch().sync()
    graph.launch().sync()


@tw.entry
def later(z: tl.TensorMut[i32], x: tl.Tensor[i32], n: i32) -> None:
    t = tl.load_tile_like(x, z)
    for _ in range(n):
        t = t * 5 + 1
    z.store(t)


def test_memory_of_a_dropped_graph_in_flight_may_be_given_away(device):
    busy = 200_000 if device.name == "cpu" else 20  # lasts a thousand times as long as the test
    x = tw.from_numpy(np.arange(64, dtype=np.int32)).sync()
    z = tw.zeros((64,), i32).sync()
    stream = device.new_stream()
    with tw.CudaGraph.scope(stream) as scope:
        scope.record(later(z.partition_mut((64,)), x, busy))
    graph = scope.graph
    graph.launch().start_on(stream)
    with pytest.raises(tw.BorrowError, match="the graph of"):
        tw.Arc(z)
    del graph, scope
    shared = tw.Arc(z)
    factor, total = pow(5, busy, 1 << 32), (pow(5, busy, 1 << 34) - 1) // 4 % (1 << 32)
    expected = np.arange(64, dtype=np.uint64) * np.uint64(factor) + np.uint64(total)
    assert np.array_equal(shared.to_numpy().view(np.uint32), expected.astype(np.uint32))
