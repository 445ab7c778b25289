from __future__ import annotations

import numpy as np
import pytest

from tilewright.array import from_numpy, zeros
from tilewright.base.dtypes import f32
from tilewright.base.errors import BorrowError, ShapeError


@pytest.mark.parametrize(
    ("shape", "tile", "grid"),
    [
        ((16,), (16,), (1,)), ((17,), (16,), (2,)), ((15,), (16,), (1,)), ((0,), (16,), (0,)),
        ((5, 7, 1), (2, 4, 8), (3, 2, 1)), ((), (), ()),
    ],
)  # fmt: skip
def test_grid(shape, tile, grid):
    p = zeros(shape).sync().partition(tile)
    assert (p.shape, p.tile, p.grid, p.dtype, p.device.name) == (shape, tile, grid, f32, "cpu")


def test_the_tile_shape_is_checked(golden):
    z = zeros((4, 4)).sync()
    with pytest.raises(ShapeError) as caught:
        z.partition((4,))
    golden(str(caught.value))
    with pytest.raises(ShapeError, match="extents below 1"):
        z.partition((4, 0))
    z.to_numpy()  # refused, so not taken


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
