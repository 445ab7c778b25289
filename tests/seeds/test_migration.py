"""From Triton and from cuTile Python."""

from __future__ import annotations

import asyncio
from functools import cache

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import numbers, put, same
from tilewright import bf16, f16, f32


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[bf16, tl.Dyn, tl.Dyn],
    y: tl.Tensor[bf16, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 64,
) -> None:
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    total = tl.zeros((BM, BN), f32)
    for k in range(tl.ceil_div(x.shape[1], BK)):
        total = tl.mma(x.load_tile((BM, BK), [i, k]), y.load_tile((BK, BN), [k, j]), total)
    z.store(total)


@cache
def stages(**options):
    given = tw.meta((64, 64), f32).partition_mut((32, 32)), *[tw.meta((64, 64), bf16)] * 2
    return gemm.inspect(*given, BK=16, device="sm_90", options=tw.CompileOptions(**options))


@pytest.mark.cpu_alone
def test_a51_the_compiler_stages_memory(assembler):
    """A kernel loads tiles; shared memory, copies and pipelines are the compiler's affair."""
    text = stages()["tile_ir"]
    assert "load_view_tko" in text and "shared" not in text


@pytest.mark.cpu_alone
def test_a52_products_are_one_operation(assembler):
    """`mma` is one operation of the tile program, which becomes tensor core instructions."""
    assert "mmaf" in stages()["tile_ir"]


def test_a53_products_are_right(rng, device):
    """A product over tiles is the matrix product."""
    x, y = numbers(rng, 32, 24), numbers(rng, 24, 16)
    a, b = x.astype(bf16.np), y.astype(bf16.np)
    z = tw.zeros((32, 16)).sync()
    gemm(z.partition_mut((16, 16)), put(a), put(b), BK=8).sync()
    np.testing.assert_allclose(z.to_numpy(), a.astype("f4") @ b.astype("f4"), rtol=1e-2, atol=1e-2)


@pytest.mark.cpu_alone
def test_a54_occupancy_and_clusters_are_hints(assembler):
    """Occupancy and blocks of a cluster are hints; warps and stages are not the user's."""
    text = stages(occupancy=2, num_cta_in_cga=2)["tile_ir"]
    assert "occupancy = 2" in text and "num_cta_in_cga = 2" in text
    with pytest.raises(TypeError):
        tw.CompileOptions(num_stages=3)


def test_a55_hints_do_not_change_numbers(rng, device):
    """The numbers are the same whatever the hints say."""
    x, y = numbers(rng, 32, 24).astype(bf16.np), numbers(rng, 24, 16).astype(bf16.np)
    found = []
    for options in (tw.CompileOptions(), tw.CompileOptions(occupancy=2, num_cta_in_cga=2)):
        z = tw.zeros((32, 16)).sync()
        gemm(z.partition_mut((16, 16)), put(x), put(y), BK=8).compile_options(options).sync()
        found.append(z.to_numpy())
    np.testing.assert_array_equal(*found)


def test_a56_the_decorator_of_a_kernel():
    """The decorator is `tw.entry`, which is called `tw.kernel` as well."""
    assert tw.kernel is tw.entry
    assert isinstance(gemm, tw.Entry)


def test_a57_loads_follow_the_output(rng, device):
    """`load_tile_like` loads the tile at the place of the block's output tile."""

    @tw.entry
    def minus(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(-tl.load_tile_like(x, z))

    data, z = numbers(rng, 20, 30), tw.zeros((20, 30)).sync()
    minus(z.partition_mut((8, 8)), put(data)).sync()
    same(z, -data)


def test_a58_stores_go_to_the_output(rng, device):
    """`tensor.store(tile)` writes the block's own tile."""

    @tw.entry
    def constant(z: tl.TensorMut[f16]) -> None:
        z.store(tl.full(z.shape, 2.5, f16))

    z = tw.zeros((10, 10), f16).sync()
    constant(z.partition_mut((4, 4))).sync()
    same(z, np.full((10, 10), 2.5))


def test_a59_the_number_of_a_block_is_implied(device):
    """Which tile a block has follows from the partition; the number can be asked for."""

    @tw.entry
    def mine(z: tl.TensorMut[tw.i32]) -> None:
        z.store(tl.full(z.shape, tl.block_id(0), tw.i32))

    z = tw.zeros((32,), tw.i32).sync()
    mine(z.partition_mut((8,))).sync()
    same(z, np.repeat(np.arange(4), 8))


def test_a60_a_launch_is_an_op_that_is_awaited(rng, device):
    """A launch is built as an op and awaited."""

    @tw.entry
    def half(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z) * 0.5)

    data, z = numbers(rng, 30), tw.zeros((30,)).sync()

    async def main():
        await half(z.partition_mut((8,)), put(data))

    asyncio.run(main())
    same(z, np.float32(0.5) * data)


@pytest.mark.cpu_alone
def test_a61_kernels_go_through_tile_ir(assembler):
    """Kernels become Tile IR, as those of cuTile Python, and a cubin by NVIDIA's assembler."""
    assert "cubin" in stages() and "entry @gemm" in stages()["tile_ir"]
    given = tw.meta((64, 64), f32).partition_mut((32, 32)), *[tw.meta((64, 64), bf16)] * 2
    artifact = gemm.compile_for("sm_90", *given, BK=16)
    assert artifact.target == "sm_90"
