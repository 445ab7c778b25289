"""Loops that reduce tiles: they accumulate tiles, which are reduced once."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir
from support.ir import checked
from tilewright.base.dtypes import f32, i32
from tilewright.compile.pipeline import PASSES
from tilewright.frontend.interp.build import build
from tilewright.ir.ops.control import FOR
from tilewright.ir.ops.reduction import REDUCE
from tilewright.ir.verify import verify
from tilewright.launch.inspection import Inspection
from tilewright.passes import accumulate_tiles as module
from tilewright.passes.accumulate_tiles import accumulate_tiles
from tilewright.passes.dce import dce


@tw.entry
def sums(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BN: tl.Const[int] = 128) -> None:
    xs = x.partition((out.shape[0], BN))
    total = tl.full(out.shape, 3.0, f32)
    for j in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load((tl.block_id(0), j)), 1)
    out.store(total)


@tw.entry
def extremes(
    out: tl.TensorMut[f32], least: tl.TensorMut[f32], x: tl.Tensor[f32], *, BN: tl.Const[int] = 128
) -> None:
    xs = x.partition((out.shape[0], BN), padding=tl.neg_inf)
    ys = x.partition((out.shape[0], BN), padding=tl.pos_inf)
    most, low = tl.full(out.shape, tl.neg_inf, f32), tl.full(out.shape, tl.pos_inf, f32)
    for j in range(xs.num_tiles(1)):
        most = tl.maximum(tl.reduce_max(xs.load((tl.block_id(0), j)), 1), most)
        low = tl.minimum(low, tl.reduce_min(ys.load((tl.block_id(0), j)), 1))
    out.store(most)
    least.store(low)


@tw.entry
def exponentials(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BN: tl.Const[int] = 128) -> None:
    BM = out.shape[0]
    xs = x.partition((BM, BN), padding=tl.neg_inf)
    peak, total = tl.full((BM, 1), tl.neg_inf, f32), tl.zeros((BM, 1), f32)
    for j in range(xs.num_tiles(1)):
        tile = xs.load((tl.block_id(0), j))
        higher = tl.maximum(peak, tl.reduce_max(tile, 1, keepdims=True))
        total = total * tl.exp(peak - higher) + tl.reduce_sum(tl.exp(tile - higher), 1,
                                                              keepdims=True)  # fmt: skip
        peak = higher
    out.store((peak + tl.log(total)).reshape(BM))


@tw.entry
def everything(out: tl.TensorMut[i32], x: tl.Tensor[i32], *, BN: tl.Const[int] = 128) -> None:
    xs = x.partition((4, BN))
    total = tl.zeros((1,), i32)
    for i in range(tl.block_id(0), xs.num_tiles(0), 1):
        for j in range(xs.num_tiles(1)):
            total = total + tl.reduce_sum(xs.load((i, j))).reshape(1)
    out.store(total)


@tw.entry
def looked_at(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BN: tl.Const[int] = 128) -> None:
    xs = x.partition((out.shape[0], BN))
    total = tl.zeros(out.shape, f32)
    for j in range(xs.num_tiles(1)):
        tile = xs.load((tl.block_id(0), j)) - total[:, None]
        total = total + tl.reduce_sum(tile, 1)
    out.store(total)


def before(kernel, *args, **constants):
    """The IR of a kernel, as this pass gets it but for the forms that Tile IR lacks."""
    func = build(kernel.source, Inspection(kernel.kernel, args, constants, "sm_90").signature)
    for pass_ in PASSES:
        func = pass_(func)
    return func


def reductions(func):
    """How many reductions there are in loops, and outside."""
    func = dce(func)
    inner = [op for loop in func.walk() if loop.is_a(FOR) for op in loop.regions[0].walk()]
    within = {id(op) for op in inner if op.is_a(REDUCE)}
    return len(within), sum(op.is_a(REDUCE) for op in func.walk()) - len(within)


def arguments(kernel, rows, columns):
    rng = np.random.default_rng(rows * 1000 + columns)
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    outs = 2 if kernel is extremes else 1
    if kernel is everything:
        x = (x * 100).astype(np.int32)
        return [np.full(1, 77, np.int32), x]
    return [*(np.full(rows, np.nan, np.float32) for _ in range(outs)), x]


CASES = [(sums, (0, 1)), (extremes, (0, 2)), (exponentials, (1, 1)), (everything, (2, 0))]


@pytest.mark.parametrize("shape", [(1, 1), (4, 127), (4, 128), (5, 129), (8, 600)], ids=str)
@pytest.mark.parametrize(("kernel", "left"), CASES, ids=[k.__name__ for k, _ in CASES])
def test_tiles_are_accumulated(kernel, left, shape):
    rows, columns = shape
    dtype = i32 if kernel is everything else f32
    tile = 1 if kernel is everything else 4
    size = 1 if kernel is everything else rows
    outs = [tw.meta((size,), dtype).partition_mut((tile,)) for _ in
            range(2 if kernel is extremes else 1)]  # fmt: skip
    func = before(kernel, *outs, tw.meta(shape, dtype))
    ours, theirs = (arguments(kernel, rows, columns) for _ in range(2))
    after = accumulate_tiles(func)
    verify(after, "accumulate_tiles")
    found = reductions(after)
    assert found == left, "only what the loop itself uses is reduced there"
    grid = (1,) if kernel is everything else (-(-rows // 4),)
    checked(func, theirs, grid)
    checked(after, ours, grid)
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-5)


def test_what_the_loop_looks_at_is_reduced_in_each_iteration():
    func = before(looked_at, tw.meta((4,), f32).partition_mut((4,)), tw.meta((4, 300), f32))
    assert accumulate_tiles(func) is func


def test_threads_have_room_for_so_many_elements(monkeypatch):
    func = before(sums, tw.meta((4,), f32).partition_mut((4,)), tw.meta((4, 300), f32))
    monkeypatch.setattr(module, "MOST", 511)
    assert accumulate_tiles(func) is func


def test_few_elements_are_reduced_as_they_are():
    func = before(sums, tw.meta((4,), f32).partition_mut((4,)), tw.meta((4, 300), f32), BN=2)
    assert accumulate_tiles(func) is func
    func = before(sums, tw.meta((4,), f32).partition_mut((4,)), tw.meta((4, 300), f32), BN=4)
    assert reductions(accumulate_tiles(func)) == (0, 1)


def test_cuda_accumulates():
    func = cuda_ir(sums, tw.meta((4,), f32).partition_mut((4,)), tw.meta((4, 300), f32))
    assert reductions(func) == (0, 1)
