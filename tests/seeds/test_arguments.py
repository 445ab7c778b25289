"""Arguments of launches, as the introduction has them."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import add, numbers, put, same, scale, scaled
from tilewright import f32, i32


def test_c16_a_borrowed_tensor_is_read(rng, device):
    """A borrowed tensor is an input, and stays."""
    data = numbers(rng, 16)
    x = put(data)
    same(scaled(x, 2.0).sync(), np.float32(2) * data)
    same(x, data)


def test_c17_an_arc_is_read(rng, device):
    """A shared tensor is an input."""
    data = numbers(rng, 16)
    same(scaled(tw.Arc(put(data)), 2.0).sync(), np.float32(2) * data)


def test_c18_a_tensor_that_is_given_away_is_read(rng, device):
    """An owned tensor is an input, and is in the result."""
    data = numbers(rng, 16)
    x = put(data)
    _, back, _ = scale(tw.zeros((16,)).partition((16,)), tw.move(x), 2.0).sync()
    same(back, data)


def test_c19_inputs_are_read_only(rng, device):
    """A kernel cannot write its inputs."""

    @tw.entry
    def wrong(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        x.store(tl.load_tile_like(x, z))
        z.store(tl.load_tile_like(x, z))

    z = tw.zeros((16,)).sync()
    with pytest.raises(tw.CompileError, match="read-only"):
        wrong(z.partition_mut((16,)), put(numbers(rng, 16))).sync()


def test_c20_a_block_sees_one_tile_of_an_output(rng, device):
    """Of an output a block has one region of the tile's shape."""

    @tw.entry
    def extents(z: tl.TensorMut[i32]) -> None:
        BM, BN = z.shape
        z.store(tl.full((BM, BN), BM * 100 + BN, i32))

    z = tw.zeros((8, 16), i32).sync()
    extents(z.partition_mut((4, 8))).sync()
    same(z, np.full((8, 16), 408))


def test_c21_scalars_are_passed_as_they_are(rng, device):
    """A number is given to the kernel as it is."""
    k = float(np.float32(rng.standard_normal()))
    data = numbers(rng, 16)
    same(scaled(put(data), k).sync(), np.float32(k) * data)


@pytest.mark.parametrize("extents", [(8, 8), (7, 9), (1, 33), (16, 5)])
def test_c22_partitions_are_disjoint_and_cover(extents, device):
    """Regions of a partition do not overlap, and together they are the tensor."""

    @tw.entry
    def count(z: tl.TensorMut[i32]) -> None:
        z.store(z.load() + 1)

    z = tw.zeros(extents, i32).sync()
    part = z.partition_mut((4, 4))
    assert part.grid == tuple(-(-n // 4) for n in extents)
    count(part).sync()
    same(z, np.ones(extents))


def test_c23_borrowing_needs_no_unpartition(rng, device):
    """What is borrowed for writing has the result when the launch is over."""
    data, z = numbers(rng, 16), tw.zeros((16,)).sync()
    scale(z.partition_mut((4,)), put(data), 2.0).sync()
    same(z, np.float32(2) * data)


def test_c24_launches_take_lazy_arguments(device):
    """Arguments may be ops; all of it is lazy until the end."""
    z = tw.zeros((32, 32)).partition((4, 4))
    op = add(z, tw.ones((32, 32)), tw.ones((32, 32)))
    assert isinstance(op, tw.DeviceOp)
    part, x, y = op.sync()
    same(part.unpartition(), np.full((32, 32), 2))
    assert isinstance(x, tw.Tensor) and isinstance(y, tw.Tensor)


def test_c25_lazy_arguments_are_awaited_with_the_launch(device):
    """`await` drives the arguments, too."""

    async def main():
        return await add(tw.zeros((16,)).partition((4,)), tw.ones((16,)), tw.ones((16,))).out()

    same(asyncio.run(main()), np.full(16, 2))


def test_c26_results_come_in_the_order_of_parameters(rng, device):
    """The results of a launch are its arguments, in the order of the parameters."""
    x, y = put(numbers(rng, 16)), put(numbers(rng, 16))
    part, first, second = add(tw.zeros((16,)).partition((16,)), x, y).sync()
    assert isinstance(part, tw.Partition) and first is x and second is y


def test_c27_a_chain_passes_a_buffer_on(rng, device):
    """A buffer is made, filled and processed in one chain, on one stream."""
    data = numbers(rng, 64)
    x, streams = put(data), []

    def noted(op):
        return tw.with_context(lambda ctx: (streams.append(ctx.stream), op)[1])

    result = (
        tw.empty((64,))
        .then(lambda buffer: noted(scale(buffer.partition((64,)), x, 2.0).out()))
        .then(lambda buffer: noted(add(tw.empty((64,)).partition((64,)), buffer, x).out()))
        .sync()
    )
    same(result, np.float32(2) * data + data)
    assert streams[0] is streams[1]


def test_c28_arrays_of_other_libraries_are_arguments(rng, device):
    """Arrays of other libraries are arguments of kernels."""
    data = numbers(rng, 16)
    same(scale(tw.empty((16,)).partition((16,)), data, 2.0).out().sync(), np.float32(2) * data)


def test_c29_memory_with_strides_is_an_argument(rng, device):
    """Tensors have strides: parts with gaps and turned matrices are inputs."""
    data = numbers(rng, 12, 20)
    t = put(data)
    for view, expected in [(t.T, data.T), (t[::2, 1::3], data[::2, 1::3])]:
        out = tw.zeros(expected.shape).sync()
        scale(out.partition_mut((4, 4)), view, 2.0).sync()
        same(out, np.float32(2) * expected)
