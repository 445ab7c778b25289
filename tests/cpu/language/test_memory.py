"""Loads and stores: every element type, padding, partitions, strides, ranks and grids."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY, Output, assert_all, bits_of, held, output, run
from tilewright.base.dtypes import (
    ALL,
    INTS,
    bool_,
    f4e2m1fn,
    f8e4m3fn,
    f8e8m0fnu,
    f32,
    i32,
    int_range,
)

STORED = [t for t in ALL if t is not f4e2m1fn]


def random_bytes(dtype, shape, rng):
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
    if dtype.is_bool:
        raw &= 1
    return raw.view(dtype.np).reshape(shape)


def padded(array, shape, value=0):
    whole = np.full(shape, value, array.dtype)
    whole[tuple(slice(n) for n in array.shape)] = array
    return whole


@tw.entry
def copy(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.load_tile_like(x, out))


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_every_type_is_copied_bit_for_bit(device, dtype, rng):
    for count in BOUNDARY:
        x = random_bytes(dtype, (count,), rng)
        with tw.device(device):
            z = Output(x.shape, dtype)
            copy(z.cut(16), held(x, dtype)).sync()
        assert (bits_of(z.result()) == bits_of(x)).all()


@pytest.mark.parametrize(
    "shape",
    [(7, 9), (8, 16), (9, 17), (1, 1), (0, 3), (3, 0), (3, 5, 7), (2, 4, 8), (1, 0, 1),
     (2, 3, 5, 7), (1, 1, 1, 1), (2, 2, 0, 3)],
    ids=str,
)  # fmt: skip
def test_ranks_and_edges(device, shape, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    with tw.device(device):
        z = output(x)
        copy(z.cut(*[2, 4, 8, 16][-len(shape) :]), x).sync()
    assert_all(["copy"], [z.result()], [x])


PADDINGS = {
    **{t: {"": 0, "1": 1, "7": 7, **{str(n): n for n in int_range(t)}} for t in INTS},
    bool_: {"": False, "True": True},
    **{
        t: {"": 0.0, "1.5": 1.5, "tl.neg_inf": -np.inf, "tl.pos_inf": np.inf, "tl.nan": np.nan,
            "tl.zero": 0.0, "tl.neg_zero": -0.0}
        for t in (tw.f16, tw.bf16, f32, tw.f64)
    },
    f8e4m3fn: {"": 0.0, "1.5": 1.5, "tl.nan": np.nan}, tw.f8e5m2: {"": 0.0, "tl.neg_inf": -np.inf},
    f8e8m0fnu: {"1": 1.0, "tl.nan": np.nan, "0.5": 0.5}, tw.tf32: {"": 0.0, "1.5": 1.5},
}  # fmt: skip


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", PADDINGS, ids=str)
def test_padding_of_every_type(device, dtype, rng):
    x = random_bytes(dtype, (5, 11), rng)
    table = PADDINGS[dtype]
    texts = [f"in_x.load_tile((8, 16), [0, 0]{', padding=' * bool(p)}{p})" for p in table]
    texts += [f"in_x.partition((8, 16), padding={p or 0}).load((0, 0))" for p in [*table][:2]]
    values = [*table.values(), *[*table.values()][:2]]
    got = run(texts, device, {"x": (x, dtype)}, dtype, tile=(8, 16), shape=(8, 16), load="{}")
    with np.errstate(invalid="ignore"):
        assert_all(texts, got, [padded(x, (8, 16), np.array(v, dtype.np)) for v in values])


def test_masks_of_loaded_tiles(device, rng):
    texts = ["x.mask()", "tl.where(x.mask(), True, False)", "x.mask().T.T", "~x.mask() ^ True"]
    for shape in ((5, 11), (8, 16), (1, 1)):
        x = rng.standard_normal(shape).astype(np.float32)
        got = run(texts, device, {"x": x}, bool_, tile=(8, 16), shape=(8, 16),
                  load="{}.load_tile((8, 16), [0, 0])")  # fmt: skip
        assert_all(texts, got, [padded(np.ones(shape, bool), (8, 16))] * len(texts))


# --- partitions --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_permuted_partitions(device, order, rng):
    """Tile axis k runs along axis order[k] of the tensor."""

    @tw.entry
    def permuted(
        out: tl.TensorMut, again: tl.TensorMut, counts: tl.TensorMut[i32], x: tl.Tensor,
        *, ORDER: tl.Const[tuple],
    ) -> None:  # fmt: skip
        i, j, k = tl.get_tile_block_id()
        tiles = x.partition(out.shape, dim_map=ORDER)
        out.store(tiles.load([i, j, k]))
        again.store(x.partition_permuted(again.shape, ORDER).load((i, j, k)))
        a, b, c = tiles.grid
        counts.store(tl.full((1, 1, 1), a * 10000 + b * 100 + c))

    x = rng.standard_normal((5, 9, 6)).astype(np.float32)
    expected = x.transpose(order)
    with tw.device(device):
        z, again = output(expected), output(expected)
        grid = tuple(-(-n // t) for n, t in zip(expected.shape, (2, 4, 8), strict=True))
        counts = Output(grid, i32)
        permuted(z.cut(2, 4, 8), again.cut(2, 4, 8), counts.cut(1, 1, 1), x, ORDER=order).sync()
    number = np.full(grid, grid[0] * 10000 + grid[1] * 100 + grid[2], np.int32)
    assert_all(["out", "again", "grid"], [z.result(), again.result(), counts.result()],
               [expected, expected, number])  # fmt: skip


@tw.entry
def reversed_tiles(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """The tiles of a row in the opposite order, each form of load in turn."""
    row, _, _ = tl.get_tile_block_id()
    tiles = x.partition((1, 4))
    parts = out.partition_mut((1, 4))
    assert tiles.shape == (1, 4) and tiles.rank == 2 and tiles.dtype is f32
    count = tl.num_tiles(tiles, 1)
    for j in range(count):
        back = count - 1 - j
        if j % 3 == 0:
            tile = tiles.load([row, back])
        elif j % 3 == 1:
            tile = tiles.load_pipelined((row, back), 3)
        else:
            tile = tiles.load((row, back), latency=2, allow_tma=False)
        parts.store(tile, [0, j])


def test_loops_over_partitions(device, rng):
    x = rng.standard_normal((5, 20)).astype(np.float32)
    with tw.device(device):
        z = output(x)
        reversed_tiles(z.cut(1, 32), x).sync()
    expected = x.reshape(5, 5, 4)[:, ::-1].reshape(5, 20)
    assert_all(["reversed"], [z.result()], [expected])


@tw.entry
def nested(out: tl.TensorMut[i32], count: tl.TensorMut[i32], *, PART: tl.Const[tuple]) -> None:
    """Writes each element's place in its block's region, part by part."""
    i, j, _ = tl.get_tile_block_id()
    parts = out.partition_mut(PART)
    rows, columns = parts.grid
    for r in range(rows):
        for c in range(columns):
            row = tl.arange(PART[0])[:, None] + r * PART[0]
            column = tl.arange(PART[1])[None, :] + c * PART[1]
            block = (i * 10 + j) * 10000
            parts.store(block + row * 100 + column, [r, c])
    count.store(tl.full((1, 1), rows * 100 + columns))


@pytest.mark.parametrize("part", [(2, 4), (8, 16), (16, 2), (1, 32), (16, 32), (1, 1)], ids=str)
@pytest.mark.parametrize("shape", [(19, 33), (8, 16), (3, 5), (17, 16)], ids=str)
def test_nested_partitions(device, part, shape):
    """Parts may be larger than the region: what leaves it must not reach the neighbour."""
    with tw.device(device):
        z = Output(shape, i32)
        grid = tuple(-(-n // t) for n, t in zip(shape, (8, 16), strict=True))
        count = Output(grid, i32)
        nested(z.cut(8, 16), count.cut(1, 1), PART=part).sync()
    row, column = np.indices(shape)
    expected = (row // 8 * 10 + column // 16) * 10000 + row % 8 * 100 + column % 16
    tiles = -(-8 // part[0]) * 100 + -(-16 // part[1])
    assert_all(["places", "counts"], [z.result(), count.result()],
               [expected.astype(np.int32), np.full(grid, tiles, np.int32)])  # fmt: skip


@tw.entry
def own_region(out: tl.TensorMut[f32], size: tl.TensorMut[i32], *, TWICE: tl.Const[bool]) -> None:
    """Reads back what it wrote, in the order of the program."""
    tile = tl.load_tile_mut(out)
    tl.store_tile(out, tile + 1.0)
    if TWICE:
        out.store(out.load(padding=7.0) * 2.0)
        parts = out.partition_mut((2, 2))
        for k in range(tl.num_tiles(parts)):
            parts.store(parts.load([k, 0]) - 0.5, (k, 0))
    rows, columns = out.extent
    size.store(tl.full((1, 1), rows * 100 + columns))


@pytest.mark.parametrize("twice", [False, True])
def test_a_block_reads_its_own_region(device, twice, rng):
    x = rng.standard_normal((11, 5)).astype(np.float32)
    with tw.device(device):
        z, size = output(x), Output((3, 2), i32)
        z.array[...] = x
        own_region(z.cut(4, 4), size.cut(1, 1), TWICE=twice).sync()
    expected = x + 1
    if twice:
        expected = expected * 2
        expected[:, :2] -= np.float32(0.5)
        expected[:, 4:5] -= np.float32(0.5)
    extents = np.array([[404, 401], [404, 401], [304, 301]], np.int32)
    assert_all(["region", "extent"], [z.result(), size.result()], [expected, extents])


def test_shapes_as_values(device):
    @tw.entry
    def shapes(out: tl.TensorMut[i32], x: tl.Tensor) -> None:
        m, n = x.shape
        a, b = tl.get_tensor_shape(x)
        (whole,) = tl.get_tensor_shape(out)
        tiles = x.partition((2, 8))
        p, q = tl.get_index_space_shape(tiles)
        known = x.rank * 10 + x.ndim + (100 if x.dtype is f32 else 0)
        values = (m, n, a, b, whole, p, q, known, out.rank, out.shape[0])
        for k in tl.static_range(10):
            part = out.partition_mut((1,))
            part.store(tl.full((1,), values[k]), k)

    with tw.device(device):
        z = Output((10,), i32)
        shapes(z.cut(16), np.zeros((5, 19), np.float32)).sync()
    assert z.result().tolist() == [5, 19, 5, 19, 10, 3, 3, 122, 1, 16]


# --- strides -----------------------------------------------------------------------------------


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


VIEWS = {
    "sliced": lambda a: a[3:14, 2:15],
    "stepped": lambda a: a[1:23:2, ::2][:, :13],
    "backwards": lambda a: a[10::-1, 12::-1],
    "columns backwards": lambda a: a[:11, 25:12:-1],
    "transposed": lambda a: a[:13, :11].T,
    "transposed backwards": lambda a: a[12::-1, 1:12].T,
    "one row": lambda a: np.broadcast_to(a[5, :13], (11, 13)),
    "one column": lambda a: np.broadcast_to(a[:11, 5:6], (11, 13)),
    "one element": lambda a: np.broadcast_to(a[0, 0], (11, 13)),
    "in Fortran's order": lambda a: np.asfortranarray(a[:11, :13]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_strided_inputs(device, name, rng):
    base, other = rng.standard_normal((2, 26, 26)).astype(np.float32)
    x, y = VIEWS[name](base), other[:11, :13]
    assert x.shape == (11, 13)
    with tw.device(device):
        z = output(y)
        add(z.cut(4, 8), x, y).sync()
    assert_all([name], [z.result()], [x + y])


@pytest.mark.parametrize("name", [n for n in VIEWS if "one" not in n])
def test_strided_outputs(device, name, rng):
    x, y = rng.standard_normal((2, 11, 13)).astype(np.float32)
    whole = np.full((26, 26), 99, np.float32)
    target = VIEWS[name](whole)
    before = target.base if target.base is not None else target
    with tw.device(device):
        add(tw.asarray(target).partition_mut((4, 8)), x, y).sync()
    assert_all([name], [np.asarray(target)], [x + y])
    assert (before == 99).sum() == before.size - target.size


def test_a_scalar_shaped_like_nothing(device):
    """Rank 1 with one element, stride of any kind."""
    x = np.arange(6, dtype=np.float32)[3:4]
    with tw.device(device):
        z = output(x)
        add(z.cut(4), x, x[::-1]).sync()
    assert z.result().tolist() == [6]


def test_offsets_of_more_than_32_bits(rng):
    """Far apart in memory that is never touched in between, on both sides of 2**32 bytes."""
    apart = 1_500_000_000
    try:
        source, target = np.zeros((2, 3 * apart), np.uint8)
    except MemoryError:
        pytest.skip("this machine promises no more memory than it has")
    x, z = source[7::apart], target[::-1][3::apart]
    x[...] = rng.integers(1, 256, 3)
    copy(tw.asarray(z).partition_mut((2,)), x).sync()
    assert (z == x).all()


def test_an_axis_has_at_most_31_bits(device):
    """`x.shape` is made of i32, so a longer axis is refused instead of wrapping."""

    @tw.entry
    def first(out: tl.TensorMut, x: tl.Tensor) -> None:
        out.store(tl.load_tile_like(x, out, padding=0))

    long = np.broadcast_to(np.float32(2), (2**31,))
    with tw.device(device):
        z = Output((4,), f32)
        with pytest.raises(tw.ShapeError, match="axis 0 of `x` of `first` is too long"):
            first(z.cut(4), long).sync()
        first(z.cut(4), long[1:]).sync()
    assert (z.result() == 2).all()


def test_rank_zero(device):
    @tw.entry
    def scalar(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(x.load_tile((), []) * 2.0 + tl.load_tile_like(x, out) + out.load())

    with tw.device(device):
        z = tw.full((), 0.5).sync()
        scalar(z.partition_mut(()), np.array(4, np.float32)).sync()
        assert z.to_numpy() == 12.5


# --- tiles that lie like others ------------------------------------------------------------------


@tw.entry
def total(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) + tl.load_tile_like(y, out))


@tw.entry
def total_padded(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) + tl.load_tile_like(y, out, padding=-1.0))


OTHERS = [(9, 10), (10, 9), (11, 10), (10, 11), (12, 12), (8, 10), (10, 1), (0, 10), (99, 99)]


@pytest.mark.parametrize("shape", OTHERS, ids=str)
def test_other_extents_are_refused(device, shape):
    """Whether they differ by less than a tile or not: no element is written."""
    x, y = np.ones((10, 10), np.float32), np.ones(shape, np.float32)
    axis = int(shape[0] == 10)
    with tw.device(device):
        z = Output((10, 10), f32)
        for first, second, name in ((x, y, "y"), (y, x, "x")):
            with pytest.raises(tw.LaunchError) as caught:
                total(z.cut(4, 4), first, second).sync()
            text = str(caught.value)
            assert f"`{name}` must have the extents of `out`" in text
            assert f"got: {name}.shape[{axis}] = {shape[axis]}, out.shape[{axis}] = 10" in text
            assert "padding=0" in text
        assert (bits_of(z.result()) == bits_of(Output((10, 10), f32).result())).all()
        total(z.cut(4, 4), x, x).sync()
    assert (z.result() == 2).all()


@pytest.mark.parametrize("shape", [(9, 10), (10, 9), (11, 10), (12, 12), (99, 99)], ids=str)
def test_other_extents_with_a_padding_that_is_written_out(device, shape, rng):
    x, y = rng.random((10, 10), np.float32), rng.random(shape, np.float32)
    with tw.device(device):
        z = Output((10, 10), f32)
        total_padded(z.cut(4, 4), x, y).sync()
        with pytest.raises(tw.LaunchError, match="index out of range in `total_padded`: axis 0"):
            total_padded(z.cut(4, 4), x, y[:8]).sync()
    assert (z.result() == x + padded(y, (99, 99), -1)[:10, :10]).all()


def test_extents_are_compared_wherever_the_load_stands(device):
    def taken(x, out):
        return tl.load_tile_like(x, out)

    @tw.entry
    def sometimes(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
        tile = out.load()
        for k in range(n):
            if k == 3:
                tile += taken(x, out)
        out.store(tile)

    with tw.device(device):
        z = tw.zeros((10,)).sync()
        for n in (0, 5):
            with pytest.raises(tw.LaunchError, match="`x` must have the extents of `out`"):
                sometimes(z.partition_mut(4), np.ones(9, np.float32), n).sync()
            sometimes(z.partition_mut(4), np.ones(10, np.float32), n).sync()
        assert (z.to_numpy() == 1).all()


def test_extents_of_two_outputs_are_compared(device):
    @tw.entry
    def both(a: tl.TensorMut[f32], b: tl.TensorMut[f32]) -> None:
        a.store(a.load() + tl.load_tile_like(b, a) + tl.load_tile_like(a, a))

    with tw.device(device):
        a, b, c = tw.ones((10,)).sync(), tw.ones((10,)).sync(), tw.ones((11,)).sync()
        both(a.partition_mut(4), b.partition_mut(4)).sync()
        with pytest.raises(tw.LaunchError, match="`b` must have the extents of `a`"):
            both(a.partition_mut(4), c.partition_mut(4)).sync()
        assert (a.to_numpy() == 3).all()


def test_extents_of_an_output_that_is_covered_in_part(device):
    """An input is as large as the output, or as what is written of it."""

    @tw.entry
    def put(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out))

    with tw.device(device):
        for n, blocks, written in ((8, 2, 8), (10, 2, 8), (10, 3, 10), (4, 1, 4)):
            z = tw.zeros((10,)).sync()
            put(z.partition_mut(4).prefix(), np.ones(n, np.float32)).grid((blocks,)).sync()
            assert z.to_numpy().tolist() == [1] * written + [0] * (10 - written)
        for n, blocks in ((7, 2), (9, 2), (12, 3), (11, 2), (4, 2)):
            with pytest.raises(tw.LaunchError, match="`x` must have the extents of `out`"):
                put(z.partition_mut(4).prefix(), np.ones(n, np.float32)).grid((blocks,)).sync()


def test_extents_that_only_the_kernel_knows(device):
    @tw.entry(unsafe=True)
    def raw(out: tl.TensorMut[f32], p: tl.Ptr[f32], n: i32) -> None:
        out.store(tl.load_tile_like(tl.make_tensor_view(p, (n,)), out))

    with tw.device(device), tw.unsafe():
        x, z = tw.ones((16,)).sync(), tw.zeros((10,)).sync()
        raw(z.partition_mut(4), x.device_pointer(), 10).sync()
        assert (z.to_numpy() == 1).all()
        for n in (9, 11):
            with pytest.raises(tw.LaunchError, match="must have the extents of `out`"):
                raw(z.partition_mut(4), x.device_pointer(), n).sync()


def test_unchecked_kernels_compare_no_extents(device):
    @tw.entry(unsafe=True, unchecked_accesses=True)
    def unchecked(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.load_tile_like(x, out))

    with tw.device(device), tw.unsafe():
        z = tw.ones((10,)).sync()
        unchecked(z.partition_mut(4), np.ones(9, np.float32)).sync()
        assert z.to_numpy().tolist() == [1] * 9 + [0]
