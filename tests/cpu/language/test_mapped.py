"""Mapped outputs: blocks that visit many tiles, against NumPy, on both devices."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
import tilewright.lang as tl
from support import tiers
from support.expressions import Output
from support.numbers import fresh_rng
from tilewright import f32, i32
from tilewright.base.shapes import grid_of

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@tw.entry
def double(z: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        z.store(xs.load(index) * 2, index)


def doubled(device, shape, tile, groups, blocks=None):
    x = fresh_rng().integers(-99, 99, shape).astype(np.int32)
    with tw.device(device):
        z = Output(shape, i32)
        double(z.cut(*tile).map(groups, blocks), x).sync()
    assert (z.result() == x * 2).all()


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(0, 13)) for _ in range(rank))
    tile = tuple(draw(st.sampled_from((1, 2, 4))) for _ in range(rank))
    groups = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    return shape, tile, groups, draw(st.none() | st.integers(1, 9))


@settings(max_examples=tiers.count(25, 60), deadline=None, suppress_health_check=SLOW)
@given(case=cases())
def test_every_tile_is_written_once(device, case):
    doubled(device, *case)


@pytest.mark.parametrize("extent", [0, 1, 3, 4, 5, 7])
@pytest.mark.parametrize("groups", [(1,), (3,), (100,)], ids=str)
def test_boundary_extents(device, extent, groups):
    for blocks in (None, 1, 2, 5):
        doubled(device, (extent,), (4,), groups, blocks)


def test_small_shapes_tiles_and_maps_exhaustively():
    every = [*product(*(product(each, repeat=2) for each in ((1, 3, 6), (1, 2, 4), (1, 2, 7))))]
    for shape, tile, groups in every[:: tiers.count(quick=15, full=1)]:
        doubled("cpu", shape, tile, groups, 3)


# --- products ----------------------------------------------------------------------------------


@tw.entry
def gemm(z: tl.MappedPartitionMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 8) -> None:
    BM, BN = z.shape
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    for index in z.iter_indices():
        m, n = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(xs.num_tiles(1)):
            acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
        z.store(acc.astype(z.dtype), index)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("dtype", [tw.f32, tw.f16, tw.bf16], ids=str)
@pytest.mark.parametrize("size", [(1, 1, 1), (15, 9, 17), (16, 8, 16), (33, 31, 47), (64, 40, 48)])
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (2, 2), (8, 1), (1, 8)], ids=str)
def test_products(device, dtype, size, groups, rng):
    m, k, n = size
    x = rng.standard_normal((m, k)).astype(dtype.np)
    y = rng.standard_normal((k, n)).astype(dtype.np)
    with tw.device(device):
        z = Output((m, n), dtype)
        gemm(z.cut(16, 16).map(groups), tw.from_numpy(x), tw.from_numpy(y)).sync()
    expected = x.astype(np.float32) @ y.astype(np.float32)
    tolerance = {tw.f32: 1e-4, tw.f16: 1e-2, tw.bf16: 5e-2}[dtype]
    np.testing.assert_allclose(
        z.result().astype(np.float32), expected, rtol=tolerance, atol=tolerance * 4
    )


def test_tiles_of_many_blocks_are_the_same_as_of_one(device, rng):
    """What a tile gets does not depend on its block, nor on what was visited before."""
    x = rng.standard_normal((50, 30), dtype=np.float32)
    y = rng.standard_normal((30, 70), dtype=np.float32)
    results = []
    for blocks, groups in [(1, (1, 1)), (3, (2, 1)), (40, (2, 2))]:
        with tw.device(device):
            z = Output((50, 70), f32)
            gemm(z.cut(16, 16).map(groups, blocks), x, y).sync()
        results.append(z.result())
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


# --- loads, state, several loops ---------------------------------------------------------------


@tw.entry
def accumulate(z: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        z.store(z.load(index) + xs.load(index), index)
    for index in z.iter_indices():
        z.store(z.load(index) * 10, index)


def test_a_block_reads_what_it_wrote(device, rng):
    x, before = rng.integers(-9, 9, (2, 7, 11), dtype=np.int32)
    with tw.device(device):
        z = tw.from_numpy(before).sync()
        accumulate(z.partition_mut((2, 4)).map((2, 1), 3), x).sync()
    assert (z.to_numpy() == (before + x) * 10).all()


@tw.entry
def numbered(z: tl.MappedPartitionMut, last: tl.TensorMut) -> None:
    """Counts the tiles of a block: what a loop carries goes from tile to tile."""
    count = 0
    for index in z.iter_indices():
        count = count + 1
        z.store(tl.full(z.shape, count, i32), index)
    last.store(tl.full(last.shape, count, i32))


@pytest.mark.parametrize("blocks", [1, 3, 6, 8])
def test_loops_carry_values_from_tile_to_tile(device, blocks):
    with tw.device(device):
        z, last = Output((5, 3), i32), Output((blocks,), i32)
        numbered(z.cut(2, 2).map((1, 1), blocks), last.cut(1)).sync()
    tiles = z.result()[::2, ::2].ravel().tolist()
    assert tiles == [1 + number // blocks for number in range(6)]
    assert last.result().tolist() == [len(range(block, 6, blocks)) for block in range(blocks)]


@tw.entry
def both(z: tl.MappedPartitionMut, peak: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape, padding=-(2**31))
    for index in z.iter_indices_with(peak):
        tile = xs.load(index)
        z.store(-tile, index)
        peak.store(tl.full((1, 1), tl.reduce_max(tl.reduce_max(tile, 1), 0), i32), index)


def test_two_outputs_at_one_index(device, rng):
    x = rng.integers(1, 99, (10, 9), dtype=np.int32)
    with tw.device(device):
        z, peak = Output((10, 9), i32), Output((3, 3), i32)
        both(z.cut(4, 4).map((2, 1), 2), peak.cut(1, 1).map((2, 1)), x).sync()
    assert (z.result() == -x).all()
    padded = np.zeros((12, 12), np.int32)
    padded[:10, :9] = x
    assert (peak.result() == padded.reshape(3, 4, 3, 4).max((1, 3))).all()


def test_outputs_visited_together_have_as_many_tiles():
    z, peak, x = tw.zeros((10, 9), i32), tw.zeros((3, 4), i32), np.ones((10, 9), np.int32)
    arguments = [z.sync().partition_mut((4, 4)).map((2, 1)), peak.sync().partition_mut((1, 1))]
    arguments[1] = arguments[1].map((2, 1))
    with pytest.raises(tw.LaunchError, match="equally many tiles on axis 1"):
        both(*arguments, x).sync()


# --- owned axes --------------------------------------------------------------------------------


@tw.entry
def owned(z: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        for i in range(z.num_tiles(1)):
            here = index.at(i)
            z.store(xs.load(here) + i, here)


@pytest.mark.parametrize("shape", [(5, 7, 3), (1, 1, 1), (4, 8, 2), (3, 0, 3)], ids=str)
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_owned_axes(device, shape, blocks, rng):
    x = rng.integers(-9, 9, shape, dtype=np.int32)
    with tw.device(device):
        z = Output(shape, i32)
        owned(z.cut(2, 4, 2).map((2, tw.OWNED, 1), blocks), x).sync()
    assert (z.result() == x + np.arange(shape[1])[:, None] // 4).all()


@tw.entry
def beyond(z: tl.MappedPartitionMut, number: int) -> None:
    for index in z.iter_indices():
        z.store(tl.full(z.shape, 1, i32), index.at(number))


def test_numbers_of_owned_axes_are_checked(device):
    with tw.device(device):
        z = tw.zeros((4, 4), i32).sync()
        mapped = z.partition_mut((2, 2)).map((1, tw.OWNED))
        beyond(mapped, 1).sync()
        assert z.to_numpy().sum() == 8
        with pytest.raises(tw.LaunchError, match="axis 1 of `z`"):
            beyond(z.partition_mut((2, 2)).map((1, tw.OWNED)), 2).sync()


# --- a part of the tiles -----------------------------------------------------------------------


@tw.entry
def part(z: tl.MappedPartitionMut, m: int, rows: int, n: int, columns: int) -> None:
    for index in z.iter_indices_within(((m, rows), (n, columns))):
        z.store(z.load(index) + 1, index)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_a_part_of_the_tiles(device, data):
    shape = tuple(data.draw(st.integers(1, 11)) for _ in range(2))
    grid = grid_of(shape, (2, 4))
    starts = [data.draw(st.integers(0, n)) for n in grid]
    counts = [data.draw(st.integers(0, n - s)) for n, s in zip(grid, starts, strict=True)]
    groups = tuple(data.draw(st.integers(1, 4)) for _ in range(2))
    with tw.device(device):
        z = tw.zeros(shape, i32).sync()
        mapped = z.partition_mut((2, 4)).map(groups, data.draw(st.integers(1, 5)))
        part(mapped, starts[0], counts[0], starts[1], counts[1]).sync()
    expected = np.zeros(shape, np.int32)
    expected[starts[0] * 2 : sum((starts[0], counts[0])) * 2,
             starts[1] * 4 : sum((starts[1], counts[1])) * 4] = 1  # fmt: skip
    assert (z.to_numpy() == expected).all()


@pytest.mark.parametrize("span", [(-1, 1), (0, 4), (3, 1), (4, 0), (2**31 - 1, 1), (1, -2)])
def test_parts_outside_of_the_tiles(device, span):
    with tw.device(device):
        z = tw.zeros((6, 4), i32).sync()
        with pytest.raises(tw.LaunchError, match="the span along axis 0 must be in bounds"):
            part(z.partition_mut((2, 4)).map((1, 1)), *span, 0, 1).sync()
        assert z.to_numpy().sum() == 0


@tw.entry
def rest(z: tl.MappedPartitionMut, border: tl.Tensor) -> None:
    """The tiles before a border that only the device knows, and those behind it."""
    at = tl.tile_to_scalar(border.load_tile((1,), (0,)).reshape())
    for index in z.iter_indices_within(((0, at),)):
        z.store(tl.full(z.shape, 1, i32), index)
    for index in z.iter_indices_within(((at, -1),)):
        z.store(tl.full(z.shape, 2, i32), index)


@pytest.mark.parametrize("border", [0, 1, 4, 5])
def test_parts_that_the_device_decides(device, border):
    with tw.device(device):
        z = Output((9,), i32)
        rest(z.cut(2).map((1,), 2), np.asarray([border], np.int32)).sync()
    assert z.result().tolist() == ([1] * border * 2 + [2] * 10)[:9]


# --- blocks ------------------------------------------------------------------------------------


@tw.entry
def owners(z: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices():
        z.store(tl.full(z.shape, tl.block_id(0) * 100 + tl.num_blocks(0), i32), index)


@pytest.mark.parametrize("blocks", [1, 2, 5, 6, 20])
def test_blocks_take_turns(device, blocks):
    with tw.device(device):
        z = Output((4, 3), i32)
        owners(z.cut(2, 1).map((2, 1), blocks)).sync()
    first, second = z.result()[::2].tolist()
    found = [n for pair in zip(first, second, strict=True) for n in pair]
    assert found == [number % blocks * 100 + blocks for number in range(6)]


def test_the_device_says_how_many_blocks():
    z = tw.zeros((64,), i32).sync()
    owners(z.partition_mut((1,)).map((1,))).sync()
    assert set(z.to_numpy() % 100) == {min(tw.default_device().blocks_at_once, 64)}


def test_the_launch_says_how_many_blocks(device):
    with tw.device(device):
        z = tw.zeros((64,), i32).sync()
        owners(z.partition_mut((1,)).map((1,))).grid((5,)).sync()
        assert set(z.to_numpy() % 100) == {5}
        owners(z.partition_mut((1,)).map((1,))).const_grid((7,)).sync()
        assert set(z.to_numpy() % 100) == {7}


@tw.entry
def counts(z: tl.MappedPartitionMut) -> None:
    assert z.rank == z.ndim == 2
    assert z.dtype is i32
    grid = tl.get_index_space_shape(z)
    number = z.grid[0] * 1000 + z.num_tiles(1) * 100 + tl.num_tiles(z) * 10 + grid[1]
    for index in z.iter_indices():
        z.store(tl.full(z.shape, number, i32), index)


def test_a_mapped_output_knows_its_tiles(device):
    with tw.device(device):
        z = Output((5, 2), i32)
        counts(z.cut(2, 1).map((1, 1))).sync()
    assert (z.result() == 3232).all()


@tw.entry(unsafe=True)
def anywhere(z: tl.MappedPartitionMut) -> None:
    z.store(tl.full(z.shape, tl.block_id(0), i32), z.index(0))


def test_the_reference_sees_two_writers():
    with tw.device("reference"), tw.unsafe():
        z = tw.zeros((4,), i32).sync()
        with pytest.raises(tw.LaunchError, match="two blocks write z"):
            anywhere(z.partition_mut((2,)).map((1,), 2)).sync()


# --- spans whose count is a number of the launch ---------------------------------------------


@tw.entry
def visited(z: tl.MappedPartitionMut[i32], first: i32, count: i32) -> None:
    for index in z.iter_indices_within(((first, count),)):
        z.store(tl.ones(z.shape, i32), index)


@tw.entry
def visited_by_data(z: tl.MappedPartitionMut[i32], span: tl.Tensor[i32]) -> None:
    first, count = span.load_tile((1,), [0]).item(), span.load_tile((1,), [1]).item()
    for index in z.iter_indices_within(((first, count),)):
        z.store(tl.ones(z.shape, i32), index)


@pytest.mark.thinned
@pytest.mark.parametrize("first", [0, 1, 3, 4, 5, -1, 2**31 - 1])
@pytest.mark.parametrize("count", [-1, 0, 1, 3, 4, 5, -2, 2**31 - 1, -(2**31)])
def test_a_count_of_minus_one_is_the_rest(device, first, count):
    """Whoever says it: a scalar, or data."""
    tiles = np.arange(15) // 4
    last = 4 if count == -1 else first + count
    inside = 0 <= first <= 4 and count >= -1 and last <= 4
    with tw.device(device):
        for kernel, given in (
            (visited, (first, count)), (visited_by_data, (np.array([first, count], np.int32),)),
        ):  # fmt: skip
            z = tw.zeros((15,), i32).sync()
            launch = kernel(z.partition_mut((4,)).map((1,), 2), *given)
            if inside:
                launch.sync()
                assert (z.to_numpy() == ((first <= tiles) & (tiles < last))).all()
            else:
                with pytest.raises(tw.LaunchError, match="must be in bounds"):
                    launch.sync()


def test_parts_apart_where_a_count_of_minus_one_would_meet(device):
    """`(0, n)` and `(n, -1)` have no tile in common for any n that is not refused."""

    @tw.entry
    def halves(z: tl.MappedPartitionMut[i32], n: i32) -> None:
        for index in z.iter_indices_within(((0, n),)):
            z.store(z.load(index) + 1, index)
        for index in z.iter_indices_within(((n, -1),)):
            z.store(z.load(index) + 1, index)

    with tw.device(device):
        z = tw.zeros((15,), i32).sync()
        for n in range(5):
            halves(z.partition_mut((4,)).map((1,), 3), n).sync()
        with pytest.raises(tw.LaunchError, match="must be in bounds"):
            halves(z.partition_mut((4,)).map((1,), 3), -1).sync()
        assert (z.to_numpy() == 5).all()


def test_where_checks_of_spans_go():
    z = tw.meta((16,), i32).partition_mut((4,)).map((1,))
    assert visited.checks(z, 1, 2) == (0, 1, 0, 0)
    assert visited_by_data.checks(z, tw.meta((2,), i32)) == (0, 2, 0, 1)
    text = visited_by_data.explain(z, tw.meta((2,), i32))
    assert "axis 0 of `z`, in place: the bounds of the span are known only in the kernel" in text

    @tw.entry(deny_in_kernel_checks=True)
    def constants(z: tl.MappedPartitionMut[i32], n: i32) -> None:
        for index in z.iter_indices_within(((1, n),)):
            z.store(tl.ones(z.shape, i32), index)

    assert constants.checks(z, 1) == (0, 1, 0, 0)


# --- prefixes ----------------------------------------------------------------------------------


@tw.entry
def append(cache: tl.TensorMut, x: tl.Tensor) -> None:
    """Rows behind those of `x` are cleared, as far as its last tile reaches."""
    cache.store(tl.load_tile_like(x, cache, padding=0))


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 8])
def test_a_prefix_of_the_tiles(device, rows, rng):
    x = rng.integers(1, 9, (rows, 4), dtype=np.int32)
    blocks = -(-rows // 2)
    with tw.device(device):
        z = tw.zeros((10, 4), i32).sync()
        append(z.partition_mut((2, 4)).prefix(), x).grid((blocks, 1)).sync()
    result = z.to_numpy()
    assert (result[:rows] == x).all()
    assert (result[rows:] == 0).all()


def test_grids_of_all_sizes_fit_a_prefix(device):
    with tw.device(device):
        for grid in product((1, 2), (1, 3)):
            z = tw.zeros((4, 6), i32).sync()
            append(z.partition_mut((2, 2)).prefix(), np.ones((4, 6), np.int32)).grid(grid).sync()
            assert z.to_numpy().sum() == 4 * prod(grid)


@tw.entry
def halves(z: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    """Parts that the launch knows: found equal, and apart, by what they are made of."""
    half = x.shape[0] // 2
    for index in z.iter_indices_within(((0, half),)):
        z.store(tl.full(z.shape, 1, i32), index)
    for index in z.iter_indices_within(((0, x.shape[0] // 2),)):
        z.store(z.load(index) + 1, index)
    for index in z.iter_indices_within(((x.shape[0] // 2, -1),)):
        z.store(tl.full(z.shape, 3, i32), index)


def test_loops_over_parts_made_of_the_same_extents(device):
    with tw.device(device):
        z = Output((7,), i32)
        halves(z.cut(1).map((1,), 3), np.ones(6, np.int32)).sync()
    assert z.result().tolist() == [2, 2, 2, 3, 3, 3, 3]


# --- on the host ---------------------------------------------------------------------------------


def test_launches_give_back_the_mapped_partition(device):
    with tw.device(device):
        mapped = tw.empty((6,), i32).partition((2,)).map(lambda p: p.map((1,), 2)).sync()
        result, *_ = double(mapped, np.arange(6, dtype=np.int32)).sync()
        assert result is mapped
        assert result.unpartition().to_numpy().tolist() == [0, 2, 4, 6, 8, 10]


def test_graphs_replay_persistent_kernels(device):
    with tw.device(device):
        x, y = tw.zeros((6,), i32).sync(), tw.zeros((6,), i32).sync()
        op = double(y.partition_mut((2,)).map((1,), 2), x)
        graph = op.graph()
        for start in (1, 50):
            x.copy_from(np.arange(start, start + 6, dtype=np.int32)).sync()
            graph.launch().sync()
            assert y.to_numpy().tolist() == [2 * n for n in range(start, start + 6)]


def test_a_helper_may_take_a_mapped_output(device):
    def put(z: tl.AnyMappedPartitionMut[i32], index: tl.PartitionIndex, number: int) -> None:
        z.store(tl.full(z.shape, number, i32), index)

    @tw.entry
    def kernel(z: tl.MappedPartitionMut[i32]) -> None:
        for index in z.iter_indices():
            put(z, index, index[0])

    with tw.device(device):
        z = Output((5,), i32)
        kernel(z.cut(2).map((1,), 3)).sync()
    assert z.result().tolist() == [0, 0, 1, 1, 2]


def test_explain_says_how_tiles_are_visited():
    z = tw.meta((64, 64))
    text = gemm.explain(z.partition_mut((16, 16)).map((8, 1)), z, z)
    assert "visit the tiles of z in groups of (8, 1)" in text
    if tw.default_device().name == "cpu":
        assert "between the tiles that a block visits" in text
