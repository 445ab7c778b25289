"""Tiles that are used in parts, or joined of two: each part is an access."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from host.passes.test_accumulate_tiles import before
from support.ir import checked
from tilewright.base.dtypes import bf16, f32
from tilewright.ir.ops.layout import CAT, EXTRACT
from tilewright.ir.ops.memory import LOAD_VIEW, STORE_VIEW
from tilewright.ir.verify import verify
from tilewright.passes.split_accesses import split_accesses


@tw.entry
def turned(out: tl.TensorMut, x: tl.Tensor, *, AXIS: tl.Const[int] = 1) -> None:
    first, second = tl.split(tl.load_tile_like(x, out).astype(f32), 2, AXIS)
    out.store(tl.cat((second * 2.0, first), AXIS).astype(out.dtype))


@tw.entry
def also_whole(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, out)
    first, second = tl.split(tile, 2, 1)
    out.store(tile + tl.reduce_sum(first * second))


def counts(func):
    """How many loads, stores, parts taken and tiles joined there are."""
    return [sum(op.is_a(kind) for op in func.walk()) for kind in (LOAD_VIEW, STORE_VIEW, EXTRACT,
                                                                  CAT)]  # fmt: skip


def made(kernel, shape, tile, dtype=f32, **constants):
    return before(kernel, tw.meta(shape, dtype).partition_mut(tile), tw.meta(shape, dtype),
                  **constants)  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (4, 32), (5, 65), (9, 96)], ids=str)
def test_parts_are_loaded_and_stored(shape, axis):
    func = made(turned, shape, (4, 32), AXIS=axis)
    after = split_accesses(func)
    verify(after, "split_accesses")
    assert counts(after)[:2] == [2, 2]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    ours, theirs = ([np.full_like(x, np.nan), x.copy()] for _ in range(2))
    grid = -(-shape[0] // 4), -(-shape[1] // 32)
    checked(func, theirs, grid)
    checked(after, ours, grid)
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_conversions_follow_the_parts():
    after = split_accesses(made(turned, (8, 128), (4, 128), bf16))
    assert counts(after)[:2] == [2, 2]
    loads = [op for op in after.walk() if op.is_a(LOAD_VIEW)]
    assert {op.result.tile for op in loads} == {loads[0].result.tile.with_shape((4, 64))}


def test_short_rows_stay_whole():
    func = made(turned, (8, 16), (4, 16))
    assert counts(split_accesses(func)) == counts(func) == [1, 1, 2, 1]


def test_a_tile_that_is_used_whole_is_loaded_whole():
    func = made(also_whole, (4, 64), (4, 64))
    assert counts(split_accesses(func)) == counts(func)
