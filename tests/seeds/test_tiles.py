"""Tensors and tiles: load, compute, store."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import numbers, put, same
from tilewright import f32


def refused(kernel, *shape):
    """The error of compiling a kernel with one output and one input."""
    shape = shape or (16,)
    z, x = tw.zeros(shape).sync(), tw.ones(shape).sync()
    with pytest.raises(tw.CompileError) as caught:
        kernel(z.partition_mut((8,) * len(shape)), x).sync()
    return str(caught.value)


def test_c30_tensors_and_tiles_have_shape_and_dtype(rng, device):
    """Both have a shape and an element type, on the host and in kernels."""

    @tw.entry
    def facts(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
        tile = tl.load_tile_like(x, z)
        rows, columns = tile.shape
        z.store(
            tl.full(z.shape, rows * 10 + columns, tile.dtype) + tl.full((1, 1), x.shape[0], f32)
        )

    x = put(numbers(rng, 7, 9))
    assert x.shape == (7, 9) and x.dtype is f32
    z = tw.zeros((7, 9)).sync()
    facts(z.partition_mut((4, 8)), x).sync()
    same(z, np.full((7, 9), 48 + 7))


def test_c31_tensors_have_no_arithmetic_in_kernels():
    """A tensor is loaded before it is computed with."""

    @tw.entry
    def wrong(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(x + x)

    assert "load" in refused(wrong)


def test_c32_tensors_have_no_arithmetic_on_the_host(rng):
    """Nor is a tensor computed with on the host."""
    with pytest.raises(TypeError):
        put(numbers(rng, 4)) + 1.0


def test_c33_tiles_are_immutable():
    """No operation changes a tile; an assignment to its elements is refused."""

    @tw.entry
    def wrong(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, z)
        tile[0] = 1.0
        z.store(tile)

    assert "tile" in refused(wrong)


def test_c34_operations_make_new_tiles(rng, device):
    """An operation makes a new tile and leaves its operands as they were."""

    @tw.entry
    def both(z: tl.TensorMut[f32], w: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, z)
        doubled = tile + tile
        z.store(doubled)
        w.store(tile)

    data = numbers(rng, 16)
    z, w = tw.zeros((16,)).sync(), tw.zeros((16,)).sync()
    both(z.partition_mut((8,)), w.partition_mut((8,)), put(data)).sync()
    same(z, data + data)
    same(w, data)


def test_c35_tile_shapes_are_constants():
    """The shape of a tile is known while compiling."""

    @tw.entry
    def wrong(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
        z.store(tl.zeros((x.shape[0],), f32))

    assert "constant" in refused(wrong)


def test_c36_tile_extents_are_powers_of_two():
    """Extents of tiles are constants, powers of two for speed.

    Differs: extents-of-tiles
    """

    @tw.entry
    def three(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.zeros((3,), f32))

    assert "power" in refused(three)


def test_c37_elementwise_arithmetic(rng, device):
    """Tiles are added, multiplied, compared and selected, element by element."""

    @tw.entry
    def mix(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        a = tl.load_tile_like(x, z)
        z.store(tl.where(a > 0.0, a * 2.0 + 1.0, -a / 4.0))

    data, z = numbers(rng, 100), tw.zeros((100,)).sync()
    mix(z.partition_mut((32,)), put(data)).sync()
    np.testing.assert_allclose(
        z.to_numpy(), np.where(data > 0, data * 2 + 1, -data / 4), rtol=1e-6, atol=1e-6
    )


def test_c38_products_of_matrices(rng, device):
    """Tiles are multiplied as matrices."""

    @tw.entry
    def product(
        z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], y: tl.Tensor[f32, tl.Dyn, tl.Dyn]
    ) -> None:
        M, N = z.shape
        z.store(
            tl.mma(x.load_tile((M, 8), [0, 0]), y.load_tile((8, N), [0, 0]), tl.zeros((M, N), f32))
        )

    a, b = numbers(rng, 16, 8), numbers(rng, 8, 16)
    z = tw.zeros((16, 16)).sync()
    product(z.partition_mut((16, 16)), put(a), put(b)).sync()
    np.testing.assert_allclose(z.to_numpy(), a @ b, rtol=1e-4, atol=1e-5)


def test_c39_reductions(rng, device):
    """Tiles are reduced along an axis."""

    @tw.entry
    def sums(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
        (M,) = z.shape
        z.store(tl.reduce_sum(x.load_tile((M, 16), [tl.block_id(0), 0]), 1))

    data, z = numbers(rng, 32, 16), tw.zeros((32,)).sync()
    sums(z.partition_mut((8,)), put(data)).sync()
    np.testing.assert_allclose(z.to_numpy(), data.sum(1), rtol=1e-4, atol=1e-5)


def test_c40_shapes_of_tiles_change(rng, device):
    """Tiles are reshaped, transposed and broadcast."""

    @tw.entry
    def turned(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
        tile = x.load_tile((4, 8), [0, 0], padding=tl.neg_inf)
        z.store(tl.reshape(tl.transpose(tile), (4, 8)) + tl.reshape(tl.reduce_max(tile, 1), (4, 1)))

    data, z = numbers(rng, 4, 8), tw.zeros((4, 8)).sync()
    turned(z.partition_mut((4, 8)), put(data)).sync()
    same(z, data.T.reshape(4, 8) + data.max(1)[:, None])


def test_c41_load_compute_store(rng, device):
    """A kernel loads tiles, computes, and stores them."""

    @tw.entry
    def fused(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
        a, b = tl.load_tile_like(x, z), tl.load_tile_like(y, z)
        z.store(tl.exp(a) * b + tl.sqrt(tl.abs(a - b)))

    x, y = numbers(rng, 200), numbers(rng, 200)
    z = tw.zeros((200,)).sync()
    fused(z.partition_mut((64,)), put(x), put(y)).sync()
    expected = np.exp(x.astype("f8")) * y + np.sqrt(abs(x.astype("f8") - y))
    np.testing.assert_allclose(z.to_numpy(), expected, rtol=1e-4, atol=1e-4)


def test_c42_load_tile_by_shape_and_index(rng, device):
    """`load_tile(shape, index)` loads any tile of an input, by its number along each axis."""

    @tw.entry
    def mirrored(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
        (N,) = z.shape
        z.store(x.load_tile((N,), [tl.num_blocks(0) - 1 - tl.block_id(0)]))

    data, z = numbers(rng, 32), tw.zeros((32,)).sync()
    mirrored(z.partition_mut((8,)), put(data)).sync()
    same(z, data.reshape(4, 8)[::-1].ravel())


def test_c43_nothing_outside_of_a_tensor_is_touched(rng, device):
    """Tiles that hang over the end are padded when they are loaded and cut when stored."""

    @tw.entry
    def copy(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z))

    data, base = numbers(rng, 13), tw.full((32,), 7.0).sync()
    copy(base.borrow_mut()[:13].partition((8,)), put(data)).sync()
    same(base, np.r_[data, np.full(19, 7, "f4")])


def test_c44_indices_from_data_are_checked(rng, device):
    """A tile number that leaves the tensor is an error of the launch, not a wild access."""

    @tw.entry
    def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], which: tw.i32) -> None:
        (N,) = z.shape
        z.store(x.load_tile((N,), [which]))

    data, z = numbers(rng, 32), tw.zeros((8,)).sync()
    pick(z.partition_mut((8,)), put(data), 3).sync()
    same(z, data[24:])
    for which in (4, -1):
        with pytest.raises(tw.LaunchError):
            pick(z.partition_mut((8,)), put(data), which).sync()


@pytest.mark.cpu_alone
def test_c45_tiles_are_registers(assembler):
    """Where a tile lives is the compiler's affair: there is no memory for it in the program."""

    @tw.entry
    def chain(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        a = tl.load_tile_like(x, z)
        z.store(tl.exp(a) + a * a)

    x = tw.meta((1024,), f32)
    text = chain.inspect(x.partition_mut((256,)), x, device="sm_90")["tile_ir"]
    assert text.count("load_view_tko") == 1 and text.count("store_view_tko") == 1
    assert "alloc" not in text
