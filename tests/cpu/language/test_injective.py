"""Every element of an output belongs to one block: all small shapes, cut and visited in every way.

Each kernel adds 1 to what its blocks own, so an element that nobody has stays 0, and one that two
have becomes 2. The blocks run one after the other, so that no addition is lost. Which of the tiles
a number stands for in a mapped output is enumerated in `tests/host/base/test_shapes_tile_order.py`,
with every map shape; here it is put together with the tiles themselves.
"""

from __future__ import annotations

import random
from itertools import permutations, product

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import tiers
from tilewright import i32
from tilewright.base.config import override

LONGEST = 6
SHAPES = {rank: list(product(range(1, LONGEST + 1), repeat=rank)) for rank in (1, 2, 3)}
TILES = {rank: list(product((1, 2, 4), repeat=rank)) for rank in (1, 2, 3)}
MAPS = (tw.OWNED, 1, 2, 3, 7)
"""Groups of tiles: the whole axis to one block, one, some, more than there are."""


@pytest.fixture(autouse=True)
def in_turn():
    with override(num_threads=1), tw.device("cpu"):
        yield


@tw.entry
def visit(z: tl.TensorMut[i32]) -> None:
    z.store(z.load() + 1)


@tw.entry
def permuted(z: tl.TensorMut[i32], x: tl.Tensor[i32], *, ORDER: tl.Const[tuple[int, ...]]) -> None:
    z.store(x.partition(z.shape, dim_map=ORDER).load(tl.get_tile_block_id()))


@tw.entry
def visit_parts(z: tl.TensorMut[i32], *, PART: tl.Const[tuple[int, ...]]) -> None:
    parts = z.partition_mut(PART)
    for i in range(tl.num_tiles(parts, 0)):
        for j in range(tl.num_tiles(parts, 1)):
            parts.store(parts.load((i, j)) + 1, (i, j))


@tw.entry
def visit_mapped(z: tl.MappedPartitionMut[i32]) -> None:
    for index in z.iter_indices():
        z.store(z.load(index) + 1, index)


@tw.entry
def visit_owned(z: tl.MappedPartitionMut[i32], *, OWNED: tl.Const[int]) -> None:
    """Along the axes that are not walked, a block has all tiles."""
    for index in z.iter_indices():
        if OWNED == 1:
            for i in range(z.num_tiles(1)):
                here = index.at(i)
                z.store(z.load(here) + 1, here)
        else:
            for i in range(z.num_tiles(1)):
                for j in range(z.num_tiles(2)):
                    here = index.at(i, j)
                    z.store(z.load(here) + 1, here)


def fresh(shape):
    return tw.from_numpy(np.zeros(shape, np.int32)).sync()


def some(shapes, *about):
    """All shapes, or in the quick tier every third, which ones depending on what else is chosen."""
    step = tiers.count(quick=3, full=1)
    return shapes[hash(about) % step :: step]


def assert_once(z, what):
    assert (z.to_numpy() == 1).all(), what


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_blocks_of_a_plain_output(rank):
    for tile in TILES[rank]:
        for shape in some(SHAPES[rank], tile):
            z = fresh(shape)
            visit(z.partition_mut(tile)).sync()
            assert_once(z, (shape, tile))


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_tiles_of_a_permuted_partition(order):
    """Inputs alone can be cut that way; every element is found once, at its own place."""
    for tile, shape in product([(1, 2, 4), (4, 1, 2), (2, 2, 1)], SHAPES[3][::5]):
        x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        z = fresh([shape[axis] for axis in order])
        permuted(z.partition_mut(tile), x, ORDER=order).sync()
        assert (z.to_numpy() == x.transpose(order)).all(), (shape, tile)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_blocks_of_a_part_of_a_tensor(step):
    """What lies between the rows that were borrowed belongs to nobody."""
    for tile, shape in product([(1, 2), (4, 1), (2, 4)], SHAPES[2]):
        z = fresh(shape)
        visit(z.borrow_mut()[::step, 1:].partition(tile)).sync()
        expected = np.zeros(shape, np.int32)
        expected[::step, 1:] = 1
        assert (z.to_numpy() == expected).all(), (shape, tile)


def test_parts_of_the_blocks_of_an_output():
    """Also parts that do not fit their block, and are cut off at its end."""
    for tile, part in product(TILES[2], repeat=2):
        for shape in some(SHAPES[2], tile, part):
            z = fresh(shape)
            visit_parts(z.partition_mut(tile), PART=part).sync()
            assert_once(z, (shape, tile, part))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_tiles_of_a_mapped_output(rank):
    rng = random.Random(random.random())
    ways = [(tile, groups) for tile in TILES[rank] for groups in product(MAPS[1:], repeat=rank)]
    for tile, groups in rng.sample(ways, min(len(ways), tiers.count(quick=8, full=24))):
        for shape in SHAPES[rank]:
            z = fresh(shape)
            visit_mapped(z.partition_mut(tile).map(groups, rng.randint(1, 9))).sync()
            assert_once(z, (shape, tile, groups))


@pytest.mark.parametrize("groups", [(2, 0, 1), (1, 0, 3), (2, 0, 0), (7, 0, 0)], ids=str)
def test_tiles_of_an_output_with_owned_axes(groups):
    for tile, shape in product([(1, 2, 4), (2, 1, 2)], SHAPES[3]):
        z = fresh(shape)
        blocks = 1 + sum(shape) % 5
        visit_owned(z.partition_mut(tile).map(groups, blocks), OWNED=groups.count(0)).sync()
        assert_once(z, (shape, tile))


def test_blocks_of_a_prefix():
    """The blocks there are have their own tiles, and nobody has the others."""
    for tile, shape in product([(1, 2, 4), (2, 2, 2)], SHAPES[3][::3]):
        counts = [-(-n // t) for n, t in zip(shape, tile, strict=True)]
        for grid in {(1, 1, 1), tuple(counts), tuple(-(-n // 2) for n in counts)}:
            z = fresh(shape)
            visit(z.partition_mut(tile).prefix()).grid(grid).sync()
            ends = [slice(0, n * t) for n, t in zip(grid, tile, strict=True)]
            result = z.to_numpy()
            assert (result[tuple(ends)] == 1).all()
            assert result.sum() == result[tuple(ends)].size
