"""Graphs: work that is recorded once and run often."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, compilations, numbers, put, same, scale, scaled


@pytest.fixture
def stream(device):
    """Where graphs are captured."""
    return device.new_stream()


def test_b194_any_op_becomes_a_graph(rng, stream):
    """`op.graph_on(stream)` makes a graph of an op's work."""
    x = put(numbers(rng, 64))
    graph = tw.value(x).then(scaled, 2.0).then(scaled, 3.0).graph_on(stream)
    assert len(graph.nodes) == 2
    out = graph.take_output()
    graph.launch().sync_on(stream)
    same(out, np.float32(3) * (np.float32(2) * x.to_numpy()))


def test_b195_the_output_is_taken_once(rng, stream):
    """`take_output()` gives what the captured op gave, once."""
    graph = scaled(put(numbers(rng, 64)), 2.0).graph_on(stream)
    assert isinstance(graph.take_output(), tw.Tensor)
    with pytest.raises(tw.Error):
        graph.take_output()


def test_b196_a_loop_of_updates_and_launches(rng, stream):
    """New input is copied into a buffer, then the graph is launched, again and again."""
    buffer = tw.zeros((64,)).sync()
    graph = tw.value(buffer).then(scaled, 2.0).then(scaled, 3.0).graph_on(stream)
    out = graph.take_output()
    for _ in range(4):
        token = numbers(rng, 64)
        graph.update(tw.memcpy(buffer, put(token)))
        graph.launch().sync_on(stream)
        same(out, np.float32(3) * (np.float32(2) * token))


def test_b197_replays_compile_nothing(rng, stream):
    """A replay rebuilds and compiles nothing."""
    x = put(numbers(rng, 64))
    graph = scaled(x, 2.0).graph_on(stream)
    before = compilations(scale)
    for _ in range(3):
        graph.launch().sync_on(stream)
    assert compilations(scale) == before


def test_b198_buffers_of_a_captured_op_may_be_borrowed(rng, stream):
    """Buffers of a captured op are shared through `Arc` and partitioned by `try_partition`.

    Differs: buffers-of-graphs
    """
    data, hidden = numbers(rng, 64), tw.zeros((64,)).sync()
    x, out = put(data), tw.zeros((64,)).sync()
    op = scale(hidden.partition_mut((64,)), x, 2.0)
    graph = op.then(lambda *_: add(out.partition_mut((64,)), hidden, x)).graph_on(stream)
    graph.launch().sync_on(stream)
    same(out, np.float32(2) * data + data)
    shared_hidden = tw.Arc(tw.zeros((64,)).sync())
    graph = scale(shared_hidden.try_partition((64,)), x, 3.0).out().graph_on(stream)
    found = graph.take_output()
    graph.launch().sync_on(stream)
    same(found, np.float32(3) * data)


def test_b199_a_scope_records_op_by_op(rng, stream):
    """A scope records ops one by one, with borrows instead of shared ownership."""
    data = numbers(rng, 128)
    output, weights = tw.zeros((128,)).sync(), put(data)

    def body(s):
        s.record(scale(output.partition_mut((128,)), weights, 2.0))
        s.record(scale(output.partition_mut((64,)), weights, 3.0))

    graph = tw.CudaGraph.scope(stream, body)
    graph.launch().sync_on(stream)
    same(output, np.float32(3) * data)
    with tw.CudaGraph.scope(stream) as s:
        s.record(scale(output.partition_mut((128,)), weights, 4.0))
    s.graph.launch().sync_on(stream)
    same(output, np.float32(4) * data)


def test_b200_a_record_releases_its_borrows(rng, stream):
    """What one record wrote may be read by the next."""
    data = numbers(rng, 64)
    x, hidden, out = put(data), tw.zeros((64,)).sync(), tw.zeros((64,)).sync()
    with tw.CudaGraph.scope(stream) as s:
        s.record(scale(hidden.partition_mut((64,)), x, 2.0))
        s.record(add(out.partition_mut((64,)), hidden, x))
    for _ in range(2):
        s.graph.launch().sync_on(stream)
        same(out, np.float32(2) * data + data)


ALLOCATING = {
    "zeros": lambda x: tw.zeros((64,)),
    "ones": lambda x: tw.ones((64,)),
    "dup": lambda x: x.dup(),
    "an output that is made": lambda x: scale(tw.zeros((64,)).partition((64,)), x, 2.0),
    "an input that is made": lambda x: scale(x.partition_mut((64,)), tw.ones((64,)), 2.0),
}


@pytest.mark.parametrize("name", ALLOCATING)
def test_b201_ops_that_allocate_are_no_nodes(name, rng, device):
    """What allocates cannot be recorded in a scope: the compiler refuses it.

    Differs: checked-while-running
    """
    x = put(numbers(rng, 64))
    with tw.CudaGraph.scope(device.new_stream()) as s:
        op = ALLOCATING[name](x)
        with pytest.raises(tw.Error, match="allocates"):
            s.record(op)


