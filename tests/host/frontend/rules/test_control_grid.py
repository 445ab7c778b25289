from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from rule_kit import Kit
from support.kernels import ir_of, out, run
from tilewright.base.dtypes import i32
from tilewright.base.errors import Code
from tilewright.ir.signature import Signature
from tilewright.ir.types import I32


def test_ids_and_sizes_are_scalars_of_their_axis():
    kit = Kit()
    ids, sizes = kit("get_tile_block_id"), kit("get_num_tile_blocks")
    assert [v.type for v in (*ids, *sizes)] == [I32] * 6
    assert [(op.name, op.attrs["axis"]) for op in kit.ops] == [
        ("block_id", 0), ("block_id", 1), ("block_id", 2),
        ("num_blocks", 0), ("num_blocks", 1), ("num_blocks", 2),
    ]  # fmt: skip


def test_a_constant_grid_is_constant():
    kit = Kit()
    kit.em.signature = Signature((), grid=(4, 2), grid_rank=3)
    assert kit("get_num_tile_blocks") == (4, 2, 1)
    assert kit("num_blocks", 1) == 2
    assert kit.ops == []


@pytest.mark.parametrize("axis", [3, -1])
def test_axes_the_grid_has_not(axis):
    error = Kit().refused(Code.RANK, "block_id", axis)
    assert error.expected == "0 to 2"


def test_more_axes_than_three():
    kit = Kit()
    kit.em.signature = Signature((), grid_rank=5)
    assert kit("block_id", 4).type == I32


def test_an_axis_is_a_constant():
    kit = Kit()
    kit.refused(Code.NOT_STATIC, "num_blocks", kit.tile(i32))


def test_every_block_knows_its_place():
    def place(z: tl.TensorMut[i32]) -> None:
        i, j, k = tl.get_tile_block_id()
        n, m, _ = tl.get_num_tile_blocks()
        z.store(tl.full(z.shape, ((i * m) + j) * 100 + n * m + k))

    z = np.zeros((6, 5), np.int32)
    run(ir_of(place, out((2, 2), i32)), z, grid=(3, 3, 1))
    i, j = np.mgrid[:6, :5] // 2
    assert np.array_equal(z, (i * 3 + j) * 100 + 9)
