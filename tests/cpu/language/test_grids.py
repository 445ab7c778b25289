"""Where blocks stand: grids of every rank, empty ones, long ones, and several outputs."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, output
from tilewright import f32, i32


@pytest.mark.thinned
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (2, 3, 1, 4), (1, 2, 1, 3, 2)], ids=str)
def test_block_numbers(device, shape):
    """Each block writes where it stands along every axis; more than three axes work."""

    @tw.entry
    def number(out: tl.TensorMut[i32], sizes: tl.TensorMut[i32]) -> None:
        total = tl.block_id(0) * 0
        size = tl.num_blocks(0) * 0
        for axis in tl.static_range(out.rank):
            total = total * 10 + tl.block_id(axis)
            size = size * 10 + tl.num_blocks(axis)
        out.store(tl.full(out.shape, total))
        sizes.store(tl.full(out.shape, size))

    with tw.device(device):
        out, sizes = Output(shape, i32), Output(shape, i32)
        ones = (1,) * len(shape)
        number(out.cut(*ones), sizes.cut(*ones)).sync()
    weights = [10 ** (len(shape) - 1 - k) for k in range(len(shape))]
    expected = sum(i * w for i, w in zip(np.indices(shape), weights, strict=True))
    size = sum(n * w for n, w in zip(shape, weights, strict=True))
    assert_all(["number", "size"], [out.result(), sizes.result()],
               [expected.astype(np.int32), np.full(shape, size, np.int32)])  # fmt: skip


@tw.entry
def place(out: tl.TensorMut[i32]) -> None:
    x, y, z = tl.get_tile_block_id()
    nx, ny, nz = tl.get_num_tile_blocks()
    out.store(tl.full((1, 1, 1), ((x * ny + y) * nz + z) * 1000 + nx))


def test_three_axes(device):
    with tw.device(device):
        out = Output((3, 4, 5), i32)
        place(out.cut(1, 1, 1)).sync()
    expected = np.arange(60).reshape(3, 4, 5) * 1000 + 3
    assert_all(["place"], [out.result()], [expected.astype(np.int32)])


@tw.entry
def fill(out: tl.TensorMut[i32]) -> None:
    i, j, k = tl.get_tile_block_id()
    out.store(tl.full(out.shape, i * 7 + j * 3 + k + 1))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_more_than_65535_blocks_along_an_axis(axis):
    shape = [1, 1, 1]
    shape[axis] = 70_001
    with tw.device("cpu"):
        out = Output(shape, i32)
        fill(out.cut(1, 1, 1)).sync()
    factor = (7, 3, 1)[axis]
    expected = (np.arange(70_001) * factor + 1).astype(np.int32).reshape(shape)
    assert_all([str(axis)], [out.result()], [expected])


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (0, 0, 0), (3, 0, 2, 1)], ids=str)
def test_empty_grids_run_nothing(device, shape, capsys):
    @tw.entry
    def talk(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        print("a block")
        out.store(tl.load_tile_like(x, out))

    x = np.zeros(shape, np.float32)
    with tw.device(device):
        out = output(x)
        talk(out.cut(*[4] * len(shape)), x).sync()
    assert out.result().shape == shape
    assert capsys.readouterr().out == ""


def test_several_outputs_of_several_types(device, rng):
    @tw.entry
    def split(
        whole: tl.TensorMut[i32],
        rest: tl.TensorMut[f32],
        big: tl.TensorMut,
        row: tl.TensorMut[f32],
        x: tl.Tensor[f32],
    ) -> None:
        tile = tl.load_tile_like(x, whole)
        down = tl.floor(tile)
        whole.store(down.astype(i32))
        rest.store(tile - down)
        big.store(tile > 2.0)
        row.store(tl.reduce_sum(tile, 1, keepdims=True))

    x = rng.uniform(-9, 9, (13, 8)).astype(np.float32)
    with tw.device(device):
        outs = [Output(x.shape, i32), output(x), Output(x.shape, tw.bool_), Output((13, 1), f32)]
        cuts = [outs[0].cut(4, 8), outs[1].cut(4, 8), outs[2].cut(4, 8), outs[3].cut(4, 1)]
        split(*cuts, x).sync()
    whole, rest, big, row = (o.result() for o in outs)
    down = np.floor(x)
    assert_all(["whole", "rest", "big"], [whole, rest, big],
               [down.astype(np.int32), x - down, x > 2])  # fmt: skip
    np.testing.assert_allclose(row, x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)


def test_outputs_of_two_ranks_share_a_grid(device, rng):
    """Rows and their sums: (n, 1) blocks and n blocks are the same grid."""

    @tw.entry
    def sums(out: tl.TensorMut[f32], copy: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, copy)
        copy.store(tile)
        out.store(tl.reduce_sum(tl.abs(tile), 1))

    x = rng.standard_normal((11, 16)).astype(np.float32)
    with tw.device(device):
        out, copy = Output((11,), f32), output(x)
        sums(out.cut(4), copy.cut(4, 16), x).sync()
    assert_all(["copy"], [copy.result()], [x])
    np.testing.assert_allclose(out.result(), np.abs(x).sum(1), rtol=1e-5)


def test_grids_given_by_hand(device, capsys):
    @tw.entry
    def hello(n: i32) -> None:
        x, y, z = tl.get_tile_block_id()
        nx, ny, nz = tl.get_num_tile_blocks()
        print(f"<{x}, {y}, {z}> of <{nx}, {ny}, {nz}>: {n}")

    with tw.device(device):
        hello(7).grid((2, 1, 3)).sync()
        hello(8).const_grid((1, 2, 1)).sync()
    expected = [f"<{x}, 0, {z}> of <2, 1, 3>: 7" for x in range(2) for z in range(3)]
    expected += [f"<0, {y}, 0> of <1, 2, 1>: 8" for y in range(2)]
    assert capsys.readouterr().out.splitlines() == expected


def test_arguments_come_back_in_order(device):
    """Launchers give back the very objects they were given."""

    @tw.entry
    def scale(out: tl.TensorMut[f32], x: tl.Tensor[f32], by: f32) -> None:
        out.store(tl.load_tile_like(x, out) * by)

    x = np.ones(5, np.float32)
    with tw.device(device):
        out = tw.zeros((5,)).sync().partition((4,))
        given, same, number = scale(out, x, 2.5).sync()
        assert given is out and same is x and number == 2.5
        assert given.unpartition().to_numpy().tolist() == [2.5] * 5
