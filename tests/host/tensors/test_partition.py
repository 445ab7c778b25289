from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.dtypes import f32
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.op.ambient import default_device
from tilewright.tensors import from_numpy, zeros


@pytest.mark.parametrize(
    ("shape", "tile", "grid"),
    [
        ((16,), (16,), (1,)), ((17,), (16,), (2,)), ((15,), (16,), (1,)), ((0,), (16,), (0,)),
        ((5, 7, 1), (2, 4, 8), (3, 2, 1)), ((), (), ()),
    ],
)  # fmt: skip
def test_grid(shape, tile, grid):
    p = zeros(shape).sync().partition(tile)
    assert (p.shape, p.tile, p.grid, p.dtype) == (shape, tile, grid, f32)
    assert p.device is default_device()


def test_the_tile_shape_is_checked(golden):
    z = zeros((4, 4)).sync()
    with pytest.raises(ShapeError) as caught:
        z.partition((4,))
    golden(str(caught.value))
    with pytest.raises(ShapeError, match="extents below 1"):
        z.partition((4, 0))
    z.to_numpy()  # refused, so not taken


@pytest.mark.parametrize(
    ("shape", "tile", "found", "grid"),
    [
        ((5, 100), (2, tw.FULL), (2, 128), (3, 1)), ((5, 64), (tw.FULL, 8), (8, 8), (1, 8)),
        ((7,), tw.FULL, (8,), (1,)), ((1, 1), (tw.FULL, tw.FULL), (1, 1), (1, 1)),
        ((4, 0), (4, tw.FULL), (4, 1), (1, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("times", [1, 2])
def test_full_is_the_whole_axis(shape, tile, found, grid, times):
    z = zeros(shape).sync()
    for _ in range(times):  # the second one is found by the tile as it was given
        p = z.partition_mut(tile)
        assert (p.tile, p.grid) == (found, grid)
    assert z.borrow_mut().partition(tile).tile == found
    assert tw.Arc(zeros(shape).sync()).try_partition(tile).tile == found
    assert zeros(shape).partition(tile).sync().tile == found


def test_other_negative_extents_are_refused():
    with pytest.raises(ShapeError, match="extents below 1"):
        zeros((4,)).sync().partition(-2)


def test_unpartition_of_a_borrow_is_the_tensor_itself():
    z = zeros((4,)).sync()
    p = z.partition_mut((2,))
    assert p.unpartition() is z
    assert p.unpartition() is z


def test_a_partition_ends_with_its_borrow(golden, places):
    z = zeros((4,)).sync()
    p = z.partition_mut((2,))
    p.check_usable()
    z.to_numpy()
    with pytest.raises(BorrowError) as caught:
        p.unpartition()
    golden(places(caught.value))


def test_taking_a_tensor_back_uses_the_partition_up():
    p = from_numpy(np.arange(4)).partition((2,)).sync()
    assert p.unpartition().to_numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(BorrowError, match="consumed by unpartition"):
        p.unpartition()


def test_a_map_keeps_the_tensor_and_its_borrow():
    z = tw.zeros((5, 7)).sync()
    plain = z.partition_mut((2, 4))
    mapped = plain.map((3, 1), 6)
    assert isinstance(mapped, tw.MappedPartition)
    assert (mapped.tile, mapped.grid, mapped.shape) == ((2, 4), (3, 2), (5, 7))
    assert (mapped.mapping.groups, mapped.mapping.num_tile_blocks) == ((3, 1), 6)
    assert not mapped.is_owned
    assert mapped.unpartition() is z
    z.copy_from(np.ones((5, 7), np.float32)).sync()
    with pytest.raises(tw.BorrowError, match="exclusive borrow"):
        mapped.map((1, 1))
    with pytest.raises(tw.BorrowError, match="exclusive borrow"):
        plain.prefix()


def test_maps_alike_share_one_tiling():
    z = tw.zeros((5, 7)).sync()
    maps = [z.partition_mut((2, 4)).map(groups, 3).tiling for groups in ((2, 1), [2, 1], (1, 2))]
    assert maps[0] is maps[1]
    assert maps[0] is not maps[2]
    assert maps[0] is not z.partition_mut((2, 4)).tiling


def test_a_map_of_a_taken_tensor_gives_it_back():
    mapped = tw.zeros((4,)).partition((2,)).sync().map((1,))
    assert mapped.is_owned
    assert mapped.unpartition().shape == (4,)
    with pytest.raises(tw.BorrowError, match="consumed by unpartition"):
        mapped.map((2,))


def test_maps_and_prefixes_of_ops():
    mapped = tw.zeros((4, 4)).partition((2, 2)).map(lambda p: p.map((2, tw.OWNED), 1)).sync()
    assert repr(mapped).endswith("map_shape=(2, 0), num_tile_blocks=1)")
    assert repr(mapped.map((1, 1))).endswith("map_shape=(1, 1), as many blocks as run at once)")
