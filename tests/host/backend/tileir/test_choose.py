"""Decisions: by the tables, overridden by wishes, each a line."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from tilewright import f32
from tilewright.backend.tileir.encoding.versions import V13_3


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
    assert lowered(cuda_ir(total, z.partition_mut(tile), z)).choices.hints["sm_90"] == hints


def hints(kernel, *args, **constants):
    return lowered(cuda_ir(kernel, *args, **constants)).choices.hints["sm_90"]


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
    older = lowered(cuda_ir(kernels.gemm, out, z, z), arch="sm_80").choices.hints["sm_80"]
    assert "num_cta_in_cga" not in older, "it has no clusters"


def test_visits_load_far_ahead():
    z = tw.meta((4096, 4096), tw.bf16)
    func = cuda_ir(kernels.persistent_gemm, z.partition_mut((128, 256)).map((8, 1), 132), z, z)
    for wishes, expected in (({}, 6), ({"latency": 2}, 2)):
        accesses = lowered(func, **wishes).choices.accesses
        assert {a.latency for op, a in accesses.items() if op.name == "load_view"} == {expected}
    assert {a.latency for a in product((16, 16)).accesses.values()} == {None}


@pytest.mark.parametrize("causal", [False, True])
def test_blocks_with_longer_loops_run_first(causal):
    heads = tw.meta((8, 1024, 64), tw.bf16)
    out = tw.meta((8, 1024, 64), tw.bf16).partition_mut((1, 64, 64))
    func = cuda_ir(kernels.attention, out, heads, heads, heads, 0.1, CAUSAL=causal)
    assert lowered(func).choices.from_last == (1 if causal else None)
    assert lowered(func, block_group=1).choices.from_last is None


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
    assert lowered(func).choices.turned
    assert not lowered(func, block_group=1).choices.turned
    x = tw.meta((1024, 1024))
    assert lowered(cuda_ir(kernels.transpose, x.partition_mut((64, 64)), x)).choices.turned
    assert not lowered(cuda_ir(kernels.transpose, x.partition_mut((8, 8)), x)).choices.turned
    assert not product((16, 16)).turned


def test_rows_that_begin_anywhere_are_read_under_a_mask():
    odd, even = tw.meta((4095, 4095), tw.bf16), tw.meta((4095, 4096), tw.bf16)
    func = cuda_ir(kernels.gemm, even.partition_mut((128, 256)), odd, odd)
    found = lowered(func).choices.accesses
    assert [(op.one("view").view.tensor.param, a.masked) for op, a in found.items()] == [
        ("x", True), ("y", True), ("z", False)
    ]  # fmt: skip
    assert not any(a.masked for a in lowered(func, whole_first=True).choices.accesses.values())
    beside_bulk_copies = cuda_ir(kernels.gemm, even.partition_mut((128, 256)), odd, even)
    assert not any(a.masked for a in lowered(beside_bulk_copies).choices.accesses.values())


@tw.entry(unsafe=True)
def by_pointers(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], y: tl.Ptr[f32]) -> None:
    rows, columns = tl.arange(32).reshape(32, 1), tl.arange(32).reshape(1, 32)
    acc = tl.zeros((32, 32), f32)
    for k in range(x.partition((32, 32)).num_tiles(1)):
        i, _, _ = tl.get_tile_block_id()
        other = tl.load_ptr(y + ((k * 32 + rows) * 64 + columns))
        acc = tl.mma(x.load_tile((32, 32), (i, k)), other, acc)
    z.store(acc)


def test_loops_that_load_by_addresses_have_no_bulk_copies():
    z, x = tw.meta((64, 32)), tw.meta((64, 64))
    with tw.unsafe():
        func = cuda_ir(by_pointers, z.partition_mut((32, 32)), x, z.device_pointer())
    found = lowered(func).choices.accesses
    loads = [a for op, a in found.items() if op.name.startswith("load_view")]
    assert [a.allow_tma for a in loads] == [False]


def test_offsets_of_very_large_tensors_have_no_mask():
    """They do not fit in 31 bits."""
    z, y = tw.meta((1 << 17, 257), tw.bf16), tw.meta(((1 << 15) + 1, 257), tw.bf16)
    func = cuda_ir(
        kernels.gemm, z.partition_mut((128, 256)), tw.meta((1 << 17, (1 << 15) + 1), tw.bf16), y
    )
    found = lowered(func).choices.accesses
    assert [a.masked for op, a in found.items() if op.name == "load_view"] == [False, True]


def explained(kernel, *args, **constants):
    """The decisions about a kernel, without the folders of its file."""
    lines = lowered(cuda_ir(kernel, *args, **constants)).choices.lines
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


def test_exponentials_as_asked_for():
    out, x = outputs((64, 1024), (1, 1024), tw.f32), whole(64, 1024, dtype=tw.f32)
    assert not lowered(cuda_ir(kernels.softmax, out, x)).choices.scaled
    assert len(lowered(cuda_ir(kernels.softmax, out, x), scaled_exp=True).choices.scaled) == 1
    out, x = outputs((64, 1024), (1, 1024)), whole(64, 1024)
    assert not lowered(cuda_ir(kernels.softmax, out, x), scaled_exp=False).choices.scaled


def test_whole_tiles_as_asked_for():
    assert [a.whole_first for a in copied((4, 64)).accesses.values()] == [True, False]
    assert not any(a.whole_first for a in copied((4, 64), whole_first=False).accesses.values())
    assert not any(a.whole_first for a in product((16, 16)).accesses.values())


def test_stores_are_whole_where_one_question_is_asked_for_all():
    for length, expected in ((8192, [True, True]), (4096, [True, False])):
        x = whole(64, length)
        found = lowered(cuda_ir(kernels.softmax, outputs((64, length), (1, length)), x)).choices
        assert [a.whole_first for a in found.accesses.values()] == expected


def test_older_assemblers_cannot_promise_whole_tiles():
    z = tw.meta((4096, 4096))
    made = lowered(cuda_ir(copy, z.partition_mut((4, 64)), z), version=V13_3)
    assert not any(a.whole_first for a in made.choices.accesses.values())


def test_every_decision_is_a_line():
    lines = "\n".join(product((128, 256), latency=2).lines)
    assert "load x 128x16 as tiles, latency 2" in lines
    assert "hint num_worker_warps_per_cta = 8: an accumulator of 32768 elements" in lines
    assert "groups of 8 along grid axis 0" in lines


def test_what_nobody_checked_is_accessed_element_by_element():
    z = tw.meta((64,))
    with tw.unsafe():
        func = cuda_ir(reckless, z.partition_mut((8,)), z, 3)
    load, outside, inside = lowered(func).choices.accesses.values()
    assert load.view is None and outside.view is None and inside.view is not None
