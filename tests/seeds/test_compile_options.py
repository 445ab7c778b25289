"""How kernels are compiled and launched."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import compilations, numbers, put, same
from tilewright import f32, i32
from tilewright.base.config import override
from tilewright.tools.command import main

META = tw.meta((1024,), f32)
E = TypeVar("E")


@tw.entry
def gemm(
    z: tl.TensorMut[E],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    y: tl.Tensor[E, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int],
) -> None:
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    total = tl.zeros((BM, BN), z.dtype)
    for k in range(tl.ceil_div(x.shape[1], BK)):
        total = tl.mma(x.load_tile((BM, BK), [i, k]), y.load_tile((BK, BN), [k, j]), total)
    z.store(total)


def fresh():
    @tw.entry
    def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], k: f32) -> None:
        z.store(tl.load_tile_like(x, z) * k)

    return scale


SCALE = fresh()


@cache
def tile_ir(options):
    given = META.partition_mut((256,)), META, 2.0
    return SCALE.inspect(*given, device="sm_90", options=options)["tile_ir"]


def test_b080_compile_options_are_keywords():
    """`CompileOptions` has a setter for each of occupancy, cluster size and divisibility.

    Differs: compile-options
    """
    options = tw.CompileOptions(occupancy=4, num_cta_in_cga=2, max_divisibility=16)
    assert options.given == {"occupancy": 4, "num_cta_in_cga": 2, "max_divisibility": 16}
    assert tw.CompileOptions().occupancy is None
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        tw.CompileOptions().occupancy(4)


def test_b081_a_launch_takes_compile_options(rng, device):
    """`.compile_options(options)` of a launch overrides the hints of its kernel."""
    data, z = numbers(rng, 100), tw.zeros((100,)).sync()
    options = tw.CompileOptions(occupancy=4, max_divisibility=16)
    fresh()(z.partition_mut((32,)), put(data), 2.0).compile_options(options).grid((4,)).sync()
    same(z, np.float32(2) * data)


def test_b082_other_options_are_compiled_for_themselves(rng):
    """Options are part of the key of compiled code: others mean another compilation."""
    kernel, x, z = fresh(), put(numbers(rng, 64)), tw.zeros((64,)).sync()
    for occupancy in (1, 2, 2, 1):
        options = tw.CompileOptions(occupancy=occupancy)
        kernel(z.partition_mut((32,)), x, 2.0).compile_options(options).sync()
    assert compilations(kernel) == 2


def test_b083_a_grid_that_is_given(rng, device):
    """`.grid((x, y, z))` says how many blocks run instead of leaving it to the partition."""

    @tw.entry(unsafe=True)
    def mark(p: tl.Ptr[i32]) -> None:
        i, j, k = tl.get_tile_block_id()
        n = i + 3 * j + 6 * k
        tl.scatter(p, tl.full((1,), n, i32), tl.full((1,), n + 1, i32))

    z = tw.zeros((40,), i32).sync()
    with tw.unsafe():
        op = mark(z.device_pointer())
    op.grid((3, 2, 4)).sync()
    same(z, np.r_[1:25, np.zeros(16, int)])


def test_b084_a_grid_that_is_a_constant(rng, device):
    """`.const_grid((x, y, z))` is a grid that the compiler knows."""

    @tw.entry(unsafe=True)
    def count(p: tl.Ptr[i32]) -> None:
        nx, ny, nz = tl.get_num_tile_blocks()
        i, j, _ = tl.get_tile_block_id()
        tl.scatter(p, tl.full((1,), i + 3 * j, i32), tl.full((1,), nx * 100 + ny * 10 + nz, i32))

    z = tw.zeros((6,), i32).sync()
    with tw.unsafe():
        op = count(z.device_pointer())
    op.const_grid((3, 2, 1)).sync()
    same(z, np.full(6, 321))


def test_b085_a_constant_grid_is_part_of_the_code(rng):
    """Each constant grid is compiled for itself, so that code may depend on it."""
    x = put(numbers(rng, 64))
    kernel = fresh()
    for length in (64, 32):
        z = tw.zeros((length,)).sync()
        kernel(z.partition_mut((32,)), x[:length], 2.0).const_grid((length // 32,)).sync()
        same(z, np.float32(2) * x.to_numpy()[:length])
    assert compilations(kernel) == 2


def test_b086_the_grid_follows_from_the_output(rng, device):
    """Without a grid there is a block for each tile of the output."""

    @tw.entry
    def blocks(z: tl.TensorMut[i32]) -> None:
        nx, ny, _ = tl.get_num_tile_blocks()
        z.store(tl.full(z.shape, nx * 10 + ny, i32))

    z = tw.zeros((10, 7), i32).sync()
    blocks(z.partition_mut((4, 2))).sync()
    same(z, np.full((10, 7), 34))


def test_b087_generics_are_named(rng, device):
    """`.generics([...])` binds types and constants by texts, in the order of declaration.

    Differs: generic-arguments
    """
    x, y = numbers(rng, 32, 16), numbers(rng, 16, 32)
    z = tw.zeros((32, 32)).sync()
    gemm(z.partition_mut((16, 16)), put(x), put(y), BK=8).generics(E=f32).sync()
    np.testing.assert_allclose(z.to_numpy(), x @ y, rtol=1e-4, atol=1e-4)
    op = gemm(z.partition_mut((16, 16)), put(x), put(y), BK=8)
    with pytest.raises(TypeError):
        op.generics(["f32", "16", "16", "8"])
    op.close()


def test_b088_generics_are_part_of_the_key(rng):
    """Each combination of generic arguments is compiled once."""
    x, y, z = put(numbers(rng, 32, 16)), put(numbers(rng, 16, 32)), tw.zeros((32, 32)).sync()
    before = compilations(gemm)
    for block in (4, 2, 4, 2):
        gemm(z.partition_mut((16, 16)), x, y, BK=block).generics(E=f32).sync()
    assert compilations(gemm) == before + 2


def test_b089_the_assembler_is_named_by_a_setting(tmp_path):
    """The assembler is the one on `PATH`, or named by a variable of the environment.

    Differs: names-of-variables
    """
    missing = tmp_path / "tileiras"
    with override(tileiras_path=str(missing)), pytest.raises(tw.CompileError, match="tileiras"):
        fresh().compile_for("sm_90", META.partition_mut((256,)), META, 2.0)
    assert main(["doctor"]) in (0, 1)


def test_b090_launch_config():
    """`LaunchConfig` has a grid, a block and bytes of shared memory, for raw kernels."""
    config = tw.LaunchConfig(grid_dim=(4, 1, 1), block_dim=(256, 1, 1), shared_mem_bytes=0)
    assert (config.grid_dim, config.block_dim, config.shared_mem_bytes) == (
        (4, 1, 1),
        (256, 1, 1),
        0,
    )


def test_b091_a_raw_launch_is_built_step_by_step(scale_function, rng):
    """`AsyncKernelLaunch` takes numbers, addresses and a configuration, then runs as an op."""
    data = numbers(rng, 1000)
    x, out = put(data), tw.zeros((1000,)).sync()
    launch = tw.AsyncKernelLaunch(scale_function)
    launch.push_arg(tw.u32(1000))
    launch.push_arg(tw.f32(1.5))
    with tw.unsafe():
        launch.push_device_ptr(x.device_pointer()).push_device_ptr(out.device_pointer())
    launch.set_launch_config(tw.LaunchConfig((4, 1, 1), (256, 1, 1), 0))
    launch.sync()
    same(out, np.float32(1.5) * data)


@pytest.mark.cpu_alone
@pytest.mark.parametrize("name", ["occupancy", "num_cta_in_cga"])
def test_b092_hints_reach_the_program(name, assembler):
    """Occupancy and cluster hints are in the program that the assembler gets."""
    assert f"{name} = 4" in tile_ir(tw.CompileOptions(**{name: 4}))
    assert f"{name} = 4" not in tile_ir(None)


@pytest.mark.cpu_alone
def test_b093_divisibility_can_be_limited(assembler):
    """`max_divisibility` limits what code assumes of addresses and strides."""
    wide, narrow = (tile_ir(tw.CompileOptions(max_divisibility=n)) for n in (16, 4))
    assert "div_by<16>" in wide and "div_by<16>" not in narrow


@pytest.mark.cpu_alone
def test_b212_options_of_a_launch_go_before_those_of_the_entry(assembler):
    """Hints stand at the kernel's entry; what a launch says instead counts for the launch."""

    @tw.entry(hints=tw.CompileOptions(occupancy=8, num_cta_in_cga=2))
    def hinted(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z))

    given = META.partition_mut((256,)), META
    plain = hinted.inspect(*given, device="sm_90")["tile_ir"]
    options = tw.CompileOptions(occupancy=4)
    other = hinted.inspect(*given, device="sm_90", options=options)["tile_ir"]
    assert "occupancy = 8" in plain and "occupancy = 4" in other and "occupancy = 8" not in other
    assert "num_cta_in_cga = 2" in plain and "num_cta_in_cga = 2" in other
