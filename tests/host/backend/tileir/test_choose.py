"""Decisions: by the tables, overridden by wishes, each a line."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    bm, bn = z.shape
    xs, ys = x.partition((bm, 16)), y.partition((16, bn))
    acc = tl.zeros((bm, bn), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


@tw.entry(unsafe=True)
def reckless(z: tl.TensorMut, x: tl.Tensor, n: tw.i32) -> None:
    parts = z.partition_mut((4,))
    tile = x.partition((4,)).load_unchecked([n])
    parts.store_unchecked(tile, [n])
    parts.store_unchecked(tile, [1])


def copied(tile, arch="sm_90", **wishes):
    z = tw.meta((4096, 4096))
    return lowered(cuda_ir(copy, z.partition_mut(tile), z), arch=arch, **wishes).choices


def product(tile, arch="sm_90", **wishes):
    z = tw.meta((4096, 4096), tw.bf16)
    func = cuda_ir(gemm, tw.meta((4096, 4096)).partition_mut(tile), z, z)
    return lowered(func, arch=arch, **wishes).choices


def test_one_shot_copies_are_not_bulk_copies():
    assert [a.allow_tma for a in copied((4, 64)).accesses.values()] == [False, False]
    assert [a.allow_tma for a in copied((4, 64), allow_tma=True).accesses.values()] == [True, True]


def test_products_may_use_bulk_copies():
    assert {a.allow_tma for a in product((16, 16)).accesses.values()} == {None}


def test_old_architectures_have_none():
    assert {a.allow_tma for a in copied((4, 64), "sm_80").accesses.values()} == {None}


WARPS = [(copied, (4, 64), None), (copied, (8, 256), 8), (product, (128, 128), None),
         (product, (128, 256), 8)]  # fmt: skip


@pytest.mark.parametrize(("make", "tile", "warps"), WARPS)
def test_warps(make, tile, warps):
    hints = make(tile).hints.get("sm_90", {})
    assert hints.get("num_worker_warps_per_cta") == warps


def test_wishes_go_first():
    made = product((128, 256), num_worker_warps_per_cta=4, occupancy=2, num_cta_in_cga=2, latency=3)
    assert made.hints == {
        "sm_90": {"num_cta_in_cga": 2, "occupancy": 2, "num_worker_warps_per_cta": 4}
    }
    assert {a.latency for a in made.accesses.values()} == {3}


@tw.entry
def total(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile - tl.reduce_sum(tile, 1, keepdims=True))


def test_large_rows_leave_room_for_others():
    z = tw.meta((64, 16384))
    made = lowered(cuda_ir(total, z.partition_mut((1, 16384)), z)).choices
    assert made.hints["sm_90"] == {"occupancy": 4, "num_worker_warps_per_cta": 4}
    small = lowered(cuda_ir(total, z.partition_mut((1, 4096)), z)).choices
    assert small.hints["sm_90"] == {"num_worker_warps_per_cta": 8}


def test_products_run_in_groups():
    assert product((16, 16)).group == 8
    assert product((16, 16), block_group=1).group == 1
    assert copied((4, 64)).group == 1


def test_every_decision_is_a_line():
    lines = "\n".join(product((128, 256), latency=2).lines)
    assert "load x 128x16 as tiles, latency 2" in lines
    assert "hint num_worker_warps_per_cta = 8: an accumulator of 32768 elements" in lines
    assert "groups of 8" in lines


def test_what_nobody_checked_is_accessed_element_by_element():
    z = tw.meta((64,))
    with tw.unsafe():
        func = cuda_ir(reckless, z.partition_mut((8,)), z, 3)
    load, outside, inside = lowered(func).choices.accesses.values()
    assert load.view is None and outside.view is None and inside.view is not None