def test_b202_launches_copies_and_values_are_nodes(rng, stream):
    """Kernel launches, `memcpy` and `value` can be recorded."""
    data = numbers(rng, 64)
    x, y, z = put(data), tw.zeros((64,)).sync(), tw.zeros((64,)).sync()
    with tw.CudaGraph.scope(stream) as s:
        s.record(tw.memcpy(y, x))
        s.record(scale(z.partition_mut((64,)), y, 2.0))
        assert s.record(tw.value(17)) == 17
    s.graph.launch().sync_on(stream)
    same(z, np.float32(2) * data)
    assert len(s.graph.nodes) == 2


def test_b203_update_runs_an_op_on_the_stream_of_the_graph(rng, stream):
    """`graph.update(op)` runs an op on the graph's stream; the graph stays as it is."""
    graph = scaled(put(numbers(rng, 64)), 2.0).graph_on(stream)
    nodes = graph.nodes
    assert graph.update(tw.with_context(lambda ctx: tw.value(ctx.stream))) is stream
    assert graph.nodes == nodes


def test_b204_a_launch_of_a_graph_is_an_op(rng, stream):
    """`graph.launch()` is an op, with all combinators and endings."""
    x = put(numbers(rng, 64))
    graph = scaled(x, 2.0).graph_on(stream)
    out = graph.take_output()
    launch = graph.launch()
    assert isinstance(launch, tw.DeviceOp)
    found = launch.then(lambda *_: scaled(out, 3.0)).sync()
    same(found, np.float32(3) * (np.float32(2) * x.to_numpy()))


def test_b205_addresses_are_those_of_the_capture(rng, stream):
    """A graph uses the memory it was captured with, whatever the variables hold later."""
    data = numbers(rng, 64)
    x, z = put(data), tw.zeros((64,)).sync()
    graph = scale(z.partition_mut((64,)), x, 2.0).graph_on(stream)
    kept, x = x, put(numbers(rng, 64))
    tw.memcpy(kept, put(data + 1)).sync()
    graph.launch().sync_on(stream)
    same(z, np.float32(2) * (data + 1))
    del x


def test_b206_input_varies_through_a_buffer(rng, stream):
    """To vary the input, one fills a buffer that the graph reads."""
    buffer, z = tw.zeros((64,)).sync(), tw.zeros((64,)).sync()
    with tw.CudaGraph.scope(stream) as s:
        s.record(scale(z.partition_mut((64,)), buffer, 2.0))
    for _ in range(3):
        data = numbers(rng, 64)
        s.graph.update(buffer.copy_from(data))
        s.graph.launch().sync_on(stream)
        same(z, np.float32(2) * data)


def test_b207_capturing_launches_nothing(rng, stream):
    """Capturing runs the work once; `take_output` gives what that run made.

    Differs: capturing-launches-nothing
    """
    x, z = put(numbers(rng, 64)), tw.full((64,), 7.0).sync()
    graph = scale(z.partition_mut((64,)), x, 2.0).graph_on(stream)
    same(z, np.full(64, 7))
    graph.launch().sync_on(stream)
    same(z, np.float32(2) * x.to_numpy())


READS = {
    "to_numpy": lambda t: t.to_numpy(),
    "item": lambda t: t[0].item(),
    "asarray": np.asarray,
}


@pytest.mark.parametrize(
    "read", ["to_numpy", "item", pytest.param("asarray", marks=pytest.mark.cpu_alone)]
)
def test_b208_data_is_not_read_while_a_graph_is_captured(read, rng):
    """Nothing is executed inside of a capture, so nothing that it writes can be read there."""
    x, z = put(numbers(rng, 4)), tw.zeros((4,)).sync()
    op = scale(tw.zeros((4,)).partition((4,)), x, 2.0).out().map(READS[read])
    with pytest.raises(tw.Error):
        op.graph()

    def body(s):
        s.record(scale(z.partition_mut((4,)), x, 2.0))
        READS[read](z)

    with pytest.raises(tw.Error):
        tw.CudaGraph.scope(tw.default_device().new_stream(), body)


def test_b209_host_data_is_no_part_of_a_graph(rng, stream):
    """A copy to the host is refused in a capture, by its name."""
    with pytest.raises(tw.Error, match="to_numpy"):
        scaled(put(numbers(rng, 64)), 2.0).to_numpy().graph_on(stream)


def test_b210_a_graph_runs_on_any_stream(rng, device, stream):
    """A launch of a graph is sent to a stream as every op is."""
    x = put(numbers(rng, 64))
    graph = scaled(x, 2.0).graph_on(stream)
    out = graph.take_output()
    graph.launch().sync_on(device.new_stream())
    same(out, np.float32(2) * x.to_numpy())
