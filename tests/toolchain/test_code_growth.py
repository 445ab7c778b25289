"""Machine code grows with the kernel: not with how rows begin, nor with a constant loop count."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright.backend.tileir.resource_model import resources
from tilewright.base.dtypes import f16, f32, i32, i64

pytestmark = pytest.mark.usefixtures("tool")


@tw.entry
def argmax_rows(z: tl.TensorMut[i64], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    p = x.partition((8, 128), padding=float("-inf"))
    best, at = tl.full((8,), float("-inf"), f32), tl.zeros((8,), i64)
    for j in range(tl.num_tiles(p, 1)):
        t = p.load([tl.block_id(0), j])
        m = t.max(axis=1)
        better = m > best
        at = tl.where(better, t.argmax(axis=1).astype(i64) + j * 128, at)
        best = tl.where(better, m, best)
    z.store(at)


@tw.entry
def sines(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], *, N: tl.Const[int]) -> None:
    t = tl.zeros((1024,), f32)
    for j in range(N):
        t = t * 0.5 + tl.sin(x.load_tile((1024,), [j]))
    z.store(t)


@tw.entry
def convolution(
    z: tl.TensorMut[f16],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    w: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    height: i32,
    width: i32,
    *,
    K: tl.Const[int],
) -> None:
    """Pixels are rows: z is (pixels, outputs), x (pixels, channels), w (K * K * 64, outputs)."""
    at = tl.arange(64) + tl.block_id(0) * 64
    row, column = at // width, at % width
    view = tl.make_gather_scatter_view(x, (64, 32), 0, padding=0)
    acc = tl.zeros((64, 64), f32)
    for k in range(2):
        for i in range(K):
            for j in range(K):
                y, v = row + (i - K // 2), column + (j - K // 2)
                inside = (y >= 0) & (y < height) & (v >= 0) & (v < width)
                pixels = view.load([tl.where(inside, y * width + v, -1), k * 32])
                weights = w.load_tile((32, 64), [(i * K + j) * 2 + k, tl.block_id(1)])
                acc = tl.mma(pixels, weights, acc)
    z.store(acc.astype(f16))


@tw.entry
def unrolled_convolution(
    z: tl.TensorMut[f16],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    w: tl.Tensor[f16, tl.Dyn, tl.Dyn],
    height: i32,
    width: i32,
    *,
    K: tl.Const[int],
) -> None:
    """The same, but for loops over taps that are unrolled."""
    at = tl.arange(64) + tl.block_id(0) * 64
    row, column = at // width, at % width
    view = tl.make_gather_scatter_view(x, (64, 32), 0, padding=0)
    acc = tl.zeros((64, 64), f32)
    for k in range(2):
        for i in tl.static_range(K):
            for j in tl.static_range(K):
                y, v = row + (i - K // 2), column + (j - K // 2)
                inside = (y >= 0) & (y < height) & (v >= 0) & (v < width)
                pixels = view.load([tl.where(inside, y * width + v, -1), k * 32])
                weights = w.load_tile((32, 64), [(i * K + j) * 2 + k, tl.block_id(1)])
                acc = tl.mma(pixels, weights, acc)
    z.store(acc.astype(f16))


@tw.entry
def sort_rows(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.sort(tl.load_tile_like(x, z, padding=tl.pos_inf), 1))


def kib(kernel, *args, **constants):
    """The size of the machine code."""
    cubin = kernel.compile_for("sm_90", *args, **constants).code
    return resources(cubin).code_bytes / 1024


def argmax_size(columns):
    return kib(argmax_rows, tw.meta((33,), i64).partition_mut((8,)), tw.meta((33, columns)))


def convolved(channels):
    pixels = 56 * 56
    z, x = tw.meta((pixels, 64), f16).partition_mut((64, 64)), tw.meta((pixels, channels), f16)
    return z, x, tw.meta((25 * 64, 64), f16), 56, 56


def test_rows_that_begin_anywhere():
    assert argmax_size(1001) < 4 * argmax_size(1000) < 64


def test_a_constant_number_of_iterations():
    z, x = tw.meta((2048,)).partition_mut((1024,)), tw.meta((1 << 20,))
    once, some, many = (kib(sines, z, x, N=n) for n in (1, 12, 16))
    assert some < 2 * once
    assert many < 2 * once


def test_a_convolution_of_25_taps():
    assert kib(convolution, *convolved(61), K=5) < 64


@pytest.mark.parametrize("channels", [64, 61])
def test_unrolled_taps_are_loops_again(channels):
    args = convolved(channels)
    made = unrolled_convolution.compile_for("sm_90", *args, K=5)
    assert resources(made.code).code_bytes / 1024 < 64
    (line,) = [line for line in made.decisions if "copies of" in line]
    assert line.startswith("25 copies of unrolled code are one loop (")


def test_explain_says_how_large_the_code_is_and_how_long_it_took():
    text = convolution.explain(*convolved(61), K=5, device="sm_90")
    assert len(re.findall(r"^loop not unrolled: 5 iterations of about \d+ KiB", text, re.M)) == 2
    needs = (
        r"^machine code: \d+\.\d KiB, \d+ registers and \d+ bytes of stack per thread, \d+ bytes"
    )
    assert re.search(needs + " of shared memory$", text, re.M)
    assert re.search(r"^assembled in \d+\.\d s$", text, re.M)
    again = convolution.explain(*convolved(61), K=5, device="sm_90")
    assert again == text


def test_the_stages_of_a_sort():
    """One loop has them all: eight phases of 2048 keys, twelve of 4096."""

    def size(tile, shape):
        return kib(sort_rows, tw.meta(shape).partition_mut(tile), tw.meta(shape))

    assert size((8, 256), (64, 250)) < 32
    assert size((1, 4096), (64, 4096)) < 64
