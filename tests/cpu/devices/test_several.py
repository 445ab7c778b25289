"""Several devices in one process: streams, order, copies, graphs, policies."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import several
from support.numbers import fresh_rng
from tilewright import f32
from tilewright.devices.protocol import Stream

pytestmark = pytest.mark.cpu_alone
EXTENT, TILE = 37, 16


@tw.entry
def scaled(out: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    out.store(tl.load_tile_like(x, out) * factor + 1.0)


@pytest.fixture(params=several.KINDS, ids=lambda kind: f"{kind[1]} of {kind[0]}")
def machines(request, monkeypatch):
    """Two or four devices, of the CPU or simulated."""
    return several.make(*request.param, monkeypatch)


def poisoned(device):
    return tw.full((EXTENT,), math.nan, device=device).sync()


def test_all_are_listed_and_found_by_name(machines):
    assert set(machines) <= set(tw.devices())
    assert [tw.Device.new(device.name) for device in machines] == machines
    assert len({device.name for device in machines}) == len(machines)


def test_each_has_streams_of_its_own(machines):
    streams = [stream for device in machines for stream in (*device.streams(), device.new_stream())]
    assert len({id(stream) for stream in streams}) == len(streams)
    for stream in streams:
        assert isinstance(stream, Stream)
        host = tw.ones((3,), device=stream.device).to_numpy().sync_on(stream)
        np.testing.assert_array_equal(host, [1, 1, 1])
    tw.synchronize()
    assert all(stream.idle() for stream in streams)


def test_a_tensor_travels_around(machines):
    data = fresh_rng().standard_normal(EXTENT).astype(np.float32)
    x, expected = tw.from_numpy(data, device=machines[0]).sync(), data
    for device in (*machines[1:], machines[0]):
        x = x.to(device).start()  # the next one waits for this, on the device
        assert x.device is device
        out = poisoned(device)
        scaled(out.partition_mut(TILE), x, 0.5).start()
        x, expected = out, expected * np.float32(0.5) + 1
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_views_travel(machines):
    first, second = machines[:2]
    data = fresh_rng().standard_normal((6, 8)).astype(np.float32)
    x = tw.from_numpy(data, device=first).sync()
    np.testing.assert_array_equal(x[1:4, 2:7].to(second).sync().to_numpy(), data[1:4, 2:7])
    out = tw.zeros((6, 8), device=second).sync()
    tw.memcpy(out, x).sync()
    np.testing.assert_array_equal(out.to_numpy(), data)


def test_random_programs_are_as_in_order(machines):
    """Launches in place and copies between devices, all in flight; then NumPy says the same."""
    rng = fresh_rng()
    tensors = [poisoned(device) for device in machines for _ in range(2)]
    model = []
    for tensor in tensors:
        data = rng.standard_normal(EXTENT).astype(np.float32)
        tw.memcpy(tensor, data).start()
        model.append(data.copy())
    for _ in range(40):
        source, target = rng.choice(len(tensors), 2, replace=False)
        if tensors[source].device is tensors[target].device and rng.random() < 0.7:
            factor = float(np.float32(rng.uniform(-1, 1)))
            scaled(tensors[target].partition_mut(TILE), tensors[source], factor).start()
            model[target] = model[source] * np.float32(factor) + np.float32(1)
        else:
            tw.memcpy(tensors[target], tensors[source]).start()
            model[target] = model[source].copy()
    for tensor, expected in zip(tensors, model, strict=True):
        np.testing.assert_allclose(tensor.to_numpy(), expected, rtol=1e-6, atol=1e-6)


def test_graphs_of_each_device(machines):
    graphs = []
    for number, device in enumerate(machines):
        x, out = tw.full((EXTENT,), float(number), device=device).sync(), poisoned(device)
        with tw.CudaGraph.scope(device.new_stream()) as scope:
            scope.record(scaled(out.partition_mut(TILE), x, 2.0))
        graphs.append((scope.graph, x, out))
    for graph, x, _ in graphs:
        tw.memcpy(x, np.full(EXTENT, 3, np.float32)).start()
        graph.launch().start()
    for _, _, out in graphs:
        np.testing.assert_array_equal(out.to_numpy(), np.full(EXTENT, 7))


def test_a_graph_belongs_to_one_device(machines):
    first, second = machines[:2]
    x, out = tw.ones((EXTENT,), device=first).sync(), poisoned(first)
    with tw.CudaGraph.scope(first.new_stream()) as scope:
        scope.record(scaled(out.partition_mut(TILE), x, 2.0))
    with pytest.raises(tw.Error, match="another device"):
        scope.graph.launch().sync_on(second.new_stream())


def test_a_launch_on_two_devices_says_how_to_copy(machines):
    first, second = machines[:2]
    x, out = tw.ones((EXTENT,), device=second).sync(), poisoned(first)
    with pytest.raises(tw.LaunchError, match="live on different devices") as caught:
        scaled(out.partition_mut(TILE), x, 2.0)
    assert caught.value.hint == f"copy to one device first: x.to({first.name!r})"
    scaled(out.partition_mut(TILE), x.to(first.name), 2.0).sync()  # as it says
    np.testing.assert_array_equal(out.to_numpy(), np.full(EXTENT, 3))


def test_a_policy_spreads_ops(machines):
    policy = tw.SpreadDevices(machines)
    with tw.with_default_device_policy(policy):
        made = [tw.ones((EXTENT,)).sync() for _ in range(2 * len(machines))]
    assert [t.device for t in made] == [*machines, *machines]
    outs = [poisoned(t.device) for t in made]
    ops = [scaled(o.partition_mut(TILE), t, 2.0) for o, t in zip(outs, made, strict=True)]
    for future in [op.schedule(policy) for op in ops]:  # each runs where its tensors are
        future.result()
    for out in outs:
        np.testing.assert_array_equal(out.to_numpy(), np.full(EXTENT, 3))


def test_a_policy_refuses_other_devices(machines):
    policy = tw.SpreadDevices(machines[:1])
    with pytest.raises(tw.SchedulingError, match="another device"):
        tw.ones((3,), device=machines[1]).schedule(policy)
    with pytest.raises(tw.SchedulingError, match="needs devices"):
        tw.SpreadDevices([])


def test_ops_of_several_devices_are_awaited_together(machines):
    async def all_of_them():
        ops = [tw.full((3,), float(n), device=d) for n, d in enumerate(machines)]
        return await asyncio.gather(*ops)

    for number, tensor in enumerate(asyncio.run(all_of_them())):
        np.testing.assert_array_equal(tensor.to_numpy(), [number] * 3)


def test_a_name_that_is_none_says_how_to_get_more(monkeypatch):
    several.make("cpu", 2, monkeypatch)
    with pytest.raises(tw.ContextError, match="cpu:7") as caught:
        tw.zeros((2,), device="cpu:7")
    assert '"cpu:1"' in str(caught.value)
    assert "TILEWRIGHT_CPU_DEVICES" in str(caught.value)
