"""Tensors in pieces over a mesh, and kernels on them."""

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

pytestmark = pytest.mark.cpu_alone


@tw.entry
def axpy(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], a: f32) -> None:
    out.store(a * tl.load_tile_like(x, out) + tl.load_tile_like(y, out))


@tw.entry
def two(low: tl.TensorMut[f32], high: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    low.store(tl.load_tile_like(x, low) - 1.0)
    high.store(tl.load_tile_like(x, high) + 1.0)


@tw.entry
def failing(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, out)
    assert tl.reduce_sum(tile, 0) < 130.0, "too large"
    out.store(tile)


@pytest.fixture(params=several.KINDS, ids=lambda kind: f"{kind[1]} of {kind[0]}")
def devices(request, monkeypatch):
    return several.make(*request.param, monkeypatch)


def poisoned(mesh, shape, cuts):
    return tw.shard(np.full(shape, math.nan, np.float32), mesh, cuts).sync()


CUTS = [{0: "a"}, {1: "a"}, {0: "b"}, {0: "a", 1: "b"}, {1: "a", 0: "b"}, {-1: "b"}]


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_there_and_back(devices, cuts):
    mesh = tw.Mesh(devices, {"a": len(devices) // 2, "b": 2})
    data = fresh_rng().standard_normal((8, 12)).astype(np.float32)
    x = tw.shard(data, mesh, cuts).sync()
    assert [piece.device for piece in x.pieces] == devices
    for number, piece in enumerate(x.pieces):
        np.testing.assert_array_equal(piece.to_numpy(), data[x.index(number)])
    np.testing.assert_array_equal(x.to_numpy(), data)
    assert tw.shard(tw.from_numpy(data), mesh, cuts).sync().shape == (8, 12)  # of an op


def test_a_kernel_runs_for_each_piece_on_its_device(devices):
    mesh = tw.Mesh(devices)
    rng = fresh_rng()
    shape = (3 * len(devices), 10)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    z = poisoned(mesh, shape, 0)
    given = z.partition_mut((2, 4)), tw.shard(x, mesh, 0).sync(), tw.shard(y, mesh, 0).sync(), 3.0
    with tw.trace() as trace:
        assert axpy(*given).sync() == given
        tw.synchronize()
    ran = {e.stream.device for e in trace.entries if e.kind == "work" and e.name == "axpy"}
    assert ran == set(devices)
    np.testing.assert_allclose(z.to_numpy(), 3 * x + y, rtol=1e-6)


def test_pieces_are_written_in_flight_and_read_in_order(devices):
    mesh = tw.Mesh(devices)
    shape = (2 * len(devices), 8)
    z, one = poisoned(mesh, shape, 0), tw.replicate(np.ones((2, 8), np.float32), mesh).sync()
    w = poisoned(mesh, shape, 0)
    axpy(z.partition_mut((2, 4)), one, one, 1.0).start()
    for _ in range(3):
        axpy(w.partition_mut((2, 4)), z, one, 2.0).start()
        axpy(z.partition_mut((2, 4)), w, one, 1.0).start()
    np.testing.assert_array_equal(z.to_numpy(), np.full(shape, 30))
    np.testing.assert_array_equal(w.to_numpy(), np.full(shape, 29))


def test_outputs_moved_in_and_out(devices):
    mesh = tw.Mesh(devices)
    shape = (len(devices), 8)
    x = tw.shard(np.arange(math.prod(shape), dtype=np.float32).reshape(shape), mesh).sync()
    outs = [poisoned(mesh, shape, 0).partition((1, 4)) for _ in range(2)]
    low, high = two(*outs, x).out().sync()
    np.testing.assert_array_equal(low.to_numpy(), x.to_numpy() - 1)
    np.testing.assert_array_equal(high.to_numpy(), x.to_numpy() + 1)


def test_it_is_awaited_and_scheduled(devices):
    mesh = tw.Mesh(devices)
    x = tw.replicate(np.ones(8, np.float32), mesh).sync()

    async def run():
        z = tw.replicate(np.zeros(8, np.float32), mesh).sync()
        return await axpy(z.partition((4,)), x, x, 1.0).out()

    for z in (
        asyncio.run(run()),
        axpy(tw.replicate(np.zeros(8, np.float32), mesh).sync().partition(4), x, x, 1.0)
        .out()
        .into_future()
        .result(),
    ):
        np.testing.assert_array_equal(z.to_numpy(), np.full(8, 2))


def test_gather_and_keywords_and_grids(devices):
    mesh = tw.Mesh(devices)
    x = tw.shard(np.arange(len(devices) * 4, dtype=np.float32), mesh).sync()
    z = poisoned(mesh, x.shape, 0)
    axpy(z.partition_mut(4), a=2.0, x=x, y=x).grid((1, 1, 1)).sync()
    whole = z.gather(devices[-1]).sync()
    assert whole.device is devices[-1]
    np.testing.assert_array_equal(whole.to_numpy(), 3 * x.to_numpy())


@pytest.mark.parametrize("first", [*CUTS[:4], {}], ids=str)
def test_pieces_are_divided_anew(devices, first):
    mesh = tw.Mesh(devices, {"a": len(devices) // 2, "b": 2})
    other = tw.Mesh(devices[::-1][:2], {"c": 2})
    data = fresh_rng().standard_normal((8, 12)).astype(np.float32)
    x = (tw.shard(data, mesh, first) if first else tw.replicate(data, mesh)).sync()
    for cuts in CUTS:
        y = tw.shard(x, mesh, cuts).sync()
        assert [piece.device for piece in y.pieces] == devices
        for number, piece in enumerate(y.pieces):
            np.testing.assert_array_equal(piece.to_numpy(), data[y.index(number)])
    y = tw.shard(x, other, 1).sync()
    assert [piece.device for piece in y.pieces] == devices[::-1][:2]
    np.testing.assert_array_equal(y.to_numpy(), data)
    for piece in tw.replicate(y, mesh).sync().pieces:
        np.testing.assert_array_equal(piece.to_numpy(), data)
    np.testing.assert_array_equal(y.gather(devices[0]).sync().to_numpy(), data)


def test_pieces_in_flight_are_divided_anew(devices):
    mesh, shape = tw.Mesh(devices), (len(devices) * 2, len(devices) * 2)
    one = tw.shard(np.ones(shape, np.float32), mesh).sync()
    z = poisoned(mesh, shape, 0)
    axpy(z.partition_mut((2, 2)), one, one, 2.0).start()
    columns = tw.shard(z, mesh, 1)
    w = tw.shard(np.zeros(shape, np.float32), mesh, 1).sync()
    chain = columns.then(lambda c: axpy(w.partition((2, 2)), c, c, 1.0).out())
    again = tw.shard(chain, mesh, 0).sync()
    np.testing.assert_array_equal(again.to_numpy(), np.full(shape, 6))


@pytest.mark.parametrize("shape", [(), (0, 4), (4, 0)], ids=str)
def test_pieces_without_elements_and_of_rank_0(shape):
    mesh, data = tw.Mesh(["cpu", "cpu"]), np.full(shape, 3, np.float32)
    x = tw.replicate(data, mesh).sync()
    np.testing.assert_array_equal(tw.replicate(x, mesh).sync().to_numpy(), data)
    np.testing.assert_array_equal(x.gather().sync().to_numpy(), data)
    if shape:
        np.testing.assert_array_equal(tw.shard(x, mesh, 1).sync().to_numpy(), data)


def test_numpy_sees_the_whole(devices):
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    xs = tw.shard(data, tw.Mesh(["cpu"] * 2, {"a": 2}), {0: "a"}).sync()
    np.testing.assert_array_equal(np.asarray(xs), data)
    assert np.asarray(xs).dtype == np.float32 and np.asarray(xs, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="by a copy alone"):
        np.asarray(xs, copy=False)


def test_a_failure_on_one_device_is_raised(monkeypatch):
    devices = several.make("cpu", 2, monkeypatch)
    mesh = tw.Mesh(devices)
    x = tw.shard(np.arange(32, dtype=np.float32), mesh).sync()
    z = poisoned(mesh, (32,), 0)
    with pytest.raises(tw.LaunchError, match="too large"):
        failing(z.partition_mut(8), x).sync()
    np.testing.assert_array_equal(z.pieces[0].to_numpy(), np.arange(16))
    failing(z.partition_mut(8), tw.shard(np.ones(32, np.float32), mesh).sync()).sync()


def test_host_arrays_go_to_all_positions(monkeypatch):
    mesh = tw.Mesh(several.make("cpu", 2, monkeypatch))
    x = tw.replicate(np.ones(8, np.float32), mesh).sync()
    z = poisoned(mesh, (16,), 0)
    axpy(z.partition_mut(4), x, np.arange(8, dtype=np.float32), 0.0).sync()
    np.testing.assert_array_equal(z.to_numpy(), np.tile(np.arange(8), 2))


# What is wrong


def test_one_tensor_among_pieces_says_what_to_do(devices):
    mesh = tw.Mesh(devices)
    x = tw.replicate(np.ones(8, np.float32), mesh).sync()
    alone = tw.ones((8,), device=devices[0]).sync()
    with pytest.raises(tw.LaunchError, match="one argument is in one piece") as caught:
        axpy(x.partition_mut(4), x, alone, 1.0)
    assert "tw.replicate" in caught.value.hint


def test_different_meshes_are_named(devices):
    one, other = tw.Mesh(devices), tw.Mesh(devices[::-1])
    x = tw.replicate(np.ones(8, np.float32), one).sync()
    y = tw.replicate(np.ones(8, np.float32), other).sync()
    with pytest.raises(tw.LaunchError, match="different meshes") as caught:
        axpy(x.partition_mut(4), x, y, 1.0)
    assert (caught.value.expected, caught.value.got) == (repr(one), repr(other))


def test_a_capture_of_several_devices_is_refused(devices):
    mesh = tw.Mesh(devices)
    x, z = (tw.replicate(np.ones(8, np.float32), mesh).sync() for _ in range(2))
    op = axpy(z.partition_mut(4), x, x, 1.0)
    with pytest.raises(tw.SchedulingError, match="a graph belongs to one device"):
        op.graph_on(devices[0].new_stream())
    op.close()


def test_a_capture_of_positions_on_one_device():
    mesh = tw.Mesh(["cpu", "cpu"])
    x, z = (tw.replicate(np.ones(8, np.float32), mesh).sync() for _ in range(2))
    graph = axpy(z.partition_mut(4), x, x, 2.0).graph_on(tw.Device.new("cpu").new_stream())
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), np.full(8, 3))


WRONG = {
    "does not divide": (lambda m: tw.shard(np.zeros((5, 4), np.float32), m), r"multiple of the 2"),
    "no axis": (lambda m: tw.shard(np.zeros((4,), np.float32), m, 1), "has no axis 1"),
    "no mesh axis": (lambda m: tw.shard(np.zeros((4,), np.float32), m, 0, "b"), "no axis 'b'"),
    "twice": (
        lambda m: tw.shard(np.zeros((4, 4), np.float32), m, {0: "devices", 1: "devices"}),
        "divides one axis",
    ),
    "of pieces": (
        lambda m: tw.shard(tw.replicate(np.zeros((5, 4), np.float32), m).sync(), m),
        r"multiple of the 2",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_shards_that_do_not_fit_are_refused_when_built(what):
    build, message = WRONG[what]
    with pytest.raises(tw.ShapeError, match=message):
        build(tw.Mesh(["cpu", "cpu"]))


def test_ops_borrow_pieces_when_they_are_built():
    mesh = tw.Mesh(["cpu"] * 2, {"a": 2})
    x = tw.shard(np.ones(4, np.float32), mesh, 0).sync()
    z = poisoned(mesh, (4,), {0: "a"})
    for build in (x.gather, lambda: axpy(z.partition_mut((2,)), x, x, 1.0)):
        op = build()
        tw.fill(x.pieces[1], 5.0).sync()
        with pytest.raises(tw.BorrowError, match=r"its shared borrow .* has ended"):
            op.sync()
    with pytest.raises(tw.BorrowError, match="a spawned op must own"):
        tw.spawn(x.gather())
