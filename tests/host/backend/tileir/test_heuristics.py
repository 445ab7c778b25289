"""Decisions: by the tables, overridden by hints, each a line."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from support.decided import copied, product

WARPS = [(copied, (4, 64), None), (copied, (8, 256), 8), (product, (128, 128), 4),
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


@pytest.mark.parametrize(
    ("tile", "hints"),
    [
        ((1, 1024), {"num_worker_warps_per_cta": 4}),
        ((1, 4096), {"occupancy": 7, "num_worker_warps_per_cta": 4}),
        ((4, 1024), {"occupancy": 8, "num_worker_warps_per_cta": 4}),
        ((1, 16384), {"occupancy": 2, "num_worker_warps_per_cta": 8}),
        ((2, 16384), {"occupancy": 1, "num_worker_warps_per_cta": 8}),
    ],
)
def test_large_rows_leave_room_for_others(tile, hints):
    z = tw.meta((64, 16384))
    assert lowered(cuda_ir(total, z.partition_mut(tile), z)).decisions.hints["sm_90"] == hints


def hints(kernel, *args, **constants):
    return lowered(cuda_ir(kernel, *args, **constants)).decisions.hints["sm_90"]


def test_rows_that_are_reduced_twice_or_read_again():
    for length, blocks in ((16384, 3), (32768, 2)):
        z = tw.meta((64, length), tw.f16)
        found = hints(kernels.softmax, z.partition_mut((1, length)), z)
        assert found == {"occupancy": blocks, "num_worker_warps_per_cta": 8}


def test_products_without_tensor_cores_have_all_warps():
    z = tw.meta((4096, 4096))
    eight = {"occupancy": 1, "num_worker_warps_per_cta": 8}
    assert hints(kernels.gemm, z.partition_mut((64, 64)), z, z) == eight
    mapped = z.partition_mut((64, 64)).map((8, 1), 132)
    assert hints(kernels.persistent_gemm, mapped, z, z) == eight


@tw.entry
def routed(z: tl.MappedPartitionMut, x: tl.Tensor, y: tl.Tensor, ways: tl.Tensor[tw.i32]) -> None:
    bm, bn = z.shape
    xs, ys = x.partition((bm, 64)), y.partition((1, 64, bn))
    for index in z.iter_indices():
        i, j = index
        way = ways.load_tile((1,), [i]).item()
        acc = tl.zeros((bm, bn), tw.f32)
        for k in range(tl.num_tiles(xs, 1)):
            acc = tl.mma(xs.load([i, k]), ys.load([way, k, j]).reshape(64, bn), acc)
        z.store(acc.astype(z.dtype), index)


@tw.entry
def converted(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, *, FAST: tl.Const[bool] = False) -> None:
    i, j, _ = tl.get_tile_block_id()
    bm, bn = z.shape
    xs, ws = x.partition((bm, 64)), w.partition((64, bn))
    acc = tl.zeros((bm, bn), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        left, right = xs.load([i, k]), ws.load([k, j])
        acc = tl.mmaf(left, right.astype(x.dtype), acc, fast_acc=FAST)
    z.store(acc.astype(z.dtype))


@pytest.mark.parametrize(("weights", "warps"), [(tw.i8, 8), (tw.bf16, 4)])
def test_operands_that_are_converted_take_more_warps(weights, warps):
    z, w = tw.meta((4096, 4096), tw.bf16), tw.meta((4096, 4096), weights)
    found = hints(converted, z.partition_mut((128, 128)), z, w)
    assert found == {"occupancy": 2, "num_worker_warps_per_cta": warps}


@pytest.mark.parametrize(
    ("dtype", "fast", "expected"),
    [
        (tw.f8e4m3fn, False, {"num_worker_warps_per_cta": 8}),
        (tw.f8e4m3fn, True, {"occupancy": 2, "num_worker_warps_per_cta": 4}),
        (tw.bf16, False, {"occupancy": 2, "num_worker_warps_per_cta": 4}),
    ],
)
def test_exact_sums_of_small_floats_have_two_accumulators(dtype, fast, expected):
    z, x = tw.meta((4096, 4096), tw.bf16), tw.meta((4096, 4096), dtype)
    assert hints(converted, z.partition_mut((128, 128)), x, x, FAST=fast) == expected


def test_visits_that_check_have_registers_for_it():
    x, y = tw.meta((4096, 4096), tw.bf16), tw.meta((8, 4096, 4096), tw.bf16)
    mapped = x.partition_mut((128, 128)).map((8, 1), 132)
    ways = tw.meta((32,), tw.i32)
    assert hints(routed, mapped, x, y, ways) == {"occupancy": 1, "num_worker_warps_per_cta": 8}
    found = hints(kernels.persistent_gemm, mapped, x, x)
    assert found == {"occupancy": 1, "num_worker_warps_per_cta": 4}


@pytest.mark.parametrize(
    ("rows", "keys", "depth", "blocks", "warps"),
    [
        (64, 64, 64, 4, 4), (64, 64, 32, 4, 4), (64, 128, 64, 2, 4), (64, 64, 128, 2, 4),
        (128, 64, 64, 2, 8), (128, 128, 128, 1, 8), (32, 64, 64, 2, 4), (16, 64, 128, 2, 4),
        (128, 64, 128, 2, 4),
    ],
)  # fmt: skip
def test_chained_products_share_a_processor(rows, keys, depth, blocks, warps):
    heads = tw.meta((8, 1024, depth), tw.bf16)
    out = tw.meta((8, 1024, depth), tw.bf16).partition_mut((1, rows, depth))
    found = hints(kernels.attention, out, heads, heads, heads, 0.1, BN=keys)
    assert found == {"occupancy": blocks, "num_worker_warps_per_cta": warps}


def test_accumulators_beyond_the_registers_of_a_block_are_divided():
    z = tw.meta((4096, 4096), tw.bf16)
    out = z.partition_mut((256, 256))
    found = hints(kernels.gemm, out, z, z)
    assert found == {"num_cta_in_cga": 2, "num_worker_warps_per_cta": 8}
    found = hints(kernels.persistent_gemm, out.map((4, 1), 66), z, z)
    assert found == {"num_cta_in_cga": 2, "occupancy": 1, "num_worker_warps_per_cta": 8}
    older = lowered(cuda_ir(kernels.gemm, out, z, z), arch="sm_80").decisions.hints["sm_80"]
    assert "num_cta_in_cga" not in older, "it has no clusters"


@pytest.mark.parametrize("causal", [False, True])
def test_blocks_with_longer_loops_run_first(causal):
    heads = tw.meta((8, 1024, 64), tw.bf16)
    out = tw.meta((8, 1024, 64), tw.bf16).partition_mut((1, 64, 64))
    func = cuda_ir(kernels.attention, out, heads, heads, heads, 0.1, CAUSAL=causal)
    assert lowered(func).decisions.reversed_axis == (1 if causal else None)
    assert lowered(func, block_group=1).decisions.reversed_axis is None


def test_products_run_in_groups():
    assert product((16, 16)).order == (8, 1)
    assert product((16, 16), block_group=4).order == (4, 1)
    assert product((16, 16), block_group=1).order is None
    assert copied((4, 64)).order is None


def test_tiles_for_small_matrices_are_alone_on_a_processor():
    z = tw.meta((1024, 1024), tw.bf16)
    for tile, blocks in (((64, 128), 1), ((128, 128), 2)):
        assert hints(kernels.gemm, z.partition_mut(tile), z, z)["occupancy"] == blocks


def test_grids_are_turned_where_blocks_in_a_row_share_tiles():
    heads = tw.meta((8, 1024, 64), tw.bf16)
    func = cuda_ir(kernels.attention, heads.partition_mut((1, 64, 64)), heads, heads, heads, 0.1)
    assert lowered(func).decisions.turned
    assert not lowered(func, block_group=1).decisions.turned
    x = tw.meta((1024, 1024))
    assert lowered(cuda_ir(kernels.transpose, x.partition_mut((64, 64)), x)).decisions.turned
    assert not lowered(cuda_ir(kernels.transpose, x.partition_mut((8, 8)), x)).decisions.turned
    assert not product((16, 16)).turned


@tw.entry
def shifted(z: tl.TensorMut, x: tl.Tensor, bias: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    tile = x.load_tile(z.shape, [i, j])
    z.store(tile + bias.load_tile((z.shape[1],), [j])[None, :])


@tw.entry
def column_sums(z: tl.TensorMut, x: tl.Tensor) -> None:
    _, n = z.shape
    part, j, _ = tl.get_tile_block_id()
    xs, total = x.partition((8, n)), tl.zeros((n,), tw.f32)
    for i in range(part * 4, min(part * 4 + 4, xs.num_tiles(0))):
        total = total + tl.reduce_sum(xs.load((i, j)), 0)
    z.store(total.reshape(1, n))


@tw.entry
def crossed(z: tl.TensorMut, x: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    z.store(x.load_tile(z.shape, [j, i]))


@tw.entry
def taken(z: tl.TensorMut, x: tl.Tensor, places: tl.Tensor[tw.i32]) -> None:
    i, j, _ = tl.get_tile_block_id()
    z.store(x.load_tile(z.shape, [places.load_tile((1,), [i]).item(), j]))


@tw.entry
def repeated(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.broadcast(x.load_tile((z.shape[0], 1), [tl.block_id(0), 0]), z.shape))


def test_blocks_that_are_neighbours_in_memory_run_together():
    z, row, places = tw.meta((1024, 1024)), tw.meta((1024,)), tw.meta((128,), tw.i32)
    out = z.partition_mut((8, 64))
    for kernel, rows, *args in ((shifted, 8, z, row), (column_sums, 1, z), (repeated, 8, z)):
        func = cuda_ir(kernel, z.partition_mut((rows, 64)), *args)
        assert lowered(func).decisions.turned, kernel
        assert not lowered(func, block_group=1).decisions.turned
    assert not lowered(cuda_ir(crossed, out, z)).decisions.turned
    assert not lowered(cuda_ir(taken, out, z, places)).decisions.turned
    assert not lowered(cuda_ir(shifted, out, z.T, row)).decisions.turned


def test_a_grid_that_is_too_long_in_reverse_keeps_its_order():
    z, row = tw.meta((1 << 17, 64)), tw.meta((64,))
    for tile, turned in (((1, 64), False), ((8, 64), True)):
        assert lowered(cuda_ir(shifted, z.partition_mut(tile), z, row)).decisions.turned is turned


def explained(kernel, *args, **constants):
    """The decisions about a kernel, without the folders of its file."""
    lines = lowered(cuda_ir(kernel, *args, **constants)).decisions.lines
    return (
        "\n".join(re.sub(r"\([^()]*?(\w+\.py):\d+:\d+\)", r"(\1)", line) for line in lines) + "\n"
    )


def outputs(shape, tile, dtype=tw.bf16):
    return tw.meta(shape, dtype).partition_mut(tile)


def whole(*shape, dtype=tw.bf16):
    return tw.meta(shape, dtype)


KERNELS = {
    "add": lambda: explained(kernels.add, outputs((1 << 20,), (2048,)), *[whole(1 << 20)] * 2),
    "softmax": lambda: explained(
        kernels.softmax, outputs((256, 4096), (1, 4096)), whole(256, 4096)
    ),
    "softmax_f32": lambda: explained(
        kernels.softmax, outputs((256, 4096), (1, 4096), tw.f32), whole(256, 4096, dtype=tw.f32)
    ),
    "rms_norm": lambda: explained(
        kernels.rms_norm, outputs((256, 16384), (1, 16384)), whole(256, 16384), whole(16384), 1e-5
    ),
    "gemm": lambda: explained(
        kernels.gemm, outputs((4096, 4096), (128, 128)), *[whole(4096, 4096)] * 2
    ),
    "gemm_odd": lambda: explained(
        kernels.gemm, outputs((4095, 4095), (128, 128)), *[whole(4095, 4095)] * 2
    ),
    "gemm_persistent": lambda: explained(
        kernels.persistent_gemm,
        outputs((4096, 4096), (128, 256)).map((8, 1), 132),
        *[whole(4096, 4096)] * 2,
    ),
    "gemm_batched": lambda: explained(
        kernels.batch_gemm, outputs((8, 1024, 1024), (1, 128, 256)), *[whole(8, 1024, 1024)] * 2
    ),
    "attention": lambda: explained(
        kernels.attention,
        outputs((64, 4096, 128), (1, 128, 128)),
        *[whole(64, 4096, 128)] * 3,
        0.1,
        BN=128,
        CAUSAL=True,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_plain_kernels(name, golden):
    golden(KERNELS[name]())


def test_every_decision_is_a_line():
    lines = "\n".join(product((128, 256), latency=2).lines)
    assert "load x 128x16 as tiles, latency 2" in lines
    assert "hint num_worker_warps_per_cta = 8: an accumulator of 32768 elements" in lines
    assert "groups of 8 along grid axis 0" in lines
