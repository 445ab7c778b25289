"""What is found about kernels, before anything is decided."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir
from support.decided import gemm
from tilewright import i32
from tilewright.backend.tileir.features import Traits, plain


def halves(*shape):
    return tw.meta(shape, tw.bf16)


def attention(rows, keys, depth):
    heads = halves(8, 1024, depth)
    out = heads.partition_mut((1, rows, depth))
    return Traits(cuda_ir(kernels.attention, out, heads, heads, heads, 0.1, BN=keys))


def softmax(tile, dtype=tw.bf16):
    z = tw.meta((64, tile[1]), dtype)
    return Traits(cuda_ir(kernels.softmax, z.partition_mut(tile), z))


def test_a_product_in_a_loop():
    z = halves(4096, 4096)
    found = Traits(cuda_ir(gemm, tw.meta((4096, 4096)).partition_mut((128, 64)), z, z))
    assert [op.name for op in found.products] == ["mmaf"]
    assert (found.accumulator, found.chain) == (128 * 64, 0)
    assert (found.loops_around_products, found.reductions) == (1, 0)
    assert found.block_axes == (0, 1)
    assert [plain(op) for op in found.accesses] == ["load_view", "load_view", "store_view"]
    assert [op.one("view").view.tensor.param for op in found.loads] == ["x", "y"]


def test_products_of_many_visits():
    z = halves(4096, 4096)
    mapped = z.partition_mut((128, 128)).map((8, 1), 132)
    assert Traits(cuda_ir(kernels.persistent_gemm, mapped, z, z)).loops_around_products == 2


def test_products_of_one_round_are_a_chain():
    assert attention(64, 64, 128).chain == 64 * 64 + 64 * 128


def test_a_kernel_without_products_has_no_chain_and_no_loops_around_them():
    found = softmax((1, 1024))
    assert (found.products, found.chain, found.loops_around_products) == ([], 0, 0)
    assert found.reductions == 2


@pytest.mark.parametrize(("length", "again"), [(8192, False), (32768, True)])
def test_long_rows_are_made_again(length, again):
    assert softmax((1, length)).remakes is again


@pytest.mark.parametrize(("tile", "several"), [((1, 4096), False), ((4, 1024), True)])
def test_tiles_of_several_rows(tile, several):
    found = softmax(tile)
    assert (found.largest_tile, found.has_rows) == (4096, several)


ROWS = [(4096, True, True), (4095, False, False), (4104, True, True), (4092, False, False)]


@pytest.mark.parametrize(("length", "aligned", "in_vectors"), ROWS)
def test_rows_begin_and_end_at_sixteen_bytes(length, aligned, in_vectors):
    z = halves(64, length)
    found = Traits(cuda_ir(kernels.softmax, z.partition_mut((1, 4096)), z))
    [load] = found.loads
    assert found.is_aligned(load) is aligned
    assert found.is_in_vectors(load) is in_vectors


@tw.entry
def scaled_gemm(
    z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, scale: tl.Tensor[tw.f32], *, BK: tl.Const[int]
) -> None:
    assert x.shape[1] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), tw.f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ys.load((k, j)), acc)
    z.store((acc * scale.load_tile((BM, 1), [i, 0])).astype(z.dtype))


@pytest.mark.parametrize(("length", "bulk"), [(4096, True), (4095, False)])
def test_bulk_copies_bring_what_is_multiplied_whatever_scales_the_result(length, bulk):
    y, scale = halves(length, 512), tw.meta((512, 1))
    out = tw.meta((512, 512), tw.bf16).partition_mut((128, 128))
    found = Traits(cuda_ir(scaled_gemm, out, halves(512, length), y, scale, BK=64))
    assert [load.one("view").view.tensor.param for load in found.loads if load in found.multiplied
            ] == ["x", "y"]  # fmt: skip
    assert found.is_bulk is bulk


@tw.entry
def neighbours(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    (N,) = z.shape
    i = tl.block_id(0)
    total = x.load_at((i * N - 1,), (N,), padding=0) + x.load_at((i * N + 1,), (N,), padding=0)
    z.store(total + tl.load_tile_like(y, z))


def test_windows_of_one_tensor_count_once():
    z = tw.meta((4096,))
    found = Traits(cuda_ir(neighbours, z.partition_mut((1024,)), z, z))
    assert len(found.loads) == 3
    assert found.loaded_bytes == 2 * 1024 * 4


def test_one_row_may_end_anywhere():
    z = halves(4095)
    found = Traits(cuda_ir(kernels.add, z.partition_mut((2048,)), z, z))
    assert all(map(found.is_aligned, found.loads)), "it begins at 16 bytes"
    assert not any(found.is_in_vectors(load) for load in found.loads)


@tw.entry
def reshaped(
    z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, n: i32, *, A: tl.Const[tuple[int, int]]
) -> None:
    a, b = x.load_tile((1, 8, 16), (0, 0, 0)), y.load_tile((1, 8, 16), (0, 0, 0))
    c = a
    for _ in range(n):
        c = tl.where(c > 0.0, c + a, c)
    if n > 2:
        c = -c
    total = tl.reduce_sum(b, 0).reshape(4, 32).reshape(A)
    z.store(c.reshape(A).T @ total)


@pytest.mark.parametrize(("shape", "cut"), [((8, 16), False), ((16, 8), True), ((4, 32), True)])
def test_loads_that_are_reshaped(shape, cut):
    """Axes of extent 1 come and go without anything being rearranged; sums lie as they will."""
    z, x = tw.meta((shape[1], shape[1])), tw.meta((4, 16, 32), tw.f16)
    found = Traits(cuda_ir(reshaped, z.partition_mut(z.shape), x, x, 1, A=shape))
    loaded = [op.one("view").view.tensor.param for op in found.reshaped_loads]
    assert loaded == (["x"] if cut else [])
