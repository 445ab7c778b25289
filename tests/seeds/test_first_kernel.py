"""The first kernel: what it is, how it is compiled, how it is launched."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import compilations, numbers, put, same
from tilewright import f32, i32


def fresh_add():
    @tw.entry
    def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
        tile_x = tl.load_tile_like(x, z)
        tile_y = tl.load_tile_like(y, z)
        z.store(tile_x + tile_y)

    return add


ADD = fresh_add()


def test_c01_an_entry_is_called_from_the_host(rng, device):
    """A function marked as an entry is called by the host and runs on the device."""
    assert isinstance(ADD, tw.Entry)
    x, y = numbers(rng, 8, 8), numbers(rng, 8, 8)
    z = tw.zeros((8, 8)).sync()
    ADD(z.partition_mut((4, 4)), put(x), put(y)).sync()
    same(z, x + y)


def test_c02_a_kernel_runs_for_a_grid_of_blocks(device):
    """A kernel runs once for each block of a grid."""

    @tw.entry
    def which(z: tl.TensorMut[i32]) -> None:
        i, j, _ = tl.get_tile_block_id()
        z.store(tl.full(z.shape, 10 * i + j, i32))

    z = tw.zeros((6, 8), i32).sync()
    which(z.partition_mut((2, 4))).sync()
    i, j = np.indices((6, 8))
    same(z, 10 * (i // 2) + j // 4)


def test_c03_the_first_program(device):
    """Two matrices of ones are added on a stream, the sum is written in place."""
    stream = device.new_stream()
    x = tw.ones((32, 32)).sync_on(stream)
    y = tw.ones((32, 32)).sync_on(stream)
    z = tw.zeros((32, 32)).sync_on(stream)
    ADD(z.partition_mut((4, 4)), x, y).sync_on(stream)
    same(z, np.full((32, 32), 2))


def test_c04_a_device_and_its_stream_begin_the_program(fake_gpu):
    """A program begins with the device of a number and a stream of it."""
    gpu = tw.Device(0)
    stream = gpu.new_stream()
    assert gpu is fake_gpu and stream.device is gpu


def test_c05_kernels_are_generic_over_the_tile(rng, device):
    """The shape of the output's tile is a parameter of the kernel that the launch binds."""
    x, y = numbers(rng, 16, 16), numbers(rng, 16, 16)
    for tile in [(4, 4), (16, 1), (2, 8), (32, 32)]:
        z = tw.zeros((16, 16)).sync()
        ADD(z.partition_mut(tile), put(x), put(y)).sync()
        same(z, x + y)


def test_c06_extents_of_inputs_are_open(rng, device):
    """Inputs have any extents; code is not made for each of them."""
    kernel = fresh_add()
    for rows, columns in [(5, 8), (8, 12), (33, 4)]:  # rows of whole 16 bytes
        x, y = numbers(rng, rows, columns), numbers(rng, rows, columns)
        z = tw.zeros((rows, columns)).sync()
        kernel(z.partition_mut((8, 8)), put(x), put(y)).sync()
        same(z, x + y)
    assert compilations(kernel) == 1


def test_c07_fixed_extents_are_checked(rng, device):
    """An extent that the annotation fixes is the only one that a launch takes."""

    @tw.entry
    def fixed(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, Literal[8]]) -> None:
        z.store(tl.load_tile_like(x, z))

    data = numbers(rng, 5, 8)
    z = tw.zeros((5, 8)).sync()
    fixed(z.partition_mut((4, 8)), put(data)).sync()
    same(z, data)
    other = tw.zeros((5, 9)).sync()
    with pytest.raises(tw.Error):
        fixed(other.partition_mut((4, 8)), put(numbers(rng, 5, 9))).sync()


def test_c08_the_first_call_compiles(rng):
    """A kernel is compiled when it is first launched, not when it is defined."""
    kernel = fresh_add()
    assert compilations(kernel) == 0
    z = tw.zeros((8, 8)).sync()
    kernel(z.partition_mut((4, 4)), tw.ones((8, 8)), tw.ones((8, 8))).sync()
    assert compilations(kernel) == 1 and "first launch" in kernel.explain_recompile()


def test_c09_later_calls_reuse_the_code(rng):
    """Later launches use what is compiled."""
    kernel = fresh_add()
    z = tw.zeros((8, 8)).sync()
    for _ in range(5):
        kernel(z.partition_mut((4, 4)), tw.ones((8, 8)), tw.ones((8, 8))).sync()
    assert compilations(kernel) == 1


def test_c10_each_specialization_is_compiled_once(rng):
    """Another tile shape or element type is another specialization."""

    @tw.entry
    def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z))

    kernel = copy
    for _ in range(2):
        for dtype, tile in [(f32, 4), (f32, 8), (i32, 4)]:
            z = tw.zeros((8,), dtype).sync()
            kernel(z.partition_mut((tile,)), tw.ones((8,), dtype)).sync()
            same(z, np.ones(8))
    assert compilations(kernel) == 3


@pytest.mark.cpu_alone
def test_c11_the_stages_of_a_compilation_can_be_read(assembler):
    """A kernel goes from its source through an IR to machine code of a GPU."""
    x = tw.meta((32, 32), f32)
    stages = ADD.inspect(x.partition_mut((4, 4)), x, x, device="sm_90")
    assert next(iter(stages)) == "frontend" and "tile_ir" in stages and "cubin" in stages


def test_c12_no_module_has_to_be_marked(device):
    """A module with kernels is marked.

    Differs: modules
    """
    names = tw.exec(
        "import tilewright as tw\n"
        "import tilewright.lang as tl\n\n\n"
        "@tw.entry\n"
        "def cube(z: tl.TensorMut, x: tl.Tensor) -> None:\n"
        "    tile = tl.load_tile_like(x, z)\n"
        "    z.store(tile * tile * tile)\n"
    )
    z = tw.zeros((4,)).sync()
    names["cube"](z.partition_mut((4,)), tw.full((4,), 3.0)).sync()
    same(z, np.full(4, 27))


def test_c13_functions_of_the_module_are_called_by_kernels(rng, device):
    """A kernel calls other functions, which are compiled with it."""
    data, z = numbers(rng, 16), tw.zeros((16,)).sync()
    squares(z.partition_mut((16,)), put(data)).sync()
    same(z, data * data)


def square(tile):
    return tile * tile


@tw.entry
def squares(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(square(tl.load_tile_like(x, z)))


def test_c14_the_program_needs_no_unsafe_block(rng, device):
    """Allocating, partitioning, launching and reading are safe."""
    x = numbers(rng, 16)
    found = ADD(tw.zeros((16,)).partition((8,)), put(x), put(x)).out().sync()
    same(found, x + x)


@pytest.mark.cpu_alone
def test_c15_one_source_for_all_architectures(assembler):
    """The same kernel is compiled for other architectures without a change."""
    x = tw.meta((32, 32), f32)
    for arch in ("sm_90", "sm_100"):
        assert ADD.compile_for(arch, x.partition_mut((4, 4)), x, x).target == arch
