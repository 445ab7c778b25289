from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.kernels.writing import TILE, tile_of

CREATIONS = {
    "ones": lambda: tw.ones((5,)),
    "full": lambda: tw.full((5,), 3),
    "eye": lambda: tw.eye(3),
    "arange": lambda: tw.arange(5),
    "linspace": lambda: tw.linspace(0, 1, 5),
    "rand": lambda: tw.rand((5,), seed=1),
    "randn": lambda: tw.randn((5,), seed=1),
    "randint": lambda: tw.randint(0, 9, (5,), seed=1),
    "random_bits": lambda: tw.random_bits((5,), seed=1),
    "convert": lambda: tw.convert(np.arange(5.0), tw.f32),
    "dup": lambda: tw.asarray(np.arange(5)).dup(),
    "from_numpy": lambda: tw.from_numpy([1, 2]),
    "zeros_like": lambda: tw.zeros_like(np.zeros(3)),
    "full_like": lambda: tw.full_like(np.zeros(3), 2.0),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_every_ending_makes_the_same(name):
    make = CREATIONS[name]
    made = make().sync()
    expected, stream = made.to_numpy(), made.device.new_stream()

    async def awaited():
        return (await make()).to_numpy()

    for found in (
        make().sync_on(stream).to_numpy(), make().start().to_numpy(), asyncio.run(awaited()),
        make().into_future().result().to_numpy(), make().shared().sync().to_numpy(),
    ):  # fmt: skip
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", CREATIONS)
def test_a_graph_scope_refuses_it_by_name(name):
    stream, t = tw.default_device().new_stream(), tw.zeros((3,)).sync()
    with tw.CudaGraph.scope(stream) as scope:
        with pytest.raises(tw.DeviceError, match=f"`{name}` cannot be recorded in a graph scope"):
            scope.record(CREATIONS[name]())
        scope.record(tw.fill(t, 1))


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def test_captured_creations_run_once_and_copies_at_each_replay():
    x = tw.zeros((5,)).sync()
    total = add(tw.empty((5,)).partition((8,)), x, tw.rand((5,), seed=1)).out()
    graph = total.then(lambda t: tw.convert(t, tw.f64)).then(lambda t: t.dup()).graph()
    out = graph.take_output()
    drawn = tw.rand((5,), seed=1).to_numpy().sync().astype("f8")
    for value in (2.0, -1.0):
        tw.fill(x, value).sync()
        graph.launch().sync()
        np.testing.assert_allclose(out.to_numpy(), drawn + value, rtol=1e-6)


def test_recorded_fills_and_copies():
    x, y = tw.zeros((5,)).sync(), tw.zeros((5,)).sync()
    host = np.full(5, 7, "f4")
    with tw.CudaGraph.scope(tw.default_device().new_stream()) as scope:
        scope.record(tw.memcpy(y, x))
        scope.record(tw.fill(y.borrow_mut()[1:3], 9))
        scope.record(x.copy_from(host))
    assert y.to_numpy().tolist() == [0] * 5  # nothing has run yet
    scope.graph.launch().sync()
    assert (y.to_numpy().tolist(), x.to_numpy().tolist()) == ([0, 9, 9, 0, 0], [7] * 5)
    host[:] = 8  # each launch reads the array again
    scope.graph.launch().sync()
    assert (y.to_numpy().tolist(), x.to_numpy().tolist()) == ([7, 9, 9, 7, 7], [8] * 5)


@pytest.mark.parametrize(
    ("shape", "tile"),
    [((), ()), ((1,), (1,)), ((0,), (1,)), ((5,), (8,)), ((10**9,), (TILE,)),
     ((7, 5), (8, 8)), ((10**6, 3), (1024, 4)), ((3, 10**6), (1, TILE)), ((9, 9, 9), (16, 16, 16))],
)  # fmt: skip
def test_tiles(shape, tile):
    assert tile_of(shape) == tile
    assert np.prod(tile, dtype=int) <= TILE
